//! `Audit`: who changed what through this server, and why: the last thousand changes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::broadcast;
use utoipa::ToSchema;

/// The number of changes that are remembered.
const MAX_CHANGES: usize = 1_000;

/// The number of changes that a slow reader may be behind.
const BEHIND: usize = 256;

/// The last changes.
pub(crate) struct Audit {
    inner: Mutex<Inner>,
    news: broadcast::Sender<AuditEntry>,
}

#[derive(Default)]
struct Inner {
    last_id: u64,
    entries: VecDeque<AuditEntry>,
}

/// One change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    /// The number of the change since the server started.
    pub(crate) id: u64,
    /// When, in seconds since 1970 by the clock of the server.
    pub(crate) at: f64,
    /// The name of the token, or `anonymous`.
    pub(crate) who: String,
    /// The limiter.
    pub(crate) limiter: String,
    /// The key; null without one.
    #[schema(required)]
    pub(crate) key: Option<String>,
    /// What was done, with its values.
    pub(crate) what: String,
    /// Why; null when nothing was said.
    #[schema(required)]
    pub(crate) reason: Option<String>,
}

impl Default for Audit {
    fn default() -> Self {
        Self { inner: Mutex::default(), news: broadcast::channel(BEHIND).0 }
    }
}

impl Audit {
    /// Records a change that was made.
    pub(crate) fn record(&self, who: &str, limiter: &str, key: Option<&str>, what: &str, reason: Option<&str>) {
        // The time of people who read the log; no decision depends on it.
        #[allow(clippy::disallowed_methods)]
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_id += 1;
        let entry = AuditEntry {
            id: inner.last_id,
            at,
            who: who.to_owned(),
            limiter: limiter.to_owned(),
            key: key.map(str::to_owned),
            what: what.trim_end().to_owned(),
            reason: reason.map(str::to_owned),
        };
        if inner.entries.len() == MAX_CHANGES {
            inner.entries.pop_front();
        }
        inner.entries.push_back(entry.clone());
        // Nobody may listen.
        let _ = self.news.send(entry);
    }

    /// Returns the changes after this one, the oldest first.
    pub(crate) fn after(&self, id: u64) -> Vec<AuditEntry> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.entries.iter().filter(|entry| entry.id > id).cloned().collect()
    }

    /// Returns the changes from now on.
    pub(crate) fn news(&self) -> broadcast::Receiver<AuditEntry> {
        self.news.subscribe()
    }
}
