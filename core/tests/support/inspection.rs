//! Writes an inspection in the form that the vectors compare.

use paddlegate::{InspectedLimit, Inspection, LeaseInfo, TicketInfo};
use serde_json::{Value, json};

pub fn inspection_text(inspection: &Inspection) -> String {
    let span = |span: Option<paddlegate::Micros>| span.map(|span| span.0);
    let text = json!({
        "at_us": inspection.at.0,
        "limits": inspection.limits.iter().map(limit).collect::<Value>(),
        "paused_for_us": span(inspection.paused_for),
        "blocked_for_us": span(inspection.blocked_for),
        "mode": inspection.mode.name(),
        "leases": inspection.leases.iter().map(lease).collect::<Value>(),
        "lease_count": inspection.lease_count,
        "tickets": inspection.tickets.iter().map(ticket).collect::<Value>(),
        "ticket_count": inspection.ticket_count,
    });
    text.to_string()
}

pub fn tickets_text(tickets: &[TicketInfo]) -> String {
    tickets.iter().map(ticket).collect::<Value>().to_string()
}

fn limit(limit: &InspectedLimit) -> Value {
    json!({
        "label": limit.label.to_string(),
        "kind": limit.kind.name(),
        "limit": limit.limit,
        "interval_us": limit.interval.0,
        "source": limit.source.name(),
        "taken": limit.taken,
        "remaining": limit.remaining,
        "next_after_us": limit.next_after.map(|span| span.0),
        "reset_after_us": limit.reset_after.0,
    })
}

fn lease(lease: &LeaseInfo) -> Value {
    json!({
        "id": lease.id,
        "held_for_us": lease.held_for.map(|span| span.0),
        "ends_in_us": lease.ends_in.0,
        "fence": lease.fencing_token,
    })
}

fn ticket(ticket: &TicketInfo) -> Value {
    json!({
        "id": ticket.id,
        "priority": ticket.priority,
        "share": ticket.share,
        "waited_us": ticket.waited.0,
        "ready": ticket.ready,
    })
}
