//! Hosts that sleep until the turn of a job has come, which is a ticket without a channel. Twin of `hosts.lua`.

use crate::engine::transaction::Transaction;
use crate::engine::transaction::advance::NOTIFY_SLACK;

/// How long after a question the queue knows of the host, in microseconds.
pub(crate) const ASKED_FOR: u64 = 10_000_000;

/// A host that asks again at `due_at`, or earlier when a message on its channel says so.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) known_until: u64,
    pub(crate) due_at: u64,
    pub(crate) channel: String,
    pub(crate) id: String,
}

impl Transaction<'_> {
    /// Returns the hosts in the order of their questions.
    pub(super) fn hosts(&mut self) -> &mut Vec<Host> {
        let hosts = &mut self.state.queue.get_or_insert_default().hosts;
        hosts.retain(|host| host.known_until > self.now);
        hosts
    }

    /// Tells one host that a turn comes at a time, unless a host asks by then anyway. One that is told to ask at once leaves the
    /// list until it does.
    pub(super) fn wake_host(&mut self, at: u64) {
        let (now, channels) = (self.now, self.channels);
        let hosts = self.hosts();
        if at > now && hosts.iter().any(|host| host.due_at <= at + NOTIFY_SLACK) {
            return;
        }
        while let Some(host) = hosts.first_mut() {
            let is_told = channels.publish(&host.channel, at - now, &host.id);
            if is_told && at > now {
                host.due_at = at;
                return;
            }
            hosts.remove(0);
            if is_told {
                return;
            }
        }
    }
}
