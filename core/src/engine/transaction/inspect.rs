//! Looks into a state and changes nothing. Twin of `inspect.lua`.

use crate::base::micros::{MAX_TIME, Micros};
use crate::engine::overrides::Overrides;
use crate::engine::state::State;
use crate::limits::concurrency::Lease;
use crate::model::inspection::{InspectedLimit, Inspection, LeaseInfo, Page, TicketInfo};
use crate::model::limit::{Limit, Rule};
use crate::model::mode::Mode;
use crate::model::policy::Policy;

impl State {
    /// Returns the limits of a policy, and a page of the leases and of the tickets. `mode` rules without an override.
    pub(crate) fn inspect(&self, own: &Policy, mode: Mode, server: u64, page: Page) -> Inspection {
        let (now, _) = self.clock(server);
        let policy = self.effective_policy(own, now);
        let overrides = self.overrides.as_deref();
        let span = |until: Option<u64>| until.filter(|until| *until > now).map(|until| Micros(until - now));
        let (leases, lease_count) = self.inspected_leases(now, page);
        let (tickets, ticket_count) = self.inspected_tickets(now, page);
        Inspection {
            at: Micros(now),
            limits: (0..policy.limits().len()).map(|i| self.inspected_limit(&policy, i, now)).collect(),
            paused_for: span(overrides.map(|overrides| overrides.paused_until)),
            blocked_for: span(overrides.map(Overrides::block)),
            mode: overrides.and_then(|overrides| overrides.mode(now)).unwrap_or(mode),
            leases,
            lease_count,
            tickets,
            ticket_count,
        }
    }

    /// Describes a limit by itself: a pause and a block do not count.
    fn inspected_limit(&self, policy: &Policy, i: usize, now: u64) -> InspectedLimit {
        let (limit, overrides) = (&policy.limits()[i], self.overrides.as_deref());
        let check = self.check(policy, i, now, Some(1), 0);
        let wait = self.wait_at(limit, check.wait, false, now);
        InspectedLimit {
            label: limit.label().clone(),
            kind: limit.kind(),
            limit: limit.amount(),
            interval: limit.interval(),
            source: overrides.map(|overrides| overrides.source(limit, now)).unwrap_or_default(),
            taken: taken(limit, check.level),
            remaining: check.remaining,
            next_after: (wait < MAX_TIME.0).then_some(Micros(wait)),
            reset_after: Micros(check.reset),
        }
    }

    fn inspected_leases(&self, now: u64, page: Page) -> (Vec<LeaseInfo>, u64) {
        let Some(leases) = self.held_leases() else { return (Vec::new(), 0) };
        let described = |(id, lease): (&str, &Lease)| LeaseInfo {
            id: id.to_owned(),
            held_for: Some(Micros(now.saturating_sub(lease.granted_at))),
            ends_in: Micros(lease.end - now),
            fencing_token: Some(lease.fencing_token),
        };
        (leases.page(now, page.offset, page.count).map(described).collect(), leases.live(now))
    }

    fn inspected_tickets(&self, now: u64, page: Page) -> (Vec<TicketInfo>, u64) {
        // Once all have lapsed, none counts.
        let queue = self.queue.as_deref().filter(|_| self.queue_summary.until > now);
        let Some(queue) = queue else { return (Vec::new(), 0) };
        let tickets = queue.page(page.offset, page.count).filter(|ticket| ticket.expires_at > now);
        let described = tickets.map(|ticket| TicketInfo {
            id: ticket.id.clone(),
            priority: ticket.priority,
            share: ticket.share.as_deref().filter(|share| !share.is_empty()).map(str::to_owned),
            waited: Micros(now.saturating_sub(ticket.queued_at)),
            ready: ticket.next_check <= now && !ticket.is_suspended(),
        });
        (described.collect(), queue.len())
    }
}

/// Returns the whole units of a level.
fn taken(limit: &Limit, level: u64) -> u64 {
    match limit.rule {
        Rule::Leaky(leaky) => level.div_ceil(leaky.scale),
        _ => level,
    }
}
