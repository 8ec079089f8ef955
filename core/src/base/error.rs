//! `Error`: the error type, classified by what the caller can do.
//!
//! A call over the limit is a refused [`Decision`](crate::Decision), not an error.

use std::fmt;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error, by what the caller can do about it. The codes and names never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorKind {
    /// The call is over the limit; retry later. The core never returns this kind: packages raise it for a refusal.
    OverLimit = 1,
    /// An argument is invalid; fix the argument that the error names. Nothing was charged.
    Invalid = 2,
    /// The store cannot decide now; [`Error::may_have_counted`] returns whether the call may have been charged.
    Unavailable = 3,
    /// A stored value is damaged or was not written by this library; reset the limiter or use another database.
    Data = 4,
    /// A defect of this library; please report it.
    Internal = 5,
}

impl ErrorKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 5] = [Self::OverLimit, Self::Invalid, Self::Unavailable, Self::Data, Self::Internal];

    /// Returns the code of this kind in C.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// Returns the name of this kind in Node and in the shared test files.
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

/// An error with a kind to act on and a message to read. The text of the message is not part of the API.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Error, ErrorKind};
/// let error = Error::invalid("limit", "must be from 1 to 100: limit=0");
/// assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("limit")));
/// assert_eq!((error.to_string(), error.kind().name()), ("must be from 1 to 100: limit=0".to_owned(), "invalid"));
/// assert!(Error::unknown_outcome("no reply").may_have_counted());
/// assert!(!Error::unavailable("no connection").may_have_counted());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(
    /// In a box, so that each `?` on the way of an error moves one pointer.
    Box<Details>,
);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    message: String,
    argument: Option<&'static str>,
    may_have_counted: bool,
    cause: Cause,
}

/// The reason why the store did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "redis"), allow(dead_code))]
pub(crate) enum Cause {
    /// The store did not reply, or refused the call.
    Store,
    /// A signal ended the call.
    Signal,
    /// The cluster cannot serve the slot of the call now.
    Slot,
    /// The server is a replica.
    Demoted,
    /// The login or the rights of its user are wrong, which an operator must mend.
    Rights,
}

impl Error {
    /// Creates an [`Invalid`](ErrorKind::Invalid) error for the argument of this name.
    pub fn invalid(argument: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message.into(), Some(argument))
    }

    /// Creates an [`Unavailable`](ErrorKind::Unavailable) error for a call that was not executed.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message.into(), None)
    }

    /// Creates an [`Unavailable`](ErrorKind::Unavailable) error for a call without a reply, which may have been
    /// charged.
    pub fn unknown_outcome(message: impl Into<String>) -> Self {
        let mut error = Self::unavailable(message);
        error.0.may_have_counted = true;
        error
    }

    /// Creates the error of a call in flight that a signal ended. The call may have been charged; the error does not
    /// count as a failure of the store.
    #[cfg(feature = "redis")]
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::unknown_outcome(message).because(Cause::Signal)
    }

    /// Creates the error of a call whose slot was moving between cluster nodes until the timeout. The call was not
    /// executed.
    #[cfg(feature = "redis")]
    pub fn slot_is_moving() -> Self {
        Self::unavailable("a slot of the cluster is being moved, try again").because(Cause::Slot)
    }

    #[cfg(feature = "redis")]
    pub(crate) fn because(mut self, cause: Cause) -> Self {
        self.0.cause = cause;
        self
    }

    /// Says at which server the call failed, unless the message says so already.
    #[cfg(feature = "redis")]
    pub(crate) fn at_node(mut self, node: &impl fmt::Display) -> Self {
        if !self.0.message.contains("node=") {
            let separator = if self.0.message.contains('=') { " " } else { ": " };
            self.0.message = format!("{}{separator}node={node}", self.0.message);
        }
        self
    }

    /// Marks the call as not executed by the server.
    #[cfg(feature = "redis")]
    pub(crate) fn not_counted(mut self) -> Self {
        self.0.may_have_counted = false;
        self
    }

    pub(crate) const fn cause(&self) -> Cause {
        self.0.cause
    }

    /// Creates a [`Data`](ErrorKind::Data) error for a stored value that this library did not write.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message.into(), None)
    }

    /// Creates an [`Internal`](ErrorKind::Internal) error for a defect of this library.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message.into(), None)
    }

    #[cold]
    #[inline(never)]
    fn new(kind: ErrorKind, message: String, argument: Option<&'static str>) -> Self {
        Self(Box::new(Details { kind, message, argument, may_have_counted: false, cause: Cause::Store }))
    }

    /// Returns the kind of the error.
    pub const fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the name of the invalid argument; `None` unless the kind is [`ErrorKind::Invalid`].
    pub const fn argument(&self) -> Option<&'static str> {
        self.0.argument
    }

    /// Returns whether a call that failed as [`ErrorKind::Unavailable`] may have been charged nevertheless.
    pub const fn may_have_counted(&self) -> bool {
        self.0.may_have_counted
    }

    /// Returns the message, without the kind.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}
