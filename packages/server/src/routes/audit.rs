//! The log of changes, and the stream of events.

use std::convert::Infallible;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::{AuditEntry, AuditId};
use crate::body::Query;
use crate::problem::Problem;

/// The query of the log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Log {
    /// The id of the last change that the caller knows. Default: from the oldest on.
    #[param(pattern = "^[0-9]{1,15}(-[0-9]{1,15})?$")]
    after: Option<String>,
}

/// Changes, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct LogBody {
    /// The changes.
    entries: Vec<AuditEntry>,
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(log)).route("/v1/events", axum::routing::get(events))
}

/// Lists who changed what, and why: about the last thousand changes. In Redis they are those of all servers on it.
#[utoipa::path(get, operation_id = "audit", path = "/v1/audit", tag = "look", params(Log), responses((status = 200, body = LogBody)))]
async fn log(
    State(app): State<App>,
    access: Access,
    Query(Log { after }): Query<Log>,
) -> Result<Json<LogBody>, Problem> {
    let after = after.as_deref().map(str::parse).transpose();
    let after = after.map_err(|()| Problem::invalid("after", "must be the id of a change"))?;
    let mut entries = app.audit().after(after.unwrap_or_default()).await?;
    entries.retain(|entry| access.may(Scope::Read, &entry.text.limiter));
    Ok(Json(LogBody { entries }))
}

/// Streams the changes as they are made, also those of other servers; `Last-Event-ID` continues after that one.
async fn events(
    State(app): State<App>,
    access: Access,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<AuditId>().ok());
    let news = app.audit().news().await?;
    let mut missed = match last {
        Some(last) => app.audit().after(last).await?,
        None => Vec::new(),
    };
    missed.reverse();
    let known = last.unwrap_or_default();
    let stream =
        unfold((app, access, news, missed, known), |(app, access, mut news, mut missed, mut known)| async move {
            loop {
                let entry = if let Some(entry) = missed.pop() {
                    entry
                } else {
                    let stopping = app.stopping().clone();
                    let next = tokio::select! {
                        () = stopping.cancelled() => return None,
                        next = news.recv() => next,
                    };
                    match next {
                        Ok(entry) => entry,
                        Err(RecvError::Lagged(_)) => {
                            let Ok(later) = app.audit().after(known).await else { return None };
                            missed = later;
                            missed.reverse();
                            continue;
                        }
                        Err(RecvError::Closed) => return None,
                    }
                };
                if entry.id <= known || !access.may(Scope::Read, &entry.text.limiter) {
                    continue;
                }
                known = entry.id;
                let event = Event::default().event("change").id(entry.id.to_string());
                let Ok(event) = event.json_data(&entry) else { continue };
                return Some((Ok(event), (app, access, news, missed, known)));
            }
        });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}
