//! `MultiStepCall`: a procedure of several operations, run to completion or, for an event loop, call by call.

use std::sync::{Arc, Mutex};

use paddlegate::formats::invantive::{GateDecision, Level};
use paddlegate::store::redis::Redis;
use paddlegate::{Answer, Error, MultiStep, Prepared, Procedure, ProcedureOutcome, Reason, SignalHandling};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::argument::{OptionalArg, text, texts};
use crate::call::{Call, OnComplete};
use crate::decision::{Decision, seconds};
use crate::error::Result;
use crate::gate::{Gate, RequestAttributes};
use crate::limiter::Limiter;
use crate::line::locked;
use crate::live;
use crate::signals::interruptible;

/// A procedure of several operations, each of which depends on the answers before it.
///
/// It runs once.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct MultiStepCall(Arc<CallState>);

/// The state of a procedure, shared with its calls.
pub(crate) struct CallState {
    redis: Option<Arc<Redis>>,
    /// Never locked while Python code can run; `None` after completion.
    steps: Mutex<Option<Procedure>>,
}

/// Fields of a gate decision: allowed, delay in seconds, slot, level, retry after in seconds, kind of the limit that
/// refused.
type Shown = (bool, f64, Option<String>, Option<&'static str>, Option<f64>, Option<&'static str>);

#[pymethods]
impl MultiStepCall {
    /// Create the procedure that decides on a request at a gate.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn pass_gate(gate: &Gate, facts: RequestAttributes<'_>) -> Result<Self> {
        Ok(Self::new(gate.redis.as_ref(), Procedure::Gate(gate.start(&facts)?)))
    }

    /// Create the procedure that decides on jobs, of which all run or none.
    #[staticmethod]
    fn jobs(limiter: &Limiter, ids: &Bound<'_, PyAny>, on_limit: OptionalArg, key: OptionalArg) -> Result<Self> {
        let (ids, on_limit) = (texts("ids", ids)?, limiter.on_jobs(on_limit)?);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Ok(Self::new(limiter.redis.as_ref(), Procedure::Jobs(limiter.of_key(key)?.batch(&ids, on_limit, false))))
    }

    /// Create the procedure that applies an override of Open Job Spec.
    #[staticmethod]
    fn apply_ojs_override(limiter: &Limiter, document: &Bound<'_, PyAny>, key: OptionalArg) -> Result<Self> {
        let procedure = limiter.of_key(key)?.override_procedure(text("document", document)?)?;
        Ok(Self::new(limiter.redis.as_ref(), Procedure::Override(procedure)))
    }

    /// Create the procedure that pauses after a failed job of Open Job Spec.
    #[staticmethod]
    fn apply_ojs_signal(limiter: &Limiter, document: &Bound<'_, PyAny>, key: OptionalArg) -> Result<Self> {
        let procedure = limiter.of_key(key)?.pause_procedure(text("document", document)?)?;
        Ok(Self::new(limiter.redis.as_ref(), Procedure::Pause(procedure)))
    }

    /// Run the procedure and return its result.
    ///
    /// With `begin` return its result, or the first call to send to the server.
    fn start<'py>(&self, py: Python<'py>, begin: bool) -> Result<Bound<'py, PyAny>> {
        if begin {
            return self.0.next(py);
        }
        let steps = locked(&self.0.steps).take().ok_or_else(twice)?;
        if self.0.redis.is_none() {
            return Ok(outcome_shown(steps.run(SignalHandling::Ignore)?, py)?);
        }
        Ok(outcome_shown(interruptible(py, |interrupt| steps.run(interrupt))?, py)?)
    }
}

impl MultiStepCall {
    fn new(redis: Option<&Arc<Redis>>, steps: Procedure) -> Self {
        Self(Arc::new(CallState { redis: redis.cloned(), steps: Mutex::new(Some(steps)) }))
    }
}

impl CallState {
    /// Applies the result of a call of this procedure. Returns the outcome or the next call.
    pub(crate) fn on_reply<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        outcome: std::result::Result<Answer, Error>,
    ) -> Result<Bound<'py, PyAny>> {
        if let Some(steps) = locked(&self.steps).as_mut() {
            steps.on_reply(outcome);
        }
        self.next(py)
    }

    fn next<'py>(self: &Arc<Self>, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let outcome = {
            let mut steps = locked(&self.steps);
            loop {
                let under_way = steps.as_mut().ok_or_else(twice)?;
                let Some((limiter, operation)) = under_way.step() else { break };
                match (limiter.prepare(operation), &self.redis) {
                    (Ok(Prepared::Call(call)), Some(redis)) => {
                        let then = OnComplete { fallback: limiter.fallback(&operation), procedure: Some(self.clone()) };
                        drop(steps);
                        return Ok(Call::new(redis, call, then).into_bound_py_any(py)?);
                    }
                    (Ok(Prepared::Call(_)), None) => {
                        return Err(Error::internal("unexpected call to a server: the limiter is in memory").into());
                    }
                    (Ok(Prepared::Answered(answer)), _) => under_way.on_reply(Ok(answer)),
                    (Err(error), _) => under_way.on_reply(Err(error)),
                }
            }
            steps.take().ok_or_else(twice)?.outcome()?
        };
        Ok(outcome_shown(outcome, py)?)
    }
}

fn outcome_shown(outcome: ProcedureOutcome, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    match outcome {
        ProcedureOutcome::Gate(decision) => gate_shown(decision).into_bound_py_any(py),
        ProcedureOutcome::Jobs(admissions) => admissions
            .into_iter()
            .map(|admission| Decision(admission.decision))
            .collect::<Vec<_>>()
            .into_bound_py_any(py),
        ProcedureOutcome::Override(state) => live::runtime_state(&state).into_bound_py_any(py),
        ProcedureOutcome::Pause(is_signal) => is_signal.into_bound_py_any(py),
    }
}

fn gate_shown(it: GateDecision) -> Shown {
    let (level, reason) = (it.level.map(Level::name), it.reason.map(Reason::name));
    (it.allowed, seconds(it.delay), it.slot, level, it.retry_after.map(seconds), reason)
}

fn twice() -> Error {
    Error::internal("the steps were run twice")
}
