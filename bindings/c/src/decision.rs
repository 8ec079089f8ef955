//! `pg_decision`: the result of one call.

use std::ffi::c_char;

use paddlegate_core::{
    Decision as CoreDecision, Limiter, MAX_PERMIT_ID, Micros, Settlement as CoreSettlement, Status as CoreStatus,
};

use crate::names;
use crate::reason::Reason;
use crate::text;

// The array for the id of a permit has a zero byte too.
const _: () = assert!(MAX_PERMIT_ID < 600);

/// The status of a decision. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Refused: retry after retry_after_us. Nothing was charged.
    Refused = 0,
    /// Granted: the cost is charged.
    Granted = 1,
    /// Queued: the call has a ticket; retry after retry_after_us or on a wake-up. See
    /// pg_acquire_with_id.
    Queued = 2,
    /// No ticket exists for the call: it was cancelled, has lapsed or was granted before.
    NoTicket = 3,
}

/// The result of one call, with the numbers of the most restrictive limit.
///
/// For a grant that is the limit with the fewest remaining units, for a refusal the limit with the
/// longest wait. -1 stands for a number that does not exist.
#[repr(C)]
pub struct Decision {
    /// The status: granted, refused, queued or without a ticket.
    pub status: Status,
    /// Why the call was refused or queued; PG_REASON_NONE when granted.
    pub reason: Reason,
    /// The label of the described limit; empty for a runtime pause, see pg_pause, and when no limit
    /// applies.
    pub label: [c_char; 33],
    /// For a limiter of pg_together, the index of the limiter that the numbers are of, as they were
    /// given; -1 for a single limiter.
    pub limiter: i32,
    /// The limit or the capacity of the described limit, in units, 1 for a throttle; -1 when no limit
    /// applies.
    pub limit: i64,
    /// The units that can be taken right after this decision; -1 when no limit applies.
    pub remaining: i64,
    /// How long to wait before the next attempt; 0 when granted (but see would_refuse), -1 when no time is known (such as
    /// a pause by the policy). If nothing else changes, a refused call is refused one microsecond
    /// earlier and granted at this time.
    pub retry_after_us: i64,
    /// Time until all units of the limit are available again, if no call is made; -1 when no time
    /// is known (such as a pause by the policy).
    pub reset_after_us: i64,
    /// The store's time of the decision since 1970; 0 when no store was called.
    pub at_us: i64,
    /// How long the lease lasts from at_us; -1 without a lease, for example when the limiter has no
    /// concurrency limit.
    pub lease_us: i64,
    /// The fencing token: it rises with every lease, so that a resource can reject late holders; -1
    /// without a lease, for example when the limiter has no concurrency limit.
    pub fencing_token: i64,
    /// The number of the ticket of a queued call, or of the ticket that a granted call had; -1
    /// without a ticket. With it a lapsed ticket regains its queue position, see pg_wait.
    pub ticket: i64,
    /// The number of tickets ahead in the queue; -1 without a ticket.
    pub position: i64,
    /// Time until the call can be granted, if all tickets ahead are; -1 when unknown.
    pub ready_after_us: i64,
    /// The id with which any process can correct or release the grant; empty unless the call has an
    /// estimate or the limiter has a concurrency limit.
    pub permit: [c_char; 600],
    /// 1 when the store could not decide and the limiter has decided without it, otherwise 0.
    pub degraded: i32,
    /// For a grant that only "shadow" made, see pg_limiter_with_mode, why the call would have been
    /// refused or would have had to wait; otherwise PG_REASON_NONE. Such a grant charges nothing, and
    /// retry_after_us is how long the call would have had to wait.
    pub would_refuse: Reason,
    /// 1 when the estimate was above the capacity of a limit and was lowered to it, otherwise 0: such a
    /// call waits for the whole limit and is corrected afterwards.
    pub is_lowered: i32,
}

impl Decision {
    /// The decision after an error.
    pub(crate) const NONE: Self = Self {
        status: Status::Refused,
        reason: Reason::None,
        label: [0; 33],
        limiter: -1,
        limit: -1,
        remaining: -1,
        retry_after_us: -1,
        reset_after_us: -1,
        at_us: 0,
        lease_us: -1,
        fencing_token: -1,
        ticket: -1,
        position: -1,
        ready_after_us: -1,
        permit: [0; 600],
        degraded: 0,
        would_refuse: Reason::None,
        is_lowered: 0,
    };
}

impl Decision {
    /// Converts a decision of a limiter.
    pub(crate) fn of(limiter: &Limiter, decision: CoreDecision) -> Self {
        let index = |name: String| limiter.limiters().iter().position(|limiter| limiter.name() == name);
        Self {
            status: match decision.status {
                CoreStatus::Refused => Status::Refused,
                CoreStatus::Granted => Status::Granted,
                CoreStatus::Queued => Status::Queued,
                CoreStatus::NoTicket => Status::NoTicket,
            },
            reason: match decision.reason {
                Some(reason) => reason.into(),
                None if decision.degraded && !decision.allowed() => Reason::Unavailable,
                None => Reason::None,
            },
            label: text::write(decision.label.as_deref().unwrap_or_default()),
            limiter: decision.limiter.and_then(index).and_then(|index| index.try_into().ok()).unwrap_or(-1),
            limit: number(decision.limit),
            remaining: number(decision.remaining),
            retry_after_us: number(decision.retry_after.map(|Micros(micros)| micros)),
            reset_after_us: number(decision.reset_after.map(|Micros(micros)| micros)),
            at_us: number(Some(decision.at.0)),
            lease_us: number(decision.lease.map(|Micros(micros)| micros)),
            fencing_token: number(decision.fencing_token),
            ticket: number(decision.ticket.map(|ticket| ticket.number)),
            position: number(decision.ticket.map(|ticket| ticket.position)),
            ready_after_us: number(decision.ticket.and_then(|ticket| ticket.ready_after).map(|Micros(micros)| micros)),
            permit: decision.permit.map_or([0; 600], |id| text::write(&id)),
            degraded: decision.degraded.into(),
            would_refuse: decision.would_refuse.map_or(Reason::None, Reason::from),
            is_lowered: decision.is_lowered.into(),
        }
    }
}

/// The result of a correction, a report of the upstream, a release or a cancellation.
///
/// The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Settlement {
    /// No settlement: the call failed, or the report has no actual cost of a permit.
    None = 0,
    /// pg_correct, pg_learn_from_response: the charge is now the actual cost.
    Settled = 3,
    /// pg_correct, pg_extend, pg_learn_from_response: the permit was settled before.
    Already = 4,
    /// pg_correct, pg_extend, pg_learn_from_response: the permit is older than five minutes, or than
    /// the settle_within_us of its request, and the estimate remains charged. pg_release: the lease had
    /// ended before, and another call may hold its slot.
    Late = 5,
    /// No such permit, lease or ticket exists: never issued, given back, reset since, or forgotten.
    Unknown = 6,
    /// pg_release: the lease has ended and its slot is free.
    Released = 7,
    /// pg_cancel: the ticket has left the queue, or the lease that it became has ended.
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

/// Returns the name of a settlement, such as "settled"; "?" for an unknown number. Do not free the
/// text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_settlement_name(settlement: i32) -> *const c_char {
    names::of(settlement, &names::SETTLEMENTS)
}

/// Converts a number of the core, all of which are below 2^53; -1 for none.
pub(crate) fn number(value: Option<u64>) -> i64 {
    value.map_or(-1, |value| value.try_into().unwrap_or(i64::MAX))
}
