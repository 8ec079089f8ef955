//! `Signalling`: a signal on its way to a limiter.

use super::signal::Signal;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::multi_step::Steps;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::{Control, Moment};
use crate::store::signal_handling::Interrupt;

/// How long a signal without a time pauses.
pub const SIGNAL_PAUSE: Micros = Micros(30_000_000);

/// A [`Signal`] on its way to a limiter: a pause for each time that it names, of which the later holds.
#[derive(Clone, Debug)]
pub struct Signalling {
    limiter: Limiter,
    /// The next one last.
    pauses: Vec<Moment>,
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
        self.signalling(document, at)?.run(Interrupt::Ignore)
    }

    /// [`signal`](Self::signal) for hosts that carry each step themselves.
    pub fn signalling(&self, document: &str, at: Option<Micros>) -> Result<Signalling> {
        let signal = Signal::parse(document)?;
        Ok(Signalling {
            limiter: self.clone(),
            pauses: signal.map(pauses).unwrap_or_default(),
            at,
            is_signal: Ok(signal.is_some()),
        })
    }
}

impl Steps for Signalling {
    type Outcome = bool;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        let control = Control::Pause(*self.pauses.last()?);
        Some((&self.limiter, Operation::Control { control, at: self.at }))
    }

    fn tell(&mut self, outcome: Result<Answer>) {
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

fn pauses(signal: Signal) -> Vec<Moment> {
    let after = match (signal.retry_after, signal.until) {
        (None, None) => Some(SIGNAL_PAUSE),
        // At once is no pause.
        (after, _) => after.filter(|after| *after > Micros(0)),
    };
    signal.until.map(Moment::At).into_iter().chain(after.map(Moment::After)).collect()
}
