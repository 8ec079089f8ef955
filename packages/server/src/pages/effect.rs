//! The page that shows the effect of a change before it is made.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use paddlegate::{AdminRequest, Answer, Deadline, Inspection, Limiter, Mode, Operation, Page, RuntimeState};

use super::replay::{self, Recorded};
use super::{page, show};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::{RESET, what};
use crate::problem::Problem;
use crate::routes::limiters::inspected;
use crate::routes::unexpected;

/// A change that is asked for and not made yet.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) group: Option<&'a str>,
    pub(super) key: Option<&'a str>,
    /// The last part of its address.
    pub(super) change: &'a str,
    /// `None` for a reset.
    pub(super) request: Option<&'a AdminRequest>,
    /// The fields of the form, which are sent again with the confirmation.
    pub(super) fields: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "effect.html")]
struct EffectPage {
    name: String,
    back: String,
    action: String,
    what: String,
    reason: String,
    sentences: Vec<String>,
    /// How the effect was estimated, if it was.
    basis: String,
    button: &'static str,
    fields: Vec<(&'static str, String)>,
}

/// Renders the page.
pub(super) async fn show_effect(app: &App, access: &Access, wanted: Wanted<'_>) -> Result<Response, Problem> {
    let Wanted { name, group, key, change, request, mut fields } = wanted;
    access.check(Scope::Operate, name)?;
    let limiter = app.known(name, group, key).await?;
    let (inspection, state) = inspected(&limiter, Page { offset: 0, count: 1 }).await?;
    let mut sentences = match request {
        Some(AdminRequest::Pause(_)) => vec!["Every call is refused, or waits, until the pause ends.".to_owned()],
        None => forgotten(&inspection),
        Some(_) => Vec::new(),
    };
    let mut basis = String::new();
    match request {
        None => {}
        Some(_) if key.is_some() => {
            sentences.push("What is recorded is of all keys together, so there is no estimate for one key.".to_owned());
        }
        Some(request) => basis = estimated(&limiter, &inspection, request, &mut sentences).await?,
    }
    sentences.extend(in_force(&inspection, &state, request));
    let reason = fields.iter().find(|(name, _)| *name == "reason").map(|(_, reason)| reason.clone());
    fields.push(("confirmed", "yes".to_owned()));
    page(
        StatusCode::OK,
        &EffectPage {
            name: name.to_owned(),
            back: show::address(name) + &show::query(group, key),
            action: format!("{}/{change}", show::address(name)),
            what: request.map_or_else(|| RESET.to_owned(), what),
            reason: reason.unwrap_or_default(),
            sentences,
            basis,
            button: button(request),
            fields,
        },
    )
}

fn button(request: Option<&AdminRequest>) -> &'static str {
    match request {
        Some(AdminRequest::Pause(_)) => "Pause now",
        Some(AdminRequest::Resume) => "Resume now",
        Some(AdminRequest::Override { .. }) => "Override now",
        Some(AdminRequest::Restore(_)) => "End overrides now",
        Some(AdminRequest::OverrideMode { .. }) => "Shadow now",
        Some(_) => "Change now",
        None => "Reset now",
    }
}

/// Adds what the simulator says about the calls of the last hour, and returns how it was found.
async fn estimated(
    limiter: &Limiter,
    inspection: &Inspection,
    request: &AdminRequest,
    sentences: &mut Vec<String>,
) -> Result<String, Problem> {
    let recorded = recorded(limiter, inspection).await?;
    let recorded = match request {
        AdminRequest::Pause(Deadline::After(span)) => recorded.last(*span),
        _ => recorded,
    };
    let (calls, span) = (recorded.calls(), show::whole_span(recorded.span()));
    if calls == 0 {
        sentences.push(format!("No call came in the last {span}, so there is nothing to estimate from."));
        return Ok(String::new());
    }
    let came = format!("In the last {span} {calls} calls came, of which {} were refused.", recorded.refused());
    sentences.push(came);
    if calls > replay::MAX_CALLS {
        let most = replay::MAX_CALLS;
        sentences.push(format!(
            "That is more than this page replays: calls_max={most}. `paddlegate record` and `paddlegate plan` do."
        ));
        return Ok(String::new());
    }
    let truly = recorded.recorded_not_granted();
    let now = replay::limits_in_force(limiter, inspection);
    let then = match request {
        AdminRequest::Pause(_) => Some(replay::paused()),
        AdminRequest::Override { label, numbers, .. } => {
            let mut limits = now.clone();
            if let (Some(label), Some(amount)) = (label, numbers.amount) {
                replay::set(&mut limits, label, amount);
            }
            Some(limits)
        }
        AdminRequest::Restore(_) => Some(replay::limits_of_policy(limiter)),
        // Nobody is refused in shadow, and after a pause the limits rule.
        _ => None,
    };
    let replayed = tokio::task::spawn_blocking(move || {
        let before = recorded.not_granted(&now)?;
        let after = then.map(|then| recorded.not_granted(&then)).transpose()?;
        paddlegate::Result::Ok((before, after))
    });
    let doubt = match replayed.await {
        Ok(Ok((before, after))) => {
            sentences.push(told(request, inspection, calls, before, after));
            // Under a limit that was changed in the hour, or whose calls take only some of the limits.
            (before.abs_diff(truly) > calls / 10).then(|| {
                format!(
                    "That is a rough guide: in that time {truly} calls were refused or waited, so the replay of the limits in \
                     force does not match what happened."
                )
            })
        }
        Ok(Err(error)) => {
            sentences.push(format!("The simulator cannot estimate the effect: {}.", error.message()));
            return Ok(String::new());
        }
        Err(_) => return Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the replay has failed")),
    };
    sentences.extend(doubt);
    Ok("An estimate by the simulator from sums per minute: it replays the calls of each minute evenly spread, each with \
        the mean units of its minute, begins with nothing taken, and nobody tries again. Bursts within a minute, and what \
        is taken now, are not in it."
        .to_owned())
}

fn told(request: &AdminRequest, inspection: &Inspection, calls: u64, before: u64, after: Option<u64>) -> String {
    let refuse = "would be refused, or made to wait";
    match (request, after) {
        (AdminRequest::Pause(_), Some(after)) => {
            format!("Paused, {after} of {calls} such calls {refuse}; under the limits in force about {before}.")
        }
        (AdminRequest::Override { label: Some(label), numbers, .. }, Some(after)) => {
            let ruling = inspection.limits.iter().find(|limit| *limit.label == **label);
            let instead = ruling.map(|limit| format!(" instead of {}", limit.limit)).unwrap_or_default();
            let amount = numbers.amount.unwrap_or_default();
            format!(
                "With {amount}{instead} about {after} of {calls} such calls {refuse}; under the limits in force about {before}."
            )
        }
        (_, Some(after)) => {
            format!("About {after} of {calls} such calls {refuse}; under the limits in force about {before}.")
        }
        (AdminRequest::OverrideMode { .. }, None) => {
            format!("In shadow all of them pass: about {before} of {calls} such calls that {refuse} now.")
        }
        (_, None) => format!("Under the limits in force about {before} of {calls} such calls {refuse}."),
    }
}

/// Returns what a reset forgets.
fn forgotten(inspection: &Inspection) -> Vec<String> {
    let limit = |limit: &paddlegate::InspectedLimit| {
        format!("{}: {} of {} taken, then 0.", limit.label, limit.taken, limit.limit)
    };
    let mut sentences: Vec<String> = inspection.limits.iter().map(limit).collect();
    if inspection.lease_count > 0 {
        sentences.push(format!(
            "Leases that are forgotten: {}. Their holders still run, so for a time more may run than the limit says.",
            inspection.lease_count
        ));
    }
    if inspection.ticket_count > 0 {
        sentences.push(format!(
            "Calls that wait: {}. They lose their places and are queued again when they ask.",
            inspection.ticket_count
        ));
    }
    sentences.push("Statistics, history, overrides, a pause and what was learned are forgotten too.".to_owned());
    sentences
}

/// Returns what is in force that a change meets.
fn in_force(inspection: &Inspection, state: &RuntimeState, request: Option<&AdminRequest>) -> Vec<String> {
    let mut sentences = Vec::new();
    match (inspection.paused_for, request) {
        (Some(left), Some(AdminRequest::Pause(_))) => sentences
            .push(format!("It is paused for {} more already; of two pauses the later end holds.", show::span(left))),
        (Some(left), Some(AdminRequest::Resume)) => {
            sentences.push(format!("It is paused for {} more, which ends now.", show::span(left)));
        }
        (Some(left), Some(_)) => sentences.push(format!(
            "It is paused for {} more; until then it refuses every call whatever its limits.",
            show::span(left)
        )),
        (None, Some(AdminRequest::Resume)) if inspection.blocked_for.is_none() => {
            sentences.push("It is not paused now.".to_owned());
        }
        _ => {}
    }
    let is_about_limits = matches!(request, Some(AdminRequest::Override { .. } | AdminRequest::Restore(_)));
    if inspection.mode == Mode::Shadow && is_about_limits {
        sentences.push("It is in shadow: it refuses nobody until that ends.".to_owned());
    }
    if matches!(request, Some(AdminRequest::Restore(_))) && state.overrides.is_empty() {
        sentences.push("It has no override of a limit now.".to_owned());
    }
    sentences
}

/// Reads what was counted of a limiter without its key.
pub(super) async fn recorded(limiter: &Limiter, inspection: &Inspection) -> Result<Recorded, Problem> {
    let history = match limiter.run_async(Operation::History).await? {
        Answer::History(history) => *history,
        other => return Err(unexpected(&other)),
    };
    match limiter.run_async(Operation::Statistics).await? {
        Answer::Statistics(statistics) => Ok(Recorded::new(&history.minutes, &statistics, inspection)),
        other => Err(unexpected(&other)),
    }
}
