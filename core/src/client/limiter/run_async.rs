//! Runs the operations of a limiter on tokio.

use super::run::settled;
use super::{Limiter, StateLocation};
use crate::base::error::Result;
use crate::client::prepared::Prepared;
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::operation::{Answer, Content, Operation};
use crate::model::permit::Settlement;
use crate::model::request::Request;
use crate::model::statistics::Statistics;
use crate::store::redis::{Call, StatisticsOfKeys};

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

    /// Returns the [statistics](Self::statistics) without the leases and tickets of now, which are 0.
    ///
    /// In Redis this is a plain read, which takes a tenth of the time: for exporters that read many limiters.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let workers = Paddlegate::memory().concurrent("workers", 2, Duration::from_secs(30))?;
    /// workers.try_acquire_async(Request::default()).await?;
    /// let counters = workers.counters_async().await?;
    /// assert_eq!((counters.granted, counters.leases), (1, 0));
    /// assert_eq!(workers.statistics()?.leases, 1);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn counters_async(&self) -> Result<Statistics> {
        let answer = match (self.own_statistics(), self.has_statistics()) {
            (Some(read), true) => self.send_async(Call::statistics_of_keys(read)).await?,
            _ => self.run_async(Operation::Statistics).await?,
        };
        Ok(Statistics { leases: 0, tickets: 0, ..Statistics::of(answer)? })
    }

    /// Returns what reads the statistics of a limiter in Redis that has them under one key.
    fn own_statistics(&self) -> Option<StatisticsOfKeys> {
        match &self.inner.location {
            StateLocation::Redis { keys, store } if !self.is_keyed() && self.inner.together.is_empty() => {
                Some(StatisticsOfKeys::of_one(keys.slot(), keys.statistics(), store.tallies()))
            }
            _ => None,
        }
    }

    /// Takes the cost as [`try_acquire`](Self::try_acquire) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// assert_eq!(api.try_acquire_async(Request::cost(2)).await?.remaining, Some(3));
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn try_acquire_async(&self, request: Request<'_>) -> Result<Decision> {
        Content::of(self.run_async(Operation::Acquire(request)).await?)
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
    /// let permit = shop.try_acquire_async(Request::estimate(200)).await?.permit.unwrap();
    /// assert_eq!(shop.correct_async(&permit, 50).await?, Settlement::Settled);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn correct_async(&self, permit: &str, actual: impl Into<Cost<'_>>) -> Result<Settlement> {
        Content::of(self.run_async(Operation::Correct { permit, actual: actual.into() }).await?)
    }
}
