//! An inspection as objects for JavaScript. Times in milliseconds.

use napi_derive::napi;
use paddlegate::{InspectedLimit as CoreLimit, LeaseInfo as CoreLease, TicketInfo as CoreTicket};

use crate::convert::{number, to_millis};

/// What a limiter contains.
#[napi(object, object_from_js = false)]
pub struct Inspection {
    pub at_us: f64,
    pub limits: Vec<InspectedLimit>,
    pub paused_for_ms: Option<f64>,
    pub blocked_for_ms: Option<f64>,
    pub mode: &'static str,
    pub leases: Vec<LeaseInfo>,
    pub lease_count: f64,
    pub tickets: Vec<TicketInfo>,
    pub ticket_count: f64,
}

/// One limit.
#[napi(object, object_from_js = false)]
pub struct InspectedLimit {
    pub label: String,
    pub kind: &'static str,
    pub limit: f64,
    pub interval_ms: f64,
    pub source: &'static str,
    pub taken: f64,
    pub remaining: f64,
    pub next_after_ms: Option<f64>,
    pub reset_after_ms: f64,
}

/// One lease.
#[napi(object, object_from_js = false)]
pub struct LeaseInfo {
    pub id: String,
    pub held_for_ms: Option<f64>,
    pub ends_in_ms: f64,
    pub fencing_token: Option<f64>,
}

/// One ticket.
#[napi(object, object_from_js = false)]
pub struct TicketInfo {
    pub id: String,
    pub priority: u8,
    pub share: Option<String>,
    pub waited_ms: f64,
    pub ready: bool,
}

impl From<paddlegate::Inspection> for Inspection {
    fn from(it: paddlegate::Inspection) -> Self {
        Self {
            at_us: number(it.at.0),
            limits: it.limits.iter().map(InspectedLimit::from).collect(),
            paused_for_ms: it.paused_for.map(to_millis),
            blocked_for_ms: it.blocked_for.map(to_millis),
            mode: it.mode.name(),
            leases: it.leases.into_iter().map(LeaseInfo::from).collect(),
            lease_count: number(it.lease_count),
            tickets: it.tickets.into_iter().map(TicketInfo::from).collect(),
            ticket_count: number(it.ticket_count),
        }
    }
}

impl From<&CoreLimit> for InspectedLimit {
    fn from(it: &CoreLimit) -> Self {
        Self {
            label: it.label.to_string(),
            kind: it.kind.name(),
            limit: number(it.limit),
            interval_ms: to_millis(it.interval),
            source: it.source.name(),
            taken: number(it.taken),
            remaining: number(it.remaining),
            next_after_ms: it.next_after.map(to_millis),
            reset_after_ms: to_millis(it.reset_after),
        }
    }
}

impl From<CoreLease> for LeaseInfo {
    fn from(it: CoreLease) -> Self {
        Self {
            id: it.id,
            held_for_ms: it.held_for.map(to_millis),
            ends_in_ms: to_millis(it.ends_in),
            fencing_token: it.fencing_token.map(number),
        }
    }
}

impl From<CoreTicket> for TicketInfo {
    fn from(it: CoreTicket) -> Self {
        Self { id: it.id, priority: it.priority, share: it.share, waited_ms: to_millis(it.waited), ready: it.ready }
    }
}
