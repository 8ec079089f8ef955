//! `record`: what a limiter counts, interval by interval.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use paddlegate::simulate::scenario_limits;
use paddlegate::{Limit, Limiter, Micros, Page, Policy, Statistics};

use super::span;
use super::store::{Store, failure};
use super::target::Target;
use crate::failure::Failure;
use crate::recording::{Interval, Recording};

/// The maximum number of intervals in a record.
const MAX_LINES: u64 = 100_000;
/// Programs send their counts up to a second late.
const LEAST: Micros = Micros(1_000_000);

/// The arguments of `record`.
#[derive(Args, Debug)]
#[command(after_help = "A line for each interval has what all programs have counted in it, not each call.")]
pub(crate) struct Record {
    #[command(flatten)]
    target: Target,
    /// How long to record; Ctrl-C ends it earlier and keeps what there is
    #[arg(long = "for", value_name = "SPAN", default_value = "1m", value_parser = span)]
    lasts: Micros,
    /// The length of an interval, from 1s; at most 100,000 of them are recorded
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = span)]
    every: Micros,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: Store,
}

/// Writes a record, in lines of JSON.
pub(crate) fn run(order: &Record) -> Result<(), Failure> {
    if order.every < LEAST {
        return Err(Failure::Input(
            "--every: must be from 1s, since programs send their counts once a second".to_owned(),
        ));
    }
    let count = order.lasts.0.div_ceil(order.every.0);
    if count > MAX_LINES {
        let message =
            format!("--for: would be {count} intervals, make it shorter or --every longer: intervals_max={MAX_LINES}");
        return Err(Failure::Input(message));
    }
    let limiter = order.target.find(&order.store.open()?)?;
    if limiter.is_keyed() || limiter.key().is_some() {
        let message = "NAME: the limiter has keys, which are counted together; a replay would take them for one state";
        return Err(Failure::Input(message.to_owned()));
    }
    if !limiter.has_statistics() {
        return Err(Failure::Input("NAME: the statistics of the limiter are off, so nothing is counted".to_owned()));
    }
    let failed = |error: paddlegate::Error| failure(&error);
    let head = Recording::head(limiter.name(), limiter.group(), &in_force(&limiter).map_err(failed)?);
    let mut before = read(&limiter).map_err(failed)?;
    let (name, mut out): (String, Box<dyn Write>) = match &order.out {
        None => ("the record".to_owned(), Box::new(io::stdout())),
        Some(path) => {
            let name = path.display().to_string();
            let file = File::create(path).map_err(|error| Failure::write(&name, &error))?;
            (name, Box::new(file))
        }
    };
    let mut put = |text: &str| {
        // Each line at once: a record that is ended early is whole up to its last line.
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::write(&name, &error))
    };
    put(&head)?;
    for _ in 0..count {
        sleep(order.every.duration());
        let now = read(&limiter).map_err(failed)?;
        put(&since(&before, &now).line())?;
        before = now;
    }
    Ok(())
}

/// Returns the limits that rule, as a scenario has them.
fn in_force(limiter: &Limiter) -> paddlegate::Result<serde_json::Value> {
    let found = limiter.inspect(Page { offset: 0, count: 0 })?;
    let ruling = |limit: &Limit| -> paddlegate::Result<Limit> {
        let inspected = found.limits.iter().find(|found| found.label == *limit.label());
        let Some(inspected) = inspected else { return Ok(limit.clone()) };
        let ruling = match limit.calendar() {
            Some(calendar) => Limit::quota(inspected.limit, calendar.clone())?,
            None => Limit::of_kind(limit.kind(), inspected.limit, inspected.interval, limit.offset())?,
        };
        ruling.labelled(limit.label())
    };
    let limits = limiter.policy().limits().iter().map(ruling).collect::<paddlegate::Result<Vec<_>>>()?;
    Ok(scenario_limits(&Policy::new(limits)?))
}

/// Returns the counters, and the time of the store.
fn read(limiter: &Limiter) -> paddlegate::Result<(Micros, Statistics)> {
    let statistics = limiter.statistics()?;
    Ok((limiter.inspect(Page { offset: 0, count: 0 })?.at, statistics))
}

/// Returns what was counted between two times. After a reset the counters begin anew.
fn since((from, old): &(Micros, Statistics), (to, new): &(Micros, Statistics)) -> Interval {
    let since = |of: fn(&Statistics) -> u64| of(new).checked_sub(of(old)).unwrap_or(of(new));
    let granted = since(|all| all.granted);
    // Leases that there are more of were granted and not released.
    let released = (granted + old.leases).saturating_sub(new.leases);
    Interval {
        at: *from,
        lasts: Micros(to.0.saturating_sub(from.0)),
        granted,
        refused: since(|all| all.refused) + since(|all| all.shadow_refused),
        waited: since(|all| all.waited),
        // Corrections may give back more than was charged.
        units: new.units.saturating_sub(old.units),
        held: Micros(since(|all| all.held_time.0)),
        released: if since(|all| all.held_time.0) > 0 { released } else { 0 },
    }
}

/// Waits for the end of the interval.
#[allow(clippy::disallowed_methods)]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}
