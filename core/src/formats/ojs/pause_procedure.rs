//! `PauseProcedure`: the steps that apply a signal to a limiter.

use super::signal::Signal;
use crate::base::error::Result;
use crate::base::micros::{MAX_TIME, Micros};
use crate::client::limiter::Limiter;
use crate::client::multi_step::MultiStep;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::{AdminCommand, Deadline};
use crate::store::signal_handling::SignalHandling;

/// The length of the pause for a signal without a time.
pub const SIGNAL_PAUSE: Micros = Micros(30_000_000);

/// The steps that apply a [`Signal`] to a limiter: one pause per time in the signal; the later end applies.
#[derive(Clone, Debug)]
pub struct PauseProcedure {
    limiter: Limiter,
    /// In reverse order: the last element is the next step.
    pauses: Vec<Deadline>,
    is_signal: Result<bool>,
}

impl Limiter {
    /// Pauses the limiter if the document is an Open Job Spec rate limit failure. Returns whether it is one.
    ///
    /// See [`Signal::parse`] for the document. Without a time the pause lasts [`SIGNAL_PAUSE`]; a current pause with a
    /// later end stays. `Invalid` contains the JSON path of a fault.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Reason, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// assert!(!api.apply_ojs_signal(r#"{ "type": "timeout" }"#)?);
    /// assert!(api.apply_ojs_signal(r#"{ "type": "rate_limited", "retry_after": 30 }"#)?);
    /// assert_eq!(api.try_acquire(Request::cost(1))?.reason, Some(Reason::Paused));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn apply_ojs_signal(&self, document: &str) -> Result<bool> {
        self.pause_procedure(document)?.run(SignalHandling::Ignore)
    }

    /// [`signal`](Self::apply_ojs_signal) for hosts that perform each step's I/O.
    pub fn pause_procedure(&self, document: &str) -> Result<PauseProcedure> {
        let signal = Signal::parse(document)?;
        Ok(PauseProcedure {
            limiter: self.clone(),
            pauses: signal.map(pauses).unwrap_or_default(),
            is_signal: Ok(signal.is_some()),
        })
    }
}

impl MultiStep for PauseProcedure {
    type Output = bool;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        let command = AdminCommand::Pause(*self.pauses.last()?);
        Some((&self.limiter, Operation::Admin { command }))
    }

    fn on_reply(&mut self, outcome: Result<Answer>) {
        self.pauses.pop();
        if let Err(error) = outcome {
            self.pauses.clear();
            self.is_signal = Err(error);
        }
    }

    fn outcome(self) -> Result<bool> {
        self.is_signal
    }
}

fn pauses(signal: Signal) -> Vec<Deadline> {
    let after = match (signal.retry_after, signal.until) {
        (None, None) => Some(SIGNAL_PAUSE),
        // A pause of zero length has no effect.
        (after, _) => after.filter(|after| *after > Micros(0)),
    };
    // A time that has passed is no pause.
    let until = signal.until.map(|at| Deadline::Within { at, most: MAX_TIME });
    until.into_iter().chain(after.map(Deadline::After)).collect()
}
