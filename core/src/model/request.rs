//! `Request`: what one call asks for.

use crate::base::bounds::CLAIM_TIMEOUT;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::model::limit::MAX_UNITS;
use crate::model::permit::{LOCAL, MAX_ID};
use crate::model::policy::Policy;

/// What one call asks for: a final cost, or an estimate that is corrected later.
///
/// ```
/// # use paddlegate::Request;
/// let one = Request::default();
/// let three = Request::cost(3);
/// let about_two_hundred = Request::estimate(200);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Units to take, from 0 to 10^12. Default 1; 0 looks without taking.
    pub cost: Option<u64>,
    /// Units to take for now, from 1; the grant has a permit by which the actual cost is reported.
    pub estimate: Option<u64>,
    /// The store's time of this call, for tests and simulations; by default the store asks its own clock.
    pub at: Option<Micros>,
}

/// How a call waits: with a ticket in the limiter's queue.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// How long it would wait. Zero refuses, as does a time that is known to come later.
    pub patience: Micros,
    /// How long the ticket keeps its place after the time at which it was to look again and did not.
    pub grace: Micros,
    /// Where it is told that its turn has come: the channel of [`WakeupListener`](crate::WakeupListener), or empty when it looks by itself.
    pub channel: &'a str,
    /// Which place it takes.
    pub place: QueuePosition,
}

/// Which place a ticket takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePosition {
    /// The one it has, else the last.
    End,
    /// The one it has, else the one it had: a waiter that lapsed while it was stopped comes back under its old number.
    Number(u64),
    /// The one it has. Without one the call is [`Gone`](crate::Status::Gone).
    Existing,
}

impl Wait<'_> {
    /// A wait of at most `patience` without a channel, at the end of the queue.
    pub const fn up_to(patience: Micros) -> Self {
        Self { patience, grace: CLAIM_TIMEOUT, channel: "", place: QueuePosition::End }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.patience > MAX_SPAN {
            return Err(Error::invalid("wait_timeout", "must be at most ten years"));
        }
        if self.grace.0 == 0 || self.grace > MAX_SPAN {
            return Err(Error::invalid("claim_timeout", "must be from one microsecond to ten years"));
        }
        if self.channel.len() > MAX_CHANNEL || self.channel.bytes().any(|b| b.is_ascii_control()) {
            return Err(Error::invalid("channel", format!("must be at most {MAX_CHANNEL} printable bytes")));
        }
        match self.place {
            QueuePosition::Number(number) if number > MAX_TIME.0 => {
                Err(Error::invalid("ticket", "has a number that no queue gives"))
            }
            _ => Ok(()),
        }
    }
}

/// The longest name of a channel in bytes.
const MAX_CHANNEL: usize = 128;

impl Request {
    /// Takes `units`, and that is final.
    pub const fn cost(units: u64) -> Self {
        Self { cost: Some(units), estimate: None, at: None }
    }

    /// Takes `units` until the actual cost is known.
    pub const fn estimate(units: u64) -> Self {
        Self { cost: None, estimate: Some(units), at: None }
    }

    /// The same at a given time of the store, for tests: in memory, or in a Redis store that was opened with
    /// `PADDLEGATE_TEST_CLOCK=1` in the environment.
    #[must_use]
    pub const fn at(self, at: Micros) -> Self {
        Self { at: Some(at), ..self }
    }

    /// The units to take, and whether the grant needs a permit.
    #[inline]
    pub(crate) fn charge(&self, policy: &Policy) -> Result<(u64, bool)> {
        check_time(self.at)?;
        let (argument, units, permit) = match (self.cost, self.estimate) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("estimate", "give a cost or an estimate, not both"));
            }
            (Some(cost), None) => ("cost", cost, false),
            (None, Some(0)) => {
                return Err(Error::invalid("estimate", "must be at least 1; a cost of 0 only looks: estimate=0"));
            }
            (None, Some(estimate)) => ("estimate", estimate, true),
            (None, None) if policy.is_estimated() => {
                return Err(Error::invalid("estimate", "give the points that the call is expected to cost, or a cost"));
            }
            (None, None) => ("cost", 1, false),
        };
        check_units(argument, units)?;
        Ok((units, permit))
    }
}

pub(crate) fn check_units(argument: &'static str, units: u64) -> Result<()> {
    if units > MAX_UNITS {
        return Err(Error::invalid(argument, format!("must be from 0 to {MAX_UNITS}: {argument}={units}")));
    }
    Ok(())
}

pub(crate) fn check_time(at: Option<Micros>) -> Result<()> {
    match at {
        Some(at) if at > MAX_TIME => {
            Err(Error::invalid("at", format!("must be at most 2^52 microseconds: at_us={}", at.0)))
        }
        _ => Ok(()),
    }
}

/// The id of a call, a ticket or a lease.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if id.is_empty() || id.len() > MAX_ID {
        return Err(Error::invalid("id", format!("must have 1 to {MAX_ID} bytes: bytes={}", id.len())));
    }
    if id.starts_with(|first: char| first.is_ascii_control() || first == LOCAL) {
        return Err(Error::invalid("id", "must not begin with a control character or ~"));
    }
    Ok(())
}
