//! The walk along the queue after a change. Twin of `advance.lua`.

use crate::base::micros::MAX_TIME;
use crate::engine::queue::{CALLED, MAX_CHECKED_TICKETS};
use crate::engine::state::Units;
use crate::engine::transaction::Transaction;
use crate::engine::transaction::queue::add;
use crate::engine::transaction::ready::Ready;
use crate::model::mode::Mode;

/// Differences of time below this need no message, in microseconds.
pub(super) const NOTIFY_SLACK: u64 = 1_000;

impl Transaction<'_> {
    /// Wakes every ticket that can be granted and schedules the next. The ticket of this call gets no wake-up. The call
    /// changes nothing for tickets that have no limit in common with it, unless it ends a pause.
    pub(crate) fn advance(&mut self) {
        self.advance_and_list(None);
    }

    /// Advances the queue. Tickets without a channel that can be granted go into the list, once each, and are to
    /// call at once; without the list a host that sleeps is told of the first.
    pub(super) fn advance_and_list(&mut self, mut ready: Option<&mut Ready>) {
        let (mut read, mut units_ahead, mut first_expiry) = (0, Units::default(), MAX_TIME.0);
        let most = MAX_CHECKED_TICKETS + ready.as_ref().map_or(0, |ready| ready.count);
        while self.queue_summary.tickets > 0 && read < most && self.removed < self.max_expired {
            let Some(mut ticket) = self.ticket_at(read) else { return };
            let units = self.units_of(&ticket);
            // A call without limits, which works on the name alone, has to do with every ticket.
            let is_shared = units.is_shared() || self.own.limits().is_empty();
            if ticket.is_suspended() || self.is_passed(&ticket) || !is_shared && !self.is_admin || !self.fits(&units) {
                read += 1;
                continue;
            }
            let overrides = self.state.overrides.as_deref();
            let wait = match overrides.filter(|overrides| overrides.mode(self.now) == Some(Mode::Shadow)) {
                // All pass, but for a pause.
                Some(overrides) => overrides.paused_until.max(overrides.blocked_until).saturating_sub(self.now),
                None => self.evaluate_ticket(&units_ahead, &units).wait,
            };
            let check_at = if wait == 0 { self.now } else { (self.now + wait).min(first_expiry) };
            let mut is_present = true;
            let slack = if wait == 0 { 0 } else { NOTIFY_SLACK };
            if ticket.id != self.id && !ticket.channel.is_empty() && ticket.next_check > check_at + slack {
                is_present = self.channels.publish(&ticket.channel, check_at - self.now, &ticket.id);
                if is_present {
                    ticket.call_again(check_at);
                    self.keep(ticket.clone());
                } else {
                    self.remove_ticket(&ticket);
                }
            }
            if let Some(ready) = ready.as_deref_mut().filter(|_| wait == 0 && ticket.channel.is_empty()) {
                if ready.ids.len() as u64 == ready.count {
                    return;
                }
                ready.ids.push(ticket.id.clone());
                CALLED.clone_into(&mut ticket.channel);
                ticket.call_again(self.now);
                self.keep(ticket.clone());
            } else if self.is_admin && ticket.channel.is_empty() && ticket.next_check > check_at + NOTIFY_SLACK {
                // A ticket without a channel gets no wake-up when a pause ends, and must not block the others until its
                // old time.
                ticket.call_again(check_at);
                self.keep(ticket.clone());
            }
            let is_job = ticket.channel.is_empty() && (wait > 0 || ticket.id != self.id);
            if is_job && ready.is_none() && self.queue_summary.asked_until > self.now {
                self.wake_host(check_at);
            }
            if wait > 0 && is_present {
                if let Some(ready) = ready {
                    ready.due_at = Some(check_at);
                }
                return;
            }
            read += u64::from(is_present);
            if is_present && is_shared {
                add(&mut units_ahead, &units.charge);
                if ticket.id != self.id {
                    first_expiry = first_expiry.min(ticket.claim_end());
                }
            }
        }
    }
}
