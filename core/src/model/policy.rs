//! `Policy`: limits that are decided together; all are charged or none.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::charge::Charge;
pub use crate::base::charge::MAX_LIMITS;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::base::sort_few::sort_few;
use crate::model::block_after::BlockAfter;
use crate::model::label::Label;
use crate::model::limit::{Kind, Limit, Rule};
use crate::model::mode::Mode;
use crate::model::refund::Refund;

/// One to eight limits of any kind, each with its own label. Every limit must allow a call; the most restrictive one
/// decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    limits: Vec<Limit>,
    estimated: bool,
    tags: Arc<Tags>,
    mode: Mode,
    block_after: Option<BlockAfter>,
    aging: Option<Micros>,
}

/// The least time after which a call that waits rises in the queue.
const MIN_AGING: Micros = Micros(1_000_000);

/// The longest such time.
const MAX_AGING: Micros = Micros(7 * 86_400 * 1_000_000);

/// The tag of each limit, by which the store finds what was taken: the letter of the kind, and the label if it is not the
/// kind's name. `l` is a `leaky`, `w:rpm` a window with the label `rpm`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    each: Box<[Box<str>]>,
    /// The tags of their records, sorted, with commas between.
    joined: Arc<str>,
    /// The positions of the limits in that order.
    order: Box<[usize]>,
}

impl Policy {
    /// Creates a policy; unlimited limits are dropped, since they never refuse.
    ///
    /// `Invalid` for an empty list, more than eight limits, two limits with one label, more than one concurrency limit, or a
    /// quota without a calendar.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Policy};
    /// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let policy = Policy::new([Limit::unlimited(), Limit::concurrency(5, minute)?, Limit::points(1_000, minute)?])?;
    /// assert_eq!(policy.limits().len(), 2, "without the unlimited one");
    /// assert!(policy.is_estimated() && policy.concurrency().is_some());
    /// assert_eq!(Policy::new([]).unwrap_err().argument(), Some("limits"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Result<Self> {
        let mut limits: Vec<Limit> = limits.into_iter().collect();
        if limits.is_empty() || limits.len() > MAX_LIMITS {
            return Err(Error::invalid(
                "limits",
                format!("a policy has one to {MAX_LIMITS} limits: limits={}", limits.len()),
            ));
        }
        if limits.iter().any(|limit| limit.kind() == Kind::Quota && limit.calendar().is_none()) {
            return Err(Error::invalid(
                "limits",
                "a quota of an override has no calendar; use the quota of the policy",
            ));
        }
        limits.retain(|limit| limit.kind() != Kind::Unlimited);
        if limits.iter().filter(|limit| limit.kind() == Kind::Concurrency).count() > 1 {
            return Err(Error::invalid("limits", "a policy has at most one concurrency limit; keep the lower"));
        }
        if let Some((_, twice)) =
            limits.iter().enumerate().find(|(i, limit)| limits[..*i].iter().any(|other| other.label() == limit.label()))
        {
            let message = format!("two limits have the same label; give each its own: label={}", twice.label());
            return Err(Error::invalid("limits", message));
        }
        Ok(Self::of(limits))
    }

    /// Returns the policy of a call that works on the name alone.
    pub(crate) fn without_limits() -> Self {
        Self::of(Vec::new())
    }

    fn of(limits: Vec<Limit>) -> Self {
        let estimated = limits.iter().any(|limit| limit.kind() == Kind::Points);
        Self {
            estimated,
            tags: Arc::new(Tags::new(&limits)),
            limits,
            mode: Mode::Enforce,
            block_after: None,
            aging: None,
        }
    }

    /// Returns the policy in a mode; by default it enforces its limits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Mode, Policy};
    /// let policy = Policy::new([Limit::window(5, Duration::from_secs(60))?])?;
    /// assert_eq!((policy.mode(), policy.with_mode(Mode::Shadow).mode()), (Mode::Enforce, Mode::Shadow));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Returns the mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the policy with a rule for blocks, or without one, which is the default.
    #[must_use]
    pub fn with_block_after(self, block_after: Option<BlockAfter>) -> Self {
        Self { block_after, ..self }
    }

    /// Returns the rule for blocks.
    pub const fn block_after(&self) -> Option<&BlockAfter> {
        self.block_after.as_ref()
    }

    /// Returns the policy with the time after which a call that waits gets the next higher priority, or without it, which is
    /// the default: then calls of a higher priority can hold the others up for ever.
    ///
    /// `Invalid`, argument `aging`, unless it is from one second to seven days.
    pub fn with_aging(self, aging: Option<Micros>) -> Result<Self> {
        match aging {
            Some(time) if !(MIN_AGING..=MAX_AGING).contains(&time) => {
                Err(Error::invalid("aging", format!("must be from one second to seven days: aging_us={}", time.0)))
            }
            aging => Ok(Self { aging, ..self }),
        }
    }

    /// Returns the time after which a call that waits gets the next higher priority.
    pub const fn aging(&self) -> Option<Micros> {
        self.aging
    }

    /// Returns the limits that can refuse, in the given order; empty when the policy is unlimited.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Returns whether calls must give an estimate or a cost: the policy has a `points` limit.
    pub const fn is_estimated(&self) -> bool {
        self.estimated
    }

    /// Returns the limit with this label.
    ///
    /// `Invalid` with the argument `label` when the policy has none. Without a label it is the only limit of the policy.
    pub fn limit(&self, label: Option<&str>) -> Result<&Limit> {
        let labels = || self.limits.iter().map(|limit| &**limit.label()).collect::<Vec<_>>().join(", ");
        match label {
            Some(label) => self.limits.iter().find(|limit| **limit.label() == *label).ok_or_else(|| {
                let shown: String = label.chars().take(40).collect();
                Error::invalid("label", format!("must be one of {}: label={shown:?}", labels()))
            }),
            None if self.limits.len() == 1 => Ok(&self.limits[0]),
            None if self.limits.is_empty() => Err(Error::invalid("label", "the policy has no limit")),
            None => Err(Error::invalid("label", format!("is missing; give one of {}", labels()))),
        }
    }

    /// Returns the position of a label.
    pub(crate) fn position(&self, label: &Label) -> Option<usize> {
        self.limits.iter().position(|limit| limit.label() == label)
    }

    /// Returns the tag of a limit.
    #[inline]
    pub(crate) fn tag(&self, i: usize) -> &str {
        &self.tags.each[i]
    }

    /// Returns the tag under which what was taken is stored: leases are of the name, whatever the label of the limit.
    #[inline]
    pub(crate) fn record_tag(&self, i: usize) -> &str {
        match self.limits[i].rule {
            Rule::Concurrency(_) => LEASES,
            _ => self.tag(i),
        }
    }

    /// Returns the only limit of a policy whose calls need no id, no estimate and no other limit; `None` for other policies.
    pub(crate) fn plain(&self) -> Option<&Limit> {
        let [limit] = self.only_limits()? else { return None };
        Some(limit).filter(|limit| limit.is_plain())
    }

    /// Returns the limits of a policy that does nothing but keep them.
    #[inline]
    pub(crate) fn only_limits(&self) -> Option<&[Limit]> {
        // Every field is named, so that a new one cannot be forgotten here.
        // Only calls that wait age.
        let Self { limits, estimated: _, tags: _, mode, block_after, aging: _ } = self;
        (*mode == Mode::Enforce && block_after.is_none()).then_some(limits)
    }

    /// Returns the tags of all limits. Policies that differ only in their numbers share them.
    #[inline]
    pub(crate) fn tag_list(&self) -> &Arc<Tags> {
        &self.tags
    }

    /// Returns the sorted record tags of all limits, with commas between.
    pub(crate) fn tags(&self) -> &Arc<str> {
        &self.tags.joined
    }

    /// Returns the policy with these limits added that it does not have.
    pub(crate) fn extended<'a>(&self, others: impl IntoIterator<Item = &'a Limit>) -> Result<Cow<'_, Self>> {
        let mut limits = Cow::Borrowed(&self.limits);
        for other in others {
            // Leases are of the name, so another concurrency limit has nothing of its own in the state.
            let has_leases =
                other.kind() == Kind::Concurrency && limits.iter().any(|limit| limit.kind() == other.kind());
            // A quota without its calendar is a number of the store.
            let is_number = other.kind() == Kind::Quota && other.calendar().is_none();
            if !has_leases && !is_number && !limits.iter().any(|limit| limit.is_same(other)) {
                limits.to_mut().push(other.clone());
            }
        }
        if limits.len() > MAX_LIMITS {
            let message = format!("changes too many labels that the policy does not have: limits={}", limits.len());
            return Err(Error::invalid("limits", message));
        }
        Ok(match limits {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(limits) => Cow::Owned(Self::of(limits)),
        })
    }

    /// Returns the concurrency limit, whose grants are leases.
    pub fn concurrency(&self) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.kind() == Kind::Concurrency)
    }

    /// Returns a policy of the same kinds and labels with other numbers.
    pub(crate) fn with(&self, number: impl Fn(usize, &Limit) -> Limit) -> Self {
        let limits = self.limits.iter().enumerate().map(|(i, limit)| number(i, limit));
        Self { limits: limits.collect(), tags: self.tags.clone(), ..*self }
    }

    /// Returns the capacity of a limit; zero for the index after the last, which denotes a runtime pause, and the one after that,
    /// which denotes a block.
    pub(crate) fn capacity(&self, index: usize) -> u64 {
        self.limits.get(index).map_or(0, Limit::capacity)
    }

    /// Returns the limit of the kind `paused`, which refuses before any other limit is checked.
    pub(crate) fn paused(&self) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.rule == Rule::Paused)
    }

    /// Returns an error for a charge that neither these limits nor the limits of the caller's own policy can ever grant.
    #[inline]
    pub(crate) fn check_fits(&self, own: &Self, argument: &'static str, charge: &Charge) -> Result<()> {
        self.check_fits_of(own, argument, charge, charge)
    }

    /// The same for a part of a charge. The error has the charge as the caller gave it.
    #[inline]
    pub(crate) fn check_fits_of(
        &self,
        own: &Self,
        argument: &'static str,
        part: &Charge,
        charge: &Charge,
    ) -> Result<()> {
        let exceeded =
            |(i, limit): &(usize, &Limit)| is_exceeded(limit, part.of(*i)) && is_exceeded(&own.limits[*i], part.of(*i));
        match self.limits.iter().enumerate().find(exceeded) {
            Some((i, limit)) => Err(exceeds_capacity(argument, charge.of(i), limit.label(), limit.amount())),
            None => Ok(()),
        }
    }

    /// Returns an estimate that these limits or the limits of the caller's own policy can grant: what is above the larger of both
    /// is lowered to it. `None` when nothing is above.
    pub(crate) fn fitted(&self, own: &Self, estimate: &Charge) -> Option<Charge> {
        self.check_fits(own, "estimate", estimate).is_err().then(|| {
            let each = self.limits.iter().zip(own.limits.iter()).enumerate().map(|(i, (limit, own))| {
                let (units, most) = (estimate.of(i), limit.amount().max(own.amount()));
                if limit.counts_starts() {
                    units.min(1)
                } else if is_exceeded(limit, units) {
                    units.min(most)
                } else {
                    units
                }
            });
            Charge::each(each).simplest()
        })
    }

    /// Returns a digit for each limit, 1 where corrections give back no drained units; empty without such a limit.
    pub(crate) fn refunds(&self) -> String {
        let digit = |limit: &Limit| if limit.refund() == Refund::Undrained { '1' } else { '0' };
        let digits: String = self.limits.iter().map(digit).collect();
        if digits.contains('1') { digits } else { String::new() }
    }

    /// Returns the charge in the order of the sorted tags.
    pub(crate) fn in_tag_order(&self, charge: &Charge) -> Charge {
        charge.ordered(self.tags.order.iter().copied())
    }

    /// Returns a charge in the order of the sorted tags as one in the order of the limits; `None` when it is of another policy.
    pub(crate) fn in_policy_order(&self, charge: &Charge) -> Option<Charge> {
        let place = |i| self.tags.order.iter().position(|at| *at == i).unwrap_or(i);
        charge.is_for(self.limits.len()).then(|| charge.ordered((0..self.limits.len()).map(place)))
    }

    /// Returns the positions of the limits in the order of their sorted tags.
    pub(crate) fn tag_order(&self) -> &[usize] {
        &self.tags.order
    }
}

/// Returns the error for a cost that can never be granted.
pub(crate) fn exceeds_capacity(argument: &'static str, cost: u64, label: &Label, most: u64) -> Error {
    Error::invalid(argument, format!("exceeds the limit, so it can never be granted: {argument}={cost} {label}={most}"))
}

/// Returns whether the limit can never grant a cost.
#[inline]
pub(crate) fn is_exceeded(limit: &Limit, cost: u64) -> bool {
    cost > limit.amount() && limit.kind() != Kind::Paused && !limit.counts_starts()
}

impl Tags {
    /// Returns whether two policies have limits with the same tags in the same order. The policies of one limiter share a list.
    #[inline]
    pub(crate) fn is_same(this: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(this, other) || this.each == other.each
    }

    fn new(limits: &[Limit]) -> Self {
        let each: Box<[Box<str>]> = limits.iter().map(|limit| tag(limit).into_boxed_str()).collect();
        let of_record = |(i, limit): (usize, &Limit)| match limit.rule {
            Rule::Concurrency(_) => LEASES,
            _ => &*each[i],
        };
        let of_records: Vec<&str> = limits.iter().enumerate().map(of_record).collect();
        // Permits and tickets of the same limits are alike, in whatever order a policy has them.
        let mut order: Box<[usize]> = (0..limits.len()).collect();
        sort_few(&mut order, |a, b| of_records[*a] < of_records[*b]);
        let joined: Vec<&str> = order.iter().map(|i| of_records[*i]).collect();
        Self { joined: joined.join(",").into(), order, each }
    }
}

/// The tag of the leases of a name.
const LEASES: &str = "c";

/// Returns the tag of a limit.
pub(crate) fn tag(limit: &Limit) -> String {
    let letter = limit.kind().letter();
    if *limit.label() == Label::of(limit.kind()) { letter.to_string() } else { format!("{letter}:{}", limit.label()) }
}

/// Returns the kind and the label of a tag; `None` for another text.
pub(crate) fn parse_tag(tag: &str) -> Option<(Kind, Label)> {
    let (letter, label) = tag.split_once(':').map_or((tag, None), |(letter, label)| (letter, Some(label)));
    let kind = Kind::ALL.into_iter().find(|kind| kind.letter().to_string() == letter)?;
    Some((kind, label.map_or(Ok(Label::of(kind)), Label::new).ok()?))
}
