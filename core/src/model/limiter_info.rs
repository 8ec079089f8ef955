//! `LimiterInfo`: one limiter in the list of all limiters of a store.

use crate::base::micros::Micros;
use crate::model::label::MAX_LABELS;
use crate::model::limit::Limit;
#[cfg(feature = "redis")]
use crate::model::policy::{Policy, parse_tag, tag};
use crate::model::statistics::DEFAULT_STATISTICS_TTL;

/// A page of the list of limiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The limiters of the page, in no particular order.
    pub listed: Vec<LimiterInfo>,
    /// The cursor of the next page of this part; 0 on the last page.
    pub cursor: u64,
}

/// One name of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterInfo {
    /// The name of the limiter.
    pub name: String,
    /// The limits of all policies of the name, each as last used.
    pub limits: Vec<Limit>,
    /// The store's time of the last use, to the minute; zero in memory, which does not record it.
    pub last_used: Micros,
    /// How long the statistics are kept after the last use.
    pub ttl: Micros,
}

impl LimiterInfo {
    /// Formats an entry: `ttl|tag amount interval offset,...|name`.
    #[cfg(feature = "redis")]
    pub(crate) fn entry(name: &str, policy: &Policy, ttl: Micros) -> String {
        let limit =
            |limit: &Limit| format!("{} {} {} {}", tag(limit), limit.amount(), limit.interval().0, limit.offset().0);
        let limits: Vec<String> = policy.limits().iter().map(limit).collect();
        format!("{}|{}|{}", ttl.0, limits.join(","), name)
    }

    /// Parses an entry that is forgotten at `forgotten_at`; `None` when it is malformed.
    #[cfg(feature = "redis")]
    pub(crate) fn parse(entry: &str, forgotten_at: u64) -> Option<Self> {
        let mut parts = entry.splitn(3, '|');
        let (ttl, limits, name) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let limit = |words: &str| {
            let mut words = words.split(' ');
            let (kind, label) = parse_tag(words.next()?)?;
            let mut number = || words.next()?.parse().ok();
            let (amount, interval, offset) = (number()?, Micros(number()?), Micros(number()?));
            Limit::of_kind(kind, amount, interval, offset).ok()?.labelled(&label).ok()
        };
        Some(Self {
            name: name.to_owned(),
            limits: limits.split(',').map(limit).collect::<Option<_>>()?,
            last_used: Micros(forgotten_at.checked_sub(ttl)?),
            ttl: Micros(ttl),
        })
    }

    pub(crate) fn of_memory(name: String, limits: Vec<Limit>) -> Self {
        Self { name, limits, last_used: Micros(0), ttl: DEFAULT_STATISTICS_TTL }
    }

    /// Sorts by name, and merges the entries of one name: it has every limit as last used.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, LimiterInfo, Micros};
    /// let info = |name: &str, limit: u64, last_used| LimiterInfo {
    ///     name: name.to_owned(),
    ///     limits: vec![Limit::window(limit, Duration::from_secs(1)).unwrap()],
    ///     last_used: Micros(last_used),
    ///     ttl: Micros(300_000_000),
    /// };
    /// let listed = LimiterInfo::sorted(vec![info("b", 1, 1), info("a", 1, 1), info("a", 2, 2)]);
    /// assert_eq!(listed, [info("a", 2, 2), info("b", 1, 1)]);
    /// ```
    pub fn sorted(mut listed: Vec<Self>) -> Vec<Self> {
        // A page may repeat an entry; equal times need an order too.
        let order =
            |it: &Self| it.limits.iter().map(|limit| (limit.label().to_string(), limit.amount())).collect::<Vec<_>>();
        listed.sort_by(|a, b| (&a.name, b.last_used, order(a)).cmp(&(&b.name, a.last_used, order(b))));
        listed.dedup_by(|older, newer| {
            let is_same = older.name == newer.name;
            if is_same {
                newer.limits = merged(&newer.limits, &older.limits);
                newer.ttl = newer.ttl.max(older.ttl);
            }
            is_same
        });
        listed
    }
}

/// Returns the newer limits, then the older ones with other labels or kinds.
pub(crate) fn merged(newer: &[Limit], older: &[Limit]) -> Vec<Limit> {
    let others = older.iter().filter(|limit| !newer.iter().any(|other| other.is_same(limit)));
    newer.iter().chain(others).take(MAX_LABELS).cloned().collect()
}
