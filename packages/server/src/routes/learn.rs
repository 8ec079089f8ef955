//! The verbs of an upstream's reports: `learn` and `report-budget`.

use axum::Json;
use axum::extract::State;
use paddlegate::{AdminRequest, Answer, Deadline, LearnOptions, LimitNumbers, Limiter};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::unexpected;
use crate::access::Access;
use crate::app::App;
use crate::body::{Body, Name};
use crate::json::{Learn, LearnedBody, ReportBudget, Span, Time};
use crate::problem::Problem;
use crate::request::run;

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(learn)).routes(routes!(report_budget))
}

/// Applies a response of the upstream: actual cost, remaining budget, pause.
#[utoipa::path(post, path = "/v1/limiters/{name}/learn", tag = "upstream", request_body = Learn,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = LearnedBody)))]
async fn learn(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Learn>,
) -> Result<Json<LearnedBody>, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let headers: Vec<(&str, &str)> = body.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let options = LearnOptions {
        provider: body.provider.as_deref(),
        max_pause: body.max_pause.map(|Span(span)| span),
        default_pause: body.default_pause.map(|Span(span)| span),
        max_learned: body.max_learned,
        permit: body.permit.clone(),
    };
    let request = AdminRequest::learn(body.status, &headers, &body.body, options)?;
    learned(&limiter, &request).await
}

/// Applies the budget that the upstream reports for one limit.
#[utoipa::path(post, path = "/v1/limiters/{name}/report-budget", tag = "upstream", request_body = ReportBudget,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = LearnedBody)))]
async fn report_budget(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<ReportBudget>,
) -> Result<Json<LearnedBody>, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let span = ("reset_in", body.reset_in.map(|Span(span)| span));
    let time = ("reset_at", body.reset_at.map(|Time(time)| time));
    let request = AdminRequest::ReportBudget {
        label: body.label,
        remaining: body.remaining,
        numbers: LimitNumbers {
            amount: body.limit,
            interval: body.interval.map(|Span(span)| span),
            rate: body.restore_rate,
        },
        reset: Deadline::either(span, time)?,
        permit: body.permit,
    };
    learned(&limiter, &request).await
}

async fn learned(limiter: &Limiter, request: &AdminRequest) -> Result<Json<LearnedBody>, Problem> {
    match run(limiter, request).await? {
        Answer::Report(learned) => Ok(Json(LearnedBody::from(&*learned))),
        other => Err(unexpected(&other)),
    }
}
