//! Changes of all keys of a keyed limiter.

use super::Limiter;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::micros::MAX_SPAN;
use crate::client::admin_request::AdminRequest;
use crate::client::prepared::Prepared;
use crate::model::key_page::{ChangedKeys, KeyPage};
use crate::model::operation::{Answer, Content, Operation};
use crate::store::redis::{Call, PartialKeys};
use crate::store::signal_handling::SignalHandling;

/// A change for each key of a keyed limiter.
#[derive(Clone, Copy, Debug)]
pub enum KeyChange<'a> {
    /// A pause, an override, or the end of one.
    Admin(&'a AdminRequest),
    /// All that was taken is forgotten.
    Reset,
}

impl Limiter {
    /// Returns a page of the keys of this keyed limiter that have a state now: about 100, fewer or none while there is a cursor.
    ///
    /// The first page has no cursor; each next page takes the cursor of the page before; the last page has none. In memory there is one
    /// page. A key that is new meanwhile may be missing. In Redis all keys of its servers are looked at, a thousand in a call.
    ///
    /// `Invalid`, argument `all_keys`, for a limiter that is not keyed, and argument `key` for one with a key.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let per_user = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?.keyed()?;
    /// for key in ["bob", "alice"] {
    ///     per_user.with_key(key)?.try_acquire(Request::cost(1))?;
    /// }
    /// assert_eq!(per_user.key_page(None)?.keys, ["alice", "bob"]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn key_page(&self, cursor: Option<&str>) -> Result<KeyPage> {
        KeyPage::of(match self.prepare_key_page(cursor)? {
            Prepared::Answered(answer) => answer,
            Prepared::Call(call) => self.server()?.run(call, SignalHandling::Ignore, MAX_SPAN.duration())?,
        })
    }

    /// Changes the keys of a [page](Self::key_page), each by itself.
    ///
    /// It changes the keys that have a state now; a key that is used for the first time later is not changed.
    ///
    /// An error that each key would have, such as a label that the policy does not have, is the error of the call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{KeyChange, Paddlegate, Request};
    /// let per_user = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?.keyed()?;
    /// let (alice, bob) = (per_user.with_key("alice")?, per_user.with_key("bob")?);
    /// assert!(alice.try_acquire(Request::cost(1))?.allowed() && bob.try_acquire(Request::cost(1))?.allowed());
    /// assert_eq!(per_user.change_keys(KeyChange::Reset, None)?.changed, ["alice", "bob"]);
    /// assert!(alice.try_acquire(Request::cost(1))?.allowed() && bob.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn change_keys(&self, change: KeyChange<'_>, cursor: Option<&str>) -> Result<ChangedKeys> {
        let KeyPage { keys, cursor } = self.key_page(cursor)?;
        let (mut results, mut calls, mut places) = (Vec::with_capacity(keys.len()), Vec::new(), Vec::new());
        for (at, prepared) in self.prepare_change(change, &keys)?.into_iter().enumerate() {
            results.push(Ok(()));
            if let Prepared::Call(call) = prepared {
                calls.push(call);
                places.push(at);
            }
        }
        if !calls.is_empty() {
            for (at, answer) in places.into_iter().zip(self.server()?.run_several(calls, SignalHandling::Ignore)) {
                results[at] = answer.map(|_| ());
            }
        }
        changed(keys, results, cursor)
    }

    /// Returns a page of keys as [`key_page`](Self::key_page) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let per_user = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?.keyed()?;
    /// assert_eq!(per_user.key_page_async(None).await?.cursor, None);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn key_page_async(&self, cursor: Option<&str>) -> Result<KeyPage> {
        KeyPage::of(match self.prepare_key_page(cursor)? {
            Prepared::Answered(answer) => answer,
            Prepared::Call(call) => self.send_async(call).await?,
        })
    }

    /// Changes the keys of a page as [`change_keys`](Self::change_keys) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminRequest, KeyChange, Paddlegate};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let per_user = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?.keyed()?;
    /// assert!(per_user.change_keys_async(KeyChange::Admin(&AdminRequest::Resume), None).await?.changed.is_empty());
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn change_keys_async(&self, change: KeyChange<'_>, cursor: Option<&str>) -> Result<ChangedKeys> {
        let KeyPage { keys, cursor } = self.key_page_async(cursor).await?;
        let (mut results, mut running) = (Vec::with_capacity(keys.len()), tokio::task::JoinSet::new());
        for (at, prepared) in self.prepare_change(change, &keys)?.into_iter().enumerate() {
            results.push(Ok(()));
            if let Prepared::Call(call) = prepared {
                let limiter = self.clone();
                running.spawn(async move { (at, limiter.send_async(call).await) });
            }
        }
        while let Some(ended) = running.join_next().await {
            let (at, answer) = ended.map_err(|error| Error::internal(format!("a change did not end: {error}")))?;
            results[at] = answer.map(|_| ());
        }
        changed(keys, results, cursor)
    }

    fn prepare_key_page(&self, cursor: Option<&str>) -> Result<Prepared> {
        self.check_open()?;
        if self.key().is_some() {
            return Err(Error::invalid("key", format!("all keys are meant; leave it out: name={}", self.name())));
        }
        if !self.is_keyed() {
            let message = format!("is for a keyed limiter; change one without keys by its name: name={}", self.name());
            return Err(Error::invalid("all_keys", message));
        }
        if self.inner.store.in_memory().is_none() {
            return Ok(Prepared::Call(Call::key_page(PartialKeys::new(self.name(), self.group(), cursor)?)));
        }
        if cursor.is_some() {
            return Err(Error::invalid("cursor", "the keys in memory are one page; leave it out"));
        }
        let keys = self.known_keys_in_memory().map(|all| all.keys()).unwrap_or_default();
        Ok(Prepared::Answered(Answer::Keys(KeyPage::new(keys, None))))
    }

    /// Starts the change of each key; in memory it is made at once.
    fn prepare_change(&self, change: KeyChange<'_>, keys: &[String]) -> Result<Vec<Prepared>> {
        let prepare =
            |operation: Operation<'_>| keys.iter().map(|key| self.with_key(key)?.prepare(operation)).collect();
        match change {
            KeyChange::Admin(request) => request.operation(self, prepare),
            KeyChange::Reset => prepare(Operation::Reset),
        }
    }
}

/// Sorts keys into those that were changed and those that were not. Only damaged data is the error of one key alone.
fn changed(keys: Vec<String>, results: Vec<Result<()>>, cursor: Option<String>) -> Result<ChangedKeys> {
    let mut sorted = ChangedKeys { cursor, ..ChangedKeys::default() };
    for (key, result) in keys.into_iter().zip(results) {
        match result {
            Ok(()) => sorted.changed.push(key),
            Err(error) if error.kind() == ErrorKind::Data => sorted.unchanged.push((key, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(sorted)
}
