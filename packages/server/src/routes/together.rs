//! Several limiters, one decision: `together`, and the verbs that settle its permits.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use paddlegate::{Limiter, Operation};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::{held, take};
use super::settle::{RenewalBody, SettlementBody, renewed, settle};
use crate::access::Access;
use crate::app::App;
use crate::body::{Body, Query};
use crate::json::{Amounts, CostBody, DecisionBody, PolicyBody, Span};
use crate::problem::Problem;
use crate::refusal::{Refusal, RefusalProblem};

/// One of several limiters.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    /// The name, 1 to 512 bytes.
    #[schema(min_length = 1, max_length = 512)]
    name: String,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    key: Option<String>,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    policy: Option<PolicyBody>,
}

/// The body of `together`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Together {
    /// One to four limiters, each with another name.
    #[schema(min_items = 1, max_items = 4)]
    limiters: Vec<Member>,
    /// The units to take, final. Default 1.
    #[schema(inline)]
    cost: Option<CostBody>,
    /// The units to take until `correct` reports the actual cost.
    #[schema(inline)]
    estimate: Option<CostBody>,
    /// How long an estimate can be corrected, 5 minutes to 7 days. Default 5 minutes.
    #[schema(inline)]
    settle_within: Option<Span>,
    /// The priority in the queue, 0 to 9. Default 0.
    #[schema(maximum = 9)]
    priority: Option<u64>,
    /// Whose call this is, 1 to 128 bytes.
    #[schema(max_length = 128)]
    share: Option<String>,
    /// The weight of the share, 1 to 1000. Default 1.
    #[schema(minimum = 1, maximum = 1000)]
    weight: Option<u64>,
    /// The id of the call, 1 to 64 bytes. Default: random.
    #[schema(max_length = 64)]
    id: Option<String>,
    /// How long the request may be held, at most 300 s; more is cut. Default 0.
    #[schema(inline)]
    wait_timeout: Option<Span>,
    /// Whether the decision has each limit. Default false.
    limits: Option<bool>,
}

/// The body of `together/correct`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TogetherCorrect {
    /// The limiters of the permit, in the same order.
    #[schema(min_items = 1, max_items = 4)]
    limiters: Vec<Member>,
    /// The id of the permit.
    permit: String,
    /// The actual cost of the call.
    #[schema(inline)]
    actual: CostBody,
}

/// The body of `together/release` and `together/renew`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TogetherPermit {
    /// The limiters of the permit, in the same order.
    #[schema(min_items = 1, max_items = 4)]
    limiters: Vec<Member>,
    /// The id of the permit.
    permit: String,
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(acquire))
        .routes(routes!(correct))
        .routes(routes!(release))
        .routes(routes!(renew))
}

fn several(app: &App, access: &Access, members: &[Member]) -> Result<Limiter, Problem> {
    let of_member = |member: &Member| app.of_call(access, &member.name, member.policy.as_ref(), member.key.as_deref());
    let limiters = members.iter().map(of_member).collect::<Result<Vec<Limiter>, Problem>>()?;
    let limiters: Vec<&Limiter> = limiters.iter().collect();
    Ok(app.paddlegate().together(&limiters)?.with_on_unavailable(app.options().on_unavailable))
}

/// Takes the cost of all limiters, or of none.
#[utoipa::path(post, operation_id = "together", path = "/v1/together", tag = "together", request_body = Together, params(Refusal),
    responses((status = 200, body = DecisionBody), (status = 429, body = RefusalProblem, content_type = "application/problem+json")))]
async fn acquire(
    State(app): State<App>,
    access: Access,
    Query(refusal): Query<Refusal>,
    Body(body): Body<Together>,
) -> Result<Response, Problem> {
    let limiter = several(&app, &access, &body.limiters)?;
    let amounts = Amounts::of_several(body.cost.as_ref(), body.estimate.as_ref());
    let wants_limits = body.limits.unwrap_or(false);
    let request = amounts.request(body.settle_within, wants_limits || refusal.needs_limits());
    let request = request.in_queue(body.priority, body.share.as_deref(), body.weight)?;
    let decision = take(&app, &limiter, request, body.id.as_deref(), body.wait_timeout).await?;
    Ok(held(body.wait_timeout, refusal.response(&limiter, &decision, wants_limits)))
}

/// Replaces an estimate by the actual cost of the call, once.
#[utoipa::path(post, operation_id = "together_correct", path = "/v1/together/correct", tag = "together", request_body = TogetherCorrect,
    responses((status = 200, body = SettlementBody)))]
async fn correct(
    State(app): State<App>,
    access: Access,
    Body(body): Body<TogetherCorrect>,
) -> Result<Json<SettlementBody>, Problem> {
    let limiter = several(&app, &access, &body.limiters)?;
    let actual = body.actual.of_several();
    settle(&limiter, Operation::Correct { permit: &body.permit, actual: actual.cost() }).await
}

/// Ends the leases of a permit, once.
#[utoipa::path(post, operation_id = "together_release", path = "/v1/together/release", tag = "together", request_body = TogetherPermit,
    responses((status = 200, body = SettlementBody)))]
async fn release(
    State(app): State<App>,
    access: Access,
    Body(body): Body<TogetherPermit>,
) -> Result<Json<SettlementBody>, Problem> {
    let limiter = several(&app, &access, &body.limiters)?;
    settle(&limiter, Operation::Release { permit: &body.permit }).await
}

/// Gives the leases of a permit their whole time again.
#[utoipa::path(post, operation_id = "together_renew", path = "/v1/together/renew", tag = "together", request_body = TogetherPermit,
    responses((status = 200, body = RenewalBody)))]
async fn renew(
    State(app): State<App>,
    access: Access,
    Body(body): Body<TogetherPermit>,
) -> Result<Json<RenewalBody>, Problem> {
    let limiter = several(&app, &access, &body.limiters)?;
    renewed(&limiter, &body.permit).await
}
