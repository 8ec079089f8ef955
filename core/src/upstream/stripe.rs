//! Stripe: no budgets, only refusals with a reason.
//!
//! After <https://docs.stripe.com/rate-limits>. A 429 without `Stripe-Rate-Limited-Reason` and with the code
//! `lock_timeout` is a locked object and not a limit. `Stripe-Should-Retry` is about the single call and not the
//! budget, so it is ignored.

use super::json::Json;
use super::parsed_response::ParsedResponse;
use super::{Feedback, Reset};
use crate::base::micros::Micros;

/// The limits with `-rate` count per second.
const RATE: Micros = Micros(1_000_000);

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let reason = response.header("stripe-rate-limited-reason");
    if response.status == 429 && reason.is_none() && is_lock(response.body) {
        feedback.wait_until(response.retry_after());
        return feedback;
    }
    response.settle(&mut feedback);
    if feedback.throttled && matches!(reason, Some("global-rate" | "endpoint-rate")) {
        feedback.wait_until(Some(Reset::After(RATE)));
    }
    feedback
}

fn is_lock(body: Json<'_>) -> bool {
    let code = body.get("error").and_then(|error| error.get("code")).and_then(Json::text);
    code.as_deref() == Some("lock_timeout")
}

#[cfg(test)]
mod tests {
    use super::super::Provider;
    use super::super::tests::read;
    use super::*;

    #[test]
    fn a_refusal_pauses_for_retry_after_or_the_second_of_a_rate() {
        let body = r#"{"error":{"message":"Too many requests","type":"invalid_request_error","code":"rate_limit"}}"#;
        for (reason, pause) in [
            ("global-rate", Some(RATE)),
            ("endpoint-rate", Some(RATE)),
            ("global-concurrency", None),
            ("resource-specific", None),
        ] {
            let headers = [("Stripe-Rate-Limited-Reason", reason), ("Stripe-Should-Retry", "true")];
            let feedback = read(Provider::Auto, 429, &headers, body);
            assert_eq!((feedback.throttled, feedback.pause), (true, pause), "{reason}");
            let headers = [headers[0], ("Retry-After", "3")];
            assert_eq!(read(Provider::Auto, 429, &headers, body).pause, Some(Micros(3_000_000)));
        }
        assert!(read(Provider::Stripe, 429, &[], "").throttled);
    }

    #[test]
    fn a_locked_object_is_not_a_limit() {
        let body = r#"{"error":{"code":"lock_timeout","type":"invalid_request_error"}}"#;
        assert_eq!(read(Provider::Stripe, 429, &[], body), Feedback::default());
        let reason = [("Stripe-Rate-Limited-Reason", "endpoint-rate")];
        assert!(read(Provider::Stripe, 429, &reason, body).throttled);
    }
}
