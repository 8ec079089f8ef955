//! `ByWhom` of a command that was built without the server: it keeps no log of changes.

use clap::Args;
use paddlegate::{AdminRequest, KeyChange, Limiter, Paddlegate};

use crate::failure::Failure;

/// The options of every change: none.
#[derive(Args, Debug)]
pub(crate) struct ByWhom {}

/// Who makes a change: it is not kept.
pub(crate) struct Author;

/// A change that was made.
pub(crate) enum Made {
    /// A pause, an override, or the end of one.
    Admin(AdminRequest),
    /// All that was taken is forgotten.
    Reset,
}

impl Made {
    pub(crate) const fn of_keys(&self) -> KeyChange<'_> {
        match self {
            Self::Admin(request) => KeyChange::Admin(request),
            Self::Reset => KeyChange::Reset,
        }
    }
}

impl ByWhom {
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with the log")]
    pub(crate) fn author(&self) -> Result<Author, Failure> {
        Ok(Author)
    }
}

#[allow(clippy::needless_pass_by_value, clippy::trivially_copy_pass_by_ref, reason = "as with the log")]
pub(crate) fn record(_: Paddlegate, _: &Author, _: &Limiter, _: &[Made]) {}
