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
    /// within the policy's own interval; default: [`LEARNED_FACTOR`] times the policy's own limit. Of a larger limit that
    /// maximum is learned, since one response opens the limiter for all processes.
    ///
    /// Which limit receives which budget:
    ///
    /// - A `points` limit receives points, or tokens if the response has no points. Its label says which: with `input` or
    ///   `itpm` input tokens, with `output` or `otpm` output tokens, any other label the tokens of both. (`itph`, `itpd`,
    ///   `otph` and `otpd` are the same for an hour and a day.)
    /// - A bucket, window or leaky limit with the label `tpm`, `tph`, `tpd` or one of those above receives tokens too.
    ///   The others receive requests, or, in a policy where no limit counts points or tokens, points or tokens if the
    ///   response has no requests.
    /// - A budget belongs to the limit that has its interval; for a meter a refill rate is enough. If the response does not say
    ///   the interval, it belongs to the limit of the same amount, unless it resets later than that limit's interval lasts.
    /// - A budget of a resource that not all calls use (GitHub's `search`) belongs to the limit with that label, or to one of
    ///   the same amount and interval.
    /// - Each budget goes to one limit, in the order of both.
    ///
    /// A budget that belongs to no limit changes none. If it is spent, it becomes a pause until its reset, or, if it refills
    /// continuously, until one unit is back; that of another resource does not. The notes say which budgets were ignored.
    ///
    /// The actual cost is charged in the same way: input, output or all tokens to the limits that count them, and one, the
    /// call, to the others. In a policy where no limit counts points or tokens it is the cost of every limit.
    ///
    /// A limit is learned only if the response gives its time too: a refill rate, or the limit's own interval. A spent budget
    /// of a meter that resets all at once, not continuously, becomes a pause until its reset. Of several pauses the last to
    /// end counts. A reset by a clock of another, in a response without `Date`, is compared with the clock of the store.
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
    /// assert_eq!(learned.ignored, [""; 0]);
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(7));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn update_for(&self, policy: &Policy, max_pause: Micros, max_learned: Option<u64>) -> LimiterUpdate {
        let (matched, rest) = self.matched_budgets(policy);
        let mut update = LimiterUpdate {
            actual: self.actual,
            actual_by_label: self.actual_by_label(policy),
            notes: self.notes(policy, &rest),
            ..LimiterUpdate::default()
        };
        let mut pause: Option<Reset> = None;
        for (limit, budget) in policy.limits().iter().zip(matched) {
            let Some(budget) = budget else { continue };
            let (is_bucket, is_window) = (limit.kind() == Kind::Bucket, limit.kind() == Kind::Window);
            let is_spent = budget.remaining == Some(0);
            // A window would refuse for its whole interval, though the upstream's may end earlier.
            let is_pause = is_window && is_spent && budget.reset.is_some() && !is_for_interval(&budget, limit);
            let refills = budget.refill.is_some();
            let mut ignore = |why: String| {
                let what = property("limit", limit.label(), policy.limits().len());
                update.notes.ignored.push(format!("{what}: {why}"));
            };
            update.budgets.push(BudgetUpdate {
                label: limit.label().clone(),
                remaining: budget.remaining.filter(|_| !is_pause),
                limit: numbers(&budget, limit, max_learned, &mut ignore),
                reset: budget.reset.filter(|_| !refills && is_bucket).and_then(moment),
            });
            if is_pause || is_spent && !(is_bucket || is_window || refills) {
                pause = later(pause, budget.reset);
            }
        }
        for budget in rest.iter().filter(|budget| budget.remaining == Some(0) && self.is_counted(budget, policy)) {
            pause = later(pause, until_a_unit(budget));
        }
        let is_of_other = self.is_of_other_resource(policy);
        let own = self.pause.map(Reset::After).or(self.pause_at.map(Reset::At));
        // The reset of another resource is none of this limiter's.
        let own = own.filter(|_| !(self.is_until_reset && is_of_other));
        let pause = own.or(pause.filter(|_| !is_of_other)).and_then(|pause| bounded(pause, max_pause));
        update.notes.pause = if let Some(Deadline::After(pause)) = pause { Some(pause) } else { None };
        update.pause = pause;
        if pause.is_none() && self.throttled && self.budgets.is_empty() && !self.is_at_once {
            update.notes.ignored.push("pause: the answer does not say how long".to_owned());
        }
        update
    }

    /// Returns whether the response is about a resource that no limit of the policy has.
    fn is_of_other_resource(&self, policy: &Policy) -> bool {
        self.resource
            .as_deref()
            .is_some_and(|resource| policy.limits().iter().all(|limit| **limit.label() != *resource))
            && !self.budgets.iter().any(|budget| policy.limits().iter().any(|limit| self.is_for(budget, limit)))
    }

    /// Returns whether some limit of the policy counts the unit of a budget.
    fn is_counted(&self, budget: &Budget, policy: &Policy) -> bool {
        policy.limits().iter().any(|limit| self.unit(limit, policy) == Some(budget.unit))
    }

    /// Returns whether a budget belongs to a limit that counts its unit.
    fn is_for(&self, budget: &Budget, limit: &Limit) -> bool {
        let is_same_amount = budget.limit == Some(limit.amount());
        let is_own = match &self.resource {
            Some(resource) if **limit.label() != **resource => is_same_amount && budget.window.is_some(),
            _ => true,
        };
        let is_meter = matches!(limit.kind(), Kind::Points | Kind::Leaky);
        is_own
            && match (budget.window, budget.refill) {
                (None, None) => {
                    let is_late = |wait| wait > limit.interval();
                    is_same_amount && !matches!(budget.reset, Some(Reset::After(wait)) if is_late(wait))
                }
                (None, Some(_)) if is_meter => true,
                _ => is_for_interval(budget, limit),
            }
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
    fn notes(&self, policy: &Policy, rest: &[Budget]) -> Notes {
        let mut ignored = Vec::new();
        let waits = self.pause.is_some() || self.pause_at.is_some() || self.is_at_once;
        let is_nothing = self.budgets.is_empty() && self.actual.is_none() && !waits && !self.throttled;
        if self.needs_status {
            ignored.push("pause: status is missing".to_owned());
        } else if is_nothing && self.unread.is_empty() {
            ignored.push("not a rate limit answer".to_owned());
        }
        ignored.extend(rest.iter().map(|budget| {
            let why = match &self.resource {
                _ if !self.is_counted(budget, policy) => "no limit counts them".to_owned(),
                Some(resource) => format!("are of the resource {resource}"),
                None if budget.window.is_some() || budget.refill.is_some() => "no limit has their interval".to_owned(),
                None => "no limit has their amount and end".to_owned(),
            };
            format!("{}{}: {why}", budget.unit.name(), shown(budget))
        }));
        ignored.extend(self.unread.iter().cloned());
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
                let fits = |budget: &Budget| {
                    Some(budget.unit) == unit && self.is_for(budget, limit) && (!own || is_for_interval(budget, limit))
                };
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

/// Returns the upstream's values of a limit if their time is known. `ignore` hears why they are not learned, or not whole.
fn numbers(budget: &Budget, limit: &Limit, max_learned: Option<u64>, ignore: &mut impl FnMut(String)) -> Option<Limit> {
    let amount = budget.limit?;
    let own = limit.interval();
    let interval = match budget.refill {
        _ if is_for_interval(budget, limit) => own,
        Some(refill) => refill,
        // Of the same amount, so there is nothing to learn.
        None => return None,
    };
    if amount == 0 {
        ignore("is zero".to_owned());
        return None;
    }
    let most = max_learned.unwrap_or(limit.amount().saturating_mul(LEARNED_FACTOR)).max(limit.amount());
    let most = if limit.kind() == Kind::Window { most.min(MAX_WINDOW) } else { most };
    let learned = amount.min(most);
    // As fast as the upstream's, and at most what lets the whole amount return within the policy's own interval.
    let scaled = |span: Micros, by: u64, of: u64| (u128::from(span.0) * u128::from(by)).div_ceil(u128::from(of));
    let longest = if interval == own {
        u128::from(own.0)
    } else {
        scaled(interval, learned, amount).max(scaled(own, learned, most))
    };
    let is_full = limit.kind() == Kind::Window && most == MAX_WINDOW;
    if learned < amount {
        let name = if is_full { "the maximum of a window" } else { "max_learned" };
        ignore(format!("{amount} is above {name}, {learned} applies"));
    } else if longest > u128::from(interval.0) {
        ignore("its rate is above max_learned, which applies".to_owned());
    }
    let learned =
        u64::try_from(longest).ok().map(|interval| limit.with_numbers(learned, Micros(interval), limit.offset()));
    if learned.as_ref().is_none_or(Result::is_err) {
        ignore("is out of range".to_owned());
    }
    learned?.ok()
}

/// Returns the later of two resets.
fn later(one: Option<Reset>, other: Option<Reset>) -> Option<Reset> {
    one.into_iter().chain(other).reduce(Reset::later)
}

/// Returns when a spent budget has a unit again.
fn until_a_unit(budget: &Budget) -> Option<Reset> {
    match (budget.refill, budget.limit) {
        (Some(refill), Some(limit)) if limit > 0 => Some(Reset::After(Micros(refill.0.div_ceil(limit)))),
        _ => budget.reset,
    }
}

/// Returns the end of a pause that lasts at most `max_pause`; `None` for no pause.
fn bounded(pause: Reset, max_pause: Micros) -> Option<Deadline> {
    let most = max_pause.min(MAX_SPAN);
    match pause {
        Reset::After(pause) => Some(pause.min(most)).filter(|pause| pause.0 > 0).map(Deadline::After),
        Reset::At(at) => (most.0 > 0 && at < MAX_TIME).then_some(Deadline::Within { at, most }),
    }
}

/// Returns the numbers of a budget for a note.
fn shown(budget: &Budget) -> String {
    match (budget.remaining, budget.limit) {
        (Some(remaining), Some(limit)) => format!(" {remaining} of {limit}"),
        (Some(remaining), None) => format!(" {remaining}"),
        (None, Some(limit)) => format!(" of {limit}"),
        (None, None) => String::new(),
    }
}

/// Converts a reset to a deadline within the range that limiters accept.
fn moment(reset: Reset) -> Option<Deadline> {
    match reset {
        Reset::After(span) => Some(Deadline::After(span)),
        Reset::At(at) => (at < MAX_TIME).then_some(Deadline::At(at)),
    }
}
