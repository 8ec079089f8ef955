//! The forms of a limiter's page. Each has a reason, and a word that only the page knows.

use axum::Router;
use axum::extract::{Form, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use paddlegate::{AdminRequest, Deadline, LimitNumbers, Micros, Mode, period};
use serde::Deserialize;

use super::{detail, show};
use crate::access::Access;
use crate::app::App;
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
    key: Option<String>,
    sure: Option<String>,
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
    let fields = Form::<Fields>::from_request(request, &app).await;
    let Form(fields) = fields.map_err(|error| Problem::invalid("form", error.body_text()))?;
    if fields.csrf.is_empty() || fields.csrf != app.csrf(access.who()) {
        let detail = "the form is not of this page, or the server was started again; load the page again";
        return Err(Problem::new(StatusCode::FORBIDDEN, "cross_site", detail));
    }
    let key = fields.key.as_deref().filter(|key| !key.is_empty());
    match apply(&app, &access, &name, &change, key, &fields).await {
        Ok(()) => {
            let key = key.map(|key| format!("?key={}", show::encoded(key))).unwrap_or_default();
            Ok(Redirect::to(&format!("{}{key}", show::address(&name))).into_response())
        }
        Err(problem) if problem.status == 400 => detail::show_limiter(&app, &access, &name, key, Some(&problem)).await,
        Err(problem) => Err(problem),
    }
}

async fn apply(
    app: &App,
    access: &Access,
    name: &str,
    change: &str,
    key: Option<&str>,
    fields: &Fields,
) -> Result<(), Problem> {
    if fields.reason.trim().is_empty() {
        return Err(Problem::invalid("reason", "is missing; say why, for those who read the changes"));
    }
    let expires = || Ok::<_, Problem>(Deadline::After(span(fields.expires_in.as_deref().unwrap_or_default())?));
    let request = match change {
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
    };
    let (headers, reason) = (HeaderMap::new(), Some(fields.reason.trim()));
    let made = Change { app, access, name, key, headers: &headers, reason };
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
