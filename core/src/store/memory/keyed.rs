//! `OfAllKeys`: a keyed limiter in memory, with the states of its keys.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

use once_cell::race::OnceBox;

use super::table::{Hasher, Table};
use super::{Cell, Listed, list_policy};
use crate::base::error::Result;
use crate::engine::counters::Counters;
use crate::engine::plain::Plain;
use crate::engine::plain_state::PlainState;
use crate::engine::state::State;
use crate::model::history::History;
use crate::model::limit::Limit;
use crate::model::policy::Policy;
#[cfg(feature = "redis")]
use crate::model::refused_key::RefusedKey;
use crate::model::statistics::Statistics;
use crate::store::fork_safe::ForkSafe;
#[cfg(feature = "redis")]
use crate::store::refused_keys::RefusedKeys;

/// The parts into which the keys are divided by their hashes, so that threads rarely wait for each other; a power of two.
const PARTS: usize = if cfg!(target_family = "wasm") { 1 } else { 16 };

/// All limiters of this process with one name share it.
#[derive(Debug)]
pub(crate) struct OfAllKeys {
    parts: [ForkSafe<Part>; PARTS],
    common: ForkSafe<CommonPart>,
    /// The policy of all plain states: the first that any limiter of the name had.
    plain_policy: OnceBox<Arc<Policy>>,
    hasher: Hasher,
    /// The number of all states of the store, also of names without keys.
    states: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Part {
    states: Table<Form>,
    /// What the plain calls have counted.
    counters: Counters,
    /// How often each key was refused.
    #[cfg(feature = "redis")]
    refused: RefusedKeys,
    sweep_at: usize,
    swept_at: u64,
}

/// A state is plain until a call needs the whole engine.
#[derive(Debug)]
enum Form {
    Plain(PlainState),
    Whole(Cell),
}

#[derive(Clone, Debug, Default)]
struct CommonPart {
    /// What the whole engine has counted.
    counters: Counters,
    /// `None` when the limiter is not in the list.
    listed: Option<Listed>,
}

/// A call of one unit or more without other arguments.
#[derive(Clone, Copy)]
pub(crate) struct PlainCall<'a> {
    /// A policy of one limit that is [plain](Policy::plain).
    pub(crate) policy: &'a Policy,
    pub(crate) limit: &'a Limit,
    pub(crate) units: u64,
    pub(crate) has_statistics: bool,
    /// Whether the states of this policy can be plain.
    pub(crate) has_plain_states: bool,
}

impl Part {
    fn new() -> Self {
        Self {
            states: Table::new(),
            counters: Counters::default(),
            #[cfg(feature = "redis")]
            refused: RefusedKeys::default(),
            sweep_at: 0,
            swept_at: 0,
        }
    }

    #[inline]
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    fn count(&mut self, key: &str, has_statistics: bool, decided: &Plain, limit: &Limit, units: u64) {
        if !has_statistics {
        } else if decided.is_granted() {
            self.counters.grant(decided.at(), units, decided.is_near(limit));
        } else {
            self.counters.refuse(decided.at(), Some(limit.label()));
            #[cfg(feature = "redis")]
            self.refused.count(decided.at(), key);
        }
    }
}

impl OfAllKeys {
    pub(super) fn new(states: &Arc<AtomicUsize>) -> Self {
        Self {
            parts: std::array::from_fn(|_| ForkSafe::new(Part::new())),
            common: ForkSafe::new(CommonPart::default()),
            plain_policy: OnceBox::new(),
            hasher: Hasher::new(),
            states: states.clone(),
        }
    }

    pub(super) fn list(&self, policy: &Policy) {
        list_policy(&mut self.common.lock(CommonPart::default).listed, policy);
    }

    pub(super) fn listed(&self) -> Option<Listed> {
        self.common.lock(CommonPart::default).listed.clone()
    }

    /// Returns whether the states of a policy can be plain: it has the limit of all others that are.
    pub(crate) fn has_plain_states(&self, policy: &Arc<Policy>) -> bool {
        let Some(limit) = PlainState::limit(policy) else { return false };
        let others = self.plain_policy.get_or_init(|| Box::new(policy.clone()));
        PlainState::limit(others) == Some(limit)
    }

    /// Takes the units of a call; `None` when the whole engine must decide or the store is full, and then nothing has changed.
    ///
    /// `now` reads the clock for a state with this last time and skew.
    #[inline]
    pub(crate) fn acquire(
        &self,
        key: &str,
        call: &PlainCall<'_>,
        now: impl FnOnce((u64, u64)) -> u64,
    ) -> Option<Plain> {
        let PlainCall { policy, limit, units, has_statistics, .. } = *call;
        let hash = self.hasher.hash(key);
        let mut part = self.part(hash);
        let decided = match part.states.get_mut(hash, key) {
            Some(Form::Plain(state)) if call.has_plain_states => {
                let now = now(state.last_time());
                state.acquire(limit, now, units)?
            }
            Some(Form::Plain(_)) => return None,
            Some(Form::Whole(state)) => {
                let mut state = state.try_lock()?;
                let now = now(state.last_time());
                state.acquire_plain(limit, policy.tag_list(), now, units, false)?
            }
            None => return self.acquire_first(hash, key, &mut part, call, now((0, 0))),
        };
        part.count(key, has_statistics, &decided, limit, units);
        Some(decided)
    }

    #[cold]
    fn acquire_first(&self, hash: u64, key: &str, part: &mut Part, call: &PlainCall<'_>, now: u64) -> Option<Plain> {
        if !call.has_plain_states || self.is_store_full() {
            return None;
        }
        let mut state = PlainState::default();
        let decided = state.acquire(call.limit, now, call.units)?;
        self.insert(part, hash, key, Form::Plain(state), now);
        part.count(key, call.has_statistics, &decided, call.limit, call.units);
        Some(decided)
    }

    /// Returns the state of a key for the whole engine, creating it if needed and `may_create` allows it.
    pub(crate) fn cell(&self, key: &str, now: u64, may_create: impl FnOnce() -> Result<()>) -> Result<Cell> {
        let hash = self.hasher.hash(key);
        let found = self.whole(&mut self.part(hash), hash, key);
        if let Some(found) = found {
            return Ok(found);
        }
        // Not under the lock: it may sweep.
        may_create()?;
        let mut part = self.part(hash);
        if let Some(cell) = self.whole(&mut part, hash, key) {
            return Ok(cell);
        }
        let cell = Cell::new(ForkSafe::new(State::default()));
        self.insert(&mut part, hash, key, Form::Whole(cell.clone()), now);
        Ok(cell)
    }

    /// Returns the state of a key for the whole engine.
    pub(crate) fn find(&self, key: &str) -> Option<Cell> {
        let hash = self.hasher.hash(key);
        self.whole(&mut self.part(hash), hash, key)
    }

    #[cfg(test)]
    fn has(&self, key: &str) -> bool {
        let hash = self.hasher.hash(key);
        self.part(hash).states.get_mut(hash, key).is_some()
    }

    fn whole(&self, part: &mut Part, hash: u64, key: &str) -> Option<Cell> {
        let form = part.states.get_mut(hash, key)?;
        match form {
            Form::Whole(cell) => Some(cell.clone()),
            Form::Plain(state) => {
                let cell = Cell::new(ForkSafe::new(state.whole(self.plain_policy.get()?)));
                *form = Form::Whole(cell.clone());
                Some(cell)
            }
        }
    }

    /// Adds a state for a key that has none.
    fn insert(&self, part: &mut Part, hash: u64, key: &str, form: Form, now: u64) {
        if part.states.len() >= part.sweep_at {
            self.sweep(part, now);
        }
        part.states.insert(&self.hasher, hash, key, form);
        self.states.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets the idle states and returns whether any state is left.
    pub(super) fn forget_idle(&self, now: u64) -> bool {
        let left = |mut part: MutexGuard<'_, Part>| {
            self.sweep(&mut part, now);
            part.states.len()
        };
        self.each_part().map(left).sum::<usize>() > 0
    }

    fn sweep(&self, part: &mut Part, now: u64) {
        if now.abs_diff(part.swept_at) < 1_000_000 {
            return;
        }
        part.swept_at = now;
        let limit = self.plain_policy.get().and_then(|policy| PlainState::limit(policy));
        let before = part.states.len();
        part.states.retain(|state| match state {
            Form::Plain(state) => limit.is_some_and(|limit| !state.is_idle(limit, now)),
            Form::Whole(cell) => Arc::strong_count(cell) > 1 || !cell.lock(State::default).is_idle(now),
        });
        self.states.fetch_sub(before - part.states.len(), Ordering::Relaxed);
        part.sweep_at = (2 * part.states.len()).max(1_024 / PARTS);
    }

    fn is_store_full(&self) -> bool {
        self.states.load(Ordering::Relaxed) >= super::MAX_KEYS
    }

    #[inline]
    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        // The table of the part uses the highest and the lowest bits.
        let at = if PARTS == 1 { 0 } else { (hash >> 32) as usize & (PARTS - 1) };
        self.parts[at].lock(Part::new)
    }

    fn each_part(&self) -> impl Iterator<Item = MutexGuard<'_, Part>> {
        self.parts.iter().map(|part| part.lock(Part::new))
    }

    /// Returns the states that the whole engine has used, which alone have tickets.
    pub(super) fn whole_states(&self) -> Vec<Cell> {
        let mut whole = Vec::new();
        for mut part in self.each_part() {
            part.states.retain(|form| {
                if let Form::Whole(cell) = form {
                    whole.push(cell.clone());
                }
                true
            });
        }
        whole
    }

    /// Adds what the whole engine has counted in one call for a key.
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    pub(crate) fn count(&self, key: Option<&str>, counted: &Counters) {
        #[cfg(feature = "redis")]
        if let (Some(key), Some(at)) = (key, counted.refused_at()) {
            self.part(self.hasher.hash(key)).refused.count(at, key);
        }
        self.common.lock(CommonPart::default).counters.add(counted);
    }

    /// Returns at most `count` keys, the most refused first.
    #[cfg(feature = "redis")]
    pub(crate) fn most_refused(&self, now: u64, count: u64) -> Vec<RefusedKey> {
        let of_part = |part: MutexGuard<'_, Part>| part.refused.recent(now).collect::<Vec<_>>();
        RefusedKey::most(self.each_part().flat_map(of_part), count)
    }

    /// Returns the keys that have a state.
    #[cfg(feature = "redis")]
    pub(crate) fn keys(&self) -> Vec<String> {
        self.each_part().flat_map(|part| part.states.keys().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Forgets how often a key was refused.
    #[cfg(feature = "redis")]
    pub(crate) fn forget_refused(&self, key: &str) {
        self.part(self.hasher.hash(key)).refused.forget(key);
    }

    /// Returns the counters of all keys; their leases and tickets are not counted.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut sum = self.common.lock(CommonPart::default).counters.clone();
        self.each_part().for_each(|part| sum.add(&part.counters));
        sum.statistics()
    }

    /// Returns the history of all keys.
    pub(crate) fn history(&self, now: u64) -> History {
        let mut sum = self.common.lock(CommonPart::default).counters.recent();
        self.each_part().for_each(|part| sum.add(&part.counters.recent()));
        sum.shown(now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn policy(capacity: u64) -> Arc<Policy> {
        Arc::new(Policy::new([Limit::leaky(capacity, Duration::from_secs(1)).unwrap()]).unwrap())
    }

    /// A call with a policy whose states are plain if those of `all` are.
    fn call<'a>(all: &OfAllKeys, policy: &'a Arc<Policy>, units: u64) -> PlainCall<'a> {
        let (limit, has_plain_states) = (policy.plain().unwrap(), all.has_plain_states(policy));
        PlainCall { policy, limit, units, has_statistics: true, has_plain_states }
    }

    #[test]
    fn a_state_is_plain_until_the_whole_engine_needs_it_and_keeps_what_it_knows() {
        let (all, policy) = (OfAllKeys::new(&Arc::default()), policy(3));
        let now = 10_000_000;
        assert!(all.acquire("ada", &call(&all, &policy, 2), |_| now).unwrap().is_granted());
        let cell = all.find("ada").unwrap();
        let peek = |units| cell.lock(State::default).peek_plain(policy.plain().unwrap(), policy.tag_list(), now, units);
        assert_eq!(
            (peek(1).map(|plain| plain.is_granted()), peek(2).map(|plain| plain.is_granted())),
            (Some(true), Some(false))
        );
        assert!(all.acquire("ada", &call(&all, &policy, 1), |_| now).unwrap().is_granted());
        assert_eq!(peek(1).map(|plain| plain.is_granted()), Some(false), "both use the same state");
        assert_eq!((all.statistics().granted, all.statistics().units), (2, 3));
        assert_eq!(all.history(now).minutes.last().map(|minute| minute.units), Some(3));
    }

    #[test]
    fn a_policy_with_other_numbers_uses_the_same_states_by_the_whole_engine() {
        let (all, small, large) = (OfAllKeys::new(&Arc::default()), policy(3), policy(5));
        let now = 10_000_000;
        assert!(all.acquire("ada", &call(&all, &small, 3), |_| now).unwrap().is_granted());
        assert!(all.acquire("ada", &call(&all, &large, 1), |_| now).is_none(), "its state is plain, of other numbers");
        assert!(all.acquire("bob", &call(&all, &large, 1), |_| now).is_none(), "a state that does not exist");
        let cell = all.cell("ada", now, || Ok(())).unwrap();
        let taken = cell.lock(State::default).acquire_plain(large.plain().unwrap(), large.tag_list(), now, 3, false);
        assert_eq!(taken.map(|plain| plain.is_granted()), Some(false), "three of five are taken");
        assert!(all.acquire("ada", &call(&all, &large, 2), |_| now).unwrap().is_granted());
        assert!(!all.acquire("ada", &call(&all, &small, 1), |_| now).unwrap().is_granted());
    }

    #[test]
    fn a_busy_state_is_left_to_the_whole_engine() {
        let (all, policy) = (OfAllKeys::new(&Arc::default()), policy(3));
        let cell = all.cell("ada", 1, || Ok(())).unwrap();
        cell.lock(State::default).adopt(&policy, 1).unwrap();
        let guard = cell.lock(State::default);
        assert!(all.acquire("ada", &call(&all, &policy, 1), |_| 1).is_none());
        drop(guard);
        assert!(all.acquire("ada", &call(&all, &policy, 1), |_| 1).is_some());
    }

    #[test]
    fn idle_keys_are_forgotten_and_busy_or_held_ones_stay() {
        let keys = Arc::default();
        let (all, policy) = (OfAllKeys::new(&keys), policy(3));
        let now = 10_000_000;
        for i in 0..10_000 {
            assert!(all.acquire(&format!("idle {i}"), &call(&all, &policy, 1), |_| now).unwrap().is_granted());
        }
        assert_eq!(keys.load(Ordering::Relaxed), 10_000, "one unit leaks in 333,334 us");
        let held = all.cell("held", now, || Ok(())).unwrap();
        drop(all.cell("not held", now, || Ok(())).unwrap());
        let later = now + 1_000_000;
        assert!(all.acquire("busy", &call(&all, &policy, 1), |_| later).unwrap().is_granted());
        assert!(all.forget_idle(later));
        assert_eq!(keys.load(Ordering::Relaxed), 2);
        assert!(all.has("busy") && all.has("held") && !all.has("not held"));
        drop(held);
        assert!(!all.forget_idle(later + 2_000_000));
        assert_eq!(keys.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_full_store_takes_no_new_keys_and_knows_the_old_ones() {
        let keys = Arc::default();
        let (all, policy) = (OfAllKeys::new(&keys), policy(3));
        assert!(all.acquire("ada", &call(&all, &policy, 1), |_| 1).is_some());
        keys.store(super::super::MAX_KEYS, Ordering::Relaxed);
        assert!(all.acquire("bob", &call(&all, &policy, 1), |_| 1).is_none());
        assert!(all.acquire("ada", &call(&all, &policy, 1), |_| 1).is_some());
        assert!(all.cell("ada", 1, || panic!("it exists")).is_ok());
    }

    #[test]
    fn threads_take_no_unit_twice() {
        let (all, policy) = (OfAllKeys::new(&Arc::default()), policy(1_000));
        let names: Vec<String> = (0..50).map(|i| i.to_string()).collect();
        let granted: usize = std::thread::scope(|scope| {
            let run = || {
                let calls = (0..10).flat_map(|_| &names).map(|name| {
                    // Now and then a call makes the whole state of a key.
                    if all.statistics().granted % 97 == 0 {
                        all.find(name);
                    }
                    all.acquire(name, &call(&all, &policy, 300), |_| 1).is_some_and(|plain| plain.is_granted())
                });
                calls.filter(|granted| *granted).count()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(granted <= 3 * names.len(), "{granted}");
        assert_eq!((all.statistics().granted, all.statistics().units), (granted as u64, 300 * granted as u64));
    }
}
