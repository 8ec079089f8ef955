//! `ChangeLog`: the log of changes for a program that is no server, such as the command.

use paddlegate::{AdminRequest, Error, KeyChange, Limiter, Paddlegate, Result};

use super::entry::{AuditEntry, AuditId, Text};
use super::what::{ALL_KEYS, RESET, what};
use super::{after, append};

/// The maximum length of a name in bytes.
const MAX_WHO: usize = 100;

/// The maximum length of a reason in bytes.
const MAX_REASON: usize = 500;

/// Who makes a change, and why.
#[derive(Clone, Debug)]
pub struct Author {
    who: String,
    reason: Option<String>,
}

/// A change that was made.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one or two are made for a change")]
pub enum Made {
    /// A pause, an override, or the end of one.
    Admin(AdminRequest),
    /// All that was taken is forgotten.
    Reset,
}

/// The log of changes that all servers on one Redis share.
#[derive(Clone)]
pub struct ChangeLog(Paddlegate);

impl Author {
    /// Creates an author.
    ///
    /// `Invalid` for the argument `by` unless the name has 1 to 100 bytes, and for `reason` above 500 bytes.
    pub fn new(who: impl Into<String>, reason: Option<String>) -> Result<Self> {
        let who = who.into();
        if !(1..=MAX_WHO).contains(&who.len()) {
            return Err(Error::invalid("by", format!("must have 1 to {MAX_WHO} bytes")));
        }
        check_reason(reason.as_deref())?;
        Ok(Self { who, reason })
    }
}

impl Made {
    /// Returns the words of the log.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Admin(request) => what(request),
            Self::Reset => RESET.to_owned(),
        }
    }

    /// Returns the change for each key of a keyed limiter.
    pub const fn of_keys(&self) -> KeyChange<'_> {
        match self {
            Self::Admin(request) => KeyChange::Admin(request),
            Self::Reset => KeyChange::Reset,
        }
    }
}

impl ChangeLog {
    /// Creates the log of this Redis. A store in memory has none: its errors are `Invalid`.
    pub fn new(paddlegate: Paddlegate) -> Self {
        Self(paddlegate)
    }

    /// Appends a change that was made. After an error the entry may be missing; the change itself is in force.
    pub async fn record(&self, author: &Author, limiter: &Limiter, made: &Made) -> Result<()> {
        let mut what = made.what();
        if limiter.is_keyed() && limiter.key().is_none() {
            what += ALL_KEYS;
        }
        let Author { who, reason } = author;
        append(&self.0, &Text::now(who, limiter.name(), limiter.key(), &what, reason.as_deref())).await
    }

    /// Returns about the last thousand changes, the newest last.
    pub async fn entries(&self) -> Result<Vec<AuditEntry>> {
        after(&self.0, AuditId::default()).await
    }
}

/// Fails when a reason is too long.
pub(crate) fn check_reason(reason: Option<&str>) -> Result<()> {
    match reason {
        Some(reason) if reason.len() > MAX_REASON => {
            Err(Error::invalid("reason", format!("must have at most {MAX_REASON} bytes")))
        }
        _ => Ok(()),
    }
}
