//! `StatisticsOfKeys`: the statistics and the history of a keyed limiter, which are stored once for each hash tag of its keys.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::call::{Call, Chain, Expects};
use super::command::Command;
use super::config::Address;
use super::names::statistics_of_all_keys;
use super::tally::Tallies;
use super::wire::{Value, command};
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::model::operation::Answer;
use crate::verbs::counted::Counted;

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
}

impl Chain for StatisticsOfKeys {
    /// Adds the reply to a call. Leases and tickets of keys are not added up.
    fn next(&self, reply: &Value, _: &Address) -> Result<ControlFlow<Answer, Call>> {
        let mut further = self.clone();
        further.rest.pop();
        further.total.add(&Counted::read(reply.items()?));
        if !further.rest.is_empty() {
            return Ok(ControlFlow::Continue(Call::statistics_of_keys(further)));
        }
        let counted = further.total;
        Ok(ControlFlow::Break(match further.history_at {
            Some(now) => Answer::History(counted.history(now.0).into()),
            None => Answer::Statistics(counted.statistics.into()),
        }))
    }
}

impl Call {
    /// Creates the next call for the statistics of all keys of a keyed limiter.
    pub(crate) fn statistics_of_keys(statistics: StatisticsOfKeys) -> Self {
        let (slot, key) = statistics.rest.last().map_or((0, ""), |(slot, key)| (*slot, key));
        let mut bytes = Vec::with_capacity(256);
        command(&mut bytes, &[b"HGETALL".as_slice(), key.as_bytes()]);
        let reports = statistics.tallies.all(Some(slot));
        Self::with_slot(slot, Command::new(bytes), Expects::Chain(Box::new(statistics))).with_reports(reports)
    }
}
