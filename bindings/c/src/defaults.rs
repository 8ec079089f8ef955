//! The defaults of the packages, defined in one place.

use paddlegate_core::{
    ADMISSION_CLAIM_TIMEOUT, CANCEL_TIMEOUT, CLAIM_TIMEOUT, DEFAULT_STATISTICS_TTL, JOB_CLAIM_TIMEOUT, LOCK_TIMEOUT,
    MAX_PAUSE, Micros, RESCHEDULE, WAIT_TIMEOUT, store::redis::DEFAULT_TIMEOUT,
};

/// Returns the default time within which every call of a store returns or fails, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn pg_timeout_us() -> i64 {
    micros(DEFAULT_TIMEOUT)
}

/// Returns the default maximum wait for a limit in the packages, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wait_timeout_us() -> i64 {
    micros(WAIT_TIMEOUT)
}

/// Returns the default duration of a lease in the packages, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn pg_lock_timeout_us() -> i64 {
    micros(LOCK_TIMEOUT)
}

/// Returns the default claim time-out in microseconds: how long a ticket keeps its queue position
/// after the time at which its call should have been repeated.
#[unsafe(no_mangle)]
pub extern "C" fn pg_claim_timeout_us() -> i64 {
    micros(CLAIM_TIMEOUT)
}

/// Returns the claim time-out for tickets of jobs, for which no call waits, in microseconds. The
/// packages use it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_job_claim_timeout_us() -> i64 {
    micros(JOB_CLAIM_TIMEOUT)
}

/// Returns the default claim time-out of pg_admit in microseconds: others pass a queued job by that
/// has not called for this time after its turn.
#[unsafe(no_mangle)]
pub extern "C" fn pg_admission_claim_timeout_us() -> i64 {
    micros(ADMISSION_CLAIM_TIMEOUT)
}

/// Returns the time in microseconds for which the packages wait for the cancellation of an
/// interrupted call.
#[unsafe(no_mangle)]
pub extern "C" fn pg_cancel_timeout_us() -> i64 {
    micros(CANCEL_TIMEOUT)
}

/// Returns the default time to live in microseconds: how long after its last use a limiter is
/// listed and its statistics are kept.
#[unsafe(no_mangle)]
pub extern "C" fn pg_ttl_us() -> i64 {
    micros(DEFAULT_STATISTICS_TTL)
}

/// Returns the default maximum of a pause that an upstream asks for, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn pg_max_pause_us() -> i64 {
    micros(MAX_PAUSE)
}

/// Returns the default maximum number of reschedules of a job that is over the limit; see
/// pg_reschedule_next.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reschedule_cap() -> i64 {
    RESCHEDULE.into()
}

fn micros(value: Micros) -> i64 {
    value.0.try_into().unwrap_or(i64::MAX)
}
