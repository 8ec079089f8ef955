//! Keyed limiters: one policy, and a state for each key.

use std::mem;
use std::sync::Arc;
#[cfg(feature = "redis")]
use std::sync::atomic::AtomicU64;

use once_cell::race::OnceBox;

#[cfg(feature = "redis")]
use super::StateLocation;
use super::{Inner, Limiter};
use crate::base::error::{Error, Result};
use crate::engine::counters::Counters;
use crate::engine::plain::Plain;
use crate::engine::state::State;
use crate::model::limit::Limit;
use crate::model::operation::Operation;
#[cfg(feature = "redis")]
use crate::model::policy::Policy;
use crate::store::memory::{OfAllKeys, PlainCall};
#[cfg(feature = "redis")]
use crate::store::redis::{Hints, KeyParts, Keys, Names, PARTS, Redis, Roles, Tally};

/// The maximum length of a key, in bytes.
pub const MAX_KEY: usize = 512;

/// What all keys of a keyed limiter have in common in this process.
#[derive(Default)]
pub(crate) struct AllKeys {
    in_memory: OnceBox<KeysInMemory>,
    #[cfg(feature = "redis")]
    in_redis: OnceBox<KeysInRedis>,
    /// For each hash tag, the second at which the limiter was last added to its list of limiters.
    #[cfg(feature = "redis")]
    listed_at: [AtomicU64; PARTS],
    /// For each hash tag, what this process has counted.
    #[cfg(feature = "redis")]
    tallies: [OnceBox<Arc<Tally>>; PARTS],
}

#[cfg(feature = "redis")]
struct KeysInRedis {
    roles: Arc<Roles>,
    /// What this process last saw of some of the keys.
    hints: Arc<Hints>,
    /// For each hash tag.
    names: [OnceBox<Arc<Names>>; PARTS],
}

struct KeysInMemory {
    all: Arc<OfAllKeys>,
    has_plain_states: bool,
}

impl AllKeys {
    /// Returns the keys of the state of a key.
    #[cfg(feature = "redis")]
    pub(super) fn in_redis(&self, parts: KeyParts<'_>, policy: &Policy) -> Keys {
        let make = || KeysInRedis {
            roles: Arc::new(Roles::new(policy)),
            hints: Arc::new(Hints::of_keys()),
            names: Default::default(),
        };
        let KeysInRedis { roles, hints, names } = self.in_redis.get_or_init(|| Box::new(make()));
        let part = parts.part();
        let names = names[part].get_or_init(|| Box::new(Arc::new(Names::new(parts, part))));
        Keys::with_common(names.clone(), parts.key, roles.clone(), hints.clone())
    }

    #[cfg(feature = "redis")]
    pub(super) fn tally(&self, keys: &Keys, redis: &Redis) -> Arc<Tally> {
        self.tallies[keys.part()].get_or_init(|| Box::new(keys.new_tally(redis.tallies()))).clone()
    }
}

impl Limiter {
    /// Returns a copy that has a state for each key: a limit per user, address or tenant without a limiter for each.
    ///
    /// Every call needs a key, given by [`with_key`](Self::with_key). A key that is not used costs nothing: its state ends
    /// soon after all its units are available again. All keys have one entry in the list of limiters and one set of
    /// statistics. In a cluster the keys are spread over up to 16 nodes; with a group they are on one.
    ///
    /// A keyed limiter and one without keys of the same name have nothing in common.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let per_user = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?.keyed()?;
    /// assert!(per_user.with_key("alice")?.try_acquire(Request::cost(2))?.allowed());
    /// assert!(!per_user.with_key("alice")?.try_acquire(Request::cost(1))?.allowed());
    /// assert!(per_user.with_key("bob")?.try_acquire(Request::cost(1))?.allowed());
    /// assert_eq!(per_user.statistics()?.granted, 2, "of all keys");
    /// assert_eq!(per_user.try_acquire(Request::cost(1)).unwrap_err().argument(), Some("key"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn keyed(&self) -> Result<Self> {
        self.check_single("keyed", "belongs to each limiter; give it to those that decide together")?;
        Ok(self.varied(|inner| (inner.keys, inner.key) = (Some(Arc::default()), None)).located())
    }

    /// Returns whether the limiter has a state for each key.
    pub fn is_keyed(&self) -> bool {
        self.inner.keys.is_some()
    }

    /// Returns the limiter of one key, of 1 to 512 bytes. It is made for one call: cheap, and not registered anywhere.
    ///
    /// `Invalid`, argument `key`, for a key that is empty or too long, and for a limiter that is not [`keyed`](Self::keyed).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?;
    /// assert_eq!(api.with_key("alice").unwrap_err().argument(), Some("key"), "not keyed");
    /// let per_user = api.keyed()?;
    /// assert_eq!(per_user.with_key("alice")?.key(), Some("alice"));
    /// assert_eq!(per_user.with_key("").unwrap_err().argument(), Some("key"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn with_key(&self, key: &str) -> Result<Self> {
        if !self.is_keyed() {
            let message =
                format!("the limiter is not keyed; leave it out or create the limiter keyed: name={}", self.name());
            return Err(Error::invalid("key", message));
        }
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(Error::invalid("key", format!("must have 1 to {MAX_KEY} bytes: bytes={}", key.len())));
        }
        Ok(self.varied(|inner| inner.key = Some(key.into())).located())
    }

    /// Returns the key that was given by [`with_key`](Self::with_key).
    pub fn key(&self) -> Option<&str> {
        self.inner.key.as_deref()
    }

    /// Returns an error for an operation on a keyed limiter without the key, or with one where all keys are meant.
    pub(super) fn check_key(&self, operation: &Operation<'_>) -> Result<()> {
        let is_of_all = match operation {
            Operation::Statistics | Operation::History => true,
            #[cfg(feature = "redis")]
            Operation::MostRefused { .. } => true,
            _ => false,
        };
        match (&self.inner.keys, &self.inner.key) {
            (Some(_), None) if !is_of_all => Err(self.key_is_missing()),
            (Some(_), Some(_)) if is_of_all => {
                let message = format!("statistics cover all keys; call without a key: name={}", self.name());
                Err(Error::invalid("key", message))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn key_is_missing(&self) -> Error {
        let message = format!("is missing; the limiter has a state for each key: name={}", self.name());
        Error::invalid("key", message)
    }

    /// Runs a change of a state in memory, and adds what it counted to the statistics of all keys.
    #[inline]
    pub(super) fn counted<T>(&self, state: &mut State, run: impl FnOnce(&mut State) -> T) -> T {
        let before = self.set_counters_aside(state);
        let result = run(state);
        self.count_elsewhere(state, before);
        result
    }

    /// Takes the cost of a plain call for a key in memory; `None` when the whole engine must decide. `now` reads the clock.
    #[inline]
    pub(super) fn acquire_plain_of_key(
        &self,
        key: &str,
        limit: &Limit,
        units: u64,
        now: impl FnOnce((u64, u64)) -> u64,
    ) -> Option<Plain> {
        let KeysInMemory { all, has_plain_states } = self.keys_in_memory()?;
        let Inner { policy, has_statistics, .. } = &*self.inner;
        let (has_statistics, has_plain_states) = (*has_statistics, *has_plain_states);
        all.acquire(key, &PlainCall { policy, limit, units, has_statistics, has_plain_states }, now)
    }

    /// Takes the counters out of a state in memory that does not keep the counters of this limiter: with a key they belong to all
    /// keys, and without statistics nothing counts.
    #[inline]
    pub(super) fn set_counters_aside(&self, state: &mut State) -> Option<Counters> {
        (self.is_keyed() || !self.has_statistics()).then(|| mem::take(&mut state.counters))
    }

    /// Puts them back, and adds what was counted since to the statistics of all keys.
    #[inline]
    pub(super) fn count_elsewhere(&self, state: &mut State, before: Option<Counters>) {
        let Some(before) = before else { return };
        let counted = mem::replace(&mut state.counters, before);
        if self.has_statistics()
            && let Some(all) = self.all_keys_in_memory()
        {
            all.count(self.key(), &counted);
        }
    }

    /// Returns what all keys have in common in the memory store; `None` for a limiter that is not keyed.
    pub(super) fn all_keys_in_memory(&self) -> Option<&OfAllKeys> {
        self.keys_in_memory().map(|keys| &*keys.all)
    }

    /// Returns the same if anybody has used the limiter, so that a call that only reads does not make its name known.
    pub(super) fn known_keys_in_memory(&self) -> Option<Arc<OfAllKeys>> {
        match self.inner.keys.as_ref()?.in_memory.get() {
            Some(keys) => Some(keys.all.clone()),
            None => self.inner.store.in_memory()?.known_keys(&self.inner.state_name()),
        }
    }

    #[inline]
    fn keys_in_memory(&self) -> Option<&KeysInMemory> {
        let keys = self.inner.keys.as_ref()?;
        match keys.in_memory.get() {
            Some(keys) => Some(keys),
            None => self.open_keys_in_memory(keys),
        }
    }

    #[cold]
    fn open_keys_in_memory<'a>(&self, keys: &'a AllKeys) -> Option<&'a KeysInMemory> {
        let Inner { store, policy, has_statistics, .. } = &*self.inner;
        let all = store.in_memory()?.all_keys(self.inner.state_name(), policy, *has_statistics);
        let has_plain_states = all.has_plain_states(policy);
        Some(keys.in_memory.get_or_init(|| Box::new(KeysInMemory { all, has_plain_states })))
    }

    /// Forgets how often the key was refused in memory.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unused_self))]
    pub(super) fn forget_refused(&self) {
        #[cfg(feature = "redis")]
        if let (Some(all), Some(key)) = (self.known_keys_in_memory(), self.key()) {
            all.forget_refused(key);
        }
    }

    /// Returns the second at which the limiter was last added to the list of limiters of its hash tag.
    #[cfg(feature = "redis")]
    pub(super) fn listed_at(&self) -> &AtomicU64 {
        match (&self.inner.keys, &self.inner.location) {
            (Some(all), StateLocation::Redis { keys, .. }) => &all.listed_at[keys.part()],
            _ => &self.inner.listed_at,
        }
    }
}
