//! `what`: what a change was, in the words of the log.

use paddlegate::{AdminRequest, Deadline};

use crate::json::seconds;

/// The words for a reset, which no [`AdminRequest`] is.
pub(crate) const RESET: &str = "reset";

/// The words behind those for a change of all keys of a keyed limiter.
pub(crate) const ALL_KEYS: &str = ", all keys";

/// Returns the words for a change, with its values; nothing for what is no change of an operator.
pub(crate) fn what(request: &AdminRequest) -> String {
    let words = match request {
        AdminRequest::Pause(until) => format!("pause {}", shown(Some(*until))),
        AdminRequest::Block(until) => format!("block {}", shown(Some(*until))),
        AdminRequest::Resume => "resume".to_owned(),
        AdminRequest::OverrideMode { mode, expires } => format!("mode {} {}", mode.name(), shown(*expires)),
        AdminRequest::RestoreMode => "restore mode".to_owned(),
        AdminRequest::Override { label, numbers, expires } => {
            let label = label.as_ref().map(|label| format!("label={label:?}"));
            let amount = numbers.amount.map(|amount| format!("limit={amount}"));
            let interval = numbers.interval.map(|interval| format!("interval={}", seconds(interval)));
            let numbers = [label, amount, interval].into_iter().flatten().collect::<Vec<_>>().join(" ");
            format!("override {numbers} {}", shown(*expires))
        }
        AdminRequest::OverrideLimits { limits, expires } => {
            let limit = |limit: &paddlegate::Limit| format!("{}={}", limit.label(), limit.amount());
            let limits = limits.iter().map(limit).collect::<Vec<_>>().join(" ");
            format!("override {limits} {}", shown(*expires))
        }
        AdminRequest::Restore(None) => "restore".to_owned(),
        AdminRequest::Restore(Some(label)) => format!("restore label={label:?}"),
        _ => String::new(),
    };
    words.trim_end().to_owned()
}

fn shown(deadline: Option<Deadline>) -> String {
    match deadline {
        Some(Deadline::After(span)) => format!("expires_in={}", seconds(span)),
        Some(Deadline::At(time) | Deadline::Within { at: time, .. }) => format!("expires_at={}", seconds(time)),
        None => "without an end".to_owned(),
    }
}
