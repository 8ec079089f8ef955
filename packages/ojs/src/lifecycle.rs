//! The transitions of a job. Each takes the job and the time, and returns the changed job and its events.

use paddlegate::Micros;
use serde_json::{Value, json};

use crate::event::Event;
use crate::fault::Fault;
use crate::job::{Job, State};
use crate::time::rfc3339;

/// A changed job, and the events of the change.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) job: Job,
    pub(crate) events: Vec<Event>,
}

impl Job {
    /// A worker gets it.
    pub(crate) fn started(&self, worker: Option<&str>, visibility: Option<Micros>, now: u64) -> Transition {
        let mut job = self.clone();
        job.visibility_ms = visibility.map(|length| length.0 / 1_000).or(job.visibility_ms);
        job.state = State::Active;
        job.attempt += 1;
        job.worker = worker.map(str::to_owned);
        job.started_at = Some(now);
        job.scheduled_at = None;
        job.visible_at = Some(now + job.visibility().0);
        job.times_out_at = job.timeout_ms.map(|ms| now + ms * 1_000);
        let event = Event::of_job("job.started", &job, now, &json!({}));
        Transition { job, events: vec![event] }
    }

    /// Its worker has sent a heartbeat.
    pub(crate) fn extended(&self, visibility: Option<Micros>, now: u64) -> Transition {
        let mut job = self.clone();
        job.visibility_ms = visibility.map(|length| length.0 / 1_000).or(job.visibility_ms);
        job.visible_at = Some(now + job.visibility().0);
        Transition { job, events: Vec::new() }
    }

    /// Its worker has done it.
    pub(crate) fn completed(&self, result: Option<Value>, now: u64) -> Transition {
        let mut job = self.ended(State::Completed, now);
        job.completed_at = Some(now);
        job.result = result;
        job.error = None;
        let duration = now.saturating_sub(job.started_at.unwrap_or(now)) / 1_000;
        let event = Event::of_job("job.completed", &job, now, &json!({"duration_ms": duration}));
        Transition { job, events: vec![event] }
    }

    /// It has failed: it is started again after a delay, or it is discarded.
    pub(crate) fn failed(&self, error: &Value, now: u64) -> Transition {
        let error = self.noted(error, now);
        if !self.retry.allows(self.attempt, &error) {
            let mut transition = self.discarded(now);
            transition.job.errors.push(error.clone());
            transition.job.error = Some(error);
            return transition;
        }
        let mut job = self.ended(State::Retryable, now);
        let delay = job.retry.delay_ms(job.attempt);
        job.retry_delay_ms = Some(delay);
        job.scheduled_at = Some(now + delay * 1_000);
        job.errors.push(error.clone());
        job.error = Some(error);
        let event = Event::of_job("job.retrying", &job, now, &json!({"retry_delay_ms": delay}));
        Transition { job, events: vec![event] }
    }

    /// Its worker gives it back.
    pub(crate) fn requeued(&self, now: u64) -> Transition {
        let mut job = self.ended(State::Available, now);
        job.scheduled_at = None;
        let event = Event::of_job("job.requeued", &job, now, &json!({}));
        Transition { job, events: vec![event] }
    }

    /// Its worker was silent for too long, or its execution took too long.
    pub(crate) fn lapsed(&self, now: u64) -> Transition {
        if self.times_out_at.is_some_and(|at| at <= now) {
            let error =
                json!({"code": "timeout", "message": "the execution took longer than timeout_ms", "retryable": true});
            return self.failed(&error, now);
        }
        if self.attempt < self.retry.max_attempts {
            return self.requeued(now);
        }
        let error = json!({"code": "visibility_timeout", "message": "its worker sent no heartbeat in time"});
        self.failed(&error, now)
    }

    /// Its time has come.
    pub(crate) fn due(&self) -> Transition {
        let mut job = self.clone();
        job.state = State::Available;
        job.scheduled_at = None;
        Transition { job, events: Vec::new() }
    }

    /// Nobody wants it any more.
    pub(crate) fn cancelled(&self, now: u64) -> Transition {
        let mut job = self.ended(State::Cancelled, now);
        job.cancelled_at = Some(now);
        let event = Event::of_job("job.cancelled", &job, now, &json!({}));
        Transition { job, events: vec![event] }
    }

    /// It is not started any more.
    pub(crate) fn discarded(&self, now: u64) -> Transition {
        let mut job = self.ended(State::Discarded, now);
        (job.discarded_at, job.completed_at) = (Some(now), Some(now));
        job.is_dead_letter = job.retry.to_dead_letters;
        let event = Event::of_job("job.discarded", &job, now, &json!({}));
        Transition { job, events: vec![event] }
    }

    /// A limit puts it away until its time.
    pub(crate) fn rescheduled(&self, at: u64) -> Transition {
        let mut job = self.clone();
        job.state = State::Scheduled;
        job.scheduled_at = Some(at);
        Transition { job, events: Vec::new() }
    }

    /// A dead letter is tried again from the beginning.
    pub(crate) fn revived(&self, now: u64) -> Transition {
        let mut job = self.ended(State::Available, now);
        job.attempt = 0;
        job.is_dead_letter = false;
        (job.discarded_at, job.completed_at, job.scheduled_at) = (None, None, None);
        let event = Event::of_job("job.enqueued", &job, now, &json!({}));
        Transition { job, events: vec![event] }
    }

    /// Checks that a worker may end it: it is active, and by that worker if one is named.
    pub(crate) fn check_active(&self, worker: Option<&str>) -> Result<(), Fault> {
        if self.state != State::Active {
            return Err(Fault::conflict(format!("the job is not active: state={}", name(self.state))));
        }
        match (worker, self.worker.as_deref()) {
            (Some(worker), Some(own)) if worker != own => {
                Err(Fault::conflict("another worker has the job: the visibility timeout of this one is over"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that it is among the dead letters.
    pub(crate) fn check_dead_letter(&self) -> Result<(), Fault> {
        if self.is_dead_letter {
            Ok(())
        } else {
            Err(Fault::not_found(format!("no such dead letter: id={:?}", self.id)))
        }
    }

    fn ended(&self, state: State, now: u64) -> Self {
        let mut job = self.clone();
        job.state = state;
        (job.worker, job.visible_at, job.times_out_at) = (None, None, None);
        (job.held_by, job.held_since) = (None, None);
        if state == State::Available {
            job.enqueued_at = now;
        }
        job
    }

    /// Returns an error with what an answer shows of it: code, type, message, attempt and time.
    fn noted(&self, error: &Value, now: u64) -> Value {
        let mut members = error.as_object().cloned().unwrap_or_default();
        let code = members.get("code").or_else(|| members.get("type")).cloned().unwrap_or_else(|| "unknown".into());
        let class = error["details"]["error_class"].as_str().map(Value::from);
        members.entry("code").or_insert_with(|| code.clone());
        members.entry("type").or_insert_with(|| class.unwrap_or(code));
        members.entry("message").or_insert_with(|| "".into());
        members.insert("attempt".to_owned(), self.attempt.into());
        members.insert("occurred_at".to_owned(), rfc3339(now).into());
        members.into()
    }
}

/// Returns the name of a state.
pub(crate) fn name(state: State) -> &'static str {
    match state {
        State::Scheduled => "scheduled",
        State::Available => "available",
        State::Active => "active",
        State::Completed => "completed",
        State::Retryable => "retryable",
        State::Cancelled => "cancelled",
        State::Discarded => "discarded",
    }
}
