//! Constants that several layers need.

use super::micros::Micros;

/// The default claim timeout: 2 s. A ticket keeps its queue position for this time after its call should have retried.
pub const CLAIM_TIMEOUT: Micros = Micros(2_000_000);

/// The claim timeout for tickets of jobs: 60 s, because a job server polls at its own pace.
pub const JOB_CLAIM_TIMEOUT: Micros = Micros(60_000_000);

/// The default claim timeout of an admission: 5 s. Others pass a job by that has not called for this time after its turn, and
/// it keeps its position for [`JOB_CLAIM_TIMEOUT`] more.
pub const ADMISSION_CLAIM_TIMEOUT: Micros = Micros(5_000_000);

/// The maximum number of ids that one call of [`Limiter::ready`](crate::Limiter::ready) returns, and its default.
pub const MAX_READY: u64 = 100;

/// The maximum number of ended leases, ended permits or forgotten limiters that one call removes; later calls remove
/// the rest.
pub(crate) const MAX_REMOVALS: usize = 1_000;

/// The maximum number of lapsed tickets that one call removes.
pub(crate) const MAX_EXPIRED: usize = 500;
