//! How the script writes limits and times.

use crate::base::micros::Micros;
use crate::model::limit::{Kind, Limit, Rule};
use crate::model::overrides::Deadline;
use crate::model::policy::parse_tag;

/// Returns the three numbers of a limit that the script uses.
pub(crate) fn limit_numbers(limit: &Limit) -> [u64; 3] {
    match limit.rule {
        Rule::Bucket(bucket) => [bucket.limit, bucket.interval, bucket.offset],
        Rule::Window(window) => [window.limit, window.interval, 0],
        Rule::Leaky(leaky) => [leaky.capacity, leaky.leak, leaky.scale],
        Rule::Concurrency(concurrency) => [concurrency.limit, concurrency.timeout, 0],
        // The caller's calendar gives the periods.
        Rule::Quota(quota) => [quota.limit, 1, 0],
        Rule::Unlimited | Rule::Paused => [0, 0, 0],
    }
}

/// Encodes these numbers as one word.
pub(crate) fn encode_limit(limit: &Limit) -> String {
    limit_numbers(limit).map(|number| number.to_string()).join("/")
}

/// Decodes `tag=numbers`, the numbers as `encode_limit` makes them.
pub(crate) fn decode_limit(word: &str) -> Option<Limit> {
    let (tag, numbers) = word.split_once('=')?;
    let (kind, label) = parse_tag(tag)?;
    let mut numbers = numbers.split('/').map(|number| number.parse::<u64>().ok());
    let (a, b, c) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let (amount, interval, offset) = match kind {
        Kind::Bucket => (a, b, c),
        Kind::Throttle => (b, c, 0),
        Kind::Leaky | Kind::Points => (a, a.checked_mul(c)?.checked_div(b)?, 0),
        _ => (a, b, 0),
    };
    Limit::of_numbers(kind, amount, Micros(interval), Micros(offset)).ok()?.labelled(&label).ok()
}

pub(crate) fn encode_deadline(deadline: Option<Deadline>) -> String {
    match deadline {
        None => String::new(),
        Some(Deadline::After(span)) => span.0.to_string(),
        Some(Deadline::At(at)) => format!("@{}", at.0),
        Some(Deadline::Within { at, most }) => format!("@{}<{}", at.0, most.0),
    }
}
