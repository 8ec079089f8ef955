//! `Ojs`: a job server. Jobs wait here; which of them may start is the limiters' decision.

mod fetch;
mod metrics;
mod sweep;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use paddlegate::{Limiter, OnLimit, Paddlegate, TestClock};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use serde_json::{Map, Value, json};

use crate::definition::Definition;
use crate::enqueue::Enqueue;
use crate::event::Event;
use crate::fault::Fault;
use crate::job::{Job, State};
use crate::lifecycle::Transition;
use crate::limits::{self, Key};
use crate::store::{Change, MemoryStore, Place, Question, Record, RedisStore, Store};

pub(crate) use self::fetch::Fetch;
pub use self::metrics::KeyMetrics;

/// How often a change is tried again that another request came before.
const MAX_TRIES: usize = 8;

/// A job server on a store of limits.
pub struct Ojs {
    paddlegate: Paddlegate,
    store: Store,
    clock: Option<TestClock>,
}

/// Why a job server does not start.
pub type Failure = String;

impl Ojs {
    /// Opens a job server whose jobs are in memory, as the limits of `paddlegate` are.
    pub fn memory(paddlegate: Paddlegate, clock: Option<TestClock>) -> Self {
        Self { paddlegate, store: Store::Memory(Box::new(MemoryStore::new(clock.clone()))), clock }
    }

    /// Opens a job server whose jobs are in the Redis at this URL, as the limits of `paddlegate` are.
    ///
    /// It is one server, no cluster: a job and its limits change in one step. A call ends within `timeout`.
    pub fn redis(
        paddlegate: Paddlegate,
        url: &str,
        timeout: Duration,
        clock: Option<TestClock>,
    ) -> Result<Self, Failure> {
        let failed = |error: redis::RedisError| format!("the jobs need one redis server: {error}");
        let client = redis::Client::open(url).map_err(failed)?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout))
            .set_number_of_retries(1);
        let connection = ConnectionManager::new_lazy_with_config(client, config).map_err(failed)?;
        Ok(Self { paddlegate, store: Store::Redis(Box::new(RedisStore::new(connection, clock.clone()))), clock })
    }

    /// Returns the clock of a server for tests.
    pub(crate) const fn test_clock(&self) -> Option<&TestClock> {
        self.clock.as_ref()
    }

    /// Writes a job that waits for its start.
    pub(crate) async fn enqueue(&self, body: &Map<String, Value>) -> Result<Job, Fault> {
        let jobs = self.enqueue_as(&[body], |_, fault| fault).await?;
        jobs.into_iter().next().ok_or_else(|| Fault::internal("a job was lost"))
    }

    /// Writes jobs that wait for their start, all of them or none; a fault names the job.
    pub(crate) async fn enqueue_all(&self, bodies: &[&Map<String, Value>]) -> Result<Vec<Job>, Fault> {
        self.enqueue_as(bodies, |number, fault| fault.of_job(number)).await
    }

    async fn enqueue_as(
        &self,
        bodies: &[&Map<String, Value>],
        of_job: fn(usize, Fault) -> Fault,
    ) -> Result<Vec<Job>, Fault> {
        let now = self.store.now().await?;
        let (mut ids, mut checked) = (HashSet::new(), Vec::with_capacity(bodies.len()));
        for (i, body) in bodies.iter().enumerate() {
            let enqueue = Enqueue::read(body, now).map_err(|fault| of_job(i, fault))?;
            let id = &enqueue.job.id;
            // Nobody has an id that was made here.
            let is_taken = body.contains_key("id") && self.store.get(id).await?.is_some();
            if is_taken || !ids.insert(id.clone()) {
                return Err(of_job(i, Fault::duplicate(id)));
            }
            checked.push(enqueue);
        }
        let first = self.store.next_number(checked.len() as u64).await?;
        let (mut defined, mut changes) = (HashMap::new(), Vec::with_capacity(checked.len()));
        for (number, Enqueue { mut job, definition }) in (first..).zip(checked) {
            if let Some((limiter, document)) = definition
                && defined.get(&limiter) != Some(&document)
            {
                self.define(&limiter, &document, now).await?;
                defined.insert(limiter, document);
            }
            job.number = number;
            let event = Event::of_job("job.enqueued", &job, now, &json!({}));
            changes.push(Change { before: None, after: job, events: vec![event] });
        }
        match self.store.enqueue(&changes).await? {
            Some(taken) => Err(of_job(taken, Fault::duplicate(&changes[taken].after.id))),
            None => Ok(changes.into_iter().map(|change| change.after).collect()),
        }
    }

    async fn define(&self, limiter: &str, document: &str, now: u64) -> Result<Definition, Fault> {
        let before = self.definition(limiter).await?;
        let mut definition = Definition::new(document.to_owned());
        if let Some(before) = &before {
            definition = definition.with_added_of(before);
        }
        if before.as_ref() != Some(&definition) {
            self.store.define(limiter, &definition).await?;
        }
        if let Some(before) = before
            && !before.strategies()?.is_empty()
            && !before.is_as(&definition)?
        {
            let key = limits::key_of(limiter);
            self.store.write_event(&Event::of_key("rate_limit.redefined", key, now, &json!({}))).await?;
        }
        Ok(definition)
    }

    async fn definition(&self, limiter: &str) -> Result<Option<Definition>, Fault> {
        Ok(self.store.definitions(&[limiter]).await?.pop().flatten())
    }

    /// Returns a job.
    pub(crate) async fn job(&self, id: &str) -> Result<Job, Fault> {
        self.sweep().await?;
        Ok(self.record(id).await?.job)
    }

    async fn record(&self, id: &str) -> Result<Record, Fault> {
        self.store.get(id).await?.ok_or_else(|| Fault::not_found(format!("no such job: id={id:?}")))
    }

    /// Changes a job as `how` says, again when another request was first. A job that is active no more, or waits no more, gives
    /// back what it has of its limits in the same step.
    async fn change(
        &self,
        id: &str,
        mut how: impl FnMut(&Job, u64) -> Result<Transition, Fault>,
    ) -> Result<Job, Fault> {
        for _ in 0..MAX_TRIES {
            let (now, record) = (self.store.now().await?, self.record(id).await?);
            let transition = how(&record.job, now)?;
            let after = transition.job.clone();
            if self.make(record.becomes(transition)).await? {
                return Ok(after);
            }
        }
        Err(changes_too_often())
    }

    /// Makes a change; false when another request was first.
    async fn make(&self, change: Change) -> Result<bool, Fault> {
        let Some(before) = change.before.as_ref().map(|record| &record.job) else {
            return self.store.apply(&change).await;
        };
        let has_ticket = before.limit.as_ref().is_some_and(|limit| limit.on_limit() == OnLimit::Reschedule);
        let id = match before.state {
            State::Active if change.after.state != State::Active => before.limit_id(),
            _ if has_ticket && before.waits() && change.after.state.is_final() => before.next_limit_id(),
            _ => return self.store.apply(&change).await,
        };
        let mut keys = Vec::new();
        for limiter in Self::limiters_of(before) {
            keys.extend(self.key_of_limiter(&limiter).await?);
        }
        if keys.is_empty() {
            return self.store.apply(&change).await;
        }
        let limiters: Vec<&Limiter> = keys.iter().map(|key| &key.limiter).collect();
        let together = self.paddlegate.together(&limiters)?;
        self.store.settle(&change, Question { limiter: &together, id: &id, wait: None }).await
    }

    /// Ends an attempt that succeeded.
    pub(crate) async fn ack(&self, id: &str, worker: Option<&str>, result: Option<&Value>) -> Result<Job, Fault> {
        self.sweep().await?;
        self.change(id, |job, now| {
            job.check_active(worker)?;
            Ok(job.completed(result.cloned(), now))
        })
        .await
    }

    /// Ends an attempt that failed. Its error may say that an upstream refuses the whole key.
    pub(crate) async fn nack(
        &self,
        id: &str,
        worker: Option<&str>,
        error: &Value,
        requeue: bool,
    ) -> Result<Job, Fault> {
        self.sweep().await?;
        let job = self.record(id).await?.job;
        job.check_active(worker)?;
        self.signal(&job, error).await?;
        self.change(id, |job, now| {
            job.check_active(worker)?;
            Ok(if requeue { job.requeued(now) } else { job.failed(error, now) })
        })
        .await
    }

    async fn signal(&self, job: &Job, error: &Value) -> Result<(), Fault> {
        let Some(limit) = &job.limit else { return Ok(()) };
        let Some(key) = self.key_of_limiter(&limit.limiter).await? else { return Ok(()) };
        if let Some(until) = key.signal(error).await? {
            let reason = error["message"].as_str().or_else(|| error["type"].as_str());
            let data = json!({"until": crate::time::rfc3339(until), "reason": reason});
            let now = self.store.now().await?;
            self.store.write_event(&Event::of_key("rate_limit.dynamic_adjusted", &key.name, now, &data)).await?;
        }
        Ok(())
    }

    /// Ends a job that is not wanted any more.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Job, Fault> {
        self.sweep().await?;
        self.change(id, |job, now| {
            if job.state.is_final() {
                let state = crate::lifecycle::name(job.state);
                return Err(Fault::conflict(format!("the job has ended: state={state}")));
            }
            Ok(job.cancelled(now))
        })
        .await
    }

    /// Returns the names of the limiters that may limit a job: its own, and that of its queue.
    fn limiters_of(job: &Job) -> Vec<String> {
        let of_queue = format!("ojs/queue/{}", job.queue);
        let own = job.limit.as_ref().map(|limit| limit.limiter.clone()).filter(|own| *own != of_queue);
        own.into_iter().chain([of_queue]).collect()
    }

    /// Extends the time of jobs whose worker lives; returns those that it still has.
    pub(crate) async fn heartbeat(
        &self,
        worker: &str,
        jobs: &[String],
        visibility: Option<paddlegate::Micros>,
    ) -> Result<(Vec<Job>, u64), Fault> {
        self.sweep().await?;
        let mut extended = Vec::new();
        for id in jobs {
            let changed = self
                .change(id, |job, now| {
                    job.check_active(Some(worker))?;
                    Ok(job.extended(visibility, now))
                })
                .await;
            match changed {
                Ok(job) => {
                    self.renew(&job).await?;
                    extended.push(job);
                }
                Err(fault) if fault.status.is_client_error() => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok((extended, self.store.now().await?))
    }

    /// Returns the events from the oldest on.
    pub(crate) async fn events(&self) -> Result<Vec<Event>, Fault> {
        self.store.events().await
    }

    /// Returns the jobs that have failed for good and are kept.
    pub(crate) async fn dead_letters(&self) -> Result<Vec<Job>, Fault> {
        let records = self.store.page(&Place::DeadLetters, 0, 1_000).await?;
        Ok(records.into_iter().map(|record| record.job).collect())
    }

    /// Forgets a dead letter.
    pub(crate) async fn forget_dead_letter(&self, id: &str) -> Result<(), Fault> {
        for _ in 0..MAX_TRIES {
            let record = self.record(id).await?;
            record.job.check_dead_letter()?;
            if self.store.forget(&record).await? {
                return Ok(());
            }
        }
        Err(changes_too_often())
    }

    /// Tries a dead letter again.
    pub(crate) async fn revive(&self, id: &str) -> Result<Job, Fault> {
        self.change(id, |job, now| {
            job.check_dead_letter()?;
            Ok(job.revived(now))
        })
        .await
    }

    /// Returns the limits of a key that is known.
    pub(crate) async fn key(&self, name: &str) -> Result<Key, Fault> {
        self.sweep().await?;
        let unknown = || Fault::not_found(format!("no such key: key={name:?}"));
        let limiter = limits::limiter_name(name).map_err(|_| unknown())?;
        self.key_of_limiter(&limiter).await?.ok_or_else(unknown)
    }

    /// Changes the limits of a key at once, for as long as the document says. A key that is not known begins to exist.
    pub(crate) async fn changed_key(&self, name: &str, document: &Map<String, Value>) -> Result<Key, Fault> {
        let limiter = limits::limiter_name(name)?;
        let before = self.definition(&limiter).await?;
        let after = before.clone().unwrap_or_else(Definition::without_limits).with_override(document)?;
        let key = Key::of(&self.paddlegate, &limiter, &after, None)?;
        key.change(document).await?;
        if before.as_ref() != Some(&after) {
            self.store.add_strategies(&limiter, &after).await?;
        }
        Ok(key)
    }

    /// Defines the limits of a queue.
    pub(crate) async fn configure_queue(&self, queue: &str, document: &Value) -> Result<Key, Fault> {
        crate::enqueue::check_queue(queue)?;
        let (limiter, document) = (format!("ojs/queue/{queue}"), document.to_string());
        // Checked before it is written.
        Key::of(&self.paddlegate, &limiter, &Definition::new(document.clone()), None)?;
        let definition = self.define(&limiter, &document, self.store.now().await?).await?;
        Key::of(&self.paddlegate, &limiter, &definition, None)
    }

    async fn key_of_limiter(&self, limiter: &str) -> Result<Option<Key>, Fault> {
        let definition = self.definition(limiter).await?;
        definition.map(|definition| Key::of(&self.paddlegate, limiter, &definition, None)).transpose()
    }

    /// Returns the names of all keys, in order.
    pub(crate) async fn keys(&self) -> Result<Vec<String>, Fault> {
        self.sweep().await?;
        let limiters = self.store.limiters().await?;
        let mut keys: Vec<String> = limiters.iter().map(|limiter| limits::key_of(limiter).to_owned()).collect();
        // Limiters have another order: `ojs/key/stripe` is before `ojs/queue/mail`, and `stripe` behind `queue/mail`.
        keys.sort();
        Ok(keys)
    }

    /// Returns what a look at a key shows.
    pub(crate) async fn show(&self, key: &Key) -> Result<Value, Fault> {
        key.show(self.store.waiting(key.limiter.name()).await?).await
    }

    /// Returns the headers that tell of the limits of a job.
    pub(crate) async fn headers_of(&self, job: &Job) -> Result<Vec<(&'static str, String)>, Fault> {
        let Some(limit) = &job.limit else { return Ok(Vec::new()) };
        match self.key_of_limiter(&limit.limiter).await? {
            Some(key) => key.headers().await,
            None => Ok(Vec::new()),
        }
    }

    /// Whether the store answers.
    pub(crate) async fn check(&self) -> Result<(), Fault> {
        self.store.now().await.map(drop)
    }
}

fn changes_too_often() -> Fault {
    Fault::unavailable("the job changes too often at the moment; try again")
}

#[cfg(test)]
mod tests;
