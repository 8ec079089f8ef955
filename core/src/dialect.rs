//! Documents of several systems, each read into policies.

pub mod conductor;
pub(crate) mod field;
pub mod guild;
pub mod invantive;
pub mod native;
pub mod ojs;

use crate::micros::Micros;
use crate::on_limit::OnLimit;
use crate::policy::Policy;

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
