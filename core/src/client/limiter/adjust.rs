//! Changes of a running limiter: reports of the upstream and admin commands.

use super::{Limiter, unexpected};
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::learned::Learned;
use crate::model::limit::Limit;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::{AdminCommand, Deadline, LimitOverride, RuntimeState};
use crate::store::signal_handling::SignalHandling;

impl Limiter {
    /// Applies a report of the upstream on its budget and on one call, in one step.
    ///
    /// Returns what has changed, what was ignored, and with an actual cost the settlement of the permit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement, UpstreamReport};
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(86_400))?;
    /// let permit = shop.acquire(Request::estimate(200))?.permit;
    /// let budgets = shop.budget_updates(0, Some(700), None, None, None)?;
    /// let (permit, actual) = (permit.as_deref(), Some(50));
    /// let learned = shop.apply_report(UpstreamReport { permit, actual, budgets: &budgets, ..Default::default() })?;
    /// assert_eq!((learned.settlement, learned.learned), (Some(Settlement::Settled), vec!["remaining".to_owned()]));
    /// assert_eq!(shop.peek(Request::cost(1))?.remaining, Some(700));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn apply_report(&self, report: UpstreamReport<'_>) -> Result<Learned> {
        match self.run(Operation::ApplyReport { report }, SignalHandling::Ignore)? {
            Answer::Report(learned) => Ok(*learned),
            other => Err(unexpected(&other)),
        }
    }

    /// Runs a command on the limits of all processes, and returns the runtime state after it.
    ///
    /// `Invalid` for a limiter without a state (unlimited, or paused by its policy), except for `Get`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminCommand, Deadline, Kind, Micros, Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let state = api.admin(AdminCommand::Pause(Deadline::After(Micros(30_000_000))))?;
    /// assert_eq!(state.paused_for, Some(Micros(30_000_000)));
    /// assert_eq!(api.acquire(Request::cost(1))?.reason, Some(Kind::Paused));
    /// api.admin(AdminCommand::Resume)?;
    /// assert!(api.acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn admin(&self, command: AdminCommand<'_>) -> Result<RuntimeState> {
        match self.run(Operation::Admin { command }, SignalHandling::Ignore)? {
            Answer::RuntimeState(runtime_state) => Ok(*runtime_state),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the changes that override one limit. An amount or interval that is not given stays as in the policy.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminCommand, Limit, Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let changes = api.override_changes(0, Some(2), None)?;
    /// let state = api.admin(AdminCommand::Override { changes: &changes, expires: None })?;
    /// assert_eq!(state.overrides[0].as_ref().map(Limit::amount), Some(2));
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(2));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn override_changes(
        &self,
        index: usize,
        amount: Option<u64>,
        interval: Option<Micros>,
    ) -> Result<Vec<LimitOverride>> {
        let limit = self.limit_at(index)?;
        if (amount, interval) == (None, None) {
            return Err(Error::invalid("limit", "give another limit, another interval, or both"));
        }
        let other = numbered(limit, amount, interval)?;
        let mut changes = vec![LimitOverride::Keep; self.policy().limits().len()];
        changes[index] = LimitOverride::Set(other);
        Ok(changes)
    }

    /// Returns the changes that end the override of one limit, or of all limits without an index.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminCommand, Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let changes = api.override_changes(0, Some(2), None)?;
    /// api.admin(AdminCommand::Override { changes: &changes, expires: None })?;
    /// let removals = api.override_removals(None)?;
    /// api.admin(AdminCommand::Override { changes: &removals, expires: None })?;
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(5));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn override_removals(&self, index: Option<usize>) -> Result<Vec<LimitOverride>> {
        let limits = self.policy().limits().len();
        let Some(index) = index else { return Ok(vec![LimitOverride::Remove; limits]) };
        self.limit_at(index)?;
        let mut changes = vec![LimitOverride::Keep; limits];
        changes[index] = LimitOverride::Remove;
        Ok(changes)
    }

    /// Returns the budgets for [`apply_report`](Self::apply_report) with the remaining units and the numbers of one
    /// limit.
    ///
    /// An amount or interval that is not given stays as in the policy.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, UpstreamReport};
    /// let api = Paddlegate::memory().window("api", 100, Duration::from_secs(60))?;
    /// let budgets = api.budget_updates(0, Some(7), None, None, None)?;
    /// api.apply_report(UpstreamReport { budgets: &budgets, ..UpstreamReport::default() })?;
    /// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(7));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn budget_updates(
        &self,
        index: usize,
        remaining: Option<u64>,
        amount: Option<u64>,
        interval: Option<Micros>,
        reset: Option<Deadline>,
    ) -> Result<Vec<BudgetUpdate>> {
        let known = self.limit_at(index)?;
        let numbers = (amount, interval) != (None, None);
        let limit = numbers.then(|| numbered(known, amount, interval)).transpose()?;
        let mut budgets = vec![BudgetUpdate::default(); index + 1];
        budgets[index] = BudgetUpdate { remaining, limit, reset };
        Ok(budgets)
    }

    fn limit_at(&self, index: usize) -> Result<&Limit> {
        let limits = self.policy().limits();
        limits.get(index).ok_or_else(|| {
            let message = format!("must be below the number of limits: index={index} limits={}", limits.len());
            Error::invalid("index", message)
        })
    }
}

/// Returns the limit with other numbers. Its errors name the arguments of the public methods.
fn numbered(known: &Limit, amount: Option<u64>, interval: Option<Micros>) -> Result<Limit> {
    let given = amount.is_some();
    let (amount, interval) = (amount.unwrap_or(known.amount()), interval.unwrap_or(known.interval().min(MAX_SPAN)));
    Limit::of_kind(known.kind(), amount, interval, known.offset()).map_err(|error| match error.argument() {
        Some("limit" | "capacity") if given => Error::invalid("limit", error.message()),
        _ => Error::invalid("interval", error.message()),
    })
}
