//! `StoreTimes`: how long the decisions of this server take in the store, and how many failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use paddlegate::{Answer, ErrorKind, Limiter, Operation, Result};
use tokio::time::Instant;

/// The upper bounds of the histogram in microseconds; the last count is of longer times.
pub(crate) const BOUNDS: [u64; 14] =
    [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 5_000_000];

/// The decisions of this server.
#[derive(Default)]
pub(crate) struct StoreTimes {
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// In microseconds.
    sum: AtomicU64,
    errors: AtomicU64,
}

/// What was counted.
pub(crate) struct Timed {
    pub(crate) counts: [u64; BOUNDS.len() + 1],
    pub(crate) sum: u64,
    pub(crate) errors: u64,
}

impl StoreTimes {
    /// Runs a decision and counts it.
    pub(crate) async fn run(&self, limiter: &Limiter, operation: Operation<'_>) -> Result<Answer> {
        let start = Instant::now();
        let answer = limiter.run_async(operation).await;
        self.count(start.elapsed());
        if answer.as_ref().is_err_and(|error| error.kind() != ErrorKind::Invalid) {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    fn count(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|bound| *bound < micros);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn timed(&self) -> Timed {
        Timed {
            counts: std::array::from_fn(|i| self.counts[i].load(Ordering::Relaxed)),
            sum: self.sum.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
        }
    }
}
