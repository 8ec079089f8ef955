//! `list`: the limiters that programs use.

use clap::Args;
use paddlegate::{LimiterInfo, Mode};
use serde_json::Value;

use super::store::{Store, failure};
use super::{json, pretty, shown};
use crate::failure::Failure;
use crate::human::{count, span};
use crate::print;
use crate::table::Table;

/// The arguments of `list`.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// The beginning of the names [default: all]
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,
    #[command(flatten)]
    store: Store,
}

/// Prints the list.
pub(crate) fn run(order: &List) -> Result<(), Failure> {
    let paddlegate = order.store.open()?;
    let listed = paddlegate.limiters_with_prefix(&order.prefix).map_err(|error| failure(&error))?;
    print(&if order.store.json {
        pretty(&Value::Array(listed.iter().map(json::listed).collect()))
    } else {
        table(&listed)
    })
}

fn table(listed: &[LimiterInfo]) -> String {
    let mut table = Table::default().cut("NAME", 24).cut("LIMITS", 20).cut("MARKS", 12).number("LAST USED");
    for info in listed {
        let limits: Vec<String> = info.limits.iter().map(shown::limit).collect();
        table.row([info.name.clone(), limits.join(", "), marks(info), used(info)]);
    }
    let names = if listed.len() == 1 { "limiter" } else { "limiters" };
    format!("{}{} {names}\n", if listed.is_empty() { String::new() } else { table.show() }, count(listed.len() as u64))
}

fn marks(info: &LimiterInfo) -> String {
    let keyed = info.keyed.then(|| "keyed".to_owned());
    let shadow = (info.mode == Mode::Shadow).then(|| "shadow".to_owned());
    let group = info.group.as_ref().map(|group| format!("group={group}"));
    [keyed, shadow, group].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Formats the age of the last use, which is known to the minute. It is read by people alone.
#[allow(clippy::disallowed_methods)]
fn used(info: &LimiterInfo) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.ok().and_then(|now| u64::try_from(now.as_micros()).ok()).unwrap_or(0);
    match now.saturating_sub(info.last_used.0) / 60_000_000 {
        0 | 1 => "now".to_owned(),
        minutes => format!("{} ago", span(minutes * 60_000_000)),
    }
}
