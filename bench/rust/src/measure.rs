//! Lets a reference and ours take turns, as `measure.py` does.

use std::str::FromStr;
use std::time::Instant;

/// What a figure counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
    ThousandsPerSecond,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::ThousandsPerSecond => "k/s",
        }
    }

    /// From the seconds of a call.
    fn figure(self, seconds: f64) -> f64 {
        match self {
            Self::Nanoseconds => seconds * 1e9,
            Self::Microseconds => seconds * 1e6,
            Self::ThousandsPerSecond => 1e-3 / seconds,
        }
    }
}

/// Measures the time of a call and prints each round as a line of JSON; a contestant makes so many calls.
pub(crate) fn compare(
    case: &str,
    variant: &str,
    unit: Unit,
    mut reference: impl FnMut(u32),
    mut ours: impl FnMut(u32),
) {
    let calls = (calls_per_round(&mut reference), calls_per_round(&mut ours));
    for _ in 0..setting("BENCH_ROUNDS") {
        let reference = unit.figure(turn(&mut reference, calls.0));
        let ours = unit.figure(turn(&mut ours, calls.1));
        emit(case, variant, unit.name(), reference, ours);
    }
}

/// Prints what a round measured as a line of JSON.
pub(crate) fn emit(case: &str, variant: &str, unit: &str, reference: f64, ours: f64) {
    let placement: String = setting("BENCH_PLACEMENT");
    println!(
        r#"{{"case": "{case}", "variant": "{variant}", "placement": "{placement}", "reference": {reference}, "ours": {ours}, "unit": "{unit}"}}"#
    );
}

/// Seconds of one call.
#[allow(clippy::disallowed_methods)] // A bench measures real time.
fn turn(side: &mut impl FnMut(u32), calls: u32) -> f64 {
    let started = Instant::now();
    side(calls);
    started.elapsed().as_secs_f64() / f64::from(calls)
}

fn calls_per_round(side: &mut impl FnMut(u32)) -> u32 {
    let seconds: f64 = setting("BENCH_SECONDS");
    side(64); // Connects and loads the script.
    let mut calls = 64;
    while turn(side, calls) * f64::from(calls) < seconds * 0.7 {
        calls *= 2;
    }
    calls
}

pub(crate) fn setting<T: FromStr>(name: &str) -> T {
    let value = std::env::var(name).ok().and_then(|text| text.parse().ok());
    value.unwrap_or_else(|| panic!("{name} must be set, as bench/run.sh does"))
}
