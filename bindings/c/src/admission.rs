//! `pg_admission`: what a job server does with a job.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{Action as CoreAction, Admission as CoreAdmission, Answer, Micros, OnLimit, Operation};

use crate::call::{run, unexpected};
use crate::decision::{Decision, number};
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;
use crate::names;
use crate::request::Request;
use crate::text;

/// What is done with a job. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Action {
    /// It is over the limit, and on_limit leaves it to the caller what that means.
    Refuse = 0,
    /// It runs now; the permit of the decision is released when it has ended, however it has.
    Run = 1,
    /// It stays where it is and keeps its place; ask again after after_us.
    Wait = 2,
    /// It is put away until its time, in after_us, and keeps its place.
    Reschedule = 3,
    /// It is discarded.
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

/// What is done with a job, and when to ask again.
#[repr(C)]
pub struct Admission {
    /// Run, wait, reschedule, drop or refuse.
    pub action: Action,
    /// How long until it may run, or should be asked about again; -1 when that is not known (paused),
    /// and of a job that runs or is dropped.
    pub after_us: i64,
    /// With the permit of a job that runs, and the place of one that waits.
    pub decision: Decision,
}

impl Admission {
    pub(crate) const NONE: Self = Self { action: Action::Refuse, after_us: -1, decision: Decision::NONE };
}

impl From<CoreAdmission> for Admission {
    fn from(core: CoreAdmission) -> Self {
        Self {
            action: core.action.into(),
            after_us: number(core.after.map(|Micros(micros)| micros)),
            decision: core.decision.into(),
        }
    }
}

/// Decides about a job under its id, of 1 to 64 bytes.
///
/// Asking again about one that runs takes nothing, and one that waits keeps its place, for a minute
/// after its time. A job that is tried again is asked about under another id. on_limit says what
/// becomes of it when it is over the limit: "wait", "reschedule", "drop", "raise" or "ignore" as in a
/// document, NULL for "wait". request may be NULL. Never waits itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_admit(
    limiter: *const LimiterHandle,
    id: *const c_char,
    on_limit: *const c_char,
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
            let request = request.copied().unwrap_or_default().core()?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let id = unsafe { text::read("id", id) }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let on_limit = unsafe { text::read_or("on_limit", on_limit, OnLimit::Wait.name()) }?;
            let on_limit = OnLimit::from_name(on_limit)?;
            match run(limiter, Operation::AcquireWithId { request, id, wait: CoreAdmission::wait(on_limit) })? {
                Answer::Decision(decision) => Ok(CoreAdmission::of(decision, on_limit).into()),
                other => Err(unexpected(&other)),
            }
        },
    )
}

/// The word for an action, such as "run"; "?" for a number that is none. Never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn pg_action_name(action: i32) -> *const c_char {
    names::of(action, &names::ACTIONS)
}
