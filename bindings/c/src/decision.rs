//! `pg_decision`: the answer to one call.

use std::ffi::c_char;

use paddlegate_core::{
    Decision as CoreDecision, Kind as CoreKind, Micros, Settlement as CoreSettlement, Status as CoreStatus,
};

use crate::limit::Kind;
use crate::names;
use crate::text;

/// What became of a request. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Come back after retry_after_us; nothing was changed.
    Refused = 0,
    /// Go ahead; the cost is charged.
    Granted = 1,
    /// A place in the queue is taken; look again after retry_after_us, or when told to. See pg_acquire_with_id.
    Queued = 2,
    /// The ticket has no place: cancelled, lapsed or granted before.
    Gone = 3,
}

/// The answer to one call, with the numbers of the limit that is the tightest.
///
/// Of a grant that is the limit with the least left, of a refusal the one that takes longest to let
/// the call pass. -1 stands for a number that there is none of.
#[repr(C)]
pub struct Decision {
    /// Granted, refused, queued or gone.
    pub status: Status,
    /// The kind of the limit that refused; PG_KIND_NONE when granted, PG_KIND_UNAVAILABLE when it was
    /// refused because the store cannot decide, see pg_limiter_with_on_unavailable.
    pub reason: Kind,
    /// Which limit of the policy the numbers describe, counted from 0; the number of limits when it is
    /// a pause that was ordered, see pg_pause.
    pub index: i64,
    /// The units of that limit; -1 when nothing limits.
    pub limit: i64,
    /// The units that could be taken right after this decision; -1 when nothing limits.
    pub remaining: i64,
    /// Refused one microsecond before, granted at it. 0 when granted; -1 when no time is known
    /// (paused by the policy).
    pub retry_after_us: i64,
    /// Until all of the limit is there again, if nobody calls; -1 when no time is known (paused
    /// by the policy).
    pub reset_after_us: i64,
    /// The store's time of the decision since 1970; 0 when no store was asked.
    pub at_us: i64,
    /// How long the lease lasts from at_us; -1 without a limit of concurrency.
    pub lease_us: i64,
    /// A number that rises with every lease, to fence off holders that are late; -1 without a limit
    /// of concurrency.
    pub fence: i64,
    /// The number of a ticket, under which it may come back to its place; -1 unless queued.
    pub ticket: i64,
    /// How many stand before it in the queue; -1 unless queued.
    pub position: i64,
    /// When it may pass if all before it do; -1 where that is not known.
    pub ready_after_us: i64,
    /// The id under which a grant may be corrected or released, from any process; empty unless it
    /// has an estimate or a limit of concurrency.
    pub permit: [c_char; 96],
    /// 1 when the store could not decide and the limiter has decided without it, else 0.
    pub degraded: i32,
}

impl Decision {
    /// What stands in the place of the decision after an error.
    pub(crate) const NONE: Self = Self {
        status: Status::Refused,
        reason: Kind::None,
        index: 0,
        limit: -1,
        remaining: -1,
        retry_after_us: -1,
        reset_after_us: -1,
        at_us: 0,
        lease_us: -1,
        fence: -1,
        ticket: -1,
        position: -1,
        ready_after_us: -1,
        permit: [0; 96],
        degraded: 0,
    };
}

impl From<CoreDecision> for Decision {
    fn from(decision: CoreDecision) -> Self {
        Self {
            status: match decision.status {
                CoreStatus::Refused => Status::Refused,
                CoreStatus::Granted => Status::Granted,
                CoreStatus::Queued => Status::Queued,
                CoreStatus::Gone => Status::Gone,
            },
            reason: match decision.reason {
                Some(kind) => kind.into(),
                None if decision.degraded && !decision.allowed() => Kind::Unavailable,
                None => Kind::None,
            },
            index: decision.index.try_into().unwrap_or(i64::MAX),
            limit: number(decision.limit),
            remaining: number(decision.remaining),
            retry_after_us: number(decision.retry_after.map(|Micros(micros)| micros)),
            reset_after_us: number(decision.reset_after.map(|Micros(micros)| micros)),
            at_us: number(Some(decision.at.0)),
            lease_us: number(decision.lease.map(|Micros(micros)| micros)),
            fence: number(decision.fence),
            ticket: number(decision.ticket.map(|ticket| ticket.number)),
            position: number(decision.ticket.map(|ticket| ticket.position)),
            ready_after_us: number(decision.ticket.and_then(|ticket| ticket.ready_after).map(|Micros(micros)| micros)),
            permit: decision.permit.map_or([0; 96], |id| text::write(&id)),
            degraded: decision.degraded.into(),
        }
    }
}

impl From<CoreKind> for Kind {
    fn from(kind: CoreKind) -> Self {
        match kind {
            CoreKind::Bucket => Self::Bucket,
            CoreKind::Window => Self::Window,
            CoreKind::Leaky => Self::Leaky,
            CoreKind::Points => Self::Points,
            CoreKind::Throttle => Self::Throttle,
            CoreKind::Unlimited => Self::Unlimited,
            CoreKind::Paused => Self::Paused,
            CoreKind::Concurrency => Self::Concurrency,
        }
    }
}

/// What became of a correction, a report of upstream, a release or a cancellation.
///
/// The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Settlement {
    /// The call failed; there is no answer.
    None = 0,
    /// pg_correct: the charge is now the actual cost. pg_report_budget, pg_learn_from_response: the report rules.
    Settled = 3,
    /// pg_correct: it was settled before.
    Already = 4,
    /// pg_correct: the permit is older than five minutes; the estimate stands. pg_release: the lease
    /// had ended before, and another may have its place. pg_report_budget, pg_learn_from_response: the report of a later call
    /// was there before.
    Late = 5,
    /// No such permit, lease or ticket is here: never given, given back, reset since, or forgotten.
    Unknown = 6,
    /// pg_release: the lease is free for another.
    Released = 7,
    /// pg_cancel: the ticket has left the queue.
    Cancelled = 8,
}

impl From<CoreSettlement> for Settlement {
    fn from(settlement: CoreSettlement) -> Self {
        match settlement {
            CoreSettlement::Settled => Self::Settled,
            CoreSettlement::Already => Self::Already,
            CoreSettlement::Late => Self::Late,
            CoreSettlement::Unknown => Self::Unknown,
            CoreSettlement::Released => Self::Released,
            CoreSettlement::Cancelled => Self::Cancelled,
        }
    }
}

/// The word for a settlement, such as "settled"; "?" for a number that is none. Never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn pg_settlement_name(settlement: i32) -> *const c_char {
    names::of(settlement, &names::SETTLEMENTS)
}

/// Everything the core counts is below 2^53.
pub(crate) fn number(value: Option<u64>) -> i64 {
    value.map_or(-1, |value| value.try_into().unwrap_or(i64::MAX))
}
