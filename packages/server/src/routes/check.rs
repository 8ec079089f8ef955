//! `check`: a decision for proxies that ask by GET whether a request may pass, with its headers: `auth_request` of nginx, forward
//! auth of Caddy and Traefik.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use paddlegate::{CallerOptions, Cost, Kind, Operation, Request, caller_key};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::decide;
use crate::access::Access;
use crate::app::App;
use crate::body::{Name, Query};
use crate::json::DecisionBody;
use crate::problem::Problem;
use crate::refusal::{self, RefusalProblem};

/// The query of a check.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Check {
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[param(max_length = 512)]
    key: Option<String>,
    /// The header of the request whose value is the key, such as `x-forwarded-for`; of a list its last entry, which the proxy itself
    /// has added. An IPv6 address counts as its network of 64 bits; what is empty, too long or not UTF-8 by its SHA-256.
    #[param(max_length = 64)]
    key_header: Option<String>,
    /// The units to take. Default 1.
    cost: Option<u64>,
    /// The status of a refusal: `429`, or `403` for nginx, which takes any other for a fault. Default `429`.
    #[param(inline)]
    #[serde(default)]
    refusal: Status,
}

/// The status of a refused check.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
enum Status {
    /// 429.
    #[default]
    #[serde(rename = "429")]
    TooManyRequests,
    /// 403.
    #[serde(rename = "403")]
    Forbidden,
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(check))
}

/// Takes the cost if every limit allows it, otherwise nothing, for a proxy that asks whether a request may pass.
#[utoipa::path(get, path = "/v1/limiters/{name}/check", tag = "decide",
    params(("name" = String, Path, description = "The name, percent-encoded"), Check),
    responses((status = 200, body = DecisionBody), (status = 429, body = RefusalProblem, content_type = "application/problem+json")))]
async fn check(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(query): Query<Check>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let key = key(&query, &headers)?;
    let limiter = app.of_call(&access, &name, None, key.as_deref())?;
    if limiter.policy().limits().iter().any(|limit| limit.kind() == Kind::Concurrency) {
        let detail = "has a concurrency limit, whose leases a proxy does not release: use acquire and release";
        return Err(Problem::invalid("name", detail));
    }
    let cost = query.cost.map(Cost::Units);
    let request = Request { cost, limits: true, ..Request::default() };
    let decision = decide(&app, &limiter, Operation::Acquire(request)).await?;
    let status = match query.refusal {
        Status::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        Status::Forbidden => StatusCode::FORBIDDEN,
    };
    Ok(refusal::with_status(status, &limiter, &decision, false))
}

fn key<'a>(query: &'a Check, headers: &HeaderMap) -> Result<Option<Cow<'a, str>>, Problem> {
    let Some(name) = &query.key_header else { return Ok(query.key.as_deref().map(Cow::Borrowed)) };
    if query.key.is_some() {
        return Err(Problem::invalid("key_header", "give key or key_header, not both"));
    }
    let missing = || Problem::invalid("key_header", format!("the request has no such header: key_header={name:?}"));
    let value = headers.get_all(name).iter().next_back().ok_or_else(missing)?.as_bytes();
    let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
    Ok(Some(Cow::Owned(caller_key(last, &CallerOptions::default())?)))
}
