//! `Audit`: who changed what, and why: about the last thousand changes, of all servers on one Redis.

mod change_log;
mod entry;
mod local;
mod news;
mod what;

use std::sync::Arc;
use std::time::Duration;

use paddlegate::{Paddlegate, Result};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub(crate) use self::change_log::check_reason;
pub use self::change_log::{Author, ChangeLog, Made};
pub use self::entry::{AuditEntry, AuditId, Text};
use self::local::Local;
use self::news::News;
pub(crate) use self::what::{ALL_KEYS, RESET, what};

/// The number of changes that are remembered; a little more in Redis.
const MAX_CHANGES: u64 = 1_000;

/// The name of the log in Redis.
const LOG: &str = "audit";

/// The number of entries that one call reads.
const PAGE: usize = 200;

/// How often an entry is sent that Redis did not take, and the pause before the first repetition, which doubles.
const ATTEMPTS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(250);

/// The last changes: in Redis, or of a store in memory in this process.
#[derive(Clone)]
pub(crate) struct Audit(Arc<Store>);

enum Store {
    Memory(Local),
    Redis { paddlegate: Paddlegate, news: Arc<News>, stopping: CancellationToken },
}

impl Audit {
    pub(crate) fn in_memory() -> Self {
        Self(Arc::new(Store::Memory(Local::default())))
    }

    pub(crate) fn in_redis(paddlegate: Paddlegate, stopping: CancellationToken) -> Self {
        Self(Arc::new(Store::Redis { paddlegate, news: Arc::default(), stopping }))
    }

    /// Records a change that was made. When Redis does not take it at once it is sent again in the background, because the
    /// change itself is in force.
    pub(crate) async fn record(&self, text: Text) {
        match &*self.0 {
            Store::Memory(local) => local.record(text),
            Store::Redis { paddlegate, news, .. } => match append(paddlegate, &text).await {
                Ok(()) => news.look_now(),
                Err(_) => {
                    tokio::spawn(append_later(self.clone(), text));
                }
            },
        }
    }

    /// Returns the changes after this one, the oldest first.
    pub(crate) async fn after(&self, id: AuditId) -> Result<Vec<AuditEntry>> {
        match &*self.0 {
            Store::Memory(local) => Ok(local.after(id)),
            Store::Redis { paddlegate, .. } => after(paddlegate, id).await,
        }
    }

    /// Returns the id of the last change.
    pub(crate) async fn end(&self) -> Result<AuditId> {
        match &*self.0 {
            Store::Memory(local) => Ok(local.end()),
            Store::Redis { paddlegate, .. } => Ok(paddlegate.end_of_log(LOG).await?.parse().unwrap_or_default()),
        }
    }

    /// Returns the changes from now on, of all servers.
    pub(crate) async fn news(&self) -> Result<tokio::sync::broadcast::Receiver<AuditEntry>> {
        match &*self.0 {
            Store::Memory(local) => Ok(local.news()),
            Store::Redis { paddlegate, news, stopping } => news.listen(paddlegate, stopping).await,
        }
    }
}

async fn append(paddlegate: &Paddlegate, text: &Text) -> Result<()> {
    let text = serde_json::to_string(text).map_err(|error| paddlegate::Error::internal(error.to_string()))?;
    paddlegate.append_to_log(LOG, &text, MAX_CHANGES).await.map(|_| ())
}

async fn append_later(audit: Audit, text: Text) {
    let Store::Redis { paddlegate, news, .. } = &*audit.0 else { return };
    for attempt in 0..ATTEMPTS {
        sleep(PAUSE * 2_u32.pow(attempt)).await;
        if append(paddlegate, &text).await.is_ok() {
            news.look_now();
            return;
        }
    }
}

/// Reads the whole log after an id. An entry that this server does not understand is of another version and left out, and one
/// that was sent again because an answer was lost is told once.
async fn after(paddlegate: &Paddlegate, id: AuditId) -> Result<Vec<AuditEntry>> {
    let (mut entries, mut last) = (Vec::<AuditEntry>::new(), id);
    loop {
        let page = paddlegate.read_log(LOG, &last.to_string(), PAGE).await?;
        let is_end = page.len() < PAGE;
        for read in page {
            let Ok(id) = read.id.parse() else { continue };
            last = id;
            let Ok(text) = serde_json::from_str::<Text>(&read.text) else { continue };
            if !entries.iter().rev().take(PAGE).any(|entry| entry.text.uid == text.uid) {
                entries.push(AuditEntry { id, text });
            }
        }
        if is_end {
            return Ok(entries);
        }
    }
}
