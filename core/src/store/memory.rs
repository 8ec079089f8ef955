//! The memory store: limiters of this process only. The browser and the simulator use it too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::fork_safe::{ForkSafe, pid};
use super::state_name::NameParts;
pub(crate) use super::state_name::StateName;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::engine::counters::Counters;
use crate::engine::state::State;
use crate::engine::transaction::Publish;
use crate::model::history::History;
use crate::model::label::Label;
use crate::model::limit::Limit;
use crate::model::limiter_info::merged;
use crate::model::mode::Mode;
use crate::model::policy::Policy;
use crate::model::statistics::Statistics;
use crate::model::wakeup::Wakeup;

/// The maximum number of limiters in a memory store.
pub const MAX_KEYS: usize = 1_000_000;

/// The states of a process by name. Adding a limiter may evict idle states that no limiter holds.
pub(crate) struct Memory {
    entries: ForkSafe<Entries>,
    channels: ForkSafe<HashMap<String, Weak<Inbox>>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { entries: ForkSafe::new(Entries::default()), channels: ForkSafe::new(HashMap::new()) }
    }
}

/// The wake-ups for the waiters of one channel.
#[derive(Debug)]
pub(crate) struct Inbox {
    hints: Mutex<Vec<Wakeup>>,
    made_by: u32,
    #[cfg(unix)]
    wake: (std::os::unix::net::UnixStream, std::os::unix::net::UnixStream),
}

impl Inbox {
    /// Cannot fail on systems other than Unix, where no socket pair is opened.
    #[cfg_attr(not(unix), allow(clippy::unnecessary_wraps))]
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            hints: Mutex::default(),
            made_by: pid(),
            #[cfg(unix)]
            wake: {
                let pair = std::os::unix::net::UnixStream::pair()?;
                pair.0.set_nonblocking(true)?;
                pair.1.set_nonblocking(true)?;
                pair
            },
        })
    }

    #[cfg(unix)]
    pub(crate) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.wake.0)
    }

    pub(crate) fn take(&self) -> Vec<Wakeup> {
        #[cfg(unix)]
        while std::io::Read::read(&mut &self.wake.0, &mut [0; 64]).is_ok_and(|size| size == 64) {}
        std::mem::take(&mut *self.hints.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, hint: Wakeup) {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner).push(hint);
        // The write fails only when the pipe is full, and a full pipe wakes the reader too.
        #[cfg(unix)]
        let _ = std::io::Write::write(&mut &self.wake.1, &[0]);
    }
}

impl Publish for Memory {
    fn publish(&self, channel: &str, delay: u64, id: &str) -> bool {
        let inbox = self.channels.lock(HashMap::new).get(channel).and_then(Weak::upgrade);
        // An inbox inherited across a fork has no reader in this process.
        let Some(inbox) = inbox.filter(|inbox| inbox.made_by == pid()) else { return false };
        inbox.put(Wakeup { id: id.to_owned(), delay: Micros(delay) });
        true
    }
}

/// What the list of limiters has of a name.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) limits: Vec<Limit>,
    pub(crate) mode: Mode,
}

/// What all keys of a keyed limiter have in common.
#[derive(Debug)]
pub(crate) struct OfAllKeys(ForkSafe<CommonPart>);

#[derive(Clone, Debug, Default)]
struct CommonPart {
    counters: Counters,
    /// `None` when the limiter is not in the list.
    listed: Option<Listed>,
}

impl OfAllKeys {
    pub(crate) fn count(&self, counted: &Counters) {
        self.0.lock(CommonPart::default).counters.add(counted);
    }

    /// Counts a call of one key on so many units, which a limit refused or none.
    pub(crate) fn count_call(&self, at: u64, refused_by: Option<&Label>, units: u64) {
        let counters = &mut self.0.lock(CommonPart::default).counters;
        if refused_by.is_none() {
            counters.grant(at, units);
        } else {
            counters.refuse(at, refused_by);
        }
    }

    /// Returns the counters of all keys; their leases and tickets are not counted.
    pub(crate) fn statistics(&self) -> Statistics {
        self.0.lock(CommonPart::default).counters.statistics()
    }

    /// Returns the history of all keys.
    pub(crate) fn history(&self, now: u64) -> History {
        self.0.lock(CommonPart::default).counters.history(now)
    }
}

#[derive(Debug, Default)]
struct Entries {
    by_name: HashMap<StateName, Entry>,
    /// Only of keyed limiters, by names without a key.
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
        let keyed = entries.of_all_keys.iter().filter_map(|(name, all)| {
            let listed = all.0.lock(CommonPart::default).listed.clone()?;
            Some((name.clone(), listed, true))
        });
        names.chain(keyed).collect()
    }

    /// Returns the state of a name.
    pub(crate) fn find(&self, name: &StateName) -> Option<Cell> {
        self.entries.lock(Entries::default).by_name.get(name).map(|entry| entry.cell.clone())
    }

    /// Returns the state of a key of a limiter.
    pub(crate) fn find_key(&self, name: &str, group: Option<&str>, key: &str) -> Option<Cell> {
        let parts = (name, group, key);
        let parts: &dyn NameParts = &parts;
        self.entries.lock(Entries::default).by_name.get(parts).map(|entry| entry.cell.clone())
    }

    /// Returns what all keys of a limiter have in common, creating it if needed.
    pub(crate) fn all_keys(&self, name: StateName, policy: &Policy, is_listed: bool) -> Arc<OfAllKeys> {
        let mut entries = self.entries.lock(Entries::default);
        let common = || Arc::new(OfAllKeys(ForkSafe::new(CommonPart::default())));
        let all = entries.of_all_keys.entry(name).or_insert_with(common).clone();
        if is_listed {
            list_policy(&mut all.0.lock(CommonPart::default).listed, policy);
        }
        all
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
            entries.forget_idle(now);
        }
        if entries.by_name.len() >= MAX_KEYS {
            return Err(Error::unavailable(format!(
                "the memory store is full; drop limiters that are not used or use redis: keys={MAX_KEYS}"
            )));
        }
        let cell = Arc::new(ForkSafe::new(State::default()));
        let mut entry = Entry { cell: cell.clone(), listed: None };
        if let Some(policy) = listed {
            list_policy(&mut entry.listed, policy);
        }
        entries.by_name.insert(name.clone(), entry);
        Ok(cell)
    }
}

fn list_policy(listed: &mut Option<Listed>, policy: &Policy) {
    let older = listed.take().map(|listed| listed.limits).unwrap_or_default();
    *listed = Some(Listed { limits: merged(policy.limits(), &older), mode: policy.mode() });
}

impl Entries {
    fn forget_idle(&mut self, now: u64) {
        if now.abs_diff(self.swept_at) < 1_000_000 {
            return;
        }
        self.swept_at = now;
        self.by_name
            .retain(|_, entry| Arc::strong_count(&entry.cell) > 1 || !entry.cell.lock(State::default).is_idle(now));
        self.of_all_keys.retain(|_, all| Arc::strong_count(all) > 1);
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
        StateName { name: name.into(), group: None, key: None }
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
        memory.entries.lock(Entries::default).forget_idle(now);
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
        memory.entries.lock(Entries::default).forget_idle(now + 10_000_000);
        assert!(memory.find(&named("name")).is_some());
        let labels: Vec<String> = memory.list()[0].1.limits.iter().map(|limit| limit.label().to_string()).collect();
        assert_eq!(labels, ["bucket", "day"]);
        memory.entries.lock(Entries::default).forget_idle(now + 86_400_000_000);
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
        }
        let error = memory.cell(&named("one more"), None, 1).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unavailable);
        assert!(!error.may_have_counted());
        assert!(memory.cell(&named("7"), None, 1).is_ok());
    }
}
