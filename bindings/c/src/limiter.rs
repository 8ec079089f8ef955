//! `pg_limiter`: a name and a policy on a store.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::time::Duration;
use std::{ptr, slice};

use paddlegate_core::{Error as CoreError, Limiter, MAX_LIMITS, OnUnavailable, Policy, Result};

use crate::control::given;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limit::{Kind, Limit};
use crate::request::not_negative;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// A limiter. Making one asks no server; make it once, keep it, and use it from any thread.
pub struct LimiterHandle {
    _opaque: [u8; 0],
}

pub(crate) static LIMITERS: Table<Limiter, LimiterHandle> = Table::new("limiter", 0b1010);

/// Makes a limiter of one to eight limits that are decided together, all charged or none.
///
/// The name has 1 to 512 bytes. Limiters of one name and the same kinds share their state, in all
/// processes and languages. The handle is to be closed by pg_limiter_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_new(
    store: *const StoreHandle,
    name: *const c_char,
    limits: *const Limit,
    count: usize,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    guard_into("limiter", limiter, ptr::null_mut, error, || unsafe { make(store, name, several(limits, count)?, None) })
}

/// pg_limiter_new with a time to live: for how long after the last use it is listed and its
/// statistics are kept, from one second; 90 days by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_new_with_ttl(
    store: *const StoreHandle,
    name: *const c_char,
    limits: *const Limit,
    count: usize,
    ttl_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("limiter", limiter, ptr::null_mut, error, || {
        let ttl = Duration::from_micros(not_negative("ttl", ttl_us)?);
        // SAFETY: the pointers are the caller's, of whom this function asks the same.
        unsafe { make(store, name, several(limits, count)?, Some(ttl)) }
    })
}

/// At most limit leases at once, each at most lock_timeout_us long unless it is renewed.
///
/// The permit of a grant is its lease, and ends by pg_release. A limit of 0 is a pause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_concurrent(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    lock_timeout_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Concurrency, limit, lock_timeout_us, limiter, error) }
}

/// At most limit units in each interval that starts at a multiple of it since 1970 (UTC).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_bucket(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Bucket, limit, interval_us, limiter, error) }
}

/// At most limit units, up to 100,000, in any interval, exactly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_window(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Window, limit, interval_us, limiter, error) }
}

/// A meter that holds capacity units and drains fully in drain_us: a burst, then as it drains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_leaky(
    store: *const StoreHandle,
    name: *const c_char,
    capacity: i64,
    drain_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Leaky, capacity, drain_us, limiter, error) }
}

/// A budget of capacity points, full again after refill_us. Calls estimate and may correct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_points(
    store: *const StoreHandle,
    name: *const c_char,
    capacity: i64,
    refill_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Points, capacity, refill_us, limiter, error) }
}

/// Starts at least interval_us apart, whatever they cost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_throttle(
    store: *const StoreHandle,
    name: *const c_char,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Throttle, 0, interval_us, limiter, error) }
}

/// Everything passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_unlimited(
    store: *const StoreHandle,
    name: *const c_char,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Unlimited, 0, 0, limiter, error) }
}

/// Nothing passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_paused(
    store: *const StoreHandle,
    name: *const c_char,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { single(store, name, Kind::Paused, 0, 0, limiter, error) }
}

/// The same limiter, which answers otherwise while its store cannot decide.
///
/// mode is "raise", PG_UNAVAILABLE, as every limiter does that is not told; "closed", refused; "open",
/// granted and never counted; or "local", decided by this process alone with share hundredths of every
/// limit, 1 to 100, PG_NOT_GIVEN for 100. share belongs to "local". Such a decision is degraded, and
/// nobody waits for another. After five failures in a row the store is asked by one call a second,
/// until it answers. In memory there is nothing to fail. Both handles are to be closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_with_on_unavailable(
    limiter: *const LimiterHandle,
    mode: *const c_char,
    share: i64,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let mode = unsafe { text::read("on_unavailable", mode) }?;
        let mode = OnUnavailable::from_name(mode, given("share", share)?)?;
        LIMITERS.open(LIMITERS.with(limiter, |limiter| Ok(limiter.with_on_unavailable(mode)))?)
    })
}

/// PG_OK when a plain yes or no is enough of an answer: for languages that have a verb like that.
///
/// PG_INVALID with a limit of concurrency, whose grants are leases: nobody could release one without
/// its permit. Asks no server.
#[unsafe(no_mangle)]
pub extern "C" fn pg_check_allow(limiter: *const LimiterHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || LIMITERS.with(limiter, Limiter::check_allow))
}

/// Closes a limiter. What it has counted stays; calls that other threads are in come to their end.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_close(limiter: *mut LimiterHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || LIMITERS.close(limiter))
}

unsafe fn single(
    store: *const StoreHandle,
    name: *const c_char,
    kind: Kind,
    amount: i64,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("limiter", limiter, ptr::null_mut, error, || {
        let limit = Limit { kind: kind as i32, amount, interval_us, offset_us: 0 };
        // SAFETY: the pointers are the caller's, of whom this function asks the same.
        unsafe { make(store, name, &[limit], None) }
    })
}

unsafe fn several<'a>(limits: *const Limit, count: usize) -> Result<&'a [Limit]> {
    match count {
        _ if limits.is_null() => Err(CoreError::invalid("limits", "is NULL")),
        // SAFETY: not NULL, so an array of the caller of `count` limits.
        0..=MAX_LIMITS => Ok(unsafe { slice::from_raw_parts(limits, count) }),
        // Not worth a look: what is counted may not even be there.
        _ => Err(CoreError::invalid("limits", format!("are more than {MAX_LIMITS}: limits={count}"))),
    }
}

unsafe fn make(
    store: *const StoreHandle,
    name: *const c_char,
    limits: &[Limit],
    ttl: Option<Duration>,
) -> Result<*mut LimiterHandle> {
    let limits: Vec<_> = limits.iter().map(Limit::core).collect::<Result<_>>()?;
    // SAFETY: the caller passes NULL or a text that ends with a zero byte.
    let name = unsafe { text::read("name", name) }?;
    let policy = Policy::new(limits)?;
    STORES.with(store, |store| {
        LIMITERS.open(match ttl {
            Some(ttl) => store.limiter_with_ttl(name, policy, ttl)?,
            None => store.limiter(name, policy)?,
        })
    })
}
