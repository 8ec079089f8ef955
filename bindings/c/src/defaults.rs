//! What the packages take when the user says nothing, so that it is written once.

use paddlegate_core::{
    CLAIM_TIMEOUT, DEFAULT_STATISTICS_TTL, JOB_CLAIM_TIMEOUT, LOCK_TIMEOUT, MAX_PAUSE, Micros, RESCHEDULE, WAIT_TIMEOUT,
};

/// How long the packages wait for a limit unless told otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wait_timeout_us() -> i64 {
    micros(WAIT_TIMEOUT)
}

/// How long a lease lasts in the packages unless told otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn pg_lock_timeout_us() -> i64 {
    micros(LOCK_TIMEOUT)
}

/// How long a ticket keeps its place after the time at which it was to look, unless told otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn pg_claim_timeout_us() -> i64 {
    micros(CLAIM_TIMEOUT)
}

/// The same for tickets of jobs, for which nobody waits; the packages take it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_job_claim_timeout_us() -> i64 {
    micros(JOB_CLAIM_TIMEOUT)
}

/// For how long after its last use a limiter is listed and its statistics are kept, unless told
/// otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn pg_ttl_us() -> i64 {
    micros(DEFAULT_STATISTICS_TTL)
}

/// The longest pause to take from an upstream's word, unless told otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn pg_max_pause_us() -> i64 {
    micros(MAX_PAUSE)
}

/// How often a job that is over the limit comes again, unless told otherwise; see
/// pg_reschedule_next.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reschedule_cap() -> i64 {
    RESCHEDULE.into()
}

fn micros(value: Micros) -> i64 {
    value.0.try_into().unwrap_or(i64::MAX)
}
