//! Changes to the runtime state of a limiter: admin commands, and reports of an upstream's budget.

use paddlegate::{AdminRequest, Answer, LimitNumbers, Result, RuntimeState};
use wasm_bindgen::prelude::*;

use crate::argument::{deadline, millis, number, one_deadline, optional, text, whole};
use crate::host::Thrown;
use crate::limiter::{Limiter, unexpected};
use crate::store::Limit;

#[wasm_bindgen]
impl Limiter {
    /// Pauses for a number of milliseconds, or until a time in milliseconds since 1970. Returns the runtime state.
    pub fn pause(&self, after: &JsValue, until: &JsValue) -> Thrown<JsValue> {
        self.changed(|| Ok(AdminRequest::Pause(one_deadline(("for", after), ("until", until))?)))
    }

    /// Ends a pause. Returns the runtime state.
    pub fn resume(&self) -> Thrown<JsValue> {
        self.changed(|| Ok(AdminRequest::Resume))
    }

    /// Overrides values of one limit of the policy. Returns the runtime state.
    #[wasm_bindgen(js_name = override)]
    pub fn overrule(
        &self,
        label: &JsValue,
        amount: &JsValue,
        interval: &JsValue,
        after: &JsValue,
        until: &JsValue,
    ) -> Thrown<JsValue> {
        self.changed(|| {
            Ok(AdminRequest::Override {
                label: label_of(label)?,
                numbers: numbers(amount, interval, &JsValue::UNDEFINED)?,
                expires: deadline(("expires_in", after), ("expires_at", until))?,
            })
        })
    }

    /// Overrides limits by their labels, also such that the policy does not have. Returns the runtime state.
    #[wasm_bindgen(js_name = overrideLimits)]
    pub fn override_limits(&self, limits: Vec<Limit>, after: &JsValue, until: &JsValue) -> Thrown<JsValue> {
        self.changed(|| {
            Ok(AdminRequest::OverrideLimits {
                limits: limits.into_iter().map(|limit| limit.0).collect(),
                expires: deadline(("expires_in", after), ("expires_at", until))?,
            })
        })
    }

    /// Removes the overrides of one label or all; the policy or the learned limits apply again. Returns the runtime
    /// state.
    pub fn restore(&self, label: &JsValue) -> Thrown<JsValue> {
        self.changed(|| Ok(AdminRequest::Restore(label_of(label)?)))
    }

    /// Returns the runtime state.
    #[wasm_bindgen(js_name = runtimeState)]
    pub fn runtime_state(&self) -> Thrown<JsValue> {
        self.changed(|| Ok(AdminRequest::Get))
    }

    /// Applies the upstream's report of the budget behind one limit. Returns the result.
    #[allow(clippy::too_many_arguments)]
    #[wasm_bindgen(js_name = reportBudget)]
    pub fn report_budget(
        &self,
        label: &JsValue,
        remaining: &JsValue,
        amount: &JsValue,
        interval: &JsValue,
        rate: &JsValue,
        after: &JsValue,
        until: &JsValue,
        permit: &JsValue,
    ) -> Thrown<JsValue> {
        self.reported(|| {
            Ok(AdminRequest::ReportBudget {
                label: label_of(label)?,
                remaining: optional(remaining, |units| whole("remaining", units))?,
                numbers: numbers(amount, interval, rate)?,
                reset: deadline(("reset_in", after), ("reset_at", until))?,
                permit: optional(permit, |permit| text("permit", permit))?,
            })
        })
    }
}

impl Limiter {
    fn changed(&self, request: impl FnOnce() -> Result<AdminRequest>) -> Thrown<JsValue> {
        let state = self.answer(request).and_then(|answer| match answer {
            Answer::RuntimeState(state) => Ok(*state),
            _ => Err(unexpected()),
        });
        self.thrown(state).map(|state: RuntimeState| self.host.in_force(&state))
    }

    /// Runs a report of the upstream and returns its result.
    pub(crate) fn reported(&self, request: impl FnOnce() -> Result<AdminRequest>) -> Thrown<JsValue> {
        let learned = self.answer(request).and_then(|answer| match answer {
            Answer::Report(learned) => Ok(self.host.report(*learned)),
            _ => Err(unexpected()),
        });
        self.thrown(learned)
    }

    fn answer(&self, request: impl FnOnce() -> Result<AdminRequest>) -> Result<Answer> {
        request()?.operation(&self.inner, |operation| self.run(operation))
    }
}

fn numbers(amount: &JsValue, interval: &JsValue, rate: &JsValue) -> Result<LimitNumbers> {
    Ok(LimitNumbers {
        amount: optional(amount, |amount| whole("limit", amount))?,
        interval: optional(interval, |interval| millis("interval", interval))?,
        rate: optional(rate, |rate| number("restore_rate", rate))?,
    })
}

fn label_of(label: &JsValue) -> Result<Option<String>> {
    optional(label, |label| text("label", label))
}
