//! The memory store: limiters of this process only. The browser and the simulator use it too.

mod inbox;
mod keyed;
mod table;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::fork_safe::ForkSafe;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::base::process_id::process_id;
use crate::base::test_clock::FollowsClock;
use crate::engine::state::State;
use crate::engine::transaction::Publish;
use crate::model::limit::Limit;
use crate::model::limiter_info::merged;
use crate::model::mode::Mode;
use crate::model::policy::Policy;
use crate::model::wakeup::Wakeup;

pub(crate) use inbox::Inbox;
pub(crate) use keyed::{OfAllKeys, PlainCall};

/// The maximum number of limiters in a memory store; each key of a keyed limiter counts.
pub const MAX_KEYS: usize = 1_000_000;

/// The states of a process by name. Adding a limiter may evict idle states that no limiter holds.
pub(crate) struct Memory {
    entries: ForkSafe<Entries>,
    /// The number of all states, the states of keys too.
    states: Arc<AtomicUsize>,
    channels: ForkSafe<HashMap<String, Weak<Inbox>>>,
    /// Whether every call fails.
    is_closed: Arc<AtomicBool>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            entries: ForkSafe::new(Entries::default()),
            states: Arc::default(),
            channels: ForkSafe::new(HashMap::new()),
            is_closed: Arc::default(),
        }
    }
}

impl Publish for Memory {
    fn publish(&self, channel: &str, delay: u64, id: &str) -> bool {
        let inbox = self.channels.lock(HashMap::new).get(channel).and_then(Weak::upgrade);
        // An inbox inherited across a fork has no reader in this process.
        let Some(inbox) = inbox.filter(|inbox| inbox.made_by == process_id()) else { return false };
        inbox.put(Wakeup { id: id.to_owned(), delay: Micros(delay) });
        true
    }
}

/// A call waits in real time, of which its test clock knows nothing.
impl FollowsClock for Memory {
    fn clock_has_moved(&self) {
        let mut channels = self.channels.lock(HashMap::new);
        channels.retain(|_, inbox| inbox.strong_count() > 0);
        if channels.is_empty() {
            // Nobody waits, as in a simulation, which moves the clock all the time.
            return;
        }
        drop(channels);
        let entries = self.entries.lock(Entries::default);
        let cells: Vec<Cell> = entries.by_name.values().map(|entry| entry.cell.clone()).collect();
        let keyed: Vec<Arc<OfAllKeys>> = entries.of_all_keys.values().cloned().collect();
        drop(entries);
        for cell in cells.into_iter().chain(keyed.iter().flat_map(|all| all.whole_states())) {
            let waiting: Vec<(String, String)> =
                cell.lock(State::default).queue.iter().flat_map(|queue| queue.channels()).collect();
            for (channel, id) in waiting {
                self.publish(&channel, 0, &id);
            }
        }
    }
}

/// What the list of limiters has of a name.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) limits: Vec<Limit>,
    pub(crate) mode: Mode,
}

/// The name of a state: its limiter's name and its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StateName {
    pub(crate) name: Arc<str>,
    pub(crate) group: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct Entries {
    by_name: HashMap<StateName, Entry>,
    /// The keyed limiters, whose names are names of their own.
    of_all_keys: HashMap<StateName, Arc<OfAllKeys>>,
    /// The number of entries that triggers a sweep of idle ones: twice what the last sweep left, so the cost per entry
    /// is constant.
    sweep_at: usize,
    /// Time of the last sweep. Sweeps run at most once a second; otherwise a full store would sweep on every call.
    swept_at: u64,
}

/// A state, shared by all limiters with the same name.
pub(crate) type Cell = Arc<ForkSafe<State>>;

#[derive(Debug)]
struct Entry {
    cell: Cell,
    /// `None` when the name is not in the list.
    listed: Option<Listed>,
}

impl Memory {
    /// Lets every call fail from now on.
    #[cfg(feature = "redis")]
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Returns whether every call fails, for those who ask often.
    pub(crate) const fn closed(&self) -> &Arc<AtomicBool> {
        &self.is_closed
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) { Err(store_is_closed()) } else { Ok(()) }
    }

    /// Opens the inbox of a channel.
    pub(crate) fn listen(&self, channel: &str) -> Result<Arc<Inbox>> {
        let inbox = Inbox::new()
            .map_err(|error| Error::unavailable(format!("cannot create a channel for wake-ups: error={error}")))?;
        let inbox = Arc::new(inbox);
        let mut channels = self.channels.lock(HashMap::new);
        channels.retain(|_, inbox| inbox.strong_count() > 0);
        channels.insert(channel.to_owned(), Arc::downgrade(&inbox));
        Ok(inbox)
    }

    /// Returns the limiters in the list, and whether they are keyed.
    pub(crate) fn list(&self) -> Vec<(StateName, Listed, bool)> {
        let entries = self.entries.lock(Entries::default);
        let names = entries.by_name.iter().filter_map(|(name, entry)| {
            let listed = entry.listed.clone()?;
            Some((name.clone(), listed, false))
        });
        let keyed = entries.of_all_keys.iter().filter_map(|(name, all)| Some((name.clone(), all.listed()?, true)));
        names.chain(keyed).collect()
    }

    /// Returns the state of a name.
    pub(crate) fn find(&self, name: &StateName) -> Option<Cell> {
        self.entries.lock(Entries::default).by_name.get(name).map(|entry| entry.cell.clone())
    }

    /// Returns the keyed limiter of a name, creating it if needed.
    pub(crate) fn all_keys(&self, name: StateName, policy: &Policy, is_listed: bool) -> Arc<OfAllKeys> {
        let mut entries = self.entries.lock(Entries::default);
        let create = || Arc::new(OfAllKeys::new(&self.states));
        let all = entries.of_all_keys.entry(name).or_insert_with(create).clone();
        if is_listed {
            all.list(policy);
        }
        all
    }

    /// Returns the keyed limiter of a name if anybody has used it.
    pub(crate) fn known_keys(&self, name: &StateName) -> Option<Arc<OfAllKeys>> {
        self.entries.lock(Entries::default).of_all_keys.get(name).cloned()
    }

    /// Returns an error if the store has no room for another state.
    pub(crate) fn check_room(&self, now: u64) -> Result<()> {
        self.entries.lock(Entries::default).check_room(now, &self.states)
    }

    /// Returns the state of a name, creating it if needed. `listed` is for the list of limiters. `now` decides which
    /// other states are idle.
    pub(crate) fn cell(&self, name: &StateName, listed: Option<&Policy>, now: u64) -> Result<Cell> {
        let mut entries = self.entries.lock(Entries::default);
        if let Some(entry) = entries.by_name.get_mut(name) {
            if let Some(policy) = listed {
                list_policy(&mut entry.listed, policy);
            }
            return Ok(entry.cell.clone());
        }
        if entries.by_name.len() >= entries.sweep_at {
            entries.forget_idle(now, &self.states);
        }
        entries.check_room(now, &self.states)?;
        let cell = Arc::new(ForkSafe::new(State::default()));
        let mut entry = Entry { cell: cell.clone(), listed: None };
        if let Some(policy) = listed {
            list_policy(&mut entry.listed, policy);
        }
        entries.by_name.insert(name.clone(), entry);
        self.states.fetch_add(1, Ordering::Relaxed);
        Ok(cell)
    }
}

/// Returns the error of a call after its store was closed.
pub(crate) fn store_is_closed() -> Error {
    Error::invalid("store", "is closed; open another one")
}

fn list_policy(listed: &mut Option<Listed>, policy: &Policy) {
    // So for most limiters that are made again and again.
    if listed.as_ref().is_some_and(|listed| listed.limits == policy.limits() && listed.mode == policy.mode()) {
        return;
    }
    let older = listed.take().map(|listed| listed.limits).unwrap_or_default();
    *listed = Some(Listed { limits: merged(policy.limits(), &older), mode: policy.mode() });
}

impl Entries {
    fn check_room(&mut self, now: u64, states: &AtomicUsize) -> Result<()> {
        let is_full = || states.load(Ordering::Relaxed) >= MAX_KEYS;
        if is_full() {
            self.forget_idle(now, states);
        }
        if !is_full() {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "the memory store is full; drop limiters that are not used or use redis: keys={MAX_KEYS}"
        )))
    }

    fn forget_idle(&mut self, now: u64, states: &AtomicUsize) {
        if now.abs_diff(self.swept_at) < 1_000_000 {
            return;
        }
        self.swept_at = now;
        let before = self.by_name.len();
        self.by_name
            .retain(|_, entry| Arc::strong_count(&entry.cell) > 1 || !entry.cell.lock(State::default).is_idle(now));
        states.fetch_sub(before - self.by_name.len(), Ordering::Relaxed);
        // All of them, so that a full store is full of states that matter.
        self.of_all_keys.retain(|_, all| all.forget_idle(now) || Arc::strong_count(all) > 1);
        self.sweep_at = (2 * self.by_name.len()).clamp(1_024, MAX_KEYS);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::charge::Charge;
    use crate::model::limit::Limit;

    fn named(name: &str) -> StateName {
        StateName { name: name.into(), group: None }
    }

    fn policy() -> Policy {
        Policy::new([Limit::leaky(1, Duration::from_secs(3_600)).unwrap()]).unwrap()
    }

    #[test]
    fn idle_states_are_forgotten_and_busy_or_held_ones_stay() {
        let (memory, policy) = (Memory::default(), policy());
        let now = 1_000_000;
        let busy = memory.cell(&named("busy"), Some(&policy), now).unwrap();
        busy.lock(State::default).acquire(&policy, now, &Charge::All(1), false).unwrap();
        drop(busy);
        let held = memory.cell(&named("held"), Some(&policy), now).unwrap();
        for i in 0..10_000 {
            memory.cell(&named(&format!("idle {i}")), None, now).unwrap();
        }
        memory.entries.lock(Entries::default).swept_at = 0;
        memory.entries.lock(Entries::default).forget_idle(now, &memory.states);
        let entries = memory.entries.lock(Entries::default);
        let mut kept: Vec<&str> = entries.by_name.keys().map(|name| &*name.name).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["busy", "held"]);
        assert_eq!(entries.sweep_at, 1_024);
        drop(held);
    }

    #[test]
    fn a_name_is_idle_when_the_limits_of_all_its_policies_are() {
        let memory = Memory::default();
        let bucket = |seconds| Limit::bucket(1, Duration::from_secs(seconds)).unwrap();
        let short = Policy::new([bucket(1)]).unwrap();
        let long = Policy::new([bucket(86_400).labelled("day").unwrap()]).unwrap();
        let now = 1_000_000;
        memory
            .cell(&named("name"), Some(&long), now)
            .unwrap()
            .lock(State::default)
            .acquire(&long, now, &Charge::All(1), false)
            .unwrap();
        memory
            .cell(&named("name"), Some(&short), now)
            .unwrap()
            .lock(State::default)
            .acquire(&short, now, &Charge::All(1), false)
            .unwrap();
        memory.entries.lock(Entries::default).forget_idle(now + 10_000_000, &memory.states);
        assert!(memory.find(&named("name")).is_some());
        let labels: Vec<String> = memory.list()[0].1.limits.iter().map(|limit| limit.label().to_string()).collect();
        assert_eq!(labels, ["bucket", "day"]);
        memory.entries.lock(Entries::default).forget_idle(now + 86_400_000_000, &memory.states);
        assert!(memory.find(&named("name")).is_none());
    }

    #[test]
    fn a_full_store_refuses_new_names_and_knows_the_old_ones() {
        let memory = Memory::default();
        let cell = Cell::new(ForkSafe::new(State::default()));
        {
            let mut entries = memory.entries.lock(Entries::default);
            for i in 0..MAX_KEYS {
                // All share one state, which `cell` holds, so that none is idle and the test is small.
                entries.by_name.insert(named(&i.to_string()), Entry { cell: cell.clone(), listed: None });
            }
            memory.states.store(MAX_KEYS, Ordering::Relaxed);
        }
        let error = memory.cell(&named("one more"), None, 1).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unavailable);
        assert!(!error.may_have_counted());
        assert!(memory.cell(&named("7"), None, 1).is_ok());
    }
}
