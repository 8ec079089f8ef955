//! `Admission`: the decision on a job, for job servers.

use crate::base::error::Result;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::limiter::Limiter;
use crate::model::decision::{Decision, Status};
use crate::model::on_limit::OnLimit;
use crate::model::request::{Request, Wait};

/// The action for a job. The names never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Run the job now, and release the permit of the decision when the job has ended, with or without an error.
    Run,
    /// Leave the job where it is and repeat the call after a while; it keeps its queue position.
    Wait,
    /// Put the job away until its time; it keeps its queue position.
    Reschedule,
    /// Discard the job.
    Drop,
    /// The job is over the limit, and `on_limit` leaves the reaction to the caller.
    Refuse,
}

impl Action {
    /// Returns the name of the action.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Wait => "wait",
            Self::Reschedule => "reschedule",
            Self::Drop => "drop",
            Self::Refuse => "refuse",
        }
    }
}

/// The action for a job, and when to repeat the call.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Action, Admission, OnLimit, Paddlegate, Request};
/// let api = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?;
/// api.try_acquire(Request::cost(1))?;
/// let refused = api.try_acquire(Request::cost(1))?;
/// assert_eq!(Admission::of(refused.clone(), OnLimit::Drop).action, Action::Drop);
/// assert_eq!(Admission::of(refused.clone(), OnLimit::Raise).after, refused.retry_after);
/// assert!(Admission::wait(OnLimit::Reschedule, None).is_some() && Admission::wait(OnLimit::Drop, None).is_none());
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The action.
    pub action: Action,
    /// Time until the job may run or the call should be repeated; `None` when no time is known (paused), and for `Run`
    /// and `Drop`.
    pub after: Option<Micros>,
    /// The decision, with the permit of a job that runs or the ticket of a job that waits.
    pub decision: Decision,
}

impl Admission {
    /// Returns the admission for a decision on a job with this `on_limit`.
    pub fn of(decision: Decision, on_limit: OnLimit) -> Self {
        let ready = decision.ticket.and_then(|ticket| ticket.ready_after).or(decision.retry_after);
        let (action, after) = match (decision.status, on_limit) {
            (Status::Granted, _) => (Action::Run, None),
            (_, OnLimit::Wait) => (Action::Wait, decision.retry_after),
            (_, OnLimit::Reschedule) => (Action::Reschedule, ready),
            // An unavailable store is no reason to discard a job.
            (_, OnLimit::Drop) if decision.degraded => (Action::Wait, decision.retry_after),
            (_, OnLimit::Drop) => (Action::Drop, None),
            (_, OnLimit::Raise | OnLimit::Ignore) => (Action::Refuse, decision.retry_after),
        };
        Self { action, after, decision }
    }

    /// Returns how a job waits: with `Wait` and `Reschedule` in the queue as [`Wait::of_job`] says; otherwise not.
    pub fn wait(on_limit: OnLimit, claim_timeout: Option<Micros>) -> Option<Wait<'static>> {
        let waits = matches!(on_limit, OnLimit::Wait | OnLimit::Reschedule);
        waits.then(|| Wait::of_job(MAX_SPAN, claim_timeout))
    }
}

impl Limiter {
    /// Decides on a job under its id. A job that waits keeps its queue position when the call is repeated.
    ///
    /// With a concurrency limit a repeated call for a running job takes nothing. A job that runs again after a failure
    /// must use another id and counts as a new job.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Action, OnLimit, Paddlegate, Request};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(600))?;
    /// let first = workers.admit("job-1", Request::cost(1), OnLimit::Wait)?;
    /// assert_eq!(first.action, Action::Run);
    /// assert_eq!(workers.admit("job-2", Request::cost(1), OnLimit::Wait)?.action, Action::Wait);
    /// workers.release(&first.decision.permit.unwrap())?;
    /// assert_eq!(workers.admit("job-2", Request::cost(1), OnLimit::Wait)?.action, Action::Run);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn admit(&self, job: &str, request: Request<'_>, on_limit: OnLimit) -> Result<Admission> {
        self.admit_within(job, request, on_limit, None)
    }

    /// Decides as [`admit`](Self::admit) does, with another claim timeout than [`ADMISSION_CLAIM_TIMEOUT`](crate::ADMISSION_CLAIM_TIMEOUT):
    /// others pass a queued job by that has not called for this time after its turn.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Action, Micros, OnLimit, Paddlegate, Request};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(600))?;
    /// let admit = |job: &str| workers.admit_within(job, Request::cost(1), OnLimit::Wait, Some(Micros(30_000_000)));
    /// assert_eq!(admit("job-1")?.action, Action::Run);
    /// let next = admit("job-2")?;
    /// assert_eq!((next.action, next.after), (Action::Wait, Some(Micros(62_500))), "at first a guess");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn admit_within(
        &self,
        job: &str,
        request: Request<'_>,
        on_limit: OnLimit,
        claim_timeout: Option<Micros>,
    ) -> Result<Admission> {
        Ok(Admission::of(self.acquire_with_id(request, job, Admission::wait(on_limit, claim_timeout))?, on_limit))
    }
}
