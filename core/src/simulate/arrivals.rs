//! `Arrivals`: the arrival times of a scenario.

#![allow(clippy::cast_precision_loss, reason = "times of ten years and a million arrivals are exact")]

use super::draw::{Rng, Stream};
use super::fields::Field;
use super::trace::{self, Traced};
use crate::base::error::Result;
use crate::base::micros::Micros;

/// The maximum number of arrivals in a scenario.
pub const MAX_ARRIVALS: usize = 1_000_000;

const DAY: f64 = 86_400e6;

/// The arrival times, measured from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrivals {
    shape: Shape,
    from: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// `count` in each `per`, evenly spaced.
    Steady { count: u64, per: Micros, lasts: Micros },
    /// `count` in each `per` on average, each independent of the others.
    Poisson { count: u64, per: Micros, lasts: Micros },
    /// `count` at once, repeatedly.
    Burst { count: u64, every: Micros, lasts: Micros },
    /// Evenly spaced, at a rate that changes linearly from `count` to `to` in each `per`.
    Ramp { count: u64, to: u64, per: Micros, lasts: Micros },
    /// Poisson arrivals, at a rate that varies once a day from `count` at midnight to `to` at noon.
    Daily { count: u64, to: u64, per: Micros, lasts: Micros },
    /// `count` at once.
    Jobs { count: u64 },
    /// Recorded times.
    Times(Vec<Traced>),
}

#[derive(Clone, Copy)]
enum Word {
    Steady,
    Poisson,
    Burst,
    Ramp,
    Daily,
    Jobs,
    Times,
}

const WORDS: [(&str, Word); 7] = [
    ("steady", Word::Steady),
    ("poisson", Word::Poisson),
    ("burst", Word::Burst),
    ("ramp", Word::Ramp),
    ("daily", Word::Daily),
    ("jobs", Word::Jobs),
    ("times", Word::Times),
];

impl Arrivals {
    /// Reads the arrivals, and checks that they are within the maximum.
    pub(super) fn read(field: &Field<'_>) -> Result<Self> {
        let length = |name: &str| {
            let field = field.get(name);
            field.required(field.length()?)
        };
        let number = |name: &str, least| {
            let field = field.get(name);
            field.required(field.whole(least, MAX_ARRIVALS as u64)?)
        };
        let shape = match field.get("kind").word(&WORDS, None)? {
            Word::Steady => Shape::Steady { count: number("count", 1)?, per: length("per")?, lasts: length("for")? },
            Word::Poisson => Shape::Poisson { count: number("count", 1)?, per: length("per")?, lasts: length("for")? },
            Word::Burst => Shape::Burst { count: number("count", 1)?, every: length("every")?, lasts: length("for")? },
            Word::Ramp => Shape::Ramp {
                count: number("count", 0)?,
                to: number("to", 0)?,
                per: length("per")?,
                lasts: length("for")?,
            },
            Word::Daily => Shape::Daily {
                count: number("count", 0)?,
                to: number("to", 1)?,
                per: length("per")?,
                lasts: length("for")?,
            },
            Word::Jobs => Shape::Jobs { count: number("count", 1)? },
            Word::Times => {
                let text = field.get("text");
                Shape::Times(trace::read(text.required(text.text()?)?).map_err(|message| text.fault(&message))?)
            }
        };
        let expected = shape.expected();
        if expected > MAX_ARRIVALS as f64 {
            return Err(field.fault(&format!(
                "would be about {expected:.0} arrivals, make it shorter or slower: arrivals_max={MAX_ARRIVALS}"
            )));
        }
        let from = if matches!(shape, Shape::Times(_)) { None } else { field.get("from").span()? };
        Ok(Self { shape, from: from.unwrap_or_default() })
    }

    /// Returns the recorded arrivals, if the scenario has them.
    pub(super) fn traced(&self) -> Option<&[Traced]> {
        match &self.shape {
            Shape::Times(traced) => Some(traced),
            _ => None,
        }
    }

    /// Returns the arrival times, sorted.
    pub(super) fn times(&self, seed: u64) -> Vec<u64> {
        let mut draw = Rng::new(seed, Stream::Arrivals);
        let from = self.from.0;
        let mut times = match &self.shape {
            Shape::Steady { count, per, lasts } => steady(*count, per.0, lasts.0),
            Shape::Poisson { count, per, lasts } => random(&mut draw, *count as f64 / per.0 as f64, lasts.0, |_| 1.0),
            Shape::Burst { count, every, lasts } => (0..)
                .map(|round| round * every.0)
                .take_while(|at| *at < lasts.0)
                .flat_map(|at| (0..*count).map(move |_| at))
                .take(MAX_ARRIVALS)
                .collect(),
            Shape::Ramp { count, to, per, lasts } => ramp(*count as f64, *to as f64, per.0 as f64, lasts.0),
            Shape::Daily { count, to, per, lasts } => {
                let (low, high) = (*count as f64, *to as f64);
                let most = low.max(high);
                let share = |at: f64| {
                    let noon = (1.0 - libm::cos((from as f64 + at) / DAY * std::f64::consts::TAU)) / 2.0;
                    (low + (high - low) * noon) / most
                };
                random(&mut draw, most / per.0 as f64, lasts.0, share)
            }
            Shape::Jobs { count } => (0..*count).map(|_| 0).collect(),
            Shape::Times(traced) => traced.iter().map(|traced| traced.at).collect(),
        };
        for at in &mut times {
            *at += from;
        }
        times
    }
}

impl Shape {
    fn expected(&self) -> f64 {
        let in_all = |count: f64, per: &Micros, lasts: &Micros| count * lasts.0 as f64 / per.0 as f64;
        match self {
            Self::Steady { count, per, lasts } | Self::Poisson { count, per, lasts } => {
                in_all(*count as f64, per, lasts)
            }
            Self::Burst { count, every, lasts } => *count as f64 * (lasts.0.div_ceil(every.0)) as f64,
            Self::Ramp { count, to, per, lasts } => in_all((*count + *to) as f64 / 2.0, per, lasts),
            // Thinning generates candidates at the highest rate.
            Self::Daily { count, to, per, lasts } => in_all(*count.max(to) as f64, per, lasts),
            Self::Jobs { count } => *count as f64,
            Self::Times(traced) => traced.len() as f64,
        }
    }
}

fn steady(count: u64, per: u64, lasts: u64) -> Vec<u64> {
    let at = |i: u64| u128::from(i) * u128::from(per) / u128::from(count);
    let times = (0..MAX_ARRIVALS as u64).map_while(|i| u64::try_from(at(i)).ok());
    times.take_while(|at| *at < lasts).collect()
}

/// Generates a Poisson process of `rate` per microsecond, and keeps a share (thinning: Lewis and Shedler 1979).
fn random(draw: &mut Rng, rate: f64, lasts: u64, share: impl Fn(f64) -> f64) -> Vec<u64> {
    let (mut times, mut at) = (Vec::new(), 0.0);
    while times.len() < MAX_ARRIVALS {
        // `libm` gives the same logarithm on every machine.
        at -= libm::log(draw.unit()) / rate;
        if at >= lasts as f64 {
            break;
        }
        if draw.unit() <= share(at) {
            times.push(whole(at));
        }
    }
    times
}

/// Returns the times at which `count t / per + (to - count) t^2 / (2 per lasts)` is 0, 1, 2...
fn ramp(count: f64, to: f64, per: f64, lasts: u64) -> Vec<u64> {
    let (start, slope) = (count / per, (to - count) / per / lasts as f64);
    let at = |i: f64| {
        if slope == 0.0 { i / start } else { ((start * start + 2.0 * slope * i).sqrt() - start) / slope }
    };
    let times = (0..MAX_ARRIVALS).map(|i| at(i as f64)).take_while(|at| at.is_finite());
    times.map(|at| whole(at.round())).take_while(|at| *at < lasts).collect()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from zero to ten years")]
fn whole(at: f64) -> u64 {
    at as u64
}
