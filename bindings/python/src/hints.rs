//! `WakeupListener`: receives the wake-ups of the waiters of one process or event loop.

use pyo3::prelude::*;

use crate::decision::seconds;
use crate::error::Result;

/// Messages to those who wait. When the descriptor can be read, `receive` gives them.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct WakeupListener(pub(crate) paddlegate::WakeupListener);

#[pymethods]
impl WakeupListener {
    /// What tickets name so that their messages come here.
    #[getter]
    fn channel(&self) -> &str {
        self.0.channel()
    }

    /// Give the descriptor to watch.
    fn fileno(&self) -> i32 {
        self.0.fd()
    }

    /// Close the connection; whoever watches the descriptor sees that.
    fn close(&self) {
        self.0.close();
    }

    /// Give the ids that were called, each with the seconds until it should look.
    fn receive(&self) -> Result<Vec<(String, f64)>> {
        Ok(self.0.receive()?.into_iter().map(|hint| (hint.id, seconds(hint.delay))).collect())
    }
}
