//! Converts an inspection to Python objects. Times in seconds.

use paddlegate::{InspectedLimit, LeaseInfo, TicketInfo};

use crate::decision::seconds;

/// Label, kind, limit, interval, source, taken, remaining, next after, reset after.
type Limit = (String, &'static str, u64, f64, &'static str, u64, u64, Option<f64>, f64);

/// Id, held for, ends in, fencing token.
type Lease = (String, Option<f64>, f64, Option<u64>);

/// Id, priority, share, waited, ready.
type Ticket = (String, u8, Option<String>, f64, bool);

/// The fields of `paddlegate::Inspection` in order.
type Inspection = (u64, Vec<Limit>, Option<f64>, Option<f64>, &'static str, Vec<Lease>, u64, Vec<Ticket>, u64);

pub(crate) fn inspection(it: paddlegate::Inspection) -> Inspection {
    (
        it.at.0,
        it.limits.iter().map(limit).collect(),
        it.paused_for.map(seconds),
        it.blocked_for.map(seconds),
        it.mode.name(),
        it.leases.into_iter().map(lease).collect(),
        it.lease_count,
        it.tickets.into_iter().map(ticket).collect(),
        it.ticket_count,
    )
}

fn limit(it: &InspectedLimit) -> Limit {
    (
        it.label.to_string(),
        it.kind.name(),
        it.limit,
        seconds(it.interval),
        it.source.name(),
        it.taken,
        it.remaining,
        it.next_after.map(seconds),
        seconds(it.reset_after),
    )
}

fn lease(it: LeaseInfo) -> Lease {
    (it.id, it.held_for.map(seconds), seconds(it.ends_in), it.fencing_token)
}

fn ticket(it: TicketInfo) -> Ticket {
    (it.id, it.priority, it.share, seconds(it.waited), it.ready)
}
