//! `pg_admit_all`: the decision on several jobs in one call.

use std::ffi::c_char;
use std::mem::{MaybeUninit, size_of};
use std::slice;

use paddlegate_core::{Error as CoreError, MultiStep, OnLimit, Result};

use crate::admission::Admission;
use crate::error::{Code, Error};
use crate::guard::guard;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::signals::on_signal;
use crate::text;

/// The maximum number of admissions that memory can hold.
const MAX_COUNT: usize = isize::MAX.unsigned_abs() / size_of::<Admission>();

/// Decides on count jobs of one unit each, in their order, and writes count admissions.
///
/// If partial is not 0, each job is decided by itself, as by pg_admit; after an error repeat the
/// call: the ids identify the jobs that run already, as in pg_admit. If partial is 0, all jobs run
/// or none: when one cannot run, the units and leases of the jobs before it are given back, no job
/// takes a ticket, and each admission contains the decision that refused. A throttle allows one
/// start at a time, so it always refuses several jobs together. on_limit is as in pg_admit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_admit_all(
    limiter: *const LimiterHandle,
    ids: *const *const c_char,
    count: usize,
    on_limit: *const c_char,
    partial: i32,
    admissions: *mut Admission,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // No buffer can hold more.
    let buffer: &mut [MaybeUninit<Admission>] = match count {
        // SAFETY: not NULL, so the caller's buffer for `count` admissions, which may be
        // uninitialized.
        1..=MAX_COUNT if !admissions.is_null() => unsafe { slice::from_raw_parts_mut(admissions.cast(), count) },
        _ => &mut [],
    };
    let code = guard(error, || {
        // SAFETY: the caller passes NULL or an array of `count` texts.
        let ids = unsafe { read_ids(ids, count) }?;
        if buffer.len() != ids.len() {
            return Err(CoreError::invalid("admissions", "is NULL"));
        }
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let on_limit = OnLimit::from_name(unsafe { text::read_or("on_limit", on_limit, OnLimit::Wait.name()) }?)?;
        LIMITERS.with(limiter, |limiter| {
            let admitted = limiter.batch(&ids, on_limit, partial != 0).run(on_signal())?;
            for (slot, admission) in buffer.iter_mut().zip(admitted) {
                slot.write(Admission::of(limiter, admission));
            }
            Ok(())
        })
    });
    if code != Code::PgOk {
        for slot in buffer {
            slot.write(Admission::NONE);
        }
    }
    code
}

unsafe fn read_ids<'a>(ids: *const *const c_char, count: usize) -> Result<Vec<&'a str>> {
    let ids = match count {
        0 => &[],
        _ if ids.is_null() => return Err(CoreError::invalid("ids", "is NULL")),
        // SAFETY: not NULL, so the caller's array of `count` pointers.
        1..=MAX_COUNT => unsafe { slice::from_raw_parts(ids, count) },
        _ => return Err(CoreError::invalid("ids", format!("are too many: count={count}"))),
    };
    // SAFETY: the caller passes NULL or a text that ends with a zero byte.
    ids.iter().map(|&id| unsafe { text::read("id", id) }).collect()
}
