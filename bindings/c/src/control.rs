//! Pauses and overrides of a running limiter, for all processes.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{
    AdminRequest, Answer, Deadline, Error as CoreError, LimitNumbers, Micros, Mode, Result,
    RuntimeState as CoreRuntimeState,
};

use crate::call::unexpected;
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limit::{LabelledLimit, Limit, read_limits};
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::not_negative;
use crate::signals::on_signal;
use crate::text;

/// The value of a number that is not given, in pg_pause, pg_block, pg_override, pg_override_mode,
/// pg_report_budget, pg_learn_from_response, pg_load_with, pg_admit_within, pg_conductor_limiter and
/// pg_limiter_with_on_unavailable.
pub const PG_NOT_GIVEN: i64 = -1;

/// The pause, the block, the overrides and the learned limits of a limiter, which apply in addition
/// to the policies of the processes.
#[repr(C)]
pub struct RuntimeState {
    /// A number that rises with every change; 0 when nothing is in force.
    pub version: i64,
    /// How long the runtime pause lasts from now, see pg_pause; -1 without a pause.
    pub paused_for_us: i64,
    /// How long the overrides last from now; -1 when they last until they are removed, and without
    /// overrides.
    pub expires_in_us: i64,
    /// 1 when the store knew the name before this call: it had a state or statistics, otherwise 0.
    /// An earlier command, such as pg_pause, counts as a use.
    pub in_use: i32,
    /// The number of overrides, at most 32.
    pub override_count: usize,
    /// The number of learned limits, at most 32.
    pub learned_count: usize,
    /// The active overrides, sorted by label; also those of labels that this policy does not have.
    pub overrides: [LabelledLimit; 32],
    /// The limits learned from the upstream, sorted by label. They apply where no override is
    /// active.
    pub learned: [LabelledLimit; 32],
    /// How long the block lasts from now, see pg_block and pg_limiter_with_block_after; -1 without a
    /// block.
    pub blocked_for_us: i64,
    /// The override of the mode, see pg_override_mode: "enforce" or "shadow"; empty without one.
    pub mode: [c_char; 16],
}

impl RuntimeState {
    pub(crate) const NONE: Self = Self {
        version: 0,
        paused_for_us: -1,
        expires_in_us: -1,
        in_use: 0,
        override_count: 0,
        learned_count: 0,
        overrides: [LabelledLimit::NONE; 32],
        learned: [LabelledLimit::NONE; 32],
        blocked_for_us: -1,
        mode: [0; 16],
    };
}

impl From<CoreRuntimeState> for RuntimeState {
    fn from(core: CoreRuntimeState) -> Self {
        let span = |span: Option<Micros>| number(span.map(|Micros(micros)| micros));
        let (overrides, override_count) = LabelledLimit::array(&core.overrides);
        let (learned, learned_count) = LabelledLimit::array(&core.learned);
        Self {
            version: number(Some(core.version)),
            paused_for_us: span(core.paused_for),
            expires_in_us: span(core.expires_after),
            in_use: core.in_use.into(),
            override_count,
            learned_count,
            overrides,
            learned,
            blocked_for_us: span(core.blocked_for),
            mode: text::write(core.mode.map_or("", Mode::name)),
        }
    }
}

/// Refuses every call for a time, or until a time since 1970, in all processes. Waiting calls
/// continue to wait.
///
/// Give one of for_us and until_us, and PG_NOT_GIVEN for the other. A refusal then has the reason
/// PG_REASON_PAUSED, and its retry_after_us is the time until the end of the pause. A pause that ends
/// later stays in force; an until_us that has passed is PG_INVALID. runtime_state receives the state after
/// the call and may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn pg_pause(
    limiter: *const LimiterHandle,
    for_us: i64,
    until_us: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        let (span, time) = (micros("for", for_us)?, micros("until", until_us)?);
        Ok(AdminRequest::Pause(Deadline::one_of(("for", span), ("until", time))?))
    })
}

/// Refuses every call for a time, or until a time since 1970, in all processes, with the reason
/// PG_REASON_BLOCKED: a pause of a key that was abused.
///
/// The arguments are as in pg_pause. A block that ends later stays in force. Use the handle of a key
/// for a keyed limiter, see pg_limiter_with_key.
#[unsafe(no_mangle)]
pub extern "C" fn pg_block(
    limiter: *const LimiterHandle,
    for_us: i64,
    until_us: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        let (span, time) = (micros("for", for_us)?, micros("until", until_us)?);
        Ok(AdminRequest::Block(Deadline::one_of(("for", span), ("until", time))?))
    })
}

/// Ends the runtime pause and the block in all processes, see pg_pause and pg_block, counts refusals
/// anew, and wakes the waiting calls. runtime_state is as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_resume(
    limiter: *const LimiterHandle,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || Ok(AdminRequest::Resume))
}

/// Overrides one limit of this policy, in all processes.
///
/// label is that of the limit, NULL for the only limit of the policy. amount and interval_us are
/// those of pg_limit; give one or both; an amount of 0 is refused for a throttle. A number that is
/// PG_NOT_GIVEN stays as in the policy of this limiter. All overrides of the limiter last for expires_in_us, or until
/// expires_at_us since 1970, which must not have passed. If both are PG_NOT_GIVEN, they last until they are removed, or until no
/// call was granted for 90 days. runtime_state is as in pg_pause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_override(
    limiter: *const LimiterHandle,
    label: *const c_char,
    amount: i64,
    interval_us: i64,
    expires_in_us: i64,
    expires_at_us: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let label = unsafe { text::read_some("label", label) }?.map(str::to_owned);
        let numbers = numbers(amount, interval_us, 0.0)?;
        Ok(AdminRequest::Override { label, numbers, expires: expiry(expires_in_us, expires_at_us)? })
    })
}

/// Overrides whole limits by their labels, in all processes: count limits, one to eight.
///
/// Also labels that the policy of this limiter does not have: they apply to every policy of the name
/// that has a limit with this label and kind, now or later. expires_in_us, expires_at_us and
/// runtime_state are as in pg_override.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_override_limits(
    limiter: *const LimiterHandle,
    limits: *const Limit,
    count: usize,
    expires_in_us: i64,
    expires_at_us: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        // SAFETY: this function places the same requirements on its caller.
        let limits = unsafe { read_limits(limits, count) }?;
        Ok(AdminRequest::OverrideLimits { limits, expires: expiry(expires_in_us, expires_at_us)? })
    })
}

/// Overrides the mode of every limiter of the name, in all processes, whatever its own: "enforce" or
/// "shadow", see pg_limiter_with_mode. NULL removes the override of the mode.
///
/// expires_in_us, expires_at_us and runtime_state are as in pg_override; without a mode both are
/// PG_NOT_GIVEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_override_mode(
    limiter: *const LimiterHandle,
    mode: *const c_char,
    expires_in_us: i64,
    expires_at_us: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let mode = unsafe { text::read_some("mode", mode) }?.map(Mode::from_name).transpose()?;
        match (mode, expiry(expires_in_us, expires_at_us)?) {
            (Some(mode), expires) => Ok(AdminRequest::OverrideMode { mode, expires }),
            (None, None) => Ok(AdminRequest::RestoreMode),
            (None, Some(_)) => Err(CoreError::invalid("mode", "is missing; an end time is for a mode")),
        }
    })
}

/// Removes the overrides of a label, or all overrides of the limiter, also of its mode, if label is
/// NULL. runtime_state is as in pg_pause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_restore(
    limiter: *const LimiterHandle,
    label: *const c_char,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let label = unsafe { text::read_some("label", label) }?;
        Ok(AdminRequest::Restore(label.map(str::to_owned)))
    })
}

/// Writes the runtime state of a limiter, and changes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn pg_runtime_state_get(
    limiter: *const LimiterHandle,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_admin(limiter, runtime_state, error, || Ok(AdminRequest::Get))
}

/// Runs a command that changes the limiter; `runtime_state` may be absent.
fn run_change(
    limiter: *const LimiterHandle,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
    request: impl FnOnce() -> Result<AdminRequest>,
) -> Code {
    let mut discarded = MaybeUninit::uninit();
    run_admin(limiter, Some(runtime_state.unwrap_or(&mut discarded)), error, request)
}

fn run_admin(
    limiter: *const LimiterHandle,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
    request: impl FnOnce() -> Result<AdminRequest>,
) -> Code {
    guard_into(
        "runtime_state",
        runtime_state,
        || RuntimeState::NONE,
        error,
        || match run_request(limiter, &request()?)? {
            Answer::RuntimeState(runtime_state) => Ok((*runtime_state).into()),
            other => Err(unexpected(&other)),
        },
    )
}

/// Returns a number that may be absent.
pub(crate) fn optional(argument: &'static str, value: i64) -> Result<Option<u64>> {
    if value == PG_NOT_GIVEN { Ok(None) } else { not_negative(argument, value).map(Some) }
}

/// Returns a time that may be absent.
pub(crate) fn micros(argument: &'static str, value: i64) -> Result<Option<Micros>> {
    Ok(optional(argument, value)?.map(Micros))
}

/// Returns the end of overrides, if they have one.
fn expiry(expires_in_us: i64, expires_at_us: i64) -> Result<Option<Deadline>> {
    let (span, time) = (micros("expires_in", expires_in_us)?, micros("expires_at", expires_at_us)?);
    Deadline::either(("expires_in", span), ("expires_at", time))
}

/// Returns the numbers of a limit, as far as they are given; a rate of 0 is not given.
pub(crate) fn numbers(amount: i64, interval_us: i64, rate: f64) -> Result<LimitNumbers> {
    Ok(LimitNumbers {
        amount: optional("limit", amount)?,
        interval: micros("interval", interval_us)?,
        rate: (rate != 0.0).then_some(rate),
    })
}

/// Runs a request on a limiter and waits for the answer.
pub(crate) fn run_request(limiter: *const LimiterHandle, request: &AdminRequest) -> Result<Answer> {
    LIMITERS.with(limiter, |limiter| request.operation(limiter, |operation| limiter.run(operation, on_signal())))
}
