//! The limits of a limiter and the calls of its last hour, for the simulator.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use paddlegate::Page;
use serde::Deserialize;
use serde_json::Value;

use super::effect::recorded;
use super::replay::limits_in_force;
use super::simulator;
use crate::access::{Access, Scope};
use crate::app::App;
use crate::body::{Name, Query};
use crate::problem::Problem;
use crate::routes::limiters::inspected;

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new().route("/ui/limiters/{name}/scenario.json", get(scenario))
}

/// Returns the address of the simulator with a scenario in it.
pub(super) fn in_simulator(scenario: &Value) -> String {
    format!("{}#v1.j.{}", simulator::ADDRESS, URL_SAFE_NO_PAD.encode(scenario.to_string()))
}

/// The query of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    group: Option<String>,
}

async fn scenario(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(Wanted { group }): Query<Wanted>,
) -> Result<Response, Problem> {
    access.check(Scope::Read, &name)?;
    let limiter = app.shown(&name, group.as_deref(), false).await?;
    if limiter.is_keyed() {
        return Err(Problem::not_found("what is recorded of a keyed limiter is of all keys together"));
    }
    let (inspection, _) = inspected(&limiter, Page { offset: 0, count: 1 }).await?;
    let limits = limits_in_force(&limiter, &inspection);
    let recorded = recorded(&limiter, &inspection).await?;
    let scenario =
        recorded.scenario(&name, &limits).ok_or_else(|| Problem::not_found("no call came in the last hour"))?;
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_DISPOSITION, r#"attachment; filename="scenario.json""#),
    ];
    Ok((headers, format!("{scenario:#}\n")).into_response())
}
