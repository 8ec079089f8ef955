//! `record`: the decisions of a limiter one by one, or its sums interval by interval.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use paddlegate::simulate::scenario_limits;
use paddlegate::{Error, ErrorKind, Limit, Limiter, Micros, Page, Policy, Statistics};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::span;
use super::store::{Store, failure};
use super::target::Target;
use crate::decisions;
use crate::failure::Failure;
use crate::recording::{self, Interval, Recording};

/// The maximum number of intervals in a record of sums.
const MAX_LINES: u64 = 100_000;
/// Programs send their counts up to a second late.
const LEAST: Micros = Micros(1_000_000);
/// How many decisions are read at a time, and the pause when there are no more yet.
const PAGE: u64 = 500;
const PAUSE: Duration = Duration::from_millis(50);
/// For how long Redis may not answer.
const PATIENCE: Duration = Duration::from_secs(60);

const COST: &str = "\
While it is recorded each decision of the limiter, of all programs, is appended
to a stream in Redis, and takes the long way through the script. It ends with
this command, or after --for if this is killed.

A line has a decision; the last one says how the record ended, and whether it
may lack decisions. With --sums a line has what was counted in an interval.";

/// The arguments of `record`.
#[derive(Args, Debug)]
#[command(after_help = COST)]
pub(crate) struct Record {
    #[command(flatten)]
    target: Target,
    /// How long to record; Ctrl-C ends it earlier and keeps what there is
    #[arg(long = "for", value_name = "SPAN", default_value = "1m", value_parser = span)]
    lasts: Micros,
    /// How many decisions Redis keeps that this command has not yet read, at most 1,000,000
    #[arg(long, value_name = "N", default_value = "100000")]
    max: u64,
    /// Record sums for each interval instead of decisions; costs the programs nothing
    #[arg(long, conflicts_with = "max")]
    sums: bool,
    /// The length of an interval, from 1s; at most 100,000 of them are recorded
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = span, requires = "sums")]
    every: Micros,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: Store,
}

/// Writes a record, in lines of JSON.
pub(crate) fn run(order: &Record) -> Result<(), Failure> {
    if order.sums { record_sums(order) } else { record_decisions(order) }
}

/// Where the lines go.
struct Out {
    name: String,
    out: Box<dyn Write>,
}

impl Out {
    fn open(order: &Record) -> Result<Self, Failure> {
        let Some(path) = &order.out else {
            return Ok(Self { name: "the record".to_owned(), out: Box::new(io::stdout()) });
        };
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| Failure::write(&name, &error))?;
        Ok(Self { name, out: Box::new(file) })
    }

    /// Writes lines at once: a record that is ended early is whole up to its last line.
    fn put(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(|error| Failure::write(&self.name, &error))
    }
}

fn record_decisions(order: &Record) -> Result<(), Failure> {
    let failed = |error: Error| failure(&error);
    let limiter = order.target.find(&order.store.open()?)?;
    if limiter.is_keyed() && limiter.key().is_none() {
        let message = "--key: is missing; of a keyed limiter one key is recorded, or with --sums none";
        return Err(Failure::Input(message.to_owned()));
    }
    let head =
        Recording::head(decisions::VERSION, limiter.name(), limiter.group(), &in_force(&limiter).map_err(failed)?);
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let registered = signal_hook::flag::register(signal, is_stopped.clone());
        registered.map_err(|error| Failure::Other(format!("cannot watch for signals: {error}")))?;
    }
    let mut out = Out::open(order)?;
    let mut recording = limiter.record(order.lasts, order.max).map_err(failed)?;
    let written = out.put(&head).and_then(|()| follow(&mut recording, &mut out, &is_stopped));
    // Also when the record could not be written: the programs must not go on paying for it.
    let ended = recording.end().map_err(failed);
    written.and(ended)
}

/// Writes what is decided until the recording is over.
#[allow(clippy::disallowed_methods, reason = "how long redis has not answered is no time of the limiter")]
fn follow(recording: &mut paddlegate::Recording, out: &mut Out, is_stopped: &AtomicBool) -> Result<(), Failure> {
    let (mut count, mut may_lack) = (0, false);
    let (mut end, mut answered_at) = (None, Instant::now());
    loop {
        if end.is_none() && is_stopped.load(Ordering::Relaxed) {
            recording.end().map_err(|error| failure(&error))?;
            end = Some("stopped");
        }
        let page = match recording.read(PAGE) {
            Ok(page) => page,
            Err(error) if error.kind() == ErrorKind::Unavailable && answered_at.elapsed() < PATIENCE => {
                sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(failure(&error)),
        };
        answered_at = Instant::now();
        if page.may_lack {
            may_lack = true;
            out.put("{\"may_lack\":true}\n")?;
        }
        let lines: Vec<String> = page.decisions.iter().map(decisions::line).collect();
        count += lines.len();
        out.put(&lines.concat())?;
        if page.decisions.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX) {
            continue;
        }
        if page.is_over && page.decisions.is_empty() {
            let reason = end.unwrap_or(if page.at >= recording.ends() { "time" } else { "removed" });
            // A limiter that was reset has lost what was not yet read.
            return out.put(&format!("{}\n", json!({ "end": reason, "decisions": count, "may_lack": may_lack })));
        }
        if !page.is_over {
            sleep(PAUSE);
        }
    }
}

fn record_sums(order: &Record) -> Result<(), Failure> {
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
    let failed = |error: Error| failure(&error);
    let limits = in_force(&limiter).map_err(failed)?;
    let head = Recording::head(recording::VERSION, limiter.name(), limiter.group(), &limits);
    let mut before = read(&limiter).map_err(failed)?;
    let mut out = Out::open(order)?;
    out.put(&head)?;
    for _ in 0..count {
        sleep(order.every.duration());
        let now = read(&limiter).map_err(failed)?;
        out.put(&since(&before, &now).line())?;
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
