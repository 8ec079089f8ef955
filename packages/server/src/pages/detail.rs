//! The page of one limiter.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use paddlegate::{Answer, History, Inspection, Limiter, Operation, Page, RefusedKey, RuntimeState, Statistics};
use serde::Deserialize;

use super::chart::Chart;
use super::replay::{Recorded, limits_in_force};
use super::{degraded, page, scenario, show};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::body::{Name, Query};
use crate::problem::Problem;
use crate::routes::limiters::{MOST_REFUSED, inspected};
use crate::routes::unexpected;
use crate::samples::Sampled;

/// The query of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Look {
    group: Option<String>,
    key: Option<String>,
}

#[derive(Default, Template)]
#[template(path = "detail.html")]
struct DetailPage {
    name: String,
    address: String,
    /// This page again, also behind what a form has answered.
    live_address: String,
    message: String,
    about: String,
    /// When a program decided without the store, in words; empty unless that was lately.
    degraded: String,
    is_keyed: bool,
    /// Empty without one.
    group: String,
    key: String,
    /// The most refused keys of a keyed limiter: the key, its address and how often it was refused.
    refused_keys: Vec<(String, String, String)>,
    is_looked_into: bool,
    may_operate: bool,
    limits: Vec<LimitRow>,
    /// What is in force, each as a sentence with a word for its colour.
    state: Vec<(&'static str, String)>,
    charts: Vec<Chart>,
    /// From when on and by whom something was sampled; empty when nothing was.
    sampled: String,
    counted: Vec<(&'static str, String)>,
    leases: Vec<(String, String, String, String)>,
    lease_count: String,
    tickets: Vec<(String, u8, String, String, &'static str)>,
    ticket_count: String,
    /// When the last waiting call is granted, in words.
    last: String,
    /// The calls of the last hour and the limits as a file for the simulator; empty when there is none.
    scenario_address: String,
    /// The same opened in the simulator; empty when the server has none.
    simulator_address: String,
    /// The fields that every form sends, already escaped.
    hidden: String,
}

/// The page of a name that no limiter has.
#[derive(Template)]
#[template(path = "missing.html")]
struct MissingPage {
    /// The name as a part of an address.
    encoded: String,
    detail: String,
}

/// One limit.
struct LimitRow {
    label: String,
    kind: &'static str,
    limit: String,
    interval: String,
    source: &'static str,
    taken: String,
    remaining: String,
    next: String,
    is_full: bool,
}

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new().route("/ui/limiters/{name}", get(detail))
}

async fn detail(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(look): Query<Look>,
) -> Result<Response, Problem> {
    let key = look.key.filter(|key| !key.is_empty());
    match show_limiter(&app, &access, &name, (look.group.as_deref(), key.as_deref()), None).await {
        Err(problem) if problem.status == 404 => {
            page(StatusCode::NOT_FOUND, &MissingPage { encoded: show::encoded(&name), detail: problem.detail })
        }
        shown => shown,
    }
}

/// Renders the page, with what went wrong with a change.
pub(super) async fn show_limiter(
    app: &App,
    access: &Access,
    name: &str,
    (group, key): (Option<&str>, Option<&str>),
    problem: Option<&Problem>,
) -> Result<Response, Problem> {
    access.check(Scope::Read, name)?;
    let limiter = app.shown(name, group, key.is_some()).await?;
    let group = limiter.group().unwrap_or_default();
    let is_keyed = limiter.is_keyed();
    let mut shown = DetailPage {
        name: name.to_owned(),
        address: show::address(name),
        live_address: show::address(name) + &show::query(Some(group), key),
        is_keyed,
        group: group.to_owned(),
        key: key.unwrap_or_default().to_owned(),
        about: about(&limiter),
        may_operate: access.may(Scope::Operate, name),
        ..DetailPage::default()
    };
    let history = match limiter.run_async(Operation::History).await? {
        Answer::History(history) => *history,
        other => return Err(unexpected(&other)),
    };
    shown.draw(&history, app.samples().of(&limiter, newest_minute(&history)).as_ref());
    let statistics = match limiter.run_async(Operation::Statistics).await? {
        Answer::Statistics(statistics) => *statistics,
        other => return Err(unexpected(&other)),
    };
    shown.counted = counted(&statistics);
    if let Some(ago) = degraded::since(&history) {
        shown.degraded = format!("Degraded: a program decided without the store {} ago.", show::span(ago));
    }
    if is_keyed {
        let of_key = |found: RefusedKey| {
            let address = format!("{}{}", shown.address, show::query(Some(group), Some(&found.key)));
            (found.key, address, show::count(found.refused))
        };
        shown.refused_keys = limiter.most_refused_async(MOST_REFUSED).await?.into_iter().map(of_key).collect();
    }
    if !is_keyed || key.is_some() {
        let one = key.map_or(Ok(limiter.clone()), |key| limiter.with_key(key))?;
        let (inspection, state) = inspected(&one, Page::default()).await?;
        shown.look_into(&inspection, &state);
        let recorded = Recorded::new(&history.minutes, &statistics, &inspection);
        // What is recorded of a keyed limiter is of all keys together.
        let limits = limits_in_force(&one, &inspection);
        shown.last = last(&recorded, &limits, &inspection);
        if let Some(document) = key.is_none().then(|| recorded.scenario(name, &limits)).flatten() {
            shown.scenario_address = format!("{}/scenario.json{}", shown.address, show::query(Some(group), None));
            shown.simulator_address = app.simulator().map(|_| scenario::in_simulator(&document)).unwrap_or_default();
        }
        let csrf = app.csrf(access.who());
        let field =
            |name: &str, value: &str| format!(r#"<input type="hidden" name="{name}" value="{}">"#, attribute(value));
        let key = key.map(|key| field("key", key)).unwrap_or_default();
        shown.hidden = format!("{}{}{key}", field("csrf", &csrf), field("group", group));
    }
    let status = problem.map_or(Ok(StatusCode::OK), |problem| StatusCode::from_u16(problem.status));
    if let Some(problem) = problem {
        let argument = problem.argument.as_ref().map(|argument| format!("{argument} ")).unwrap_or_default();
        shown.message = format!("Nothing was changed: {argument}{}", problem.detail);
    }
    page(status.unwrap_or(StatusCode::BAD_REQUEST), &shown)
}

impl DetailPage {
    fn draw(&mut self, history: &History, sampled: Option<&Sampled>) {
        let spans = [(("the last hour", "minute"), &history.minutes), (("the last two days", "hour"), &history.hours)];
        let [hour, days] = spans.map(|(title, entries)| Chart::new(title, entries));
        self.charts = match sampled {
            Some(sampled) => {
                vec![
                    hour.with_samples(&sampled.limits, &sampled.minutes),
                    days.with_samples(&sampled.limits, &sampled.hours),
                ]
            }
            None => vec![hour, days],
        };
        if let Some(sampled) = sampled {
            self.sampled = show::clock(sampled.since.0 / 1_000_000);
        }
    }

    fn look_into(&mut self, inspection: &Inspection, state: &RuntimeState) {
        self.is_looked_into = true;
        let row = |limit: &paddlegate::InspectedLimit| LimitRow {
            label: limit.label.to_string(),
            kind: limit.kind.name(),
            limit: show::count(limit.limit),
            interval: show::span(limit.interval),
            source: limit.source.name(),
            is_full: limit.remaining == 0,
            taken: show::count(limit.taken),
            remaining: show::count(limit.remaining),
            next: match limit.next_after {
                Some(after) if after.0 == 0 => "now".to_owned(),
                Some(after) => format!("in {}", show::span(after)),
                None => "not known".to_owned(),
            },
        };
        self.limits = inspection.limits.iter().map(row).collect();
        let paused = inspection.paused_for.map(|left| ("paused", format!("Paused for {} more.", show::span(left))));
        let blocked = inspection.blocked_for.map(|left| ("paused", format!("Blocked for {} more.", show::span(left))));
        let mode = (inspection.mode.name(), format!("Mode {}.", inspection.mode.name()));
        let overridden = (!state.overrides.is_empty()).then(|| match state.expires_after {
            Some(left) => ("overridden", format!("Overrides for {} more.", show::span(left))),
            None => ("overridden", "Overrides without an end.".to_owned()),
        });
        self.state = [paused, blocked, overridden, Some(mode)].into_iter().flatten().collect();
        let unknown = || "not known".to_owned();
        self.leases = inspection
            .leases
            .iter()
            .map(|lease| {
                let token = lease.fencing_token.map_or_else(unknown, |token| token.to_string());
                (lease.id.clone(), lease.held_for.map_or_else(unknown, show::span), show::span(lease.ends_in), token)
            })
            .collect();
        self.lease_count = show::count(inspection.lease_count);
        self.tickets = inspection
            .tickets
            .iter()
            .map(|ticket| {
                let share = ticket.share.clone().unwrap_or_default();
                let ready = if ticket.ready { "yes" } else { "no" };
                (ticket.id.clone(), ticket.priority, share, show::span(ticket.waited), ready)
            })
            .collect();
        self.ticket_count = show::count(inspection.ticket_count);
    }
}

/// Returns the number of the last minute of a history.
fn newest_minute(history: &History) -> u64 {
    history.minutes.last().map_or(0, |entry| entry.start.0 / 60_000_000)
}

/// Returns when the last waiting call is granted, if that can be estimated.
fn last(recorded: &Recorded, limits: &serde_json::Value, inspection: &Inspection) -> String {
    let count = show::count(inspection.ticket_count);
    let Ok(Some(after)) = recorded.last_granted(limits, inspection) else { return String::new() };
    let at = show::clock(inspection.at.0.saturating_add(after.0) / 1_000_000);
    format!(
        "The last of {count} waiting ends at about {at} UTC, in {}: an estimate by the simulator, if each call takes and \
         holds what calls did on average and nobody passes them by.",
        show::span(after)
    )
}

fn about(limiter: &Limiter) -> String {
    let group = limiter.group().map(|group| format!("Of the group {group}."));
    let keyed = limiter.is_keyed().then(|| {
        let limits = limiter.policy().limits().iter().map(show::limit).collect::<Vec<_>>().join(", ");
        format!("Each key has {limits}; all keys are counted together.")
    });
    [group, keyed].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn counted(all: &Statistics) -> Vec<(&'static str, String)> {
    vec![
        ("Granted", show::count(all.granted)),
        ("of them after a wait", show::count(all.waited)),
        ("of them near a limit", show::count(all.near_limit)),
        ("Refused", show::count(all.refused)),
        ("Refused in shadow", show::count(all.shadow_refused)),
        ("Decided without the store", show::count(all.degraded)),
        ("Failed without the store", show::count(all.errors)),
        ("Units", show::count(all.units)),
        ("Units before corrections", show::count(all.estimated_units)),
        ("Corrections", show::count(all.corrections)),
        ("Waited in all", show::span(all.wait_time)),
        ("Held in all", show::span(all.held_time)),
        ("Leases that ended without a release", show::count(all.reclaimed)),
        ("Leases released too late", show::count(all.overages)),
        ("Tickets that lapsed", show::count(all.lapsed)),
    ]
}

/// Escapes a text for an attribute in quotes.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
