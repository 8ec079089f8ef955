//! Budgets of upstream APIs, as reported in headers, bodies and refusals.
//!
//! [`Feedback::read`] takes status, headers and body of a response and returns the actual cost of the call, the
//! remaining units per budget, and the length of a pause. It reads no clock, does no I/O and never fails: anything it
//! cannot parse is ignored.
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

mod anthropic;
mod common;
mod decimal;
mod discord;
mod discord_route;
mod github;
mod google;
pub(crate) mod graphql_cost;
mod ietf;
mod intervals;
mod json;
mod limiter_update;
mod linear;
mod openai;
mod parsed_response;
mod recognise;
mod shopify;
mod stream_usage;
mod stripe;
mod structured;
#[cfg(test)]
mod tests;

pub use discord_route::{DiscordRoute, discord_window};
pub use limiter_update::LimiterUpdate;
use parsed_response::ParsedResponse;
use recognise::Family;
pub use stream_usage::{MAX_STREAM_USAGE, StreamUsage};

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_TIME, Micros};
use crate::model::limit::MAX_UNITS;

/// The default limit on a pause requested by an upstream: one hour.
pub const MAX_PAUSE: Micros = Micros(3_600_000_000);

/// The default factor by which an upstream may raise a policy's own limit. The caller can set a limit in units instead.
pub const LEARNED_FACTOR: u64 = 10;

/// The provider of a response, which defines the meaning of headers and bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Detected in each response, of which every family is read:
    ///
    /// - headers that begin with `anthropic-`: Anthropic; `x-shopify-`: Shopify; `x-github-` or `x-ratelimit-resource`: GitHub;
    ///   `x-ratelimit-bucket`, `-scope`, `-global` or `-reset-after`: Discord; `openai-` or
    ///   `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`: `OpenAI`; `stripe-`: Stripe;
    /// - `x-complexity`, `x-ratelimit-complexity-`, or `x-ratelimit-requests-reset` in milliseconds since 1970: Linear;
    /// - the body: `extensions.cost` is Shopify's, `data.rateLimit` GitHub's, `retry_after` with `global` Discord's,
    ///   `usage.total_tokens` and `error.code` of `rate_limit_exceeded` `OpenAI`'s, `usage.input_tokens` Anthropic's,
    ///   `usageMetadata`, `RetryInfo` and `userRateLimitExceeded` Google's;
    /// - headers with an interval in their names, `X-RateLimit-Limit-Minute` (Kong), `x-ratelimit-limit-tokens-minute` (Mistral,
    ///   Cerebras); `X-RateLimit-Requests-Limit` (`RapidAPI`); `X-HubSpot-RateLimit-`;
    /// - `RateLimit`, `RateLimit-...`: IETF;
    /// - the common `X-RateLimit-Limit`, `-Remaining` and `-Reset`, also as `X-Rate-Limit-`, and `Retry-After`, unless the
    ///   response is GitHub's or Discord's. A number up to ten years is in seconds from now, a larger one in seconds since 1970,
    ///   one too large for that in milliseconds since 1970; durations (`60s`), RFC 3339 and HTTP dates are accepted too.
    ///
    /// Of a budget that two families report the first counts, and the other completes it.
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
    /// The REST API, which reports refusals only.
    Stripe,
    /// `OpenAI` and services with the same headers (Azure, Groq): requests and tokens.
    OpenAi,
    /// The Claude API: requests, tokens, input tokens, output tokens.
    Anthropic,
    /// The fields `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers, 03 to 11.
    Ietf,
}

impl Provider {
    /// All providers.
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

    /// Returns the name used in all languages.
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

    /// Returns the provider with this name, or an error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Provider;
    /// assert_eq!(Provider::from_name("github")?, Provider::GitHub);
    /// assert_eq!(Provider::from_name("gitlab").unwrap_err().argument(), Some("provider"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let shown: String = name.chars().take(40).collect();
            Error::invalid("provider", format!("must be one of {names}: provider={shown:?}"))
        })
    }
}

/// An HTTP response.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The status code, if known. Without it a response is a refusal only if the provider's documentation ties its
    /// content to one.
    pub status: Option<u16>,
    /// Names and values; names are case-insensitive. Values above 4 KiB are ignored.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body as text, empty if unavailable. A body above 8 MiB is ignored.
    pub body: &'a str,
}

/// The unit of an upstream budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Costs of queries.
    Points,
    /// Calls.
    Requests,
    /// Tokens of a language model, input and output together.
    Tokens,
    /// Tokens that a language model reads.
    InputTokens,
    /// Tokens that a language model writes.
    OutputTokens,
}

impl Unit {
    /// Returns the name used in all languages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
        }
    }
}

/// The time at which a budget is full again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reset {
    /// This long after the response was sent.
    After(Micros),
    /// At this time since 1970 by the upstream's clock, if the response has no `Date`.
    At(Micros),
}

impl Reset {
    /// Returns the later of two; a span before a time, which is of another clock.
    fn later(self, other: Self) -> Self {
        match (self, other) {
            (Self::After(one), Self::After(two)) => Self::After(one.max(two)),
            (Self::At(one), Self::At(two)) => Self::At(one.max(two)),
            (Self::After(_), _) => self,
            _ => other,
        }
    }
}

/// The scope of a refusal, if the upstream reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One route for this caller.
    User,
    /// All of the API for this caller.
    Global,
    /// One resource for all callers: not caused by this caller.
    Shared,
}

impl Scope {
    /// Returns the name used in all languages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

/// One budget of an upstream at the time of a response. Units are at most [`MAX_UNITS`], durations at most ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// The counted unit.
    pub unit: Unit,
    /// The remaining units, rounded down; never above `limit`.
    pub remaining: Option<u64>,
    /// The limit, rounded down.
    pub limit: Option<u64>,
    /// The time from empty to full, for a budget that refills continuously.
    pub refill: Option<Micros>,
    /// The interval for which the limit is meant, if known: the length of a fixed window, or a minute for "per minute".
    pub window: Option<Micros>,
    /// The time at which the budget is full again.
    pub reset: Option<Reset>,
}

impl Budget {
    /// Returns `None` when neither remaining nor limit is known.
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

/// The contents of a response about the upstream's budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub struct Feedback {
    /// The actual cost of the call in the provider's own unit, rounded up; zero when it was refused at no cost.
    pub actual: Option<u64>,
    /// The input tokens of `actual`; language models only.
    pub actual_input: Option<u64>,
    /// The output tokens of `actual`; language models only.
    pub actual_output: Option<u64>,
    /// All reported budgets, in the order of the provider's documentation.
    pub budgets: Vec<Budget>,
    /// The time during which no call should be made; only after a refusal, never zero.
    pub pause: Option<Micros>,
    /// The end of the pause since 1970 by the upstream's clock, where the response has no `Date`; then `pause` is `None`.
    pub pause_at: Option<Micros>,
    /// Whether the pause is the time until a budget resets, and not one that the response asks for.
    pub is_until_reset: bool,
    /// Whether the response says that the next call may be made at once.
    pub is_at_once: bool,
    /// Whether the upstream refused this call because of its limits.
    pub throttled: bool,
    /// The scope of the refusal; Discord only.
    pub scope: Option<Scope>,
    /// The upstream's name of the budget that was charged; Discord only.
    pub bucket: Option<String>,
    /// The upstream's name of the resource that was charged, if it is not one of nearly all calls; GitHub only.
    pub resource: Option<String>,
    /// The values that were not understood, with the names of their headers.
    pub unread: Vec<String>,
    /// Whether the response contains a wait that cannot be interpreted because the status is missing.
    pub needs_status: bool,
}

impl Feedback {
    /// Reads a response; a pause longer than `max_pause` is shortened to it ([`MAX_PAUSE`] is a good choice).
    ///
    /// A pause comes from `Retry-After` in whole or decimal seconds, or as an HTTP date compared with the response's
    /// own `Date` (60 seconds if that is missing), or as a time since 1970, on 429 and 503, on Anthropic's 529 and on the
    /// refusals that GitHub, Shopify, Linear and Google send with other codes. Without it a refused call waits as long as the
    /// message of the error says, or for the reset of the exhausted budgets, if the response reports it. What is not
    /// understood is in `unread`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Feedback, MAX_PAUSE, Micros, Provider};
    /// # use paddlegate::upstream::Response;
    /// let headers = [("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "0"), ("Retry-After", "30")];
    /// let response = Response { status: Some(429), headers: &headers, body: "" };
    /// let feedback = Feedback::read(Provider::Auto, &response, MAX_PAUSE);
    /// assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(30_000_000))));
    /// assert_eq!((feedback.budgets[0].remaining, feedback.budgets[0].limit), (Some(0), Some(60)));
    /// ```
    pub fn read(provider: Provider, response: &Response<'_>, max_pause: Micros) -> Self {
        let mut parsed = ParsedResponse::new(response);
        let families = match provider {
            Provider::Auto => recognise::families(&parsed),
            provider => vec![Family::Of(provider)],
        };
        if let (None, Some(Family::Of(first))) = (response.status, families.first()) {
            parsed.status = recognise::status(*first, &parsed);
        }
        let mut feedback = Self::default();
        for (at, family) in families.into_iter().enumerate() {
            let (read, is_general) = match family {
                Family::Of(provider) => {
                    (Self::of(provider, &parsed), matches!(provider, Provider::Auto | Provider::Ietf))
                }
                Family::Google => (google::read(&parsed), false),
                Family::Intervals => (intervals::read(&parsed), true),
            };
            // Whether a call was refused is for its provider to say.
            feedback.merge(read, at == 0 || !is_general);
        }
        for actual in [&mut feedback.actual, &mut feedback.actual_input, &mut feedback.actual_output] {
            *actual = actual.map(|actual| actual.min(MAX_UNITS));
        }
        let waits = feedback.pause.is_some() || feedback.pause_at.is_some();
        feedback.needs_status =
            response.status.is_none() && !feedback.throttled && !waits && parsed.header("retry-after").is_some();
        feedback.is_at_once = feedback.pause == Some(Micros(0));
        feedback.pause = feedback.pause.map(|pause| pause.min(max_pause)).filter(|pause| pause.0 > 0);
        feedback.unread = parsed.into_unread();
        feedback
    }

    /// Returns the same with this pause if the upstream refused the call and the response does not say for how long.
    ///
    /// A reported rest with a rate says so too: the next call waits for its units.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Feedback, MAX_PAUSE, Micros, Provider};
    /// # use paddlegate::upstream::Response;
    /// let response = Response { status: Some(429), headers: &[], body: "" };
    /// let feedback = Feedback::read(Provider::Auto, &response, MAX_PAUSE);
    /// assert_eq!(feedback.pause, None);
    /// assert_eq!(feedback.with_default_pause(Micros(1_000_000)).pause, Some(Micros(1_000_000)));
    /// ```
    #[must_use]
    pub fn with_default_pause(mut self, pause: Micros) -> Self {
        let is_meter = |budget: &Budget| budget.remaining.is_some() && budget.refill.is_some();
        let is_timed = self.is_at_once || self.pause_at.is_some() || self.budgets.iter().any(is_meter);
        if self.throttled && !is_timed && pause.0 > 0 {
            self.pause = self.pause.or(Some(pause));
        }
        self
    }

    /// Adds what another family says: budgets that are not known yet, and what is missing.
    fn merge(&mut self, other: Self, is_of_provider: bool) {
        if self.actual.is_none() {
            (self.actual, self.actual_input, self.actual_output) =
                (other.actual, other.actual_input, other.actual_output);
        }
        for budget in other.budgets {
            let is_rest = |known: &Budget| budget.limit.is_none() && known.remaining == budget.remaining;
            let is_same =
                |known: &&mut Budget| known.unit == budget.unit && (known.limit == budget.limit || is_rest(known));
            match self.budgets.iter_mut().find(is_same) {
                Some(known) => {
                    known.remaining = known.remaining.or(budget.remaining);
                    known.window = known.window.or(budget.window.filter(|_| known.refill.is_none()));
                    known.reset = known.reset.or(budget.reset);
                }
                None => self.budgets.push(budget),
            }
        }
        if self.pause.is_none() && self.pause_at.is_none() {
            (self.pause, self.pause_at, self.is_until_reset) = (other.pause, other.pause_at, other.is_until_reset);
        }
        self.throttled |= other.throttled && is_of_provider;
        self.scope = self.scope.or(other.scope);
        self.bucket = self.bucket.take().or(other.bucket);
        self.resource = self.resource.take().or(other.resource);
    }

    /// Notes a wait, unless there is one.
    fn wait_until(&mut self, wait: Option<Reset>) {
        if self.pause.is_none() && self.pause_at.is_none() {
            match wait {
                Some(Reset::After(wait)) => self.pause = Some(wait),
                Some(Reset::At(time)) => self.pause_at = Some(time).filter(|time| *time < MAX_TIME),
                None => {}
            }
        }
    }

    fn of(provider: Provider, response: &ParsedResponse<'_>) -> Self {
        match provider {
            Provider::Auto => common::read(response),
            Provider::Shopify => shopify::read(response),
            Provider::GitHub => github::read(response),
            Provider::Discord => discord::read(response),
            Provider::Linear => linear::read(response),
            Provider::Stripe => stripe::read(response),
            Provider::OpenAi => openai::read(response),
            Provider::Anthropic => anthropic::read(response),
            Provider::Ietf => ietf::read(response),
        }
    }

    /// Returns when the last of the exhausted budgets is full again, if reported.
    fn until_reset(&self) -> Option<Reset> {
        let spent = self.budgets.iter().filter(|budget| budget.remaining == Some(0));
        spent.filter_map(|budget| budget.reset).reduce(Reset::later)
    }
}
