//! `Decision`: the result of one call.

use crate::base::micros::Micros;
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::reason::Reason;

/// The status of a decision. The codes never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// Refused: retry after `retry_after`. Nothing was charged.
    Refused = 0,
    /// Granted: the cost is charged.
    Granted = 1,
    /// Queued: the call has a ticket; retry after `retry_after` or on a wake-up.
    Queued = 2,
    /// No ticket exists for the call: it was cancelled, has lapsed or was granted before.
    NoTicket = 3,
}

impl Status {
    /// Returns the name of the status, as the scripting languages show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Granted => "granted",
            Self::Queued => "queued",
            Self::NoTicket => "no_ticket",
        }
    }
}

/// The result of one call, with the numbers of the most restrictive limit.
///
/// For a grant that is the limit with the fewest remaining units, for a refusal the limit with the longest wait.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Kind, Micros, Paddlegate, Reason, Request, Status, TestClock};
/// let clock = TestClock::new(Micros(0))?;
/// let api = Paddlegate::memory_with_clock(&clock).window("api", 5, Duration::from_secs(60))?;
/// let granted = api.try_acquire(Request::cost(5))?;
/// assert_eq!((granted.allowed(), granted.limit, granted.remaining), (true, Some(5), Some(0)));
/// clock.advance(Duration::from_secs(20))?;
/// let refused = api.try_acquire(Request::cost(1))?;
/// assert_eq!((refused.status, refused.reason), (Status::Refused, Some(Reason::Limit(Kind::Window))));
/// assert_eq!(refused.label.as_deref(), Some("window"));
/// assert_eq!(refused.retry_after, Some(Micros(40_000_000)));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The status of the call.
    pub status: Status,
    /// The limit or the capacity in units, 1 for a throttle; `None` when no limit applies.
    pub limit: Option<u64>,
    /// The units that can be taken right after this decision; `None` when no limit applies.
    pub remaining: Option<u64>,
    /// How long to wait before the next attempt; zero when granted, `None` when no time is known: a pause without an end,
    /// or a cost above a limit that was lowered without an end. For a grant that only [`Mode::Shadow`](crate::Mode::Shadow)
    /// made, how long the call would have to wait.
    ///
    /// If nothing else changes, a refused call is refused one microsecond earlier and granted at this time.
    pub retry_after: Option<Micros>,
    /// Time until all units of the limit are available again, if no call is made; `None` when no time is known (a pause
    /// without an end).
    pub reset_after: Option<Micros>,
    /// Why the call was refused or queued; `None` when granted.
    pub reason: Option<Reason>,
    /// For a grant that only [`Mode::Shadow`](crate::Mode::Shadow) made, why the call would have been refused or would have had to
    /// wait; otherwise `None`. `label` names the limit. Such a grant charges nothing, and its permit is settled without effect.
    pub would_refuse: Option<Reason>,
    /// The label of the described limit; `None` for a pause, and when no limit applies.
    pub label: Option<Label>,
    /// For several limiters that decide together, the name of the one that the numbers are of; otherwise `None`.
    pub limiter: Option<String>,
    /// The store's time of the decision; zero when no store was called.
    pub at: Micros,
    /// The id with which any process can correct or release the grant. Present for a grant with an estimate or a lease.
    pub permit: Option<String>,
    /// For a concurrency limit, how long the lease lasts from `at`.
    pub lease: Option<Micros>,
    /// For a concurrency limit, the fencing token: it rises with every lease of the limiter, so that a resource can
    /// reject late holders.
    ///
    /// It is the store's time in microseconds, or the last token plus one. The store keeps the last token until five
    /// minutes after the last lease could have ended. Only a reset can lower the token, or a clock that moves back by
    /// more than that while no lease is held.
    pub fencing_token: Option<u64>,
    /// The ticket of a queued call, or the ticket that a granted call had.
    pub ticket: Option<Ticket>,
    /// Whether the estimate was above the capacity of a limit and was lowered to it: a call that is estimated too high waits
    /// for the whole limit and is corrected afterwards.
    pub is_lowered: bool,
    /// Whether the limiter's [`OnUnavailable`](crate::OnUnavailable) decided because the store could not.
    pub degraded: bool,
    /// Each limit after this decision, in the order of the policy, for a call
    /// [`with_limits`](crate::Request::with_limits); otherwise empty, as where no store decided.
    pub limits: Vec<DecisionLimit>,
}

/// One limit after a [`Decision`], by itself: a pause, and the calls ahead in the queue, do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionLimit {
    /// For several limiters that decide together, the name of the one that has the limit; otherwise `None`.
    pub limiter: Option<String>,
    /// The label.
    pub label: Label,
    /// The kind.
    pub kind: Kind,
    /// The limit or the capacity in units, 1 for a throttle.
    pub limit: u64,
    /// The interval that rules, as of [`Limit::interval`](crate::Limit::interval).
    pub interval: Micros,
    /// The units that can be taken right after the decision.
    pub remaining: u64,
    /// How long this limit holds the call up; zero when it does not, as after a grant. `None` when no time is known.
    pub retry_after: Option<Micros>,
    /// Time until all units of the limit are available again, if no call is made; `None` when no time is known.
    pub reset_after: Option<Micros>,
}

/// The ticket of a call in the queue of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The number of the ticket, which rises with every ticket of the limiter. With it a lapsed ticket regains its
    /// position.
    pub number: u64,
    /// The number of tickets ahead.
    pub position: u64,
    /// Time until the call can be granted, if all tickets ahead are; `None` when unknown (concurrency limit, pause).
    pub ready_after: Option<Micros>,
}

impl Decision {
    /// Returns whether the call was granted.
    pub fn allowed(&self) -> bool {
        self.status == Status::Granted
    }

    pub(crate) fn unlimited(permit: Option<String>) -> Self {
        let zero = Some(Micros(0));
        Self { status: Status::Granted, retry_after: zero, reset_after: zero, permit, ..Self::default() }
    }

    /// Returns the refusal of a limit that refuses every call.
    pub(crate) fn paused(label: Option<&Label>) -> Self {
        let (limit, remaining, reason) = (Some(0), Some(0), Some(Reason::Paused));
        Self { limit, remaining, reason, label: label.cloned(), ..Self::default() }
    }
}

/// A refusal of which nothing more is known, for a program that makes a decision again from its numbers.
impl Default for Decision {
    fn default() -> Self {
        Self {
            status: Status::Refused,
            limit: None,
            remaining: None,
            retry_after: None,
            reset_after: None,
            reason: None,
            would_refuse: None,
            label: None,
            limiter: None,
            at: Micros(0),
            permit: None,
            lease: None,
            fencing_token: None,
            ticket: None,
            is_lowered: false,
            degraded: false,
            limits: Vec::new(),
        }
    }
}
