//! Changes to the runtime state of a limiter: admin commands, and reports of an upstream's budget.

use paddlegate::{AdminRequest, Answer, Deadline, LimitNumbers, Mode, Result};
use wasm_bindgen::prelude::*;

use crate::argument::{deadline, limits as limits_of, millis, number, one_deadline, optional, text, whole};
use crate::host::Thrown;
use crate::limiter::{Limiter, unexpected};

#[wasm_bindgen]
impl Limiter {
    /// Pauses for a number of milliseconds, or until a time in milliseconds since 1970. Returns the runtime state.
    pub fn pause(&self, after: &JsValue, until: &JsValue) -> Thrown<JsValue> {
        self.changed(one_deadline(("for", after), ("until", until)).map(AdminRequest::Pause))
    }

    /// Blocks for a number of milliseconds, or until a time in milliseconds since 1970. Returns the runtime state.
    pub fn block(&self, after: &JsValue, until: &JsValue) -> Thrown<JsValue> {
        self.changed(one_deadline(("for", after), ("until", until)).map(AdminRequest::Block))
    }

    /// Ends a pause and a block. Returns the runtime state.
    pub fn resume(&self) -> Thrown<JsValue> {
        self.changed(Ok(AdminRequest::Resume))
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
        let request = || {
            Ok(AdminRequest::Override {
                label: label_of(label)?,
                numbers: numbers(amount, interval, &JsValue::UNDEFINED)?,
                expires: expiry(after, until)?,
            })
        };
        self.changed(request())
    }

    /// Overrides limits by their labels, also such that the policy does not have. Returns the runtime state.
    #[wasm_bindgen(js_name = overrideLimits)]
    pub fn override_limits(&self, limits: &JsValue, after: &JsValue, until: &JsValue) -> Thrown<JsValue> {
        let request =
            || Ok(AdminRequest::OverrideLimits { limits: limits_of(limits)?, expires: expiry(after, until)? });
        self.changed(request())
    }

    /// Overrides the mode. Returns the runtime state.
    #[wasm_bindgen(js_name = overrideMode)]
    pub fn override_mode(&self, mode: &JsValue, after: &JsValue, until: &JsValue) -> Thrown<JsValue> {
        let request = || {
            let mode = Mode::from_name(&text("mode", mode)?)?;
            Ok(AdminRequest::OverrideMode { mode, expires: expiry(after, until)? })
        };
        self.changed(request())
    }

    /// Removes the override of the mode. Returns the runtime state.
    #[wasm_bindgen(js_name = restoreMode)]
    pub fn restore_mode(&self) -> Thrown<JsValue> {
        self.changed(Ok(AdminRequest::RestoreMode))
    }

    /// Removes the overrides of one label or all; the policy or the learned limits apply again. Returns the runtime
    /// state.
    pub fn restore(&self, label: &JsValue) -> Thrown<JsValue> {
        self.changed(label_of(label).map(AdminRequest::Restore))
    }

    /// Returns the runtime state.
    #[wasm_bindgen(js_name = runtimeState)]
    pub fn runtime_state(&self) -> Thrown<JsValue> {
        self.changed(Ok(AdminRequest::Get))
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
        let request = || {
            Ok(AdminRequest::ReportBudget {
                label: label_of(label)?,
                remaining: optional(remaining, |units| whole("remaining", units))?,
                numbers: numbers(amount, interval, rate)?,
                reset: deadline(("reset_in", after), ("reset_at", until))?,
                permit: optional(permit, |permit| text("permit", permit))?,
            })
        };
        self.reported(request())
    }
}

impl Limiter {
    fn changed(&self, request: Result<AdminRequest>) -> Thrown<JsValue> {
        let state = self.answer(request).and_then(|answer| match answer {
            Answer::RuntimeState(state) => Ok(self.host.in_force(&state)),
            _ => Err(unexpected()),
        });
        self.thrown(state)
    }

    /// Runs a report of the upstream and returns its result.
    pub(crate) fn reported(&self, request: Result<AdminRequest>) -> Thrown<JsValue> {
        let learned = self.answer(request).and_then(|answer| match answer {
            Answer::Report(learned) => Ok(self.host.report(*learned)),
            _ => Err(unexpected()),
        });
        self.thrown(learned)
    }

    fn answer(&self, request: Result<AdminRequest>) -> Result<Answer> {
        request?.operation(&self.inner, |operation| self.run(operation))
    }
}

fn expiry(after: &JsValue, until: &JsValue) -> Result<Option<Deadline>> {
    deadline(("expires_in", after), ("expires_at", until))
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
