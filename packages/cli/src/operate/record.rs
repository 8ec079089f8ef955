//! `record`: the decisions of a limiter one by one.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use paddlegate::simulate::scenario_limits;
use paddlegate::{Error, ErrorKind, Limit, Limiter, Micros, Page, Policy};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::span;
use super::store::{Store, failure};
use super::target::Target;
use crate::decisions::{self, DecisionRecord};
use crate::failure::Failure;

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
may lack decisions.";

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
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: Store,
}

/// Writes a record, in lines of JSON.
pub(crate) fn run(order: &Record) -> Result<(), Failure> {
    let failed = |error: Error| failure(&error);
    let limiter = order.target.find(&order.store.open()?)?;
    if limiter.is_keyed() && limiter.key().is_none() {
        let message = "--key is required for a keyed limiter";
        return Err(Failure::Input(message.to_owned()));
    }
    let head = DecisionRecord::head(limiter.name(), limiter.group(), &in_force(&limiter).map_err(failed)?);
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

#[allow(clippy::disallowed_methods)]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}
