//! `SignalHandling`: the effect of a signal on a call that waits for the server.

use crate::base::micros::Micros;

/// The effect of a signal that arrives while a call waits for the server.
#[derive(Clone, Copy)]
pub enum SignalHandling<'a> {
    /// The call continues to its deadline.
    Ignore,
    /// The call may continue for this time, then it fails as [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable).
    ///
    /// For hosts that can handle signals only after the call has returned (Ruby).
    FinishWithin(Micros),
    /// The call continues unless the function returns true (Python runs its signal handlers there).
    Ask(&'a dyn Fn() -> bool),
}
