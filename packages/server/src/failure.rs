//! `Failure`: why a server does not start, or no longer runs.

use std::fmt;

/// Why a server does not start, or no longer runs. The message says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An option or a file is wrong; the message names it.
    Input(String),
    /// The system failed.
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Input(message) | Self::Other(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Failure {}
