//! `pg_admit_all`: several jobs at once.

use std::ffi::c_char;
use std::mem::{MaybeUninit, size_of};
use std::slice;

use paddlegate_core::{Error as CoreError, MultiStep, OnLimit, Result};

use crate::admission::Admission;
use crate::call::GRACE;
use crate::error::{Code, Error};
use crate::guard::guard;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::text;

/// As many as memory could hold.
const MOST: usize = isize::MAX.unsigned_abs() / size_of::<Admission>();

/// Decides about count jobs of one unit each, in their order, and writes as many admissions.
///
/// partial is not 0: each by itself, as pg_admit; after an error those that run are known by their ids,
/// ask again. Else all run or none: what was taken for the first is given back when a later one cannot
/// run, none takes a place in the queue, and each admission tells what refused. A throttle, which starts
/// one at a time, lets no two run together. on_limit is as in pg_admit.
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
    // Of too many there is no such place.
    let places: &mut [MaybeUninit<Admission>] = match count {
        // SAFETY: not NULL, so a place of the caller for `count` admissions, which may be uninitialized.
        1..=MOST if !admissions.is_null() => unsafe { slice::from_raw_parts_mut(admissions.cast(), count) },
        _ => &mut [],
    };
    let code = guard(error, || {
        // SAFETY: the caller passes NULL or a list of so many texts.
        let ids = unsafe { several(ids, count) }?;
        if places.len() != ids.len() {
            return Err(CoreError::invalid("admissions", "is NULL"));
        }
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let on_limit = OnLimit::from_name(unsafe { text::read_or("on_limit", on_limit, OnLimit::Wait.name()) }?)?;
        let admitted = LIMITERS.with(limiter, |limiter| limiter.batch(&ids, on_limit, partial != 0).run(GRACE))?;
        for (place, admission) in places.iter_mut().zip(admitted) {
            place.write(admission.into());
        }
        Ok(())
    });
    if code != Code::PgOk {
        for place in places {
            place.write(Admission::NONE);
        }
    }
    code
}

unsafe fn several<'a>(ids: *const *const c_char, count: usize) -> Result<Vec<&'a str>> {
    let ids = match count {
        0 => &[],
        _ if ids.is_null() => return Err(CoreError::invalid("ids", "is NULL")),
        // SAFETY: not NULL, so a list of the caller of `count` pointers.
        1..=MOST => unsafe { slice::from_raw_parts(ids, count) },
        _ => return Err(CoreError::invalid("ids", format!("are too many: count={count}"))),
    };
    // SAFETY: the caller passes NULL or a text that ends with a zero byte.
    ids.iter().map(|&id| unsafe { text::read("id", id) }).collect()
}
