//! `OpenAI` and compatible services: requests and tokens.
//!
//! After <https://platform.openai.com/docs/guides/rate-limits>. Resets are durations in Go's notation (`1s`, `6m0s`);
//! Azure sends plain seconds, and -1 for unknown. `retry-after-ms` is a finer `Retry-After`.

use super::decimal::{go_duration, milliseconds, units_up};
use super::json::Json;
use super::parsed_response::{ParsedResponse, reset_after};
use super::{Budget, Feedback, Unit};

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let usage = response.body.get("usage").and_then(|usage| usage.get("total_tokens"));
    feedback.actual = usage.and_then(Json::number).and_then(units_up);
    feedback.budgets.extend(budget(response, Unit::Requests));
    feedback.budgets.extend(budget(response, Unit::Tokens));
    if matches!(response.status, 429 | 503) {
        feedback.pause = response.header("retry-after-ms").and_then(milliseconds);
    }
    response.settle(&mut feedback);
    feedback
}

fn budget(response: &ParsedResponse<'_>, unit: Unit) -> Option<Budget> {
    let name = |word: &str| format!("x-ratelimit-{word}-{}", unit.name());
    let budget = Budget::new(unit, response.count(&name("remaining")), response.count(&name("limit")))?;
    let reset = response.header(&name("reset")).and_then(go_duration).and_then(reset_after);
    Some(Budget { reset, ..budget })
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Provider, Reset};
    use super::*;
    use crate::base::micros::Micros;

    const HEADERS: [(&str, &str); 6] = [
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-limit-tokens", "150000"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];

    #[test]
    fn requests_and_tokens_and_what_was_used() {
        let body = r#"{"id":"x","usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}"#;
        let feedback = read(Provider::Auto, 200, &HEADERS, body);
        assert_eq!((feedback.actual, feedback.pause, feedback.throttled), (Some(21), None, false));
        let [requests, tokens] = feedback.budgets[..] else { panic!("{feedback:?}") };
        assert_eq!((requests.unit, requests.remaining, requests.limit), (Unit::Requests, Some(59), Some(60)));
        assert_eq!(requests.reset, Some(Reset::After(Micros(1_000_000))));
        assert_eq!((tokens.unit, tokens.remaining, tokens.limit), (Unit::Tokens, Some(149_984), Some(150_000)));
        assert_eq!(tokens.reset, Some(Reset::After(Micros(360_000_000))));
        assert_eq!(read(Provider::Auto, 200, &[], body).actual, Some(21));
    }

    #[test]
    fn a_refusal_pauses_for_the_finest_word() {
        let retry_after = [("retry-after-ms", "1204.5"), ("Retry-After", "2")];
        assert_eq!(read(Provider::OpenAi, 429, &retry_after, "").pause, Some(Micros(1_204_500)));
        assert_eq!(read(Provider::OpenAi, 429, &retry_after[1..], "").pause, Some(Micros(2_000_000)));
        let mut spent = HEADERS;
        spent[3].1 = "0";
        assert_eq!(read(Provider::OpenAi, 429, &spent, "").pause, Some(Micros(360_000_000)));
        assert_eq!(read(Provider::OpenAi, 429, &HEADERS, "").pause, None);
        assert_eq!(read(Provider::OpenAi, 200, &retry_after, "").pause, None);
    }

    #[test]
    fn azure_does_not_know_with_minus_one() {
        let headers = [
            ("x-ratelimit-limit-tokens", "-1"),
            ("x-ratelimit-remaining-tokens", "-1"),
            ("x-ratelimit-reset-tokens", "0"),
        ];
        assert!(read(Provider::OpenAi, 200, &headers, "").budgets.is_empty());
    }
}
