//! Many decisions in one request, each of its own.

use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::take;
use crate::access::Access;
use crate::app::App;
use crate::body::Body;
use crate::json::{Amounts, CostBody, DecisionBody, PolicyBody, Span};
use crate::problem::Problem;

/// The maximum number of calls in a request.
const MAX_CALLS: usize = 100;

/// The body of a request for many decisions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Many {
    /// One to a hundred calls.
    #[schema(min_items = 1, max_items = 100)]
    calls: Vec<Call>,
}

/// One of many calls.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// The name of the limiter, 1 to 512 bytes.
    #[schema(min_length = 1, max_length = 512)]
    name: String,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    key: Option<String>,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    policy: Option<PolicyBody>,
    /// The units to take, final. Default 1; 0 only looks.
    #[schema(inline)]
    cost: Option<CostBody>,
    /// The units to take until `correct` reports the actual cost.
    #[schema(inline)]
    estimate: Option<CostBody>,
    /// How long an estimate can be corrected, 5 minutes to 7 days. Default 5 minutes.
    #[schema(inline)]
    settle_within: Option<Span>,
    /// The id of the call, 1 to 64 bytes: asked again, it takes nothing twice. Default: random.
    #[schema(max_length = 64)]
    id: Option<String>,
    /// Whether the decision has each limit. Default false.
    limits: Option<bool>,
}

/// The answers, in the order of the calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Answers {
    answers: Vec<Answered>,
}

/// The answer to one of many calls: a decision or a problem.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answered {
    /// What was decided.
    Decision(Box<DecisionBody>),
    /// Why nothing was.
    #[schema(value_type = Object)]
    Problem(Problem),
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(acquire))
}

/// Decides many calls at the same time, each of its own: a refusal or a problem of one changes nothing for the others.
#[utoipa::path(post, operation_id = "acquire_many", path = "/v1/acquire", tag = "decide", request_body = Many,
    responses((status = 200, body = Answers)))]
async fn acquire(State(app): State<App>, access: Access, Body(body): Body<Many>) -> Result<Json<Answers>, Problem> {
    if !(1..=MAX_CALLS).contains(&body.calls.len()) {
        let detail = format!("must be 1 to {MAX_CALLS}: calls={}", body.calls.len());
        return Err(Problem::invalid("calls", detail));
    }
    let answers = join_all(body.calls.iter().map(async |call| match one(&app, &access, call).await {
        Ok(decision) => Answered::Decision(Box::new(decision)),
        Err(problem) => Answered::Problem(problem),
    }));
    Ok(Json(Answers { answers: answers.await }))
}

async fn one(app: &App, access: &Access, call: &Call) -> Result<DecisionBody, Problem> {
    let limiter = app.of_call(access, &call.name, call.policy.as_ref(), call.key.as_deref())?;
    let amounts = Amounts::of_one(call.cost.as_ref(), call.estimate.as_ref())?;
    let request = amounts.request(call.settle_within, call.limits.unwrap_or(false));
    let decision = take(app, &limiter, request, call.id.as_deref(), None).await?;
    Ok(DecisionBody::from(&decision))
}
