//! `Index`: the limiters with the numbers by which a list is sorted, read from time to time, because sorting needs those of all.

use std::cmp::{Ordering, Reverse};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError, Weak};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use paddlegate::{Answer, Error, History, HistoryEntry, LIMITERS_PER_PAGE, LimiterInfo, Mode, Operation, Result};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use utoipa::ToSchema;

use crate::access::{Access, Scope};
use crate::app::App;
use crate::metrics::{Measured, read_all, readable};
use crate::problem::Problem;
use crate::wall_clock::since_1970;

/// How many times as long an index is used as it took to read, so that lists cost Redis at most a tenth of its time.
const TIMES_USED: u32 = 10;

/// How long an index is used while the next one is read, and kept at all; at least twice as long as it is used otherwise.
const KEPT: Duration = Duration::from_secs(60);

/// From when a caller does not wait for the next index while there is one.
const SLOW: Duration = Duration::from_millis(50);

/// How long a page waits for an index before it is shown without one.
const PATIENCE: Duration = Duration::from_millis(50);

/// By how many microseconds the next limiter is ahead of those with the same clock if it has another one; below it is the time that
/// replies take.
const OTHER_CLOCK: i64 = 1_000_000;

/// How many histories are read at the same time.
const AT_ONCE: usize = 256;

/// How long after its last use a limiter may have calls in the last full minute: the list knows the minute of its last use,
/// and what programs have counted comes a second later.
const RECENT: u64 = 180_000_000;

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    /// By name.
    #[default]
    Name,
    /// The last used first, to the minute.
    LastUsed,
    /// The most granted calls first.
    Granted,
    /// The most refused calls first.
    Refused,
    /// The most calls granted in the last full minute first.
    GrantedMinute,
    /// The most calls refused in the last full minute first.
    RefusedMinute,
    /// The most tickets in the queue first; keyed limiters last.
    Waiting,
    /// The longest wait among the first 100 tickets first; keyed limiters last.
    OldestWait,
    /// The largest used part of a limit first; keyed limiters last.
    Used,
}

/// What an operator wants to know first, by which a list may be filtered. Of a keyed limiter only `shadow` and `refusing` are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Condition {
    /// Paused or blocked.
    Paused,
    /// An override is in force.
    Overridden,
    /// In shadow mode, as last used.
    Shadow,
    /// Calls were refused in the last full minute.
    Refusing,
    /// Calls wait in the queue.
    Waiting,
}

impl Condition {
    pub(crate) const ALL: [Self; 5] = [Self::Paused, Self::Overridden, Self::Shadow, Self::Refusing, Self::Waiting];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Overridden => "overridden",
            Self::Shadow => "shadow",
            Self::Refusing => "refusing",
            Self::Waiting => "waiting",
        }
    }
}

/// Which limiters a list has, and in which order.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) sort: Sort,
    pub(crate) prefix: &'a str,
    /// All when `None`.
    pub(crate) state: Option<Condition>,
    pub(crate) cursor: Option<&'a str>,
}

/// One limiter with its numbers.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) info: LimiterInfo,
    pub(crate) granted: u64,
    pub(crate) refused: u64,
    /// Of the last full minute.
    pub(crate) minute: HistoryEntry,
    /// `None` of a keyed limiter.
    pub(crate) waiting: Option<u64>,
    /// In microseconds, when its state was read; `None` of a keyed limiter.
    pub(crate) oldest_wait: Option<u64>,
    /// When the oldest wait began, in microseconds by one clock for all rows, because they are read one after the other: a limiter
    /// that is read later has waited for longer. `None` without a queue.
    oldest_since: Option<u64>,
    is_paused: bool,
    is_overridden: bool,
    /// How much the time of the limiter was ahead of that of this server; `None` of a keyed limiter.
    ahead: Option<i64>,
    /// The used part of the limit of which the least is left, in millionths; `None` of a keyed limiter.
    pub(crate) used: Option<u64>,
}

/// All limiters at one time.
pub(crate) struct Index {
    rows: Vec<Row>,
    /// When it was begun, in seconds since 1970.
    pub(crate) read_at: f64,
}

/// A page of an index.
pub(crate) struct Page<'a> {
    pub(crate) rows: Vec<&'a Row>,
    /// The cursor of the next page; `None` on the last one.
    pub(crate) cursor: Option<String>,
    /// The number of limiters of all pages.
    pub(crate) count: usize,
}

/// The place of a row in an order, which a cursor tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place(Sort, Option<u64>, String, Option<String>, bool);

/// The name, the group, and whether it has keys.
type Identity<'a> = (&'a str, Option<&'a str>, bool);

/// Reads indexes.
#[derive(Default)]
pub(crate) struct Indexes {
    last: SyncMutex<Option<Read>>,
    reading: Mutex<()>,
}

struct Read {
    begun: Instant,
    took: Duration,
    index: Weak<Index>,
}

impl Sort {
    pub(crate) const NAMES: [(&'static str, Self); 9] = [
        ("name", Self::Name),
        ("last_used", Self::LastUsed),
        ("granted", Self::Granted),
        ("refused", Self::Refused),
        ("granted_minute", Self::GrantedMinute),
        ("refused_minute", Self::RefusedMinute),
        ("waiting", Self::Waiting),
        ("oldest_wait", Self::OldestWait),
        ("used", Self::Used),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, sort)| *sort == self).map_or("", |(name, _)| name)
    }

    /// Reads the argument `sort`.
    pub(crate) fn parse(text: &str) -> std::result::Result<Self, Problem> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, sort)| *sort).ok_or_else(|| {
            let known = Self::NAMES.map(|(name, _)| name).join(", ");
            Problem::invalid("sort", format!("must be one of {known}: sort={text:?}"))
        })
    }
}

impl Indexes {
    /// Returns an index: the last one, unless it is old. While one that takes long is read, that before it is used.
    pub(crate) async fn get(&self, app: &App) -> Result<Arc<Index>> {
        if let Some(index) = self.known(app) {
            return Ok(index);
        }
        let _turn = self.reading.lock().await;
        // Perhaps it was read meanwhile.
        if let Some(index) = self.known(app) {
            return Ok(index);
        }
        self.read(app).await
    }

    /// Returns an index as [`get`](Self::get) does, if it takes hardly any time; otherwise it is read behind the caller's back.
    pub(crate) async fn soon(&self, app: &App) -> Result<Option<Arc<Index>>> {
        self.within(app, PATIENCE).await
    }

    /// Returns an index as [`soon`](Self::soon) does, if it takes no longer than so.
    pub(crate) async fn within(&self, app: &App, patience: Duration) -> Result<Option<Arc<Index>>> {
        if let Some(index) = self.known(app) {
            return Ok(Some(index));
        }
        let app = app.clone();
        let reading = tokio::spawn(async move { app.indexes().get(&app).await });
        match timeout(patience, reading).await {
            Ok(Ok(read)) => read.map(Some),
            Ok(Err(_)) => Err(Error::internal("the reading of the index has ended")),
            Err(_) => Ok(None),
        }
    }

    /// Returns the last index if it is to be used, without waiting for anything.
    pub(crate) fn known(&self, app: &App) -> Option<Arc<Index>> {
        let mut last = self.last();
        let read = last.as_mut()?;
        let (index, age) = (read.index.upgrade()?, read.begun.elapsed());
        if age <= read.took * TIMES_USED {
            return Some(index);
        }
        if age > kept(read.took) || read.took < SLOW {
            return None;
        }
        // The next call finds it as new, whatever becomes of the reading.
        read.begun = Instant::now();
        let app = app.clone();
        tokio::spawn(async move {
            let _turn = app.indexes().reading.lock().await;
            // Whoever needs it then reads it again, and learns what is wrong.
            let _ = app.indexes().read(&app).await;
        });
        Some(index)
    }

    /// Keeps others from reading an index.
    #[cfg(test)]
    pub(crate) async fn being_read(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.reading.lock().await
    }

    async fn read(&self, app: &App) -> Result<Arc<Index>> {
        let (read, index) = read(app).await?;
        *self.last() = Some(read);
        Ok(index)
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<Read>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the numbers of all limiters, and keeps them for a while.
async fn read(app: &App) -> Result<(Read, Arc<Index>)> {
    let begun = Instant::now();
    let read_at = since_1970().as_secs_f64();
    let mut rows = read_all(app, Row::new).await?;
    rows.sort_by(|a, b| a.identity().cmp(&b.identity()));
    // A name may be on two pages.
    rows.dedup_by(|later, first| later.identity() == first.identity());
    read_minutes(app, &mut rows).await?;
    let index = Arc::new(Index::new(rows, read_at));
    let read = Read { begun, took: begun.elapsed(), index: Arc::downgrade(&index) };
    let (kept, duration) = (index.clone(), kept(read.took));
    tokio::spawn(async move {
        sleep(duration).await;
        drop(kept);
    });
    Ok((read, index))
}

/// Returns how long an index is kept that took so long.
fn kept(took: Duration) -> Duration {
    KEPT.max(took * TIMES_USED * 2)
}

/// Adds the last full minute of those that may have calls in it, because most of many have not.
async fn read_minutes(app: &App, rows: &mut [Row]) -> Result<()> {
    let last_used = |row: &Row| row.info.last_used.0;
    // By the clock of the store, which may be behind that of the server; zero in memory.
    let newest = rows.iter().map(last_used).max().unwrap_or(0).min(app.now().0);
    let recent = (0..rows.len()).filter(|i| last_used(&rows[*i]) >= newest.saturating_sub(RECENT)).collect::<Vec<_>>();
    let read = iter(recent).map(|i| {
        let limiter = app.of_info(&rows[i].info);
        let minute = async move { Ok(last_minute(&history(&limiter?).await?)) };
        async move { Ok::<_, Error>((i, readable(minute.await)?)) }
    });
    for (i, minute) in read.buffered(AT_ONCE).try_collect::<Vec<_>>().await? {
        rows[i].minute = minute.unwrap_or_default();
    }
    Ok(())
}

/// Returns the last full minute of a history.
pub(crate) fn last_minute(history: &History) -> HistoryEntry {
    history.minutes.iter().rev().nth(1).copied().unwrap_or_default()
}

/// Reads what a limiter has counted by the minute and the hour.
pub(crate) async fn history(limiter: &paddlegate::Limiter) -> Result<History> {
    match limiter.run_async(Operation::History).await? {
        Answer::History(history) => Ok(*history),
        other => Err(Error::internal(format!("unexpected reply type: {other:?}"))),
    }
}

impl Index {
    /// The times of limiters that are about as far ahead of this server are those of one clock, and exact. Of other clocks, such as
    /// that of another node of a cluster, or that of the store before it was set back, the difference is taken away, which is known
    /// to the time that a reply takes.
    fn new(mut rows: Vec<Row>, read_at: f64) -> Self {
        let mut by_clock: Vec<(i64, &mut Row)> =
            rows.iter_mut().filter_map(|row| row.ahead.map(|ahead| (ahead, row))).collect();
        by_clock.sort_unstable_by_key(|(ahead, _)| *ahead);
        let (mut last, mut of_clock) = (None, 0);
        for (ahead, row) in by_clock {
            if last.is_none_or(|last| ahead.saturating_sub(last) > OTHER_CLOCK) {
                of_clock = ahead;
            }
            last = Some(ahead);
            row.oldest_since = row.oldest_since.map(|since| since.saturating_add_signed(of_clock.saturating_neg()));
        }
        Self { rows, read_at }
    }

    /// Returns a page of the limiters that the caller may read.
    pub(crate) fn page(&self, asked: Asked<'_>, access: &Access) -> std::result::Result<Page<'_>, Problem> {
        let sort = asked.sort;
        let after = asked.cursor.map(|cursor| Place::parse(cursor, sort)).transpose()?;
        let is_shown = |row: &&Row| row.is_shown(asked.prefix, access) && asked.state.is_none_or(|state| row.is(state));
        let is_after = |row: &&Row| after.as_ref().is_none_or(|after| row.compare(after) == Ordering::Greater);
        let mut rows: Vec<&Row> = self.rows.iter().filter(is_shown).collect();
        let count = rows.len();
        rows.retain(is_after);
        let has_more = rows.len() > LIMITERS_PER_PAGE;
        let order = |a: &&Row, b: &&Row| a.key(sort).cmp(&b.key(sort));
        if has_more {
            // To sort all of them would take most of the time.
            rows.select_nth_unstable_by(LIMITERS_PER_PAGE, order);
            rows.truncate(LIMITERS_PER_PAGE);
        }
        rows.sort_by(order);
        let cursor = rows.last().filter(|_| has_more).map(|row| row.place(sort).to_cursor());
        Ok(Page { rows, cursor, count })
    }
}

impl Index {
    /// Returns in how many of these limiters each state is; of waiting the number of calls.
    pub(crate) fn states(&self, prefix: &str, access: &Access) -> [(Condition, u64); 5] {
        let number = |state: Condition| {
            let rows = self.rows.iter().filter(|row| row.is_shown(prefix, access) && row.is(state));
            rows.map(|row| if state == Condition::Waiting { row.waiting.unwrap_or(0) } else { 1 }).sum()
        };
        Condition::ALL.map(|state| (state, number(state)))
    }
}

impl Row {
    fn is_shown(&self, prefix: &str, access: &Access) -> bool {
        self.info.name.starts_with(prefix) && access.may(Scope::Read, &self.info.name)
    }

    fn is(&self, state: Condition) -> bool {
        match state {
            Condition::Paused => self.is_paused,
            Condition::Overridden => self.is_overridden,
            Condition::Shadow => self.info.mode == Mode::Shadow,
            Condition::Refusing => self.minute.refused > 0,
            Condition::Waiting => self.waiting.is_some_and(|waiting| waiting > 0),
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "it is forgotten")]
    fn new(info: LimiterInfo, measured: Measured) -> Self {
        let state = measured.state.as_ref();
        let used = state.map(|state| {
            let parts = state.limits.iter().map(|(_, limit, left)| {
                let used = u128::from(limit.saturating_sub(*left)) * 1_000_000 / u128::from((*limit).max(1));
                u64::try_from(used).unwrap_or(u64::MAX)
            });
            parts.max().unwrap_or(0)
        });
        let counted = &measured.counted;
        Self {
            info,
            granted: counted.granted,
            refused: counted.refused,
            minute: HistoryEntry::default(),
            oldest_wait: state.map(|state| state.oldest_wait.0),
            oldest_since: state
                .filter(|state| state.waiting > 0)
                .map(|state| state.at.0.saturating_sub(state.oldest_wait.0)),
            is_paused: state.is_some_and(|state| state.is_paused),
            is_overridden: state.is_some_and(|state| !state.overrides.is_empty()),
            ahead: state.map(|state| state.ahead),
            waiting: state.map(|state| state.waiting),
            used,
        }
    }

    fn identity(&self) -> Identity<'_> {
        (&self.info.name, self.info.group.as_deref(), self.info.keyed)
    }

    fn value(&self, sort: Sort) -> Option<u64> {
        match sort {
            Sort::Name => None,
            Sort::LastUsed => Some(self.info.last_used.0),
            Sort::Granted => Some(self.granted),
            Sort::Refused => Some(self.refused),
            Sort::GrantedMinute => Some(self.minute.granted),
            Sort::RefusedMinute => Some(self.minute.refused),
            Sort::OldestWait => self.oldest_wait.map(|_| self.oldest_since.map_or(0, |since| u64::MAX - since)),
            Sort::Waiting => self.waiting,
            Sort::Used => self.used,
        }
    }

    /// Returns what rows are sorted by: the largest value first, then by name.
    fn key(&self, sort: Sort) -> (Reverse<Option<u64>>, Identity<'_>) {
        (Reverse(self.value(sort)), self.identity())
    }

    fn compare(&self, place: &Place) -> Ordering {
        let Place(sort, value, name, group, keyed) = place;
        self.key(*sort).cmp(&(Reverse(*value), (name, group.as_deref(), *keyed)))
    }

    fn place(&self, sort: Sort) -> Place {
        Place(sort, self.value(sort), self.info.name.clone(), self.info.group.clone(), self.info.keyed)
    }
}

impl Place {
    fn parse(cursor: &str, sort: Sort) -> std::result::Result<Self, Problem> {
        let read = || serde_json::from_slice(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok();
        read()
            .filter(|Self(of, ..)| *of == sort)
            .ok_or_else(|| Problem::invalid("cursor", "must be the cursor of a page with the same sort"))
    }

    fn to_cursor(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use paddlegate::{Micros, Request, Wait};

    use super::*;
    use crate::options::Options;

    #[tokio::test]
    async fn waits_are_compared_by_their_beginning_because_rows_are_read_one_after_the_other() {
        let start = 1_800_000_000_000_000;
        let app =
            App::open(Options { test_clock: Some(Micros(start)), ..Options::default() }).expect("a store in memory");
        let at = |milliseconds: u64| app.clock().expect("a clock").set(Micros(start + milliseconds * 1_000));
        for (name, milliseconds) in [("second", 0), ("first", 5)] {
            at(milliseconds).expect("a time");
            let limiter = app.paddlegate().window(name, 1, Duration::from_secs(60)).expect("a limiter");
            limiter.try_acquire(Request::cost(1)).expect("a grant");
            let wait = Some(Wait::up_to(Micros(60_000_000)));
            limiter.acquire_with_id(Request::cost(1), "waiter", wait).expect("a ticket");
        }
        let unused = app.paddlegate().window("a", 1, Duration::from_secs(60)).expect("a limiter");
        unused.try_acquire(Request::cost(1)).expect("a decision");
        let mut rows = Vec::new();
        for (name, milliseconds) in [("second", 100), ("first", 180), ("a", 3_600_000)] {
            at(milliseconds).expect("a time");
            rows.push(row(&app, name).await);
        }
        let waits = rows.iter().map(|row| row.oldest_wait.expect("a wait") / 1_000);
        assert_eq!(waits.collect::<Vec<_>>(), [100, 175, 0]);
        assert_eq!(by_oldest_wait(rows), ["second", "first", "a"]);
    }

    #[tokio::test]
    async fn a_limiter_whose_clock_was_set_back_is_compared_by_how_long_it_waits() {
        let start = 1_800_000_000_000_000;
        let options = Options { test_clock: Some(Micros(start + 3_600_000_000)), ..Options::default() };
        let app = App::open(options).expect("a store in memory");
        let at = |seconds: u64| app.clock().expect("a clock").set(Micros(start + seconds * 1_000_000));
        let queued = |name: &str| {
            let limiter = app.paddlegate().window(name, 1, Duration::from_secs(7_200)).expect("a limiter");
            limiter.try_acquire(Request::cost(1)).expect("a grant");
            let wait = Some(Wait::up_to(Micros(7_200_000_000)));
            limiter.acquire_with_id(Request::cost(1), "waiter", wait).expect("a ticket");
        };
        let old = app.paddlegate().window("old", 1, Duration::from_secs(7_200)).expect("a limiter");
        old.try_acquire(Request::cost(1)).expect("a grant");
        at(0).expect("a time");
        queued("old");
        at(2_399).expect("a time");
        queued("new");
        at(2_400).expect("a time");
        let rows = vec![row(&app, "new").await, row(&app, "old").await];
        let waits = rows.iter().map(|row| row.oldest_wait.expect("a wait") / 1_000_000);
        assert_eq!(waits.collect::<Vec<_>>(), [1, 2_400]);
        assert!(rows[1].ahead > rows[0].ahead, "it kept its time");
        assert_eq!(by_oldest_wait(rows), ["old", "new"]);
    }

    #[tokio::test]
    async fn a_clock_that_is_behind_makes_no_other_inexact() {
        let start = 1_800_000_000_000_000;
        let app =
            App::open(Options { test_clock: Some(Micros(start)), ..Options::default() }).expect("a store in memory");
        let at = |milliseconds: u64| app.clock().expect("a clock").set(Micros(start + milliseconds * 1_000));
        let mut rows = Vec::new();
        for (name, milliseconds) in [("behind", 0), ("second", 1), ("first", 6)] {
            at(milliseconds).expect("a time");
            let limiter = app.paddlegate().window(name, 1, Duration::from_secs(60)).expect("a limiter");
            limiter.try_acquire(Request::cost(1)).expect("a grant");
            let wait = Some(Wait::up_to(Micros(60_000_000)));
            limiter.acquire_with_id(Request::cost(1), "waiter", wait).expect("a ticket");
        }
        for name in ["behind", "second", "first"] {
            rows.push(row(&app, name).await);
        }
        // The replies took as long as is shown here, and an hour is between the clocks.
        for (row, ahead) in rows.iter_mut().zip([-3_600_000_000, -400_000, -1_000]) {
            row.ahead = Some(ahead);
        }
        rows[0].oldest_since = rows[0].oldest_since.map(|since| since - 3_600_000_000 - 5_000_000);
        assert_eq!(by_oldest_wait(rows), ["behind", "second", "first"]);
    }

    async fn row(app: &App, name: &str) -> Row {
        let infos = app.paddlegate().limiters().expect("the list");
        let info = infos.into_iter().find(|info| info.name == name).expect("the limiter");
        let measured = Measured::read(app, &info).await.expect("its numbers");
        Row::new(info, measured)
    }

    fn by_oldest_wait(rows: Vec<Row>) -> Vec<String> {
        let index = Index::new(rows, 0.0);
        let page =
            index.page(Asked { sort: Sort::OldestWait, ..Asked::default() }, &Access::anybody()).expect("a page");
        page.rows.iter().map(|row| row.info.name.clone()).collect()
    }
}
