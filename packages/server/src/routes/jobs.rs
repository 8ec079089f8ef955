//! The verbs of jobs, whose tickets no request waits for: `enqueue`, `claim`, `cancel`.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use paddlegate::{JOB_CLAIM_TIMEOUT, MAX_SPAN, Operation, QueuePosition, Wait};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::decide;
use super::settle::{SettlementBody, settle};
use crate::access::Access;
use crate::app::App;
use crate::body::{Body, Name, Query};
use crate::json::{Amounts, Cancel, DecisionBody, Job, Span};
use crate::problem::Problem;
use crate::refusal::{Refusal, RefusalProblem};

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(enqueue)).routes(routes!(claim)).routes(routes!(cancel))
}

/// Grants a job or queues it, under its id. A queued one comes back after `retry_after` with `claim`.
#[utoipa::path(post, path = "/v1/limiters/{name}/enqueue", tag = "jobs", request_body = Job,
    params(("name" = String, Path, description = "The name, percent-encoded"), Refusal),
    responses((status = 200, body = DecisionBody), (status = 429, body = RefusalProblem, content_type = "application/problem+json")))]
async fn enqueue(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(refusal): Query<Refusal>,
    Body(body): Body<Job>,
) -> Result<Response, Problem> {
    enter(&app, &access, &name, refusal, &body, QueuePosition::End).await
}

/// Looks whether a queued job may run now, and takes its units if so.
#[utoipa::path(post, path = "/v1/limiters/{name}/claim", tag = "jobs", request_body = Job,
    params(("name" = String, Path, description = "The name, percent-encoded"), Refusal),
    responses((status = 200, body = DecisionBody), (status = 429, body = RefusalProblem, content_type = "application/problem+json")))]
async fn claim(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(refusal): Query<Refusal>,
    Body(body): Body<Job>,
) -> Result<Response, Problem> {
    enter(&app, &access, &name, refusal, &body, QueuePosition::Existing).await
}

async fn enter(
    app: &App,
    access: &Access,
    name: &str,
    refusal: Refusal,
    body: &Job,
    position: QueuePosition,
) -> Result<Response, Problem> {
    let limiter = app.of_call(access, name, body.policy.as_ref(), body.key.as_deref())?;
    let amounts = Amounts::of_one(body.cost.as_ref(), body.estimate.as_ref())?;
    let request = amounts.request(body.settle_within, refusal.needs_limits());
    let request = request.in_queue(body.priority, body.share.as_deref(), body.weight)?;
    let wait = Wait {
        claim_timeout: body.claim_timeout.map_or(JOB_CLAIM_TIMEOUT, |Span(span)| span),
        position,
        ..Wait::up_to(body.wait_timeout.map_or(MAX_SPAN, |Span(span)| span))
    };
    let operation = Operation::AcquireWithId { request, id: &body.id, wait: Some(wait) };
    Ok(refusal.response(&limiter, &decide(app, &limiter, operation).await?, false))
}

/// Removes the ticket of a call from the queue, and ends the lease that it may have become.
#[utoipa::path(post, path = "/v1/limiters/{name}/cancel", tag = "jobs", request_body = Cancel,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = SettlementBody)))]
async fn cancel(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Cancel>,
) -> Result<Json<SettlementBody>, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    settle(&limiter, Operation::Cancel { id: &body.id, gave_up: false }).await
}
