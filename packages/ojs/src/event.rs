//! `Event`: something that happened to a job or a limit, as Open Job Spec's events have it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::job::Job;
use crate::time::rfc3339;

/// The most events that are kept.
pub(crate) const MAX_EVENTS: usize = 10_000;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Event {
    id: Uuid,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The queue of its job; none of an event of a key.
    pub(crate) queue: Option<String>,
    pub(crate) subject: String,
    pub(crate) at: u64,
    pub(crate) data: Map<String, Value>,
}

impl Event {
    /// Creates the event of a job. `more` is an object with what is particular to it.
    pub(crate) fn of_job(kind: &str, job: &Job, at: u64, more: &Value) -> Self {
        let mut data = Map::new();
        data.insert("job_id".to_owned(), job.id.clone().into());
        data.insert("job_type".to_owned(), job.kind.clone().into());
        data.insert("queue".to_owned(), job.queue.clone().into());
        data.insert("attempt".to_owned(), job.attempt.into());
        data.extend(more.as_object().cloned().unwrap_or_default());
        Self {
            id: Uuid::now_v7(),
            kind: kind.to_owned(),
            queue: Some(job.queue.clone()),
            subject: job.id.clone(),
            at,
            data,
        }
    }

    /// Creates the event of a key. `data` is an object.
    pub(crate) fn of_key(kind: &str, key: &str, at: u64, data: &Value) -> Self {
        let mut members = Map::new();
        members.insert("key".to_owned(), key.into());
        members.extend(data.as_object().cloned().unwrap_or_default());
        Self { id: Uuid::now_v7(), kind: kind.to_owned(), queue: None, subject: key.to_owned(), at, data: members }
    }

    /// Returns the event as an answer shows it.
    pub(crate) fn show(&self) -> Value {
        json!({
            "specversion": "1.0", "id": format!("evt_{}", self.id), "type": self.kind, "source": "/ojs/v1",
            "time": rfc3339(self.at), "subject": self.subject, "data": self.data,
        })
    }
}
