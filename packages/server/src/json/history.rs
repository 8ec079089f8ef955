//! `HistoryBody`: what was counted in each of the last minutes and hours.

use paddlegate::{History, HistoryEntry};
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;

/// What was counted in each of the last 60 minutes and 48 hours, the oldest first; the last of each is not over.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryBody {
    /// The last 60 minutes.
    minutes: Vec<EntryBody>,
    /// The last 48 hours, which contain the minutes.
    hours: Vec<EntryBody>,
}

/// The counts of one minute or hour.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryBody {
    /// When it began, in seconds since 1970.
    start: f64,
    /// Granted calls.
    granted: u64,
    /// Refused calls, and waits that timed out.
    refused: u64,
    /// Grants that waited in the queue.
    waited: u64,
    /// Charged units.
    units: u64,
}

impl From<&History> for HistoryBody {
    fn from(history: &History) -> Self {
        let entries = |entries: &[HistoryEntry]| entries.iter().map(EntryBody::from).collect();
        Self { minutes: entries(&history.minutes), hours: entries(&history.hours) }
    }
}

impl From<&HistoryEntry> for EntryBody {
    fn from(entry: &HistoryEntry) -> Self {
        let HistoryEntry { start, granted, refused, waited, units } = *entry;
        Self { start: seconds(start), granted, refused, waited, units }
    }
}
