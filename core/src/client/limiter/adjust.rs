//! Changes of a running limiter: reports of the upstream and admin commands.

use super::Limiter;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::learned::Learned;
use crate::model::limit::{Kind, Limit};
use crate::model::operation::Operation;
use crate::model::overrides::{AdminCommand, Deadline, LimitOverride, RuntimeState};

impl Limiter {
    /// Applies a report of the upstream on its budget and on one call, in one step.
    ///
    /// Returns what has changed, what was ignored, and with an actual cost the settlement of the permit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Cost, Paddlegate, Request, Settlement, UpstreamReport};
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(86_400))?;
    /// let permit = shop.try_acquire(Request::estimate(200))?.permit;
    /// let budgets = shop.budget_updates(None, Some(700), None, None, None)?;
    /// let (permit, actual) = (permit.as_deref(), Some(Cost::Units(50)));
    /// let learned = shop.apply_report(UpstreamReport { permit, actual, budgets: &budgets, ..Default::default() })?;
    /// assert_eq!((learned.settlement, learned.learned), (Some(Settlement::Settled), vec!["remaining".to_owned()]));
    /// assert_eq!(shop.peek(Request::cost(1))?.remaining, Some(700));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn apply_report(&self, report: UpstreamReport<'_>) -> Result<Learned> {
        self.ask(Operation::ApplyReport { report })
    }

    /// Runs a command on the limits of all processes, and returns the runtime state after it.
    ///
    /// A command works on the name, whatever the limits of this policy: also an unlimited policy pauses and overrides the
    /// limits that other processes have under the name, now or later.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminCommand, Deadline, Micros, Paddlegate, Reason, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let state = api.admin(AdminCommand::Pause(Deadline::After(Micros(30_000_000))))?;
    /// assert_eq!(state.paused_for, Some(Micros(30_000_000)));
    /// assert_eq!(api.try_acquire(Request::cost(1))?.reason, Some(Reason::Paused));
    /// api.admin(AdminCommand::Resume)?;
    /// assert!(api.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn admin(&self, command: AdminCommand<'_>) -> Result<RuntimeState> {
        self.ask(Operation::Admin { command })
    }

    /// Returns the changes that override one limit, by default the only one of the policy. An amount or interval that is
    /// not given stays as in the policy.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminCommand, Limit, Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let changes = api.override_changes(None, Some(2), None)?;
    /// let state = api.admin(AdminCommand::Override { changes: &changes, expires: None })?;
    /// assert_eq!(state.override_of("window").map(Limit::amount), Some(2));
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(2));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn override_changes(
        &self,
        label: Option<&str>,
        amount: Option<u64>,
        interval: Option<Micros>,
    ) -> Result<Vec<LimitOverride>> {
        let limit = self.single_policy("override")?.limit(label)?;
        if (amount, interval) == (None, None) {
            return Err(Error::invalid("limit", "give another limit, another interval, or both"));
        }
        Ok(vec![LimitOverride::Set(numbered(limit, amount, interval)?)])
    }

    /// Returns the budgets for [`apply_report`](Self::apply_report) with the remaining units and the numbers of one
    /// limit, by default the only one of the policy.
    ///
    /// An amount or interval that is not given stays as in the policy.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, UpstreamReport};
    /// let api = Paddlegate::memory().window("api", 100, Duration::from_secs(60))?;
    /// let budgets = api.budget_updates(None, Some(7), None, None, None)?;
    /// api.apply_report(UpstreamReport { budgets: &budgets, ..UpstreamReport::default() })?;
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(7));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn budget_updates(
        &self,
        label: Option<&str>,
        remaining: Option<u64>,
        amount: Option<u64>,
        interval: Option<Micros>,
        reset: Option<Deadline>,
    ) -> Result<Vec<BudgetUpdate>> {
        let known = self.single_policy("learn")?.limit(label)?;
        let numbers = (amount, interval) != (None, None);
        let limit = numbers.then(|| numbered(known, amount, interval)).transpose()?;
        Ok(vec![BudgetUpdate { label: known.label().clone(), remaining, limit, reset }])
    }
}

/// Returns the limit with other numbers. Its errors name the arguments of the public methods.
fn numbered(known: &Limit, amount: Option<u64>, interval: Option<Micros>) -> Result<Limit> {
    if known.kind() == Kind::Quota && interval.is_some() {
        return Err(Error::invalid("interval", "a quota keeps the periods of its calendar; give its limit alone"));
    }
    let given = amount.is_some();
    let (amount, interval) = (amount.unwrap_or(known.amount()), interval.unwrap_or(known.interval().min(MAX_SPAN)));
    known.with_numbers(amount, interval, known.offset()).map_err(|error| match error.argument() {
        Some("limit" | "capacity") if given => Error::invalid("limit", error.message()),
        _ => Error::invalid("interval", error.message()),
    })
}
