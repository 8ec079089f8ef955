//! The history of a limiter for JavaScript: the numbers of each entry one after the other.

use napi_derive::napi;
use paddlegate::HistoryEntry;

use crate::convert::{number, to_seconds};

#[napi(object, object_from_js = false)]
pub struct History {
    pub minutes: Vec<f64>,
    pub hours: Vec<f64>,
}

impl From<&paddlegate::History> for History {
    fn from(it: &paddlegate::History) -> Self {
        Self { minutes: numbers(&it.minutes), hours: numbers(&it.hours) }
    }
}

/// Returns for each entry its start in seconds since 1970, granted, refused, waited, units.
fn numbers(entries: &[HistoryEntry]) -> Vec<f64> {
    let numbers = |it: &HistoryEntry| {
        [to_seconds(it.start), number(it.granted), number(it.refused), number(it.waited), number(it.units)]
    };
    entries.iter().flat_map(numbers).collect()
}
