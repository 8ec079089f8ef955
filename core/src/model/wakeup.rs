//! `Wakeup`: the message that wakes a waiter.

use crate::base::micros::Micros;

/// A wake-up for one waiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The id of the waiting call.
    pub id: String,
    /// How long from now until the call should retry.
    pub delay: Micros,
}
