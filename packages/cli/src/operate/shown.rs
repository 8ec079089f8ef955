//! Limits as an operator reads them.

use paddlegate::{Kind, Limit};

use crate::human::{count, span};

/// Formats a limit with its label, if that is not the name of its kind: `rpm: window 100/1m`.
pub(crate) fn limit(limit: &Limit) -> String {
    let kind = limit.kind();
    let numbers = numbers(limit);
    let name = if **limit.label() == *kind.name() {
        kind.name().to_owned()
    } else {
        format!("{} {}", limit.label(), kind.name())
    };
    if numbers.is_empty() { name } else { format!("{name} {numbers}") }
}

/// Formats a limit with its label and the time of its leases: `concurrency 2, leases of 1m`.
pub(crate) fn limit_with_leases(limit: &Limit) -> String {
    match limit.kind() {
        Kind::Concurrency => format!("{}, leases of {}", self::limit(limit), span(limit.interval().0)),
        _ => self::limit(limit),
    }
}

/// Formats the numbers of a limit: `100/1m`.
pub(crate) fn numbers(limit: &Limit) -> String {
    if let Some(calendar) = limit.calendar() {
        return format!("{}/{}", count(limit.amount()), calendar.per().name());
    }
    of_kind(limit.kind(), limit.amount(), limit.interval().0)
}

/// Formats an amount and an interval in microseconds; a lease has an end, no interval.
pub(crate) fn of_kind(kind: Kind, amount: u64, interval: u64) -> String {
    match kind {
        Kind::Unlimited | Kind::Paused => String::new(),
        Kind::Concurrency | Kind::Quota => count(amount),
        Kind::Throttle if amount == 1 => format!("1/{}", span(interval)),
        _ => format!("{}/{}", count(amount), span(interval)),
    }
}
