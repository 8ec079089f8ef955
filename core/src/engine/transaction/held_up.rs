//! The ticket of a call that another limiter holds up. Twin of `held_up.lua`.

use crate::engine::transaction::{Transaction, Waiting};

impl Transaction<'_> {
    /// Keeps the position of the call's ticket, if it has one, and stops nobody with it until the call comes back. The call
    /// waits for `delay` elsewhere.
    pub(crate) fn suspend(mut self, waiting: &Waiting<'_>, delay: u64) {
        let Some(mut ticket) = self.ticket_of(self.id) else { return };
        self.queue_summary.loads.remove(ticket.loads());
        ticket.units.fill(0);
        ticket.next_check = self.now + delay;
        ticket.expires_at = ticket.next_check + waiting.claim_timeout + waiting.keep;
        ticket.claim_timeout = waiting.claim_timeout;
        waiting.channel.clone_into(&mut ticket.channel);
        self.keep(ticket);
        self.advance();
        self.write_queue_summary();
    }

    /// Removes the call's ticket, if it has one.
    pub(crate) fn leave(mut self) {
        let Some(ticket) = self.ticket_of(self.id) else { return };
        self.remove_ticket(&ticket);
        self.advance();
        self.write_queue_summary();
    }
}
