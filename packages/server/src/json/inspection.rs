//! `InspectionBody`: what a limiter contains at one moment.

use paddlegate::{InspectedLimit, Inspection, LeaseInfo, Limiter, RuntimeState, TicketInfo};
use serde::Serialize;
use utoipa::ToSchema;

use super::{RuntimeStateBody, seconds};

/// The limits, leases and tickets of a limiter, and what is in force. Times are seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InspectionBody {
    /// The name.
    name: String,
    /// The group; null without one.
    #[schema(required)]
    group: Option<String>,
    /// The key; null of a limiter that is not keyed.
    #[schema(required)]
    key: Option<String>,
    /// The time of the store, in microseconds since 1970.
    at_us: u64,
    /// The limits, each by itself.
    limits: Vec<InspectedLimitBody>,
    /// The time until the pause ends; null without a pause.
    #[schema(required)]
    paused_for: Option<f64>,
    /// The time until the block ends; null without a block.
    #[schema(required)]
    blocked_for: Option<f64>,
    /// The mode that rules.
    mode: &'static str,
    /// A page of the leases; the first to end first.
    leases: Vec<LeaseBody>,
    /// The number of all leases.
    lease_count: u64,
    /// A page of the tickets, in the order of the queue.
    tickets: Vec<TicketBody>,
    /// The number of all tickets.
    ticket_count: u64,
    /// The overrides and what was learned.
    state: RuntimeStateBody,
}

/// One limit of an inspection.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InspectedLimitBody {
    /// The label.
    label: String,
    /// The kind.
    kind: &'static str,
    /// The amount that rules.
    limit: u64,
    /// The interval that rules.
    interval: f64,
    /// Whose numbers these are: `policy`, `override` or `learned`.
    source: &'static str,
    /// The units, starts or leases that count now.
    taken: u64,
    /// The units that are left.
    remaining: u64,
    /// The time until this limit passes one more unit; null when it is unknown.
    #[schema(required)]
    next_after: Option<f64>,
    /// The time until all of it is available again.
    reset_after: f64,
}

/// One lease of an inspection.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LeaseBody {
    /// The id of the call that holds it.
    id: String,
    /// The time since the grant; null when the store no longer knows it.
    #[schema(required)]
    held_for: Option<f64>,
    /// The time until it ends.
    ends_in: f64,
    /// The fencing token; null when the store no longer knows it.
    #[schema(required)]
    fencing_token: Option<u64>,
}

/// One ticket of an inspection.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TicketBody {
    /// The id of the call that waits.
    id: String,
    /// The priority, from 0 to 9.
    priority: u8,
    /// The share; null without one.
    #[schema(required)]
    share: Option<String>,
    /// The time since it joined the queue.
    waited: f64,
    /// Whether its call may retry now.
    ready: bool,
}

impl InspectionBody {
    pub(crate) fn new(limiter: &Limiter, inspection: &Inspection, state: &RuntimeState) -> Self {
        Self {
            name: limiter.name().to_owned(),
            group: limiter.group().map(str::to_owned),
            key: limiter.key().map(str::to_owned),
            at_us: inspection.at.0,
            limits: inspection.limits.iter().map(InspectedLimitBody::from).collect(),
            paused_for: inspection.paused_for.map(seconds),
            blocked_for: inspection.blocked_for.map(seconds),
            mode: inspection.mode.name(),
            leases: inspection.leases.iter().map(LeaseBody::from).collect(),
            lease_count: inspection.lease_count,
            tickets: inspection.tickets.iter().map(TicketBody::from).collect(),
            ticket_count: inspection.ticket_count,
            state: RuntimeStateBody::from(state),
        }
    }
}

impl From<&InspectedLimit> for InspectedLimitBody {
    fn from(limit: &InspectedLimit) -> Self {
        Self {
            label: limit.label.to_string(),
            kind: limit.kind.name(),
            limit: limit.limit,
            interval: seconds(limit.interval),
            source: limit.source.name(),
            taken: limit.taken,
            remaining: limit.remaining,
            next_after: limit.next_after.map(seconds),
            reset_after: seconds(limit.reset_after),
        }
    }
}

impl From<&LeaseInfo> for LeaseBody {
    fn from(lease: &LeaseInfo) -> Self {
        Self {
            id: lease.id.clone(),
            held_for: lease.held_for.map(seconds),
            ends_in: seconds(lease.ends_in),
            fencing_token: lease.fencing_token,
        }
    }
}

impl From<&TicketInfo> for TicketBody {
    fn from(ticket: &TicketInfo) -> Self {
        Self {
            id: ticket.id.clone(),
            priority: ticket.priority,
            share: ticket.share.clone(),
            waited: seconds(ticket.waited),
            ready: ticket.ready,
        }
    }
}
