//! `log`: who changed what, and why.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use paddlegate_server::AuditEntry;
use serde_json::json;

use super::author::entries;
use super::pretty;
use super::store::Store;
use crate::failure::Failure;
use crate::human::{count, span};
use crate::print;
use crate::table::Table;

/// The arguments of `log`.
#[derive(Args, Debug)]
pub(crate) struct Log {
    /// How many changes, the last ones; from 0 to 1000
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(..=1000))]
    count: u16,
    #[command(flatten)]
    store: Store,
}

/// Prints the last changes, the newest last.
pub(crate) fn run(order: &Log) -> Result<(), Failure> {
    let all = entries(order.store.open()?)?;
    let last = &all[all.len().saturating_sub(usize::from(order.count))..];
    print(&if order.store.json { pretty(&json!(last)) } else { table(last, all.len()) })
}

fn table(last: &[AuditEntry], of: usize) -> String {
    // Reasons are not cut: the log is read for them.
    let mut table = Table::default().text("WHEN").text("WHO").text("LIMITER").text("WHAT").text("REASON");
    for AuditEntry { text, .. } in last {
        let key = text.key.as_ref().map(|key| format!(" key={key:?}")).unwrap_or_default();
        let limiter = format!("{}{key}", text.limiter);
        table.row([
            ago(text.at),
            text.who.clone(),
            limiter,
            text.what.clone(),
            text.reason.clone().unwrap_or_default(),
        ]);
    }
    let shown = if last.is_empty() { String::new() } else { table.show() };
    format!("{shown}{} of {} changes\n", count(last.len() as u64), count(of as u64))
}

/// Formats the age of a change. It is read by people alone.
#[allow(clippy::disallowed_methods)]
fn ago(at: f64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let at = Duration::try_from_secs_f64(at).map_or(0, |time| time.as_secs());
    match now.saturating_sub(at) {
        0 => "now".to_owned(),
        seconds => format!("{} ago", span(seconds * 1_000_000)),
    }
}
