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
use crate::text;

/// A store: the memory of this process, or a Redis that many processes share.
pub struct StoreHandle {
    _opaque: [u8; 0],
}

pub(crate) static STORES: Table<Paddlegate, StoreHandle> = Table::new("store", 0b0101);

/// Opens a store. Makes no connection and starts nothing; the first call of a limiter connects.
///
/// The url is redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=n] or
/// memory://. More nodes of a cluster may follow the first after commas. NULL stands for the
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
    guard_into("store", store, ptr::null_mut, error, || {
        let timeout = match not_negative("timeout", timeout_us)? {
            0 => None,
            timeout => Some(Duration::from_micros(timeout)),
        };
        STORES.open(if url.is_null() {
            Paddlegate::from_env(timeout)?
        } else {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            Paddlegate::open(unsafe { text::read("url", url) }?, timeout)?
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
/// pg_acquire_timeout that waits; limiters in memory continue to work. The caller must still close
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
