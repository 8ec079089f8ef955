//! `LimiterInfo`: one limiter in the list of all limiters of a store.

use crate::base::micros::Micros;
use crate::model::limit::Kind;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;

/// A page of the list of limiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The limiters of the page, in no particular order.
    pub listed: Vec<LimiterInfo>,
    /// The cursor of the next page of this part; 0 on the last page.
    pub cursor: u64,
}

/// One limiter of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterInfo {
    /// The name of the limiter.
    pub name: String,
    /// The limits as last used: kind, amount, interval and offset.
    pub limits: Vec<(Kind, u64, Micros, Micros)>,
    /// The store's time of the last use, to the minute; zero in memory, which does not record it.
    pub last_used: Micros,
    /// How long the statistics are kept after the last use.
    pub ttl: Micros,
}

impl LimiterInfo {
    /// Formats an entry: `ttl|amount/interval/offset,...|shape|name`.
    #[cfg(feature = "redis")]
    pub(crate) fn entry(name: &str, policy: &Policy, ttl: Micros) -> String {
        let numbers = policy
            .limits()
            .iter()
            .map(|limit| format!("{}/{}/{}", limit.amount(), limit.interval().0, limit.offset().0));
        let numbers: Vec<String> = numbers.collect();
        format!("{}|{}|{}|{}", ttl.0, numbers.join(","), policy.shape(), name)
    }

    /// Parses an entry that is forgotten at `forgotten_at`; `None` when it is malformed.
    #[cfg(feature = "redis")]
    pub(crate) fn parse(entry: &str, forgotten_at: u64) -> Option<Self> {
        let mut parts = entry.splitn(4, '|');
        let ttl: u64 = parts.next()?.parse().ok()?;
        let (numbers, shape, name) = (parts.next()?, parts.next()?, parts.next()?);
        let limits = shape.chars().zip(numbers.split(',')).map(|(letter, numbers)| {
            let kind = Kind::ALL.into_iter().find(|kind| kind.letter() == letter)?;
            let mut numbers = numbers.split('/').map(|number| number.parse().ok());
            Some((kind, numbers.next()??, Micros(numbers.next()??), Micros(numbers.next()??)))
        });
        Some(Self {
            name: name.to_owned(),
            limits: limits.collect::<Option<_>>()?,
            last_used: Micros(forgotten_at.checked_sub(ttl)?),
            ttl: Micros(ttl),
        })
    }

    pub(crate) fn of_memory(key: &str, policy: &Policy) -> Self {
        let name = key.split_once(':').map_or(key, |(_, name)| name).to_owned();
        let limits =
            policy.limits().iter().map(|limit| (limit.kind(), limit.amount(), limit.interval(), limit.offset()));
        Self { name, limits: limits.collect(), last_used: Micros(0), ttl: DEFAULT_STATISTICS_TTL }
    }

    /// Sorts by name and kinds. Of limiters that differ only in their numbers, the last used one stays.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{LimiterInfo, Micros};
    /// let info = |name: &str, last_used| LimiterInfo {
    ///     name: name.to_owned(),
    ///     limits: Vec::new(),
    ///     last_used: Micros(last_used),
    ///     ttl: Micros(300_000_000),
    /// };
    /// let listed = LimiterInfo::sorted(vec![info("b", 1), info("a", 1), info("a", 2)]);
    /// assert_eq!(listed, [info("a", 2), info("b", 1)]);
    /// ```
    pub fn sorted(mut listed: Vec<Self>) -> Vec<Self> {
        let kinds = |listed: &Self| listed.limits.iter().map(|limit| limit.0 as u8).collect::<Vec<_>>();
        listed.sort_by(|a, b| (&a.name, kinds(a), b.last_used).cmp(&(&b.name, kinds(b), a.last_used)));
        listed.dedup_by(|b, a| a.name == b.name && kinds(a) == kinds(b));
        listed
    }
}
