//! Decisions about jobs, and about requests at a gate.

use paddlegate::formats::invantive::{self, Level, RequestAttributes};
use paddlegate::{Admission, MultiStep, OnLimit, Operation, Reason, Result, SignalHandling};
use wasm_bindgen::prelude::*;

use crate::argument::{members, millis, optional, text, with_request};
use crate::clock::StoreClock;
use crate::host::{Host, Thrown, number};
use crate::limiter::Limiter;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(method)]
    fn admission(this: &Host, action: &str, after_us: Option<f64>, decision: JsValue) -> JsValue;

    #[wasm_bindgen(method, js_name = gateDecision)]
    fn gate_decision(
        this: &Host,
        allowed: bool,
        delay_us: f64,
        slot: Option<String>,
        level: Option<&str>,
        retry_after_us: Option<f64>,
        reason: Option<&str>,
    ) -> JsValue;
}

#[wasm_bindgen]
impl Limiter {
    /// Decides about a job with its id.
    #[allow(clippy::too_many_arguments)]
    pub fn admit(
        &self,
        job: &JsValue,
        cost: &JsValue,
        estimate: &JsValue,
        settle_within: &JsValue,
        place: &JsValue,
        on_limit: &JsValue,
        claim_timeout: &JsValue,
    ) -> Thrown<JsValue> {
        let admitted = || {
            let (job, on_limit) = (text("id", job)?, action(on_limit)?);
            let claim_timeout = optional(claim_timeout, |value| millis("claim_timeout", value))?;
            let wait = Admission::wait(on_limit, claim_timeout);
            let decision = with_request(cost, estimate, settle_within, place, &mut |request| {
                self.decided(Operation::AcquireWithId { request, id: &job, wait })
            })?;
            Ok(Admission::of(decision, on_limit))
        };
        self.thrown(admitted()).map(|admission| self.admitted(&admission))
    }

    /// Decides about several jobs of one unit each.
    #[wasm_bindgen(js_name = admitAll)]
    pub fn admit_all(&self, jobs: &JsValue, on_limit: &JsValue, partial: bool) -> Thrown<Vec<JsValue>> {
        let admitted = || {
            let jobs = members(jobs).iter().map(|job| text("jobs", job)).collect::<Result<Vec<_>>>()?;
            let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
            run(&self.clock, self.inner.batch(&jobs, action(on_limit)?, partial))
        };
        self.thrown(admitted()).map(|all| all.iter().map(|admission| self.admitted(admission)).collect())
    }

    /// Applies the overrides of an Open Job Spec document. Returns the runtime state.
    #[wasm_bindgen(js_name = applyOjsOverride)]
    pub fn apply_ojs_override(&self, document: &str) -> Thrown<JsValue> {
        let steps = self.inner.override_procedure(document);
        let runtime_state = steps.and_then(|steps| run(&self.clock, steps));
        self.thrown(runtime_state).map(|runtime_state| self.host.in_force(&runtime_state))
    }

    /// Pauses the limiter after an Open Job Spec rate limit failure. Returns whether the document is one.
    #[wasm_bindgen(js_name = applyOjsSignal)]
    pub fn apply_ojs_signal(&self, document: &str) -> Thrown<bool> {
        self.thrown(self.inner.pause_procedure(document).and_then(|steps| run(&self.clock, steps)))
    }
}

impl Limiter {
    fn admitted(&self, admission: &Admission) -> JsValue {
        let after = admission.after.map(|after| number(after.0));
        self.host.admission(admission.action.name(), after, self.host.decided(&admission.decision))
    }
}

/// Selects the slot of a document that limits a request.
#[wasm_bindgen]
pub struct Gate {
    pub(crate) inner: invantive::Gate,
    pub(crate) host: Host,
    pub(crate) clock: StoreClock,
}

#[wasm_bindgen]
impl Gate {
    /// Counts a request with a list of attributes, in the order of [`ATTRIBUTES`]. Returns the decision.
    pub fn admit(&self, attributes: &JsValue) -> Thrown<JsValue> {
        let admitted = || {
            let given = members(attributes);
            let mut read = ATTRIBUTES.into_iter().zip(&given).map(|(name, value)| optional(value, |it| text(name, it)));
            let mut next = || read.next().transpose().map(Option::flatten);
            let (context, url, log_on_code, data_container_id, ip) = (next()?, next()?, next()?, next()?, next()?);
            let attributes = RequestAttributes {
                context: context.as_deref(),
                url: url.as_deref(),
                log_on_code: log_on_code.as_deref(),
                data_container_id: data_container_id.as_deref(),
                ip: ip.as_deref(),
            };
            run(&self.clock, self.inner.start(&attributes)?)
        };
        let decision = admitted().map_err(|error| self.host.error(error))?;
        Ok(self.host.gate_decision(
            decision.allowed,
            number(decision.delay.0),
            decision.slot,
            decision.level.map(Level::name),
            decision.retry_after.map(|after| number(after.0)),
            decision.reason.map(Reason::name),
        ))
    }
}

const ATTRIBUTES: [&str; 5] = ["context", "url", "logOnCode", "dataContainerId", "ip"];

fn action(on_limit: &JsValue) -> Result<OnLimit> {
    OnLimit::from_name(&text("on_limit", on_limit)?)
}

/// Runs all steps at one time.
fn run<S: MultiStep>(clock: &StoreClock, steps: S) -> Result<S::Output> {
    clock.update()?;
    steps.run(SignalHandling::Ignore)
}
