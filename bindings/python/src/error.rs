//! Converts errors of the core to exceptions of `paddlegate._errors`.

use paddlegate::{Error, ErrorKind, Micros};
use pyo3::prelude::*;

use crate::decision::seconds;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The causes of an exception from a native method.
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

/// Returns the Python name of an argument, where core uses the name of other languages.
fn spelled(argument: &str) -> &str {
    match argument {
        "now" => "now_us",
        "for" => "seconds",
        other => other,
    }
}

/// Converts the durations in a message of core to seconds: `timeout_us=500` becomes `timeout=0.0005`.
fn in_seconds(message: &str) -> String {
    const UNIT: &str = "_us=";
    let mut shown = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(UNIT) {
        shown.push_str(before);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        match after[..digits].parse() {
            // `now_us` is the only argument in microseconds in Python too.
            Ok(micros) if !before.ends_with(" now") => write_seconds(&mut shown, Micros(micros)),
            _ => shown.extend([UNIT, &after[..digits]]),
        }
        rest = &after[digits..];
    }
    shown + rest
}

fn write_seconds(shown: &mut String, span: Micros) {
    shown.push('=');
    shown.push_str(&seconds(span).to_string());
}

/// Creates the exception for an error, to raise or to pass to a waiting task.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = |name| py.import("paddlegate._errors")?.getattr(name);
    let message = in_seconds(error.message());
    match error.kind() {
        ErrorKind::OverLimit => class("OverLimit")?.call1((message,)),
        ErrorKind::Invalid => class("InvalidError")?.call1((message, error.argument().map(spelled))),
        ErrorKind::Unavailable => class("UnavailableError")?.call1((message, error.may_have_counted())),
        ErrorKind::Data => class("DataError")?.call1((message,)),
        ErrorKind::Internal => class("InternalError")?.call1((message,)),
    }
}
