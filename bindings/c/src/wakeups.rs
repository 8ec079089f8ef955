//! `pg_wakeups`: the listener for the wake-ups of the waiting calls of this process.

use std::collections::VecDeque;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::{process, ptr};

use paddlegate_core::{Error as CoreError, MAX_ID, Result, Wakeup as CoreHint, WakeupListener};

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::text;

/// The listener for the wake-ups of the tickets that name its channel. One serves all waiting calls
/// of this process at one pg_notification_node.
///
/// It belongs to the process that opened it; a child process opens its own.
pub struct WakeupsHandle {
    _opaque: [u8; 0],
}

struct Ear {
    hints: WakeupListener,
    fd: i32,
    /// The wake-ups that did not fit into the caller's buffer.
    rest: Mutex<VecDeque<CoreHint>>,
    made_by: u32,
}

static HINTS: Table<Ear, WakeupsHandle> = Table::new("hints", 0b0011);

/// A wake-up for one waiting call.
#[repr(C)]
pub struct Wakeup {
    /// How long from now until the call should be repeated; 0 for at once.
    pub delay_us: i64,
    /// The id of the waiting call.
    pub id: [c_char; 72],
}

/// Writes the node that sends the wake-ups of a limiter. Limiters of one store with equal nodes can
/// share their pg_wakeups.
///
/// Empty when the limiter has no state, so that no call waits. In a cluster the node changes when a
/// slot moves. place is a buffer of room bytes; 300 bytes are enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_notification_node(
    limiter: *const LimiterHandle,
    place: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        let found = LIMITERS.with(limiter, |limiter| Ok(limiter.notification_node()))?;
        // SAFETY: the caller passes NULL or a buffer of `room` bytes.
        unsafe { text::fill("place", place, room, found.as_deref().unwrap_or_default()) }
    })
}

/// Opens a listener for wake-ups at the pg_notification_node of a limiter. Connects within the
/// time-out of the store.
///
/// The caller must close the handle with pg_wakeups_close.
#[unsafe(no_mangle)]
pub extern "C" fn pg_listen(
    limiter: *const LimiterHandle,
    hints: Option<&mut MaybeUninit<*mut WakeupsHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("hints", hints, ptr::null_mut, error, || {
        let limiter = LIMITERS.with(limiter, |limiter| Ok(limiter.clone()))?;
        let hints = limiter.listen()?;
        HINTS.open(Ear { fd: hints.fd(), hints, rest: Mutex::default(), made_by: process::id() })
    })
}

/// Returns a file descriptor that is readable when there are wake-ups; -1 when hints is not open in
/// this process.
///
/// The file descriptor is open as long as hints is. Only wait for it: pg_wakeups_receive reads from
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wakeups_fd(hints: *const WakeupsHandle) -> i32 {
    let mut fd = -1;
    let look = |ear: &Ear| {
        fd = ear.fd;
        Ok(())
    };
    guard(None, || with(hints, look));
    fd
}

/// Writes the channel that a pg_wait must name so that its wake-ups arrive at hints. channel is a
/// buffer of room bytes; 64 bytes are enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_wakeups_channel(
    hints: *const WakeupsHandle,
    channel: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the caller passes NULL or a buffer of `room` bytes.
    guard(error, || with(hints, |ear| unsafe { text::fill("channel", channel, room, ear.hints.channel()) }))
}

/// Writes the wake-ups that have arrived to received, without waiting: count of them, at most room.
///
/// When count equals room there may be more: call again. After an error no further wake-up arrives:
/// close hints, open another listener, and repeat the calls of all waiters. Lost wake-ups have no
/// other effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_wakeups_receive(
    hints: *const WakeupsHandle,
    received: *mut Wakeup,
    room: usize,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "count",
        count,
        || 0,
        error,
        || {
            with(hints, |ear| {
                if received.is_null() {
                    return Err(CoreError::invalid("received", "is NULL"));
                }
                if room == 0 {
                    return Err(CoreError::invalid("room", "must be at least 1: room=0"));
                }
                let mut rest = ear.rest.lock().unwrap_or_else(PoisonError::into_inner);
                if rest.is_empty() {
                    // No call has an id longer than `MAX_ID`.
                    rest.extend(ear.hints.receive()?.into_iter().filter(|hint| hint.id.len() <= MAX_ID));
                }
                let count = rest.len().min(room);
                for (i, hint) in rest.drain(..count).enumerate() {
                    let hint = Wakeup { delay_us: number(Some(hint.delay.0)), id: text::write(&hint.id) };
                    // SAFETY: not NULL, so the caller's buffer for `room` wake-ups, of which these
                    // are the first `count`.
                    unsafe { received.add(i).write(hint) };
                }
                Ok(count)
            })
        },
    )
}

/// Closes hints; later wake-ups are lost. Also for a child process that inherited hints.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wakeups_close(hints: *mut WakeupsHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || HINTS.close(hints))
}

/// Calls `body` with an open listener of this process.
fn with<R>(hints: *const WakeupsHandle, look: impl FnOnce(&Ear) -> Result<R>) -> Result<R> {
    HINTS.with(hints, |ear| {
        if ear.made_by == process::id() {
            look(ear)
        } else {
            Err(CoreError::invalid("hints", "belongs to the process that opened it, open others in a child"))
        }
    })
}
