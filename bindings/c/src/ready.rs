//! `pg_ready`: the queued calls whose turn has come.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::{Answer, Error as CoreError, MAX_READY, Operation, Result};

use crate::call::ON_SIGNAL;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::text;

/// The id of a queued call.
#[repr(C)]
pub struct QueuedId {
    /// The id, which ends with a zero byte; empty when there is none.
    pub id: [c_char; 72],
    /// Its length in bytes, from 1 to 64: an id of another language may contain zero bytes.
    pub length: usize,
}

/// Writes the ids of up to count queued calls whose turn has come, in the order of the queue, and
/// their number to found. For a process that starts jobs; a job that starts then calls pg_admit or
/// pg_acquire_with_id.
///
/// It takes nothing. Each id is written once, for one process, and the claim time-out of the call
/// begins then: after it those behind the call may pass. Calls with a channel are left out, as is a
/// call whose cost the limits no longer allow.
///
/// While a process asks at least every 10 seconds, a queued call of pg_admit, or one without a
/// channel and with a claim time-out of a minute or more, is told to come back after a minute
/// instead of after an estimate. count is from 1 to 100; ids is an array of count elements, all of
/// which are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_ready(
    limiter: *const LimiterHandle,
    count: usize,
    ids: *mut QueuedId,
    found: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let buffer: &mut [MaybeUninit<QueuedId>] = match u64::try_from(count) {
        // SAFETY: not NULL, so the caller's buffer for `count` ids, which may be uninitialized.
        Ok(1..=MAX_READY) if !ids.is_null() => unsafe { slice::from_raw_parts_mut(ids.cast(), count) },
        _ => &mut [],
    };
    for slot in &mut *buffer {
        slot.write(QueuedId { id: [0; 72], length: 0 });
    }
    guard_into(
        "found",
        found,
        || 0,
        error,
        || {
            if ids.is_null() {
                return Err(CoreError::invalid("ids", "is NULL"));
            }
            let ready = LIMITERS
                .with(limiter, |limiter| listed(limiter.run(Operation::Ready { count: count as u64 }, ON_SIGNAL)?))?;
            for (slot, id) in buffer.iter_mut().zip(&ready) {
                slot.write(QueuedId { id: text::write(id), length: id.len() });
            }
            Ok(ready.len())
        },
    )
}

fn listed(answer: Answer) -> Result<Vec<String>> {
    match answer {
        Answer::Ready(ids) => Ok(ids),
        other => Err(CoreError::internal(format!("unexpected reply type: {other:?}"))),
    }
}
