//! `inspect`: what a limiter contains.

use clap::Args;
use paddlegate::{AdminCommand, Inspection, Kind, Limiter, MAX_REFUSED_KEYS, Page, RuntimeState, Statistics};

use super::store::{Store, failure};
use super::target::Target;
use super::{change, json, pretty, shown};
use crate::failure::Failure;
use crate::human::{count, plain, span};
use crate::print;
use crate::table::Table;

/// The arguments of `inspect`.
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    #[command(flatten)]
    target: Target,
    /// How many leases and tickets are shown, at most 250; 0 only counts. Of a keyed limiter without --key, how many of the most
    /// refused keys, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 20)]
    count: u64,
    /// How many leases and tickets before those, at most 100000
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    #[command(flatten)]
    store: Store,
}

/// Prints what a limiter contains; takes and changes nothing.
pub(crate) fn run(order: &Inspect) -> Result<(), Failure> {
    let failed = |error| failure(&error);
    let limiter = order.target.find(&order.store.open()?)?;
    if limiter.is_keyed() && limiter.key().is_none() {
        return all_keys(&limiter, order);
    }
    let page = Page { offset: order.offset, count: order.count };
    let found = limiter.inspect(page).map_err(failed)?;
    let state = limiter.admin(AdminCommand::Get).map_err(failed)?;
    // Those of a key are not kept.
    let statistics = if limiter.key().is_none() && limiter.has_statistics() {
        Some(limiter.statistics().map_err(failed)?)
    } else {
        None
    };
    if order.store.json {
        let mut value = json::inspection(&limiter, &found, &state);
        value["statistics"] = statistics.as_ref().map(json::statistics).into();
        return print(&pretty(&value));
    }
    let mut text = head(&limiter, &found, &state) + &limits(&found);
    if let Some(statistics) = &statistics {
        text += &counters(statistics);
    }
    print(&(text + &leases(&found) + &tickets(&found)))
}

/// Prints what all keys of a keyed limiter have in common: the counters, and which keys are refused most.
fn all_keys(limiter: &Limiter, order: &Inspect) -> Result<(), Failure> {
    let failed = |error| failure(&error);
    let statistics = limiter.statistics().map_err(failed)?;
    let keys = limiter.most_refused(order.count.clamp(1, MAX_REFUSED_KEYS)).map_err(failed)?;
    if order.store.json {
        return print(&pretty(&json::all_keys(limiter, &statistics, &keys)));
    }
    let mut text = format!("{}\na state for each key; see one with --key\n", plain(&change::title(limiter)));
    text += &counters(&statistics);
    if !keys.is_empty() {
        let mut table = Table::default().cut("MOST REFUSED KEY", 24).number("IN THIS HOUR AND THE LAST");
        for found in keys {
            table.row([found.key, count(found.refused)]);
        }
        text.extend(["\n", &table.show()]);
    }
    print(&text)
}

fn head(limiter: &Limiter, found: &Inspection, state: &RuntimeState) -> String {
    let mut lines = vec![plain(&change::title(limiter))];
    lines.extend(change::in_force(state));
    if state.mode.is_none() && found.mode != paddlegate::Mode::Enforce {
        lines.push(format!("mode {}", found.mode.name()));
    }
    lines.join("\n") + "\n"
}

fn limits(found: &Inspection) -> String {
    if found.limits.is_empty() {
        return String::new();
    }
    let mut table = Table::default().cut("LIMIT", 12).text("KIND").number("NUMBERS").text("SOURCE");
    table = table.number("TAKEN").number("LEFT").number("NEXT IN").number("ALL IN");
    for limit in &found.limits {
        table.row([
            limit.label.to_string(),
            limit.kind.name().to_owned(),
            match limit.kind {
                Kind::Concurrency => format!("{} for {}", count(limit.limit), span(limit.interval.0)),
                kind => shown::of_kind(kind, limit.limit, limit.interval.0),
            },
            limit.source.name().to_owned(),
            count(limit.taken),
            count(limit.remaining),
            limit.next_after.map_or("unknown".to_owned(), |after| span(after.0)),
            span(limit.reset_after.0),
        ]);
    }
    format!("\n{}", table.show())
}

fn counters(all: &Statistics) -> String {
    let mut parts = vec![format!("granted {}", count(all.granted)), format!("refused {}", count(all.refused))];
    let rare = [
        ("in shadow", all.shadow_refused),
        ("degraded", all.degraded),
        ("errors", all.errors),
        ("waited", all.waited),
        ("near a limit", all.near_limit),
        ("units", all.units),
        ("corrections", all.corrections),
        ("overages", all.overages),
        ("reclaimed", all.reclaimed),
        ("lapsed", all.lapsed),
    ];
    parts.extend(
        rare.iter().filter(|(_, number)| *number > 0).map(|(name, number)| format!("{name} {}", count(*number))),
    );
    let mut text = format!("\n{}\n", parts.join(", "));
    if !all.refused_by.is_empty() {
        let by = all.refused_by.iter().map(|(label, number)| format!("{label} {}", count(*number)));
        text.extend(["refused by ", &by.collect::<Vec<_>>().join(", "), "\n"]);
    }
    text
}

fn leases(found: &Inspection) -> String {
    if found.lease_count == 0 {
        return String::new();
    }
    let mut table = Table::default().cut("LEASE", 24).number("HELD FOR").number("ENDS IN").number("TOKEN");
    for lease in &found.leases {
        let held = lease.held_for.map_or("unknown".to_owned(), |held| span(held.0));
        let token = lease.fencing_token.map_or("unknown".to_owned(), |token| token.to_string());
        table.row([lease.id.clone(), held, span(lease.ends_in.0), token]);
    }
    let table = if found.leases.is_empty() { String::new() } else { table.show() };
    format!("\n{table}{}\n", shown_of(found.leases.len(), found.lease_count, "leases"))
}

fn tickets(found: &Inspection) -> String {
    if found.ticket_count == 0 {
        return String::new();
    }
    let mut table = Table::default().cut("TICKET", 24).number("PRIORITY").cut("SHARE", 8).number("WAITED").text("TURN");
    for ticket in &found.tickets {
        let turn = if ticket.ready { "now" } else { "later" };
        let share = ticket.share.clone().unwrap_or_default();
        table.row([ticket.id.clone(), ticket.priority.to_string(), share, span(ticket.waited.0), turn.to_owned()]);
    }
    let table = if found.tickets.is_empty() { String::new() } else { table.show() };
    format!("\n{table}{}\n", shown_of(found.tickets.len(), found.ticket_count, "tickets"))
}

fn shown_of(shown: usize, all: u64, what: &str) -> String {
    if shown as u64 == all {
        format!("{what} {}", count(all))
    } else {
        format!("{what} {}, {shown} of them shown", count(all))
    }
}
