//! `MultiStep`: a sequence of operations, for hosts that perform the I/O themselves.

use crate::base::error::Result;
use crate::client::limiter::Limiter;
use crate::model::decision::Decision;
use crate::model::operation::{Answer, Content, Operation};
use crate::store::signal_handling::SignalHandling;

/// A sequence of operations in which each depends on the earlier results.
///
/// A host runs the next [`step`](Self::step) as any operation, passes the result to [`on_reply`](Self::on_reply), and
/// repeats this until there is no step; then [`outcome`](Self::outcome) returns the result. A host that stops early
/// leaves the completed steps in effect.
pub trait MultiStep {
    /// The result of the sequence.
    type Output;

    /// Returns the next operation and its limiter; `None` when there is no further step.
    fn step(&self) -> Option<(&Limiter, Operation<'_>)>;

    /// Records the result of the step. After an error the sequence ends, or its next steps undo the earlier ones.
    fn on_reply(&mut self, outcome: Result<Answer>);

    /// Returns the result once there is no further step; `Internal` before.
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

/// Returns the decision in the result of a step.
pub(crate) fn decided(outcome: Result<Answer>) -> Result<Decision> {
    Decision::of(outcome?)
}
