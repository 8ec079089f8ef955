//! `Procedure`: every sequence of operations behind one type, for bindings that hold one without knowing which.

use crate::base::error::Result;
use crate::client::admission::Admission;
use crate::client::batch::Batch;
use crate::client::limiter::Limiter;
use crate::client::multi_step::MultiStep;
use crate::formats::invantive::{GateCheck, GateDecision};
use crate::formats::ojs::{OverrideProcedure, PauseProcedure};
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::RuntimeState;

/// A sequence of operations of any type.
#[derive(Debug)]
pub enum Procedure {
    /// Checks a request at a gate.
    Gate(GateCheck),
    /// Admits jobs.
    Jobs(Batch),
    /// Applies an override of Open Job Spec.
    Override(OverrideProcedure),
    /// Applies a pause signal of Open Job Spec.
    Pause(PauseProcedure),
}

/// The result of a [`Procedure`].
#[derive(Debug)]
pub enum ProcedureOutcome {
    /// The decision of a gate.
    Gate(GateDecision),
    /// The admission of each job, in their order.
    Jobs(Vec<Admission>),
    /// The runtime state after an override.
    Override(RuntimeState),
    /// Whether the document was a signal to pause.
    Pause(bool),
}

impl MultiStep for Procedure {
    type Output = ProcedureOutcome;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        match self {
            Self::Gate(steps) => steps.step(),
            Self::Jobs(steps) => steps.step(),
            Self::Override(steps) => steps.step(),
            Self::Pause(steps) => steps.step(),
        }
    }

    fn on_reply(&mut self, outcome: Result<Answer>) {
        match self {
            Self::Gate(steps) => steps.on_reply(outcome),
            Self::Jobs(steps) => steps.on_reply(outcome),
            Self::Override(steps) => steps.on_reply(outcome),
            Self::Pause(steps) => steps.on_reply(outcome),
        }
    }

    fn outcome(self) -> Result<ProcedureOutcome> {
        Ok(match self {
            Self::Gate(steps) => ProcedureOutcome::Gate(steps.outcome()?),
            Self::Jobs(steps) => ProcedureOutcome::Jobs(steps.outcome()?),
            Self::Override(steps) => ProcedureOutcome::Override(steps.outcome()?),
            Self::Pause(steps) => ProcedureOutcome::Pause(steps.outcome()?),
        })
    }
}
