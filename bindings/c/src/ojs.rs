//! Signals and overrides of Open Job Spec for a running limiter.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::MultiStep;

use crate::control::RuntimeState;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::signals::on_signal;
use crate::text;

/// Pauses a limiter in all processes if the failure of an Open Job Spec job is a rate limit signal.
/// paused receives 1, or 0 for any other failure, which changes nothing.
///
/// document is the failure as JSON, such as {"type": "rate_limited", "retry_after": 30}, or an
/// object with the failure as its "error". The later of retry_after and rate_limit_until applies,
/// 30 seconds without either; a pause that ends later stays in force. The message of PG_INVALID
/// contains the JSON path of the fault. paused may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_apply_ojs_signal(
    limiter: *const LimiterHandle,
    document: *const c_char,
    paused: Option<&mut MaybeUninit<i32>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let mut discarded = MaybeUninit::uninit();
    guard_into(
        "paused",
        Some(paused.unwrap_or(&mut discarded)),
        || 0,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let document = unsafe { text::read("document", document) }?;
            LIMITERS.with(limiter, |limiter| limiter.pause_procedure(document)?.run(on_signal())).map(i32::from)
        },
    )
}

/// Applies an override document of Open Job Spec to a limiter, in all processes.
///
/// document is JSON with concurrency, rate, throttle and expires_at, or some of them: a member that
/// is absent leaves its override unchanged, null removes an override. A strategy that the limiter
/// does not have is overridden for the other policies of its name. The message of PG_INVALID
/// contains the JSON path of the fault. runtime_state receives the state after the call and may be
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_apply_ojs_override(
    limiter: *const LimiterHandle,
    document: *const c_char,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let mut discarded = MaybeUninit::uninit();
    guard_into(
        "runtime_state",
        Some(runtime_state.unwrap_or(&mut discarded)),
        || RuntimeState::NONE,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let document = unsafe { text::read("document", document) }?;
            LIMITERS
                .with(limiter, |limiter| limiter.override_procedure(document)?.run(on_signal()))
                .map(RuntimeState::from)
        },
    )
}
