//! `MultiStepCall`: a procedure of several operations; JavaScript performs one after the other.

use std::cell::RefCell;
use std::rc::Rc;

use napi_derive::napi;
use paddlegate::formats::invantive;
use paddlegate::{Admission, Error, MultiStep, Procedure, ProcedureOutcome};

use crate::admin_request::InForce;
use crate::calls::Calls;
use crate::convert::{Code, thrown, to_millis};

type Result<T> = napi::Result<T, Code>;

/// The procedure, shared with its pending calls; `None` after its outcome was taken.
pub(crate) type CallState = Rc<RefCell<Option<Procedure>>>;

/// A procedure of several operations. Call `next` until it returns 0, then the method for its outcome.
#[napi]
pub struct MultiStepCall {
    calls: Rc<RefCell<Calls>>,
    state: CallState,
    admitted: Vec<Admission>,
}

/// The decision about a request at a gate.
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
    /// Starts the next call. Returns its ticket; 0 when there is none.
    #[napi(catch_unwind)]
    pub fn next(&self) -> i32 {
        self.calls.borrow_mut().advance(&self.state)
    }

    /// Returns the decision about a request at a gate.
    #[napi(catch_unwind)]
    pub fn gate_decision(&self) -> Result<GateDecision> {
        match self.outcome()? {
            ProcedureOutcome::Gate(decision) => Ok(decision.into()),
            _ => Err(thrown(&other())),
        }
    }

    /// Returns the number of jobs; `admission` writes the decision about each.
    #[napi(catch_unwind)]
    pub fn admissions(&mut self) -> Result<u32> {
        let ProcedureOutcome::Jobs(admitted) = self.outcome()? else { return Err(thrown(&other())) };
        self.admitted = admitted;
        u32::try_from(self.admitted.len()).map_err(|_| thrown(&other()))
    }

    /// Writes the decision about a job to the first row, like the answer to a call that completed at once.
    #[napi(catch_unwind)]
    pub fn admission(&self, index: u32) {
        if let Some(admission) = self.admitted.get(index as usize) {
            self.calls.borrow_mut().show(admission.clone());
        }
    }

    /// Returns the runtime state after an override.
    #[napi(catch_unwind)]
    pub fn runtime_state(&self) -> Result<InForce> {
        match self.outcome()? {
            ProcedureOutcome::Override(state) => Ok(InForce::from(&state)),
            _ => Err(thrown(&other())),
        }
    }

    /// Returns whether the document was a signal to pause.
    #[napi(catch_unwind)]
    pub fn apply_ojs_signal(&self) -> Result<bool> {
        match self.outcome()? {
            ProcedureOutcome::Pause(is_signal) => Ok(is_signal),
            _ => Err(thrown(&other())),
        }
    }
}

impl MultiStepCall {
    pub(crate) fn new(calls: &Rc<RefCell<Calls>>, steps: Procedure) -> Self {
        Self { calls: Rc::clone(calls), state: Rc::new(RefCell::new(Some(steps))), admitted: Vec::new() }
    }

    fn outcome(&self) -> Result<ProcedureOutcome> {
        let steps = self.state.borrow_mut().take().ok_or_else(other);
        steps.and_then(MultiStep::outcome).map_err(|error| thrown(&error))
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
            reason: it.reason.map(paddlegate::Reason::name),
        }
    }
}

fn other() -> Error {
    Error::internal("the steps have another type of outcome, or it was taken before")
}
