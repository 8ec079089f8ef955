//! `LimiterInfo`: one limiter in the list of all limiters of a store.

use crate::base::error::Result;
use crate::base::micros::Micros;
#[cfg(feature = "redis")]
use crate::model::calendar::Calendar;
#[cfg(feature = "redis")]
use crate::model::kind::Kind;
use crate::model::label::MAX_LABELS;
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::policy::Policy;
#[cfg(feature = "redis")]
use crate::model::policy::{parse_tag, tag};

/// A page of the list of limiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The limiters of the page, in no particular order.
    pub listed: Vec<LimiterInfo>,
    /// The cursor of the next page of this part; 0 on the last page.
    pub cursor: u64,
}

/// The number of limiters with which a page of the whole list is complete: 100. The last page may have fewer, and a page may have
/// more.
pub const LIMITERS_PER_PAGE: usize = 100;

/// A page of the whole list of limiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimiterPage {
    /// The limiters of the page, sorted by name. A name may be on two pages.
    pub limiters: Vec<LimiterInfo>,
    /// The cursor of the next page; `None` on the last page.
    pub cursor: Option<String>,
}

/// One name of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterInfo {
    /// The name of the limiter.
    pub name: String,
    /// The group of the limiter, if it has one.
    pub group: Option<String>,
    /// Whether the limiter has a state for each key.
    pub keyed: bool,
    /// The mode of the limiter, as last used. An override of the mode is in the [`RuntimeState`](crate::RuntimeState).
    pub mode: Mode,
    /// The limits of all policies of the name, each as last used.
    pub limits: Vec<Limit>,
    /// The store's time of the last use, to the minute; zero in memory, which does not record it.
    pub last_used: Micros,
    /// How long the statistics are kept after the last use.
    pub ttl: Micros,
}

impl LimiterInfo {
    /// Formats an entry: `ttl|tag amount interval offset,...|name`, of a quota `tag amount period zone start`; with a group
    /// `ttl,bytes of the group|tag amount interval offset,...|group name`, without a space between group and name. Letters
    /// behind the ttl: `k` of a keyed limiter, `s` of one in shadow.
    #[cfg(feature = "redis")]
    pub(crate) fn entry(name: &str, group: Option<&str>, keyed: bool, policy: &Policy, ttl: Micros) -> String {
        let limit = |limit: &Limit| match limit.calendar() {
            Some(calendar) => format!("{} {} {calendar}", tag(limit), limit.amount()),
            None => format!("{} {} {} {}", tag(limit), limit.amount(), limit.interval().0, limit.offset().0),
        };
        let limits: Vec<String> = policy.limits().iter().map(limit).collect();
        let (keyed, shadow) = (if keyed { "k" } else { "" }, if policy.mode() == Mode::Shadow { "s" } else { "" });
        let (ttl, limits) = (format!("{}{keyed}{shadow}", ttl.0), limits.join(","));
        match group {
            Some(group) => format!("{ttl},{}|{limits}|{group}{name}", group.len()),
            None => format!("{ttl}|{limits}|{name}"),
        }
    }

    /// Parses an entry that is forgotten at `forgotten_at`; `None` when it is malformed.
    #[cfg(feature = "redis")]
    pub(crate) fn parse(entry: &str, forgotten_at: u64) -> Option<Self> {
        let mut parts = entry.splitn(3, '|');
        let (ttl, limits, name) = (parts.next()?, parts.next()?, parts.next()?);
        let (ttl, group, name) = match ttl.split_once(',') {
            Some((ttl, bytes)) => {
                let (group, name) = name.split_at_checked(bytes.parse().ok()?)?;
                (ttl, Some(group.to_owned()), name)
            }
            None => (ttl, None, name),
        };
        let (ttl, mode) = ttl.strip_suffix('s').map_or((ttl, Mode::Enforce), |ttl| (ttl, Mode::Shadow));
        let (ttl, keyed) = ttl.strip_suffix('k').map_or((ttl, false), |ttl| (ttl, true));
        let ttl = ttl.parse().ok()?;
        let limit = |words: &str| {
            let mut words = words.split(' ');
            let (kind, label) = parse_tag(words.next()?)?;
            if kind == Kind::Quota {
                let (amount, per) = (words.next()?.parse().ok()?, words.next()?);
                // A zone that this process does not know must not hide the limiter.
                let calendar = Calendar::parse(per, words.next(), words.next()).ok();
                return Limit::quota_listed(amount, calendar).ok()?.labelled(&label).ok();
            }
            let mut number = || words.next()?.parse().ok();
            let (amount, interval, offset) = (number()?, Micros(number()?), Micros(number()?));
            Limit::of_kind(kind, amount, interval, offset).ok()?.labelled(&label).ok()
        };
        Some(Self {
            name: name.to_owned(),
            group,
            keyed,
            mode,
            limits: limits.split(',').map(limit).collect::<Option<_>>()?,
            last_used: Micros(forgotten_at.checked_sub(ttl)?),
            ttl: Micros(ttl),
        })
    }

    /// Returns a policy with the limits of the entry, to look at the limiter: of several policies of a name the limits may be
    /// more than one policy has, or such as no policy has together; of these the first stay.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate, Policy, Request};
    /// let (pg, minute) = (Paddlegate::memory(), Duration::from_secs(60));
    /// for limit in [Limit::window(5, minute)?, Limit::bucket(5, minute)?] {
    ///     pg.limiter("api", Policy::new([limit.labelled("rpm")?])?)?.try_acquire(Request::cost(1))?;
    /// }
    /// let info = &pg.limiters()?[0];
    /// assert_eq!((info.limits.len(), info.policy()?.limits().len()), (2, 1));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn policy(&self) -> Result<Policy> {
        let policy = Policy::new(self.limits.iter().cloned()).or_else(|error| {
            let mut kept = Vec::new();
            for limit in &self.limits {
                kept.push(limit.clone());
                if Policy::new(kept.iter().cloned()).is_err() {
                    kept.pop();
                }
            }
            if kept.is_empty() { Err(error) } else { Policy::new(kept) }
        });
        Ok(policy?.with_mode(self.mode))
    }

    /// Sorts by name, group and whether it is keyed, and merges the entries that have these in common: one has every limit
    /// and the mode as last used.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, LimiterInfo, Micros, Mode};
    /// let info = |name: &str, limit: u64, last_used| LimiterInfo {
    ///     name: name.to_owned(),
    ///     group: None,
    ///     keyed: false,
    ///     mode: Mode::Enforce,
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
        listed.sort_by(|a, b| {
            (&a.name, &a.group, a.keyed, b.last_used, order(a)).cmp(&(
                &b.name,
                &b.group,
                b.keyed,
                a.last_used,
                order(b),
            ))
        });
        listed.dedup_by(|older, newer| {
            let is_same = (&older.name, &older.group, older.keyed) == (&newer.name, &newer.group, newer.keyed);
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
