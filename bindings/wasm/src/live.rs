//! Changes to the runtime state of a limiter: admin commands, and reports of an upstream's budget.

use paddlegate::{
    AdminCommand, Answer, Deadline, Error, Limit, LimitOverride, Micros, Operation, Result, RuntimeState,
    UpstreamReport,
};
use wasm_bindgen::prelude::*;

use crate::argument::{millis, moment, number, optional, text, time, whole};
use crate::host::Thrown;
use crate::limiter::{Limiter, unexpected};

#[wasm_bindgen]
impl Limiter {
    /// Grants nothing for so many milliseconds, or until a time in milliseconds since 1970; what is in force then.
    pub fn pause(&self, after: &JsValue, until: &JsValue, at: &JsValue) -> Thrown<JsValue> {
        let moment = moment(("for", after), ("until", until)).and_then(|moment| {
            moment.ok_or_else(|| Error::invalid("for", "is missing; give a duration or an end time"))
        });
        self.shown(moment.and_then(|moment| self.ordered(AdminCommand::Pause(moment), at)))
    }

    /// Ends a pause.
    pub fn resume(&self, at: &JsValue) -> Thrown<JsValue> {
        self.shown(self.ordered(AdminCommand::Resume, at))
    }

    /// Puts other numbers before those of the policy.
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
        let changes = place(index).and_then(|index| {
            let (amount, interval) = numbers(amount, interval)?;
            self.limiter.override_changes(index.unwrap_or_default(), amount, interval)
        });
        self.shown(
            changes
                .and_then(|changes| self.change(&changes, moment(("expires_in", after), ("expires_at", until))?, at)),
        )
    }

    /// The policy, or what was learned from upstream, rules again: for one limit, or for all.
    pub fn restore(&self, index: &JsValue, at: &JsValue) -> Thrown<JsValue> {
        let changes = place(index).and_then(|index| self.limiter.override_removals(index));
        self.shown(changes.and_then(|changes| self.change(&changes, None, at)))
    }

    /// What is in force.
    #[wasm_bindgen(js_name = runtimeState)]
    pub fn runtime_state(&self, at: &JsValue) -> Thrown<JsValue> {
        self.shown(self.ordered(AdminCommand::Get, at))
    }

    /// Takes over what upstream says of the budget behind one limit; what became of it.
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
        let synced = || {
            let index = place(index)?.unwrap_or_default();
            let (amount, interval) = numbers(amount, interval)?;
            let interval = self.refill(index, amount, interval, rate)?;
            let (remaining, reset) = (
                optional(remaining, |units| whole("remaining", units))?,
                moment(("reset_in", after), ("reset_at", until))?,
            );
            let budgets = self.limiter.budget_updates(index, remaining, amount, interval, reset)?;
            let permit = optional(permit, |permit| text("permit", permit))?;
            let report = UpstreamReport { permit: permit.as_deref(), budgets: &budgets, ..UpstreamReport::default() };
            self.told(Operation::ApplyReport { report, at: time(at)? })
        };
        self.thrown(synced())
    }
}

impl Limiter {
    fn change(&self, changes: &[LimitOverride], expires: Option<Deadline>, at: &JsValue) -> Result<RuntimeState> {
        self.ordered(AdminCommand::Override { changes, expires }, at)
    }

    fn ordered(&self, control: AdminCommand<'_>, at: &JsValue) -> Result<RuntimeState> {
        match self.run(Operation::Admin { command: control, at: time(at)? })? {
            Answer::RuntimeState(controls) => Ok(*controls),
            _ => Err(unexpected()),
        }
    }

    fn shown(&self, controls: Result<RuntimeState>) -> Thrown<JsValue> {
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
            return Err(Error::invalid("restore_rate", "give an interval or a rate, not both"));
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

fn place(index: &JsValue) -> Result<Option<usize>> {
    let index = optional(index, |index| whole("index", index))?;
    Ok(index.map(|index| usize::try_from(index).unwrap_or(usize::MAX)))
}
