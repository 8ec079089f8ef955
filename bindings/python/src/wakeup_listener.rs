//! `WakeupListener`: receives the wake-ups of the waiters of one process or event loop.

use pyo3::prelude::*;

use crate::decision::seconds;
use crate::error::Result;

/// The wake-ups of waiters. When the descriptor is readable, `receive` returns them.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct WakeupListener(pub(crate) paddlegate::WakeupListener);

#[pymethods]
impl WakeupListener {
    /// The channel that tickets must name.
    #[getter]
    fn channel(&self) -> &str {
        self.0.channel()
    }

    /// Return the file descriptor to watch.
    fn fileno(&self) -> i32 {
        self.0.fd()
    }

    /// Close the connection, which makes the descriptor readable.
    fn close(&self) {
        self.0.close();
    }

    /// Return the ids of the woken calls, each with the seconds until it should retry.
    fn receive(&self) -> Result<Vec<(String, f64)>> {
        Ok(self.0.receive()?.into_iter().map(|hint| (hint.id, seconds(hint.delay))).collect())
    }
}
