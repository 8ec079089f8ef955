//! Documents of several systems, each parsed into policies.

pub mod conductor;
pub(crate) mod document;
pub(crate) mod field;
pub mod guild;
pub mod invantive;
pub(crate) mod load;
pub mod native;
pub mod ojs;
pub(crate) mod procedure;

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::client::limiter::MAX_NAME;
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// The limiter name prefixes of documents from other systems.
///
/// Keys in such documents may come from users. Because of the prefix, no key can match a limiter name chosen by a
/// program or by a document in the native format.
pub(crate) const PREFIXES: [&str; 4] = ["ojs/", "conductor/", "guild/", "invantive/"];

/// Returns the maximum length of a name after a prefix, in bytes.
const fn room(prefix: &str) -> usize {
    MAX_NAME - prefix.len()
}

/// Options of the caller for a document. Each applies to some formats only, and is an error for the others.
///
/// # Examples
///
/// ```
/// # use paddlegate::{LoadOptions, Micros, Paddlegate};
/// let task = r#"{ "name": "encode", "concurrentExecLimit": 2 }"#;
/// let options = LoadOptions { lock_timeout: Some(Micros(60_000_000)), ..LoadOptions::default() };
/// let loaded = Paddlegate::memory().load_with(task, &options)?;
/// assert_eq!(loaded[0].limiter.policy().limits()[0].interval(), Micros(60_000_000));
/// let options = LoadOptions { group: Some("any"), ..LoadOptions::default() };
/// assert_eq!(Paddlegate::memory().load_with(task, &options).unwrap_err().argument(), Some("group"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions<'a> {
    /// The lifetime of a lease that is not renewed: Open Job Spec and Conductor. Takes precedence over the document.
    pub lock_timeout: Option<Micros>,
    /// The tenant of the job: Open Job Spec.
    pub tenant: Option<&'a str>,
    /// The group with its own limit: guild-queues.
    pub group: Option<&'a str>,
}

impl LoadOptions<'_> {
    /// Returns an error for an option that the format does not support; the error names the argument.
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

/// A limiter defined by a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name of the limiter, 1 to 512 bytes.
    pub name: String,
    /// The limits.
    pub policy: Policy,
    /// The maximum wait of a call; the caller's default when `None`.
    pub wait_timeout: Option<Micros>,
    /// The retention of statistics after the last use; the default when `None`.
    pub ttl: Option<Micros>,
    /// The group, which limiters that decide together in a cluster have in common.
    pub group: Option<String>,
    /// Whether the limiter has a state for each key.
    pub keyed: bool,
    /// Whether the limiter keeps statistics and is in the list of limiters.
    pub statistics: bool,
    /// The handling of refused work.
    pub on_limit: OnLimit,
}
