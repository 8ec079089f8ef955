//! `Clients`: the processes that make calls.

use std::collections::VecDeque;

use crate::client::wakeup::WakeupListener;

/// The maximum number of clients in a scenario.
pub const MAX_CLIENTS: u64 = 100;

/// The processes that make calls, and the jobs that wait for a free client.
pub(super) struct Clients {
    all: Vec<Client>,
    /// The maximum number of concurrent jobs per client; 0: unlimited.
    at_once: u64,
    /// The client that is tried first for the next job.
    next: usize,
    line: VecDeque<usize>,
}

#[derive(Default)]
struct Client {
    /// The end of the client's crash; 0: not crashed.
    dead_until: u64,
    busy: u64,
    /// The listener for the client's wake-ups.
    hints: Option<WakeupListener>,
}

impl Clients {
    pub(super) fn new(clients: usize, at_once: u64) -> Self {
        Self { all: (0..clients).map(|_| Client::default()).collect(), at_once, next: 0, line: VecDeque::new() }
    }

    /// Returns the client that takes a job now. Without a free client the job waits.
    pub(super) fn take(&mut self, job: usize) -> Option<usize> {
        let count = self.all.len();
        let found = (0..count).map(|i| (self.next + i) % count).find(|i| self.is_free(&self.all[*i]));
        let Some(index) = found else {
            self.line.push_back(job);
            return None;
        };
        self.next = (index + 1) % count;
        self.all[index].busy += 1;
        Some(index)
    }

    /// Frees a client after a job, whether the job is finished or retries.
    pub(super) fn give(&mut self, client: usize) {
        self.all[client].busy -= 1;
    }

    /// Returns the job that has waited longest for a client, if one is free.
    pub(super) fn call_next(&mut self) -> Option<(usize, usize)> {
        let job = self.line.pop_front()?;
        let client = self.take(job);
        if client.is_none() {
            // The job keeps its position.
            self.line.rotate_right(1);
        }
        Some((job, client?))
    }

    /// Returns whether a job waits and a client is free.
    pub(super) fn may_call(&self) -> bool {
        !self.line.is_empty() && self.all.iter().any(|client| self.is_free(client))
    }

    /// Crashes a client, which loses its jobs. For overlapping crashes the latest end applies.
    pub(super) fn crash(&mut self, client: usize, until: u64) {
        let dead_until = self.all[client].dead_until.max(until);
        self.all[client] = Client { dead_until, ..Client::default() };
    }

    /// Returns whether the client stays crashed beyond a time.
    pub(super) fn is_dead_beyond(&self, client: usize, at: u64) -> bool {
        self.all[client].dead_until > at
    }

    pub(super) fn revive(&mut self, client: usize) {
        self.all[client].dead_until = 0;
    }

    fn is_free(&self, client: &Client) -> bool {
        client.dead_until == 0 && (self.at_once == 0 || client.busy < self.at_once)
    }

    pub(super) fn hints(&self, client: usize) -> Option<&WakeupListener> {
        self.all[client].hints.as_ref()
    }

    pub(super) fn listen(&mut self, client: usize, hints: WakeupListener) {
        self.all[client].hints = Some(hints);
    }

    pub(super) fn all_hints(&self) -> impl Iterator<Item = &WakeupListener> {
        self.all.iter().filter_map(|client| client.hints.as_ref())
    }
}
