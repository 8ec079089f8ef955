//! `Index`: the limiters with the numbers by which a list is sorted, read from time to time, because sorting needs those of all.

use std::cmp::{Ordering, Reverse};
use std::sync::{Arc, Weak};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use paddlegate::{LIMITERS_PER_PAGE, LimiterInfo, Result};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;

use crate::access::{Access, Scope};
use crate::app::App;
use crate::metrics::{Measured, read_all};
use crate::problem::Problem;
use crate::wall_clock::since_1970;

/// How many times as long an index is used as it took to read, so that lists cost Redis at most a tenth of its time.
const TIMES_USED: u32 = 10;

/// How long an index is used while the next one is read, and kept at all.
const KEPT: Duration = Duration::from_secs(60);

/// From when a caller does not wait for the next index while there is one.
const SLOW: Duration = Duration::from_millis(50);

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    /// By name.
    Name,
    /// The last used first, to the minute.
    LastUsed,
    /// The most granted calls first.
    Granted,
    /// The most refused calls first.
    Refused,
    /// The most tickets in the queue first; keyed limiters last.
    Waiting,
    /// The largest used part of a limit first; keyed limiters last.
    Used,
}

/// One limiter with its numbers.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) info: LimiterInfo,
    pub(crate) granted: u64,
    pub(crate) refused: u64,
    /// `None` of a keyed limiter.
    pub(crate) waiting: Option<u64>,
    /// The used part of the limit of which the least is left, in millionths; `None` of a keyed limiter.
    pub(crate) used: Option<u64>,
}

/// All limiters at one time.
pub(crate) struct Index {
    rows: Vec<Row>,
    /// When it was begun, in seconds since 1970.
    pub(crate) read_at: f64,
}

/// The place of a row in an order, which a cursor tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place(Sort, Option<u64>, String, Option<String>, bool);

/// The name, the group, and whether it has keys.
type Identity<'a> = (&'a str, Option<&'a str>, bool);

/// Reads indexes.
#[derive(Default)]
pub(crate) struct Indexes {
    last: Mutex<Option<Read>>,
}

struct Read {
    begun: Instant,
    took: Duration,
    index: Weak<Index>,
}

impl Sort {
    pub(crate) const NAMES: [(&'static str, Self); 6] = [
        ("name", Self::Name),
        ("last_used", Self::LastUsed),
        ("granted", Self::Granted),
        ("refused", Self::Refused),
        ("waiting", Self::Waiting),
        ("used", Self::Used),
    ];

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
        let mut last = self.last.lock().await;
        let known = last.as_ref().and_then(|read| Some((read.begun.elapsed(), read.took, read.index.upgrade()?)));
        if let Some((age, took, index)) = known {
            if age <= took * TIMES_USED {
                return Ok(index);
            }
            if age <= KEPT && took >= SLOW {
                // The next call finds it as new, whatever becomes of the reading.
                if let Some(read) = last.as_mut() {
                    read.begun = Instant::now();
                }
                let app = app.clone();
                tokio::spawn(async move {
                    if let Ok(read) = read(&app).await {
                        *app.indexes().last.lock().await = Some(read);
                    }
                });
                return Ok(index);
            }
        }
        let read = read(app).await?;
        let index = read.index.upgrade();
        *last = Some(read);
        index.ok_or_else(|| paddlegate::Error::internal("the index was forgotten at once"))
    }
}

/// Reads the numbers of all limiters, and keeps them for a while.
async fn read(app: &App) -> Result<Read> {
    let begun = Instant::now();
    let read_at = since_1970().as_secs_f64();
    let mut rows = read_all(app, Row::new).await?;
    rows.sort_by(|a, b| a.identity().cmp(&b.identity()));
    // A name may be on two pages.
    rows.dedup_by(|later, first| later.identity() == first.identity());
    let index = Arc::new(Index { rows, read_at });
    let read = Read { begun, took: begun.elapsed(), index: Arc::downgrade(&index) };
    tokio::spawn(async move {
        sleep(KEPT).await;
        drop(index);
    });
    Ok(read)
}

impl Index {
    /// Returns a page of the limiters that the caller may read, and the cursor of the next one.
    pub(crate) fn page(
        &self,
        (sort, prefix, cursor): (Sort, &str, Option<&str>),
        access: &Access,
    ) -> std::result::Result<(Vec<&Row>, Option<String>), Problem> {
        let after = cursor.map(|cursor| Place::parse(cursor, sort)).transpose()?;
        let is_shown = |row: &&Row| row.info.name.starts_with(prefix) && access.may(Scope::Read, &row.info.name);
        let is_after = |row: &&Row| after.as_ref().is_none_or(|after| row.compare(after) == Ordering::Greater);
        let mut rows: Vec<&Row> = self.rows.iter().filter(is_shown).filter(is_after).collect();
        let has_more = rows.len() > LIMITERS_PER_PAGE;
        let order = |a: &&Row, b: &&Row| a.key(sort).cmp(&b.key(sort));
        if has_more {
            // To sort all of them would take most of the time.
            rows.select_nth_unstable_by(LIMITERS_PER_PAGE, order);
            rows.truncate(LIMITERS_PER_PAGE);
        }
        rows.sort_by(order);
        let cursor = rows.last().filter(|_| has_more).map(|row| row.place(sort).to_cursor());
        Ok((rows, cursor))
    }
}

impl Row {
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
