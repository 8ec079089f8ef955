//! `Error`: what went wrong, sorted by what the caller can do about it.
//!
//! Being over the limit is a [`Decision`](crate::Decision), never one of these.

use std::fmt;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do about an error. The codes and names never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorKind {
    /// Over the limit; come back later. The core never returns it: packages raise it from a refusal.
    OverLimit = 1,
    /// The call is wrong; fix the argument that is named. Nothing was changed.
    Invalid = 2,
    /// The store cannot decide now; [`Error::may_have_counted`] says whether the call may have been charged.
    Unavailable = 3,
    /// The stored value is not ours or is damaged; reset the limiter or use another database.
    Data = 4,
    /// A defect of this library; please report it.
    Internal = 5,
}

impl ErrorKind {
    /// Every kind, in the order of the codes.
    pub const ALL: [Self; 5] = [Self::OverLimit, Self::Invalid, Self::Unavailable, Self::Data, Self::Internal];

    /// The number that stands for this kind in C.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The word that stands for this kind in Node and in the shared test files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OverLimit => "over_limit",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
            Self::Data => "data",
            Self::Internal => "internal",
        }
    }
}

/// An error with a kind to act on and a message to read. The text of the message is not API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    argument: Option<&'static str>,
    may_have_counted: bool,
    cause: Cause,
}

/// Why the store did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "redis"), allow(dead_code))]
pub(crate) enum Cause {
    /// It did not answer, or refused the call.
    Store,
    /// A signal ended the call.
    Signal,
    /// The cluster answered that it cannot serve one slot now.
    Slot,
    /// The server answered that it is a replica.
    Demoted,
}

impl Error {
    /// A wrong argument, by its name.
    pub fn invalid(argument: &'static str, message: impl Into<String>) -> Self {
        Self { argument: Some(argument), ..Self::new(ErrorKind::Invalid, message) }
    }

    /// The store could not decide, and the call was not executed.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// The call was sent and no answer came: it may have been charged.
    pub fn unknown_outcome(message: impl Into<String>) -> Self {
        Self { may_have_counted: true, ..Self::new(ErrorKind::Unavailable, message) }
    }

    /// A signal ended the call, which was sent and may have been charged; the store is not to blame.
    #[cfg(feature = "redis")]
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::unknown_outcome(message).because(Cause::Signal)
    }

    /// The time of a call was up while its slot moved from one node of a cluster to another: it was not executed.
    #[cfg(feature = "redis")]
    pub fn slot_is_moving() -> Self {
        Self::unavailable("a slot of the cluster is being moved, try again").because(Cause::Slot)
    }

    #[cfg(feature = "redis")]
    pub(crate) fn because(self, cause: Cause) -> Self {
        Self { cause, ..self }
    }

    /// The same for a call that the server certainly did not execute.
    #[cfg(feature = "redis")]
    pub(crate) fn not_counted(self) -> Self {
        Self { may_have_counted: false, ..self }
    }

    pub(crate) const fn cause(&self) -> Cause {
        self.cause
    }

    /// A stored value that this library did not write.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// A broken promise of this library itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), argument: None, may_have_counted: false, cause: Cause::Store }
    }

    /// What to do about it.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The name of the wrong argument, for [`ErrorKind::Invalid`].
    pub const fn argument(&self) -> Option<&'static str> {
        self.argument
    }

    /// Whether a call that failed as [`ErrorKind::Unavailable`] may have been charged all the same.
    pub const fn may_have_counted(&self) -> bool {
        self.may_have_counted
    }

    /// The text, without the kind.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
