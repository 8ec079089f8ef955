//! The tickets whose turn has come, for a host that calls their jobs. Twin of `ready.lua`.

use crate::engine::queue::ASKED_UNTIL;
use crate::engine::transaction::Transaction;

/// How long after such a question the queue knows of a host that calls its jobs, in microseconds.
const ASKED_FOR: u64 = 10_000_000;

/// The tickets that are to call at once, and how many are asked for.
pub(crate) struct Ready {
    pub(crate) ids: Vec<String>,
    pub(crate) count: u64,
}

impl Transaction<'_> {
    /// Returns the ids of up to `count` tickets without a channel that can be granted, which are to call at once.
    pub(crate) fn ready(mut self, count: u64) -> Vec<String> {
        let mut ready = Ready { ids: Vec::new(), count };
        self.advance_and_list(Some(&mut ready));
        let asked_until = self.queue_summary.loads.get(ASKED_UNTIL);
        // Written seldom, because a host asks often.
        if self.queue_summary.tickets > 0 && asked_until < self.now + ASKED_FOR / 2 {
            self.queue_summary.loads.set(ASKED_UNTIL, self.now + ASKED_FOR);
            self.queue_changed = true;
        }
        if self.queue_changed {
            self.write_queue_summary();
        }
        ready.ids
    }
}
