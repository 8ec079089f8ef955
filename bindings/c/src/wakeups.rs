//! `pg_wakeups`: where the waiters of this process hear that their turn has come.

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

/// The one place where this process hears of the tickets that name its channel.
///
/// It belongs to the process that opened it; a child opens its own.
pub struct WakeupsHandle {
    _opaque: [u8; 0],
}

struct Ear {
    hints: WakeupListener,
    fd: i32,
    /// What there was no room for.
    rest: Mutex<VecDeque<CoreHint>>,
    made_by: u32,
}

static HINTS: Table<Ear, WakeupsHandle> = Table::new("hints", 0b0011);

/// A message to one who waits.
#[repr(C)]
pub struct Wakeup {
    /// When to look, from now; 0 for at once.
    pub delay_us: i64,
    /// The id of the call whose turn it is.
    pub id: [c_char; 72],
}

/// Where waiters of a limiter hear that their turn has come: equal for limiters of one store that
/// can share their pg_wakeups.
///
/// Empty when the limiter has no state, so that nobody waits. In a cluster it changes when a slot
/// moves. 300 bytes are room enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_notification_node(
    limiter: *const LimiterHandle,
    place: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        let found = LIMITERS.with(limiter, |limiter| Ok(limiter.notification_node()))?;
        // SAFETY: the caller passes NULL or a place with as much room as it says.
        unsafe { text::fill("place", place, room, found.as_deref().unwrap_or_default()) }
    })
}

/// Listens for waiters at the pg_notification_node of a limiter. Connects, within the time-out of the store.
///
/// The handle is to be closed by pg_wakeups_close.
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

/// The file descriptor that can be read when there are messages; -1 when hints is not open here.
///
/// It is open as long as hints is. Only to be waited for: pg_wakeups_receive does the reading.
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

/// Writes the channel that a pg_wait names so that its messages come here. 64 bytes are room enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_wakeups_channel(
    hints: *const WakeupsHandle,
    channel: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the caller passes NULL or a place with as much room as it says.
    guard(error, || with(hints, |ear| unsafe { text::fill("channel", channel, room, ear.hints.channel()) }))
}

/// The messages that have come, without waiting: count of them, at most room.
///
/// When count is room, there may be more: call again. After an error none will come: close hints,
/// open others and let all who wait look again. It costs nothing else when messages are lost.
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
                    // No call has a longer id.
                    rest.extend(ear.hints.receive()?.into_iter().filter(|hint| hint.id.len() <= MAX_ID));
                }
                let count = rest.len().min(room);
                for (i, hint) in rest.drain(..count).enumerate() {
                    let hint = Wakeup { delay_us: number(Some(hint.delay.0)), id: text::write(&hint.id) };
                    // SAFETY: not NULL, so a place of the caller for `room` messages, of which these are the first `count`.
                    unsafe { received.add(i).write(hint) };
                }
                Ok(count)
            })
        },
    )
}

/// Closes hints: messages that come later reach nobody. Also for a child that inherited them.
#[unsafe(no_mangle)]
pub extern "C" fn pg_wakeups_close(hints: *mut WakeupsHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || HINTS.close(hints))
}

/// A child would steal the messages of its parent, and may find the locks held for ever.
fn with<R>(hints: *const WakeupsHandle, look: impl FnOnce(&Ear) -> Result<R>) -> Result<R> {
    HINTS.with(hints, |ear| {
        if ear.made_by == process::id() {
            look(ear)
        } else {
            Err(CoreError::invalid("hints", "belongs to the process that opened it; open another one after a fork"))
        }
    })
}
