//! `Failure`: why the command ends early, and with which code.

use std::io;
use std::process::ExitCode;

use paddlegate::ErrorKind;

/// Why the command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was given is wrong; the message says where and what to do.
    Input(String),
    /// The machine or this program did not do its part.
    Other(String),
    /// Who read the output has gone, as `head` does: no error.
    Unread,
}

impl Failure {
    /// A file or a stream that could not be written.
    pub(crate) fn write(what: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Other(format!("cannot write {what}: {error}")),
        }
    }

    /// An error of the core, with a message that says where it is.
    pub(crate) fn of_core(kind: ErrorKind, message: String) -> Self {
        if kind == ErrorKind::Invalid { Self::Input(message) } else { Self::Other(message) }
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Input(message) | Self::Other(message) => Some(message),
            Self::Unread => None,
        }
    }

    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Self::Input(_) => ExitCode::from(2),
            Self::Other(_) => ExitCode::FAILURE,
            Self::Unread => ExitCode::SUCCESS,
        }
    }
}
