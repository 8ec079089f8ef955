//! `MultiStep`: what takes several operations, for hosts that carry each of them themselves.

use crate::base::error::Result;
use crate::client::limiter::{Limiter, unexpected};
use crate::model::decision::Decision;
use crate::model::operation::{Answer, Operation};
use crate::store::signal_handling::SignalHandling;

/// Operations one after the other, of which each depends on the answers before it.
///
/// A host asks for the next [`step`](Self::step), runs it as it runs any operation, and [`tell`](Self::on_reply)s how that
/// went, until there is no step; then [`outcome`](Self::outcome) says what came of all. One that stops early leaves what
/// was done.
pub trait MultiStep {
    /// What comes of it.
    type Output;

    /// What is to be asked next, of which limiter; nothing when all is known.
    fn step(&self) -> Option<(&Limiter, Operation<'_>)>;

    /// How the step went. After an error it ends, or takes back what it took.
    fn on_reply(&mut self, outcome: Result<Answer>);

    /// What came of it, once there is no step; `Internal` before.
    fn outcome(self) -> Result<Self::Output>;

    /// Runs all steps on the calling thread. `interrupt` is as for [`Limiter::run`].
    fn run(mut self, interrupt: SignalHandling<'_>) -> Result<Self::Output>
    where
        Self: Sized,
    {
        loop {
            let outcome = match self.step() {
                Some((limiter, operation)) => limiter.run(operation, interrupt),
                None => return self.outcome(),
            };
            self.on_reply(outcome);
        }
    }
}

/// The decision that a step was answered with.
pub(crate) fn decided(outcome: Result<Answer>) -> Result<Decision> {
    match outcome? {
        Answer::Decision(decision) => Ok(decision),
        other => Err(unexpected(&other)),
    }
}
