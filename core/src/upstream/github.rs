//! GitHub: budgets per hour, and secondary limits that appear only in refusals.
//!
//! After <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api> and
//! <https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api>. A refusal has status
//! 403, 429, or from GraphQL 200 with an error.

use super::decimal::{rfc3339, units_down, units_up};
use super::json::Json;
use super::parsed_response::{ParsedResponse, UNKNOWN_WAIT, errors};
use super::{Budget, Feedback, Reset, Unit};
use crate::base::micros::Micros;

const HOUR: Micros = Micros(3_600_000_000);
const MINUTE: Micros = Micros(60_000_000);
const GRAPHQL: &str = "graphql";
/// The resources of nearly all calls.
const MAIN: [&str; 2] = ["core", GRAPHQL];

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let [data, list, message] = response.body.pick(["data", "errors", "message"]);
    let rate_limit = data.and_then(|data| data.get("rateLimit"));
    feedback.actual = rate_limit.and_then(|rate_limit| rate_limit.get("cost")?.number()).and_then(units_up);
    feedback.budgets.extend(
        match (headers(response), rate_limit.and_then(|rate_limit| points(response, rate_limit))) {
            (Some(header), Some(body)) if header.unit == body.unit => [Some(merged(header, body)), None],
            (header, body) => [header, body],
        }
        .into_iter()
        .flatten(),
    );
    let forbidden = response.status == 403
        && (feedback.budgets.iter().any(|budget| budget.remaining == Some(0))
            || response.header("retry-after").is_some()
            || message.is_some_and(is_about_limits));
    feedback.throttled = forbidden || response.status == 429 || errors(list).into_iter().any(is_limited);
    response.settle(&mut feedback);
    if feedback.throttled {
        feedback.wait_until(Some(Reset::After(UNKNOWN_WAIT)));
    }
    feedback.resource = response.header("x-ratelimit-resource").filter(|name| !MAIN.contains(name)).map(shown);
    feedback
}

fn headers(response: &ParsedResponse<'_>) -> Option<Budget> {
    let resource = response.header("x-ratelimit-resource");
    let unit = if resource == Some(GRAPHQL) { Unit::Points } else { Unit::Requests };
    let budget = Budget::new(unit, response.count("x-ratelimit-remaining"), response.count("x-ratelimit-limit"))?;
    Some(Budget { window: window(resource), reset: response.reset("x-ratelimit-reset"), ..budget })
}

fn points(response: &ParsedResponse<'_>, rate_limit: Json<'_>) -> Option<Budget> {
    let [limit, remaining, reset] = rate_limit.pick(["limit", "remaining", "resetAt"]);
    let [limit, remaining] = [limit, remaining].map(|member| member.and_then(Json::number).and_then(units_down));
    let budget = Budget::new(Unit::Points, remaining, limit)?;
    let time = reset.and_then(Json::text).and_then(|text| rfc3339(&text));
    Some(Budget { window: window(Some(GRAPHQL)), reset: time.and_then(|time| response.reset_at(time)), ..budget })
}

/// Merges the budgets of headers and body, which are the same; the lower remaining counts.
fn merged(header: Budget, body: Budget) -> Budget {
    let remaining = [header.remaining, body.remaining].into_iter().flatten().min();
    let limit = body.limit.or(header.limit);
    let reset: Option<Reset> = body.reset.or(header.reset);
    let budget = Budget::new(body.unit, remaining, limit).unwrap_or(body);
    Budget { window: body.window, reset, ..budget }
}

fn shown(resource: &str) -> String {
    resource.chars().take(40).collect()
}

/// Returns the published window of a resource; hourly for responses without a resource. Others that are hourly have the
/// interval of the core, so that only a label tells them from it.
fn window(resource: Option<&str>) -> Option<Micros> {
    match resource {
        None | Some("core" | GRAPHQL) => Some(HOUR),
        Some("search" | "code_search" | "dependency_snapshots" | "dependency_sbom" | "source_import") => Some(MINUTE),
        Some(_) => None,
    }
}

fn is_limited(error: Json<'_>) -> bool {
    let [kind, code, message] = error.pick(["type", "code", "message"]);
    let [kind, code] = [kind, code].map(|member| member.and_then(Json::text));
    match (kind.as_deref(), code.as_deref()) {
        (None, None) => message.is_some_and(is_about_limits),
        (kind, code) => matches!(kind, Some("RATE_LIMITED" | "RATE_LIMIT")) || code == Some("graphql_rate_limit"),
    }
}

/// Returns whether a message is one of GitHub's about limits.
///
/// Only the beginning counts: messages about other errors quote what the caller wrote, such as a name.
pub(super) fn is_about_limits(message: Json<'_>) -> bool {
    const BEGINNINGS: [&str; 3] = [
        "api rate limit ",
        "you have exceeded a secondary rate limit",
        "you have triggered an abuse detection mechanism",
    ];
    let text = message.text().unwrap_or_default().to_ascii_lowercase();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{MAX_PAUSE, Provider};
    use super::*;

    const QUERY: &str = r#"{"data":{"viewer":{"login":"octocat"},"rateLimit":{"limit":5000,"cost":1,"remaining":4999,
        "used":1,"resetAt":"2025-01-01T01:00:00Z"}}}"#;
    const RESET: &str = "1735693200";
    const DATE: (&str, &str) = ("Date", "Wed, 01 Jan 2025 00:30:00 GMT");

    #[test]
    fn graphql_tells_cost_and_budget_in_the_body() {
        let feedback = read(Provider::Auto, 200, &[], QUERY);
        assert_eq!(feedback.actual, Some(1));
        let [budget] = feedback.budgets[..] else { panic!("{feedback:?}") };
        assert_eq!((budget.unit, budget.remaining, budget.limit), (Unit::Points, Some(4999), Some(5000)));
        assert_eq!((budget.window, budget.refill), (Some(HOUR), None));
        assert_eq!(budget.reset, Some(Reset::At(Micros(1_735_693_200_000_000))));
        assert_eq!((feedback.pause, feedback.throttled), (None, false));
    }

    #[test]
    fn headers_and_body_of_graphql_are_one_budget() {
        let headers = [
            ("X-RateLimit-Limit", "5000"),
            ("X-RateLimit-Remaining", "4990"),
            ("X-RateLimit-Used", "10"),
            ("X-RateLimit-Reset", RESET),
            ("X-RateLimit-Resource", "graphql"),
            DATE,
        ];
        let feedback = read(Provider::Auto, 200, &headers, QUERY);
        let [budget] = feedback.budgets[..] else { panic!("{feedback:?}") };
        assert_eq!((budget.remaining, budget.reset), (Some(4990), Some(Reset::After(Micros(1_800_000_000)))));
    }

    #[test]
    fn rest_has_requests_per_hour_or_minute() {
        for (resource, window) in [("core", Some(HOUR)), ("search", Some(MINUTE)), ("new_thing", None)] {
            let headers = [
                ("x-ratelimit-limit", "60"),
                ("x-ratelimit-remaining", "59"),
                ("x-ratelimit-reset", RESET),
                ("x-ratelimit-resource", resource),
            ];
            let feedback = read(Provider::GitHub, 200, &headers, "[]");
            assert_eq!((feedback.budgets[0].unit, feedback.budgets[0].window), (Unit::Requests, window));
        }
    }

    #[test]
    fn spent_waits_for_the_reset() {
        let headers =
            [("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", RESET), DATE];
        let body = r#"{"message":"API rate limit exceeded for user ID 1."}"#;
        for status in [403, 429] {
            let feedback = read(Provider::GitHub, status, &headers, body);
            assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(1_800_000_000))));
        }
        let granted = read(Provider::GitHub, 200, &headers, "[]");
        assert_eq!((granted.throttled, granted.pause), (false, None));
        let graphql = r#"{"errors":[{"type":"RATE_LIMIT","code":"graphql_rate_limit",
            "message":"API rate limit already exceeded for user ID 1."}]}"#;
        let feedback = read(Provider::GitHub, 200, &headers, graphql);
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(1_800_000_000))));
        let no_date = read(Provider::GitHub, 403, &headers[..3], body);
        assert_eq!((no_date.pause, no_date.pause_at), (None, Some(Micros(1_735_693_200_000_000))));
        let far = [headers[1], headers[2], ("Date", "Tue, 31 Dec 2024 00:00:00 GMT")];
        assert_eq!(read(Provider::GitHub, 403, &far, body).pause, Some(MAX_PAUSE));
    }

    #[test]
    fn secondary_limits_wait_for_retry_after_or_a_minute() {
        let body = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes."}"#;
        let left = ("x-ratelimit-remaining", "4000");
        let feedback = read(Provider::GitHub, 403, &[left], body);
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(UNKNOWN_WAIT)));
        let feedback = read(Provider::GitHub, 403, &[left, ("Retry-After", "17")], "");
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(17_000_000))));
    }

    #[test]
    fn graphql_errors_are_told_by_their_type_or_by_the_beginnings_of_githubs_messages() {
        for error in [
            r#""type":"RATE_LIMITED","message":"API rate limit exceeded for user ID 1.""#,
            r#""code":"graphql_rate_limit","message":"API rate limit already exceeded for user ID 1.""#,
            r#""message":"API rate limit exceeded for installation ID 1.""#,
            r#""message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.""#,
            r#""message":"You have triggered an abuse detection mechanism. Please wait a few minutes.""#,
            r#""type":null,"message":"You have exceeded a secondary rate limit and have been temporarily blocked.""#,
        ] {
            let feedback = read(Provider::GitHub, 200, &[], &format!(r#"{{"errors":[{{{error}}}]}}"#));
            assert_eq!((feedback.throttled, feedback.pause), (true, Some(UNKNOWN_WAIT)), "{error}");
        }
        // Errors quote what the caller wrote.
        for error in [
            r#""type":"NOT_FOUND","message":"Could not resolve to a Repository with the name 'acme/secondary rate limit'.""#,
            r#""type":"NOT_FOUND","message":"Could not resolve to a User with the login of 'abuse detection'.""#,
            r#""message":"Argument 'name' on Field 'x' has an invalid value (\"API rate limit exceeded\").""#,
        ] {
            let feedback = read(Provider::GitHub, 200, &[], &format!(r#"{{"data":null,"errors":[{{{error}}}]}}"#));
            assert_eq!((feedback.throttled, feedback.pause), (false, None), "{error}");
        }
    }

    #[test]
    fn forbidden_for_other_reasons_is_not_throttled() {
        let body = r#"{"message":"Resource not accessible by integration"}"#;
        let feedback = read(Provider::GitHub, 403, &[("x-ratelimit-remaining", "4000")], body);
        assert_eq!((feedback.throttled, feedback.pause), (false, None));
        let found = r#"{"data":{"search":{"title":"You have exceeded a secondary rate limit"}}}"#;
        assert!(!read(Provider::GitHub, 200, &[], found).throttled);
    }
}
