//! `Store`: where jobs are kept, in memory or in Redis. A change names the version that it changes, so that of two at once one
//! has no effect; it moves the job from one place to another and writes its events in the same step.

mod memory;
mod place;
mod redis;

use paddlegate::{Decision, Limiter, Operation, Request, Wait};

pub(crate) use self::memory::MemoryStore;
pub(crate) use self::place::Place;
pub(crate) use self::redis::RedisStore;
use crate::definition::Definition;
use crate::event::Event;
use crate::fault::Fault;
use crate::job::Job;
use crate::lifecycle::Transition;

/// A job as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) version: u64,
    pub(crate) job: Job,
}

/// A change of one job; `before` is none of a new job.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) before: Option<Record>,
    pub(crate) after: Job,
    pub(crate) events: Vec<Event>,
}

impl Record {
    /// Returns the change to what the job becomes.
    pub(crate) fn becomes(self, transition: Transition) -> Change {
        Change { before: Some(self), after: transition.job, events: transition.events }
    }
}

impl Change {
    fn version(&self) -> u64 {
        self.before.as_ref().map_or(0, |record| record.version)
    }

    /// Returns the limiter whose number of waiting jobs changes, and by how much.
    fn waiting(&self) -> Option<(&str, i64)> {
        let limiter = self.after.limit.as_ref()?.limiter.as_str();
        let before = self.before.as_ref().is_some_and(|record| record.job.waits());
        match (before, self.after.waits()) {
            (false, true) => Some((limiter, 1)),
            (true, false) => Some((limiter, -1)),
            _ => None,
        }
    }
}

/// The result of a change that limits have a say in.
pub(crate) enum Assigned {
    /// Another request has changed the job.
    Changed,
    /// The limits have decided; the change is made when this is a grant.
    Decided(Box<Decision>),
}

/// What the limits are asked: one limiter or several together, under the id of this start.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) limiter: &'a Limiter,
    pub(crate) id: &'a str,
    pub(crate) wait: Option<Wait<'static>>,
}

impl Question<'_> {
    fn acquire(&self) -> Operation<'_> {
        Operation::AcquireWithId { request: Request::cost(1), id: self.id, wait: self.wait }
    }

    const fn cancel(&self) -> Operation<'_> {
        Operation::Cancel { id: self.id, gave_up: false }
    }
}

/// The jobs, the definitions of the limits, and the events.
pub(crate) enum Store {
    Memory(Box<MemoryStore>),
    Redis(Box<RedisStore>),
}

macro_rules! on_store {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self {
            Store::Memory(store) => store.$method($($argument),*),
            Store::Redis(store) => store.$method($($argument),*).await,
        }
    };
}

impl Store {
    /// Returns the time of the store.
    pub(crate) async fn now(&self) -> Result<u64, Fault> {
        on_store!(self, now())
    }

    /// Takes the numbers of the next jobs, and returns the first.
    pub(crate) async fn next_number(&self, count: u64) -> Result<u64, Fault> {
        on_store!(self, next_number(count))
    }

    /// Writes new jobs, or none of them when another has taken the id of one, whose place in the list it returns.
    pub(crate) async fn enqueue(&self, changes: &[Change]) -> Result<Option<usize>, Fault> {
        on_store!(self, enqueue(changes))
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<Record>, Fault> {
        on_store!(self, get(id))
    }

    /// Makes a change; false when another has changed the job.
    pub(crate) async fn apply(&self, change: &Change) -> Result<bool, Fault> {
        on_store!(self, apply(change))
    }

    /// Makes a change exactly when limits grant it, in one step.
    pub(crate) async fn assign(&self, change: &Change, question: Question<'_>) -> Result<Assigned, Fault> {
        on_store!(self, assign(change, question))
    }

    /// Makes a change and gives back what a start of the job has of its limits, in one step; false when another has changed
    /// the job.
    pub(crate) async fn settle(&self, change: &Change, question: Question<'_>) -> Result<bool, Fault> {
        on_store!(self, settle(change, question))
    }

    /// Returns jobs at a place, in their order.
    pub(crate) async fn page(&self, place: &Place, offset: usize, count: usize) -> Result<Vec<Record>, Fault> {
        on_store!(self, page(place, offset, count))
    }

    /// Returns up to a hundred jobs at a place whose time has come.
    pub(crate) async fn over(&self, place: &Place, now: u64) -> Result<Vec<Record>, Fault> {
        on_store!(self, over(place, now))
    }

    /// Forgets a job that has ended; false when another request has changed or forgotten it.
    pub(crate) async fn forget(&self, record: &Record) -> Result<bool, Fault> {
        on_store!(self, forget(record))
    }

    /// Writes the policy of a limiter, and keeps the strategies that only overrides have named.
    pub(crate) async fn define(&self, limiter: &str, definition: &Definition) -> Result<(), Fault> {
        on_store!(self, define(limiter, definition))
    }

    /// Writes the strategies of a limiter that only overrides have named, and keeps its policy if it has one.
    pub(crate) async fn add_strategies(&self, limiter: &str, definition: &Definition) -> Result<(), Fault> {
        on_store!(self, add_strategies(limiter, definition))
    }

    /// Returns the definitions of limiters, none of one that is not known.
    pub(crate) async fn definitions(&self, limiters: &[&str]) -> Result<Vec<Option<Definition>>, Fault> {
        on_store!(self, definitions(limiters))
    }

    /// Returns the names of all limiters with a definition, in order.
    pub(crate) async fn limiters(&self) -> Result<Vec<String>, Fault> {
        on_store!(self, limiters())
    }

    /// Returns how many jobs of a limiter wait.
    pub(crate) async fn waiting(&self, limiter: &str) -> Result<u64, Fault> {
        on_store!(self, waiting(limiter))
    }

    /// Notes by which strategy a limiter is exceeded, or that it is not; returns whether that is new.
    pub(crate) async fn note_exceeded(&self, limiter: &str, strategy: Option<&str>) -> Result<bool, Fault> {
        on_store!(self, note_exceeded(limiter, strategy))
    }

    /// Adds to what is counted of limiters.
    pub(crate) async fn count(&self, fields: &[(String, u64)]) -> Result<(), Fault> {
        on_store!(self, count(fields))
    }

    /// Returns what is counted of all limiters.
    pub(crate) async fn counted(&self) -> Result<Vec<(String, u64)>, Fault> {
        on_store!(self, counted())
    }

    pub(crate) async fn write_event(&self, event: &Event) -> Result<(), Fault> {
        on_store!(self, write_event(event))
    }

    /// Returns the events from the oldest on.
    pub(crate) async fn events(&self) -> Result<Vec<Event>, Fault> {
        on_store!(self, events())
    }
}

#[cfg(test)]
mod tests;
