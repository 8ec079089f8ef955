//! `Wakeup`: the message that tells a waiter when to ask again.

use crate::base::micros::Micros;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// Whose ticket it is.
    pub id: String,
    /// When to look, from now.
    pub delay: Micros,
}
