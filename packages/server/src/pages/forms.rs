//! The forms of a limiter's page. Each has a reason, and a word that only the page knows.

use axum::Router;
use axum::extract::{Form, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use paddlegate::{AdminRequest, Deadline, LimitNumbers, Micros, Mode, period};
use serde::Deserialize;

use super::effect::{Wanted, show_effect};
use super::{detail, show};
use crate::access::Access;
use crate::app::App;
use crate::audit::check_reason;
use crate::body;
use crate::problem::Problem;
use crate::routes::changes::{Change, renamed};

/// The fields of all forms.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Fields {
    csrf: String,
    reason: String,
    expires_in: Option<String>,
    label: Option<String>,
    limit: Option<String>,
    /// Empty for a limiter without one.
    group: Option<String>,
    key: Option<String>,
    sure: Option<String>,
    /// Whether the effect was shown.
    confirmed: Option<String>,
}

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new().route("/ui/limiters/{name}/{change}", post(change))
}

async fn change(
    State(app): State<App>,
    access: Access,
    Path((name, change)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let fields = Form::<Fields>::from_request(body::buffered(request, &app).await?, &app).await;
    let Form(fields) = fields.map_err(|error| Problem::invalid("form", error.body_text()))?;
    if fields.csrf.is_empty() || fields.csrf != app.csrf(access.who()) {
        let detail = "the form is not of this page, or the server was started again; load the page again";
        return Err(Problem::new(StatusCode::FORBIDDEN, "cross_site", detail));
    }
    let group = fields.group.as_deref();
    let key = fields.key.as_deref().filter(|key| !key.is_empty());
    let done = match read(&change, &fields) {
        Ok(request) if fields.confirmed.is_none() => {
            let sent = fields.sent();
            let wanted = Wanted { name: &name, group, key, change: &change, request: request.as_ref(), fields: sent };
            return show_effect(&app, &access, wanted).await;
        }
        Ok(request) => apply(&app, &access, &name, (group, key), request, fields.reason.trim()).await,
        Err(problem) => Err(problem),
    };
    match done {
        Ok(()) => {
            let address = show::address(&name) + &show::query(group, key);
            Ok(Redirect::to(&address).into_response())
        }
        Err(problem) if problem.status == 400 => {
            detail::show_limiter(&app, &access, &name, (group, key), Some(&problem)).await
        }
        Err(problem) => Err(problem),
    }
}

impl Fields {
    /// Returns the fields that were sent, for a form that sends them again.
    fn sent(&self) -> Vec<(&'static str, String)> {
        let more = [
            ("expires_in", &self.expires_in),
            ("label", &self.label),
            ("limit", &self.limit),
            ("group", &self.group),
            ("key", &self.key),
            ("sure", &self.sure),
        ];
        let more = more.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        [("csrf", self.csrf.clone()), ("reason", self.reason.trim().to_owned())].into_iter().chain(more).collect()
    }
}

/// Returns the change that a form asks for; `None` for a reset.
fn read(change: &str, fields: &Fields) -> Result<Option<AdminRequest>, Problem> {
    if fields.reason.trim().is_empty() {
        return Err(Problem::invalid("reason", "is missing; say why, for those who read the changes"));
    }
    check_reason(Some(&fields.reason))?;
    let expires = || Ok::<_, Problem>(Deadline::After(span(fields.expires_in.as_deref().unwrap_or_default())?));
    Ok(match change {
        "pause" => Some(AdminRequest::Pause(expires()?)),
        "resume" => Some(AdminRequest::Resume),
        "override" => {
            let amount = fields.limit.as_deref().unwrap_or_default().trim().parse();
            let amount = amount.map_err(|_| Problem::invalid("limit", "must be a whole number of units"))?;
            let numbers = LimitNumbers { amount: Some(amount), ..LimitNumbers::default() };
            Some(AdminRequest::Override { label: fields.label.clone(), numbers, expires: Some(expires()?) })
        }
        "restore" => Some(AdminRequest::Restore(None)),
        "shadow" => Some(AdminRequest::OverrideMode { mode: Mode::Shadow, expires: Some(expires()?) }),
        "reset" if fields.sure.as_deref() == Some("yes") => None,
        "reset" => return Err(Problem::invalid("sure", "is missing; tick the box to forget all that was taken")),
        _ => return Err(Problem::not_found("no such change")),
    })
}

async fn apply(
    app: &App,
    access: &Access,
    name: &str,
    (group, key): (Option<&str>, Option<&str>),
    request: Option<AdminRequest>,
    reason: &str,
) -> Result<(), Problem> {
    let headers = HeaderMap::new();
    let made = Change { app, access, name, group, key, headers: &headers, reason: Some(reason) };
    let done = match request {
        Some(request) => made.run(request).await,
        None => made.reset().await,
    };
    done.map(|_| ()).map_err(|problem| renamed(problem, "for", "expires_in"))
}

fn span(text: &str) -> Result<Micros, Problem> {
    let text = text.trim();
    let seconds = text.parse().ok().and_then(|seconds| Micros::from_seconds("expires_in", seconds).ok());
    seconds
        .filter(|span| span.0 > 0)
        .map_or_else(|| period::period(text), Ok)
        .map_err(|error| Problem::invalid("expires_in", error.message()))
}
