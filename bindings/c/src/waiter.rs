//! `pg_waiter`: the rules of a waiting call, for programs that sleep and receive wake-ups themselves.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use paddlegate_core::{Micros, QueuePosition, Result, Waiter as CoreWaiter, new_id, reconnect_pause};

use crate::control::micros;
use crate::decision::{Decision, Status, number};
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::request::not_negative;
use crate::text;
use crate::wait::{PG_POSITION_END, Wait, max_wait};

/// A call that waits in the queue: when it is repeated, with which ticket, and whether it must be
/// cancelled in the end.
///
/// The caller keeps it anywhere and frees nothing. All times are microseconds of one monotonic
/// clock of the caller. Calls on the same pg_waiter must not overlap.
///
/// Until pg_waiter_retry_at, sleep; a wake-up goes to pg_waiter_on_wakeup. Then call pg_waiter_next,
/// and pg_acquire_with_id with the id and the pg_wait. Its decision goes to pg_waiter_on_decision, its
/// error to pg_waiter_on_error. When the call ends and pg_waiter_must_cancel, call pg_cancel.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Waiter {
    /// The id of the call.
    pub id: [c_char; 72],
    /// The state, which is not part of the interface.
    pub state: [u64; 6],
}

impl Waiter {
    fn change<R>(&mut self, change: impl FnOnce(&mut CoreWaiter) -> R) -> R {
        let mut waiter = CoreWaiter::from_words(self.state);
        let result = change(&mut waiter);
        self.state = waiter.words();
        result
    }
}

/// Begins a call that waits for up to wait_timeout_us, or PG_FOREVER. now_us is the present.
///
/// id may be NULL for a new id, which no other call has. A given id may name a lease that another
/// call took, so that less is cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_waiter_init(
    waiter: Option<&mut MaybeUninit<Waiter>>,
    id: *const c_char,
    wait_timeout_us: i64,
    now_us: i64,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    begin(waiter, now_us, error, |now| {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let given = unsafe { text::read_some("id", id) }?;
        let waiter = CoreWaiter::new(given.is_none(), max_wait(wait_timeout_us)?, now)?;
        let id = given.map_or_else(|| new_id().map(|id| text::write(&id)), |id| Ok(text::write(id)))?;
        Ok(Waiter { id, state: waiter.words() })
    })
}

/// Begins the wait of a job in its worker: for up to patience_us, and only when its turn seems to come
/// within it. now_us is the present.
///
/// The ticket stays in the queue when the wait ends. When pg_waiter_on_decision returns 1 for
/// PG_STATUS_QUEUED, put the job away for retry_after_us and begin again with its id when it comes
/// back. claim_timeout_us is as in pg_admit_within, or PG_NOT_GIVEN. Nothing is to be cancelled when
/// the wait is interrupted, because the job comes back. While another run of the job holds its lease,
/// the decision is PG_STATUS_REFUSED with PG_REASON_RUNNING.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_waiter_init_job(
    waiter: Option<&mut MaybeUninit<Waiter>>,
    id: *const c_char,
    claim_timeout_us: i64,
    patience_us: i64,
    now_us: i64,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    begin(waiter, now_us, error, |now| {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let id = unsafe { text::read("id", id) }?;
        let claim_timeout = micros("claim_timeout", claim_timeout_us)?;
        let patience = Micros(not_negative("patience", patience_us)?);
        let waiter = CoreWaiter::of_job(claim_timeout, patience, now)?;
        Ok(Waiter { id: text::write(id), state: waiter.words() })
    })
}

/// Writes to wait how the next attempt waits. channel is that of the caller's pg_wakeups, NULL or
/// empty without one; wait refers to it.
///
/// After the wait_timeout_us no time is left, and the attempt is the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_waiter_next(
    waiter: Option<&mut Waiter>,
    now_us: i64,
    channel: *const c_char,
    wait: Option<&mut MaybeUninit<Wait>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let empty = || Wait {
        max_wait_us: 0,
        claim_timeout_us: 0,
        channel: ptr::null(),
        position: PG_POSITION_END,
        keep_us: 0,
        is_run: 0,
    };
    guard_into("wait", wait, empty, error, || {
        let waiter = waiter.ok_or_else(|| paddlegate_core::Error::invalid("waiter", "is NULL"))?;
        let now = Micros(not_negative("now", now_us)?);
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let name = unsafe { text::read_or("channel", channel, "") }?;
        let next = waiter.change(|waiter| waiter.next(now, name));
        Ok(Wait {
            max_wait_us: number(Some(next.max_wait.0)),
            claim_timeout_us: number(Some(next.claim_timeout.0)),
            channel: if next.channel.is_empty() { ptr::null() } else { channel },
            position: match next.position {
                QueuePosition::Number(ticket) => number(Some(ticket)),
                QueuePosition::End | QueuePosition::Existing => PG_POSITION_END,
            },
            keep_us: number(Some(next.keep.0)),
            is_run: next.is_run.into(),
        })
    })
}

/// Evaluates the decision of an attempt. Returns 1 when it is final, 0 when the call waits.
#[unsafe(no_mangle)]
pub extern "C" fn pg_waiter_on_decision(waiter: Option<&mut Waiter>, now_us: i64, decision: Option<&Decision>) -> i32 {
    let (Some(waiter), Some(decision)) = (waiter, decision) else { return 1 };
    let is_final = waiter.change(|waiter| {
        if decision.status == Status::Queued {
            let retry_after = u64::try_from(decision.retry_after_us).ok().map(Micros);
            return waiter.on_queued(time(now_us), retry_after, u64::try_from(decision.ticket).ok());
        }
        waiter.on_final(decision.status == Status::Granted, decision.degraded != 0);
        true
    });
    is_final.into()
}

/// Evaluates the error of an attempt, which ends the call.
#[unsafe(no_mangle)]
pub extern "C" fn pg_waiter_on_error(waiter: Option<&mut Waiter>, error: Option<&Error>) {
    if let (Some(waiter), Some(error)) = (waiter, error) {
        waiter.change(|waiter| waiter.on_error(error.may_have_counted != 0));
    }
}

/// Evaluates a wake-up: the next attempt is due at at_us, unless it is due earlier.
#[unsafe(no_mangle)]
pub extern "C" fn pg_waiter_on_wakeup(waiter: Option<&mut Waiter>, at_us: i64) {
    if let Some(waiter) = waiter {
        waiter.change(|waiter| waiter.on_wakeup(time(at_us)));
    }
}

/// Returns when the next attempt is due. channel is the current one of the caller's pg_wakeups, NULL
/// or empty without one.
///
/// 0, which is at once, when the ticket does not name this channel, because its wake-ups would not
/// arrive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_waiter_retry_at(waiter: Option<&Waiter>, channel: *const c_char) -> i64 {
    let mut retry_at = 0;
    let body = || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let channel = unsafe { text::read_or("channel", channel, "") }?;
        if let Some(waiter) = waiter {
            retry_at = number(Some(CoreWaiter::from_words(waiter.state).retry_at(channel).0));
        }
        Ok(())
    };
    guard(None, body);
    retry_at
}

/// Returns 1 when the call has a ticket, so that wake-ups may arrive for it, otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn pg_waiter_has_ticket(waiter: Option<&Waiter>) -> i32 {
    waiter.is_some_and(|waiter| CoreWaiter::from_words(waiter.state).has_ticket()).into()
}

/// Returns 1 when the call must be cancelled if it ends now, otherwise 0. delivered is 1 when the
/// permit has reached its user, otherwise 0.
///
/// A call that is interrupted during an attempt may hold what the store decides later.
#[unsafe(no_mangle)]
pub extern "C" fn pg_waiter_must_cancel(waiter: Option<&Waiter>, delivered: i32) -> i32 {
    waiter.is_some_and(|waiter| CoreWaiter::from_words(waiter.state).must_cancel(delivered != 0)).into()
}

/// Returns the pause after a pg_wakeups was lost or could not be opened. failures is the number of
/// pauses since the last one that was open.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reconnect_pause_us(failures: i64) -> i64 {
    number(Some(reconnect_pause(u32::try_from(failures.max(0)).unwrap_or(u32::MAX)).0))
}

/// Writes the waiter that `make` begins; an empty one after an error.
fn begin(
    waiter: Option<&mut MaybeUninit<Waiter>>,
    now_us: i64,
    error: Option<&mut MaybeUninit<Error>>,
    make: impl FnOnce(Micros) -> Result<Waiter>,
) -> Code {
    let empty = || Waiter { id: [0; 72], state: [0; 6] };
    guard_into("waiter", waiter, empty, error, || make(Micros(not_negative("now", now_us)?)))
}

fn time(micros: i64) -> Micros {
    Micros(u64::try_from(micros).unwrap_or(0))
}
