//! `LimiterUpdate`: a response translated for one limiter, whose limits may have other units and intervals.

#[cfg(test)]
mod tests;

use super::{Budget, Feedback, LEARNED_FACTOR, Reset, Scope, Unit};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::learned::{Notes, property};
use crate::model::limit::{Kind, Limit, MAX_WINDOW};
use crate::model::overrides::Deadline;
use crate::model::policy::Policy;

/// The input of [`Limiter::apply_report`](crate::Limiter::apply_report) from a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimiterUpdate {
    /// The actual cost of the call.
    pub actual: Option<u64>,
    /// The reported budgets of limits of the policy.
    pub budgets: Vec<BudgetUpdate>,
    /// The end of a pause, during which nothing is granted.
    pub pause: Option<Deadline>,
    /// Further information, and why parts of the response were ignored.
    pub notes: Notes,
}

impl LimiterUpdate {
    /// Returns the report of the call with this permit. Without a permit the actual cost is not settled.
    pub fn report<'a>(&'a self, permit: Option<&'a str>) -> UpstreamReport<'a> {
        UpstreamReport {
            permit,
            actual: self.actual.filter(|_| permit.is_some()),
            budgets: &self.budgets,
            pause: self.pause,
            notes: Some(&self.notes),
            settled: None,
        }
    }
}

impl Feedback {
    /// Translates the response for a limiter with this policy; a pause lasts at most `max_pause`.
    ///
    /// A limit is raised to at most `max_learned` units, both in capacity and, for units that return continuously,
    /// within the policy's own interval; default: [`LEARNED_FACTOR`] times the policy's own limit. A larger limit is
    /// ignored, since one response would open the limiter for all processes.
    ///
    /// A `points` limit receives budgets of points, or of tokens if the response has no points; a bucket, window or
    /// leaky limit receives requests, or, in a policy without points, points or tokens if the response has no requests.
    /// Each budget goes to one limit: first to the one whose interval is the budget's window, then in the order of
    /// both. A limit is learned only if the response gives its time too: a refill rate, or a window equal to the
    /// limit's own. The remaining units of a window shorter than the limit's interval are ignored. A spent budget that
    /// resets all at once, not continuously, becomes a pause until its reset, unless the limit is a bucket or a window
    /// of that length; with several such budgets, until the last reset.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Feedback, MAX_PAUSE, Paddlegate, Provider, Request};
    /// # use paddlegate::upstream::Response;
    /// let api = Paddlegate::memory().window("api", 100, Duration::from_secs(60))?;
    /// let headers = [("X-RateLimit-Limit", "100"), ("X-RateLimit-Remaining", "7")];
    /// let response = Response { status: Some(200), headers: &headers, body: "" };
    /// let update = Feedback::read(Provider::Auto, &response, MAX_PAUSE).update_for(api.policy(), MAX_PAUSE, None);
    /// let learned = api.apply_report(update.report(None))?;
    /// assert_eq!(learned.learned, ["remaining"]);
    /// assert_eq!(learned.ignored, ["limit: its interval is unknown"]);
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(7));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn update_for(&self, policy: &Policy, max_pause: Micros, max_learned: Option<u64>) -> LimiterUpdate {
        let (matched, rest) = self.matched_budgets(policy);
        let mut update = LimiterUpdate { actual: self.actual, notes: self.notes(&rest), ..LimiterUpdate::default() };
        let mut pause = None;
        for (limit, budget) in policy.limits().iter().zip(matched) {
            let Some(budget) = budget else { continue };
            let known = is_window_of(&budget, limit);
            let is_shorter = !known && budget.window.is_some_and(|window| window < limit.interval());
            let mut ignore = |what, why| {
                update.notes.ignored.push(format!("{}: {why}", property(what, limit.label(), policy.limits().len())));
            };
            let numbers = numbers(&budget, limit, max_learned).unwrap_or_else(|why| {
                ignore("limit", why);
                None
            });
            if is_shorter && budget.remaining.is_some() {
                ignore("remaining", "is of a shorter interval");
            }
            update.budgets.push(BudgetUpdate {
                label: limit.label().clone(),
                remaining: budget.remaining.filter(|_| !is_shorter),
                limit: numbers,
                reset: budget.reset.filter(|_| known && limit.kind() == Kind::Bucket).and_then(moment),
            });
            let waits_itself = known && matches!(limit.kind(), Kind::Bucket | Kind::Window);
            let spent = budget.remaining == Some(0) && !waits_itself && budget.refill.is_none();
            if let Some(Reset::After(wait)) = budget.reset.filter(|_| spent) {
                pause = pause.max(Some(wait));
            }
        }
        let pause = self.pause.or(pause).map(|pause| pause.min(max_pause).min(MAX_SPAN));
        let pause = pause.filter(|pause| pause.0 > 0);
        update.notes.pause = pause;
        update.pause = pause.map(Deadline::After);
        if pause.is_none() && self.throttled && self.budgets.is_empty() {
            update.notes.ignored.push("pause: the answer does not say how long".to_owned());
        }
        update
    }

    /// Collects information outside the budgets, and the budgets that no limit receives.
    fn notes(&self, rest: &[Budget]) -> Notes {
        let mut ignored = Vec::new();
        let is_nothing = self.budgets.is_empty() && self.actual.is_none() && self.pause.is_none() && !self.throttled;
        if self.needs_status {
            ignored.push("pause: status is missing".to_owned());
        } else if is_nothing {
            ignored.push("not a rate limit answer".to_owned());
        }
        for unit in [Unit::Requests, Unit::Points, Unit::Tokens] {
            if rest.iter().any(|budget| budget.unit == unit) {
                ignored.push(format!("{}: no limit is left for them", unit.name()));
            }
        }
        let scope = self.scope.map(Scope::name);
        Notes { ignored, cost: self.actual, pause: None, scope, bucket: self.bucket.clone() }
    }

    /// Assigns budgets to limits; returns the budget of each limit and the remaining budgets.
    fn matched_budgets(&self, policy: &Policy) -> (Vec<Option<Budget>>, Vec<Budget>) {
        let mut matched = vec![None; policy.limits().len()];
        let mut budgets = self.budgets.clone();
        // Two rounds, so that a limit does not take the budget of a later limit with the matching window.
        for own in [true, false] {
            for (limit, budget) in policy.limits().iter().zip(&mut matched).filter(|(_, budget)| budget.is_none()) {
                let unit = self.unit(limit, policy);
                let fits = |budget: &Budget| Some(budget.unit) == unit && (!own || is_window_of(budget, limit));
                *budget = budgets.iter().position(fits).map(|at| budgets.remove(at));
            }
        }
        (matched, budgets)
    }

    /// Returns the unit that a limit counts, among the units in the response.
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
    // A meter that is not exact may have a slightly longer interval than was asked for.
    let made = |window| limit.with_numbers(limit.amount(), window, limit.offset());
    budget.window.is_some_and(|window| made(window).is_ok_and(|made| made == *limit))
}

/// Returns the upstream's values of a limit if their time is known; otherwise why they are not learned.
fn numbers(budget: &Budget, limit: &Limit, max_learned: Option<u64>) -> Result<Option<Limit>, &'static str> {
    let Some(amount) = budget.limit else { return Ok(None) };
    let own = limit.interval();
    let interval = match (limit.kind(), budget.refill) {
        (Kind::Points | Kind::Leaky, Some(refill)) => refill,
        _ if is_window_of(budget, limit) => own,
        _ if budget.window.is_some() => return Err("is of another interval"),
        _ => return Err("its interval is unknown"),
    };
    if amount == 0 {
        return Err("is zero");
    }
    let most = max_learned.unwrap_or(limit.amount().saturating_mul(LEARNED_FACTOR)).max(limit.amount());
    // The units that return within the policy's own interval.
    let rate = u128::from(amount) * u128::from(own.0);
    if amount > most || rate > u128::from(most) * u128::from(interval.0) {
        return Err("above max_learned");
    }
    match limit.with_numbers(amount, interval, limit.offset()) {
        Ok(limit) => Ok(Some(limit)),
        Err(_) if limit.kind() == Kind::Window && amount > MAX_WINDOW => Err("is above the maximum of a window"),
        Err(_) => Err("is out of range"),
    }
}

/// Converts a reset to a deadline within the range that limiters accept.
fn moment(reset: Reset) -> Option<Deadline> {
    match reset {
        Reset::After(span) => Some(Deadline::After(span)),
        Reset::At(at) => (at < MAX_TIME).then_some(Deadline::At(at)),
    }
}
