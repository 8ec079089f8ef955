//! `Waiter`: the rules of a waiting call. JavaScript owns its timer, its signal and its wake-ups.

use napi_derive::napi;
use paddlegate::{Micros, QueuePosition, Wait};

use crate::convert::{Code, millis, number, thrown, to_millis};

/// One call that waits in the queue. All times are milliseconds of the monotonic clock of the process.
#[napi]
pub struct Waiter {
    inner: paddlegate::Waiter,
}

/// How the next attempt waits.
#[napi(object, object_from_js = false)]
pub struct Attempt {
    pub max_wait_ms: f64,
    /// `None` for the end of the queue.
    pub ticket: Option<f64>,
    pub claim_timeout_ms: f64,
    /// Whether the ticket stays after the claim timeout, as that of a job does.
    pub keeps: bool,
    pub channel: String,
}

impl From<Wait<'_>> for Attempt {
    fn from(wait: Wait<'_>) -> Self {
        let ticket = match wait.position {
            QueuePosition::Number(ticket) => Some(number(ticket)),
            QueuePosition::End | QueuePosition::Existing => None,
        };
        Self {
            max_wait_ms: to_millis(wait.max_wait),
            ticket,
            claim_timeout_ms: to_millis(wait.claim_timeout),
            keeps: wait.keep.0 > 0,
            channel: wait.channel.to_owned(),
        }
    }
}

// napi passes strings by value.
#[allow(clippy::needless_pass_by_value)]
#[napi]
impl Waiter {
    /// Creates the waiter of a call. `owns_id`: no other call has its id.
    #[napi(constructor, catch_unwind)]
    pub fn new(owns_id: bool, max_wait_ms: f64, now_ms: f64) -> napi::Result<Self, Code> {
        let max_wait = millis("wait_timeout", max_wait_ms);
        let inner = max_wait.and_then(|max_wait| paddlegate::Waiter::new(owns_id, max_wait, time(now_ms)));
        Ok(Self { inner: inner.map_err(|error| thrown(&error))? })
    }

    /// Creates the waiter of a job, whose ticket stays in the queue when its patience is over. `claim_timeout_ms`: `None`
    /// for that of `admit`.
    #[napi(factory, catch_unwind)]
    pub fn of_job(claim_timeout_ms: Option<f64>, patience_ms: f64, now_ms: f64) -> napi::Result<Self, Code> {
        let claim_timeout = claim_timeout_ms.map(|timeout| millis("claim_timeout", timeout)).transpose();
        let inner = claim_timeout.and_then(|claim_timeout| {
            paddlegate::Waiter::of_job(claim_timeout, millis("patience", patience_ms)?, time(now_ms))
        });
        Ok(Self { inner: inner.map_err(|error| thrown(&error))? })
    }

    /// Returns how the next attempt waits. `channel` is that for the wake-ups of the limiter, empty without one.
    #[napi(catch_unwind)]
    pub fn next(&mut self, now_ms: f64, channel: String) -> Attempt {
        self.inner.next(time(now_ms), &channel).into()
    }

    /// Evaluates the decision of an attempt that queued the call. Returns whether it is final.
    #[napi(catch_unwind)]
    pub fn on_queued(&mut self, now_ms: f64, retry_after_us: Option<f64>, ticket: Option<f64>) -> bool {
        let retry_after = retry_after_us.map(|after| Micros(integer(after)));
        self.inner.on_queued(time(now_ms), retry_after, ticket.map(integer))
    }

    /// Evaluates the final decision of an attempt.
    #[napi(catch_unwind)]
    pub fn on_final(&mut self, allowed: bool, degraded: bool) {
        self.inner.on_final(allowed, degraded);
    }

    /// Evaluates the error of an attempt.
    #[napi(catch_unwind)]
    pub fn on_error(&mut self, may_have_counted: bool) {
        self.inner.on_error(may_have_counted);
    }

    /// Evaluates a wake-up for this time.
    #[napi(catch_unwind)]
    pub fn on_wakeup(&mut self, at_ms: f64) {
        self.inner.on_wakeup(time(at_ms));
    }

    /// Returns when the next attempt is due: 0 when the ticket must name this channel first.
    #[napi(catch_unwind)]
    pub fn retry_at(&self, channel: String) -> f64 {
        to_millis(self.inner.retry_at(&channel))
    }

    /// Returns whether the call must be cancelled when it ends now. `is_delivered`: the caller has got the permit.
    #[napi(catch_unwind)]
    pub fn must_cancel(&self, is_delivered: bool) -> bool {
        self.inner.must_cancel(is_delivered)
    }
}

/// Reads a time of the process, to the nearest microsecond.
fn time(millis: f64) -> Micros {
    Micros(integer((millis * 1e3).round()))
}

/// Reads a number that only this package writes. NaN and negative numbers become 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn integer(value: f64) -> u64 {
    value as u64
}
