//! `Admission`: what a job server does with a job.

use crate::base::bounds::JOB_CLAIM_TIMEOUT;
use crate::base::error::Result;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::limiter::Limiter;
use crate::model::decision::{Decision, Status};
use crate::model::on_limit::OnLimit;
use crate::model::request::{QueuePosition, Request, Wait};

/// What is done with a job. The names never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It runs now; the permit of the decision is released when it has ended, however it has.
    Run,
    /// It stays where it is and keeps its place; ask again after a while.
    Wait,
    /// It is put away until its time and keeps its place.
    Reschedule,
    /// It is discarded.
    Drop,
    /// It is over the limit, and the policy leaves it to the caller what that means.
    Refuse,
}

impl Action {
    /// The action in words.
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

/// What is done with a job, and when to ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// What to do.
    pub action: Action,
    /// How long until it may run, or should be asked about again; nothing when that is not known (paused) or not to be.
    pub after: Option<Micros>,
    /// With the permit of a job that runs, and the place of one that waits.
    pub decision: Decision,
}

impl Admission {
    /// What a decision means to a job whose policy says `on_limit`.
    pub fn of(decision: Decision, on_limit: OnLimit) -> Self {
        let ready = decision.ticket.and_then(|ticket| ticket.ready_after).or(decision.retry_after);
        let (action, after) = match (decision.status, on_limit) {
            (Status::Granted, _) => (Action::Run, None),
            (_, OnLimit::Wait) => (Action::Wait, decision.retry_after),
            (_, OnLimit::Reschedule) => (Action::Reschedule, ready),
            // Nothing is thrown away because the store is away.
            (_, OnLimit::Drop) if decision.degraded => (Action::Wait, decision.retry_after),
            (_, OnLimit::Drop) => (Action::Drop, None),
            (_, OnLimit::Raise | OnLimit::Ignore) => (Action::Refuse, decision.retry_after),
        };
        Self { action, after, decision }
    }

    /// How a job asks: one that may come back takes a place in the queue, which it keeps for a minute after its time.
    pub fn wait(on_limit: OnLimit) -> Option<Wait<'static>> {
        let wait = Wait { patience: MAX_SPAN, grace: JOB_CLAIM_TIMEOUT, channel: "", place: QueuePosition::End };
        matches!(on_limit, OnLimit::Wait | OnLimit::Reschedule).then_some(wait)
    }
}

impl Limiter {
    /// Decides about a job under its id: asking again about one that runs takes nothing, and one that waits keeps its place.
    ///
    /// A job that is tried again is asked about under another id, and so counts as a new one.
    pub fn admit(&self, job: &str, request: Request, on_limit: OnLimit) -> Result<Admission> {
        Ok(Admission::of(self.acquire_with_id(request, job, Admission::wait(on_limit))?, on_limit))
    }
}
