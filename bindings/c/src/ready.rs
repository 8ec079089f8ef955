//! `pg_ready`: the queued calls whose turn has come.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::{Answer, Error as CoreError, MAX_READY, Operation, Result, TurnsHost};

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::signals::on_signal;
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
    let listed = |ids: &mut [MaybeUninit<QueuedId>]| list(limiter, count, None, ids).map(|ready| ready.0);
    // SAFETY: the caller passes NULL or an array of `count` elements.
    unsafe { into_ids(count, ids, found, error, listed) }
}

/// Does what pg_ready does, for a host that sleeps until the next turn comes, and writes to after_us
/// for how long: at most 5 seconds, and 0 when it has written count ids.
///
/// A message with the id of the host comes over its channel, see pg_listen, when a turn comes before,
/// for ten seconds or until one says that a turn has come: the host asks again then, or after
/// after_us. Of several hosts of a limiter one gets the message, and the last eight are known. id has
/// 1 to 64 bytes without control characters, another for each loop that asks; pg_new_id makes one.
/// NULL or empty for both, until pg_listen has opened a channel, does what pg_ready does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_ready_for(
    limiter: *const LimiterHandle,
    id: *const c_char,
    channel: *const c_char,
    count: usize,
    ids: *mut QueuedId,
    found: Option<&mut MaybeUninit<usize>>,
    after_us: Option<&mut MaybeUninit<i64>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let mut after = 0;
    let has_after = after_us.is_some();
    let listed = |ids: &mut [MaybeUninit<QueuedId>]| {
        if !has_after {
            return Err(CoreError::invalid("after_us", "is NULL"));
        }
        // SAFETY: the caller passes NULL or texts that end with a zero byte.
        let (id, channel) = unsafe { (text::read_or("id", id, "")?, text::read_or("channel", channel, "")?) };
        let host = match (id, channel) {
            ("", "") => None,
            (id, channel) => Some(TurnsHost { id, channel }),
        };
        let (found, until_next) = list(limiter, count, host, ids)?;
        after = number(Some(until_next));
        Ok(found)
    };
    // SAFETY: the caller passes NULL or an array of `count` elements.
    let code = unsafe { into_ids(count, ids, found, error, listed) };
    if let Some(after_us) = after_us {
        after_us.write(after);
    }
    code
}

unsafe fn into_ids(
    count: usize,
    ids: *mut QueuedId,
    found: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
    listed: impl FnOnce(&mut [MaybeUninit<QueuedId>]) -> Result<usize>,
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
            listed(buffer)
        },
    )
}

/// Writes the ids, and returns their number and the time until the host asks again.
fn list(
    limiter: *const LimiterHandle,
    count: usize,
    host: Option<TurnsHost<'_>>,
    ids: &mut [MaybeUninit<QueuedId>],
) -> Result<(usize, u64)> {
    let operation = Operation::Ready { count: count as u64, host };
    match LIMITERS.with(limiter, |limiter| limiter.run(operation, on_signal()))? {
        Answer::Ready(ready) => {
            for (slot, id) in ids.iter_mut().zip(&ready.ids) {
                slot.write(QueuedId { id: text::write(id), length: id.len() });
            }
            Ok((ready.ids.len(), ready.after.0))
        }
        other => Err(CoreError::internal(format!("unexpected reply type: {other:?}"))),
    }
}
