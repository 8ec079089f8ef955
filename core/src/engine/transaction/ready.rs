//! The tickets whose turn has come, for a host that calls their jobs. Twin of `ready.lua`.

use crate::base::micros::Micros;
use crate::engine::queue::MAX_POLL;
use crate::engine::transaction::Transaction;
use crate::engine::transaction::advance::NOTIFY_SLACK;
use crate::engine::transaction::hosts::{ASKED_FOR, Host};
use crate::model::turns::{ReadyCalls, TurnsHost};

/// The maximum number of hosts of a limiter that sleep; one more takes the place of the first.
const MAX_HOSTS: usize = 8;

/// The tickets that are to call at once, how many are asked for, and when the next can be granted.
pub(crate) struct Ready {
    pub(crate) ids: Vec<String>,
    pub(crate) count: u64,
    pub(crate) due_at: Option<u64>,
}

impl Transaction<'_> {
    /// Returns the ids of up to `count` tickets without a channel that can be granted, which are to call at once, and the time
    /// until the host asks again.
    pub(crate) fn ready(mut self, count: u64, host: Option<TurnsHost<'_>>) -> ReadyCalls {
        let mut ready = Ready { ids: Vec::new(), count, due_at: None };
        self.advance_and_list(Some(&mut ready));
        let asked_until = self.queue_summary.asked_until;
        // Written seldom, because a host asks often.
        if self.queue_summary.tickets > 0 && asked_until <= self.now + ASKED_FOR / 2 {
            self.queue_summary.asked_until = self.now + ASKED_FOR;
            self.queue_changed = true;
        }
        if self.queue_changed {
            self.write_queue_summary();
        }
        let is_full = ready.ids.len() as u64 == count;
        let mut after = ready.due_at.map_or(MAX_POLL.0, |due_at| due_at.saturating_sub(self.now).min(MAX_POLL.0));
        if is_full {
            after = 0;
        }
        if let Some(TurnsHost { id, channel }) = host {
            let now = self.now;
            let hosts = self.hosts();
            hosts.retain(|host| host.id != id);
            if !is_full {
                // One is enough for a turn.
                if hosts.iter().any(|host| host.due_at <= now + after + NOTIFY_SLACK) {
                    after = MAX_POLL.0;
                }
                let (id, channel) = (id.to_owned(), channel.to_owned());
                hosts.push(Host { known_until: now + ASKED_FOR, due_at: now + after, channel, id });
                if hosts.len() > MAX_HOSTS {
                    hosts.remove(0);
                }
            }
        }
        ReadyCalls { ids: ready.ids, after: Micros(after) }
    }
}
