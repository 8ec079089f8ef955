//! `pg_store`: where limiters keep their state.

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

/// A store: this process, or a Redis that is shared by many.
pub struct StoreHandle {
    _opaque: [u8; 0],
}

pub(crate) static STORES: Table<Paddlegate, StoreHandle> = Table::new("store", 0b0101);

/// Opens a store. Connects to nothing and starts nothing; the first call of a limiter does.
///
/// The url is redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=n] or
/// memory://. More nodes of a cluster may follow the first after commas. NULL takes the environment
/// variable PADDLEGATE_URL, and memory when it is not set. Every call has an answer or fails within
/// timeout_us; 0 stands for the default, one second.
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

/// Opens a store in this process. Two of them share nothing.
#[unsafe(no_mangle)]
pub extern "C" fn pg_store_memory(
    store: Option<&mut MaybeUninit<*mut StoreHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("store", store, ptr::null_mut, error, || STORES.open(Paddlegate::memory()))
}

/// Closes a store and the connections that this process has to it, whatever limiters of it are open.
///
/// Every later call of those limiters is PG_INVALID, with the argument "store", and so is a
/// pg_acquire_timeout that waits; limiters in memory go on. The handles of limiters and of pg_wakeups
/// are to be closed all the same.
#[unsafe(no_mangle)]
pub extern "C" fn pg_store_close(store: *mut StoreHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || {
        let open = STORES.with(store, |store| Ok(store.clone()))?;
        STORES.close(store)?;
        open.close();
        Ok(())
    })
}

/// 1 when the limiters of a store answer without asking a server, so that no call waits; else 0.
#[unsafe(no_mangle)]
pub extern "C" fn pg_store_is_memory(store: *const StoreHandle) -> i32 {
    let mut memory = 0;
    let look = |store: &Paddlegate| {
        memory = i32::from(store.redis().is_none());
        Ok(())
    };
    guard(None, || STORES.with(store, look));
    memory
}
