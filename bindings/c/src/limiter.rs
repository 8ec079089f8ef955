//! `pg_limiter`: a name and a policy in a store.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use paddlegate_core::{BlockAfter, Limit as CoreLimit, Limiter, Micros, Mode, OnUnavailable, Policy, Result};

use crate::control::optional;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limit::{Kind, Limit, read_limits};
use crate::request::not_negative;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// A limiter. Creating one contacts no server. Create it once and keep it; any thread may use it.
pub struct LimiterHandle {
    _opaque: [u8; 0],
}

pub(crate) static LIMITERS: Table<Limiter, LimiterHandle> = Table::new("limiter", 0b1010);

/// Creates a limiter of one to eight limits, which are decided together: all are charged or none.
///
/// The name has 1 to 512 bytes. Limiters with the same name share their state, in all processes and
/// languages; what was taken from a limit is that of its label and kind. The caller must close the
/// handle with pg_limiter_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_new(
    store: *const StoreHandle,
    name: *const c_char,
    limits: *const Limit,
    count: usize,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    guard_into("limiter", limiter, ptr::null_mut, error, || unsafe {
        open(store, name, read_limits(limits, count)?, None)
    })
}

/// Creates a limiter as pg_limiter_new does, with a time to live: how long after its last use the
/// limiter is listed and its statistics are kept. From one second, 90 days by default.
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
        // SAFETY: this function places the same requirements on its caller.
        unsafe { open(store, name, read_limits(limits, count)?, Some(ttl)) }
    })
}

/// Creates a limiter of at most limit leases at once, each at most lock_timeout_us long unless it
/// is renewed.
///
/// The permit of a grant is its lease, which pg_release ends. A limit of 0 is a pause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_concurrent(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    lock_timeout_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Concurrency, limit, lock_timeout_us, limiter, error) }
}

/// Creates a limiter of at most limit units in each interval. Intervals start at multiples of
/// interval_us since 1970 (UTC).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_bucket(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Bucket, limit, interval_us, limiter, error) }
}

/// Creates a limiter of at most limit units in any interval, exactly. limit is at most 100,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_window(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Window, limit, interval_us, limiter, error) }
}

/// Creates a limiter with a meter that holds capacity units and drains fully in drain_us: a burst,
/// then the rate at which it drains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_leaky(
    store: *const StoreHandle,
    name: *const c_char,
    capacity: i64,
    drain_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Leaky, capacity, drain_us, limiter, error) }
}

/// Creates a limiter with a budget of capacity points that is full again after refill_us. Calls
/// give an estimate and may correct it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_points(
    store: *const StoreHandle,
    name: *const c_char,
    capacity: i64,
    refill_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Points, capacity, refill_us, limiter, error) }
}

/// Creates a limiter that keeps starts at least interval_us apart, whatever their cost. For several
/// evenly spaced starts per interval call pg_limiter_new with an amount.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_throttle(
    store: *const StoreHandle,
    name: *const c_char,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Throttle, 1, interval_us, limiter, error) }
}

/// Creates a limiter of at most limit units in each period of the calendar, from 1 to 10^12.
///
/// per is "day", "week", "month", "quarter" or "year". timezone is "UTC", an offset such as
/// "+05:30", or a name of the time zone database such as "Europe/Berlin"; NULL for UTC. starts is the
/// start of the periods in local time: of days a time such as "06:00", of weeks a day such as
/// "sunday", of months a day from "1" to "31" (in a shorter month its last day), of quarters and
/// years month and day such as "04-06"; or for all of them a date such as "2025-01-31" or
/// "2025-01-31T09:30" at which one of them starts. NULL for midnight, Monday, or the first day.
///
/// All units return when a period ends, by the clock of the store. PG_INVALID names "limit", "per",
/// "timezone" or "starts".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_quota(
    store: *const StoreHandle,
    name: *const c_char,
    limit: i64,
    per: *const c_char,
    timezone: *const c_char,
    starts: *const c_char,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("limiter", limiter, ptr::null_mut, error, || {
        let limit = Limit { kind: Kind::Quota as i32, amount: limit, per, timezone, starts, ..Limit::NONE };
        // SAFETY: this function places the same requirements on its caller.
        unsafe { open(store, name, vec![limit.core()?], None) }
    })
}

/// Creates a limiter that grants every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_unlimited(
    store: *const StoreHandle,
    name: *const c_char,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Unlimited, 0, 0, limiter, error) }
}

/// Creates a limiter that refuses every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_paused(
    store: *const StoreHandle,
    name: *const c_char,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { open_single(store, name, Kind::Paused, 0, 0, limiter, error) }
}

/// Creates another handle of the limiter, with another behaviour while its store cannot decide.
///
/// mode is "raise", which returns PG_UNAVAILABLE and is the default of every limiter;
/// "fail_closed", which refuses; "fail_open", which grants and never counts; or "local", which
/// decides by this process alone with a share of every limit. local_share_percent is for "local"
/// only: percent of every limit, 1 to 100, PG_NOT_GIVEN for 100. A decision of "fail_closed",
/// "fail_open" or "local" while the store cannot decide is degraded, and queues no call. After five
/// consecutive failures only one call a second goes to the store, until one succeeds. In memory the
/// mode has no effect. The caller must close both handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_with_on_unavailable(
    limiter: *const LimiterHandle,
    mode: *const c_char,
    local_share_percent: i64,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let mode = unsafe { text::read("on_unavailable", mode) }?;
        let mode = OnUnavailable::from_name(mode, optional("local_share_percent", local_share_percent)?)?;
        LIMITERS.open(LIMITERS.with(limiter, |limiter| Ok(limiter.with_on_unavailable(mode)))?)
    })
}

/// Creates another handle of the limiter, in a group of 1 to 512 bytes. In a cluster the limiters of
/// a group are on one node, so that pg_together can join them.
///
/// All processes must give a name the same group: with another one, or none, it has another state.
/// The caller must close both handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_with_group(
    limiter: *const LimiterHandle,
    group: *const c_char,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let group = unsafe { text::read("group", group) }?;
        LIMITERS.open(LIMITERS.with(limiter, |limiter| limiter.with_group(group))?)
    })
}

/// Creates another handle of the limiter, with a state for each key: a limit per user, address or
/// tenant without a limiter for each.
///
/// Calls then need the handle of one key, from pg_limiter_with_key; without it they return
/// PG_INVALID with the argument "key". Only pg_stats is called without a key: its counters are those
/// of all keys. The state of a key ends soon after all its units are available again. All keys have
/// one entry in pg_list_open. A keyed limiter and one without keys of the same name have nothing in
/// common. The caller must close both handles.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_keyed(
    limiter: *const LimiterHandle,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || LIMITERS.open(LIMITERS.with(limiter, Limiter::keyed)?))
}

/// Creates the handle of one key of a keyed limiter, for every function that takes a limiter but
/// pg_stats. The key has 1 to 512 bytes.
///
/// The handle is cheap and made for one call: make it, call, and close it. PG_INVALID with the
/// argument "key" for a limiter that is not keyed, and for a key that is empty or too long. The
/// caller must close both handles, in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_with_key(
    limiter: *const LimiterHandle,
    key: *const c_char,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let key = unsafe { text::read("key", key) }?;
        LIMITERS.open(LIMITERS.with(limiter, |limiter| limiter.with_key(key))?)
    })
}

/// Creates another handle of the limiter, which keeps no statistics and is not in pg_list_open: a
/// server then does less for each call.
///
/// pg_stats then returns PG_INVALID with the argument "statistics". The switch is of the limiter in
/// this process: others that use the name decide alike, whether they count or not. The caller must
/// close both handles.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_without_statistics(
    limiter: *const LimiterHandle,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        LIMITERS.open(LIMITERS.with(limiter, Limiter::without_statistics)?)
    })
}

/// Creates another handle of the limiter, in a mode: "enforce", the default of every limiter, or
/// "shadow", which decides and counts as ever but refuses nobody, for the roll-out of a limit.
///
/// In shadow a call that would be refused, or would have to wait, is granted at once:
/// decision->would_refuse is the reason, label and retry_after_us are what they would have been.
/// Such a grant charges nothing, and its permit is settled without effect; pg_stats counts it as
/// shadow_refused. A pause and a block that a command sets refuse as ever, and a cost that can never
/// pass is PG_INVALID. pg_override_mode overrides the mode at run time, in all processes.
/// PG_INVALID with the argument "mode" for another text and for a limiter of pg_together. The caller
/// must close both handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_with_mode(
    limiter: *const LimiterHandle,
    mode: *const c_char,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let mode = Mode::from_name(unsafe { text::read("mode", mode) }?)?;
        LIMITERS.open(LIMITERS.with(limiter, |limiter| limiter.with_mode(mode))?)
    })
}

/// Creates another handle of the limiter, which blocks by itself: after so many refusals within
/// within_us every call is refused for for_us, with the reason PG_REASON_BLOCKED. Of a keyed limiter
/// it blocks a key.
///
/// refusals is from 1 to 1,000,000, both times from one second to seven days. The refusals of all
/// processes whose limiters have the rule count, also those that only "shadow" lets pass; those by a
/// pause or a block do not count, and a wait that times out does not. pg_resume ends a block.
/// PG_INVALID with the argument "block_after" for other numbers and for a limiter of pg_together.
/// The caller must close both handles.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_with_block_after(
    limiter: *const LimiterHandle,
    refusals: i64,
    within_us: i64,
    for_us: i64,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        let number = |value| not_negative("block_after", value);
        let rule = BlockAfter::of_micros(number(refusals)?, Micros(number(within_us)?), Micros(number(for_us)?))?;
        LIMITERS.open(LIMITERS.with(limiter, |limiter| limiter.with_block_after(rule))?)
    })
}

/// Creates another handle of the limiter, whose calls rise in the queue: one that waits gets the next
/// higher priority after each aging_us, so that those of a higher one cannot hold it up for ever.
///
/// aging_us is from one second to seven days. A call rises when it asks again. PG_INVALID with the
/// argument "aging" for other numbers and for a limiter of pg_together. The caller must close both
/// handles.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_with_aging(
    limiter: *const LimiterHandle,
    aging_us: i64,
    other: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("other", other, ptr::null_mut, error, || {
        let aging = Duration::from_micros(not_negative("aging", aging_us)?);
        LIMITERS.open(LIMITERS.with(limiter, |limiter| limiter.with_aging(aging))?)
    })
}

/// Returns 1 when the limiter has a state for each key, also for the handle of one key; otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_is_keyed(limiter: *const LimiterHandle) -> i32 {
    let mut keyed = 0;
    let body = |limiter: &Limiter| {
        keyed = i32::from(limiter.is_keyed());
        Ok(())
    };
    guard(None, || LIMITERS.with(limiter, body));
    keyed
}

/// Writes the key that was given to pg_limiter_with_key; an empty text for a limiter without one.
/// place is a buffer of room bytes; 513 bytes are enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_key(
    limiter: *const LimiterHandle,
    place: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        LIMITERS.with(limiter, |limiter| {
            // SAFETY: the caller passes NULL or a buffer of `room` bytes.
            unsafe { text::fill("place", place, room, limiter.key().unwrap_or_default()) }
        })
    })
}

/// Returns PG_OK when a plain yes or no is enough for this limiter, for languages with such a
/// method.
///
/// Returns PG_INVALID for a limiter with a concurrency limit: its grants are leases, and a lease
/// cannot be released without its permit. Contacts no server.
#[unsafe(no_mangle)]
pub extern "C" fn pg_check_allow(limiter: *const LimiterHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || LIMITERS.with(limiter, Limiter::check_allow))
}

/// Closes a limiter. Its counts stay in the store; calls of other threads that are in progress
/// complete.
#[unsafe(no_mangle)]
pub extern "C" fn pg_limiter_close(limiter: *mut LimiterHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || LIMITERS.close(limiter))
}

unsafe fn open_single(
    store: *const StoreHandle,
    name: *const c_char,
    kind: Kind,
    amount: i64,
    interval_us: i64,
    limiter: Option<&mut MaybeUninit<*mut LimiterHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("limiter", limiter, ptr::null_mut, error, || {
        let limit = Limit { kind: kind as i32, amount, interval_us, ..Limit::NONE };
        // SAFETY: this function places the same requirements on its caller.
        unsafe { open(store, name, vec![limit.core()?], None) }
    })
}

unsafe fn open(
    store: *const StoreHandle,
    name: *const c_char,
    limits: Vec<CoreLimit>,
    ttl: Option<Duration>,
) -> Result<*mut LimiterHandle> {
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
