//! `SamplesBody`: how much was left and how many calls waited in the last minutes and hours.

use std::collections::BTreeMap;

use paddlegate::{History, Micros};
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;
use crate::samples::{Sample, Sampled};

/// What this server has read of a limiter once a minute, the oldest first; the last minute and hour are not over.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SamplesBody {
    /// When this server began to read samples, in seconds since 1970; null when it has none of this limiter: it is keyed, nobody has
    /// used it since, or 2,000 others were used later.
    #[schema(required)]
    since: Option<f64>,
    /// The amount of each limit, by its label, as last read.
    limits: BTreeMap<String, u64>,
    /// The last 60 minutes.
    minutes: Vec<SampleBody>,
    /// The last 48 hours.
    hours: Vec<SampleBody>,
}

/// What was read in one minute or hour.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SampleBody {
    /// When it began, in seconds since 1970.
    start: f64,
    /// The most tickets in the queue; null when nothing was read.
    #[schema(required)]
    waiting: Option<u64>,
    /// The least that was left of each limit, by its label; empty when nothing was read.
    remaining: BTreeMap<String, u64>,
}

impl SamplesBody {
    /// Returns what there is up to this minute.
    pub(crate) fn new(sampled: Option<&Sampled>, minute: u64) -> Self {
        let Some(sampled) = sampled else {
            return Self {
                since: None,
                limits: BTreeMap::new(),
                minutes: nothing(minute, History::MINUTES, 60),
                hours: nothing(minute / 60, History::HOURS, 3_600),
            };
        };
        let labels: Vec<String> = sampled.limits.iter().map(|(label, _)| label.to_string()).collect();
        let body = |sample: &Sample| SampleBody {
            start: seconds(sample.start),
            waiting: sample.waiting,
            remaining: labels
                .iter()
                .zip(&sample.remaining)
                .filter_map(|(l, left)| Some((l.clone(), (*left)?)))
                .collect(),
        };
        Self {
            since: Some(seconds(sampled.since)),
            limits: sampled.limits.iter().map(|(label, amount)| (label.to_string(), *amount)).collect(),
            minutes: sampled.minutes.iter().map(body).collect(),
            hours: sampled.hours.iter().map(body).collect(),
        }
    }
}

fn nothing(newest: u64, count: usize, length: u64) -> Vec<SampleBody> {
    let start = |number: u64| seconds(Micros(number * length * 1_000_000));
    let empty = |number| SampleBody { start: start(number), waiting: None, remaining: BTreeMap::new() };
    ((newest + 1).saturating_sub(count as u64)..=newest).map(empty).collect()
}
