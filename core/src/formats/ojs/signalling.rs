//! `PauseProcedure`: a signal on its way to a limiter.

use super::signal::Signal;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::multi_step::MultiStep;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::{AdminCommand, Deadline};
use crate::store::signal_handling::SignalHandling;

/// How long a signal without a time pauses.
pub const SIGNAL_PAUSE: Micros = Micros(30_000_000);

/// A [`Signal`] on its way to a limiter: a pause for each time that it names, of which the later holds.
#[derive(Clone, Debug)]
pub struct PauseProcedure {
    limiter: Limiter,
    /// The next one last.
    pauses: Vec<Deadline>,
    /// As in [`Request::at`](crate::Request::at).
    at: Option<Micros>,
    is_signal: Result<bool>,
}

impl Limiter {
    /// Pauses as the failure of an Open Job Spec job says, and answers true; false when it is no signal of a rate limit.
    ///
    /// The document is that of [`Signal::parse`]. Without a time the pause lasts [`SIGNAL_PAUSE`]; a pause that ends later
    /// stays. `Invalid` names the path to what is wrong; `at` is as in [`Request::at`](crate::Request::at).
    pub fn signal(&self, document: &str, at: Option<Micros>) -> Result<bool> {
        self.signalling(document, at)?.run(SignalHandling::Ignore)
    }

    /// [`signal`](Self::signal) for hosts that carry each step themselves.
    pub fn signalling(&self, document: &str, at: Option<Micros>) -> Result<PauseProcedure> {
        let signal = Signal::parse(document)?;
        Ok(PauseProcedure {
            limiter: self.clone(),
            pauses: signal.map(pauses).unwrap_or_default(),
            at,
            is_signal: Ok(signal.is_some()),
        })
    }
}

impl MultiStep for PauseProcedure {
    type Output = bool;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        let command = AdminCommand::Pause(*self.pauses.last()?);
        Some((&self.limiter, Operation::Admin { command, at: self.at }))
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
        // At once is no pause.
        (after, _) => after.filter(|after| *after > Micros(0)),
    };
    signal.until.map(Deadline::At).into_iter().chain(after.map(Deadline::After)).collect()
}
