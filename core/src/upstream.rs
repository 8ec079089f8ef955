//! What upstream APIs say of their budgets: in headers, in bodies, in refusals.
//!
//! [`Feedback::read`] takes the status, the headers and the body of an answer and says what the call did cost, what is
//! left of which budget, and how long to pause. It reads no clock, opens nothing and never fails: what is not
//! understood says nothing.
//!
//! ```
//! use paddlegate::upstream::{Feedback, MAX_PAUSE, Provider, Response};
//!
//! let body = r#"{"data":{},"extensions":{"cost":{"requestedQueryCost":252,"actualQueryCost":12,
//!     "throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":988,"restoreRate":50.0}}}}"#;
//! let response = Response { status: Some(200), headers: &[], body };
//! let feedback = Feedback::read(Provider::Shopify, &response, MAX_PAUSE);
//! assert_eq!(feedback.actual, Some(12));
//! assert_eq!(feedback.budgets[0].remaining, Some(988));
//! assert_eq!(feedback.budgets[0].refill.unwrap().0, 20_000_000);
//! ```

mod answer;
mod anthropic;
mod common;
mod decimal;
mod discord;
mod github;
pub(crate) mod graphql_cost;
mod ietf;
mod json;
mod lesson;
mod linear;
mod openai;
mod recognise;
mod shopify;
mod stripe;
mod structured;
#[cfg(test)]
mod tests;

use answer::Answer;
pub use lesson::LimiterUpdate;

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::limit::MAX_UNITS;

/// The longest pause to take from an upstream's word, unless the caller chooses another: one hour.
pub const MAX_PAUSE: Micros = Micros(3_600_000_000);

/// How many times a policy's own limit an upstream may raise it to, unless the caller says how many units.
pub const LEARNED_FACTOR: u64 = 10;

/// Whose answers they are, which decides what the headers and bodies mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Told from the answer itself, every time anew; the first that fits rules:
    ///
    /// 1. headers that begin with `anthropic-`: Anthropic;
    /// 2. `x-shopify-...`: Shopify;
    /// 3. `x-github-...` or `x-ratelimit-resource`: GitHub;
    /// 4. `x-ratelimit-bucket`, `-scope`, `-global` or `-reset-after`: Discord;
    /// 5. `x-complexity`, `x-ratelimit-requests-...` or `x-ratelimit-complexity-...`: Linear;
    /// 6. `openai-...` or `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`: `OpenAI`;
    /// 7. `stripe-...`: Stripe;
    /// 8. the body: `extensions.cost` is Shopify's, `data.rateLimit` GitHub's, `retry_after` with `global` Discord's,
    ///    `usage.total_tokens` `OpenAI`'s, `usage.input_tokens` Anthropic's;
    /// 9. `RateLimit`, `RateLimit-...`: IETF;
    /// 10. else the common `X-RateLimit-Limit`, `-Remaining` and `-Reset`, and `Retry-After`. A reset up to ten years
    ///     is read as seconds from now, a larger one as seconds since 1970, one too large for that as milliseconds
    ///     since 1970; dates of RFC 3339 and of HTTP are understood too.
    ///
    /// Where one of 1 to 8 tells of no budget, 9 or else 10 is read too.
    #[default]
    Auto,
    /// The Admin APIs, GraphQL (points) and REST (requests).
    Shopify,
    /// GraphQL (points) and REST (requests), with the secondary limits.
    GitHub,
    /// The HTTP API for bots.
    Discord,
    /// The GraphQL API, limited by requests and by complexity (points).
    Linear,
    /// The REST API, which says only that it refused.
    Stripe,
    /// `OpenAI` and those that send the same headers (Azure, Groq): requests and tokens.
    OpenAi,
    /// The Claude API: requests, tokens, input tokens, output tokens.
    Anthropic,
    /// The fields `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers, 03 to 11.
    Ietf,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 9] = [
        Self::Auto,
        Self::Shopify,
        Self::GitHub,
        Self::Discord,
        Self::Linear,
        Self::Stripe,
        Self::OpenAi,
        Self::Anthropic,
        Self::Ietf,
    ];

    /// The name in all languages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Shopify => "shopify",
            Self::GitHub => "github",
            Self::Discord => "discord",
            Self::Linear => "linear",
            Self::Stripe => "stripe",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ietf => "ietf",
        }
    }

    /// The provider of a name; any other name is refused.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let shown: String = name.chars().take(40).collect();
            Error::invalid("provider", format!("must be one of {names}: provider={shown:?}"))
        })
    }
}

/// An answer as it came over HTTP.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The status code, if it is known. Without it only an answer that the provider's documentation ties to a refusal is
    /// one.
    pub status: Option<u16>,
    /// Names and values; names are compared without case. A value above 4 KiB says nothing.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body as text, or nothing where it is not at hand. A body above 8 MiB says nothing.
    pub body: &'a str,
}

/// What an upstream counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Costs of queries.
    Points,
    /// Calls.
    Requests,
    /// Tokens of a language model.
    Tokens,
}

impl Unit {
    /// The name in all languages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Requests => "requests",
            Self::Tokens => "tokens",
        }
    }
}

/// When a budget is whole again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reset {
    /// This long after the answer was sent.
    After(Micros),
    /// At this time since 1970 by the upstream's clock, where the answer does not say what that clock showed.
    At(Micros),
}

/// Of whom a refusal is, where an upstream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One route for this caller.
    User,
    /// All of the API for this caller.
    Global,
    /// One resource for all callers: not this caller's fault.
    Shared,
}

impl Scope {
    /// The name in all languages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

/// One budget of an upstream as of an answer. Units are at most [`MAX_UNITS`], lengths and waits at most ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// What is counted.
    pub unit: Unit,
    /// What is left, rounded down; never above `limit`.
    pub remaining: Option<u64>,
    /// What there is at most, rounded down.
    pub limit: Option<u64>,
    /// From empty to full, for a budget that refills continuously.
    pub refill: Option<Micros>,
    /// The length of a fixed window, where it is known.
    pub window: Option<Micros>,
    /// When it is whole again.
    pub reset: Option<Reset>,
}

impl Budget {
    /// `None` when neither what is left nor what there is at most is known.
    fn new(unit: Unit, remaining: Option<u64>, limit: Option<u64>) -> Option<Self> {
        let limit = limit.map(|limit| limit.min(MAX_UNITS));
        let remaining = remaining.map(|remaining| remaining.min(limit.unwrap_or(MAX_UNITS)));
        (remaining.is_some() || limit.is_some()).then_some(Self {
            unit,
            remaining,
            limit,
            refill: None,
            window: None,
            reset: None,
        })
    }
}

/// What an answer says of the upstream's budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// What the call did cost in the provider's own unit, rounded up; zero when it was refused and cost nothing.
    pub actual: Option<u64>,
    /// Every budget the answer tells of, in the order of the provider's documentation.
    pub budgets: Vec<Budget>,
    /// No call should be made for this long; only of a refusal, never zero.
    pub pause: Option<Micros>,
    /// Whether the upstream refused this call for its limits.
    pub throttled: bool,
    /// Of whom the refusal is; only Discord tells.
    pub scope: Option<Scope>,
    /// What the upstream calls the budget that counted the call; only Discord tells.
    pub bucket: Option<String>,
    /// Whether the answer tells of a wait that only its status could explain, which was not given.
    pub needs_status: bool,
}

impl Feedback {
    /// Reads an answer; a pause longer than `max_pause` ([`MAX_PAUSE`] is a good choice) is cut to it.
    ///
    /// A pause comes from `Retry-After` in whole or decimal seconds, or as an HTTP date compared with the answer's own
    /// `Date` (60 seconds where that is missing), on 429 and 503, on 529 of Anthropic and on the refusals that GitHub,
    /// Shopify and Linear send with other codes. Without it a refused call waits for the budgets that are spent, as
    /// far as the answer says how long. Negative, malformed and overflowing numbers are as if they were not sent.
    pub fn read(provider: Provider, response: &Response<'_>, max_pause: Micros) -> Self {
        let mut answer = Answer::new(response);
        let named = if provider == Provider::Auto { recognise::provider(&answer) } else { provider };
        if response.status.is_none() {
            answer.status = recognise::status(named, &answer);
        }
        let mut feedback = if provider == Provider::Auto {
            let mut feedback = Self::of(named, &answer);
            if feedback.budgets.is_empty() {
                let plain = Self::of(recognise::by_common_header(&answer), &answer);
                feedback.budgets = plain.budgets;
                feedback.pause = feedback.pause.or(plain.pause);
            }
            feedback
        } else {
            Self::of(provider, &answer)
        };
        feedback.actual = feedback.actual.map(|actual| actual.min(MAX_UNITS));
        feedback.needs_status = response.status.is_none()
            && !feedback.throttled
            && feedback.pause.is_none()
            && answer.header("retry-after").is_some();
        feedback.pause = feedback.pause.map(|pause| pause.min(max_pause)).filter(|pause| pause.0 > 0);
        feedback
    }

    fn of(provider: Provider, answer: &Answer<'_>) -> Self {
        match provider {
            Provider::Auto => common::read(answer),
            Provider::Shopify => shopify::read(answer),
            Provider::GitHub => github::read(answer),
            Provider::Discord => discord::read(answer),
            Provider::Linear => linear::read(answer),
            Provider::Stripe => stripe::read(answer),
            Provider::OpenAi => openai::read(answer),
            Provider::Anthropic => anthropic::read(answer),
            Provider::Ietf => ietf::read(answer),
        }
    }

    /// How long until the last of the spent budgets is whole again, as far as the answer says.
    fn until_reset(&self) -> Option<Micros> {
        let spent = self.budgets.iter().filter(|budget| budget.remaining == Some(0));
        spent.filter_map(|budget| if let Some(Reset::After(wait)) = budget.reset { Some(wait) } else { None }).max()
    }
}
