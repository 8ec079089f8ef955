//! `pg_list`: the limiters of a store.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddlegate_core::LimiterInfo as CoreLimiterInfo;

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limit::LabelledLimit;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// The limiters of a store at the time when the list was opened, sorted by name.
pub struct ListHandle {
    _opaque: [u8; 0],
}

struct List {
    limiters: Vec<CoreLimiterInfo>,
    next: AtomicUsize,
}

static LISTS: Table<List, ListHandle> = Table::new("list", 0b1100);

/// One limiter of a list.
#[repr(C)]
pub struct LimiterInfo {
    /// The name; empty after the last limiter.
    pub name: [c_char; 520],
    /// The group, see pg_limiter_with_group; empty without one, and in memory.
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
}

impl LimiterInfo {
    const NONE: Self = Self {
        name: [0; 520],
        group: [0; 520],
        limits: [LabelledLimit::NONE; 32],
        count: 0,
        last_used_us: -1,
        ttl_us: 0,
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
    guard_into("list", list, ptr::null_mut, error, || {
        let limiters = STORES.with(store, |store| Ok(store.clone()))?.limiters()?;
        LISTS.open(List { limiters, next: AtomicUsize::new(0) })
    })
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
                let next = list.limiters.get(list.next.fetch_add(1, Ordering::Relaxed));
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
