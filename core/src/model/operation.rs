//! `Operation`: what can be asked of a limiter, and what it answers.

use crate::base::micros::Micros;
use crate::model::budget::UpstreamReport;
use crate::model::decision::Decision;
use crate::model::learned::Learned;
use crate::model::limiter_info::ListPage;
use crate::model::overrides::{AdminCommand, RuntimeState};
use crate::model::permit::Settlement;
use crate::model::request::{Request, Wait};
use crate::model::statistics::Statistics;

/// One operation for [`Limiter::prepare`](crate::Limiter::prepare).
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// [`Limiter::acquire`](crate::Limiter::acquire).
    Acquire(Request),
    /// [`Limiter::peek`](crate::Limiter::peek).
    Peek(Request),
    /// [`Limiter::correct`](crate::Limiter::correct).
    Correct {
        /// The id of the permit.
        permit: &'a str,
        /// The units that the call did cost.
        actual: u64,
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::acquire_with_id`](crate::Limiter::acquire_with_id).
    AcquireWithId {
        /// What it asks for.
        request: Request,
        /// Its id.
        id: &'a str,
        /// How it waits.
        wait: Option<Wait<'a>>,
    },
    /// [`Limiter::release`](crate::Limiter::release).
    Release {
        /// The id of the permit.
        permit: &'a str,
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::renew`](crate::Limiter::renew).
    Renew {
        /// The id of the permit.
        permit: &'a str,
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::cancel`](crate::Limiter::cancel).
    Cancel {
        /// The id of the call.
        id: &'a str,
        /// Whether its time was up, which counts as a refusal.
        gave_up: bool,
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::statistics`](crate::Limiter::statistics).
    Statistics {
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::apply_report`](crate::Limiter::apply_report).
    ApplyReport {
        /// What upstream says.
        report: UpstreamReport<'a>,
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::admin`](crate::Limiter::admin).
    Admin {
        /// What is ordered.
        command: AdminCommand<'a>,
        /// As in [`Request::at`].
        at: Option<Micros>,
    },
    /// [`Limiter::reset`](crate::Limiter::reset).
    Reset,
}

impl Operation<'_> {
    /// The time that the caller gives, for tests.
    #[cfg(feature = "redis")]
    pub(crate) const fn at(&self) -> Option<Micros> {
        match *self {
            Self::Acquire(request) | Self::Peek(request) | Self::AcquireWithId { request, .. } => request.at,
            Self::Correct { at, .. }
            | Self::Release { at, .. }
            | Self::Renew { at, .. }
            | Self::Cancel { at, .. }
            | Self::Statistics { at }
            | Self::ApplyReport { at, .. }
            | Self::Admin { at, .. } => at,
            Self::Reset => None,
        }
    }
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To `Acquire`, `Enter` and `Peek`.
    Decision(Decision),
    /// To `Correct`, `Release` and `Cancel`.
    Settlement(Settlement),
    /// To `Learn`.
    Report(Box<Learned>),
    /// To `Renew`: how long the lease lasts from now, or nothing when it has ended.
    Renewal(Option<Micros>),
    /// To `Statistics`.
    Statistics(Box<Statistics>),
    /// To `AdminCommand`.
    RuntimeState(Box<RuntimeState>),
    /// A page of the list of limiters.
    List(ListPage),
    /// To `Reset`.
    Reset,
}
