//! `Decision`: the answer to one call.

use crate::base::micros::Micros;
use crate::model::limit::Kind;

/// What became of a call. The codes never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// Come back after `retry_after`; nothing was changed.
    Refused = 0,
    /// Go ahead; the cost is charged.
    Granted = 1,
    /// A place in the queue is taken; look again after `retry_after`, or when told to.
    Queued = 2,
    /// The ticket has no place: cancelled, lapsed or granted before.
    Gone = 3,
}

impl Status {
    /// The status in words, as the scripting languages show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Granted => "granted",
            Self::Queued => "queued",
            Self::Gone => "gone",
        }
    }
}

/// The answer to one call, with the numbers of the limit that is the tightest.
///
/// Of a grant that is the limit with the least left, of a refusal the one that takes longest to let the call pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Granted, refused or queued.
    pub status: Status,
    /// The units of the limit described here; `None` when nothing limits.
    pub limit: Option<u64>,
    /// The units that could be taken right after this decision; `None` when nothing limits.
    pub remaining: Option<u64>,
    /// Refused one microsecond before, granted at it. Zero when granted; `None` when no time is known (paused).
    pub retry_after: Option<Micros>,
    /// Until all of the limit is there again, if nobody calls; `None` when no time is known (paused).
    pub reset_after: Option<Micros>,
    /// The kind of the limit that refused; `None` when granted.
    pub reason: Option<Kind>,
    /// Which limit of the policy the numbers describe, counted from 0; the number of limits when it is a pause that was
    /// ordered.
    pub index: usize,
    /// The store's time of the decision; zero when no store was asked.
    pub at: Micros,
    /// The id under which a grant may be corrected or released, from any process; of a grant with an estimate or of a
    /// concurrency limit.
    pub permit: Option<String>,
    /// Of a concurrency limit, how long the lease lasts from `at`.
    pub lease: Option<Micros>,
    /// Of a concurrency limit, a number that rises with every lease of the limiter, to fence off holders that are late.
    ///
    /// It is the store's time, or one more than the last. It is remembered until five minutes after the last lease could
    /// have ended; only a clock that runs back by more than that, while nobody holds a lease, or a reset can lower it.
    pub fence: Option<u64>,
    /// The place of a call that is queued, or that a grant had.
    pub ticket: Option<Ticket>,
    /// Whether the store could not decide, and the limiter's [`OnUnavailable`](crate::OnUnavailable) has.
    pub degraded: bool,
}

/// The place of a call in the queue of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Under which it may come back to its place; rises with every ticket of the limiter.
    pub number: u64,
    /// How many stand before it.
    pub position: u64,
    /// When it may pass if all before it do, where that can be known: not where it waits for a release.
    pub ready_after: Option<Micros>,
}

impl Decision {
    /// Whether the call may go ahead.
    pub fn allowed(&self) -> bool {
        self.status == Status::Granted
    }

    pub(crate) fn unlimited(permit: Option<String>) -> Self {
        Self {
            status: Status::Granted,
            limit: None,
            remaining: None,
            retry_after: Some(Micros(0)),
            reset_after: Some(Micros(0)),
            reason: None,
            index: 0,
            at: Micros(0),
            permit,
            lease: None,
            fence: None,
            ticket: None,
            degraded: false,
        }
    }

    pub(crate) fn paused(index: usize) -> Self {
        Self {
            status: Status::Refused,
            limit: Some(0),
            remaining: Some(0),
            retry_after: None,
            reset_after: None,
            reason: Some(Kind::Paused),
            index,
            at: Micros(0),
            permit: None,
            lease: None,
            fence: None,
            ticket: None,
            degraded: false,
        }
    }
}
