//! The walk along the queue, which wakes every ticket that can be granted. Twin of `queue.lua`.

use crate::base::charge::Charge;
use crate::base::micros::MAX_TIME;
use crate::engine::loads::Loads;
use crate::engine::queue::{CALLED, MAX_CHECKED_TICKETS, Ticket};
use crate::engine::state::Units;
use crate::engine::transaction::ready::Ready;
use crate::engine::transaction::{TicketUnits, Transaction};
use crate::model::mode::Mode;
use crate::model::policy::is_exceeded;
/// A ticket gets no wake-up for a change below this, in microseconds.
const NOTIFY_SLACK: u64 = 1_000;

impl Transaction<'_> {
    pub(crate) fn ticket_of(&self, id: &str) -> Option<Ticket> {
        self.state.queue.as_ref()?.get(id).cloned()
    }

    pub(crate) fn rank(&self, ticket: &Ticket) -> u64 {
        self.state.queue.as_ref().map_or(0, |queue| queue.rank(ticket))
    }

    pub(crate) fn keep(&mut self, ticket: Ticket) {
        self.queue_summary.until = self.queue_summary.until.max(ticket.expires_at);
        self.queue_changed = true;
        self.state.queue.get_or_insert_default().keep(ticket);
    }

    pub(crate) fn remove_ticket(&mut self, ticket: &Ticket) {
        if let Some(queue) = &mut self.state.queue {
            queue.remove(&ticket.id);
        }
        self.queue_summary.tickets = self.queue_summary.tickets.saturating_sub(1);
        if self.queue_summary.tickets > 0 {
            self.queue_summary.loads.remove(ticket.loads());
        } else {
            self.queue_summary.loads = Loads::default();
        }
        self.queue_changed = true;
        self.removed += 1;
    }

    /// Returns the ticket at a position of the queue.
    ///
    /// A lapsed ticket is removed, unless it belongs to this call, and the next ticket takes its position.
    fn ticket_at(&mut self, position: u64) -> Option<Ticket> {
        loop {
            let ticket = self.state.queue.as_ref()?.at(position)?.clone();
            let stays = ticket.expires_at > self.now || ticket.id == self.id;
            if stays || self.removed >= self.max_expired {
                return Some(ticket);
            }
            self.remove_ticket(&ticket);
            self.state.statistics.lapsed += 1;
        }
    }

    /// Returns whether others pass a ticket by: its call did not retry in time, and still has its position.
    pub(super) fn is_passed(&self, ticket: &Ticket) -> bool {
        ticket.id != self.id && ticket.claim_end() <= self.now && ticket.expires_at > self.now
    }

    /// Returns the load ahead of a position: tickets, their units of each limit, and the earliest time at which others pass
    /// one of them by. Tickets without a limit of this call do not count.
    pub(crate) fn load_ahead(&mut self, mut position: u64) -> (u64, Units, u64) {
        let (mut read, mut ahead, mut units_ahead, mut first_expiry) = (0, 0, Units::default(), MAX_TIME.0);
        while read < position && read < MAX_CHECKED_TICKETS {
            let tickets = self.queue_summary.tickets;
            let ticket = self.ticket_at(read);
            position = position.saturating_sub(tickets - self.queue_summary.tickets);
            let Some(ticket) = ticket.filter(|_| read < position) else {
                return (ahead, units_ahead, first_expiry);
            };
            read += 1;
            let units = self.units_of(&ticket);
            if units.is_shared() && self.fits(&units) {
                ahead += 1;
                add(&mut units_ahead, &units.charge);
                first_expiry = first_expiry.min(ticket.claim_end());
            }
        }
        let unread = position.saturating_sub(read);
        add(&mut units_ahead, &Charge::All(unread));
        (ahead + unread, units_ahead, first_expiry)
    }

    /// Returns whether no limit of this call is below the units of a ticket. Otherwise the ticket stops nobody: it keeps its
    /// position, and its own call decides.
    fn fits(&self, units: &TicketUnits) -> bool {
        let mut limits = self.policy.limits().iter().enumerate();
        limits.all(|(i, limit)| !units.has[i] || !is_exceeded(limit, units.charge.of(i)))
    }

    /// Wakes every ticket that can be granted and schedules the next. The ticket of this call gets no wake-up. The call
    /// changes nothing for tickets that have no limit in common with it, unless it ends a pause.
    pub(crate) fn advance(&mut self) {
        self.advance_and_list(None);
    }

    /// Advances the queue. Tickets without a channel that can be granted go into the list, once each, and are to
    /// call at once.
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
            if wait > 0 && is_present {
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

fn add(units_ahead: &mut Units, charge: &Charge) {
    for (i, units) in units_ahead.iter_mut().enumerate() {
        *units += charge.of(i);
    }
}
