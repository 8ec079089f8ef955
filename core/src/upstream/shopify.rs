//! Shopify's Admin APIs: a meter of points for GraphQL, of calls for REST.
//!
//! After <https://shopify.dev/docs/api/usage/limits>. A refused query has HTTP status 200 or 429, the error code
//! `THROTTLED` and no actual cost; its requested cost is not taken from the meter.

use super::decimal::{refill, units_down, units_up};
use super::json::Json;
use super::parsed_response::{ParsedResponse, errors};
use super::{Budget, Feedback, Reset, Unit};
use crate::base::micros::Micros;

/// Shopify's recommended pause when the response gives no other.
const BACK_OFF: Micros = Micros(1_000_000);

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let [extensions, list] = response.body.pick(["extensions", "errors"]);
    let cost = extensions.and_then(|extensions| extensions.get("cost"));
    if let Some(cost) = cost {
        let [actual, status] = cost.pick(["actualQueryCost", "throttleStatus"]);
        feedback.actual = actual.and_then(Json::number).and_then(units_up);
        feedback.throttled = actual.is_some_and(Json::is_null);
        feedback.budgets.extend(status.and_then(points));
    }
    feedback.throttled |= errors(list).into_iter().any(is_throttled);
    if feedback.throttled {
        feedback.actual = Some(0);
    }
    feedback.budgets.extend(response.read("x-shopify-shop-api-call-limit", calls));
    response.settle(&mut feedback);
    let has_refill = feedback.budgets.iter().any(|budget| budget.remaining.is_some() && budget.refill.is_some());
    if feedback.throttled && !has_refill {
        feedback.wait_until(Some(Reset::After(BACK_OFF)));
    }
    feedback
}

fn points(status: Json<'_>) -> Option<Budget> {
    let [maximum, available, rate] =
        status.pick(["maximumAvailable", "currentlyAvailable", "restoreRate"]).map(|member| member?.number());
    let budget = Budget::new(Unit::Points, available.and_then(units_down), maximum.and_then(units_down))?;
    Some(Budget { refill: maximum.zip(rate).and_then(|(maximum, rate)| refill(maximum, rate)), ..budget })
}

/// Parses `used/size`. The refill rate depends on the plan and is not sent.
fn calls(text: &str) -> Option<Budget> {
    let (used, size) = text.split_once('/')?;
    let (used, size) = (units_down(used.trim())?, units_down(size.trim())?);
    Budget::new(Unit::Requests, Some(size.saturating_sub(used)), Some(size))
}

/// Returns whether an error of a query says that it was refused.
pub(super) fn is_throttled(error: Json<'_>) -> bool {
    let [message, extensions] = error.pick(["message", "extensions"]);
    let code = extensions.and_then(|extensions| extensions.get("code")).and_then(Json::text);
    code.as_deref() == Some("THROTTLED") || message.and_then(Json::text).as_deref() == Some("Throttled")
}

#[cfg(test)]
mod tests {
    use super::super::Provider;
    use super::super::tests::{body, read};
    use super::*;

    const ANSWER: &str = r#"{"data":{"shop":{"name":"x"}},"extensions":{"cost":{"requestedQueryCost":252,
        "actualQueryCost":12,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":988,"restoreRate":50.0}}}}"#;
    const THROTTLED: &str = r#"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED",
        "documentation":"https://shopify.dev/api/usage/rate-limits"}}],"extensions":{"cost":{"requestedQueryCost":70,
        "actualQueryCost":null,"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":66,"restoreRate":50}}}}"#;

    fn budget(remaining: u64, limit: u64, refill: Option<u64>) -> Budget {
        let budget = Budget::new(Unit::Points, Some(remaining), Some(limit)).unwrap();
        Budget { refill: refill.map(Micros), ..budget }
    }

    #[test]
    fn actual_cost_and_what_is_left() {
        let feedback = body(Provider::Shopify, ANSWER);
        let expected =
            Feedback { actual: Some(12), budgets: vec![budget(988, 1000, Some(20_000_000))], ..Feedback::default() };
        assert_eq!(feedback, expected);
        assert_eq!(body(Provider::Auto, ANSWER), expected);
    }

    #[test]
    fn decimals_of_what_is_left_are_rounded_down() {
        let text = ANSWER.replace("988", "497.99");
        assert_eq!(body(Provider::Shopify, &text).budgets, [budget(497, 1000, Some(20_000_000))]);
    }

    #[test]
    fn size_and_rate_come_from_the_answer() {
        let text = ANSWER.replace("1000.0", "2000.0").replace("50.0", "100.0");
        assert_eq!(body(Provider::Shopify, &text).budgets, [budget(988, 2000, Some(20_000_000))]);
        let stopped = ANSWER.replace("50.0", "0");
        assert_eq!(body(Provider::Shopify, &stopped).budgets, [budget(988, 1000, None)]);
    }

    #[test]
    fn throttled_costs_nothing_and_needs_no_pause() {
        let expected = Feedback {
            actual: Some(0),
            budgets: vec![budget(66, 1000, Some(20_000_000))],
            throttled: true,
            ..Feedback::default()
        };
        assert_eq!(body(Provider::Shopify, THROTTLED), expected);
        assert_eq!(read(Provider::Shopify, 429, &[], THROTTLED), expected);
        let bare = r#"{"errors":[{"message":"Throttled"}]}"#;
        let bare = body(Provider::Shopify, bare);
        assert_eq!((bare.actual, bare.throttled, bare.pause), (Some(0), true, Some(BACK_OFF)));
    }

    #[test]
    fn a_query_that_is_too_large_is_not_throttled() {
        let text = r#"{"errors":[{"message":"Query cost is 1002, which exceeds the single query max cost limit (1000).",
            "extensions":{"code":"MAX_COST_EXCEEDED","cost":1002,"maxCost":1000}}]}"#;
        assert_eq!(body(Provider::Shopify, text), Feedback::default());
    }

    #[test]
    fn a_member_of_a_wrong_type_loses_no_other() {
        let text = ANSWER.replace("\"actualQueryCost\":12", "\"actualQueryCost\":[12]").replace("50.0", "\"50\"");
        let feedback = body(Provider::Shopify, &text);
        assert_eq!((feedback.actual, feedback.throttled), (None, false));
        assert_eq!(feedback.budgets, [budget(988, 1000, None)]);
    }

    #[test]
    fn rest_tells_calls_used_of_size() {
        let headers = [("X-Shopify-Shop-Api-Call-Limit", "32/40")];
        let feedback = read(Provider::Auto, 200, &headers, "");
        assert_eq!(feedback.budgets, [Budget::new(Unit::Requests, Some(8), Some(40)).unwrap()]);
        assert_eq!((feedback.actual, feedback.pause), (None, None));
        let headers = [("x-shopify-shop-api-call-limit", "41/40"), ("Retry-After", "2.0")];
        let feedback = read(Provider::Shopify, 429, &headers, "");
        assert_eq!(feedback.budgets[0].remaining, Some(0));
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(2_000_000))));
        assert_eq!(feedback.budgets[0].reset, None::<Reset>);
    }
}
