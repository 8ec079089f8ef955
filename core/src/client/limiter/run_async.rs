//! Runs the operations of a limiter on tokio.

use super::run::settled;
use super::{Limiter, unexpected};
use crate::base::error::Result;
use crate::client::prepared::Prepared;
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::operation::{Answer, Operation};
use crate::model::permit::Settlement;
use crate::model::request::Request;
use crate::store::redis::Call;

impl Limiter {
    /// Runs an operation on the tokio runtime of the caller; one connection serves all its tasks.
    ///
    /// Dropping the future does not undo a call that was sent.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Operation, Paddlegate, Request};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let answer = api.run_async(Operation::Acquire(Request::cost(2))).await?;
    /// assert!(matches!(answer, Answer::Decision(decision) if decision.remaining == Some(3)));
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn run_async(&self, operation: Operation<'_>) -> Result<Answer> {
        match self.prepare(operation)? {
            Prepared::Answered(answer) => Ok(answer),
            Prepared::Call(call) => {
                let fallback = self.fallback(&operation);
                settled(fallback, self.server()?.run_async(call).await)
            }
        }
    }

    /// Sends a call that [`prepare`](Self::prepare) returned, for an operation without a fallback.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{AdminCommand, Answer, Limiter, Operation, Prepared};
    /// async fn runtime_state(limiter: &Limiter) -> paddlegate::Result<Answer> {
    ///     match limiter.prepare(Operation::Admin { command: AdminCommand::Get })? {
    ///         Prepared::Answered(answer) => Ok(answer),
    ///         Prepared::Call(call) => limiter.send_async(call).await,
    ///     }
    /// }
    /// ```
    pub async fn send_async(&self, call: Call) -> Result<Answer> {
        self.server()?.run_async(call).await
    }

    /// Takes the cost as [`acquire`](Self::acquire) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// assert_eq!(api.acquire_async(Request::cost(2)).await?.remaining, Some(3));
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire_async(&self, request: Request<'_>) -> Result<Decision> {
        match self.run_async(Operation::Acquire(request)).await? {
            Answer::Decision(decision) => Ok(decision),
            other => Err(unexpected(&other)),
        }
    }

    /// Replaces an estimate as [`correct`](Self::correct) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(20))?;
    /// let permit = shop.acquire_async(Request::estimate(200)).await?.permit.unwrap();
    /// assert_eq!(shop.correct_async(&permit, 50).await?, Settlement::Settled);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn correct_async(&self, permit: &str, actual: impl Into<Cost<'_>>) -> Result<Settlement> {
        match self.run_async(Operation::Correct { permit, actual: actual.into() }).await? {
            Answer::Settlement(settlement) => Ok(settlement),
            other => Err(unexpected(&other)),
        }
    }
}
