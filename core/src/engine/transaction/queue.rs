//! The tickets in the queue. Twin of `queue.lua`.

use crate::base::charge::Charge;
use crate::base::micros::MAX_TIME;
use crate::engine::queue::{MAX_CHECKED_TICKETS, Ticket};
use crate::engine::state::Units;
use crate::engine::transaction::{TicketUnits, Transaction};
use crate::model::policy::is_exceeded;

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
            self.queue_summary = self.queue_summary.emptied();
        }
        self.queue_changed = true;
        self.removed += 1;
    }

    /// Returns the ticket at a position of the queue.
    ///
    /// A lapsed ticket is removed, unless it belongs to this call, and the next ticket takes its position.
    pub(super) fn ticket_at(&mut self, position: u64) -> Option<Ticket> {
        loop {
            let ticket = self.state.queue.as_ref()?.at(position)?.clone();
            let stays = ticket.expires_at > self.now || ticket.id == self.id;
            if stays || self.removed >= self.max_expired {
                return Some(ticket);
            }
            self.remove_ticket(&ticket);
            self.state.counters.others().lapsed += 1;
        }
    }

    /// Returns whether others pass a ticket by: its call did not retry in time, and still has its position.
    pub(super) fn is_passed(&self, ticket: &Ticket) -> bool {
        ticket.id != self.id && ticket.claim_end() <= self.now && ticket.expires_at > self.now
    }

    /// Returns the load ahead of a position: tickets, their units of each limit, and the earliest time at which others pass
    /// one of them by; and how many of the tickets were not read. Tickets without a limit of this call do not count.
    pub(crate) fn load_ahead(&mut self, mut position: u64) -> (u64, Units, u64, u64) {
        let (mut read, mut ahead, mut units_ahead, mut first_expiry) = (0, 0, Units::default(), MAX_TIME.0);
        while read < position && read < MAX_CHECKED_TICKETS {
            let tickets = self.queue_summary.tickets;
            let ticket = self.ticket_at(read);
            position = position.saturating_sub(tickets - self.queue_summary.tickets);
            let Some(ticket) = ticket.filter(|_| read < position) else {
                return (ahead, units_ahead, first_expiry, 0);
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
        (ahead + unread, units_ahead, first_expiry, unread)
    }

    /// Returns whether no limit of this call is below the units of a ticket. Otherwise the ticket stops nobody: it keeps its
    /// position, and its own call decides.
    pub(super) fn fits(&self, units: &TicketUnits) -> bool {
        let mut limits = self.policy.limits().iter().enumerate();
        limits.all(|(i, limit)| !units.has[i] || !is_exceeded(limit, units.charge.of(i)))
    }
}

pub(super) fn add(units_ahead: &mut Units, charge: &Charge) {
    for (i, units) in units_ahead.iter_mut().enumerate() {
        *units += charge.of(i);
    }
}
