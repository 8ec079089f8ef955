//! `Failure`: an early end of the command, and its exit code.

use std::io;
use std::process::ExitCode;

use paddlegate::ErrorKind;

/// The cause of an early end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is invalid; the message names the location and the correction.
    Input(String),
    /// The system or this program failed.
    Other(String),
    /// The store did not answer, or cannot decide now.
    Unavailable(String),
    /// A check did not pass; the result says which.
    Refused,
    /// The reader of the output has closed it, as `head` does: not an error.
    Unread,
}

impl Failure {
    /// Converts the error of a failed write.
    pub(crate) fn write(what: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Other(format!("cannot write {what}: {error}")),
        }
    }

    /// Converts an error of the core; the message already contains the location.
    pub(crate) fn of_core(kind: ErrorKind, message: String) -> Self {
        match kind {
            ErrorKind::Invalid => Self::Input(message),
            ErrorKind::Unavailable => Self::Unavailable(message),
            _ => Self::Other(message),
        }
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Input(message) | Self::Other(message) | Self::Unavailable(message) => Some(message),
            Self::Refused | Self::Unread => None,
        }
    }

    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Self::Input(_) => ExitCode::from(2),
            Self::Other(_) | Self::Refused => ExitCode::FAILURE,
            Self::Unavailable(_) => ExitCode::from(3),
            Self::Unread => ExitCode::SUCCESS,
        }
    }
}
