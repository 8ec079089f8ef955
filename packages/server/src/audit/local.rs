//! `Local`: the changes of a server whose limits are in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use super::MAX_CHANGES;
use super::entry::{AuditEntry, AuditId, Text};
use super::news::BEHIND;
use crate::wall_clock::since_1970;

/// The last changes, in this process.
pub(super) struct Local {
    inner: Mutex<Inner>,
    news: broadcast::Sender<AuditEntry>,
}

struct Inner {
    /// Begins with the milliseconds since 1970, so that ids after a restart are higher than those before it.
    last_id: u64,
    entries: VecDeque<AuditEntry>,
}

impl Default for Local {
    fn default() -> Self {
        let last_id = u64::try_from(since_1970().as_millis()).unwrap_or(0);
        Self { inner: Mutex::new(Inner { last_id, entries: VecDeque::new() }), news: broadcast::channel(BEHIND).0 }
    }
}

impl Local {
    pub(super) fn record(&self, text: Text) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_id += 1;
        let entry = AuditEntry { id: AuditId(inner.last_id, 0), text };
        if inner.entries.len() as u64 == MAX_CHANGES {
            inner.entries.pop_front();
        }
        inner.entries.push_back(entry.clone());
        // Nobody may listen.
        let _ = self.news.send(entry);
    }

    pub(super) fn after(&self, id: AuditId) -> Vec<AuditEntry> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.entries.iter().filter(|entry| entry.id > id).cloned().collect()
    }

    pub(super) fn end(&self) -> AuditId {
        AuditId(self.inner.lock().unwrap_or_else(PoisonError::into_inner).last_id, 0)
    }

    pub(super) fn news(&self) -> broadcast::Receiver<AuditEntry> {
        self.news.subscribe()
    }
}
