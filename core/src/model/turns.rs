//! `ReadyCalls`: the queued calls whose turn has come; `TurnsHost`: who asks for them.

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::request::check_id;

/// A host of jobs that sleeps until the next turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnsHost<'a> {
    /// The id that the wake-ups name: 1 to 64 bytes without control characters, another for each loop that asks.
    pub id: &'a str,
    /// The channel of the host's [`WakeupListener`](crate::WakeupListener).
    pub channel: &'a str,
}

/// The result of [`Limiter::ready_for`](crate::Limiter::ready_for).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyCalls {
    /// The ids of queued calls whose turn has come, in the order of the queue.
    pub ids: Vec<String>,
    /// How long from now until the host asks again, unless a wake-up comes first: at most 5 s, and zero when as many ids were
    /// returned as were asked for.
    pub after: Micros,
}

impl TurnsHost<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        check_id(self.id)?;
        let is_word = |text: &str| !text.is_empty() && !text.contains(|it: char| it.is_ascii_control() || it == ' ');
        if !is_word(self.channel) {
            return Err(Error::invalid("channel", "must be the channel of a listener for wake-ups"));
        }
        if self.id.contains(|it: char| it.is_ascii_control()) {
            return Err(Error::invalid("id", "must have no control characters"));
        }
        Ok(())
    }
}
