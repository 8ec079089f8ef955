//! `MostRefused`: reads the most refused keys of a keyed limiter, which are stored for each hash tag of its keys and each hour.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::call::{Call, Chain, Expects};
use super::command::Command;
use super::config::Address;
use super::names::{refused_keys, statistics_of_all_keys};
use super::reply::garbled;
use super::tally::Tallies;
use super::wire::{Value, command};
use crate::base::error::Result;
use crate::model::operation::Answer;
use crate::model::refused_key::RefusedKey;
use crate::store::refused_keys::RefusedKeys;

/// What was read so far, and what is still to be read.
#[derive(Clone, Debug)]
pub(crate) struct MostRefused {
    found: Vec<(String, u64)>,
    count: u64,
    /// The hour of now.
    hour: u64,
    /// The slots and the keys of the statistics, the next one last; never empty.
    rest: Vec<(u16, String)>,
    /// What this process has counted belongs to them.
    tallies: Arc<Tallies>,
}

impl MostRefused {
    pub(crate) fn new((name, group): (&str, Option<&str>), count: u64, now: u64, tallies: &Arc<Tallies>) -> Self {
        let rest = statistics_of_all_keys(name, group);
        Self { found: Vec::new(), count, hour: RefusedKeys::hour_at(now), rest, tallies: tallies.clone() }
    }
}

impl Chain for MostRefused {
    /// Adds the reply to a call: keys, each followed by its number.
    fn next(&self, reply: &Value, _: &Address) -> Result<ControlFlow<Answer, Call>> {
        let mut further = self.clone();
        further.rest.pop();
        for pair in reply.items()?.chunks(2) {
            let [Value::Text(key), Value::Text(score)] = pair else { return Err(garbled()) };
            let [Ok(key), Ok(score)] = [key, score].map(|text| std::str::from_utf8(text)) else { continue };
            // A number that this library did not write is none.
            let Some(refused) = score.parse().ok().filter(|refused| *refused > 0) else { continue };
            further.found.push((key.to_owned(), refused));
        }
        if further.rest.is_empty() {
            return Ok(ControlFlow::Break(Answer::MostRefused(RefusedKey::most(further.found, self.count))));
        }
        Ok(ControlFlow::Continue(Call::most_refused(further)))
    }
}

impl Call {
    /// Creates the next call for the most refused keys.
    pub(crate) fn most_refused(read: MostRefused) -> Self {
        let (slot, statistics) = read.rest.last().map_or((0, ""), |(slot, key)| (*slot, key));
        let [this, last] = [read.hour, read.hour.saturating_sub(1)].map(|hour| refused_keys(statistics, hour));
        let mut bytes = Vec::with_capacity(256);
        command(&mut bytes, &[b"ZUNION", b"2", this.as_bytes(), last.as_bytes(), b"WITHSCORES"]);
        let reports = read.tallies.all(Some(slot));
        Self::with_slot(slot, Command::new(bytes), Expects::Chain(Box::new(read))).with_reports(reports)
    }
}
