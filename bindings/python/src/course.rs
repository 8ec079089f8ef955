//! `MultiStepCall`: a procedure of several operations, run to completion or, for an event loop, call by call.

use std::sync::{Arc, Mutex};

use paddlegate::formats::invantive::{GateCheck, GateDecision, Level};
use paddlegate::formats::ojs::{OverrideProcedure, PauseProcedure};
use paddlegate::store::redis::Redis;
use paddlegate::{Answer, Batch, Error, Kind, MultiStep, Prepared, SignalHandling};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::argument::{OptionalArg, text, texts, time};
use crate::call::{Call, OnComplete};
use crate::decision::{Decision, seconds};
use crate::error::Result;
use crate::gate::{Gate, RequestAttributes};
use crate::limiter::Limiter;
use crate::line::locked;
use crate::live;
use crate::signals::interruptible;

/// What takes several operations, of which each depends on the answers before it.
///
/// It is run once.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct MultiStepCall(Arc<CallState>);

/// The state of a procedure, shared with its calls.
pub(crate) struct CallState {
    redis: Option<Arc<Redis>>,
    /// Never locked while Python code can run; `None` after completion.
    steps: Mutex<Option<Procedure>>,
}

enum Procedure {
    Gate(GateCheck),
    Jobs(Batch),
    Override(OverrideProcedure),
    Signal(PauseProcedure),
}

/// The result of a procedure.
enum CallOutcome {
    GateDecision(GateDecision),
    Decisions(Vec<Decision>),
    RuntimeState(live::RuntimeState),
    Signal(bool),
}

/// Fields of a gate decision: allowed, delay in seconds, slot, level, retry after in seconds, kind of the limit that
/// refused.
type Shown = (bool, f64, Option<String>, Option<&'static str>, Option<f64>, Option<&'static str>);

#[pymethods]
impl MultiStepCall {
    /// Ask whether a request may pass a gate.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn pass_gate(gate: &Gate, facts: RequestAttributes<'_>, at_us: OptionalArg) -> Result<Self> {
        let passage = gate.start(&facts, time(at_us)?)?;
        Ok(Self::new(gate.redis.as_ref(), Procedure::Gate(passage)))
    }

    /// Ask about jobs of which all run or none.
    #[staticmethod]
    fn jobs(limiter: &Limiter, ids: &Bound<'_, PyAny>, on_limit: OptionalArg) -> Result<Self> {
        let (ids, on_limit) = (texts("ids", ids)?, limiter.on_jobs(on_limit)?);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Ok(Self::new(limiter.redis.as_ref(), Procedure::Jobs(limiter.inner.batch(&ids, on_limit, false))))
    }

    /// Override limits as a document of Open Job Spec says.
    #[staticmethod]
    fn apply_ojs_override(limiter: &Limiter, document: &Bound<'_, PyAny>, at_us: OptionalArg) -> Result<Self> {
        let amendment = limiter.inner.amendment(text("document", document)?, time(at_us)?)?;
        Ok(Self::new(limiter.redis.as_ref(), Procedure::Override(amendment)))
    }

    /// Pause as the failure of a job of Open Job Spec says.
    #[staticmethod]
    fn apply_ojs_signal(limiter: &Limiter, document: &Bound<'_, PyAny>, at_us: OptionalArg) -> Result<Self> {
        let signalling = limiter.inner.signalling(text("document", document)?, time(at_us)?)?;
        Ok(Self::new(limiter.redis.as_ref(), Procedure::Signal(signalling)))
    }

    /// Run it to its end.
    fn run<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let steps = locked(&self.0.steps).take().ok_or_else(twice)?;
        if self.0.redis.is_none() {
            return Ok(steps.run(SignalHandling::Ignore)?.shown(py)?);
        }
        Ok(interruptible(py, |interrupt| steps.run(interrupt))?.shown(py)?)
    }

    /// Start it: what comes of it, or the first call to carry to the server.
    fn begin<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.0.next(py)
    }
}

impl MultiStepCall {
    fn new(redis: Option<&Arc<Redis>>, steps: Procedure) -> Self {
        Self(Arc::new(CallState { redis: redis.cloned(), steps: Mutex::new(Some(steps)) }))
    }
}

impl CallState {
    /// Applies the result of a call of this procedure. Returns the outcome or the next call.
    pub(crate) fn told<'py>(
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
                        let then = OnComplete { fallback: limiter.fallback(&operation), course: Some(self.clone()) };
                        drop(steps);
                        return Ok(Call::next(redis, call, then).into_bound_py_any(py)?);
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
        Ok(outcome.shown(py)?)
    }
}

impl MultiStep for Procedure {
    type Output = CallOutcome;

    fn step(&self) -> Option<(&paddlegate::Limiter, paddlegate::Operation<'_>)> {
        match self {
            Self::Gate(steps) => steps.step(),
            Self::Jobs(steps) => steps.step(),
            Self::Override(steps) => steps.step(),
            Self::Signal(steps) => steps.step(),
        }
    }

    fn on_reply(&mut self, outcome: paddlegate::Result<Answer>) {
        match self {
            Self::Gate(steps) => steps.on_reply(outcome),
            Self::Jobs(steps) => steps.on_reply(outcome),
            Self::Override(steps) => steps.on_reply(outcome),
            Self::Signal(steps) => steps.on_reply(outcome),
        }
    }

    fn outcome(self) -> paddlegate::Result<CallOutcome> {
        Ok(match self {
            Self::Gate(steps) => CallOutcome::GateDecision(steps.outcome()?),
            Self::Jobs(steps) => CallOutcome::Decisions(
                steps.outcome()?.into_iter().map(|admission| Decision(admission.decision)).collect(),
            ),
            Self::Override(steps) => CallOutcome::RuntimeState(live::runtime_state(&steps.outcome()?)),
            Self::Signal(steps) => CallOutcome::Signal(steps.outcome()?),
        })
    }
}

impl CallOutcome {
    fn shown(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::GateDecision(verdict) => verdict_shown(verdict).into_bound_py_any(py),
            Self::Decisions(decisions) => decisions.into_bound_py_any(py),
            Self::RuntimeState(controls) => controls.into_bound_py_any(py),
            Self::Signal(is_signal) => is_signal.into_bound_py_any(py),
        }
    }
}

fn verdict_shown(it: GateDecision) -> Shown {
    let (level, reason) = (it.level.map(Level::name), it.reason.map(Kind::name));
    (it.allowed, seconds(it.delay), it.slot, level, it.retry_after.map(seconds), reason)
}

fn twice() -> Error {
    Error::internal("the steps were run twice")
}
