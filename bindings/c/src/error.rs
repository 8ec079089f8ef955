//! `pg_error`: what went wrong.

use std::ffi::c_char;

use paddlegate_core::{Error as CoreError, ErrorKind};

use crate::names;
use crate::text;

/// What became of a call of a function. The numbers never change.
/// cbindgen:rename-all=ScreamingSnakeCase
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(clippy::enum_variant_names)]
pub enum Code {
    /// All went well. A refusal is no error: look at the status of the decision.
    PgOk = 0,
    /// Not returned by any function; the number that other languages give to a refusal.
    PgOverLimit = 1,
    /// The call is wrong; fix the argument that is named. Nothing was changed.
    PgInvalid = 2,
    /// The store cannot decide now; may_have_counted says whether the call may have been charged.
    PgUnavailable = 3,
    /// The stored value is not ours or is damaged; reset the limiter or use another database.
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

/// What went wrong. All zero after a call that went well.
#[repr(C)]
pub struct Error {
    /// What to do about it; also what the function returned.
    pub code: Code,
    /// 1 when the call failed but may have been charged all the same, else 0.
    pub may_have_counted: i32,
    /// The name of the wrong argument, for PG_INVALID; else empty.
    pub argument: [c_char; 32],
    /// A text to read, not to compare; cut to its room.
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

/// The word for a code, such as "invalid"; "?" for a number that is none. Never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn pg_error_name(code: i32) -> *const c_char {
    names::of(code, &names::CODES)
}
