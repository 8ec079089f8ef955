//! What Open Job Spec says of a limiter while it runs.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::MultiStep;

use crate::call::GRACE;
use crate::control::RuntimeState;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::time;
use crate::text;

/// Pauses as the failure of a job of Open Job Spec says, in all processes: paused is 1, or 0 when the
/// failure is no signal of a rate limit, which changes nothing.
///
/// document is that failure as JSON, such as {"type": "rate_limited", "retry_after": 30}, or an object
/// with it as its "error". The later of retry_after and rate_limit_until holds, 30 seconds without
/// either; a pause that ends later stays as it is. The message of PG_INVALID names the place of a fault.
/// paused may be NULL; at_us as in pg_request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_apply_ojs_signal(
    limiter: *const LimiterHandle,
    document: *const c_char,
    at_us: i64,
    paused: Option<&mut MaybeUninit<i32>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let mut unwanted = MaybeUninit::uninit();
    guard_into(
        "paused",
        Some(paused.unwrap_or(&mut unwanted)),
        || 0,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let document = unsafe { text::read("document", document) }?;
            let at = time(at_us)?;
            LIMITERS.with(limiter, |limiter| limiter.signalling(document, at)?.run(GRACE)).map(i32::from)
        },
    )
}

/// Applies an override document of Open Job Spec, in all processes.
///
/// document is JSON with concurrency, rate, throttle and expires_at, or some of them: what it does not
/// name stays as it is, null ends an override. The message of PG_INVALID names the place of a fault, also
/// of a strategy that the limiter does not have. controls, which gets what is in force now, may be NULL;
/// at_us as in pg_request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_apply_ojs_override(
    limiter: *const LimiterHandle,
    document: *const c_char,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let mut unwanted = MaybeUninit::uninit();
    guard_into(
        "controls",
        Some(controls.unwrap_or(&mut unwanted)),
        || RuntimeState::NONE,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let document = unsafe { text::read("document", document) }?;
            let at = time(at_us)?;
            LIMITERS.with(limiter, |limiter| limiter.amendment(document, at)?.run(GRACE)).map(RuntimeState::from)
        },
    )
}
