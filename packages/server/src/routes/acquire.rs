//! The verbs that take units: `acquire`, `debit`, and `peek`, which only looks; and `refund`, which gives units back.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use paddlegate::{Answer, Decision, Limiter, Micros, Operation, Request, new_id};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Access;
use crate::app::App;
use crate::body::{Body, Name, Query};
use crate::guard::Held;
use crate::json::{Acquire, Amounts, Debit, DecisionBody, Peek, RefundBody, Span};
use crate::problem::Problem;
use crate::refusal::{Refusal, RefusalProblem};
use crate::waits::Waiting;

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(acquire)).routes(routes!(peek)).routes(routes!(debit)).routes(routes!(refund))
}

/// Takes the cost if every limit allows it, otherwise nothing. With `wait_timeout` the request is held until then; its place in
/// the queue is given up when the client goes away.
#[utoipa::path(post, path = "/v1/limiters/{name}/acquire", tag = "decide", request_body = Acquire,
    params(("name" = String, Path, description = "The name, percent-encoded"), Refusal),
    responses((status = 200, body = DecisionBody), (status = 429, body = RefusalProblem, content_type = "application/problem+json")))]
async fn acquire(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(refusal): Query<Refusal>,
    Body(body): Body<Acquire>,
) -> Result<Response, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let amounts = Amounts::of_one(body.cost.as_ref(), body.estimate.as_ref())?;
    let wants_limits = body.limits.unwrap_or(false);
    let request = amounts.request(body.settle_within, wants_limits || refusal.needs_limits());
    let request = request.in_queue(body.priority, body.share.as_deref(), body.weight)?;
    let decision = take(&app, &limiter, request, body.id.as_deref(), body.wait_timeout).await?;
    Ok(held(body.wait_timeout, refusal.response(&limiter, &decision, wants_limits)))
}

/// Marks a response to a request that may have been held.
pub(crate) fn held(wait_timeout: Option<Span>, mut response: Response) -> Response {
    if wait_timeout.is_some_and(|Span(wait)| wait.0 > 0) {
        response.extensions_mut().insert(Held);
    }
    response
}

/// Takes at once, or waits in the queue.
pub(crate) async fn take(
    app: &App,
    limiter: &Limiter,
    request: Request<'_>,
    id: Option<&str>,
    wait_timeout: Option<Span>,
) -> Result<Decision, Problem> {
    let longest = Micros::from_duration("max_wait", app.options().max_wait)?;
    let max_wait = wait_timeout.map_or(Micros(0), |Span(wait)| wait.min(longest));
    if max_wait.0 > 0 {
        let own = if id.is_none() { Some(new_id()?) } else { None };
        let owns_id = own.is_some();
        let id = id.or(own.as_deref()).unwrap_or_default();
        let waiting = Waiting { limiter, request, id, owns_id, max_wait };
        let decision = app.waits().acquire(waiting, app.stopping()).await?;
        return decision.ok_or_else(|| {
            Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "stopping",
                "the server stops; nothing was charged, call again",
            )
        });
    }
    let operation = match id {
        Some(id) => Operation::AcquireWithId { request, id, wait: None },
        None => Operation::Acquire(request),
    };
    decide(app, limiter, operation).await
}

/// Looks whether a call would be granted, and takes nothing.
#[utoipa::path(post, path = "/v1/limiters/{name}/peek", tag = "decide", request_body = Peek,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = DecisionBody)))]
async fn peek(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Peek>,
) -> Result<Response, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let amounts = Amounts::of_one(body.cost.as_ref(), body.estimate.as_ref())?;
    let request = amounts.request(None, body.limits.unwrap_or(false));
    Ok(answer(&decide(&app, &limiter, Operation::Peek(request)).await?))
}

/// Charges the cost in any case, up to one whole limit of debt.
#[utoipa::path(post, path = "/v1/limiters/{name}/debit", tag = "decide", request_body = Debit,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = DecisionBody)))]
async fn debit(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Debit>,
) -> Result<Response, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let cost = body.cost.of_one("cost")?;
    Ok(answer(&decide(&app, &limiter, Operation::Debit(cost.cost())).await?))
}

/// Gives units back without a permit, at most what is taken.
#[utoipa::path(post, path = "/v1/limiters/{name}/refund", tag = "decide", request_body = RefundBody,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = DecisionBody)))]
async fn refund(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<RefundBody>,
) -> Result<Response, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let units = body.units.of_one("units")?;
    Ok(answer(&decide(&app, &limiter, Operation::Refund(units.cost())).await?))
}

fn answer(decision: &Decision) -> Response {
    Json(DecisionBody::from(decision)).into_response()
}

/// Runs an operation that decides.
pub(crate) async fn decide(app: &App, limiter: &Limiter, operation: Operation<'_>) -> Result<Decision, Problem> {
    match app.store_times().run(limiter, operation).await? {
        Answer::Decision(decision) => Ok(decision),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn unexpected(answer: &Answer) -> Problem {
    paddlegate::Error::internal(format!("unexpected reply type: {answer:?}")).into()
}
