//! `Lesson`: what an answer means for one limiter, whose limits may count another thing in another time.

#[cfg(test)]
mod tests;

use super::{Budget, Feedback, Reset, Unit};
use crate::control::Moment;
use crate::learn::{Report, Sync};
use crate::limit::{Kind, Limit};
use crate::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::policy::Policy;

/// What [`Limiter::learn`](crate::Limiter::learn) is told of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lesson {
    /// What the call did cost.
    pub actual: Option<u64>,
    /// What is said of the budget behind each limit of the policy.
    pub budgets: Vec<Sync>,
    /// Nothing is granted until then.
    pub pause: Option<Moment>,
}

impl Lesson {
    /// The report of the call that had this permit; without one its cost settles nothing.
    pub fn report<'a>(&'a self, permit: Option<&'a str>) -> Report<'a> {
        Report { permit, actual: self.actual.filter(|_| permit.is_some()), budgets: &self.budgets, pause: self.pause }
    }
}

impl Feedback {
    /// What this says to a limiter of that policy, where a pause lasts at most `max_pause`.
    ///
    /// A `points` limit hears of points, or of tokens where no points are told; a bucket, window or leaky limit of requests,
    /// or, in a policy without points, of points or tokens where no requests are told. Each budget is heard by one limit:
    /// first by the one whose interval is its window, then in the order of both. The numbers of a limit are learned only
    /// where the answer tells their time too: how fast it refills, or a window that is the limit's own. What is left of a
    /// window that is shorter than the limit's interval says nothing of it. A spent budget that is whole again at once is a
    /// pause until then, unless the limit is a bucket or a window of that length; the last one where there are several.
    pub fn lesson(&self, policy: &Policy, max_pause: Micros) -> Lesson {
        let mut lesson = Lesson { actual: self.actual, budgets: Vec::new(), pause: None };
        let mut pause = None;
        for (limit, heard) in policy.limits().iter().zip(self.heard(policy)) {
            let Some(budget) = heard else {
                lesson.budgets.push(Sync::default());
                continue;
            };
            let known = is_window_of(&budget, limit);
            let is_shorter = budget.window.is_some_and(|window| window < limit.interval());
            lesson.budgets.push(Sync {
                remaining: budget.remaining.filter(|_| !is_shorter),
                limit: numbers(&budget, limit),
                reset: budget.reset.filter(|_| known && limit.kind() == Kind::Bucket).and_then(moment),
            });
            let waits_itself = known && matches!(limit.kind(), Kind::Bucket | Kind::Window);
            let spent = budget.remaining == Some(0) && !waits_itself && budget.refill.is_none();
            if let Some(Reset::After(wait)) = budget.reset.filter(|_| spent) {
                pause = pause.max(Some(wait));
            }
        }
        let pause = self.pause.or(pause).map(|pause| pause.min(max_pause).min(MAX_SPAN));
        lesson.pause = pause.filter(|pause| pause.0 > 0).map(Moment::After);
        lesson
    }

    /// The budget that each limit hears of.
    fn heard(&self, policy: &Policy) -> Vec<Option<Budget>> {
        let mut heard = vec![None; policy.limits().len()];
        let mut budgets = self.budgets.clone();
        // In two rounds, lest a limit takes what is told of the next one.
        for own in [true, false] {
            for (limit, heard) in policy.limits().iter().zip(&mut heard).filter(|(_, heard)| heard.is_none()) {
                let unit = self.unit(limit, policy);
                let fits = |budget: &Budget| Some(budget.unit) == unit && (!own || is_window_of(budget, limit));
                *heard = budgets.iter().position(fits).map(|at| budgets.remove(at));
            }
        }
        heard
    }

    /// What a limit counts, as far as the answer tells of it.
    fn unit(&self, limit: &Limit, policy: &Policy) -> Option<Unit> {
        let units: &[Unit] = match limit.kind() {
            Kind::Points => &[Unit::Points, Unit::Tokens],
            Kind::Bucket | Kind::Window | Kind::Leaky if policy.is_estimated() => &[Unit::Requests],
            Kind::Bucket | Kind::Window | Kind::Leaky => &[Unit::Requests, Unit::Points, Unit::Tokens],
            _ => &[],
        };
        units.iter().copied().find(|unit| self.budgets.iter().any(|budget| budget.unit == *unit))
    }
}

fn is_window_of(budget: &Budget, limit: &Limit) -> bool {
    budget.window == Some(limit.interval())
}

/// The numbers that the limit has upstream, where their time is known.
fn numbers(budget: &Budget, limit: &Limit) -> Option<Limit> {
    let amount = budget.limit.filter(|amount| *amount > 0)?;
    let interval = match (limit.kind(), budget.refill) {
        (Kind::Points | Kind::Leaky, Some(refill)) => refill,
        _ if is_window_of(budget, limit) => limit.interval(),
        _ => return None,
    };
    Limit::of_kind(limit.kind(), amount, interval, limit.offset()).ok()
}

/// A moment that a limiter takes.
fn moment(reset: Reset) -> Option<Moment> {
    match reset {
        Reset::After(span) => Some(Moment::After(span)),
        Reset::At(at) => (at < MAX_TIME).then_some(Moment::At(at)),
    }
}
