//! Decisions in the same script as functions of the caller.

use super::{Limiter, unexpected};
use crate::base::error::Result;
use crate::client::prepared::Prepared;
use crate::model::operation::{Answer, Operation};
use crate::model::request::{Request, Wait};
use crate::store::redis::{Call, Guard, GuardInput, Guarded, Stopped, connection_like};

impl Limiter {
    /// Takes the cost under an id as [`acquire_with_id`](Self::acquire_with_id) does, with a guard around the decision, on an
    /// asynchronous connection of the `redis` crate.
    ///
    /// The limiter is one of [`Paddlegate::together`](crate::Paddlegate::together), of one limiter or several. A store that is
    /// not available is an error whatever `on_unavailable` says, because the guard could not run.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// # use paddlegate::store::redis::{Guard, GuardInput, Guarded};
    /// # async fn example(connection: &mut redis::aio::MultiplexedConnection) -> paddlegate::Result<()> {
    /// let pg = Paddlegate::open("redis://localhost:6379/0", None)?;
    /// let api = pg.together(&[&pg.window("api", 100, Duration::from_secs(60))?])?;
    /// let guard = Guard::new(
    ///     "if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return 'gone' end",
    ///     "redis.call('SMOVE', KEYS[1], KEYS[2], ARGV[1])",
    /// );
    /// let input = GuardInput { keys: &[b"waiting", b"active"], arguments: &[b"job-1"] };
    /// match api.acquire_guarded(connection, Request::cost(1), "job-1", None, (guard, input)).await? {
    ///     Guarded::Stopped(_) => println!("another process has it"),
    ///     Guarded::Decided(decision) => println!("active: {}", decision.allowed()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn acquire_guarded<C: redis::aio::ConnectionLike>(
        &self,
        connection: &mut C,
        request: Request<'_>,
        id: &str,
        wait: Option<Wait<'_>>,
        (guard, input): (Guard, GuardInput<'_>),
    ) -> Result<Guarded> {
        let stopped = Stopped::default();
        let call = match self.prepare(Operation::AcquireWithId { request, id, wait })? {
            Prepared::Answered(Answer::Decision(decision)) if !decision.allowed() => {
                return Ok(Guarded::Decided(decision));
            }
            Prepared::Answered(_) => Call::of_guard(guard, input, &stopped),
            Prepared::Call(call) => call.guarded(guard, input, &stopped)?,
        };
        let node = self.server()?.node_of(call.slot());
        match (connection_like::run_async(connection, call, &node).await?, stopped.get()) {
            (_, Some(text)) => Ok(Guarded::Stopped(text.clone())),
            (Answer::Decision(decision), None) => Ok(Guarded::Decided(decision)),
            (other, None) => Err(unexpected(&other)),
        }
    }
}
