//! `Units`: the cost of a job, and its distribution: a number, or a number for each label.

use std::borrow::Cow;

use super::draw::{Range, Rng};
use super::fields::{Field, fault};
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::model::cost::Cost;
use crate::model::label::Label;
use crate::model::limit::MAX_UNITS;
use crate::model::policy::Policy;

/// The cost of a job, identical for every policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Units {
    All(u64),
    ByLabel(Box<[(Label, u64)]>),
}

/// Equally likely costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnitsRange {
    All(Range),
    ByLabel(Vec<(Label, Range)>),
}

impl Units {
    /// Returns the units for a policy, without the labels that it does not have.
    pub(super) fn of(&self, policy: &Policy) -> Cow<'_, Self> {
        let has = |label: &Label| policy.position(label).is_some();
        match self {
            Self::ByLabel(units) if !units.iter().all(|(label, _)| has(label)) => {
                Cow::Owned(Self::ByLabel(units.iter().filter(|(label, _)| has(label)).cloned().collect()))
            }
            _ => Cow::Borrowed(self),
        }
    }

    pub(super) fn cost(&self) -> Cost<'_> {
        match self {
            Self::All(units) => Cost::Units(*units),
            Self::ByLabel(units) => Cost::Labelled(units),
        }
    }

    /// Returns the units of each limit of a policy, for which they were checked.
    pub(super) fn charge(&self, policy: &Policy) -> Charge {
        self.checked_charge(policy).unwrap_or_default()
    }

    /// As [`charge`](Self::charge); `Invalid` when a label counts calls, or one that counts points is missing.
    pub(super) fn checked_charge(&self, policy: &Policy) -> Result<Charge> {
        self.of(policy).cost().charge("cost", policy)
    }

    /// Returns the labels.
    pub(super) fn labels(&self) -> impl Iterator<Item = &Label> {
        let by_label = match self {
            Self::All(_) => &[][..],
            Self::ByLabel(units) => units,
        };
        by_label.iter().map(|(label, _)| label)
    }

    /// Returns these units, and for labels without units the units of `others`.
    pub(super) fn or(&self, others: &Self) -> Self {
        match (self, others) {
            (Self::ByLabel(own), Self::ByLabel(others)) => {
                let is_own = |label: &Label| own.iter().any(|(own, _)| own == label);
                let others = others.iter().filter(|(label, _)| !is_own(label));
                Self::ByLabel(own.iter().chain(others).cloned().collect())
            }
            _ => self.clone(),
        }
    }
}

impl UnitsRange {
    /// Reads a range of at least `least` units, or a range for each label.
    pub(super) fn read(field: &Field<'_>, least: u64) -> Result<Option<Self>> {
        let members = field.members();
        if members.is_empty() {
            return Ok(Range::read(field, |field| field.whole(least, MAX_UNITS))?.map(Self::All));
        }
        let of_label = |(name, field): (&str, Field<'_>)| {
            let label = Label::new(name).map_err(|error| field.fault(error.message()))?;
            let range = Range::read(&field, |field| field.whole(0, MAX_UNITS))?;
            Ok((label, field.required(range)?))
        };
        members.into_iter().map(of_label).collect::<Result<_>>().map(|ranges| Some(Self::ByLabel(ranges)))
    }

    pub(super) fn draw(&self, draw: &mut Rng) -> Units {
        match self {
            Self::All(range) => Units::All(range.draw(draw)),
            Self::ByLabel(ranges) => {
                Units::ByLabel(ranges.iter().map(|(label, range)| (label.clone(), range.draw(draw))).collect())
            }
        }
    }

    /// Returns the highest cost.
    pub(super) fn most(&self) -> Units {
        match self {
            Self::All(range) => Units::All(range.most),
            Self::ByLabel(ranges) => {
                Units::ByLabel(ranges.iter().map(|(label, range)| (label.clone(), range.most)).collect())
            }
        }
    }
}

/// Checks that every label of a cost is of one of these policies, and that all of them can count it.
pub(super) fn check(path: &str, units: &Units, policies: &[&Policy]) -> Result<()> {
    let is_unknown = |label: &&Label| policies.iter().all(|policy| policy.position(label).is_none());
    if let Some(label) = units.labels().find(is_unknown) {
        return Err(fault(path, &format!("names a label that no policy has: label={label}")));
    }
    let counted = |policy: &&Policy| units.checked_charge(policy).map_err(|error| fault(path, error.message()));
    policies.iter().try_for_each(|policy| counted(policy).map(|_| ()))
}
