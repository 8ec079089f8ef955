//! `KeyMetrics`: the metrics of Open Job Spec's rate limits.

use futures_util::stream::{StreamExt, TryStreamExt, iter};
use paddlegate::Durations;

use super::{Failure, Ojs};
use crate::counted::{self, Counted};
use crate::fault::Fault;
use crate::limits;

/// How many keys are read at the same time.
const AT_ONCE: usize = 64;

/// The numbers of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMetrics {
    /// The key as callers name it: `stripe`, or `queue/mail` for that of a queue.
    pub key: String,
    /// The name of its limiter.
    pub limiter: String,
    /// Jobs that have a slot of a concurrency limit.
    pub active: u64,
    /// Jobs of the key that wait.
    pub waiting: u64,
    /// How often a limit began to be exceeded, by strategy: as often as the event `rate_limit.exceeded` tells of it.
    pub exceeded: Vec<(String, u64)>,
    /// How many jobs a limit held up until their start, as [`Durations`] counts them.
    pub waits: [u64; Durations::BUCKETS],
    /// The sum of their waits, in microseconds.
    pub waited: u64,
}

impl Ojs {
    /// Reads the metrics of all keys, by key.
    pub async fn metrics(&self) -> Result<Vec<KeyMetrics>, Failure> {
        let mut all = self.each_key().await.map_err(|fault| fault.message)?;
        all.sort_by(|a, b| a.key.cmp(&b.key));
        // A key may be named as that of a queue is.
        all.dedup_by(|later, first| later.key == first.key);
        Ok(all)
    }

    async fn each_key(&self) -> Result<Vec<KeyMetrics>, Fault> {
        let (limiters, counted) = (self.store.limiters().await?, self.store.counted().await?);
        let mut counted = counted::by_limiter(counted);
        let known = limiters.into_iter().map(|limiter| {
            let counted = counted.remove(&limiter).unwrap_or_default();
            self.key_metrics(limiter, counted)
        });
        let read = iter(known.collect::<Vec<_>>()).buffered(AT_ONCE);
        Ok(read.try_collect::<Vec<_>>().await?.into_iter().flatten().collect())
    }

    /// Returns the numbers of a limiter; `None` if its definition has gone.
    async fn key_metrics(&self, limiter: String, counted: Counted) -> Result<Option<KeyMetrics>, Fault> {
        let Some(key) = self.key_of_limiter(&limiter).await? else { return Ok(None) };
        let (active, waiting) = (key.active().await?, self.store.waiting(&limiter).await?);
        let Counted { exceeded, waits, waited } = counted;
        let key = limits::key_of(&limiter).to_owned();
        Ok(Some(KeyMetrics { key, limiter, active, waiting, exceeded, waits, waited }))
    }
}
