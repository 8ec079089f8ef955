//! The response of a decision: 200 with `allowed`, or with `?refusal=429` a status, `Retry-After` and the fields of the IETF.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use paddlegate::{Decision, HeaderFields, Limiter, Micros};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::json::DecisionBody;

/// The query of a verb that decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Refusal {
    /// `429`: a refusal is a response with this status, `Retry-After` and the fields `RateLimit`. Default `200`.
    #[param(inline)]
    pub(crate) refusal: RefusalStatus,
}

/// The status of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
pub(crate) enum RefusalStatus {
    /// 200 with `allowed: false`.
    #[default]
    #[serde(rename = "200")]
    Ok,
    /// 429.
    #[serde(rename = "429")]
    TooManyRequests,
}

/// A refusal as problem details.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefusalProblem {
    /// The type that the IETF registers for it.
    r#type: &'static str,
    /// The title of the status.
    title: &'static str,
    /// 429, or what the caller has asked for.
    status: u16,
    /// What refused, and when to come back.
    detail: String,
    /// `over_limit`.
    code: &'static str,
    /// The names of the policies that refused.
    #[serde(rename = "violated-policies")]
    violated: Vec<String>,
    /// The decision.
    decision: DecisionBody,
}

impl Refusal {
    /// Returns whether the response has the fields of each limit, which the decision must then have.
    pub(crate) fn needs_limits(self) -> bool {
        self.refusal == RefusalStatus::TooManyRequests
    }

    /// Returns the response. `wants_limits`: whether the caller asked for each limit.
    pub(crate) fn response(self, limiter: &Limiter, decision: &Decision, wants_limits: bool) -> Response {
        match self.refusal {
            RefusalStatus::Ok => Json(DecisionBody::from(decision)).into_response(),
            RefusalStatus::TooManyRequests => {
                with_status(StatusCode::TOO_MANY_REQUESTS, limiter, decision, wants_limits)
            }
        }
    }
}

/// Returns the response of a decision that has each limit; a refusal has the status.
pub(crate) fn with_status(status: StatusCode, limiter: &Limiter, decision: &Decision, wants_limits: bool) -> Response {
    let mut body = DecisionBody::from(decision);
    let headers = fields(limiter, decision);
    if !wants_limits {
        body.limits.clear();
    }
    if decision.allowed() {
        return (headers, Json(body)).into_response();
    }
    let reason = decision.reason.map_or("limit", |reason| reason.name());
    let detail = match decision.retry_after {
        Some(after) => format!("refused: reason={reason} retry_after={}", super::json::seconds(after)),
        None => format!("refused, and no end is known: reason={reason}"),
    };
    let violated =
        decision.label.as_ref().map(|label| policy_name(limiter_of(limiter, decision.limiter.as_deref()), label));
    let problem = RefusalProblem {
        r#type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Request cannot be satisfied as assigned quota has been exceeded",
        status: status.as_u16(),
        detail,
        code: "over_limit",
        violated: violated.into_iter().collect(),
        decision: body,
    };
    let mut response = (status, headers, Json(problem)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

/// Returns the fields of the newest draft, an item for each limit with the name of its limiter, and `Retry-After` of a refusal.
pub(crate) fn fields(limiter: &Limiter, decision: &Decision) -> HeaderMap {
    let mut named = Decision { limiter: None, label: None, ..decision.clone() };
    for limit in &mut named.limits {
        limit.limiter.get_or_insert_with(|| limiter.name().to_owned());
    }
    let header = |(name, value): (&'static str, String)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(&value).ok()?))
    };
    named.headers(HeaderFields::Draft).into_iter().filter_map(header).collect()
}

/// Returns the limiter that a part of a decision is of.
fn limiter_of<'a>(limiter: &'a Limiter, name: Option<&str>) -> &'a Limiter {
    let named = |one: &&'a Limiter| Some(one.name()) == name;
    limiter.limiters().iter().find(named).unwrap_or(limiter)
}

/// Returns the name of the limiter, with the label where it has several limits.
pub(crate) fn policy_name(limiter: &Limiter, label: &str) -> String {
    if limiter.policy().limits().len() == 1 { limiter.name().to_owned() } else { format!("{}:{label}", limiter.name()) }
}

/// Returns whole seconds, rounded up.
pub(crate) const fn whole_seconds(micros: Micros) -> u64 {
    micros.0.div_ceil(1_000_000)
}
