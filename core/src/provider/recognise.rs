//! Whose answer it is, by the names of its headers and the shape of its body.
//!
//! The order is told at [`Provider::Auto`].

use super::Provider;
use super::answer::Answer;

/// [`Provider::Auto`] when nobody is recognised.
pub(super) fn provider(answer: &Answer<'_>) -> Provider {
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
    let by_header = HEADERS.iter().find(|(_, prefixes)| prefixes.iter().any(|prefix| answer.has_prefix(prefix)));
    by_header.map(|(provider, _)| *provider).or_else(|| by_body(answer)).unwrap_or_else(|| by_common_header(answer))
}

/// IETF or [`Provider::Auto`], which names nobody.
pub(super) fn by_common_header(answer: &Answer<'_>) -> Provider {
    let ietf = answer.header("ratelimit").is_some() || answer.has_prefix("ratelimit-");
    if ietf { Provider::Ietf } else { Provider::Auto }
}

fn by_body(answer: &Answer<'_>) -> Option<Provider> {
    let [extensions, data, retry_after, global, usage] =
        answer.body.pick(["extensions", "data", "retry_after", "global", "usage"]);
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
