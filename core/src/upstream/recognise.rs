//! Detects the providers by header names and by the shape of the body.
//!
//! [`Provider::Auto`] documents how.

use super::Provider;
use super::discord::is_block;
use super::github::is_about_limits;
use super::json::Json;
use super::parsed_response::{ParsedResponse, UNKNOWN, errors};
use super::{google, linear, shopify};

/// One way to read a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Of(Provider),
    Google,
    /// Headers that name their interval.
    Intervals,
}

/// Returns the families of headers that a response has, a provider's own first.
///
/// One header is no proof of a provider, so the others are read too. The common headers are left out where a provider gives
/// them another meaning.
pub(super) fn families(response: &ParsedResponse<'_>) -> Vec<Family> {
    const HEADERS: [(Provider, &[&str]); 6] = [
        (Provider::Anthropic, &["anthropic-"]),
        (Provider::Shopify, &["x-shopify-"]),
        (Provider::GitHub, &["x-github-", "x-ratelimit-resource"]),
        (
            Provider::Discord,
            &["x-ratelimit-bucket", "x-ratelimit-scope", "x-ratelimit-global", "x-ratelimit-reset-after"],
        ),
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
    let by_header = HEADERS.iter().filter(|(_, prefixes)| prefixes.iter().any(|prefix| response.has_prefix(prefix)));
    let mut providers: Vec<Provider> = by_header.map(|(provider, _)| *provider).collect();
    if linear::is_of(response) {
        providers.push(Provider::Linear);
    }
    providers.extend(by_body(response).filter(|provider| !providers.contains(provider)));
    let owns_common = providers.iter().any(|provider| matches!(provider, Provider::GitHub | Provider::Discord));
    let is_linear = providers.contains(&Provider::Linear);
    let mut families: Vec<Family> = providers.into_iter().map(Family::Of).collect();
    families.extend(google::is_of(response.body).then_some(Family::Google));
    families.extend((!is_linear).then_some(Family::Intervals));
    families.push(Family::Of(Provider::Ietf));
    families.extend((!owns_common).then_some(Family::Of(Provider::Auto)));
    families
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
            if is_body || is_header || is_block(response.body) { 429 } else { UNKNOWN }
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

fn by_body(response: &ParsedResponse<'_>) -> Option<Provider> {
    let [extensions, data, retry_after, global, usage, error, list] =
        response.body.pick(["extensions", "data", "retry_after", "global", "usage", "error", "errors"]);
    let is_throttled = errors(list).into_iter().any(shopify::is_throttled);
    if is_throttled || extensions.and_then(|extensions| extensions.get("cost")).is_some() {
        return Some(Provider::Shopify);
    }
    if data.and_then(|data| data.get("rateLimit")).is_some() {
        return Some(Provider::GitHub);
    }
    if retry_after.is_some() && global.is_some() || is_block(response.body) {
        return Some(Provider::Discord);
    }
    if error.and_then(|error| error.get("code")).and_then(Json::text).as_deref() == Some("rate_limit_exceeded") {
        return Some(Provider::OpenAi);
    }
    let [total, input] = usage?.pick(["total_tokens", "input_tokens"]);
    total.map(|_| Provider::OpenAi).or(input.map(|_| Provider::Anthropic))
}
