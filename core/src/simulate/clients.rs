//! `Clients`: the processes that call.

use std::collections::VecDeque;

use crate::hints::Hints;

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
    is_dead: bool,
    busy: u64,
    /// Where it hears that it is its turn.
    hints: Option<Hints>,
}

impl Clients {
    pub(super) fn new(clients: usize, at_once: u64) -> Self {
        Self { all: (0..clients).map(|_| Client::default()).collect(), at_once, next: 0, line: VecDeque::new() }
    }

    /// The client that takes a job now; without one the job waits in the line.
    pub(super) fn take(&mut self, job: usize) -> Option<usize> {
        let count = self.all.len();
        let free = |client: &Client| !client.is_dead && (self.at_once == 0 || client.busy < self.at_once);
        let found = (0..count).map(|i| (self.next + i) % count).find(|i| free(&self.all[*i]));
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

    /// The client is gone, with its jobs.
    pub(super) fn crash(&mut self, client: usize) {
        self.all[client] = Client { is_dead: true, ..Client::default() };
    }

    pub(super) fn revive(&mut self, client: usize) {
        self.all[client].is_dead = false;
    }

    pub(super) fn hints(&self, client: usize) -> Option<&Hints> {
        self.all[client].hints.as_ref()
    }

    pub(super) fn listen(&mut self, client: usize, hints: Hints) {
        self.all[client].hints = Some(hints);
    }

    pub(super) fn all_hints(&self) -> impl Iterator<Item = &Hints> {
        self.all.iter().filter_map(|client| client.hints.as_ref())
    }
}
