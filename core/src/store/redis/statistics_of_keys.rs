//! `StatisticsOfKeys`: the statistics of a keyed limiter, which are stored once for each hash tag of its keys.

use std::sync::Arc;

use super::keys::statistics_of_all_keys;
use super::tally::Tallies;
use super::wire::{Value, command};
use crate::model::statistics::Statistics;

/// The fields of the hash, as the script writes them.
const FIELDS: [&str; 11] = [
    "granted",
    "refused",
    "waited",
    "wait",
    "units",
    "corrections",
    "held",
    "overages",
    "reclaimed",
    "lapsed",
    "shadow_refused",
];

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
        let mut words = vec![b"HMGET".as_slice(), key.as_bytes()];
        words.extend(FIELDS.iter().map(|field| field.as_bytes()));
        command(&mut bytes, &words);
        (*slot, bytes)
    }

    /// Adds the reply to that call.
    pub(super) fn add(&self, items: &[Value]) -> Added {
        let number = |item: &Value| match item {
            Value::Text(text) => std::str::from_utf8(text).ok()?.parse::<i64>().ok(),
            _ => None,
        };
        let mut numbers = items.iter().map(|item| number(item).unwrap_or(0));
        // Leases and tickets of keys are not added up.
        let mut values = [0; 13];
        for i in (0..10).chain([12]) {
            values[i] = numbers.next().unwrap_or(0);
        }
        // Units are stored as what exceeds one for each grant.
        values[4] += values[0];
        let one = Statistics::from_all(values.map(|value| u64::try_from(value).unwrap_or(0)));
        let mut further = self.clone();
        further.rest.pop();
        further.total = self.total.plus(&one);
        if further.rest.is_empty() { Added::All(further.total) } else { Added::Further(further) }
    }
}
