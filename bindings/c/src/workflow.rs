//! `pg_conductor_limiter`: the limiter of a run of a workflow.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::Micros;

use crate::control::optional;
use crate::document::LoadedLimiter;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// Creates the limiter for a run of a Conductor workflow, in the form that pg_document_next writes.
/// Contacts no server.
///
/// definition is the definition of the workflow, and run the known attributes of the run,
/// {"input": {}, "correlationId": "", "version": 1}; both are JSON. Runs with the same key share a
/// limiter, whose name is conductor/workflow/ and the key; a run without a key has an unlimited
/// limiter. A lease lasts at most lock_timeout_us unless it is renewed, PG_NOT_GIVEN for
/// pg_lock_timeout_us. Pass the on_limit of the limiter to pg_admit. The caller must close the
/// limiter with pg_limiter_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_conductor_limiter(
    store: *const StoreHandle,
    definition: *const c_char,
    run: *const c_char,
    lock_timeout_us: i64,
    loaded: Option<&mut MaybeUninit<LoadedLimiter>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "loaded",
        loaded,
        || LoadedLimiter::NONE,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let (definition, run) = unsafe { (text::read("definition", definition)?, text::read("run", run)?) };
            let lock_timeout = optional("lock_timeout", lock_timeout_us)?.map(Micros);
            let limiter = STORES.with(store, |store| store.conductor_limiter(definition, run, lock_timeout))?;
            LoadedLimiter::open(&limiter)
        },
    )
}
