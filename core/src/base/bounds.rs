//! Constants that two layers need.

use super::micros::Micros;

/// How long a ticket keeps its place after the time at which its caller should have asked again.
pub const CLAIM_TIMEOUT: Micros = Micros(2_000_000);

/// [`CLAIM_TIMEOUT`] for tickets of jobs, whose host asks again at its own pace.
pub const JOB_CLAIM_TIMEOUT: Micros = Micros(60_000_000);

/// How many ended leases, ended permits or forgotten limiters one call removes; later calls remove the rest.
pub(crate) const MAX_REMOVALS: usize = 1_000;
