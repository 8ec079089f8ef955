//! `StatisticsOfKeys`: the statistics of a keyed limiter, which are stored once for each hash tag of its keys.

use std::sync::Arc;

use super::counted::statistics;
use super::keys::statistics_of_all_keys;
use super::tally::Tallies;
use super::wire::{Value, command};
use crate::model::statistics::Statistics;

/// What was read so far, and the slots and keys that are still to be read.
#[derive(Clone, Debug)]
pub(crate) struct StatisticsOfKeys {
    total: Statistics,
    /// The next one last; never empty.
    rest: Vec<(u16, String)>,
    /// What this process has counted belongs to them.
    tallies: Arc<Tallies>,
}

/// The result of one reply.
pub(super) enum Added {
    Further(StatisticsOfKeys),
    All(Statistics),
}

impl StatisticsOfKeys {
    pub(crate) fn new(name: &str, group: Option<&str>, tallies: &Arc<Tallies>) -> Self {
        Self { total: Statistics::default(), rest: statistics_of_all_keys(name, group), tallies: tallies.clone() }
    }

    pub(super) fn tallies(&self) -> Arc<Tallies> {
        self.tallies.clone()
    }

    /// Returns the slot and the command of the next call.
    pub(super) fn next(&self) -> (u16, Vec<u8>) {
        let mut bytes = Vec::with_capacity(256);
        let Some((slot, key)) = self.rest.last() else { return (0, bytes) };
        command(&mut bytes, &[b"HGETALL".as_slice(), key.as_bytes()]);
        (*slot, bytes)
    }

    /// Adds the reply to that call. Leases and tickets of keys are not added up.
    pub(super) fn add(&self, items: &[Value]) -> Added {
        let mut further = self.clone();
        further.rest.pop();
        further.total.add(&statistics(items));
        if further.rest.is_empty() { Added::All(further.total) } else { Added::Further(further) }
    }
}
