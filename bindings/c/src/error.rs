//! `pg_error`: the error of a call.

use std::ffi::c_char;

use paddlegate_core::{Error as CoreError, ErrorKind};

use crate::names;
use crate::text;

/// The result of a function. The numbers never change.
/// cbindgen:rename-all=ScreamingSnakeCase
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(clippy::enum_variant_names)]
pub enum Code {
    /// Success. A refusal is no error: check the status of the decision.
    PgOk = 0,
    /// Never returned by a function of this library; other languages use this number for a refusal.
    PgOverLimit = 1,
    /// The call is invalid; fix the argument that the error names. Nothing was charged.
    PgInvalid = 2,
    /// The store cannot decide now; may_have_counted is 1 when the call may have been charged.
    PgUnavailable = 3,
    /// The stored value is damaged or was not written by this library; reset the limiter or use
    /// another database.
    PgData = 4,
    /// A defect of this library; please report it.
    PgInternal = 5,
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::OverLimit => Self::PgOverLimit,
            ErrorKind::Invalid => Self::PgInvalid,
            ErrorKind::Unavailable => Self::PgUnavailable,
            ErrorKind::Data => Self::PgData,
            ErrorKind::Internal => Self::PgInternal,
        }
    }
}

/// The error of a call. All zero after a successful call.
#[repr(C)]
pub struct Error {
    /// The code that the function returned; decide by it what to do.
    pub code: Code,
    /// 1 when the call failed but may have been charged nevertheless, otherwise 0.
    pub may_have_counted: i32,
    /// The name of the invalid argument for PG_INVALID, otherwise empty.
    pub argument: [c_char; 32],
    /// A text to show, not to compare; truncated to the size of the array.
    pub message: [c_char; 256],
}

impl From<&CoreError> for Error {
    fn from(error: &CoreError) -> Self {
        Self {
            code: error.kind().into(),
            may_have_counted: error.may_have_counted().into(),
            argument: text::write(error.argument().unwrap_or_default()),
            message: text::write(error.message()),
        }
    }
}

/// Returns the name of a code, such as "invalid"; "?" for an unknown number. Do not free the text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_error_name(code: i32) -> *const c_char {
    names::of(code, &names::CODES)
}
