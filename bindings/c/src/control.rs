//! What changes a limiter while it runs, for all processes.

use std::mem::MaybeUninit;

use paddlegate_core::{
    AdminCommand, Answer, Deadline, Error as CoreError, Limit as CoreLimit, LimitOverride, Limiter, MAX_LIMITS, Micros,
    Operation, Result, RuntimeState as CoreControls,
};

use crate::call::{GRACE, unexpected};
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limit::Limit;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{not_negative, time};

/// As an index: every limit of the policy.
pub const PG_EVERY_LIMIT: i64 = -1;

/// As a number of pg_pause, pg_override, pg_report_budget, pg_learn_from_response or pg_conductor_limiter: not given.
pub const PG_NOT_GIVEN: i64 = -1;

/// What is in force beside the policies of the processes.
#[repr(C)]
pub struct RuntimeState {
    /// Rises with every change; 0 when nothing is in force.
    pub version: i64,
    /// How long the pause that was ordered lasts; -1 without one.
    pub paused_for_us: i64,
    /// How long the overrides hold; -1 when they hold until they are removed, and without any.
    pub expires_in_us: i64,
    /// How many limits the policy has; 0 when it has no state that could change.
    pub count: usize,
    /// 1 when the store knew the limiter before this call: it had a state or statistics. 0 for a name that nobody has
    /// used, for limits of other kinds than those in use under it, and without any limit. An earlier order counts as a use.
    pub in_use: i32,
    /// By limit the numbers that were told and rule; PG_KIND_NONE where there are none.
    pub overrides: [Limit; 8],
    /// By limit the numbers that were learned from upstream, which rule where nothing was told.
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

impl From<CoreControls> for RuntimeState {
    fn from(core: CoreControls) -> Self {
        let span = |span: Option<Micros>| number(span.map(|Micros(micros)| micros));
        Self {
            version: number(Some(core.version)),
            paused_for_us: span(core.paused_for),
            expires_in_us: span(core.expires_after),
            count: core.overrides.len().min(MAX_LIMITS),
            in_use: core.in_use.into(),
            overrides: numbers(&core.overrides),
            learned: numbers(&core.learned),
        }
    }
}

fn numbers(limits: &[Option<CoreLimit>]) -> [Limit; MAX_LIMITS] {
    let mut numbers = [Limit::NONE; MAX_LIMITS];
    for (place, limit) in numbers.iter_mut().zip(limits) {
        *place = limit.as_ref().map_or(Limit::NONE, Limit::from);
    }
    numbers
}

/// Grants nothing for a time, or until a time since 1970, in all processes. Those who wait go on
/// waiting.
///
/// One of the two is given, the other is PG_NOT_GIVEN. A refusal then has the reason PG_KIND_PAUSED
/// and says in retry_after_us when the pause ends. A pause that ends later stays as it is. at_us as in
/// pg_request; controls, which gets what is in force now, may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn pg_pause(
    limiter: *const LimiterHandle,
    for_us: i64,
    until_us: i64,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    order(limiter, at_us, controls, error, |_, run| {
        let moment = moment(("for", for_us), ("until", until_us))?
            .ok_or_else(|| CoreError::invalid("for", "is missing; give a duration or an end time"))?;
        run(AdminCommand::Pause(moment))
    })
}

/// Ends a pause that was ordered, in all processes, and calls those who wait. The rest as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_resume(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    order(limiter, at_us, controls, error, |_, run| run(AdminCommand::Resume))
}

/// Puts other numbers before those of every policy, for one limit and in all processes.
///
/// The limit is counted from 0. amount and interval_us are those of pg_limit, one of them or both; what
/// is PG_NOT_GIVEN stays as the policy of this limiter has it. All overrides of the limiter hold for expires_in_us, or
/// until expires_at_us since 1970; when both are PG_NOT_GIVEN until they are removed, or for 90 days
/// in which nobody is granted anything. The rest as in pg_pause.
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
    order(limiter, at_us, controls, error, |limiter, run| {
        let index = place(index)?;
        let (amount, interval) = amounts(amount, interval_us)?;
        let changes = limiter.override_changes(index, amount, interval)?;
        let expires = moment(("expires_in", expires_in_us), ("expires_at", expires_at_us))?;
        run(AdminCommand::Override { changes: &changes, expires })
    })
}

/// Ends the override of one limit, counted from 0, or of PG_EVERY_LIMIT. The rest as in pg_pause.
#[unsafe(no_mangle)]
pub extern "C" fn pg_restore(
    limiter: *const LimiterHandle,
    index: i64,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    order(limiter, at_us, controls, error, |limiter, run| {
        let index = if index == PG_EVERY_LIMIT { None } else { Some(place(index)?) };
        let changes: Vec<LimitOverride> = limiter.override_removals(index)?;
        run(AdminCommand::Override { changes: &changes, expires: None })
    })
}

/// What is in force beside the policies. Changes nothing. at_us as in pg_request.
#[unsafe(no_mangle)]
pub extern "C" fn pg_runtime_state_get(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    control(limiter, at_us, controls, error, |_, run| run(AdminCommand::Get))
}

/// A change; what is in force after it may be of no interest.
fn order(
    limiter: *const LimiterHandle,
    at_us: i64,
    controls: Option<&mut MaybeUninit<RuntimeState>>,
    error: Option<&mut MaybeUninit<Error>>,
    body: impl FnOnce(&Limiter, &dyn Fn(AdminCommand<'_>) -> Result<Answer>) -> Result<Answer>,
) -> Code {
    let mut unwanted = MaybeUninit::uninit();
    control(limiter, at_us, Some(controls.unwrap_or(&mut unwanted)), error, body)
}

fn control(
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

/// A number that may be absent.
pub(crate) fn given(argument: &'static str, value: i64) -> Result<Option<u64>> {
    if value == PG_NOT_GIVEN { Ok(None) } else { not_negative(argument, value).map(Some) }
}

/// A moment in one of its two forms, or none.
pub(crate) fn moment(after: (&'static str, i64), at: (&'static str, i64)) -> Result<Option<Deadline>> {
    match (given(after.0, after.1)?, given(at.0, at.1)?) {
        (None, None) => Ok(None),
        (Some(after), None) => Ok(Some(Deadline::After(Micros(after)))),
        (None, Some(at)) => Ok(Some(Deadline::At(Micros(at)))),
        (Some(_), Some(_)) => Err(CoreError::invalid(at.0, format!("give it or {}, not both", after.0))),
    }
}

/// Which limit of a policy; one that is not there is left to the core.
pub(crate) fn place(index: i64) -> Result<usize> {
    Ok(usize::try_from(not_negative("index", index)?).unwrap_or(usize::MAX))
}

/// The numbers of a limit that are given.
pub(crate) fn amounts(amount: i64, interval_us: i64) -> Result<(Option<u64>, Option<Micros>)> {
    Ok((given("limit", amount)?, given("interval", interval_us)?.map(Micros)))
}
