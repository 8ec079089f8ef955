//! The most refused keys of a keyed limiter.

use super::Limiter;
use crate::base::error::{Error, Result};
use crate::client::prepared::Prepared;
#[cfg(feature = "aio")]
use crate::model::operation::Content;
use crate::model::operation::{Answer, Operation};
use crate::model::refused_key::RefusedKey;
use crate::store::redis::{Call, MostRefused};

impl Limiter {
    /// Returns the keys of this keyed limiter whose calls were refused most often in this hour and the last, by all processes: up
    /// to `count`, from 1 to 100, the most refused first.
    ///
    /// Of few keys the numbers are exact. Of many, those that are refused seldom are left out: the numbers are never too high, and
    /// too low by at most 2 % of all refusals of the hours. What another process counted arrives up to a second later, as in
    /// [`statistics`](Self::statistics); a key's [`reset`](Self::reset) removes it. An hour begins by the reader's clock.
    ///
    /// `Invalid` for a `count` out of range, with the argument `statistics` for a limiter that keeps none, and with the argument
    /// `most_refused` for one that is not keyed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let per_user = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?.keyed()?;
    /// for key in ["ada", "bob", "ada", "eve", "ada", "bob"] {
    ///     per_user.with_key(key)?.try_acquire(Request::cost(1))?;
    /// }
    /// let refused: Vec<_> = per_user.most_refused(10)?.into_iter().map(|found| (found.key, found.refused)).collect();
    /// assert_eq!(refused, [("ada".to_owned(), 2), ("bob".to_owned(), 1)]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn most_refused(&self, count: u64) -> Result<Vec<RefusedKey>> {
        self.ask(Operation::MostRefused { count })
    }

    /// Returns the keys as [`most_refused`](Self::most_refused) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let per_user = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?.keyed()?;
    /// assert_eq!(per_user.most_refused_async(10).await?, []);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn most_refused_async(&self, count: u64) -> Result<Vec<RefusedKey>> {
        Content::of(self.run_async(Operation::MostRefused { count }).await?)
    }

    pub(super) fn prepare_most_refused(&self, count: u64) -> Result<Prepared> {
        RefusedKey::check(count)?;
        self.check_statistics()?;
        if !self.is_keyed() {
            let message =
                format!("works on a keyed limiter; inspect tells all of one without keys: name={}", self.name());
            return Err(Error::invalid("most_refused", message));
        }
        let now = self.now();
        if self.policy().limits().is_empty() || self.policy().paused().is_some() {
            // It counts nothing.
            return Ok(Prepared::Answered(Answer::MostRefused(Vec::new())));
        }
        if self.inner.store.in_memory().is_some() {
            let found = self.known_keys_in_memory().map(|all| all.most_refused(now, count));
            return Ok(Prepared::Answered(Answer::MostRefused(found.unwrap_or_default())));
        }
        let read = MostRefused::new((self.name(), self.group()), count, now, self.server()?.tallies());
        Ok(Prepared::Call(Call::most_refused(read)))
    }
}
