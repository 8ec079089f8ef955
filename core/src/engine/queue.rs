//! `Queue`: the tickets of a limiter in the order of their numbers. Twin of `queue.lua`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::micros::Micros;
use crate::base::ranked::Ranked;
use crate::engine::loads::Loads;

/// The maximum number of tickets of a limiter; beyond it a call is refused instead of queued.
pub const MAX_TICKETS: usize = 100_000;

/// How often a waiter for a release retries, which bounds the delay by a lost wake-up: 5 s.
pub const RECHECK: Micros = Micros(5_000_000);

/// The maximum number of tickets that one call examines.
pub(crate) const MAX_CHECKED_TICKETS: u64 = 64;

/// A ticket in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: String,
    pub(crate) number: u64,
    /// For each tag, the units that were queued before it, and its own; one of a limit that counts calls. The own units of a
    /// suspended ticket are zero.
    pub(crate) units_before: Box<[u64]>,
    pub(crate) units: Box<[u64]>,
    /// When the ticket joined the queue.
    pub(crate) queued_at: u64,
    /// When its call should retry.
    pub(crate) next_check: u64,
    /// When the ticket loses its position, unless its call has retried.
    pub(crate) expires_at: u64,
    pub(crate) claim_timeout: u64,
    pub(crate) channel: String,
    /// The sorted tags of the limits that its call has, with commas between.
    pub(crate) tags: Arc<str>,
}

impl Ticket {
    /// Returns whether another limiter holds the call up: the ticket keeps its position and stops nobody.
    pub(crate) fn is_suspended(&self) -> bool {
        self.units.iter().all(|units| *units == 0)
    }

    /// Returns each tag with its units.
    pub(crate) fn loads(&self) -> impl Iterator<Item = (&str, u64)> {
        self.tags.split(',').zip(self.units.iter().copied())
    }

    /// Returns the units of a tag that were queued before it; `None` for a tag that it does not have.
    pub(crate) fn before(&self, tag: &str) -> Option<u64> {
        self.tags.split(',').position(|other| other == tag).map(|i| self.units_before[i])
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    order: Ranked<(u64, String)>,
    by_id: HashMap<String, Ticket>,
    /// The last ticket number, and the units of all tickets since the queue was empty.
    pub(crate) counter: u64,
    pub(crate) total: Loads,
}

impl Queue {
    pub(crate) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Ticket> {
        self.by_id.get(id)
    }

    pub(crate) fn at(&self, position: u64) -> Option<&Ticket> {
        let (_, id) = self.order.get(usize::try_from(position).ok()?)?;
        self.by_id.get(id)
    }

    pub(crate) fn rank(&self, ticket: &Ticket) -> u64 {
        let ticket = (ticket.number, ticket.id.as_str());
        self.order.rank(|(number, id)| (*number, id.as_str()) < ticket) as u64
    }

    /// Returns the number of tickets ahead of a ticket that returns under `number`.
    pub(crate) fn before(&self, number: u64) -> u64 {
        self.order.rank(|(other, _)| *other <= number) as u64
    }

    /// Adds or updates a ticket.
    pub(crate) fn keep(&mut self, ticket: Ticket) {
        self.order.insert((ticket.number, ticket.id.clone()));
        self.by_id.insert(ticket.id.clone(), ticket);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Ticket> {
        let ticket = self.by_id.remove(id)?;
        self.order.remove(&(ticket.number, ticket.id.clone()));
        Some(ticket)
    }
}

/// The summary of the queue in the state, for calls that do not examine the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueSummary {
    pub(crate) tickets: u64,
    pub(crate) loads: Loads,
    /// When the last ticket has lapsed.
    pub(crate) until: u64,
    /// When the summary was written; the limiter's clock never returns an earlier time.
    pub(crate) written_at: u64,
}
