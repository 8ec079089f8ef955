//! `Call`: one operation for one server, sent by an event loop.

use std::sync::{Arc, Mutex};

use paddlegate::store::redis::{Address, Asking, Call as Bytes, Redis};
use paddlegate::{Answer, Error, Fallback, Micros};
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
    pub(crate) asking: Asking,
    pause: Micros,
    unsent: Option<Error>,
    pub(crate) then: OnComplete,
    is_next: bool,
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
    /// Creates a call to the known node of its keys.
    pub(crate) fn new(redis: &Arc<Redis>, bytes: Bytes) -> Self {
        Self {
            redis: redis.clone(),
            node: redis.route(&bytes),
            bytes: Mutex::new(Some(bytes)),
            asking: Asking::No,
            pause: Micros(0),
            unsent: None,
            then: OnComplete::default(),
            is_next: false,
        }
    }

    pub(crate) fn then(self, then: OnComplete) -> Self {
        Self { then, ..self }
    }

    /// Creates a call that follows another step.
    pub(crate) fn next(redis: &Arc<Redis>, bytes: Bytes, then: OnComplete) -> Self {
        Self { then, is_next: true, ..Self::new(redis, bytes) }
    }

    /// Repeats a call that a link could not send; `why` is `None` if that link was only stale.
    pub(crate) fn again(redis: &Arc<Redis>, bytes: Bytes, why: Option<Error>) -> Self {
        Self { unsent: why, ..Self::new(redis, bytes) }
    }

    /// Repeats a call at the target of a redirection.
    pub(crate) fn elsewhere(redis: &Arc<Redis>, bytes: Bytes, node: Address, asking: Asking) -> Self {
        if asking == Asking::No {
            redis.learn(&bytes, &node);
        }
        Self { node, asking, ..Self::new(redis, bytes) }
    }

    /// Repeats a call at the same server after a pause.
    pub(crate) fn later(redis: &Arc<Redis>, bytes: Bytes, node: Address, pause: Micros) -> Self {
        Self { node, pause, ..Self::new(redis, bytes) }
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

    /// Whether a link failed to send it; False if the link was only stale.
    #[getter]
    fn unsent(&self) -> bool {
        self.unsent.is_some()
    }

    /// Stop sending it; return its exception, or the fallback answer of the limiter.
    fn give_up<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let error = self.unsent.clone().unwrap_or_else(|| Error::internal("the call was given up without an error"));
        self.then.ended(py, Err(error))
    }

    /// Whether it is the next step of a procedure, with a timeout of its own.
    #[getter]
    fn is_next(&self) -> bool {
        self.is_next
    }

    /// The number of nodes in the URL.
    #[getter]
    fn nodes(&self) -> usize {
        self.redis.location().nodes.len()
    }

    /// Seconds within which it must be answered.
    #[getter]
    fn timeout(&self) -> f64 {
        seconds(self.redis.timeout())
    }

    /// Create an unconnected link to its node.
    fn link(&self) -> Link {
        Link::new(&self.redis, &self.node)
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
