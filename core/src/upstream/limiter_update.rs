//! `LimiterUpdate`: a response translated for one limiter, whose limits may have other units and intervals.

#[cfg(test)]
#[path = "limiter_update/model_providers/tests.rs"]
mod model_providers;
#[cfg(test)]
mod tests;

use super::{Budget, Feedback, LEARNED_FACTOR, Reset, Scope, Unit};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::cost::Cost;
use crate::model::label::Label;
use crate::model::learned::{Notes, property};
use crate::model::limit::{Kind, Limit, MAX_WINDOW};
use crate::model::overrides::Deadline;
use crate::model::policy::Policy;

/// The input of [`Limiter::apply_report`](crate::Limiter::apply_report) from a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimiterUpdate {
    /// The actual cost of the call.
    pub actual: Option<u64>,
    /// The actual cost for each limit that counts it; empty when every limit does. The others count the call.
    pub actual_by_label: Vec<(Label, u64)>,
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
            actual: self.actual.filter(|_| permit.is_some()).map(|actual| match &self.actual_by_label[..] {
                [] => Cost::Units(actual),
                by_label => Cost::Labelled(by_label),
            }),
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
    /// Which limit receives which budget:
    ///
    /// - A `points` limit receives points, or tokens if the response has no points. Its label says which: with `input` or
    ///   `itpm` input tokens, with `output` or `otpm` output tokens, any other label the tokens of both. (`itph`, `itpd`,
    ///   `otph` and `otpd` are the same for an hour and a day.)
    /// - A bucket, window or leaky limit with the label `tpm`, `tph`, `tpd` or one of those above receives tokens too.
    ///   The others receive requests, or, in a policy where no limit counts points or tokens, points or tokens if the
    ///   response has no requests.
    /// - Each budget goes to one limit: first to the one that has its interval, then in the order of both.
    ///
    /// The actual cost is charged in the same way: input, output or all tokens to the limits that count them, and one, the
    /// call, to the others. In a policy where no limit counts points or tokens it is the cost of every limit.
    ///
    /// A limit is learned only if the response gives its time too: a refill rate, or the limit's own interval. The
    /// remaining units of a shorter interval are ignored, and those of a longer one unless they are below the limit. A
    /// spent budget that resets all at once, not continuously, becomes a pause until its reset, unless the limit is a
    /// bucket or a window of that length; with several such budgets, until the last reset.
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
        let mut update = LimiterUpdate {
            actual: self.actual,
            actual_by_label: self.actual_by_label(policy),
            notes: self.notes(&rest),
            ..LimiterUpdate::default()
        };
        let mut pause = None;
        for (limit, budget) in policy.limits().iter().zip(matched) {
            let Some(budget) = budget else { continue };
            let known = is_for_interval(&budget, limit);
            let is_shorter = !known && budget.window.is_some_and(|window| window < limit.interval());
            // More than the limit allows in its own interval says nothing about it, and would raise what remains.
            let is_longer = !known && budget.window.is_some_and(|window| window > limit.interval());
            let is_ample = is_longer && limit.kind() != Kind::Window && budget.remaining >= Some(limit.amount());
            let refills = budget.refill.is_some();
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
                remaining: budget.remaining.filter(|_| !is_shorter && !is_ample),
                limit: numbers,
                reset: budget.reset.filter(|_| known && !refills && limit.kind() == Kind::Bucket).and_then(moment),
            });
            let waits_itself = known && matches!(limit.kind(), Kind::Bucket | Kind::Window);
            let spent = budget.remaining == Some(0) && !waits_itself && !refills;
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

    /// Returns the actual cost for each limit that counts points or tokens, where it is not one number for all limits.
    fn actual_by_label(&self, policy: &Policy) -> Vec<(Label, u64)> {
        let Some(actual) = self.actual else { return Vec::new() };
        let own = |limit: &Limit| match own_unit(limit)? {
            Unit::InputTokens => Some(self.actual_input.unwrap_or(actual)),
            Unit::OutputTokens => Some(self.actual_output.unwrap_or(actual)),
            _ => Some(actual),
        };
        let counted = || policy.limits().iter().filter(|limit| !limit.counts_starts()).map(own);
        if counted().all(|units| units.is_none()) || counted().all(|units| units == Some(actual)) {
            return Vec::new();
        }
        policy.limits().iter().filter_map(|limit| Some((limit.label().clone(), own(limit)?))).collect()
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
        for unit in [Unit::Requests, Unit::Points, Unit::Tokens, Unit::InputTokens, Unit::OutputTokens] {
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
        // Two rounds, so that a limit does not take the budget of a later limit that has its interval.
        for own in [true, false] {
            for (limit, budget) in policy.limits().iter().zip(&mut matched).filter(|(_, budget)| budget.is_none()) {
                let unit = self.unit(limit, policy);
                let fits = |budget: &Budget| Some(budget.unit) == unit && (!own || is_for_interval(budget, limit));
                *budget = budgets.iter().position(fits).map(|at| budgets.remove(at));
            }
        }
        (matched, budgets)
    }

    /// Returns the unit that a limit counts, among the units in the response.
    fn unit(&self, limit: &Limit, policy: &Policy) -> Option<Unit> {
        let units = match (own_unit(limit), limit.kind()) {
            // What is no model provider has one unit of costs, whatever the label.
            (Some(tokens), Kind::Points) => vec![Unit::Points, tokens],
            (Some(tokens), _) => vec![tokens],
            (None, Kind::Bucket | Kind::Window | Kind::Leaky) => {
                let is_mixed = policy.limits().iter().any(|limit| own_unit(limit).is_some());
                let alone = (!is_mixed).then_some([Unit::Points, Unit::Tokens]);
                [Unit::Requests].into_iter().chain(alone.into_iter().flatten()).collect()
            }
            _ => Vec::new(),
        };
        units.into_iter().find(|unit| self.budgets.iter().any(|budget| budget.unit == *unit))
    }
}

/// Returns the unit of costs that a limit counts, by its kind and label; `None` for a limit that counts calls.
///
/// A `points` limit that counts no input or output tokens counts all tokens, or points.
fn own_unit(limit: &Limit) -> Option<Unit> {
    if !matches!(limit.kind(), Kind::Points | Kind::Bucket | Kind::Window | Kind::Leaky) {
        return None;
    }
    let (label, is_points) = (&**limit.label(), limit.kind() == Kind::Points);
    let is_short = |label: &str| matches!(label, "tpm" | "tph" | "tpd");
    let is =
        |word: &str, first: &str| is_points && label.contains(word) || label.strip_prefix(first).is_some_and(is_short);
    match (is("input", "i"), is("output", "o")) {
        (true, false) => Some(Unit::InputTokens),
        (false, true) => Some(Unit::OutputTokens),
        _ => (is_points || is_short(label)).then_some(Unit::Tokens),
    }
}

/// Returns whether a budget is meant for the interval of a limit.
fn is_for_interval(budget: &Budget, limit: &Limit) -> bool {
    // A meter that is not exact may have a slightly longer interval than was asked for.
    let made = |window| limit.with_numbers(limit.amount(), window, limit.offset());
    // No upstream says how long a period of the calendar is.
    let interval = budget.window.or(budget.refill).filter(|_| limit.kind() != Kind::Quota);
    interval.is_some_and(|interval| made(interval).is_ok_and(|made| made == *limit))
}

/// Returns the upstream's values of a limit if their time is known; otherwise why they are not learned.
fn numbers(budget: &Budget, limit: &Limit, max_learned: Option<u64>) -> Result<Option<Limit>, &'static str> {
    let Some(amount) = budget.limit else { return Ok(None) };
    let own = limit.interval();
    let interval = match (limit.kind(), budget.refill) {
        _ if is_for_interval(budget, limit) => own,
        (Kind::Points | Kind::Leaky, Some(refill)) if budget.window.is_none() => refill,
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
