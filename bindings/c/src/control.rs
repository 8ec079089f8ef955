//! Pauses and overrides of a running limiter, for all processes.

use std::mem::MaybeUninit;

use paddlegate_core::{
    AdminRequest, Answer, Deadline, Limit as CoreLimit, LimitNumbers, MAX_LIMITS, Micros, Result,
    RuntimeState as CoreRuntimeState,
};

use crate::call::{ON_SIGNAL, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limit::Limit;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::not_negative;

/// The value of an index that stands for every limit of the policy.
pub const PG_EVERY_LIMIT: i64 = -1;

/// The value of a number that is not given, in pg_pause, pg_override, pg_report_budget,
/// pg_learn_from_response, pg_load_with, pg_conductor_limiter and pg_limiter_with_on_unavailable.
pub const PG_NOT_GIVEN: i64 = -1;

/// The pause, the overrides and the learned limits of a limiter, which apply in addition to the
/// policies of the processes.
#[repr(C)]
pub struct RuntimeState {
    /// A number that rises with every change; 0 when nothing is in force.
    pub version: i64,
    /// How long the runtime pause lasts from now, see pg_pause; -1 without a pause.
    pub paused_for_us: i64,
    /// How long the overrides last from now; -1 when they last until they are removed, and without
    /// overrides.
    pub expires_in_us: i64,
    /// The number of limits of the policy; 0 when the limiter has no state that could change.
    pub count: usize,
    /// 1 when the store knew the limiter before this call: it had a state or statistics. 0 for a
    /// name that was never used, for limits of other kinds than those in use under the name, and
    /// without any limit. An earlier command, such as pg_pause, counts as a use.
    pub in_use: i32,
    /// The active override of each limit; its kind is PG_KIND_NONE where there is none.
    pub overrides: [Limit; 8],
    /// The limit learned from the upstream, for each limit of the policy. It applies where no
    /// override is active. Its kind is PG_KIND_NONE where there is none.
    pub learned: [Limit; 8],
}

impl RuntimeState {
    pub(crate) const NONE: Self = Self {
        version: 0,
        paused_for_us: -1,
        expires_in_us: -1,
        count: 0,
        in_use: 0,
        overrides: [Limit::NONE; MAX_LIMITS],
        learned: [Limit::NONE; MAX_LIMITS],
    };
}

impl From<CoreRuntimeState> for RuntimeState {
    fn from(core: CoreRuntimeState) -> Self {
        let span = |span: Option<Micros>| number(span.map(|Micros(micros)| micros));
        Self {
            version: number(Some(core.version)),
            paused_for_us: span(core.paused_for),
            expires_in_us: span(core.expires_after),
            count: core.overrides.len().min(MAX_LIMITS),
            in_use: core.in_use.into(),
            overrides: limit_array(&core.overrides),
            learned: limit_array(&core.learned),
        }
    }
}

fn limit_array(limits: &[Option<CoreLimit>]) -> [Limit; MAX_LIMITS] {
    let mut array = [Limit::NONE; MAX_LIMITS];
    for (slot, limit) in array.iter_mut().zip(limits) {
        *slot = limit.as_ref().map_or(Limit::NONE, Limit::from);
    }
    array
}

/// Refuses every call for a time, or until a time since 1970, in all processes. Waiting calls
/// continue to wait.
///
/// Give one of for_us and until_us, and PG_NOT_GIVEN for the other. A refusal then has the reason
/// PG_KIND_PAUSED, and its retry_after_us is the time until the end of the pause. A pause that ends
/// later stays in force. runtime_state receives the state after the call and may be NULL.
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

/// Ends the runtime pause in all processes, see pg_pause, and wakes the waiting calls.
/// runtime_state is as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_resume(
    limiter: *const LimiterHandle,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || Ok(AdminRequest::Resume))
}

/// Overrides one limit of every policy, in all processes.
///
/// index is that of the limit in the policy, from 0. amount and interval_us are those of pg_limit;
/// give one or both; an amount of 0 is refused for a throttle. A number that is PG_NOT_GIVEN stays as
/// in the policy of this limiter. All overrides of the limiter last for expires_in_us, or until
/// expires_at_us since 1970. If both are PG_NOT_GIVEN, they last until they are removed, or until no
/// call was granted for 90 days. runtime_state is as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_override(
    limiter: *const LimiterHandle,
    index: i64,
    amount: i64,
    interval_us: i64,
    expires_in_us: i64,
    expires_at_us: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        let (index, numbers) = (limit_index(index)?, numbers(amount, interval_us, 0.0)?);
        let (span, time) = (micros("expires_in", expires_in_us)?, micros("expires_at", expires_at_us)?);
        let expires = Deadline::either(("expires_in", span), ("expires_at", time))?;
        Ok(AdminRequest::Override { index, numbers, expires })
    })
}

/// Removes the override of the limit with this index, from 0, or of all limits with PG_EVERY_LIMIT.
/// runtime_state is as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_restore(
    limiter: *const LimiterHandle,
    index: i64,
    runtime_state: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, runtime_state, error, || {
        let index = if index == PG_EVERY_LIMIT { None } else { Some(limit_index(index)?) };
        Ok(AdminRequest::Restore(index))
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

/// Returns the index of a limit; the core refuses an index that does not exist.
pub(crate) fn limit_index(index: i64) -> Result<usize> {
    Ok(usize::try_from(not_negative("index", index)?).unwrap_or(usize::MAX))
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
    LIMITERS.with(limiter, |limiter| request.operation(limiter, |operation| limiter.run(operation, ON_SIGNAL)))
}
