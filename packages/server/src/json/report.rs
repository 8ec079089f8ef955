//! `Learn`, `ReportBudget` and `LearnedBody`: what an upstream says of its limits.

use std::collections::BTreeMap;

use paddlegate::Learned;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{PolicyBody, Span, Time, seconds};

/// The body of `learn`: a response of the upstream.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Learn {
    /// The HTTP status of the response.
    #[schema(minimum = 0, maximum = 65535)]
    pub(crate) status: Option<u64>,
    /// The headers of the response.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The body of the response, as a text.
    #[serde(default)]
    pub(crate) body: String,
    /// The provider. Default `auto`.
    pub(crate) provider: Option<String>,
    /// The longest pause after a refusal. Default an hour.
    #[schema(inline)]
    pub(crate) max_pause: Option<Span>,
    /// The pause after a refusal that names no time. Default none.
    #[schema(inline)]
    pub(crate) default_pause: Option<Span>,
    /// The highest limit to learn. Default ten times that of the policy.
    pub(crate) max_learned: Option<u64>,
    /// The permit of the call that was answered.
    pub(crate) permit: Option<String>,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// The body of `report-budget`: a budget that the upstream reports.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportBudget {
    /// The label of the limit; a policy of one limit may omit it.
    pub(crate) label: Option<String>,
    /// The units that are left at the upstream.
    pub(crate) remaining: Option<u64>,
    /// The limit at the upstream.
    pub(crate) limit: Option<u64>,
    /// The interval at the upstream.
    #[schema(inline)]
    pub(crate) interval: Option<Span>,
    /// Units per second, instead of the interval.
    pub(crate) restore_rate: Option<f64>,
    /// The time until the interval of a bucket ends.
    #[schema(inline)]
    pub(crate) reset_in: Option<Span>,
    /// When the interval of a bucket ends.
    #[schema(inline)]
    pub(crate) reset_at: Option<Time>,
    /// The permit of the call that was answered.
    pub(crate) permit: Option<String>,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// What a report has changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LearnedBody {
    /// The settlement of the permit; null without an actual cost of a permit.
    #[schema(required)]
    settlement: Option<&'static str>,
    /// The values that have changed: `limit`, `interval`, `remaining`, `reset`, `pause`.
    learned: Vec<String>,
    /// The values that changed nothing, with the reason.
    ignored: Vec<String>,
    /// The actual cost of the call, as the response reports it.
    #[schema(required)]
    cost: Option<u64>,
    /// The time for which the response asks to pause, in seconds.
    #[schema(required)]
    pause: Option<f64>,
    /// The scope of a refusal.
    #[schema(required)]
    scope: Option<&'static str>,
    /// The upstream's name of the budget that counted the call.
    #[schema(required)]
    bucket: Option<String>,
}

impl From<&Learned> for LearnedBody {
    fn from(learned: &Learned) -> Self {
        Self {
            settlement: learned.settlement.map(paddlegate::Settlement::name),
            learned: learned.learned.clone(),
            ignored: learned.ignored.clone(),
            cost: learned.cost,
            pause: learned.pause.map(seconds),
            scope: learned.scope,
            bucket: learned.bucket.clone(),
        }
    }
}
