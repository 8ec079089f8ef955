//! `pg_admission`: the decision on a job, for job servers.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{Action as CoreAction, Admission as CoreAdmission, Limiter, Micros, OnLimit, Operation};

use crate::call::decide;
use crate::control::{PG_NOT_GIVEN, micros};
use crate::decision::{Decision, number};
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;
use crate::names;
use crate::request::{Costs, Request};
use crate::text;

/// The action for a job. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Action {
    /// The job is over the limit, and on_limit leaves the reaction to the caller.
    Refuse = 0,
    /// Run the job now, and release the permit of the decision when the job has ended, with or
    /// without an error.
    Run = 1,
    /// Leave the job where it is and repeat the call after after_us; the job keeps its queue
    /// position.
    Wait = 2,
    /// Put the job away until its time, in after_us; the job keeps its queue position.
    Reschedule = 3,
    /// Discard the job.
    Drop = 4,
}

impl From<CoreAction> for Action {
    fn from(action: CoreAction) -> Self {
        match action {
            CoreAction::Refuse => Self::Refuse,
            CoreAction::Run => Self::Run,
            CoreAction::Wait => Self::Wait,
            CoreAction::Reschedule => Self::Reschedule,
            CoreAction::Drop => Self::Drop,
        }
    }
}

/// The action for a job, and when to repeat the call.
#[repr(C)]
pub struct Admission {
    /// The action: run, wait, reschedule, drop or refuse.
    pub action: Action,
    /// Time until the job may run or the call should be repeated; -1 when no time is known
    /// (paused), and for a job that runs or is dropped.
    pub after_us: i64,
    /// The decision, with the permit of a job that runs or the ticket of a job that waits.
    pub decision: Decision,
}

impl Admission {
    pub(crate) const NONE: Self = Self { action: Action::Refuse, after_us: -1, decision: Decision::NONE };

    /// Converts an admission of a limiter.
    pub(crate) fn of(limiter: &Limiter, core: CoreAdmission) -> Self {
        Self {
            action: core.action.into(),
            after_us: number(core.after.map(|Micros(micros)| micros)),
            decision: Decision::of(limiter, core.decision),
        }
    }
}

/// Decides on a job under its id, which has 1 to 64 bytes. Never waits itself.
///
/// With a concurrency limit a repeated call for a running job takes nothing. A job that waits keeps
/// its queue position: others pass it by that has not called for pg_admission_claim_timeout_us after
/// its turn, and a minute later the position is lost. A job that runs again after a failure must use
/// another id. on_limit sets the action for a job that is over the limit: "wait", "reschedule",
/// "drop", "raise" or "ignore", as in a document; NULL for "wait". request may be NULL; its priority
/// and its share order the jobs that wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_admit(
    limiter: *const LimiterHandle,
    id: *const c_char,
    on_limit: *const c_char,
    request: Option<&Request>,
    admission: Option<&mut MaybeUninit<Admission>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: this function places the same requirements on its caller.
    unsafe { pg_admit_within(limiter, id, on_limit, PG_NOT_GIVEN, request, admission, error) }
}

/// Decides on a job as pg_admit does, with another claim time-out: others pass a queued job by that
/// has not called for claim_timeout_us after its turn. From one microsecond to ten years;
/// PG_NOT_GIVEN for the default, pg_admission_claim_timeout_us.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_admit_within(
    limiter: *const LimiterHandle,
    id: *const c_char,
    on_limit: *const c_char,
    claim_timeout_us: i64,
    request: Option<&Request>,
    admission: Option<&mut MaybeUninit<Admission>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "admission",
        admission,
        || Admission::NONE,
        error,
        || {
            // SAFETY: this function places the same requirements on its caller.
            let costs = unsafe { Costs::read(request) }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let id = unsafe { text::read("id", id) }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let on_limit = unsafe { text::read_or("on_limit", on_limit, OnLimit::Wait.name()) }?;
            let on_limit = OnLimit::from_name(on_limit)?;
            let claim_timeout = micros("claim_timeout", claim_timeout_us)?;
            let (request, wait) = (costs.request(), CoreAdmission::wait(on_limit, claim_timeout));
            decide(limiter, Operation::AcquireWithId { request, id, wait }, |limiter, decision| {
                costs.write_limits(limiter, &decision);
                Admission::of(limiter, CoreAdmission::of(decision, on_limit))
            })
        },
    )
}

/// Returns the name of an action, such as "run"; "?" for an unknown number. Do not free the text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_action_name(action: i32) -> *const c_char {
    names::of(action, &names::ACTIONS)
}
