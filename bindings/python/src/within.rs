//! Cleanup at the end of a body. A signal handler may raise on entry to any Python function, even a cleanup function,
//! but not on entry to these native functions.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Base class of guards: calls `_exit` at the end of `with`, then `_exit_interrupted` if that raises.
///
/// Both get the same list, initially empty, in which `_exit` stores the permit that it releases.
#[pyclass(frozen, subclass, module = "paddlegate._native")]
pub(crate) struct WithinLimit;

#[pymethods]
impl WithinLimit {
    #[new]
    #[pyo3(signature = (*_arguments))]
    fn new(_arguments: &Bound<'_, PyTuple>) -> Self {
        Self
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        call_with_fallback(&slf.getattr("_exit")?, &slf.getattr("_exit_interrupted")?, &PyList::empty(slf.py()))
    }
}

/// Call a function; if it raises, also call another with the same argument.
#[pyfunction]
pub(crate) fn call_with_fallback(
    function: &Bound<'_, PyAny>,
    another: &Bound<'_, PyAny>,
    argument: &Bound<'_, PyAny>,
) -> PyResult<()> {
    function.call1((argument,)).map(drop).inspect_err(|_| drop(another.call1((argument,))))
}
