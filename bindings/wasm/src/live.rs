//! Changes to the runtime state of a limiter: admin commands, and reports of an upstream's budget.

use paddlegate::{
    AdminCommand, Answer, Deadline, Error, Limit, LimitOverride, Micros, Operation, Result, RuntimeState,
    UpstreamReport,
};
use wasm_bindgen::prelude::*;

use crate::argument::{deadline, millis, number, optional, text, time, whole};
use crate::host::Thrown;
use crate::limiter::{Limiter, unexpected};

#[wasm_bindgen]
impl Limiter {
    /// Pauses for a number of milliseconds, or until a time in milliseconds since 1970. Returns the runtime state.
    pub fn pause(&self, after: &JsValue, until: &JsValue, at: &JsValue) -> Thrown<JsValue> {
        let deadline = deadline(("for", after), ("until", until))
            .and_then(|deadline| deadline.ok_or_else(|| Error::invalid("for", "give how long, or until when")));
        self.state(deadline.and_then(|deadline| self.run_command(AdminCommand::Pause(deadline), at)))
    }

    /// Ends a pause. Returns the runtime state.
    pub fn resume(&self, at: &JsValue) -> Thrown<JsValue> {
        self.state(self.run_command(AdminCommand::Resume, at))
    }

    /// Overrides values of the policy. Returns the runtime state.
    #[wasm_bindgen(js_name = override)]
    pub fn overrule(
        &self,
        index: &JsValue,
        amount: &JsValue,
        interval: &JsValue,
        after: &JsValue,
        until: &JsValue,
        at: &JsValue,
    ) -> Thrown<JsValue> {
        let changes = index_of(index).and_then(|index| {
            let (amount, interval) = numbers(amount, interval)?;
            self.limiter.override_changes(index.unwrap_or_default(), amount, interval)
        });
        self.state(
            changes
                .and_then(|changes| self.change(&changes, deadline(("expires_in", after), ("expires_at", until))?, at)),
        )
    }

    /// Removes the overrides of one limit or of all; the policy or the learned limits apply again. Returns the runtime
    /// state.
    pub fn restore(&self, index: &JsValue, at: &JsValue) -> Thrown<JsValue> {
        let changes = index_of(index).and_then(|index| self.limiter.override_removals(index));
        self.state(changes.and_then(|changes| self.change(&changes, None, at)))
    }

    /// Returns the runtime state.
    #[wasm_bindgen(js_name = runtimeState)]
    pub fn runtime_state(&self, at: &JsValue) -> Thrown<JsValue> {
        self.state(self.run_command(AdminCommand::Get, at))
    }

    /// Applies the upstream's report of the budget behind one limit. Returns the result.
    #[allow(clippy::too_many_arguments)]
    #[wasm_bindgen(js_name = reportBudget)]
    pub fn report_budget(
        &self,
        index: &JsValue,
        remaining: &JsValue,
        amount: &JsValue,
        interval: &JsValue,
        rate: &JsValue,
        after: &JsValue,
        until: &JsValue,
        permit: &JsValue,
        at: &JsValue,
    ) -> Thrown<JsValue> {
        let reported = || {
            let index = index_of(index)?.unwrap_or_default();
            let (amount, interval) = numbers(amount, interval)?;
            let interval = self.refill(index, amount, interval, rate)?;
            let (remaining, reset) = (
                optional(remaining, |units| whole("remaining", units))?,
                deadline(("reset_in", after), ("reset_at", until))?,
            );
            let budgets = self.limiter.budget_updates(index, remaining, amount, interval, reset)?;
            let permit = optional(permit, |permit| text("permit", permit))?;
            let report = UpstreamReport { permit: permit.as_deref(), budgets: &budgets, ..UpstreamReport::default() };
            self.apply_report(Operation::ApplyReport { report, at: time(at)? })
        };
        self.thrown(reported())
    }
}

impl Limiter {
    fn change(&self, changes: &[LimitOverride], expires: Option<Deadline>, at: &JsValue) -> Result<RuntimeState> {
        self.run_command(AdminCommand::Override { changes, expires }, at)
    }

    fn run_command(&self, command: AdminCommand<'_>, at: &JsValue) -> Result<RuntimeState> {
        match self.run(Operation::Admin { command, at: time(at)? })? {
            Answer::RuntimeState(controls) => Ok(*controls),
            _ => Err(unexpected()),
        }
    }

    fn state(&self, controls: Result<RuntimeState>) -> Thrown<JsValue> {
        self.thrown(controls).map(|controls| self.host.in_force(&controls))
    }

    /// Returns the interval, which may be given as a rate.
    fn refill(
        &self,
        index: usize,
        amount: Option<u64>,
        interval: Option<Micros>,
        rate: &JsValue,
    ) -> Result<Option<Micros>> {
        let Some(rate) = optional(rate, |rate| number("restore_rate", rate))? else { return Ok(interval) };
        if interval.is_some() {
            return Err(Error::invalid("restore_rate", "says the same as the interval, give one"));
        }
        let known = || self.limiter.policy().limits().get(index).map(Limit::amount);
        Micros::of_rate("restore_rate", amount.or_else(known).unwrap_or_default(), rate).map(Some)
    }
}

fn numbers(amount: &JsValue, interval: &JsValue) -> Result<(Option<u64>, Option<Micros>)> {
    Ok((
        optional(amount, |amount| whole("limit", amount))?,
        optional(interval, |interval| millis("interval", interval))?,
    ))
}

fn index_of(index: &JsValue) -> Result<Option<usize>> {
    let index = optional(index, |index| whole("index", index))?;
    Ok(index.map(|index| usize::try_from(index).unwrap_or(usize::MAX)))
}
