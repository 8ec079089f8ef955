//! `UpstreamReport`: what one response of the upstream says of its budget.

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::learned::Notes;
use crate::model::limit::Limit;
use crate::model::overrides::Deadline;
use crate::model::permit::Settlement;
use crate::model::policy::Policy;
use crate::model::request::check_units;

/// What one answer of the upstream says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamReport<'a> {
    /// The permit of the call that was answered. Its time tells older reports from newer ones.
    pub permit: Option<&'a str>,
    /// What the call did cost; settles the permit.
    pub actual: Option<u64>,
    /// What is said of the budget behind each limit, in the order of the policy; may be shorter.
    pub budgets: &'a [BudgetUpdate],
    /// Nothing is granted until then.
    pub pause: Option<Deadline>,
    /// What is told beside, for the answer.
    pub notes: Option<&'a Notes>,
    /// What became of the permit, where this process has settled it already.
    pub settled: Option<Settlement>,
}

/// What upstream says of the budget behind one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetUpdate {
    /// Units that are left there. Lowers what is left here by what is still open; raises it only when nothing is open, and
    /// only where calls have permits, so that this can be known. A window is only lowered.
    pub remaining: Option<u64>,
    /// Its numbers, which rule in all processes from now on, unless they are overridden. Of the kind of the limit.
    pub limit: Option<Limit>,
    /// When the interval of a bucket ends. Within two seconds of the known end it is the known end.
    pub reset: Option<Deadline>,
}

impl UpstreamReport<'_> {
    pub(crate) fn check(&self, policy: &Policy) -> Result<()> {
        check_units("actual", self.actual.unwrap_or(0))?;
        self.pause.map_or(Ok(()), |moment| moment.check(("pause", "pause")))?;
        if self.actual.is_some() && self.permit.is_none() {
            return Err(Error::invalid("permit", "give the permit whose actual cost this is"));
        }
        if self.budgets.len() > policy.limits().len() {
            let (given, limits) = (self.budgets.len(), policy.limits().len());
            let message = format!("must not be more than the limits: budgets={given} limits={limits}");
            return Err(Error::invalid("budgets", message));
        }
        for (budget, limit) in self.budgets.iter().zip(policy.limits()) {
            check_units("remaining", budget.remaining.unwrap_or(0))?;
            // An interval may end just now.
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

    pub(crate) fn says(&self) -> bool {
        self.budgets.iter().any(|budget| *budget != BudgetUpdate::default())
    }
}
