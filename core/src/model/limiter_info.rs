//! `LimiterInfo`: one limiter in the list of all limiters of a store.

use crate::base::micros::Micros;
use crate::model::limit::Kind;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;

/// A page of the list of limiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// What is on it, in no order.
    pub listed: Vec<LimiterInfo>,
    /// Where the next page of this part begins; 0 when this is the last one.
    pub cursor: u64,
}

/// One limiter of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterInfo {
    /// Its name.
    pub name: String,
    /// Its limits as they were last used: kind, amount, interval and offset.
    pub limits: Vec<(Kind, u64, Micros, Micros)>,
    /// The store's time of its last use, to the minute; zero in memory, which does not keep it.
    pub last_used: Micros,
    /// How long after it the statistics are kept.
    pub ttl: Micros,
}

impl LimiterInfo {
    /// `ttl|amount/interval/offset,...|shape|name`.
    #[cfg(feature = "redis")]
    pub(crate) fn entry(name: &str, policy: &Policy, ttl: Micros) -> String {
        let numbers = policy
            .limits()
            .iter()
            .map(|limit| format!("{}/{}/{}", limit.amount(), limit.interval().0, limit.offset().0));
        let numbers: Vec<String> = numbers.collect();
        format!("{}|{}|{}|{}", ttl.0, numbers.join(","), policy.shape(), name)
    }

    /// An entry and the time at which it is forgotten; nothing when it is not ours.
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

    /// By name and kinds; of entries with other numbers the last used.
    pub fn sorted(mut listed: Vec<Self>) -> Vec<Self> {
        let kinds = |listed: &Self| listed.limits.iter().map(|limit| limit.0 as u8).collect::<Vec<_>>();
        listed.sort_by(|a, b| (&a.name, kinds(a), b.last_used).cmp(&(&b.name, kinds(b), a.last_used)));
        listed.dedup_by(|b, a| a.name == b.name && kinds(a) == kinds(b));
        listed
    }
}
