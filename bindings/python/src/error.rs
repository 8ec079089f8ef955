//! Errors of the core as exceptions of `paddlegate._errors`.

use paddlegate::{Error, ErrorKind};
use pyo3::prelude::*;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// What a native method may raise.
pub(crate) enum Failure {
    Core(Error),
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Core(error) => Python::attach(|py| match exception(py, &error) {
                Ok(exception) => Self::from_value(exception),
                Err(error) => error,
            }),
        }
    }
}

/// The exception for an error, to raise now or to hand to a waiting task.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = |name| py.import("paddlegate._errors")?.getattr(name);
    let message = error.message();
    match error.kind() {
        ErrorKind::OverLimit => class("OverLimit")?.call1((message,)),
        ErrorKind::Invalid => class("InvalidError")?.call1((message, error.argument())),
        ErrorKind::Unavailable => class("UnavailableError")?.call1((message, error.may_have_counted())),
        ErrorKind::Data => class("DataError")?.call1((message,)),
        ErrorKind::Internal => class("InternalError")?.call1((message,)),
    }
}
