//! `Waiter`: the rules of one waiting call. The package sends its attempts, sleeps, and receives its wake-ups.

use std::sync::Mutex;

use paddlegate::{Micros, Operation, QueuePosition, Request};
use pyo3::prelude::*;

use crate::argument::{OptionalArg, flag, span, text};
use crate::cost::RequestUnits;
use crate::decision::{Decision, seconds};
use crate::error::Result;
use crate::limiter::Limiter;
use crate::line::locked;
use crate::operation::given;

/// One call that waits: when it retries, with which ticket, and what must be cancelled.
///
/// All times are seconds of `time.monotonic()`.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct Waiter {
    rules: Mutex<paddlegate::Waiter>,
    id: String,
    units: RequestUnits,
    /// Whether the decision has each limit.
    limits: bool,
}

#[pymethods]
impl Waiter {
    #[new]
    #[pyo3(signature = (limiter, cost, estimate, wait_timeout, id, now, settle_within=None, order=None, limits=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        limiter: &Limiter,
        cost: OptionalArg,
        estimate: OptionalArg,
        wait_timeout: OptionalArg,
        id: OptionalArg,
        now: f64,
        settle_within: OptionalArg,
        order: OptionalArg,
        limits: OptionalArg,
    ) -> Result<Self> {
        let max_wait = given("wait_timeout", wait_timeout, limiter.wait_timeout)?;
        let rules = Mutex::new(paddlegate::Waiter::new(id.is_none(), max_wait, micros(now))?);
        let units = RequestUnits::new(cost, (estimate, settle_within), order)?;
        let id = match id {
            Some(id) => text("id", id)?.to_owned(),
            None => paddlegate::new_id()?,
        };
        Ok(Self { rules, id, units, limits: flag("limits", limits, false)? })
    }

    /// Begin the wait of a job for at most `patience` seconds; its ticket stays in the queue.
    ///
    /// The other arguments are those of `admit`; `order` is that of `_order.py`.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn of_job(
        id: &Bound<'_, PyAny>,
        cost: OptionalArg,
        estimate: OptionalArg,
        settle_within: OptionalArg,
        order: OptionalArg,
        claim_timeout: OptionalArg,
        patience: &Bound<'_, PyAny>,
        now: f64,
    ) -> Result<Self> {
        let claim_timeout = claim_timeout.map(|timeout| span("claim_timeout", timeout)).transpose()?;
        let rules = paddlegate::Waiter::of_job(claim_timeout, span("patience", patience)?, micros(now))?;
        let units = RequestUnits::new(cost, (estimate, settle_within), order)?;
        Ok(Self { rules: Mutex::new(rules), id: text("id", id)?.to_owned(), units, limits: false })
    }

    /// The id of the call.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// Return how the next attempt waits: its seconds, its ticket, and its channel.
    ///
    /// `_attempt` of the limiter does this itself. `channel` is that of the
    /// wake-ups, empty without one.
    fn next(&self, now: f64, channel: &str) -> (f64, Option<u64>, String) {
        let wait = locked(&self.rules).next(micros(now), channel);
        let ticket = match wait.position {
            QueuePosition::Number(ticket) => Some(ticket),
            QueuePosition::End | QueuePosition::Existing => None,
        };
        (seconds(wait.max_wait), ticket, wait.channel.to_owned())
    }

    /// Evaluate the decision of an attempt; return whether it is final, or else it waits.
    fn on_decision(&self, now: f64, decision: &Decision) -> bool {
        locked(&self.rules).on_decision(micros(now), &decision.0)
    }

    /// Evaluate the error of an attempt, which ends the call.
    fn on_error(&self, may_have_counted: bool) {
        locked(&self.rules).on_error(may_have_counted);
    }

    /// Evaluate a wake-up: retry at this time, unless the call retries earlier.
    fn on_wakeup(&self, at: f64) {
        locked(&self.rules).on_wakeup(micros(at));
    }

    /// Return when the next attempt is due; at once if the ticket does not name this channel.
    fn retry_at(&self, channel: &str) -> f64 {
        seconds(locked(&self.rules).retry_at(channel))
    }

    /// Return whether the call has a ticket, so that it must receive wake-ups.
    fn has_ticket(&self) -> bool {
        locked(&self.rules).has_ticket()
    }

    /// Return whether the call must be cancelled when it ends now.
    ///
    /// `is_delivered`: the caller has got the permit.
    fn must_cancel(&self, is_delivered: bool) -> bool {
        locked(&self.rules).must_cancel(is_delivered)
    }
}

impl Waiter {
    /// Passes the operation of the next attempt to `run`. The rules are not locked while it runs.
    pub(crate) fn attempt<T>(
        &self,
        now: f64,
        channel: &str,
        run: impl FnOnce(Operation<'_>) -> Result<T>,
    ) -> Result<T> {
        let wait = locked(&self.rules).next(micros(now), channel);
        self.units.with(|request| {
            let request = Request { limits: self.limits, ..request };
            run(Operation::AcquireWithId { request, id: &self.id, wait: Some(wait) })
        })
    }
}

/// Return the seconds of the pause before a hub connects again, after so many earlier ones.
#[pyfunction]
pub(crate) fn reconnect_pause(failures: u32) -> f64 {
    seconds(paddlegate::reconnect_pause(failures))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A time out of range becomes the nearest one.
fn micros(time: f64) -> Micros {
    Micros((time * 1e6).round() as u64)
}
