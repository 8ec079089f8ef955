//! `pg_wakeups`: the listener for the wake-ups of the waiting calls of this process.

use std::collections::VecDeque;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use paddlegate_core::{Error as CoreError, MAX_ID, Result, Wakeup as CoreWakeup, WakeupListener, process_id};

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

struct OpenListener {
    listener: WakeupListener,
    fd: i32,
    /// The wake-ups that did not fit into the caller's buffer.
    pending: Mutex<VecDeque<CoreWakeup>>,
    process_id: u32,
}

static LISTENERS: Table<OpenListener, WakeupsHandle> = Table::new("hints", 0b0011);

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
        let node = LIMITERS.with(limiter, |limiter| Ok(limiter.notification_node()))?;
        // SAFETY: the caller passes NULL or a buffer of `room` bytes.
        unsafe { text::fill("place", place, room, node.as_deref().unwrap_or_default()) }
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
        let listener = limiter.listen()?;
        LISTENERS.open(OpenListener {
            fd: listener.fd(),
            listener,
            pending: Mutex::default(),
            process_id: process_id(),
        })
    })
}

/// Returns a file descriptor that is readable when there are wake-ups; -1 when hints is not open in
/// this process.
///
/// The file descriptor is open as long as hints is. Use it only to wait until it is readable:
/// pg_wakeups_receive reads from it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wakeups_fd(hints: *const WakeupsHandle) -> i32 {
    let mut fd = -1;
    let body = |open: &OpenListener| {
        fd = open.fd;
        Ok(())
    };
    guard(None, || with(hints, body));
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
    guard(error, || with(hints, |open| unsafe { text::fill("channel", channel, room, open.listener.channel()) }))
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
            with(hints, |open| {
                if received.is_null() {
                    return Err(CoreError::invalid("received", "is NULL"));
                }
                if room == 0 {
                    return Err(CoreError::invalid("room", "must be at least 1: room=0"));
                }
                let mut pending = open.pending.lock().unwrap_or_else(PoisonError::into_inner);
                if pending.is_empty() {
                    // No call has an id longer than `MAX_ID`.
                    pending.extend(open.listener.receive()?.into_iter().filter(|wakeup| wakeup.id.len() <= MAX_ID));
                }
                let count = pending.len().min(room);
                for (i, wakeup) in pending.drain(..count).enumerate() {
                    let wakeup = Wakeup { delay_us: number(Some(wakeup.delay.0)), id: text::write(&wakeup.id) };
                    // SAFETY: not NULL, so the caller's buffer for `room` wake-ups, of which these
                    // are the first `count`.
                    unsafe { received.add(i).write(wakeup) };
                }
                Ok(count)
            })
        },
    )
}

/// Closes hints; later wake-ups are lost. Also for a child process that inherited hints.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wakeups_close(hints: *mut WakeupsHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || LISTENERS.close(hints))
}

/// Calls `body` with an open listener of this process. In a child process the listener would take
/// the wake-ups of the parent, and its locks may be held for ever.
fn with<R>(hints: *const WakeupsHandle, body: impl FnOnce(&OpenListener) -> Result<R>) -> Result<R> {
    LISTENERS.with(hints, |open| {
        if open.process_id == process_id() {
            body(open)
        } else {
            Err(CoreError::invalid("hints", "belongs to the process that opened it; open another one after a fork"))
        }
    })
}
