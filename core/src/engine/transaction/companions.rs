//! The companions of a call: other waiting calls of its process, which it answers for. Twin of `companions.lua`.

use crate::engine::queue::RECHECK;
use crate::engine::transaction::{Transaction, Waiting};

/// How much later than after [`RECHECK`] the ticket of a companion is to call, since its process answers for it a little late.
const SLACK: u64 = 1_000_000;

/// A waiting call of the caller's process, at rest in the same queue with the same channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Companion {
    pub(crate) id: Box<str>,
    /// Its number in the process, and the number of its last answer there.
    pub(crate) waiter: u64,
    pub(crate) round: u64,
}

impl Transaction<'_> {
    /// Shows that the waiters of the companions are alive, as their own calls would, and wakes what can be granted. A ticket
    /// that is to call now has a wake-up, so it must call by itself.
    ///
    /// Returns for each companion how long it need not call: at most [`RECHECK`], and zero if it must call by itself.
    pub(super) fn keep_companions(&mut self, waiting: &Waiting<'_>) -> Box<[u64]> {
        let next_check = self.now + RECHECK.0 + SLACK;
        let mut kept = Vec::with_capacity(waiting.companions.len());
        for companion in waiting.companions {
            let ticket = self.ticket_of(&companion.id);
            let ticket = ticket.filter(|ticket| ticket.channel == waiting.channel && ticket.next_check > self.now);
            kept.push(ticket.is_some());
            if let Some(mut ticket) = ticket {
                ticket.call_again(next_check);
                self.keep(ticket);
            }
        }
        if kept.contains(&true) {
            // The turn of one may come before that.
            self.advance();
        }
        let of_queue = |id: &str| self.state.queue.as_ref().and_then(|queue| queue.get(id));
        let left =
            |id: &str| of_queue(id).map_or(0, |ticket| ticket.next_check.saturating_sub(self.now).min(RECHECK.0));
        let each = waiting.companions.iter().zip(kept);
        each.map(|(companion, is_kept)| if is_kept { left(&companion.id) } else { 0 }).collect()
    }
}
