//! `pg_store`: the location of the state of limiters.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use paddlegate_core::Paddlegate;

use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::request::not_negative;
use crate::test_clock::{CLOCKS, TestClockHandle};
use crate::text;

/// A store: the memory of this process, or a Redis that many processes share.
pub struct StoreHandle {
    _opaque: [u8; 0],
}

pub(crate) static STORES: Table<Paddlegate, StoreHandle> = Table::new("store", 0b0101);

/// Opens a store. Makes no connection and starts nothing; the first call of a limiter connects.
///
/// The url is redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=n] or
/// memory://. More nodes of a cluster may follow the first after commas; with
/// redis+sentinel://host,host/master they are sentinels. NULL stands for the
/// environment variable PADDLEGATE_URL, and for memory when it is not set. Every call returns or
/// fails within timeout_us; 0 stands for the default, one second. The caller must close the handle
/// with pg_store_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_store_open(
    url: *const c_char,
    timeout_us: i64,
    store: Option<&mut MaybeUninit<*mut StoreHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { pg_store_open_with_clock(url, timeout_us, ptr::null(), store, error) }
}

/// Opens a store as pg_store_open does, which decides by a clock of a test. Several stores may share
/// a clock. A clock that is NULL stands for that of the store.
///
/// In Redis the clock of one process could end the leases of all others. So a clock for a store in
/// Redis is PG_INVALID, with the argument "clock", unless the environment has
/// PADDLEGATE_TEST_CLOCK=1 when the store is opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_store_open_with_clock(
    url: *const c_char,
    timeout_us: i64,
    clock: *const TestClockHandle,
    store: Option<&mut MaybeUninit<*mut StoreHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("store", store, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let url = unsafe { text::read_some("url", url) }?;
        let timeout = match not_negative("timeout", timeout_us)? {
            0 => None,
            timeout => Some(Duration::from_micros(timeout)),
        };
        let clock = (!clock.is_null()).then(|| CLOCKS.with(clock, |clock| Ok(clock.clone()))).transpose()?;
        STORES.open(match url {
            Some(url) => Paddlegate::open_with_clock(url, timeout, clock.as_ref())?,
            None => Paddlegate::from_env_with_clock(timeout, clock.as_ref())?,
        })
    })
}

/// Opens a store in the memory of this process. Two such stores share nothing. The caller must
/// close the handle with pg_store_close.
#[unsafe(no_mangle)]
pub extern "C" fn pg_store_memory(
    store: Option<&mut MaybeUninit<*mut StoreHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("store", store, ptr::null_mut, error, || STORES.open(Paddlegate::memory()))
}

/// Closes a store and the connections of this process to it, even while limiters of the store are
/// open.
///
/// Every later call of those limiters returns PG_INVALID with the argument "store", and so does a
/// pg_acquire_timeout that waits, in memory too. The caller must still close
/// the handles of limiters and of pg_wakeups.
#[unsafe(no_mangle)]
pub extern "C" fn pg_store_close(store: *mut StoreHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || {
        let open = STORES.with(store, |store| Ok(store.clone()))?;
        STORES.close(store)?;
        open.close();
        Ok(())
    })
}

/// Sends what this process has counted to the statistics, of all open stores.
///
/// A process does so with its calls and in pg_store_close. Call this before it ends while a store is open. It waits for
/// at most half a second for each server, and what a server does not take is lost.
#[unsafe(no_mangle)]
pub extern "C" fn pg_send_counts() {
    guard(None, || {
        paddlegate_core::store::redis::send_counts();
        Ok(())
    });
}

/// Returns 1 when the limiters of a store decide without contacting a server, so that no call waits
/// for one; otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn pg_store_is_memory(store: *const StoreHandle) -> i32 {
    let mut memory = 0;
    let body = |store: &Paddlegate| {
        memory = i32::from(store.redis().is_none());
        Ok(())
    };
    guard(None, || STORES.with(store, body));
    memory
}
