//! The leases of a concurrency limit.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{Answer, Operation};

use crate::call::{run, settle, unexpected};
use crate::decision::{Settlement, number};
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;
use crate::text;

/// Ends the lease of a permit, once, from any process. settlement receives PG_SETTLEMENT_RELEASED.
///
/// It receives PG_SETTLEMENT_LATE when the lease had ended before, so that another holder may have
/// worked at the same time, and PG_SETTLEMENT_UNKNOWN when there is no such lease or no concurrency
/// limit. Never ends another lease. settlement may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_release(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    settle(limiter, settlement, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        Ok(Operation::Release { permit: unsafe { text::read("permit", permit) }? })
    })
}

/// Restarts the duration of the lease of a permit. lease_us receives how long the lease lasts from
/// now, or -1 when it has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_renew(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    lease_us: Option<&mut MaybeUninit<i64>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "lease_us",
        lease_us,
        || -1,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let permit = unsafe { text::read("permit", permit) }?;
            match run(limiter, Operation::Renew { permit })? {
                Answer::Renewal(lease) => Ok(number(lease.map(|lease| lease.0))),
                other => Err(unexpected(&other)),
            }
        },
    )
}
