//! `Known`: what the store has last said of a limiter, from which a process goes on alone.

use std::sync::{Mutex, PoisonError};

use crate::clock;
use crate::control::{Control, Moment};
use crate::decision::Decision;
use crate::error::Result;
use crate::learn::Report;
use crate::limit::Kind;
use crate::limiter::Limiter;
use crate::micros::Micros;
use crate::permit::LOCAL;
use crate::request::Request;

/// The last decision of the store, until a process begins to decide alone.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Option<Said>>);

#[derive(Clone, Copy, Debug)]
struct Said {
    index: usize,
    remaining: u64,
    /// By the clock of this machine.
    paused_until: Option<Micros>,
}

impl Known {
    pub(crate) fn hear(&self, decision: &Decision) {
        let Some(remaining) = decision.remaining else { return };
        let pause = decision.retry_after.filter(|_| decision.reason == Some(Kind::Paused));
        let paused_until = pause.map(|pause| Micros(clock::now() + pause.0));
        let said = Said { index: decision.index, remaining, paused_until };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }

    /// Takes from the limits of this process what the store said was taken, once.
    ///
    /// Leases that others had count until their time is over, and so do those of this process: their release goes to the
    /// store.
    pub(crate) fn hand_over(&self, local: &Limiter) -> Result<()> {
        let Some(said) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let Some(limit) = local.policy().limits().get(said.index) else {
            let until = said.paused_until.filter(|until| until.0 > clock::now());
            return until.map_or(Ok(()), |until| local.control(Control::Pause(Moment::At(until))).map(drop));
        };
        match limit.kind() {
            Kind::Concurrency | Kind::Throttle => {
                for taken in said.remaining..limit.amount() {
                    local.enter_marked(Request::cost(1), &format!("{LOCAL}known-{taken}"))?;
                }
            }
            _ => {
                let remaining = said.remaining.min(limit.amount());
                let budgets = local.heard(said.index, Some(remaining), None, None, None)?;
                local.learn(Report { budgets: &budgets, ..Report::default() })?;
            }
        }
        Ok(())
    }
}
