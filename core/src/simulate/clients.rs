//! `Clients`: the processes that call.

use std::collections::VecDeque;

use crate::client::wakeup::WakeupListener;

/// The most clients of a scenario.
pub const MAX_CLIENTS: u64 = 100;

/// The processes that call, and the jobs for which none of them is free.
pub(super) struct Clients {
    all: Vec<Client>,
    /// 0: any number.
    at_once: u64,
    /// Who is asked first for the next job.
    next: usize,
    line: VecDeque<usize>,
}

#[derive(Default)]
struct Client {
    /// Until when it is dead; 0: it lives.
    dead_until: u64,
    busy: u64,
    /// Where it hears that it is its turn.
    hints: Option<WakeupListener>,
}

impl Clients {
    pub(super) fn new(clients: usize, at_once: u64) -> Self {
        Self { all: (0..clients).map(|_| Client::default()).collect(), at_once, next: 0, line: VecDeque::new() }
    }

    /// The client that takes a job now; without one the job waits in the line.
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

    /// A client is done with a job, whether it is finished or comes again.
    pub(super) fn give(&mut self, client: usize) {
        self.all[client].busy -= 1;
    }

    /// The job that has waited longest for a client, if one is free.
    pub(super) fn call_next(&mut self) -> Option<(usize, usize)> {
        let job = self.line.pop_front()?;
        let client = self.take(job);
        if client.is_none() {
            // It is the first again.
            self.line.rotate_right(1);
        }
        Some((job, client?))
    }

    /// Whether a job waits that a client could take.
    pub(super) fn may_call(&self) -> bool {
        !self.line.is_empty() && self.all.iter().any(|client| self.is_free(client))
    }

    /// The client is gone until then, with its jobs; who is dead already stays so for the longest of its crashes.
    pub(super) fn crash(&mut self, client: usize, until: u64) {
        let dead_until = self.all[client].dead_until.max(until);
        self.all[client] = Client { dead_until, ..Client::default() };
    }

    /// Whether it is dead, and stays so beyond a time.
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
