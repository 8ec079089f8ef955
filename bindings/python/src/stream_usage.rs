//! `StreamUsage`: the usage in a body that is read in chunks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString, PyTuple};

use crate::argument::refused;
use crate::error::Result;

/// Finds the usage in the body of a response that is read in chunks, without holding the body.
///
/// The body is JSON, or server-sent events with JSON: of OpenAI (in chat it sends usage if the
/// request has `stream_options={"include_usage": True}`), Anthropic, Gemini and Groq; or GraphQL
/// with `extensions.cost`. `learn_from_response` takes it in the place of the body.
///
///     usage = StreamUsage()
///     for chunk in response.iter_bytes():
///         usage.feed(chunk)
///     permit.learn_from_response(response.headers, usage, status=response.status_code)
#[pyclass(frozen, module = "paddlegate")]
#[allow(clippy::doc_markdown)] // Python shows this text as it is.
pub(crate) struct StreamUsage(Mutex<paddlegate::StreamUsage>);

#[pymethods]
impl StreamUsage {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Read the next bytes of the body, or its text; a chunk may end anywhere.
    fn feed(&self, chunk: &Bound<'_, PyAny>) -> Result<()> {
        if let Ok(text) = chunk.cast::<PyString>() {
            self.state().feed(text.to_string_lossy().as_bytes());
        } else if let Ok(bytes) = chunk.cast::<PyBytes>() {
            self.state().feed(bytes.as_bytes());
        } else if chunk.is_instance_of::<PyByteArray>() || chunk.is_instance_of::<PyMemoryView>() {
            let bytes = chunk.py().get_type::<PyBytes>().call1((chunk,))?;
            self.state().feed(bytes.cast_into::<PyBytes>().map_err(PyErr::from)?.as_bytes());
        } else {
            return Err(refused("chunk", "must be bytes or text", chunk));
        }
        Ok(())
    }

    /// What was found, as the body of a response: JSON, or "" for nothing.
    #[getter]
    fn body(&self) -> String {
        self.state().body()
    }

    /// What was found and not kept, with the reason; complete after the last chunk.
    #[getter]
    fn ignored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.state().ignored())
    }
}

impl StreamUsage {
    fn state(&self) -> MutexGuard<'_, paddlegate::StreamUsage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
