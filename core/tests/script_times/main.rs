//! Measures how long the slowest scripts take.
//! Redis runs one script at a time, so a slow script delays every other caller.
//!
//! Each verb runs nine times on a small and on a large state, and the fastest run of the server's slow log counts; when
//! a row fails, all rows are measured up to twice more, so that a busy machine fails nothing. No script may take ten
//! milliseconds, and none may grow with state that it does not use.
//!
//! These bounds hold as they are in `make soak`. Otherwise the machine may be slow for as long as it likes: before each run
//! a reference runs on the same server, the time is scaled by that of the reference, and the bounds have room. A script
//! that touches all of a large state still exceeds them.

mod cases;
mod memory;
mod reference;
mod states;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use paddlegate::{Limiter, Paddlegate};
use support::raw::{Raw, Reply};
use support::{is_soak, on_own_database, unique};

/// The size of the large states.
pub(crate) const LARGE: u64 = 100_000;
pub(crate) const RUNS: u64 = 9;
/// The largest number of rounds; each round measures all rows.
const ROUNDS: u64 = 3;
/// The limit for a script, in microseconds.
const MAX_TIME: i64 = 10_000;
/// The limit for a script that adds or removes a hundred thousand units: a millisecond for a thousand.
const MAX_TIME_OF_UNITS: i64 = 100_000;
/// The limit for a script on a name with many limits in use, all of which it reads and writes.
const MAX_TIME_OF_LABELS: i64 = 500;
/// Growth from below this is noise, or the cost of access to the middle of a list.
const NOISE_TIME: i64 = 250;
/// Outside soak, how many times as long as it may a script takes before it fails.
const ROOM: i64 = 3;
/// The same for the growth from the small to the large state.
const ROOM_OF_GROWTH: i64 = 2;

#[test]
fn no_script_takes_ten_milliseconds_or_grows_with_what_it_does_not_touch() {
    let mut rows: Vec<Row> = Vec::new();
    for round in 1..=ROUNDS {
        let mut times = Times::new();
        cases::all(&mut times);
        if rows.is_empty() {
            rows.append(&mut times.rows);
        }
        for (row, measured) in rows.iter_mut().zip(&times.rows) {
            (row.small, row.large) = (row.small.min(measured.small), row.large.min(measured.large));
        }
        println!("script times in microseconds, {}", times.server);
        if let (false, Some((fastest, slowest))) = (is_soak(), times.references) {
            println!("scaled to a reference of {} us, which took {fastest} to {slowest} us", reference::TIME);
        }
        println!("{:<52} {:>8} {:>8}", "verb", "small", "large");
        for row in &rows {
            println!("{:<52} {:>8} {:>8}", row.verb, row.small, row.large);
        }
        let failures: Vec<String> = rows.iter().filter_map(Row::failure).collect();
        if failures.is_empty() {
            return;
        }
        assert!(round < ROUNDS, "{}:\n{}", times.server, failures.join("\n"));
    }
}

/// The requirement on the time of a verb.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The time does not grow with the state.
    Constant,
    /// It removes a piece of what has ended, whose places lie the farther from each other the larger the state is.
    Removal,
    /// The time is far below a millisecond also with the records of the largest number of limits.
    Labels,
    /// The verb adds or removes as many units as the state has, and its time may grow with them.
    Units,
}

/// One verb on one kind of state.
pub(crate) struct Case {
    pub(crate) verb: &'static str,
    pub(crate) bound: Bound,
    /// The preparation before each run; its time does not count.
    pub(crate) before: fn(&Run<'_>),
    pub(crate) run: fn(&Run<'_>),
}

/// One run of a verb.
pub(crate) struct Run<'a> {
    pub(crate) store: &'a Paddlegate,
    pub(crate) limiter: &'a Limiter,
    /// The size of the state.
    pub(crate) size: u64,
    /// The number of the run, from 0.
    pub(crate) number: u64,
}

struct Row {
    verb: &'static str,
    bound: Bound,
    small: i64,
    large: i64,
}

impl Row {
    /// Returns the reason why the row fails, if it does.
    fn failure(&self) -> Option<String> {
        let Self { verb, bound, small, large } = self;
        let (room, room_of_growth) = if is_soak() { (1, 1) } else { (ROOM, ROOM_OF_GROWTH) };
        let max_time = match bound {
            Bound::Units => MAX_TIME_OF_UNITS,
            Bound::Labels => MAX_TIME_OF_LABELS,
            Bound::Constant | Bound::Removal => MAX_TIME,
        };
        if *small.max(large) > room * max_time {
            return Some(format!("{verb} takes {} us", small.max(large)));
        }
        let growth = match bound {
            Bound::Constant => 2,
            Bound::Removal => 4,
            Bound::Units | Bound::Labels => return None,
        };
        (*large > room_of_growth * growth * *small.max(&NOISE_TIME))
            .then(|| format!("{verb} grows: {small} to {large} us"))
    }
}

pub(crate) struct Times {
    raw: Raw,
    store: Paddlegate,
    server: String,
    rows: Vec<Row>,
    /// The shortest and the longest time of the reference; each is the fastest of the runs beside a row.
    references: Option<(i64, i64)>,
}

impl Times {
    fn new() -> Self {
        let (store, mut raw) = on_own_database();
        raw.command("CONFIG SET slowlog-log-slower-than 0");
        let Reply::Text(text) = raw.command("INFO server") else { panic!("no text") };
        let text = String::from_utf8_lossy(&text).into_owned();
        let version = text.lines().find(|line| line.starts_with("valkey_version:"));
        let version = version.or_else(|| text.lines().find(|line| line.starts_with("redis_version:")));
        Self { raw, store, server: version.expect("a version").to_owned(), rows: Vec::new(), references: None }
    }

    /// Measures each verb on a small and on a large state; all runs share the state.
    pub(crate) fn on(&mut self, small: u64, build: fn(&Paddlegate, &mut Raw, &str, u64) -> Limiter, cases: &[Case]) {
        for (is_large, size) in [(false, small), (true, LARGE)] {
            let limiter = build(&self.store, &mut self.raw, &unique("times"), size);
            for case in cases {
                let time = self.fastest(|times, number| times.time(case, &limiter, size, number));
                self.record(case, is_large, time);
            }
            reset(&limiter);
        }
    }

    /// Measures a verb on a small and on a large state; each run gets a new state.
    pub(crate) fn on_new_states(
        &mut self,
        small: u64,
        build: fn(&Paddlegate, &mut Raw, &str, u64) -> Limiter,
        case: &Case,
    ) {
        for (is_large, size) in [(false, small), (true, LARGE)] {
            let time = self.fastest(|times, number| {
                let limiter = build(&times.store, &mut times.raw, &unique("times"), size);
                let time = times.time(case, &limiter, size, number);
                reset(&limiter);
                time
            });
            self.record(case, is_large, time);
        }
    }

    fn record(&mut self, case: &Case, is_large: bool, time: i64) {
        if is_large {
            let row = self.rows.iter_mut().find(|row| row.verb == case.verb).expect("the small state came first");
            row.large = time;
        } else {
            assert!(self.rows.iter().all(|row| row.verb != case.verb), "{} is listed twice", case.verb);
            self.rows.push(Row { verb: case.verb, bound: case.bound, small: time, large: 0 });
        }
    }

    /// Returns the microseconds of the fastest run, outside soak scaled by those of the reference.
    fn fastest(&mut self, run: impl Fn(&mut Self, u64) -> i64) -> i64 {
        let (mut time, mut reference) = (i64::MAX, i64::MAX);
        for number in 0..RUNS {
            if !is_soak() {
                reference = reference.min(self.time_of_reference());
            }
            time = time.min(run(self, number));
        }
        if is_soak() {
            return time;
        }
        let (shortest, longest) = self.references.unwrap_or((reference, reference));
        self.references = Some((shortest.min(reference), longest.max(reference)));
        time * reference::TIME / reference
    }

    /// Returns the microseconds of one run of a verb.
    fn time(&mut self, case: &Case, limiter: &Limiter, size: u64, number: u64) -> i64 {
        let run = Run { store: &self.store, limiter, size, number };
        (case.before)(&run);
        self.raw.command("SLOWLOG RESET");
        (case.run)(&run);
        // The slow log has the first words, which have the keys of the first limiter.
        let name = each(limiter)[0].name();
        self.longest_with(name).unwrap_or_else(|| panic!("{} sent no command", case.verb))
    }

    fn time_of_reference(&mut self) -> i64 {
        let name = unique("reference");
        self.raw.command("SLOWLOG RESET");
        reference::run(&mut self.raw, &name);
        self.longest_with(&name).expect("a time of the reference")
    }

    /// Returns the microseconds of the longest command whose words have a name.
    fn longest_with(&mut self, name: &str) -> Option<i64> {
        let Reply::Array(entries) = self.raw.command("SLOWLOG GET 128") else { panic!("no slow log") };
        let times = entries.iter().filter_map(|entry| {
            let Reply::Array(entry) = entry else { return None };
            let (Reply::Integer(time), Reply::Array(words)) = (&entry[2], &entry[3]) else { return None };
            let is_ours = words.iter().any(|word| match word {
                Reply::Text(word) => String::from_utf8_lossy(word).contains(name),
                _ => false,
            });
            is_ours.then_some(*time)
        });
        times.max()
    }
}

/// Returns the limiters that have the states of one.
pub(crate) fn each(limiter: &Limiter) -> &[Limiter] {
    if limiter.limiters().is_empty() { std::slice::from_ref(limiter) } else { limiter.limiters() }
}

fn reset(limiter: &Limiter) {
    for limiter in each(limiter) {
        limiter.reset().expect("a reset");
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        self.raw.command("CONFIG SET slowlog-log-slower-than 10000");
        self.raw.command("FLUSHDB");
    }
}

/// The interval of limits that must not expire during a run.
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
