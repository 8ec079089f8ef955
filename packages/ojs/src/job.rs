//! `Job`: a job as it is stored, and as an answer shows it.

use paddlegate::{Micros, OnLimit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::retry::Retry;
use crate::time::rfc3339;

/// How long a worker has for a job whose request does not say it: 30 s.
pub(crate) const VISIBILITY: Micros = Micros(30_000_000);

/// The state of a job. The names are those of Open Job Spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Scheduled,
    Available,
    Active,
    Completed,
    Retryable,
    Cancelled,
    Discarded,
}

impl State {
    /// Returns whether nothing happens to the job any more.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Discarded)
    }
}

/// The limits that a job names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobLimit {
    /// The name of the limiter, `ojs/key/KEY` or `ojs/queue/QUEUE`.
    pub(crate) limiter: String,
    /// What becomes of the job when it is over a limit.
    pub(crate) on_limit: String,
}

impl JobLimit {
    pub(crate) fn on_limit(&self) -> OnLimit {
        OnLimit::from_name(&self.on_limit).unwrap_or(OnLimit::Wait)
    }
}

/// A job. Times are microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) args: Value,
    pub(crate) queue: String,
    pub(crate) priority: i64,
    pub(crate) state: State,
    /// The number of times that it was started.
    pub(crate) attempt: u64,
    pub(crate) retry: Retry,
    /// Its place among the jobs of its priority.
    pub(crate) number: u64,
    pub(crate) created_at: u64,
    pub(crate) enqueued_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scheduled_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<u64>,
    /// When its worker must have ended it, or sent a heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) visible_at: Option<u64>,
    /// When its execution is over, whatever its worker says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) times_out_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) completed_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) discarded_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) visibility_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<JobLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    /// The strategy that holds it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_by: Option<String>,
    /// Since when a limit holds it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_since: Option<u64>,
    /// Whether it is among the dead letters.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_dead_letter: bool,
    /// The last error, as an answer shows it; none when it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<Value>,
    /// The members that this server does not know.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) more: Map<String, Value>,
}

impl Job {
    /// Returns how long a worker has from the start or a heartbeat.
    pub(crate) fn visibility(&self) -> Micros {
        self.visibility_ms.map_or(VISIBILITY, |ms| Micros(ms * 1_000))
    }

    /// Returns the id under which the limits know this start of the job: another for each, so that each counts.
    pub(crate) fn limit_id(&self) -> String {
        format!("{}/{}", self.id, self.attempt)
    }

    /// Returns the id under which the limits will know the next start.
    pub(crate) fn next_limit_id(&self) -> String {
        format!("{}/{}", self.id, self.attempt + 1)
    }

    /// Returns whether the job waits for its start.
    pub(crate) const fn waits(&self) -> bool {
        matches!(self.state, State::Available | State::Scheduled | State::Retryable)
    }

    /// Returns the job as an answer shows it.
    pub(crate) fn show(&self) -> Value {
        let mut shown = json!({
            "id": self.id, "type": self.kind, "state": self.state, "queue": self.queue, "args": self.args,
            "priority": self.priority, "attempt": self.attempt, "max_attempts": self.retry.max_attempts,
            "created_at": rfc3339(self.created_at), "enqueued_at": rfc3339(self.enqueued_at),
        });
        let Some(members) = shown.as_object_mut() else { return shown };
        let times = [
            ("scheduled_at", self.scheduled_at),
            ("expires_at", self.expires_at),
            ("started_at", self.started_at),
            ("completed_at", self.completed_at),
            ("cancelled_at", self.cancelled_at),
            ("discarded_at", self.discarded_at),
        ];
        members.extend(times.into_iter().filter_map(|(name, time)| Some((name.to_owned(), rfc3339(time?).into()))));
        let numbers = [
            ("timeout_ms", self.timeout_ms),
            ("visibility_timeout_ms", self.visibility_ms),
            ("retry_delay_ms", self.retry_delay_ms),
        ];
        members.extend(numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?.into()))));
        let values = [("meta", &self.meta), ("tags", &self.tags), ("error", &self.error), ("result", &self.result)];
        members.extend(values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
        if !self.errors.is_empty() {
            members.insert("errors".to_owned(), self.errors.clone().into());
        }
        if let Some(limit) = &self.limit {
            let key = limit.limiter.trim_start_matches("ojs/key/").trim_start_matches("ojs/");
            members.insert("rate_limit".to_owned(), json!({"key": key, "on_limit": limit.on_limit}));
        }
        for (name, value) in &self.more {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
        shown
    }
}
