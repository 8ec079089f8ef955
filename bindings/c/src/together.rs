//! `pg_together`: several limiters, one decision.

use std::mem::MaybeUninit;
use std::{ptr, slice};

use paddlegate_core::{Error as CoreError, Limiter, MAX_TOGETHER, Result};

use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::store::{STORES, StoreHandle};

/// Creates a limiter of one to four limiters of a store that decide together: all are charged or
/// none, in one call.
///
/// Each keeps its own name, state, statistics and overrides; decision->limiter is the index of the
/// one that the numbers are of. The functions that are of one name return PG_INVALID: those for
/// statistics, reports, overrides, pauses and resets. A permit is for the same limiters in the same
/// order. Each keeps its own queue: a call waits in the queue of the first limiter that refuses it,
/// and while another then holds it up, it keeps its position there and stops nobody behind it.
///
/// The limiters are of one group or none. In a cluster they need one, see pg_limiter_with_group;
/// without it every call is PG_INVALID. While the store cannot decide, the strictest mode of
/// pg_limiter_with_on_unavailable applies, and "local" refuses. A keyed limiter takes part with one
/// key, see pg_limiter_with_key; without it this is PG_INVALID with the argument "key". The caller
/// must close the handle with pg_limiter_close, and may close those of the limiters before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_together(
    store: *const StoreHandle,
    limiters: *const *mut LimiterHandle,
    count: usize,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("limiter", limiter, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or an array of `count` handles.
        let limiters = unsafe { read_limiters(limiters, count) }?;
        let limiters: Vec<&Limiter> = limiters.iter().collect();
        STORES.with(store, |store| LIMITERS.open(store.together(&limiters)?))
    })
}

unsafe fn read_limiters(limiters: *const *mut LimiterHandle, count: usize) -> Result<Vec<Limiter>> {
    let invalid = |message: String| CoreError::invalid("limiters", message);
    let limiters = match count {
        0 => &[],
        _ if limiters.is_null() => return Err(invalid("is NULL".to_owned())),
        // SAFETY: not NULL, so the caller's array of `count` handles.
        1..=MAX_TOGETHER => unsafe { slice::from_raw_parts(limiters, count) },
        // The array is not read: it may be shorter than `count`.
        _ => return Err(invalid(format!("one to {MAX_TOGETHER} limiters decide together: limiters={count}"))),
    };
    let open = |(i, handle): (usize, &*mut LimiterHandle)| {
        let limiter = LIMITERS.with(*handle, |limiter| Ok(limiter.clone()));
        limiter.map_err(|error| invalid(format!("{}: index={i}", error.message())))
    };
    limiters.iter().enumerate().map(open).collect()
}
