//! Detects the provider by header names and by the shape of the body.
//!
//! [`Provider::Auto`] documents the order.

use super::Provider;
use super::github::is_about_limits;
use super::json::Json;
use super::parsed_response::{ParsedResponse, UNKNOWN};

/// Returns the detected provider, or [`Provider::Auto`].
pub(super) fn provider(response: &ParsedResponse<'_>) -> Provider {
    const HEADERS: [(Provider, &[&str]); 7] = [
        (Provider::Anthropic, &["anthropic-"]),
        (Provider::Shopify, &["x-shopify-"]),
        (Provider::GitHub, &["x-github-", "x-ratelimit-resource"]),
        (
            Provider::Discord,
            &["x-ratelimit-bucket", "x-ratelimit-scope", "x-ratelimit-global", "x-ratelimit-reset-after"],
        ),
        (Provider::Linear, &["x-complexity", "x-ratelimit-requests-", "x-ratelimit-complexity-"]),
        (
            Provider::OpenAi,
            &[
                "openai-",
                "x-ratelimit-limit-requests",
                "x-ratelimit-limit-tokens",
                "x-ratelimit-remaining-requests",
                "x-ratelimit-remaining-tokens",
                "x-ratelimit-reset-requests",
                "x-ratelimit-reset-tokens",
            ],
        ),
        (Provider::Stripe, &["stripe-"]),
    ];
    let by_header = HEADERS.iter().find(|(_, prefixes)| prefixes.iter().any(|prefix| response.has_prefix(prefix)));
    by_header.map(|(provider, _)| *provider).or_else(|| by_body(response)).unwrap_or_else(|| by_common_header(response))
}

/// Returns the status of a response that must be a refusal by the provider's documentation; otherwise [`UNKNOWN`].
///
/// Discord sends `X-RateLimit-Scope`, `-Global` and a body with `retry_after` and `global` only with 429, and Stripe
/// its `Stripe-Rate-Limited-Reason`; `OpenAI`, Anthropic and GitHub name the reason in their errors. Refusals by
/// Shopify, Linear and GitHub's GraphQL API are in the body, with any status.
pub(super) fn status(provider: Provider, response: &ParsedResponse<'_>) -> u16 {
    let error = |name| response.body.get("error").and_then(|error: Json<'_>| error.get(name)).and_then(Json::text);
    match provider {
        Provider::Discord => {
            let [retry_after, global] = response.body.pick(["retry_after", "global"]);
            let is_body = retry_after.and_then(Json::number).is_some() && global.is_some();
            let is_header = response.has_prefix("x-ratelimit-scope") || response.has_prefix("x-ratelimit-global");
            if is_body || is_header { 429 } else { UNKNOWN }
        }
        Provider::Stripe if response.header("stripe-rate-limited-reason").is_some() => 429,
        Provider::OpenAi if error("code").as_deref() == Some("rate_limit_exceeded") => 429,
        Provider::Anthropic => match error("type").as_deref() {
            Some("rate_limit_error") => 429,
            Some("overloaded_error") => 529,
            _ => UNKNOWN,
        },
        Provider::GitHub if response.body.get("message").is_some_and(is_about_limits) => 403,
        _ => UNKNOWN,
    }
}

/// Returns IETF or, without its headers, [`Provider::Auto`].
pub(super) fn by_common_header(response: &ParsedResponse<'_>) -> Provider {
    let ietf = response.header("ratelimit").is_some() || response.has_prefix("ratelimit-");
    if ietf { Provider::Ietf } else { Provider::Auto }
}

fn by_body(response: &ParsedResponse<'_>) -> Option<Provider> {
    let [extensions, data, retry_after, global, usage] =
        response.body.pick(["extensions", "data", "retry_after", "global", "usage"]);
    if extensions.and_then(|extensions| extensions.get("cost")).is_some() {
        return Some(Provider::Shopify);
    }
    if data.and_then(|data| data.get("rateLimit")).is_some() {
        return Some(Provider::GitHub);
    }
    if retry_after.is_some() && global.is_some() {
        return Some(Provider::Discord);
    }
    let [total, input] = usage?.pick(["total_tokens", "input_tokens"]);
    total.map(|_| Provider::OpenAi).or(input.map(|_| Provider::Anthropic))
}
