//! Limiters as JSON, with the members that the server has. Times are seconds.

use paddlegate::{Inspection, Limit, Limiter, LimiterInfo, Micros, RefusedKey, RuntimeState, Statistics};
use serde_json::{Map, Value, json};

/// Returns the seconds of a time; exact to the microsecond.
#[allow(clippy::cast_precision_loss, reason = "times are below 2^53 microseconds")]
pub(crate) fn seconds(micros: Micros) -> f64 {
    micros.0 as f64 / 1e6
}

fn span(micros: Option<Micros>) -> Option<f64> {
    micros.map(seconds)
}

pub(crate) fn listed(info: &LimiterInfo) -> Value {
    let limit = |limit: &Limit| {
        let (label, interval) = (limit.label().to_string(), seconds(limit.interval()));
        json!({ "label": label, "kind": limit.kind().name(), "amount": limit.amount(), "interval": interval })
    };
    json!({
        "name": info.name,
        "group": info.group,
        "keyed": info.keyed,
        "mode": info.mode.name(),
        "limits": info.limits.iter().map(limit).collect::<Vec<_>>(),
        "last_used": seconds(info.last_used),
        "ttl": seconds(info.ttl),
    })
}

pub(crate) fn inspection(limiter: &Limiter, found: &Inspection, state: &RuntimeState) -> Value {
    let limit = |limit: &paddlegate::InspectedLimit| {
        json!({
            "label": limit.label.to_string(),
            "kind": limit.kind.name(),
            "limit": limit.limit,
            "interval": seconds(limit.interval),
            "source": limit.source.name(),
            "taken": limit.taken,
            "remaining": limit.remaining,
            "next_after": span(limit.next_after),
            "reset_after": seconds(limit.reset_after),
        })
    };
    let lease = |lease: &paddlegate::LeaseInfo| {
        json!({
            "id": lease.id,
            "held_for": span(lease.held_for),
            "ends_in": seconds(lease.ends_in),
            "fencing_token": lease.fencing_token,
        })
    };
    let ticket = |ticket: &paddlegate::TicketInfo| {
        json!({
            "id": ticket.id,
            "priority": ticket.priority,
            "share": ticket.share,
            "waited": seconds(ticket.waited),
            "ready": ticket.ready,
        })
    };
    json!({
        "name": limiter.name(),
        "group": limiter.group(),
        "key": limiter.key(),
        "at_us": found.at.0,
        "limits": found.limits.iter().map(limit).collect::<Vec<_>>(),
        "paused_for": span(found.paused_for),
        "blocked_for": span(found.blocked_for),
        "mode": found.mode.name(),
        "leases": found.leases.iter().map(lease).collect::<Vec<_>>(),
        "lease_count": found.lease_count,
        "tickets": found.tickets.iter().map(ticket).collect::<Vec<_>>(),
        "ticket_count": found.ticket_count,
        "state": runtime_state(state),
    })
}

/// Returns what all keys of a keyed limiter have in common.
pub(crate) fn all_keys(limiter: &Limiter, all: &Statistics, keys: &[RefusedKey]) -> Value {
    let key = |found: &RefusedKey| json!({ "key": found.key, "refused": found.refused });
    json!({
        "name": limiter.name(),
        "group": limiter.group(),
        "key": null,
        "statistics": statistics(all),
        "most_refused": keys.iter().map(key).collect::<Vec<_>>(),
    })
}

pub(crate) fn runtime_state(state: &RuntimeState) -> Value {
    let by_label = |limits: &[Limit]| {
        let numbers = |limit: &Limit| {
            let interval = seconds(limit.interval());
            json!({ "kind": limit.kind().name(), "amount": limit.amount(), "interval": interval })
        };
        limits.iter().map(|limit| (limit.label().to_string(), numbers(limit))).collect::<Map<_, _>>()
    };
    json!({
        "version": state.version,
        "in_use": state.in_use,
        "paused_for": span(state.paused_for),
        "blocked_for": span(state.blocked_for),
        "mode": state.mode.map(paddlegate::Mode::name),
        "overrides": by_label(&state.overrides),
        "expires_in": span(state.expires_after),
        "learned": by_label(&state.learned),
    })
}

pub(crate) fn statistics(all: &Statistics) -> Value {
    let refused_by: Map<_, _> = all.refused_by.iter().map(|(label, count)| (label.to_string(), json!(count))).collect();
    json!({
        "granted": all.granted,
        "refused": all.refused,
        "refused_by": refused_by,
        "shadow_refused": all.shadow_refused,
        "waited": all.waited,
        "wait_time": seconds(all.wait_time),
        "units": all.units,
        "corrections": all.corrections,
        "held_time": seconds(all.held_time),
        "overages": all.overages,
        "reclaimed": all.reclaimed,
        "lapsed": all.lapsed,
        "leases": all.leases,
        "tickets": all.tickets,
        "degraded": all.degraded,
        "errors": all.errors,
        "near_limit": all.near_limit,
        "estimated_units": all.estimated_units,
        "last_degraded": span(all.last_degraded),
    })
}
