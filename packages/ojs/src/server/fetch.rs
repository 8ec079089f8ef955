//! `Fetch`: the jobs that a worker gets. A job starts exactly when its limits grant it, in one step with their charge.

use std::collections::{HashMap, HashSet};

use paddlegate::{Admission, Answer, Limiter, Micros, OnLimit, Operation, QueuePosition, Request, Status, Wait};
use serde_json::json;

use super::Ojs;
use crate::counted;
use crate::definition::Definition;
use crate::event::Event;
use crate::fault::Fault;
use crate::job::Job;
use crate::limits::{self, Key};
use crate::store::{Assigned, Place, Question, Record};

/// The most jobs of a queue that one fetch looks at.
const MAX_LOOKED_AT: usize = 1_000;

/// The jobs that are read at once.
const PAGE: usize = 50;

/// What a worker asks for.
#[derive(Debug)]
pub(crate) struct Fetch<'a> {
    /// The queues, the most important first.
    pub(crate) queues: Vec<&'a str>,
    pub(crate) count: usize,
    pub(crate) worker: Option<&'a str>,
    pub(crate) visibility: Option<Micros>,
}

/// What became of a job that a fetch has looked at.
enum Looked {
    Started(Box<Job>),
    /// It stays where it is.
    Stays,
    /// It has left its place.
    Left,
}

/// What one fetch knows: the definitions that it has read, and the limiters that have refused.
#[derive(Default)]
struct Known {
    definitions: HashMap<String, Option<Definition>>,
    refused: HashSet<String>,
}

impl Ojs {
    /// Starts up to so many jobs: of the first queue first, higher priorities first. A limited job is passed over.
    pub(crate) async fn fetch(&self, fetch: &Fetch<'_>) -> Result<Vec<Job>, Fault> {
        self.sweep().await?;
        let (mut started, mut known) = (Vec::new(), Known::default());
        for queue in &fetch.queues {
            let (place, mut offset, mut looked_at) = (Place::Available((*queue).to_owned()), 0, 0);
            while started.len() < fetch.count && looked_at < MAX_LOOKED_AT {
                let records = self.store.page(&place, offset, PAGE).await?;
                if records.is_empty() {
                    break;
                }
                for record in records {
                    if started.len() == fetch.count {
                        break;
                    }
                    looked_at += 1;
                    match self.look(record, fetch, &mut known).await? {
                        Looked::Started(job) => started.push(*job),
                        Looked::Stays => offset += 1,
                        Looked::Left => {}
                    }
                }
            }
        }
        Ok(started)
    }

    async fn look(&self, record: Record, fetch: &Fetch<'_>, known: &mut Known) -> Result<Looked, Fault> {
        let now = self.store.now().await?;
        if record.job.expires_at.is_some_and(|at| at <= now) {
            let transition = record.job.discarded(now);
            self.make(record.becomes(transition)).await?;
            return Ok(Looked::Left);
        }
        let on_limit = record.job.limit.as_ref().map_or(OnLimit::Wait, crate::job::JobLimit::on_limit);
        let keys = self.keys_of(&record.job, fetch.visibility, known).await?;
        if on_limit == OnLimit::Wait && keys.iter().any(|key| known.refused.contains(key.limiter.name())) {
            return Ok(Looked::Stays);
        }
        let mut transition = record.job.started(fetch.worker, fetch.visibility, now);
        if let (Some(strategy), Some(key)) = (record.job.held_by.as_ref(), keys.first()) {
            let data = json!({"strategy": strategy, "job_id": record.job.id});
            transition.events.push(Event::of_key("rate_limit.released", &key.name, now, &data));
            transition.job.held_by = None;
            transition.job.held_since = None;
        }
        let (job, id) = (transition.job.clone(), record.job.next_limit_id());
        let waited = record.job.held_since.map(|since| now.saturating_sub(since));
        let change = record.clone().becomes(transition);
        let limiters: Vec<&Limiter> = keys.iter().map(|key| &key.limiter).collect();
        if limiters.is_empty() {
            let is_started = self.store.apply(&change).await?;
            return Ok(if is_started { Looked::Started(job.into()) } else { Looked::Left });
        }
        let together = self.paddlegate.together(&limiters)?;
        // A waiting job has no ticket: it would keep its place against one of a higher priority that comes later.
        let wait = (on_limit == OnLimit::Reschedule).then(|| Admission::wait(on_limit, None)).flatten();
        let decision = match self.store.assign(&change, Question { limiter: &together, id: &id, wait }).await? {
            Assigned::Changed => return Ok(Looked::Left),
            Assigned::Decided(decision) => decision,
        };
        if decision.allowed() {
            for key in &keys {
                self.store.note_exceeded(key.limiter.name(), None).await?;
            }
            if let (Some(waited), Some(key)) = (waited, keys.first()) {
                self.store.count(&counted::wait(key.limiter.name(), waited)).await?;
            }
            return Ok(Looked::Started(job.into()));
        }
        let refusing = decision.limiter.clone().unwrap_or_default();
        let strategy = limits::strategy(&decision);
        let key = limits::key_of(&refusing);
        if decision.status == Status::Refused && on_limit == OnLimit::Wait {
            known.refused.insert(refusing.clone());
        }
        if self.store.note_exceeded(&refusing, Some(&strategy)).await? {
            let limit = decision.limit.unwrap_or_default();
            let current = limit.saturating_sub(decision.remaining.unwrap_or_default());
            let data = json!({"strategy": strategy, "limit": limit, "current": current});
            self.store.write_event(&Event::of_key("rate_limit.exceeded", key, now, &data)).await?;
            self.store.count(&counted::exceeded(&refusing, &strategy)).await?;
        }
        self.hold(record, &strategy, key, Admission::of(*decision, on_limit), now).await
    }

    /// Lets a job over its limit wait, reschedules it or drops it, as its admission says.
    async fn hold(
        &self,
        record: Record,
        strategy: &str,
        key: &str,
        admission: Admission,
        now: u64,
    ) -> Result<Looked, Fault> {
        let mut transition = match (admission.action, admission.after) {
            (paddlegate::Action::Drop, _) => {
                let mut transition = record.job.discarded(now);
                let data = json!({"job_id": record.job.id, "job_type": record.job.kind});
                transition.events.push(Event::of_key("rate_limit.dropped", key, now, &data));
                transition
            }
            (paddlegate::Action::Reschedule, Some(after)) => record.job.rescheduled(now + after.0),
            _ if record.job.held_by.as_deref() == Some(strategy) => return Ok(Looked::Stays),
            _ => crate::lifecycle::Transition { job: record.job.clone(), events: Vec::new() },
        };
        let leaves = transition.job.state != record.job.state;
        transition.job.held_by = Some(strategy.to_owned());
        transition.job.held_since.get_or_insert(now);
        let is_applied = self.store.apply(&record.becomes(transition)).await?;
        Ok(if leaves || !is_applied { Looked::Left } else { Looked::Stays })
    }

    /// Returns the limits of a job: of its key, and of its queue.
    async fn keys_of(&self, job: &Job, visibility: Option<Micros>, known: &mut Known) -> Result<Vec<Key>, Fault> {
        let names = Self::limiters_of(job);
        let unread: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| !known.definitions.contains_key(*name)).collect();
        let read = self.store.definitions(&unread).await?;
        known.definitions.extend(unread.into_iter().map(str::to_owned).zip(read));
        let lease = visibility.unwrap_or_else(|| job.visibility());
        let defined = names.iter().filter_map(|name| Some((name, known.definitions.get(name)?.as_ref()?)));
        defined.map(|(name, definition)| Key::of(&self.paddlegate, name, definition, Some(lease))).collect()
    }

    /// Restarts the leases of an active job.
    pub(super) async fn renew(&self, job: &Job) -> Result<(), Fault> {
        let keys = self.keys_of(job, None, &mut Known::default()).await?;
        for key in keys.iter().filter(|key| key.limiter.grants_leases()) {
            // With the id of its lease a call takes nothing, and says the permit.
            let id = job.limit_id();
            let wait = Some(Wait { position: QueuePosition::Existing, ..Wait::up_to(Micros(1)) });
            let again = Operation::AcquireWithId { request: Request::cost(1), id: &id, wait };
            if let Answer::Decision(decision) = key.limiter.run_async(again).await?
                && let Some(permit) = decision.permit
            {
                key.limiter.run_async(Operation::Renew { permit: &permit }).await?;
            }
        }
        Ok(())
    }
}
