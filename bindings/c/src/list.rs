//! `pg_list`: the limiters of a store.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddlegate_core::{LimiterInfo as CoreLimiterInfo, LimiterPage, Paddlegate, Result};

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limit::LabelledLimit;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// The limiters of a store, or a page of them, at the time when the list was opened, sorted by name.
pub struct ListHandle {
    _opaque: [u8; 0],
}

struct List {
    page: LimiterPage,
    next: AtomicUsize,
}

static LISTS: Table<List, ListHandle> = Table::new("list", 0b1100);

/// One limiter of a list.
#[repr(C)]
pub struct LimiterInfo {
    /// The name; empty after the last limiter.
    pub name: [c_char; 520],
    /// The group, see pg_limiter_with_group; empty without one.
    pub group: [c_char; 520],
    /// The limits of all policies of the name, as they were last used.
    pub limits: [LabelledLimit; 32],
    /// The number of limits, at most 32.
    pub count: usize,
    /// The store's time of the last use since 1970, to the minute; -1 in memory, which does not
    /// record it.
    pub last_used_us: i64,
    /// How long after its last use the limiter is listed and its statistics are kept.
    pub ttl_us: i64,
    /// Whether it has a state for each key, see pg_limiter_keyed; all keys are one entry.
    pub keyed: i32,
    /// The mode as it was last used, "enforce" or "shadow", see pg_limiter_with_mode; not an override of
    /// it.
    pub mode: [c_char; 16],
}

impl LimiterInfo {
    const NONE: Self = Self {
        name: [0; 520],
        group: [0; 520],
        limits: [LabelledLimit::NONE; 32],
        count: 0,
        last_used_us: -1,
        ttl_us: 0,
        keyed: 0,
        mode: [0; 16],
    };
}

impl From<&CoreLimiterInfo> for LimiterInfo {
    fn from(core: &CoreLimiterInfo) -> Self {
        let (limits, count) = LabelledLimit::array(&core.limits);
        Self {
            name: text::write(&core.name),
            group: text::write(core.group.as_deref().unwrap_or_default()),
            limits,
            count,
            last_used_us: number(Some(core.last_used.0).filter(|at| *at > 0)),
            ttl_us: number(Some(core.ttl.0)),
            keyed: i32::from(core.keyed),
            mode: text::write(core.mode.name()),
        }
    }
}

/// Lists the limiters that any process used lately, in any language: in Redis within the time to
/// live of each limiter, in memory those that are not yet forgotten.
///
/// The caller must close the handle with pg_list_close.
#[unsafe(no_mangle)]
pub extern "C" fn pg_list_open(
    store: *const StoreHandle,
    list: Option<&mut MaybeUninit<*mut ListHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("list", list, ptr::null_mut, error, || open(store, |store| all(store, "")))
}

/// Lists the limiters whose names begin with prefix, as pg_list_open does. prefix may be NULL for
/// all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_list_open_prefix(
    store: *const StoreHandle,
    prefix: *const c_char,
    list: Option<&mut MaybeUninit<*mut ListHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("list", list, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let prefix = unsafe { text::read_or("prefix", prefix, "") }?;
        open(store, |store| all(store, prefix))
    })
}

/// Lists a page of the limiters whose names begin with prefix: about 100 to 300, or the rest. For
/// stores with many limiters.
///
/// cursor is NULL for the first page, and then that of the page before, which pg_list_cursor
/// writes; any other text is PG_INVALID. Only the names of one page are sorted, and a name may be
/// on two pages. In memory there is one page. prefix may be NULL for all names. The caller must
/// close the handle with pg_list_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_list_open_page(
    store: *const StoreHandle,
    prefix: *const c_char,
    cursor: *const c_char,
    list: Option<&mut MaybeUninit<*mut ListHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("list", list, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let prefix = unsafe { text::read_or("prefix", prefix, "") }?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let cursor = unsafe { text::read_some("cursor", cursor) }?;
        open(store, |store| store.limiter_page(prefix, cursor))
    })
}

/// Writes the cursor of the page after a list that pg_list_open_page opened; empty when it is the
/// last page, and for other lists. cursor is a buffer of room bytes; 64 bytes are enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_list_cursor(
    list: *const ListHandle,
    cursor: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        LISTS.with(list, |list| {
            // SAFETY: the caller passes NULL or a buffer of `room` bytes.
            unsafe { text::fill("cursor", cursor, room, list.page.cursor.as_deref().unwrap_or_default()) }
        })
    })
}

fn all(store: &Paddlegate, prefix: &str) -> Result<LimiterPage> {
    Ok(LimiterPage { limiters: store.limiters_with_prefix(prefix)?, cursor: None })
}

fn open(store: *const StoreHandle, read: impl FnOnce(&Paddlegate) -> Result<LimiterPage>) -> Result<*mut ListHandle> {
    // A clone, so that the calls do not keep the entry of a handle that is closed meanwhile.
    let page = read(&STORES.with(store, |store| Ok(store.clone()))?)?;
    LISTS.open(List { page, next: AtomicUsize::new(0) })
}

/// Writes the next limiter of a list; after the last one a limiter with an empty name.
#[unsafe(no_mangle)]
pub extern "C" fn pg_list_next(
    list: *const ListHandle,
    listed: Option<&mut MaybeUninit<LimiterInfo>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "listed",
        listed,
        || LimiterInfo::NONE,
        error,
        || {
            LISTS.with(list, |list| {
                let next = list.page.limiters.get(list.next.fetch_add(1, Ordering::Relaxed));
                Ok(next.map_or(LimiterInfo::NONE, LimiterInfo::from))
            })
        },
    )
}

/// Closes a list.
#[unsafe(no_mangle)]
pub extern "C" fn pg_list_close(list: *mut ListHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || LISTS.close(list))
}
