//! `SignalHandling`: what a signal does to a call that waits for the server.

use crate::base::micros::Micros;

/// What happens when a signal arrives while a call waits for the server.
#[derive(Clone, Copy)]
pub enum SignalHandling<'a> {
    /// The call goes on to its deadline.
    Ignore,
    /// The call may go on for so long, then it fails as [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable).
    ///
    /// For hosts that can only act when the call has returned (Ruby).
    Grace(Micros),
    /// The call goes on unless this answers true (Python asks its signal handlers).
    Ask(&'a dyn Fn() -> bool),
}
