//! Documents of several systems, each read into policies.

pub mod conductor;
pub(crate) mod document;
pub(crate) mod field;
pub mod guild;
pub mod invantive;
pub(crate) mod load;
pub mod native;
pub mod ojs;

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::client::limiter::MAX_NAME;
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// What the names of limiters begin with that documents of other systems define.
///
/// Keys in such documents may come from users. With a prefix of its own no key is the name of a limiter that a program
/// or a document of our own format has named.
pub(crate) const PREFIXES: [&str; 4] = ["ojs/", "conductor/", "guild/", "invantive/"];

/// The most bytes that remain for a name behind a prefix.
const fn room(prefix: &str) -> usize {
    MAX_NAME - prefix.len()
}

/// What a caller says beside a document. Each belongs to some formats only, and is refused for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions<'a> {
    /// How long a lease lasts that is not renewed: Open Job Spec and Conductor. It rules what the document says of that.
    pub lock_timeout: Option<Micros>,
    /// Whose job it is: Open Job Spec.
    pub tenant: Option<&'a str>,
    /// What is limited by itself: guild-queues.
    pub group: Option<&'a str>,
}

impl LoadOptions<'_> {
    /// Refuses what the document does not take, by the name of the argument.
    pub(crate) fn only(&self, known: &[&str], format: &str) -> Result<()> {
        let given = [
            ("lock_timeout", self.lock_timeout.is_some(), "an OJS rate limit or a Conductor definition"),
            ("tenant", self.tenant.is_some(), "an OJS rate limit"),
            ("group", self.group.is_some(), "a guild-queues reservoir"),
        ];
        match given.into_iter().find(|(name, is_given, _)| *is_given && !known.contains(name)) {
            None => Ok(()),
            Some((name, _, takes)) => Err(Error::invalid(
                name,
                format!("belongs to {takes}; leave it out for this document: format={format:?}"),
            )),
        }
    }
}

/// One limiter that a document defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name of the limiter, 1 to 512 bytes.
    pub name: String,
    /// Its limits.
    pub policy: Policy,
    /// How long a call waits at most; the caller's default when the document does not say.
    pub wait_timeout: Option<Micros>,
    /// How long its statistics are kept after its last use; the default when the document does not say.
    pub ttl: Option<Micros>,
    /// What happens to work that is refused.
    pub on_limit: OnLimit,
}
