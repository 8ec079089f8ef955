//! `DecisionBody`: a decision, with the words of the packages.

use paddlegate::{Decision, DecisionLimit};
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;

/// The result of one call. Times are seconds.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct DecisionBody {
    /// Whether the call was granted.
    pub(crate) allowed: bool,
    /// `granted`, `refused`, `queued` or `no_ticket`.
    status: &'static str,
    /// The units of the limit described, 1 for a throttle; null when no limit applies.
    #[schema(required)]
    limit: Option<u64>,
    /// The units that can be taken right after this decision; null when no limit applies.
    #[schema(required)]
    remaining: Option<u64>,
    /// The time to wait before the next attempt, 0 when granted; null when no time is known.
    #[schema(required)]
    pub(crate) retry_after: Option<f64>,
    /// The time until all units are available again; null when no time is known.
    #[schema(required)]
    reset_after: Option<f64>,
    /// Why the call was refused or queued; null when granted.
    #[schema(required)]
    reason: Option<&'static str>,
    /// The reason that a call would have had which only the mode `shadow` granted.
    #[schema(required)]
    would_refuse: Option<&'static str>,
    /// The label of the limit described.
    #[schema(required)]
    label: Option<String>,
    /// Of several limiters the one that is described.
    #[schema(required)]
    limiter: Option<String>,
    /// The store's time of the decision in microseconds.
    at_us: u64,
    /// The id with which any process can correct or release the grant.
    #[schema(required)]
    permit: Option<String>,
    /// How long the lease lasts.
    #[schema(required)]
    lease: Option<f64>,
    /// A number that rises with every lease of the limiter.
    #[schema(required)]
    fencing_token: Option<u64>,
    /// The number of the ticket in the queue.
    #[schema(required)]
    ticket: Option<u64>,
    /// The number of tickets ahead.
    #[schema(required)]
    position: Option<u64>,
    /// The time until the call can be granted if all tickets ahead are; null when unknown.
    #[schema(required)]
    ready_after: Option<f64>,
    /// Whether the server decided alone because the store could not.
    degraded: bool,
    /// Whether the estimate was above the capacity of a limit and was lowered to it.
    is_lowered: bool,
    /// Each limit after this decision, if the call asked for them.
    pub(crate) limits: Vec<LimitBody>,
}

/// One limit after a decision, by itself.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LimitBody {
    /// Of several limiters the one that has the limit.
    #[schema(required)]
    limiter: Option<String>,
    /// The label.
    label: String,
    /// The units of the limit, 1 for a throttle.
    limit: u64,
    /// The interval, the time to drain or refill fully, the duration of a lease, or the longest period of a quota.
    interval: f64,
    /// The units that can be taken right after the decision.
    remaining: u64,
    /// The time for which this limit holds the call up; null when no time is known.
    #[schema(required)]
    retry_after: Option<f64>,
    /// The time until all units are available again; null when no time is known.
    #[schema(required)]
    reset_after: Option<f64>,
}

impl From<&Decision> for DecisionBody {
    fn from(decision: &Decision) -> Self {
        let ticket = decision.ticket;
        Self {
            allowed: decision.allowed(),
            status: decision.status.name(),
            limit: decision.limit,
            remaining: decision.remaining,
            retry_after: decision.retry_after.map(seconds),
            reset_after: decision.reset_after.map(seconds),
            reason: decision.reason.map(paddlegate::Reason::name),
            would_refuse: decision.would_refuse.map(paddlegate::Reason::name),
            label: decision.label.as_ref().map(ToString::to_string),
            limiter: decision.limiter.clone(),
            at_us: decision.at.0,
            permit: decision.permit.clone(),
            lease: decision.lease.map(seconds),
            fencing_token: decision.fencing_token,
            ticket: ticket.map(|ticket| ticket.number),
            position: ticket.map(|ticket| ticket.position),
            ready_after: ticket.and_then(|ticket| ticket.ready_after).map(seconds),
            degraded: decision.degraded,
            is_lowered: decision.is_lowered,
            limits: decision.limits.iter().map(LimitBody::from).collect(),
        }
    }
}

impl From<&DecisionLimit> for LimitBody {
    fn from(limit: &DecisionLimit) -> Self {
        Self {
            limiter: limit.limiter.clone(),
            label: limit.label.to_string(),
            limit: limit.limit,
            interval: seconds(limit.interval),
            remaining: limit.remaining,
            retry_after: limit.retry_after.map(seconds),
            reset_after: limit.reset_after.map(seconds),
        }
    }
}
