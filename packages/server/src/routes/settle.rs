//! The verbs that settle what was granted: `correct`, `release`, `renew`.

use axum::Json;
use axum::extract::State;
use paddlegate::{Answer, Limiter, Operation};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::unexpected;
use crate::access::Access;
use crate::app::App;
use crate::body::{Body, Name};
use crate::json::{Correct, Settle, seconds};
use crate::problem::Problem;

/// What has become of a permit, a lease or a ticket.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettlementBody {
    /// `settled`, `already`, `late`, `unknown`, `released` or `cancelled`.
    pub(crate) settlement: &'static str,
}

/// How long a lease lasts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RenewalBody {
    /// Whether the lease was still held.
    pub(crate) renewed: bool,
    /// How long it lasts from now, in seconds; null when it has ended.
    #[schema(required)]
    pub(crate) lease: Option<f64>,
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(correct)).routes(routes!(release)).routes(routes!(renew))
}

/// Replaces an estimate by the actual cost of the call, once.
#[utoipa::path(post, path = "/v1/limiters/{name}/correct", tag = "settle", request_body = Correct,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = SettlementBody)))]
async fn correct(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Correct>,
) -> Result<Json<SettlementBody>, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    let actual = body.actual.of_one("actual")?;
    settle(&limiter, Operation::Correct { permit: &body.permit, actual: actual.cost() }).await
}

/// Ends the lease of a permit, once.
#[utoipa::path(post, path = "/v1/limiters/{name}/release", tag = "settle", request_body = Settle,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = SettlementBody)))]
async fn release(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Settle>,
) -> Result<Json<SettlementBody>, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    settle(&limiter, Operation::Release { permit: &body.permit }).await
}

/// Gives a lease its whole time again.
#[utoipa::path(post, path = "/v1/limiters/{name}/renew", tag = "settle", request_body = Settle,
    params(("name" = String, Path, description = "The name, percent-encoded")),
    responses((status = 200, body = RenewalBody)))]
async fn renew(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Body(body): Body<Settle>,
) -> Result<Json<RenewalBody>, Problem> {
    let limiter = app.of_call(&access, &name, body.policy.as_ref(), body.key.as_deref())?;
    renewed(&limiter, &body.permit).await
}

/// Runs an operation that settles.
pub(crate) async fn settle(limiter: &Limiter, operation: Operation<'_>) -> Result<Json<SettlementBody>, Problem> {
    match limiter.run_async(operation).await? {
        Answer::Settlement(settlement) => Ok(Json(SettlementBody { settlement: settlement.name() })),
        other => Err(unexpected(&other)),
    }
}

/// Renews a lease.
pub(crate) async fn renewed(limiter: &Limiter, permit: &str) -> Result<Json<RenewalBody>, Problem> {
    match limiter.run_async(Operation::Renew { permit }).await? {
        Answer::Renewal(lease) => Ok(Json(RenewalBody { renewed: lease.is_some(), lease: lease.map(seconds) })),
        other => Err(unexpected(&other)),
    }
}
