//! `MemoryStore`: the jobs of one process.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use paddlegate::{Answer, SignalHandling, TestClock};

use super::{Assigned, Change, Place, Question, Record};
use crate::definition::Definition;
use crate::event::{Event, MAX_EVENTS};
use crate::fault::Fault;

/// The most jobs of a place that are read because their time has come.
const MAX_OVER: usize = 100;

/// Jobs in memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    inner: Mutex<Inner>,
    clock: Option<TestClock>,
}

#[derive(Default)]
struct Inner {
    jobs: HashMap<String, Record>,
    places: HashMap<Place, BTreeSet<(u64, String)>>,
    waiting: HashMap<String, i64>,
    definitions: BTreeMap<String, Definition>,
    exceeded: HashMap<String, String>,
    counted: HashMap<String, u64>,
    events: VecDeque<Event>,
    number: u64,
}

impl MemoryStore {
    pub(crate) fn new(clock: Option<TestClock>) -> Self {
        Self { clock, ..Self::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[allow(clippy::disallowed_methods)] // the clock of this store
    pub(super) fn now(&self) -> Result<u64, Fault> {
        if let Some(clock) = &self.clock {
            return Ok(clock.now().0);
        }
        let since =
            SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Fault::internal("the clock is before 1970"))?;
        Ok(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn next_number(&self, count: u64) -> Result<u64, Fault> {
        let mut inner = self.inner();
        inner.number += count;
        Ok(inner.number + 1 - count)
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn enqueue(&self, changes: &[Change]) -> Result<Option<usize>, Fault> {
        let mut inner = self.inner();
        let taken = changes.iter().position(|change| !inner.is_current(change));
        if taken.is_none() {
            for change in changes {
                inner.apply(change);
            }
        }
        Ok(taken)
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn get(&self, id: &str) -> Result<Option<Record>, Fault> {
        Ok(self.inner().jobs.get(id).cloned())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn apply(&self, change: &Change) -> Result<bool, Fault> {
        Ok(self.inner().apply(change))
    }

    pub(super) fn assign(&self, change: &Change, question: Question<'_>) -> Result<Assigned, Fault> {
        let mut inner = self.inner();
        if !inner.is_current(change) {
            return Ok(Assigned::Changed);
        }
        let Answer::Decision(decision) = question.limiter.run(question.acquire(), SignalHandling::Ignore)? else {
            return Err(Fault::internal("an acquisition is a decision"));
        };
        if decision.allowed() {
            inner.apply(change);
        }
        Ok(Assigned::Decided(Box::new(decision)))
    }

    pub(super) fn settle(&self, change: &Change, question: Question<'_>) -> Result<bool, Fault> {
        let mut inner = self.inner();
        if !inner.is_current(change) {
            return Ok(false);
        }
        question.limiter.run(question.cancel(), SignalHandling::Ignore)?;
        Ok(inner.apply(change))
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn page(&self, place: &Place, offset: usize, count: usize) -> Result<Vec<Record>, Fault> {
        let inner = self.inner();
        let ids = inner.places.get(place).into_iter().flatten().skip(offset).take(count);
        Ok(ids.filter_map(|(_, id)| inner.jobs.get(id).cloned()).collect())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn over(&self, place: &Place, now: u64) -> Result<Vec<Record>, Fault> {
        let inner = self.inner();
        let ids = inner.places.get(place).into_iter().flatten().take_while(|(rank, _)| *rank <= now).take(MAX_OVER);
        Ok(ids.filter_map(|(_, id)| inner.jobs.get(id).cloned()).collect())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn forget(&self, record: &Record) -> Result<bool, Fault> {
        let mut inner = self.inner();
        let id = &record.job.id;
        if inner.version(id) != record.version {
            return Ok(false);
        }
        let (place, rank) = Place::of(&record.job);
        inner.leave(&place, rank, id);
        inner.jobs.remove(id);
        Ok(true)
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn define(&self, limiter: &str, definition: &Definition) -> Result<(), Fault> {
        let mut inner = self.inner();
        let mut definition = definition.clone();
        if let Some(before) = inner.definitions.get(limiter) {
            definition = definition.with_added_of(before);
        }
        inner.definitions.insert(limiter.to_owned(), definition);
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn add_strategies(&self, limiter: &str, definition: &Definition) -> Result<(), Fault> {
        let mut inner = self.inner();
        let before = inner.definitions.get(limiter).unwrap_or(definition).clone();
        inner.definitions.insert(limiter.to_owned(), before.with_added_of(definition));
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn definitions(&self, limiters: &[&str]) -> Result<Vec<Option<Definition>>, Fault> {
        let inner = self.inner();
        Ok(limiters.iter().map(|limiter| inner.definitions.get(*limiter).cloned()).collect())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn limiters(&self) -> Result<Vec<String>, Fault> {
        Ok(self.inner().definitions.keys().cloned().collect())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn waiting(&self, limiter: &str) -> Result<u64, Fault> {
        let waiting = self.inner().waiting.get(limiter).copied().unwrap_or_default();
        Ok(u64::try_from(waiting).unwrap_or_default())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn note_exceeded(&self, limiter: &str, strategy: Option<&str>) -> Result<bool, Fault> {
        let mut inner = self.inner();
        let before = match strategy {
            Some(strategy) => inner.exceeded.insert(limiter.to_owned(), strategy.to_owned()),
            None => inner.exceeded.remove(limiter),
        };
        Ok(before.as_deref() != strategy)
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn count(&self, fields: &[(String, u64)]) -> Result<(), Fault> {
        let mut inner = self.inner();
        for (field, more) in fields {
            *inner.counted.entry(field.clone()).or_default() += more;
        }
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn counted(&self) -> Result<Vec<(String, u64)>, Fault> {
        Ok(self.inner().counted.iter().map(|(field, count)| (field.clone(), *count)).collect())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn write_event(&self, event: &Event) -> Result<(), Fault> {
        self.inner().write_event(event);
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps)] // as the store in Redis
    pub(super) fn events(&self) -> Result<Vec<Event>, Fault> {
        Ok(self.inner().events.iter().cloned().collect())
    }
}

impl Inner {
    /// Returns the version of a job, zero of one that is not there.
    fn version(&self, id: &str) -> u64 {
        self.jobs.get(id).map_or(0, |record| record.version)
    }

    fn is_current(&self, change: &Change) -> bool {
        self.version(&change.after.id) == change.version()
    }

    fn apply(&mut self, change: &Change) -> bool {
        if !self.is_current(change) {
            return false;
        }
        let id = &change.after.id;
        if let Some(Record { job, .. }) = &change.before {
            let (place, rank) = Place::of(job);
            self.leave(&place, rank, id);
        }
        let (place, rank) = Place::of(&change.after);
        self.places.entry(place).or_default().insert((rank, id.clone()));
        if let Some((limiter, by)) = change.waiting() {
            *self.waiting.entry(limiter.to_owned()).or_default() += by;
        }
        self.jobs.insert(id.clone(), Record { version: change.version() + 1, job: change.after.clone() });
        change.events.iter().for_each(|event| self.write_event(event));
        true
    }

    fn leave(&mut self, place: &Place, rank: u64, id: &str) {
        if let Some(ids) = self.places.get_mut(place) {
            ids.remove(&(rank, id.to_owned()));
            if ids.is_empty() {
                self.places.remove(place);
            }
        }
    }

    fn write_event(&mut self, event: &Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event.clone());
    }
}
