//! Helpers that several test files share; each file uses only some of them.
#![allow(dead_code, unreachable_pub)]

pub mod calls;
pub mod inbox;
pub mod inspection;
pub mod library;
pub mod limiter;
pub mod names;
pub mod oracle;
pub mod raw;
pub mod script_client;
pub mod sequence;
pub mod together;
pub mod units;
pub mod vectors;
pub mod workload;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use paddlegate::{Micros, Paddlegate, TestClock};

/// Returns the URL of the shared test server; panics if the variable is not set.
pub fn test_url() -> String {
    std::env::var("PADDLEGATE_TEST_URL").unwrap_or_else(|_| {
        panic!("PADDLEGATE_TEST_URL is not set; run the tests under scripts/with-redis.sh");
    })
}

/// Returns whether the run takes its time: all cases, and judgements of time.
pub fn is_soak() -> bool {
    std::env::var_os("PADDLEGATE_SOAK").is_some_and(|soak| soak == "1")
}

pub fn redis() -> Paddlegate {
    open(&test_url(), None)
}

/// Opens the shared test server with the clock of the test.
pub fn redis_with_clock() -> Paddlegate {
    open(&test_url(), Some(&clock()))
}

/// Opens a store in memory with the clock of the test.
pub fn memory_with_clock() -> Paddlegate {
    Paddlegate::memory_with_clock(&clock())
}

/// Returns the clock of the test, which starts in 2023. Each thread has its own.
pub fn clock() -> TestClock {
    thread_local!(static CLOCK: TestClock = TestClock::new(Micros(1_700_000_000_000_000)).expect("a clock"));
    CLOCK.with(TestClock::clone)
}

/// Sets the clock of the test.
pub fn set_clock(now: u64) {
    clock().set(Micros(now)).expect("a time");
}

pub fn open(url: &str, clock: Option<&TestClock>) -> Paddlegate {
    // A busy machine may stall for longer than the default timeout.
    Paddlegate::open_with_clock(url, Some(Duration::from_secs(30)), clock).expect("a url of a redis server")
}

/// Opens a store whose calls the whole script decides, also plain ones.
pub fn open_whole(url: &str, clock: Option<&TestClock>) -> Paddlegate {
    let store = open(url, clock);
    store.redis().expect("a store in redis").decide_whole(true);
    store
}

/// Empties a database of the shared server which no other test of this program uses; returns a store with the clock of
/// the test and a raw connection on it.
pub fn on_own_database() -> (Paddlegate, raw::Raw) {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let url = test_url();
    let (scheme, rest) = url.split_once("://").expect("a url");
    let nodes = rest.split('/').next().expect("a host");
    let mut raw = raw::Raw::open(&url);
    raw.command(&format!("SELECT {number}"));
    raw.command("FLUSHDB");
    let url = format!("{scheme}://{nodes}/{number}");
    (open(&url, Some(&clock())), raw)
}

/// Returns a name that no other test, thread or run uses.
pub fn unique(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{what}-{}-{}-{count}", std::process::id(), started_at())
}

/// Returns the start time of the run. The operating system reuses process ids, so they do not make a name unique.
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
fn started_at() -> u128 {
    use std::sync::OnceLock;
    use std::time::{SystemTime, UNIX_EPOCH};
    static STARTED: OnceLock<u128> = OnceLock::new();
    *STARTED.get_or_init(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros()))
}
