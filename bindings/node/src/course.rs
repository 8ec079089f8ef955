//! `MultiStepCall`: a procedure of several operations; JavaScript performs one after the other.

use std::cell::RefCell;
use std::rc::Rc;

use napi_derive::napi;
use paddlegate::formats::invantive::{self, GateCheck};
use paddlegate::formats::ojs::{OverrideProcedure, PauseProcedure};
use paddlegate::{Admission, Answer, Batch, Error, Limiter, MultiStep, Operation, RuntimeState};

use crate::calls::Calls;
use crate::convert::{Code, thrown, to_millis};
use crate::order::InForce;

type Result<T> = napi::Result<T, Code>;

/// The procedure, shared with its pending calls; `None` after its outcome was taken.
pub(crate) type CallState = Rc<RefCell<Option<Procedure>>>;

pub(crate) enum Procedure {
    Gate(GateCheck),
    Jobs(Batch),
    Override(OverrideProcedure),
    Signal(PauseProcedure),
}

/// The result of a procedure.
pub(crate) enum CallOutcome {
    GateDecision(invantive::GateDecision),
    Jobs(Vec<Admission>),
    Override(Box<RuntimeState>),
    Signal(bool),
}

/// What takes several operations. Call `next` until it gives 0, then for its outcome.
#[napi]
pub struct MultiStepCall {
    calls: Rc<RefCell<Calls>>,
    way: CallState,
    admitted: Vec<Admission>,
}

/// What becomes of a request at a gate.
#[napi(object, object_from_js = false)]
pub struct GateDecision {
    pub allowed: bool,
    pub delay_ms: f64,
    pub slot: Option<String>,
    pub level: Option<&'static str>,
    pub retry_after_ms: Option<f64>,
    pub reason: Option<&'static str>,
}

#[napi]
impl MultiStepCall {
    /// Starts the next call and gives its ticket; 0 when there is none.
    #[napi(catch_unwind)]
    pub fn next(&self) -> i32 {
        self.calls.borrow_mut().advance(&self.way)
    }

    /// What becomes of the request.
    #[napi(catch_unwind)]
    pub fn verdict(&self) -> Result<GateDecision> {
        match self.outcome()? {
            CallOutcome::GateDecision(verdict) => Ok(verdict.into()),
            _ => Err(thrown(&other())),
        }
    }

    /// How many jobs were asked about; `admission` tells of each.
    #[napi(catch_unwind)]
    pub fn admissions(&mut self) -> Result<u32> {
        let CallOutcome::Jobs(admitted) = self.outcome()? else { return Err(thrown(&other())) };
        self.admitted = admitted;
        u32::try_from(self.admitted.len()).map_err(|_| thrown(&other()))
    }

    /// Puts the decision about a job into the first row, as if it were the answer to a call at once.
    #[napi(catch_unwind)]
    pub fn admission(&self, index: u32) {
        if let Some(admission) = self.admitted.get(index as usize) {
            self.calls.borrow_mut().show(admission.clone());
        }
    }

    /// What is in force after an override.
    #[napi(catch_unwind)]
    pub fn runtime_state(&self) -> Result<InForce> {
        match self.outcome()? {
            CallOutcome::Override(controls) => Ok(InForce::from(&*controls)),
            _ => Err(thrown(&other())),
        }
    }

    /// Whether there was a signal.
    #[napi(catch_unwind)]
    pub fn apply_ojs_signal(&self) -> Result<bool> {
        match self.outcome()? {
            CallOutcome::Signal(is_signal) => Ok(is_signal),
            _ => Err(thrown(&other())),
        }
    }
}

impl MultiStepCall {
    pub(crate) fn new(calls: &Rc<RefCell<Calls>>, steps: Procedure) -> Self {
        Self { calls: Rc::clone(calls), way: Rc::new(RefCell::new(Some(steps))), admitted: Vec::new() }
    }

    fn outcome(&self) -> Result<CallOutcome> {
        let steps = self.way.borrow_mut().take().ok_or_else(other);
        steps.and_then(MultiStep::outcome).map_err(|error| thrown(&error))
    }
}

impl MultiStep for Procedure {
    type Output = CallOutcome;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
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
            Self::Jobs(steps) => CallOutcome::Jobs(steps.outcome()?),
            Self::Override(steps) => CallOutcome::Override(Box::new(steps.outcome()?)),
            Self::Signal(steps) => CallOutcome::Signal(steps.outcome()?),
        })
    }
}

impl From<invantive::GateDecision> for GateDecision {
    fn from(it: invantive::GateDecision) -> Self {
        Self {
            allowed: it.allowed,
            delay_ms: to_millis(it.delay),
            slot: it.slot,
            level: it.level.map(invantive::Level::name),
            retry_after_ms: it.retry_after.map(to_millis),
            reason: it.reason.map(paddlegate::Kind::name),
        }
    }
}

fn other() -> Error {
    Error::internal("the steps have another type of outcome, or it was taken before")
}
