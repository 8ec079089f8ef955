//! `UpstreamReport`: the state of the upstream's budget, as one response reports it.

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::cost::{Cost, check_units};
use crate::model::label::Label;
use crate::model::learned::Notes;
use crate::model::limit::Limit;
use crate::model::overrides::Deadline;
use crate::model::permit::Settlement;
use crate::model::policy::Policy;

/// The content of one response of the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamReport<'a> {
    /// The permit of the call that got the response. The time of its grant distinguishes older reports from newer ones.
    pub permit: Option<&'a str>,
    /// The actual cost of the call; settles the permit.
    pub actual: Option<Cost<'a>>,
    /// The upstream's budgets behind limits of the policy, at most one for each.
    pub budgets: &'a [BudgetUpdate],
    /// No call is granted until this time.
    pub pause: Option<Deadline>,
    /// Further information for the result of the report; it does not change the limiter.
    pub notes: Option<&'a Notes>,
    /// The settlement of the permit, if this process has settled it already.
    pub settled: Option<Settlement>,
}

/// The upstream's budget behind one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetUpdate {
    /// The label of the limit in the policy.
    pub label: Label,
    /// The remaining units upstream.
    ///
    /// The limiter takes over this number minus the charges of open permits. It raises its own remaining units only
    /// when no other permit is open or was settled since the call, and only where calls have permits: no call can be in
    /// flight then. A window is only lowered.
    pub remaining: Option<u64>,
    /// The upstream's limit, of the same kind. It applies in all processes from now on, unless an override is active.
    pub limit: Option<Limit>,
    /// The end of a bucket's interval. An end within two seconds of the known end counts as the known end.
    pub reset: Option<Deadline>,
}

impl UpstreamReport<'_> {
    pub(crate) fn check(&self, policy: &Policy) -> Result<()> {
        self.actual.map(|actual| actual.charge("actual", policy)).transpose()?;
        self.pause.map_or(Ok(()), |moment| moment.check(("pause", "pause")))?;
        if self.actual.is_some() && self.permit.is_none() {
            return Err(Error::invalid("permit", "is missing; give the permit of the call with this actual cost"));
        }
        for (i, budget) in self.budgets.iter().enumerate() {
            let limit = policy.limit(Some(&budget.label))?;
            if self.budgets[..i].iter().any(|other| other.label == budget.label) {
                return Err(Error::invalid("budgets", format!("names a limit twice: label={}", budget.label)));
            }
            check_units("remaining", budget.remaining.unwrap_or(0))?;
            // An interval may end at this moment, so a span of zero is valid here.
            let reset = budget.reset.filter(|reset| *reset != Deadline::After(Micros(0)));
            reset.map_or(Ok(()), |moment| moment.check(("reset_in", "reset_at")))?;
            if let Some(other) = budget.limit.as_ref().filter(|other| other.kind() != limit.kind()) {
                let (other, kind) = (other.kind().name(), limit.kind().name());
                let message = format!("must be of the kind of the limit: kind={other} limit={kind}");
                return Err(Error::invalid("limit", message));
            }
        }
        Ok(())
    }

    /// Returns whether the report changes a limit.
    pub(crate) fn says(&self) -> bool {
        self.budgets.iter().any(BudgetUpdate::says)
    }

    /// Returns the budget behind a limit of the policy.
    pub(crate) fn budget(&self, limit: &Limit) -> Option<&BudgetUpdate> {
        self.budgets.iter().find(|budget| budget.label == *limit.label())
    }
}

impl BudgetUpdate {
    /// Creates a report that says nothing of this limit yet.
    pub fn new(label: Label) -> Self {
        Self { label, remaining: None, limit: None, reset: None }
    }

    pub(crate) fn says(&self) -> bool {
        self.remaining.is_some() || self.limit.is_some() || self.reset.is_some()
    }
}
