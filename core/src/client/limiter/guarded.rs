//! Operations in the same script as functions of the caller.

use super::Limiter;
use crate::base::error::{Error, Result};
use crate::client::prepared::Prepared;
use crate::model::operation::{Answer, Operation};
use crate::store::redis::{Call, Guard, GuardInput, Guarded, Stopped, connection_like};

impl Limiter {
    /// Runs `AcquireWithId` or `Cancel` with a guard around it, on an asynchronous connection of the `redis` crate.
    ///
    /// The limiter is one of [`Paddlegate::together`](crate::Paddlegate::together), of one limiter or several. A store that is
    /// not available is an error whatever `on_unavailable` says, because the guard could not run.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Operation, Paddlegate, Request};
    /// # use paddlegate::store::redis::{Guard, GuardInput, Guarded};
    /// # async fn example(connection: &mut redis::aio::MultiplexedConnection) -> paddlegate::Result<()> {
    /// let pg = Paddlegate::open("redis://localhost:6379/0", None)?;
    /// let api = pg.together(&[&pg.window("api", 100, Duration::from_secs(60))?])?;
    /// let guard = Guard::new(
    ///     "if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return 'gone' end",
    ///     "redis.call('SMOVE', KEYS[1], KEYS[2], ARGV[1])",
    /// );
    /// let input = GuardInput { keys: &[b"waiting", b"active"], arguments: &[b"job-1"] };
    /// let acquire = Operation::AcquireWithId { request: Request::cost(1), id: "job-1", wait: None };
    /// match api.run_guarded(connection, acquire, (guard, input)).await? {
    ///     Guarded::Stopped(_) => println!("another process has it"),
    ///     Guarded::Answered(answer) => match *answer {
    ///         Answer::Decision(decision) => println!("active: {}", decision.allowed()),
    ///         _ => unreachable!("an acquisition is a decision"),
    ///     },
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run_guarded<C: redis::aio::ConnectionLike>(
        &self,
        connection: &mut C,
        operation: Operation<'_>,
        (guard, input): (Guard, GuardInput<'_>),
    ) -> Result<Guarded> {
        if !matches!(operation, Operation::AcquireWithId { .. } | Operation::Cancel { .. }) {
            return Err(Error::invalid("operation", "must be an acquisition with an id or a cancellation"));
        }
        let stopped = Stopped::default();
        let (call, here) = match self.prepare(operation)? {
            Prepared::Answered(Answer::Decision(decision)) if !decision.allowed() => {
                return Ok(Guarded::Answered(Answer::Decision(decision).into()));
            }
            Prepared::Answered(answer) => (Call::of_guard(guard, input, &stopped), Some(answer)),
            Prepared::Call(call) => (call.guarded(guard, input, &stopped)?, None),
        };
        let node = self.server()?.node_of(call.slot());
        let answer = connection_like::run_async(connection, call, &node).await?;
        Ok(match stopped.get() {
            Some(text) => Guarded::Stopped(text.clone()),
            None => Guarded::Answered(here.unwrap_or(answer).into()),
        })
    }
}
