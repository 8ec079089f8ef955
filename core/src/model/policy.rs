//! `Policy`: limits that are decided together; all are charged or none.

use crate::base::error::{Error, Result};
use crate::model::limit::{Kind, Limit, Rule};

/// The maximum number of limits in a policy.
pub const MAX_LIMITS: usize = 8;

/// One to eight limits of any kind. Every limit must allow a call; the most restrictive one decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    limits: Vec<Limit>,
    estimated: bool,
    shape: String,
}

impl Policy {
    /// Creates a policy; unlimited limits are dropped, since they never refuse.
    ///
    /// `Invalid` for an empty list, more than eight limits, or more than one concurrency limit.
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
        limits.retain(|limit| limit.kind() != Kind::Unlimited);
        if limits.iter().filter(|limit| limit.kind() == Kind::Concurrency).count() > 1 {
            return Err(Error::invalid("limits", "a policy has at most one concurrency limit; keep the lower"));
        }
        Ok(Self {
            estimated: limits.iter().any(|limit| limit.kind() == Kind::Points),
            shape: limits.iter().map(|limit| limit.kind().letter()).collect(),
            limits,
        })
    }

    /// Returns the limits that can refuse, in the given order; empty when the policy is unlimited.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Returns whether calls must give an estimate or a cost: the policy has a `points` limit.
    pub const fn is_estimated(&self) -> bool {
        self.estimated
    }

    /// Returns the kinds as letters. They are part of the key, so other kinds under the same name have their own state.
    pub(crate) fn shape(&self) -> &str {
        &self.shape
    }

    /// Returns the concurrency limit, whose grants are leases.
    pub fn concurrency(&self) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.kind() == Kind::Concurrency)
    }

    /// Returns a policy of the same kinds with other numbers.
    pub(crate) fn with(&self, number: impl Fn(usize, &Limit) -> Limit) -> Self {
        let limits = self.limits.iter().enumerate().map(|(i, limit)| number(i, limit));
        Self { limits: limits.collect(), estimated: self.estimated, shape: self.shape.clone() }
    }

    /// Returns the capacity of a limit; zero for the index after the last, which denotes a runtime pause.
    pub(crate) fn capacity(&self, index: usize) -> u64 {
        self.limits.get(index).map_or(0, Limit::capacity)
    }

    /// Returns the index of a limit of the kind `paused`, which refuses before any other limit is checked.
    pub(crate) fn paused(&self) -> Option<usize> {
        self.limits.iter().position(|limit| limit.rule == Rule::Paused)
    }

    /// Returns an error for a cost that can never be granted.
    #[inline]
    pub(crate) fn check_fits(&self, argument: &'static str, cost: u64) -> Result<()> {
        match self.limit_exceeded_by(cost) {
            Some(limit) => Err(exceeds_capacity(argument, cost, limit.kind(), limit.amount())),
            None => Ok(()),
        }
    }

    /// Returns whether a cost can ever be granted.
    #[inline]
    pub(crate) fn fits(&self, cost: u64) -> bool {
        self.limit_exceeded_by(cost).is_none()
    }

    #[inline]
    fn limit_exceeded_by(&self, cost: u64) -> Option<&Limit> {
        self.limits.iter().find(|limit| cost > limit.amount() && limit.kind() != Kind::Paused && !limit.counts_starts())
    }
}

/// Returns the error for a cost that can never be granted.
pub(crate) fn exceeds_capacity(argument: &'static str, cost: u64, kind: Kind, most: u64) -> Error {
    let message = format!("can never pass, take smaller steps: {argument}={cost} {}={most}", kind.name());
    Error::invalid(argument, message)
}
