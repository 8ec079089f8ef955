//! Pauses and overrides of a running limiter, for all processes.

use std::mem::MaybeUninit;

use paddlegate_core::{
    AdminCommand, Answer, Deadline, Error as CoreError, Limit as CoreLimit, LimitOverride, Limiter, MAX_LIMITS, Micros,
    Operation, Result, RuntimeState as CoreRuntimeState,
};

use crate::call::{GRACE, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limit::Limit;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{not_negative, time};

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
/// later stays in force. at_us is as in pg_request. controls receives the runtime state after the
/// call and may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn pg_pause(
    limiter: *const LimiterHandle,
    for_us: i64,
    until_us: i64,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, at_us, controls, error, |_, run| {
        let deadline = deadline(("for", for_us), ("until", until_us))?
            .ok_or_else(|| CoreError::invalid("for", "say for how long or until when"))?;
        run(AdminCommand::Pause(deadline))
    })
}

/// Ends the runtime pause in all processes, see pg_pause, and wakes the waiting calls. at_us and
/// controls are as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_resume(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, at_us, controls, error, |_, run| run(AdminCommand::Resume))
}

/// Overrides one limit of every policy, in all processes.
///
/// index is that of the limit in the policy, from 0. amount and interval_us are those of pg_limit;
/// give one or both. A number that is PG_NOT_GIVEN stays as in the policy of this limiter. All
/// overrides of the limiter last for expires_in_us, or until expires_at_us since 1970. If both are
/// PG_NOT_GIVEN, they last until they are removed, or until no call was granted for 90 days. at_us
/// and controls are as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_override(
    limiter: *const LimiterHandle,
    index: i64,
    amount: i64,
    interval_us: i64,
    expires_in_us: i64,
    expires_at_us: i64,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, at_us, controls, error, |limiter, run| {
        let index = limit_index(index)?;
        let (amount, interval) = amounts(amount, interval_us)?;
        let changes = limiter.override_changes(index, amount, interval)?;
        let expires = deadline(("expires_in", expires_in_us), ("expires_at", expires_at_us))?;
        run(AdminCommand::Override { changes: &changes, expires })
    })
}

/// Removes the override of the limit with this index, from 0, or of all limits with PG_EVERY_LIMIT.
/// at_us and controls are as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_restore(
    limiter: *const LimiterHandle,
    index: i64,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_change(limiter, at_us, controls, error, |limiter, run| {
        let index = if index == PG_EVERY_LIMIT { None } else { Some(limit_index(index)?) };
        let changes: Vec<LimitOverride> = limiter.override_removals(index)?;
        run(AdminCommand::Override { changes: &changes, expires: None })
    })
}

/// Writes the runtime state of a limiter, and changes nothing. at_us is as in pg_request.
#[unsafe(no_mangle)]
pub extern "C" fn pg_runtime_state_get(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_admin(limiter, at_us, controls, error, |_, run| run(AdminCommand::Get))
}

/// Runs a command that changes the limiter; `controls` may be absent.
fn run_change(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
    body: impl FnOnce(&Limiter, &dyn Fn(AdminCommand<'_>) -> Result<Answer>) -> Result<Answer>,
) -> Code {
    let mut discarded = MaybeUninit::uninit();
    run_admin(limiter, at_us, Some(controls.unwrap_or(&mut discarded)), error, body)
}

fn run_admin(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
    body: impl FnOnce(&Limiter, &dyn Fn(AdminCommand<'_>) -> Result<Answer>) -> Result<Answer>,
) -> Code {
    guard_into(
        "controls",
        controls,
        || RuntimeState::NONE,
        error,
        || {
            let at = time(at_us)?;
            let answer = LIMITERS.with(limiter, |limiter| {
                body(limiter, &|command| limiter.run(Operation::Admin { command, at }, GRACE))
            })?;
            match answer {
                Answer::RuntimeState(controls) => Ok((*controls).into()),
                other => Err(unexpected(&other)),
            }
        },
    )
}

/// Returns a number that may be absent.
pub(crate) fn optional(argument: &'static str, value: i64) -> Result<Option<u64>> {
    if value == PG_NOT_GIVEN { Ok(None) } else { not_negative(argument, value).map(Some) }
}

/// Returns a deadline that is given as a span or as a time; `None` without either.
pub(crate) fn deadline(after: (&'static str, i64), at: (&'static str, i64)) -> Result<Option<Deadline>> {
    match (optional(after.0, after.1)?, optional(at.0, at.1)?) {
        (None, None) => Ok(None),
        (Some(after), None) => Ok(Some(Deadline::After(Micros(after)))),
        (None, Some(at)) => Ok(Some(Deadline::At(Micros(at)))),
        (Some(_), Some(_)) => Err(CoreError::invalid(at.0, format!("give it or {}, not both", after.0))),
    }
}

/// Returns the index of a limit; the core refuses an index that does not exist.
pub(crate) fn limit_index(index: i64) -> Result<usize> {
    Ok(usize::try_from(not_negative("index", index)?).unwrap_or(usize::MAX))
}

/// Returns the amount and the interval of a limit, as far as they are given.
pub(crate) fn amounts(amount: i64, interval_us: i64) -> Result<(Option<u64>, Option<Micros>)> {
    Ok((optional("limit", amount)?, optional("interval", interval_us)?.map(Micros)))
}
