//! Helpers that several test files share; each file uses only some of them.
#![allow(dead_code, unreachable_pub)]

pub mod calls;
pub mod inbox;
pub mod library;
pub mod limiter;
pub mod names;
pub mod oracle;
pub mod raw;
pub mod script_client;
pub mod sequence;
pub mod vectors;
pub mod workload;

use std::sync::atomic::{AtomicU64, Ordering};

use paddlegate::{Answer, Limiter, Micros, Operation, Paddlegate, Settlement, SignalHandling};

/// Returns the URL of the shared test server; panics if the variable is not set.
pub fn test_url() -> String {
    std::env::var("PADDLEGATE_TEST_URL").unwrap_or_else(|_| {
        panic!("PADDLEGATE_TEST_URL is not set; run the tests under scripts/with-redis.sh");
    })
}

pub fn redis() -> Paddlegate {
    // A busy machine may stall for longer than the default timeout.
    Paddlegate::open(&test_url(), Some(std::time::Duration::from_secs(30))).expect("a url of a redis server")
}

/// Empties a database of the shared server and returns a store and a raw connection on it.
/// No other test may use the same number.
pub fn on_database(number: u32) -> (Paddlegate, raw::Raw) {
    let url = test_url();
    let (scheme, rest) = url.split_once("://").expect("a url");
    let nodes = rest.split('/').next().expect("a host");
    let mut raw = raw::Raw::open(&url);
    raw.command(&format!("SELECT {number}"));
    raw.command("FLUSHDB");
    let url = format!("{scheme}://{nodes}/{number}");
    (Paddlegate::open(&url, Some(std::time::Duration::from_secs(30))).expect("a store"), raw)
}

/// Returns a name that no other test, thread or run uses.
pub fn unique(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{what}-{}-{}-{count}", std::process::id(), started_at())
}

/// Corrects a permit at a given time.
pub fn correct(limiter: &Limiter, permit: &str, actual: u64, at: u64) -> Settlement {
    match limiter.run(Operation::Correct { permit, actual, at: Some(Micros(at)) }, SignalHandling::Ignore) {
        Ok(Answer::Settlement(settlement)) => settlement,
        other => panic!("not a settlement: {other:?}"),
    }
}

/// Returns the start time of the run. The operating system reuses process ids, so they do not make a name unique.
#[allow(clippy::disallowed_methods)]
fn started_at() -> u128 {
    use std::sync::OnceLock;
    use std::time::{SystemTime, UNIX_EPOCH};
    static STARTED: OnceLock<u128> = OnceLock::new();
    *STARTED.get_or_init(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros()))
}
