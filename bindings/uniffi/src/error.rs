//! `NativeException`: an error of the core.

use paddlegate_core::{Error, ErrorKind};

pub(crate) type Result<T> = std::result::Result<T, NativeException>;

/// An error of the core by its kind.
#[derive(Debug, uniffi::Error)]
pub enum NativeException {
    OverLimit { reason: String },
    Invalid { argument: String, reason: String },
    Unavailable { reason: String, may_have_counted: bool },
    Data { reason: String },
    Internal { reason: String },
}

impl std::fmt::Display for NativeException {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::OverLimit { reason }
        | Self::Invalid { reason, .. }
        | Self::Unavailable { reason, .. }
        | Self::Data { reason }
        | Self::Internal { reason }) = self;
        f.write_str(reason)
    }
}

impl From<Error> for NativeException {
    fn from(error: Error) -> Self {
        let reason = error.message().to_owned();
        match error.kind() {
            ErrorKind::OverLimit => Self::OverLimit { reason },
            ErrorKind::Invalid => Self::Invalid { argument: error.argument().unwrap_or_default().to_owned(), reason },
            ErrorKind::Unavailable => Self::Unavailable { reason, may_have_counted: error.may_have_counted() },
            ErrorKind::Data => Self::Data { reason },
            ErrorKind::Internal => Self::Internal { reason },
        }
    }
}
