//! `StatisticsOfKeys`: the statistics and the history of a keyed limiter, which are stored once for each hash tag of its keys.

use std::sync::Arc;

use super::counted::Counted;
use super::names::statistics_of_all_keys;
use super::tally::Tallies;
use super::wire::{Value, command};
use crate::base::micros::Micros;
use crate::model::operation::Answer;

/// What was read so far, and the slots and keys that are still to be read.
#[derive(Clone, Debug)]
pub(crate) struct StatisticsOfKeys {
    total: Counted,
    /// The time at which the history is read; `None` reads the statistics.
    history_at: Option<Micros>,
    /// The next one last; never empty.
    rest: Vec<(u16, String)>,
    /// What this process has counted belongs to them.
    tallies: Arc<Tallies>,
}

/// The result of one reply.
pub(super) enum Added {
    Further(StatisticsOfKeys),
    All(Answer),
}

impl StatisticsOfKeys {
    pub(crate) fn new(name: &str, group: Option<&str>, tallies: &Arc<Tallies>) -> Self {
        let rest = statistics_of_all_keys(name, group);
        Self { total: Counted::default(), history_at: None, rest, tallies: tallies.clone() }
    }

    /// Reads those that are stored under one key.
    #[cfg(feature = "aio")]
    pub(crate) fn of_one(slot: u16, key: &str, tallies: &Arc<Tallies>) -> Self {
        let rest = vec![(slot, key.to_owned())];
        Self { total: Counted::default(), history_at: None, rest, tallies: tallies.clone() }
    }

    /// Reads the history at this time instead.
    pub(crate) fn history_at(self, now: Micros) -> Self {
        Self { history_at: Some(now), ..self }
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
        further.total.add(&Counted::read(items));
        if !further.rest.is_empty() {
            return Added::Further(further);
        }
        let counted = further.total;
        Added::All(match further.history_at {
            Some(now) => Answer::History(counted.history(now.0).into()),
            None => Answer::Statistics(counted.statistics.into()),
        })
    }
}
