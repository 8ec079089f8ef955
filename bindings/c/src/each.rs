//! `pg_acquire_each`: several calls in one exchange with the server.

use std::mem::{MaybeUninit, zeroed};
use std::slice;

use paddlegate_core::{Error as CoreError, Limiter, Result};

use crate::decision::Decision;
use crate::error::{Code, Error};
use crate::guard::guard;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{Costs, Request};
use crate::signals::on_signal;

/// The maximum count of pg_acquire_each.
pub const PG_MAX_EACH: usize = 1000;

/// One call of pg_acquire_each, and what became of it.
#[repr(C)]
pub struct AcquireCall<'a> {
    /// The limiter.
    pub limiter: *const LimiterHandle,
    /// The cost; may be NULL.
    pub request: Option<&'a Request>,
    /// Written: the decision, as pg_acquire writes it.
    pub decision: MaybeUninit<Decision>,
    /// Written: the error; all zero without one.
    pub error: MaybeUninit<Error>,
}

/// Takes the cost of each of count calls as pg_acquire does, and writes their decisions and errors.
///
/// The calls to one server are sent in one write, for programs whose many threads or coroutines call
/// at once. Each call is decided by itself, in no certain order: one may be refused or fail while
/// others are granted. Returns PG_OK whatever became of the calls, and PG_INVALID, argument calls, for NULL
/// and for more than PG_MAX_EACH; then nothing was written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_acquire_each(
    calls: *mut AcquireCall<'_>,
    count: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        let calls = match count {
            0 => &mut [],
            _ if calls.is_null() => return Err(CoreError::invalid("calls", "is NULL")),
            // SAFETY: not NULL, so the caller's array of `count` calls.
            1..=PG_MAX_EACH => unsafe { slice::from_raw_parts_mut(calls, count) },
            _ => {
                let message = format!("are too many: count={count} most={PG_MAX_EACH}");
                return Err(CoreError::invalid("calls", message));
            }
        };
        let read = |call: &AcquireCall<'_>| -> Result<_> {
            let limiter = LIMITERS.with(call.limiter, |limiter| Ok(limiter.clone()))?;
            // SAFETY: this function places the same requirements on its caller.
            Ok((limiter, unsafe { Costs::read(call.request) }?))
        };
        let asked: Vec<_> = calls.iter().map(read).collect();
        let sound: Vec<_> = asked.iter().flatten().map(|(limiter, costs)| (limiter, costs.request())).collect();
        let mut decided = Limiter::acquire_each(&sound, on_signal()).into_iter();
        for (call, asked) in calls.iter_mut().zip(asked) {
            let result = asked.and_then(|(limiter, costs)| {
                let decision = decided.next().unwrap_or_else(|| Err(CoreError::internal("a call has no answer")));
                Ok(costs.decision(&limiter, decision?))
            });
            match result {
                Ok(decision) => {
                    call.decision.write(decision);
                    // SAFETY: an error of zeros is one of a successful call.
                    call.error.write(unsafe { zeroed() });
                }
                Err(error) => {
                    call.decision.write(Decision::NONE);
                    call.error.write((&error).into());
                }
            }
        }
        Ok(())
    })
}
