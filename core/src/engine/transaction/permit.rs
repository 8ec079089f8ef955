//! The operations on a permit or ticket: `correct`, `release`, `renew`, `cancel`. Twin of `permit.lua`, and for
//! `correct` of `upstream.lua`.

use crate::base::charge::Charge;
use crate::base::micros::Micros;
use crate::engine::state::{Change, Demand};
use crate::engine::transaction::Transaction;
use crate::engine::transaction::extend::OpenPermit;
use crate::limits::concurrency::Lease;
use crate::model::limit::{Limit, Rule};
use crate::model::permit::{Permit, SETTLED_MEMORY, Settlement};
use crate::model::refund::Refund;

/// The longest time that counts in the mean, in microseconds.
const MAX_HELD: u64 = 1 << 40;

impl Transaction<'_> {
    /// Replaces the charge of a permit by the actual cost, once.
    pub(crate) fn correct(mut self, permit: &Permit<'_>, actual: &Charge) -> Settlement {
        let settlement = self.settle_permit(permit, actual);
        if settlement == Settlement::Settled {
            self.advance();
            self.keep_queue_summary();
        }
        settlement
    }

    pub(crate) fn release(mut self, permit: &Permit<'_>) -> Settlement {
        let now = self.now;
        let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule) else {
            return Settlement::Unknown;
        };
        let lease = self.lease_of(permit.id, Some(permit.granted_at));
        if let Some(leases) = self.leases().filter(|_| lease.is_some()) {
            leases.remove(permit.id);
        }
        let live = lease.is_some_and(|lease| lease.end > now);
        let late = !live && now >= permit.granted_at + concurrency.timeout;
        // An id may be old, invented or released before: only a known lease counts, and it is known once.
        let counts = lease.is_some();
        if counts {
            self.state.counters.others().hold(now.saturating_sub(permit.granted_at));
        }
        if late || lease.is_some() && !live {
            if counts {
                self.state.counters.others().overages += 1;
            }
            return Settlement::Late;
        }
        if !live {
            return Settlement::Unknown;
        }
        if self.queue_summary.tickets > 0 {
            self.count_held(now.saturating_sub(permit.granted_at));
        }
        self.advance();
        if self.queue_changed {
            self.write_queue_summary();
        }
        Settlement::Released
    }

    /// Adds to the mean time that the last leases were held, for calls that get no wake-up.
    fn count_held(&mut self, held: u64) {
        let (held, mean) = (held.clamp(1, MAX_HELD).cast_signed(), self.queue_summary.mean_held.cast_signed());
        let mean = if mean == 0 { held } else { (mean + (held - mean).div_euclid(8)).max(1) };
        self.queue_summary.mean_held = mean.cast_unsigned();
        self.queue_changed = true;
    }

    /// Restarts the duration of a live lease and returns it; `None` when the lease has ended.
    pub(crate) fn renew(mut self, permit: &Permit<'_>) -> Option<Micros> {
        let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule) else {
            return None;
        };
        let held = self.lease_of(permit.id, Some(permit.granted_at)).filter(|lease| lease.end > self.now)?;
        let lease = Lease { end: self.now + concurrency.timeout, ..held };
        self.leases()?.set(permit.id, lease);
        Some(Micros(concurrency.timeout))
    }

    /// Removes a ticket from the queue, and ends the lease that it may have become.
    pub(crate) fn cancel(mut self, id: &str, gave_up: bool) -> Settlement {
        let ticket = self.ticket_of(id);
        let lease = self.lease_of(id, None).filter(|lease| !self.is_reclaimed(id, lease));
        if let Some(leases) = self.leases().filter(|_| lease.is_some()) {
            leases.remove(id);
        }
        if let Some(ticket) = &ticket {
            self.remove_ticket(ticket);
        }
        if gave_up {
            self.state.counters.refuse(self.now, None);
        }
        self.advance();
        if self.queue_changed {
            self.write_queue_summary();
        }
        if ticket.is_some() || lease.is_some() { Settlement::Cancelled } else { Settlement::Unknown }
    }

    pub(super) fn settle_permit(&mut self, permit: &Permit<'_>, actual: &Charge) -> Settlement {
        let now = self.now;
        let open = match self.open_permit(permit) {
            Ok(open) => open,
            Err(settlement) => return settlement,
        };
        let charged = open.charged;
        let kept = self.kept(permit, actual, &open);
        let counted = kept.as_ref().unwrap_or(actual);
        let change = Change::By { new: counted, old: &charged };
        let ask = Demand { change, granted_at: open.last_at(permit.granted_at), ..Demand::default() };
        let evaluation = self.state.decide(&self.policy, now, ask);
        for (i, limit) in self.policy.limits().iter().enumerate() {
            let (Rule::Window(window), Some(log)) = (limit.rule, self.state.log(&self.policy, i)) else { continue };
            let (mut live, mut change) = (evaluation.levels[i], change.of(i, 0));
            let room = limit.most().saturating_sub(live).cast_signed();
            for (at, units) in open.reservations(i, permit.granted_at) {
                let part = if change > 0 { change.min(room) } else { change.max(-units.cast_signed()) };
                change = if change > 0 { 0 } else { change - part };
                if at + window.interval > now {
                    let before = log.len();
                    log.correct(at.min(now), part, live);
                    live = live.saturating_sub(before.saturating_sub(log.len()));
                }
            }
        }
        self.state.permits.keep(open.key, (now + SETTLED_MEMORY.0).min(open.deadline) * 2 + 1);
        let change = actual.most().cast_signed() - charged.most().cast_signed();
        self.state.counters.correct(now, change);
        self.state.settle(&self.policy, &evaluation.levels, now, self.skew);
        Settlement::Settled
    }

    /// Returns the charge that stays where a limit gives back no units that may have drained, or that an extended permit has
    /// reserved in an earlier interval; `None` where neither can be.
    fn kept(&self, permit: &Permit<'_>, actual: &Charge, open: &OpenPermit) -> Option<Charge> {
        let (charged, is_capped) = (&open.charged, |limit: &Limit| limit.refund() == Refund::Undrained);
        let since = |i, start: u64| {
            let in_time = open.reservations(i, permit.granted_at).filter(|(at, _)| *at >= start);
            actual.of(i).max(charged.of(i) - in_time.map(|(_, units)| units).sum::<u64>())
        };
        (open.is_extended() || self.own.limits().iter().any(is_capped)).then(|| {
            let elapsed = self.now.saturating_sub(permit.granted_at);
            let limits = self.own.limits().iter().zip(self.policy.limits()).enumerate();
            Charge::each(limits.map(|(i, (own, limit))| match limit.rule {
                Rule::Leaky(leaky) if is_capped(own) => {
                    let undrained = leaky.undrained(charged.of(i), elapsed);
                    actual.of(i).max(charged.of(i).saturating_sub(undrained))
                }
                Rule::Bucket(bucket) => since(i, self.now.saturating_sub(bucket.elapsed(self.now))),
                Rule::Quota(_) => since(i, limit.periods(self.now).start),
                _ => actual.of(i),
            }))
        })
    }
}
