//! `Call`: one operation for one server, sent by an event loop.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use paddlegate::store::redis::{Address, Call as Bytes, CallOutcome, Next, Redis};
use paddlegate::{Answer, Error, Fallback, Micros};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::answer::outcome;
use crate::decision::seconds;
use crate::error::{Failure, Result, exception};
use crate::line::locked;
use crate::link::Link;
use crate::multi_step::CallState;

/// One operation for one server. A link sends it once.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct Call {
    redis: Arc<Redis>,
    bytes: Mutex<Option<Bytes>>,
    node: Address,
    pause: Micros,
    /// A time of the clock of the event loop; 0 before the first attempt.
    deadline: Mutex<f64>,
    pub(crate) then: OnComplete,
}

/// A call that a link could not complete.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct Unfinished {
    redis: Arc<Redis>,
    reason: Mutex<Option<Reason>>,
    then: OnComplete,
}

/// The reason why a link could not complete a call.
pub(crate) enum Reason {
    /// A redirection, or a slot that is being moved.
    Outcome(CallOutcome),
    /// The server cannot have received it; with the error, and whether the link had worked.
    Unsent(Bytes, Error, bool),
}

/// Processing of the result of a call.
#[derive(Clone, Default)]
pub(crate) struct OnComplete {
    /// Set if the limiter has a fallback for an unavailable store.
    pub(crate) fallback: Option<Fallback>,
    /// Set if the call is one step of several.
    pub(crate) procedure: Option<Arc<CallState>>,
}

impl Call {
    pub(crate) fn new(redis: &Arc<Redis>, bytes: Bytes, then: OnComplete) -> Self {
        Self {
            redis: redis.clone(),
            node: redis.route(&bytes),
            bytes: Mutex::new(Some(bytes)),
            pause: Micros(0),
            deadline: Mutex::new(0.0),
            then,
        }
    }

    pub(crate) fn is_for(&self, node: &Address) -> bool {
        self.node == *node
    }

    /// Returns the deadline, which an attempt sets that is the first one.
    pub(crate) fn started(&self, now: f64) -> f64 {
        let mut deadline = locked(&self.deadline);
        if *deadline == 0.0 {
            *deadline = now + seconds(self.redis.timeout());
        }
        *deadline
    }

    pub(crate) fn take(&self) -> Result<Bytes> {
        let bytes = locked(&self.bytes).take();
        bytes.ok_or_else(|| Error::internal("a call was sent twice").into())
    }
}

#[pymethods]
impl Call {
    /// The node to which the call is sent.
    #[getter]
    fn node(&self) -> String {
        self.node.to_string()
    }

    /// Seconds to wait before it is sent.
    #[getter]
    fn pause(&self) -> f64 {
        seconds(self.pause)
    }

    /// The time at which it fails, of the clock of the event loop; 0 before the first attempt.
    #[getter]
    fn deadline(&self) -> f64 {
        *locked(&self.deadline)
    }

    #[setter]
    fn set_deadline(&self, deadline: f64) {
        *locked(&self.deadline) = deadline;
    }

    /// Create an unconnected link to its node.
    fn link(&self) -> Link {
        Link::new(&self.redis, &self.node)
    }
}

impl Unfinished {
    pub(crate) fn new(redis: &Arc<Redis>, reason: Reason, then: OnComplete) -> Self {
        Self { redis: redis.clone(), reason: Mutex::new(Some(reason)), then }
    }
}

#[pymethods]
impl Unfinished {
    /// Return the call to send next, or the result.
    ///
    /// `deadline` is that of the call, `now` the time of the same clock.
    fn next<'py>(&self, py: Python<'py>, deadline: f64, now: f64) -> PyResult<Bound<'py, PyAny>> {
        let left = Duration::try_from_secs_f64(deadline - now).unwrap_or_default();
        let reason = locked(&self.reason).take();
        let next = match reason {
            Some(Reason::Outcome(outcome)) => self.redis.next(outcome, left),
            Some(Reason::Unsent(bytes, error, had_worked)) => self.redis.next_unsent(bytes, error, had_worked, left),
            None => Next::Done(Err(Error::internal("a call was continued twice"))),
        };
        let (bytes, pause) = match next {
            Next::Done(result) => return self.then.ended(py, result),
            Next::Send(bytes) => (bytes, Micros(0)),
            Next::SendAfter(bytes, pause) => (bytes, pause),
        };
        let call = Call::new(&self.redis, bytes, self.then.clone());
        Call { pause, deadline: Mutex::new(deadline), ..call }.into_bound_py_any(py)
    }
}

impl OnComplete {
    pub(crate) const fn is_nothing(&self) -> bool {
        self.fallback.is_none() && self.procedure.is_none()
    }

    /// Processes the result of a completed call. Every result passes here, once. Returns the outcome or the next call.
    pub(crate) fn ended<'py>(
        &self,
        py: Python<'py>,
        result: std::result::Result<Answer, Error>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = match &self.fallback {
            Some(fallback) => fallback.settle(result),
            None => result,
        };
        let Some(procedure) = &self.procedure else { return outcome(py, result) };
        procedure.on_reply(py, result).or_else(|failure| match failure {
            Failure::Core(error) => exception(py, &error),
            Failure::Python(error) => Err(error),
        })
    }
}
