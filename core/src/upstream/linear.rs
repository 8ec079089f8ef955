//! Linear: a budget of requests and a budget of complexity, both refilled continuously over an hour.
//!
//! After <https://linear.app/developers/rate-limiting>. A refusal has HTTP status 400 and the code `RATELIMITED`; if
//! several budgets are spent, the later reset applies. Resets are in milliseconds since 1970.

use super::decimal::{seconds, units_up};
use super::json::Json;
use super::parsed_response::{ParsedResponse, errors};
use super::{Budget, Feedback, Unit};
use crate::base::micros::{MAX_TIME, Micros};

/// The period of every published limit.
const REFILL: Micros = Micros(3_600_000_000);

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let throttled = response.status == 429 || errors(response.body.get("errors")).into_iter().any(is_limited);
    let mut feedback = Feedback { throttled, ..Feedback::default() };
    if !throttled {
        feedback.actual = response.header("x-complexity").and_then(units_up);
    }
    feedback.budgets.extend(budget(response, Unit::Requests, "requests"));
    feedback.budgets.extend(budget(response, Unit::Points, "complexity"));
    // Limits of single endpoints are not the caller's budget, but one of them may have caused the refusal.
    let mut all = feedback.clone();
    all.budgets.extend(budget(response, Unit::Requests, "endpoint-requests"));
    all.budgets.extend(budget(response, Unit::Points, "endpoint-complexity"));
    response.settle(&mut all);
    Feedback { budgets: feedback.budgets, ..all }
}

fn budget(response: &ParsedResponse<'_>, unit: Unit, name: &str) -> Option<Budget> {
    let header = |last: &str| format!("x-ratelimit-{name}-{last}");
    let [remaining, limit] = ["remaining", "limit"].map(|last| response.count(&header(last)));
    let reset = response.reset(&header("reset"));
    Some(Budget { refill: Some(REFILL), reset, ..Budget::new(unit, remaining, limit)? })
}

/// Returns whether a response is Linear's. Others have headers of requests too, whose reset is a time from now.
pub(super) fn is_of(response: &ParsedResponse<'_>) -> bool {
    let is_complexity = ["x-complexity", "x-ratelimit-complexity-"].iter().any(|prefix| response.has_prefix(prefix));
    let reset = response.header("x-ratelimit-requests-reset").and_then(seconds);
    let is_refused = errors(response.body.get("errors")).into_iter().any(is_limited);
    is_complexity || is_refused || reset.is_some_and(|reset| reset > MAX_TIME)
}

fn is_limited(error: Json<'_>) -> bool {
    let Some(extensions) = error.get("extensions") else { return false };
    let words = extensions.pick(["code", "type"]).map(|word| word.and_then(Json::text));
    words.into_iter().flatten().any(|word| word.eq_ignore_ascii_case("RATELIMITED"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Provider, Reset};
    use super::*;

    const DATE: (&str, &str) = ("Date", "Mon, 02 Feb 2026 02:40:00 GMT");
    const LIMITED: &str = r#"{"errors":[{"message":"Rate limit exceeded","extensions":{"code":"RATELIMITED"}}]}"#;

    #[test]
    fn two_budgets_and_the_complexity_of_the_query() {
        let headers = [
            ("X-Complexity", "18"),
            ("X-RateLimit-Requests-Limit", "1500"),
            ("X-RateLimit-Requests-Remaining", "1499"),
            ("X-RateLimit-Requests-Reset", "1770000000000"),
            ("X-RateLimit-Complexity-Limit", "250000"),
            ("X-RateLimit-Complexity-Remaining", "249982"),
            ("X-RateLimit-Complexity-Reset", "1770000002000"),
        ];
        let feedback = read(Provider::Auto, 200, &headers, r#"{"data":{}}"#);
        assert_eq!((feedback.actual, feedback.pause, feedback.throttled), (Some(18), None, false));
        let [requests, points] = feedback.budgets[..] else { panic!("{feedback:?}") };
        assert_eq!((requests.unit, requests.remaining, requests.limit), (Unit::Requests, Some(1499), Some(1500)));
        assert_eq!((points.unit, points.remaining, points.limit), (Unit::Points, Some(249_982), Some(250_000)));
        assert_eq!(points.reset, Some(Reset::At(Micros(1_770_000_002_000_000))));
        assert_eq!((points.refill, points.window), (Some(REFILL), None));
    }

    #[test]
    fn when_both_are_spent_the_later_reset_rules() {
        let headers = [
            DATE,
            ("X-RateLimit-Requests-Remaining", "0"),
            ("X-RateLimit-Requests-Reset", "1770000020000"),
            ("X-RateLimit-Complexity-Remaining", "0"),
            ("X-RateLimit-Complexity-Reset", "1770000045000"),
            ("X-RateLimit-Endpoint-Requests-Remaining", "7"),
            ("X-RateLimit-Endpoint-Requests-Reset", "1770000900000"),
        ];
        let feedback = read(Provider::Linear, 400, &headers, LIMITED);
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(45_000_000))));
        assert_eq!((feedback.actual, feedback.budgets.len()), (None, 2));
        let with_retry_after = [&headers[..], &[("Retry-After", "3")]].concat();
        assert_eq!(read(Provider::Linear, 400, &with_retry_after, LIMITED).pause, Some(Micros(3_000_000)));
        assert_eq!(read(Provider::Linear, 200, &headers, "{}").pause, None);
    }

    #[test]
    fn an_endpoint_that_refuses_pauses_but_is_no_budget() {
        let headers = [
            DATE,
            ("X-RateLimit-Endpoint-Requests-Remaining", "0"),
            ("X-RateLimit-Endpoint-Requests-Reset", "1770000010000"),
        ];
        let feedback = read(Provider::Linear, 400, &headers, LIMITED);
        assert_eq!((feedback.pause, feedback.budgets.len()), (Some(Micros(10_000_000)), 0));
        let other = r#"{"errors":[{"extensions":{"code":"INPUT_ERROR"}}]}"#;
        assert!(!read(Provider::Linear, 400, &headers, other).throttled);
    }
}
