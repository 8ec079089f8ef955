//! `News`: passes the changes of all servers on to the readers of this one. While there are any, one task reads the log.

use std::sync::Arc;
use std::time::Duration;

use paddlegate::{Paddlegate, Result};
use tokio::sync::{Mutex, Notify, broadcast};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::entry::{AuditEntry, AuditId};
use super::{LOG, after};

/// The number of changes that a slow reader may be behind.
pub(super) const BEHIND: usize = 256;

/// The time between two looks at the log, so that a change of another server is told within a second.
const INTERVAL: Duration = Duration::from_millis(400);

/// The readers of this server.
pub(super) struct News {
    /// Whether the task runs. It ends under this lock, so that no reader is without one.
    is_read: Mutex<bool>,
    sender: broadcast::Sender<AuditEntry>,
    look: Notify,
}

impl Default for News {
    fn default() -> Self {
        Self { is_read: Mutex::default(), sender: broadcast::channel(BEHIND).0, look: Notify::default() }
    }
}

impl News {
    /// Makes the task look at once, for a change of this server.
    pub(super) fn look_now(&self) {
        self.look.notify_one();
    }

    /// Returns the changes from now on.
    pub(super) async fn listen(
        self: &Arc<Self>,
        paddlegate: &Paddlegate,
        stopping: &CancellationToken,
    ) -> Result<broadcast::Receiver<AuditEntry>> {
        let mut is_read = self.is_read.lock().await;
        if !*is_read {
            let end = paddlegate.end_of_log(LOG).await?.parse().unwrap_or_default();
            tokio::spawn(read(self.clone(), paddlegate.clone(), stopping.clone(), end));
            *is_read = true;
        }
        Ok(self.sender.subscribe())
    }
}

async fn read(news: Arc<News>, paddlegate: Paddlegate, stopping: CancellationToken, mut last: AuditId) {
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            () = news.look.notified() => {}
            () = sleep(INTERVAL) => {}
        }
        {
            let mut is_read = news.is_read.lock().await;
            if news.sender.receiver_count() == 0 {
                *is_read = false;
                return;
            }
        }
        // A store that is away is read again; the readers miss nothing.
        for entry in after(&paddlegate, last).await.unwrap_or_default() {
            last = entry.id;
            let _ = news.sender.send(entry);
        }
    }
}
