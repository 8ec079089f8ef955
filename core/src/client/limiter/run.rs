//! Runs any operation of a limiter on the calling thread.

use std::time::Duration;

use super::Limiter;
use crate::base::error::Result;
use crate::base::micros::MAX_SPAN;
#[cfg(feature = "redis")]
use crate::client::local_fallback::Fallback;
use crate::client::prepared::Prepared;
use crate::model::operation::{Answer, Operation};
use crate::store::signal_handling::SignalHandling;

impl Limiter {
    /// Runs an operation on the calling thread until it ends. `interrupt` sets what a signal does to a call in flight.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Operation, Paddlegate, Request, SignalHandling};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let is_interrupted = || false;
    /// let answer = api.run(Operation::Acquire(Request::cost(2)), SignalHandling::Ask(&is_interrupted))?;
    /// assert!(matches!(answer, Answer::Decision(decision) if decision.remaining == Some(3)));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn run(&self, operation: Operation<'_>, interrupt: SignalHandling<'_>) -> Result<Answer> {
        self.run_within(operation, interrupt, MAX_SPAN.duration())
    }

    /// Runs an operation as [`run`](Self::run) does, but fails after `limit` even if the timeout of the store is
    /// longer.
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    pub(crate) fn run_within(
        &self,
        operation: Operation<'_>,
        interrupt: SignalHandling<'_>,
        limit: Duration,
    ) -> Result<Answer> {
        match self.prepare(operation)? {
            Prepared::Answered(answer) => Ok(answer),
            #[cfg(feature = "redis")]
            Prepared::Call(call) => {
                let fallback = self.fallback(&operation);
                settled(fallback, self.server()?.run(call, interrupt, limit))
            }
        }
    }
}

/// Returns the result of an operation that this process ran, with the fallback for an error of the store.
#[cfg(feature = "redis")]
pub(super) fn settled(fallback: Option<Fallback>, result: Result<Answer>) -> Result<Answer> {
    match fallback {
        Some(fallback) => fallback.settle(result),
        None => result,
    }
}
