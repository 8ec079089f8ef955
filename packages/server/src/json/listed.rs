//! `LimiterPageBody`: a page of the list of limiters.

use paddlegate::{Limit, LimiterInfo, LimiterPage, Micros};
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;
use crate::index::Row;

/// A page of the limiters of all programs, sorted by name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LimiterPageBody {
    /// The limiters of the page; a name may be on two pages.
    pub(crate) limiters: Vec<LimiterBody>,
    /// The cursor of the next page; null on the last page.
    #[schema(required)]
    pub(crate) cursor: Option<String>,
    /// When the numbers of a sorted list were read, by the clock of the server, in seconds since 1970; null without `sort`.
    #[schema(required)]
    read_at: Option<f64>,
}

/// One limiter of the list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LimiterBody {
    /// The name.
    pub(crate) name: String,
    /// The group; null without one.
    #[schema(required)]
    group: Option<String>,
    /// Whether it has a state for each key.
    keyed: bool,
    /// The mode as last used.
    mode: &'static str,
    /// The limits of all policies of the name, each as last used.
    limits: Vec<ListedLimitBody>,
    /// The store's time of the last use, to the minute, in seconds since 1970; null in memory, and of a limiter of
    /// the limits file that no program has used.
    #[schema(required)]
    last_used: Option<f64>,
    /// The time for which statistics are kept after the last use, in seconds.
    ttl: f64,
    /// What a list may be sorted by, as of `read_at`; null without `sort`.
    #[schema(required)]
    numbers: Option<SortNumbersBody>,
}

/// The numbers of a limiter in a sorted list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SortNumbersBody {
    /// Granted calls.
    granted: u64,
    /// Refused calls.
    refused: u64,
    /// Calls granted in the last full minute.
    granted_minute: u64,
    /// Calls refused in the last full minute.
    refused_minute: u64,
    /// Tickets in the queue; null of a keyed limiter.
    #[schema(required)]
    waiting: Option<u64>,
    /// The longest wait among the first 100 tickets; 0 without a queue, null of a keyed limiter.
    #[schema(required)]
    oldest_wait: Option<f64>,
    /// The used part of the limit of which the least is left, from 0 to 1; null of a keyed limiter.
    #[schema(required)]
    used: Option<f64>,
}

/// One limit of a listed limiter.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ListedLimitBody {
    /// The label.
    label: String,
    /// The kind.
    kind: &'static str,
    /// The limit or the capacity in units.
    amount: u64,
    /// The interval in seconds.
    interval: f64,
}

impl From<&LimiterPage> for LimiterPageBody {
    fn from(page: &LimiterPage) -> Self {
        let limiters = page.limiters.iter().map(LimiterBody::from).collect();
        Self { limiters, cursor: page.cursor.clone(), read_at: None }
    }
}

impl LimiterPageBody {
    /// Returns a page of a sorted list.
    pub(crate) fn sorted(rows: &[&Row], cursor: Option<String>, read_at: f64) -> Self {
        let body =
            |row: &&Row| LimiterBody { numbers: Some(SortNumbersBody::from(*row)), ..LimiterBody::from(&row.info) };
        Self { limiters: rows.iter().map(body).collect(), cursor, read_at: Some(read_at) }
    }
}

impl From<&Row> for SortNumbersBody {
    #[allow(clippy::cast_precision_loss, reason = "millionths of a whole")]
    fn from(row: &Row) -> Self {
        let used = row.used.map(|millionths| millionths as f64 / 1e6);
        Self {
            granted: row.granted,
            refused: row.refused,
            granted_minute: row.minute.granted,
            refused_minute: row.minute.refused,
            waiting: row.waiting,
            oldest_wait: row.oldest_wait.map(|waited| seconds(Micros(waited))),
            used,
        }
    }
}

impl From<&LimiterInfo> for LimiterBody {
    fn from(info: &LimiterInfo) -> Self {
        Self {
            name: info.name.clone(),
            group: info.group.clone(),
            keyed: info.keyed,
            mode: info.mode.name(),
            limits: info.limits.iter().map(ListedLimitBody::from).collect(),
            last_used: (info.last_used.0 > 0).then(|| seconds(info.last_used)),
            ttl: seconds(info.ttl),
            numbers: None,
        }
    }
}

impl From<&Limit> for ListedLimitBody {
    fn from(limit: &Limit) -> Self {
        Self {
            label: limit.label().to_string(),
            kind: limit.kind().name(),
            amount: limit.amount(),
            interval: seconds(limit.interval()),
        }
    }
}
