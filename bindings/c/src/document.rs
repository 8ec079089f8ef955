//! `pg_document`: the limiters that a document defines.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::str;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddlegate_core::{
    Error as CoreError, LoadOptions, LoadedLimiter as CoreLoadedLimiter, MAX_LIMITS, Micros, Result,
};

use crate::control::optional;
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limit::LabelledLimit;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::store::{STORES, StoreHandle};
use crate::text;

/// The limiters of a document: sorted by name for the native format, in the order of the document
/// for any other format.
pub struct DocumentHandle {
    _opaque: [u8; 0],
}

struct Document {
    limiters: Vec<CoreLoadedLimiter>,
    next: AtomicUsize,
}

static DOCUMENTS: Table<Document, DocumentHandle> = Table::new("document", 0b1001);

/// One limiter of a document.
#[repr(C)]
pub struct LoadedLimiter {
    /// The name; empty after the last limiter.
    pub name: [c_char; 520],
    /// The limiter, which the caller must close with pg_limiter_close; NULL after the last limiter.
    /// pg_limiter_is_keyed tells whether it has a state for each key.
    pub limiter: *mut LimiterHandle,
    /// The limits.
    pub limits: [LabelledLimit; 8],
    /// The number of limits; 0 for an unlimited limiter.
    pub count: usize,
    /// How long after its last use the limiter is listed and its statistics are kept.
    pub ttl_us: i64,
    /// The maximum wait of a call; -1 when the document does not set one.
    pub wait_timeout_us: i64,
    /// The action for refused work: "raise", "ignore", "wait", "reschedule" or "drop".
    pub on_limit: [c_char; 16],
    /// The group, see pg_limiter_with_group; empty without one.
    pub group: [c_char; 520],
}

impl LoadedLimiter {
    pub(crate) const NONE: Self = Self {
        name: [0; 520],
        limiter: ptr::null_mut(),
        limits: [LabelledLimit::NONE; MAX_LIMITS],
        count: 0,
        ttl_us: 0,
        wait_timeout_us: -1,
        on_limit: [0; 16],
        group: [0; 520],
    };

    pub(crate) fn open(core: &CoreLoadedLimiter) -> Result<Self> {
        let (limits, count) = LabelledLimit::array(core.limiter.policy().limits());
        Ok(Self {
            name: text::write(core.limiter.name()),
            limiter: LIMITERS.open(core.limiter.clone())?,
            limits,
            count,
            ttl_us: number(Some(core.limiter.ttl().0)),
            wait_timeout_us: number(core.wait_timeout.map(|timeout| timeout.0)),
            on_limit: text::write(core.on_limit.name()),
            group: text::write(core.limiter.group().unwrap_or_default()),
        })
    }
}

/// Creates the limiters that a document defines, in a store. The document is length bytes of JSON,
/// in the native format or one of the other supported formats.
///
/// The message of PG_INVALID contains the JSON path of the fault. The caller must close the handle
/// with pg_document_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_load(
    store: *const StoreHandle,
    text: *const c_char,
    length: usize,
    document: Option<&mut MaybeUninit<*mut DocumentHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("document", document, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or as many bytes as `length` states.
        let text = unsafe { read(text, length) }?;
        let limiters = STORES.with(store, |store| store.load(text))?;
        DOCUMENTS.open(Document { limiters, next: AtomicUsize::new(0) })
    })
}

/// Creates limiters as pg_load does, with options of the caller beside the document. PG_INVALID
/// names an option that the format does not support.
///
/// lock_timeout_us is the duration of a lease that is not renewed (Open Job Spec and Conductor);
/// PG_NOT_GIVEN for the value of the document. tenant is the tenant of the job (Open Job Spec), and
/// group the entity with its own limit (guild-queues); both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_load_with(
    store: *const StoreHandle,
    text: *const c_char,
    length: usize,
    lock_timeout_us: i64,
    tenant: *const c_char,
    group: *const c_char,
    document: Option<&mut MaybeUninit<*mut DocumentHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("document", document, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or as many bytes as `length` states.
        let text = unsafe { read(text, length) }?;
        // SAFETY: the caller passes NULL or texts that end with a zero byte.
        let (tenant, group) = unsafe { (text::read_some("tenant", tenant)?, text::read_some("group", group)?) };
        let lock_timeout = optional("lock_timeout", lock_timeout_us)?.map(Micros);
        let options = LoadOptions { lock_timeout, tenant, group };
        let limiters = STORES.with(store, |store| store.load_with(text, &options))?;
        DOCUMENTS.open(Document { limiters, next: AtomicUsize::new(0) })
    })
}

/// Writes the next limiter of a document; after the last one a limiter with an empty name.
#[unsafe(no_mangle)]
pub extern "C" fn pg_document_next(
    document: *const DocumentHandle,
    loaded: Option<&mut MaybeUninit<LoadedLimiter>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "loaded",
        loaded,
        || LoadedLimiter::NONE,
        error,
        || {
            DOCUMENTS.with(document, |document| {
                let next = document.limiters.get(document.next.fetch_add(1, Ordering::Relaxed));
                next.map_or(Ok(LoadedLimiter::NONE), LoadedLimiter::open)
            })
        },
    )
}

/// Closes a document. Limiters that were taken from it stay open.
#[unsafe(no_mangle)]
pub extern "C" fn pg_document_close(document: *mut DocumentHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || DOCUMENTS.close(document))
}

/// Returns the text of a document, which has a length and need not end with a zero byte.
pub(crate) unsafe fn read<'a>(text: *const c_char, length: usize) -> Result<&'a str> {
    // SAFETY: the caller passes NULL or as many bytes as `length` states.
    str::from_utf8(unsafe { text::bytes("document", text, length) }?)
        .map_err(|_| CoreError::invalid("document", "is not UTF-8"))
}
