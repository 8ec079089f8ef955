//! The bodies of the verbs.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{CostBody, PolicyBody, Span};

/// The body of `acquire`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acquire {
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
    /// The units to take, final. Default 1; 0 only looks.
    #[schema(inline)]
    pub(crate) cost: Option<CostBody>,
    /// The units to take until `correct` reports the actual cost.
    #[schema(inline)]
    pub(crate) estimate: Option<CostBody>,
    /// How long an estimate can be corrected, 5 minutes to 7 days. Default 5 minutes.
    #[schema(inline)]
    pub(crate) settle_within: Option<Span>,
    /// The priority in the queue, 0 to 9: the highest first. Default 0.
    #[schema(maximum = 9)]
    pub(crate) priority: Option<u64>,
    /// Whose call this is, 1 to 128 bytes, for a fair order in the queue.
    #[schema(max_length = 128)]
    pub(crate) share: Option<String>,
    /// The weight of the share, 1 to 1000. Default 1.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) weight: Option<u64>,
    /// The id of the call, 1 to 64 bytes: asked again, it takes nothing twice. Default: random.
    #[schema(max_length = 64)]
    pub(crate) id: Option<String>,
    /// How long the request may be held until the limit allows the call, at most 300 s; more is cut. Default 0.
    #[schema(inline)]
    pub(crate) wait_timeout: Option<Span>,
    /// Whether the decision has each limit. Default false.
    pub(crate) limits: Option<bool>,
}

/// The body of `enqueue` and `claim`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// The id of the job, 1 to 64 bytes, which names its ticket and its lease.
    #[schema(min_length = 1, max_length = 64)]
    pub(crate) id: String,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
    /// The units to take, final. Default 1; 0 only looks.
    #[schema(inline)]
    pub(crate) cost: Option<CostBody>,
    /// The units to take until `correct` reports the actual cost.
    #[schema(inline)]
    pub(crate) estimate: Option<CostBody>,
    /// How long an estimate can be corrected, 5 minutes to 7 days. Default 5 minutes.
    #[schema(inline)]
    pub(crate) settle_within: Option<Span>,
    /// The priority in the queue, 0 to 9: the highest first. Default 0.
    #[schema(maximum = 9)]
    pub(crate) priority: Option<u64>,
    /// Whose job this is, 1 to 128 bytes, for a fair order in the queue.
    #[schema(max_length = 128)]
    pub(crate) share: Option<String>,
    /// The weight of the share, 1 to 1000. Default 1.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) weight: Option<u64>,
    /// How long the ticket keeps its position after the job should have come back. Default 60 s.
    #[schema(inline)]
    pub(crate) claim_timeout: Option<Span>,
    /// The time after which the job is refused. Default: never.
    #[schema(inline)]
    pub(crate) wait_timeout: Option<Span>,
}

/// The body of `peek`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peek {
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
    /// The units to look for. Default 1.
    #[schema(inline)]
    pub(crate) cost: Option<CostBody>,
    /// The units of an estimate.
    #[schema(inline)]
    pub(crate) estimate: Option<CostBody>,
    /// Whether the decision has each limit. Default false.
    pub(crate) limits: Option<bool>,
}

/// The body of `debit`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Debit {
    /// The units to charge in any case.
    #[schema(inline)]
    pub(crate) cost: CostBody,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// The body of `refund`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefundBody {
    /// The units to give back.
    #[schema(inline)]
    pub(crate) units: CostBody,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// The body of `correct`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Correct {
    /// The id of the permit.
    pub(crate) permit: String,
    /// The actual cost of the call.
    #[schema(inline)]
    pub(crate) actual: CostBody,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// The body of `release` and `renew`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settle {
    /// The id of the permit, or of the call that has the lease.
    pub(crate) permit: String,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// The body of `cancel`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    /// The id of the call, 1 to 64 bytes.
    #[schema(min_length = 1, max_length = 64)]
    pub(crate) id: String,
    /// The limiter, instead of that of the limits file; needs the scope `operate`.
    #[schema(inline)]
    pub(crate) policy: Option<PolicyBody>,
    /// The key of a keyed limiter, 1 to 512 bytes.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}
