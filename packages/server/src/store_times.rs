//! `StoreTimes`: how long the decisions of this server take in the store, and how many failed.

use std::sync::atomic::{AtomicU64, Ordering};

use paddlegate::{Answer, ErrorKind, Limiter, Operation, Result};
use tokio::time::Instant;

use crate::histogram::{Counted, Histogram};

/// The decisions of this server.
#[derive(Default)]
pub(crate) struct StoreTimes {
    times: Histogram,
    errors: AtomicU64,
}

impl StoreTimes {
    /// Runs a decision and counts it.
    pub(crate) async fn run(&self, limiter: &Limiter, operation: Operation<'_>) -> Result<Answer> {
        let start = Instant::now();
        let answer = limiter.run_async(operation).await;
        self.times.count(start.elapsed());
        let has_failed = match &answer {
            Ok(answer) => matches!(answer, Answer::Decision(decision) if decision.degraded),
            Err(error) => error.kind() != ErrorKind::Invalid,
        };
        if has_failed {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    pub(crate) fn counted(&self) -> Counted {
        self.times.counted()
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }
}
