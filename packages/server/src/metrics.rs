//! `Snapshot`: the numbers of all limiters at one time, and `Snapshots`, which reads it once for all that ask meanwhile.

pub(crate) mod families;
mod measured;
pub(crate) mod otlp;
pub(crate) mod text;

use std::sync::{Arc, Weak};

use futures_util::stream::{StreamExt, TryStreamExt, iter};
use paddlegate::{ErrorKind, LimiterInfo, LimiterPage, Result};
use paddlegate_ojs::KeyMetrics;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub(crate) use self::measured::{Measured, inspected, oldest_wait};
use crate::app::App;
use crate::histogram::Counted;

/// How many limiters are read at the same time, over one connection.
const AT_ONCE: usize = 256;

/// How often a part is read at most.
const ATTEMPTS: usize = 3;

/// What this server alone has counted.
pub(crate) struct Own {
    pub(crate) is_up: bool,
    pub(crate) store: Counted,
    pub(crate) requests: Counted,
    pub(crate) errors: u64,
    pub(crate) wakeups: u64,
}

/// The numbers of all limiters, by name; none while the store could not be read.
pub(crate) struct Snapshot {
    limiters: Option<Vec<Measured>>,
    /// Those of Open Job Spec, if they are exported; none while the jobs cannot be read.
    keys: Vec<KeyMetrics>,
}

/// Reads snapshots.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// The last one, while somebody has it, and when it was begun.
    last: Mutex<Option<(Instant, Weak<Snapshot>)>>,
}

impl Own {
    pub(crate) fn of(app: &App, snapshot: &Snapshot) -> Self {
        Self {
            is_up: snapshot.limiters.is_some(),
            store: app.store_times().counted(),
            requests: app.request_times().counted(),
            errors: app.store_times().errors(),
            wakeups: app.wakeups(),
        }
    }
}

impl Snapshots {
    /// Returns a snapshot that was begun after this call. One is read at a time, and all that have asked before it began share it.
    pub(crate) async fn read(&self, app: &App) -> Arc<Snapshot> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((begun, snapshot)) = &*last
            && *begun >= asked
            && let Some(snapshot) = snapshot.upgrade()
        {
            return snapshot;
        }
        let begun = Instant::now();
        // A scrape that fails would hide that the server itself runs.
        let (limiters, keys) = (limiters(app).await.ok(), keys(app).await);
        let snapshot = Arc::new(Snapshot { limiters, keys });
        *last = Some((begun, Arc::downgrade(&snapshot)));
        snapshot
    }
}

impl Snapshot {
    pub(crate) fn limiters(&self) -> &[Measured] {
        self.limiters.as_deref().unwrap_or_default()
    }

    pub(crate) fn keys(&self) -> &[KeyMetrics] {
        &self.keys
    }
}

async fn keys(app: &App) -> Vec<KeyMetrics> {
    match app.ojs() {
        Some(ojs) if app.options().ojs_metrics => ojs.metrics().await.unwrap_or_default(),
        _ => Vec::new(),
    }
}

async fn limiters(app: &App) -> Result<Vec<Measured>> {
    let mut all = read_all(app, |_, measured| measured).await?;
    all.sort_by(|a, b| a.identity().cmp(&b.identity()));
    // A name may be on two pages.
    all.dedup_by(|later, first| first.identity() == later.identity() && first.join(later));
    all.shrink_to_fit();
    Ok(all)
}

/// Reads the numbers of all limiters page by page, because the list of many is larger than what is made of it.
pub(crate) async fn read_all<T>(app: &App, make: fn(LimiterInfo, Measured) -> T) -> Result<Vec<T>> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = page(app, cursor.as_deref()).await?;
        let read = iter(page.limiters).map(|info| one(app, info)).buffered(AT_ONCE);
        let read = read.try_filter_map(async |read| Ok(read.map(|(info, measured)| make(info, measured))));
        all.extend(read.try_collect::<Vec<_>>().await?);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn page(app: &App, cursor: Option<&str>) -> Result<LimiterPage> {
    for _ in 1..ATTEMPTS {
        let read = app.limiter_page("", cursor).await;
        if !is_late(&read) {
            return read;
        }
    }
    app.limiter_page("", cursor).await
}

/// Reads one limiter; `None` of one that cannot be read though the store answers.
async fn one(app: &App, info: LimiterInfo) -> Result<Option<(LimiterInfo, Measured)>> {
    for _ in 1..ATTEMPTS {
        let read = Measured::read(app, &info).await;
        if !is_late(&read) {
            return Ok(readable(read)?.map(|measured| (info, measured)));
        }
    }
    Ok(readable(Measured::read(app, &info).await)?.map(|measured| (info, measured)))
}

/// Leaves out what alone cannot be read, such as a damaged state, because it must not hide all others; a store that does not answer
/// stays an error.
pub(crate) fn readable<T>(read: Result<T>) -> Result<Option<T>> {
    if is_late(&read) { read.map(Some) } else { Ok(read.ok()) }
}

/// Returns whether to read again: of many calls one may be late, and all others would have been read in vain.
fn is_late<T>(read: &Result<T>) -> bool {
    read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[tokio::test]
    async fn those_that_wait_for_a_snapshot_share_the_next_one() {
        let app = App::open(Options::default()).expect("a store in memory");
        let snapshots = app.snapshots();
        let being_read = snapshots.last.lock().await;
        let (first, second, third) = tokio::join!(snapshots.read(&app), snapshots.read(&app), async {
            drop(being_read);
            snapshots.read(&app).await
        });
        assert!(Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first, &third));
        let later = snapshots.read(&app).await;
        assert!(!Arc::ptr_eq(&first, &later), "it was begun before the call");
        drop((first, second, third, later));
        let last = snapshots.last.lock().await;
        assert!(last.as_ref().is_some_and(|(_, last)| last.upgrade().is_none()), "nothing is kept");
    }
}
