//! Discord: limits per route, in headers, and refusals with a scope.
//!
//! After <https://discord.com/developers/docs/topics/rate-limits>. The body's `retry_after` has decimals; the header
//! `Retry-After` is rounded up to whole seconds.

use super::decimal::seconds;
use super::json::Json;
use super::parsed_response::{ParsedResponse, reset_after};
use super::{Budget, Feedback, Reset, Scope, Unit};
use crate::base::micros::{MAX_SPAN, Micros};

/// The maximum length of a bucket name in bytes; the names are hashes.
const MAX_BUCKET: usize = 128;

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let wait = response.read("x-ratelimit-reset-after", seconds);
    let limits = (response.count("x-ratelimit-remaining"), response.count("x-ratelimit-limit"));
    if let Some(budget) = Budget::new(Unit::Requests, limits.0, limits.1) {
        let reset = wait.and_then(reset_after).or_else(|| response.reset("x-ratelimit-reset"));
        // Only in the response to the first call of a window is the reset the length of the window.
        let is_first = budget.limit.is_some() && budget.remaining.map(|left| left + 1) == budget.limit;
        let window = wait.filter(|wait| is_first && wait.0 > 0 && *wait <= MAX_SPAN).map(whole);
        feedback.budgets.push(Budget { window, reset, ..budget });
    }
    feedback.bucket = response.header("x-ratelimit-bucket").filter(|name| name.len() <= MAX_BUCKET).map(str::to_owned);
    if response.status == 429 {
        let [retry_after, global] = response.body.pick(["retry_after", "global"]);
        let body_wait = retry_after.and_then(Json::number).and_then(seconds);
        let wait = wait.map(Reset::After);
        feedback.wait_until(body_wait.map(Reset::After).or_else(|| response.retry_after()).or(wait));
        feedback.scope = if is_block(response.body) { Some(Scope::Global) } else { scope(response, global) };
    }
    response.settle(&mut feedback);
    feedback
}

/// Restores the length of a window from its remaining time: rounds up to whole seconds, except below half a second.
pub(super) fn whole(rest: Micros) -> Micros {
    const SECOND: u64 = 1_000_000;
    if rest.0 <= SECOND / 2 { rest } else { Micros(rest.0.div_ceil(SECOND) * SECOND) }
}

/// Returns whether a refusal is a block of the address, which no route has caused: code 0 and a message of its own.
pub(super) fn is_block(body: Json<'_>) -> bool {
    let [code, message] = body.pick(["code", "message"]);
    let text = message.and_then(Json::text).unwrap_or_default();
    code.and_then(Json::number) == Some("0") && text.starts_with("You are being blocked from accessing our API")
}

fn scope(response: &ParsedResponse<'_>, global: Option<Json<'_>>) -> Option<Scope> {
    let is_global = response.header("x-ratelimit-global") == Some("true") || global.is_some_and(Json::is_true);
    match response.header("x-ratelimit-scope") {
        _ if is_global => Some(Scope::Global),
        Some("global") => Some(Scope::Global),
        Some("shared") => Some(Scope::Shared),
        Some("user") => Some(Scope::User),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Provider, Reset};
    use super::*;

    #[test]
    fn every_answer_tells_its_bucket() {
        let mut headers = vec![
            ("X-RateLimit-Limit", "5"),
            ("X-RateLimit-Remaining", "0"),
            ("X-RateLimit-Reset", "1470173023.5"),
            ("X-RateLimit-Reset-After", "1.0000001"),
            ("X-RateLimit-Bucket", "abcd1234"),
        ];
        let feedback = read(Provider::Auto, 200, &headers, "{}");
        let [budget] = feedback.budgets[..] else { panic!("{feedback:?}") };
        assert_eq!((budget.unit, budget.remaining, budget.limit), (Unit::Requests, Some(0), Some(5)));
        assert_eq!(budget.reset, Some(Reset::After(Micros(1_000_001))));
        assert_eq!((feedback.pause, feedback.throttled, feedback.scope), (None, false, None));
        headers.remove(3);
        let feedback = read(Provider::Auto, 200, &headers, "{}");
        assert_eq!(feedback.budgets[0].reset, Some(Reset::At(Micros(1_470_173_023_500_000))));
    }

    #[test]
    fn a_refusal_pauses_for_its_decimals() {
        let headers = [
            ("Retry-After", "65"),
            ("X-RateLimit-Limit", "10"),
            ("X-RateLimit-Remaining", "0"),
            ("X-RateLimit-Reset", "1470173023"),
            ("X-RateLimit-Reset-After", "64.57"),
            ("X-RateLimit-Bucket", "abcd1234"),
            ("X-RateLimit-Scope", "user"),
        ];
        let body = r#"{"message":"You are being rate limited.","retry_after":64.57,"global":false}"#;
        let feedback = read(Provider::Auto, 429, &headers, body);
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(64_570_000))));
        assert_eq!(feedback.scope, Some(Scope::User));
        let feedback = read(Provider::Discord, 429, &headers, "not json");
        assert_eq!(feedback.pause, Some(Micros(65_000_000)));
        assert_eq!(read(Provider::Discord, 429, &headers[1..], "").pause, Some(Micros(64_570_000)));
    }

    #[test]
    fn a_window_of_more_than_ten_years_is_ignored() {
        for rest in ["18446744073709.551615", "18446744073709.000001", "315360000.000001"] {
            let headers = [
                ("X-RateLimit-Limit", "5"),
                ("X-RateLimit-Remaining", "4"),
                ("X-RateLimit-Reset-After", rest),
                ("X-RateLimit-Bucket", "abcd1234"),
            ];
            let feedback = read(Provider::Auto, 200, &headers, "{}");
            let [budget] = feedback.budgets[..] else { panic!("{feedback:?}") };
            assert_eq!((budget.limit, budget.window, budget.reset), (Some(5), None, None), "{rest}");
        }
    }

    #[test]
    fn a_block_of_the_address_is_of_the_bot() {
        let body =
            r#"{"message":"You are being blocked from accessing our API temporarily due to exceeding our rate limits
            frequently. Please read our docs at https://discord.com/developers/docs","code":0}"#
                .replace('\n', " ");
        for provider in [Provider::Discord, Provider::Auto] {
            let feedback = read(provider, 429, &[("Retry-After", "900")], &body);
            assert_eq!((feedback.scope, feedback.pause), (Some(Scope::Global), Some(Micros(900_000_000))));
        }
        let of_route = r#"{"message":"You are being rate limited.","retry_after":1,"global":false,"code":0}"#;
        assert_eq!(read(Provider::Discord, 429, &[], of_route).scope, None);
    }

    #[test]
    fn a_refusal_may_be_global_or_shared() {
        let body = r#"{"message":"You are being rate limited.","retry_after":64.57,"global":true}"#;
        let feedback = read(Provider::Auto, 429, &[("Retry-After", "65"), ("X-RateLimit-Global", "true")], body);
        assert_eq!((feedback.scope, feedback.pause), (Some(Scope::Global), Some(Micros(64_570_000))));
        assert_eq!(read(Provider::Auto, 429, &[], body).scope, Some(Scope::Global));
        let shared = read(Provider::Auto, 429, &[("Retry-After", "1337"), ("X-RateLimit-Scope", "shared")], "");
        assert_eq!((shared.scope, shared.pause), (Some(Scope::Shared), Some(Micros(1_337_000_000))));
    }
}
