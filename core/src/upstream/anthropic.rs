//! Anthropic: requests, tokens, input tokens and output tokens, in this order, all per minute.
//!
//! After <https://docs.claude.com/en/api/rate-limits>: budgets are refilled continuously, and a reset is the time at which
//! a budget is full. Tokens written to the prompt cache count towards the input; tokens read from it do not.

use super::decimal::units_up;
use super::json::Json;
use super::parsed_response::ParsedResponse;
use super::{Budget, Feedback, Unit};
use crate::base::micros::Micros;

/// The interval of every published limit.
const MINUTE: Micros = Micros(60_000_000);

/// Overloaded: Anthropic's own status code.
const OVERLOADED: u16 = 529;

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    if let Some((input, output)) = response.body.get("usage").and_then(used) {
        feedback.actual = Some(input.saturating_add(output));
        (feedback.actual_input, feedback.actual_output) = (Some(input), Some(output));
    }
    for (unit, name) in [
        (Unit::Requests, "requests"),
        (Unit::Tokens, "tokens"),
        (Unit::InputTokens, "input-tokens"),
        (Unit::OutputTokens, "output-tokens"),
    ] {
        feedback.budgets.extend(budget(response, unit, name));
    }
    if response.status == OVERLOADED {
        feedback.wait_until(response.retry_after());
    }
    // The limits of subscriptions: a share of an unknown amount, and a status.
    if response.header("anthropic-ratelimit-unified-status") == Some("rejected") {
        feedback.throttled = true;
        feedback.wait_until(response.retry_after().or_else(|| response.reset("anthropic-ratelimit-unified-reset")));
    }
    response.settle(&mut feedback);
    feedback
}

fn budget(response: &ParsedResponse<'_>, unit: Unit, name: &str) -> Option<Budget> {
    let name = |word: &str| format!("anthropic-ratelimit-{name}-{word}");
    let budget = Budget::new(unit, response.count(&name("remaining")), response.count(&name("limit")))?;
    let reset = response.reset(&name("reset"));
    Some(Budget { refill: Some(MINUTE), window: Some(MINUTE), reset, ..budget })
}

/// Returns the input tokens that count towards the limit, and the output tokens.
fn used(usage: Json<'_>) -> Option<(u64, u64)> {
    let members = usage.pick(["input_tokens", "output_tokens", "cache_creation_input_tokens"]);
    let [input, output, cached] = members.map(|member| member.and_then(Json::number).and_then(units_up));
    Some((input?.saturating_add(cached.unwrap_or(0)), output?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Provider, Reset};
    use super::*;

    const HEADERS: [(&str, &str); 13] = [
        ("date", "Thu, 21 Aug 2025 12:40:00 GMT"),
        ("anthropic-ratelimit-input-tokens-limit", "80000"),
        ("anthropic-ratelimit-input-tokens-remaining", "79000"),
        ("anthropic-ratelimit-input-tokens-reset", "2025-08-21T12:40:59Z"),
        ("anthropic-ratelimit-output-tokens-limit", "16000"),
        ("anthropic-ratelimit-output-tokens-remaining", "0"),
        ("anthropic-ratelimit-output-tokens-reset", "2025-08-21T12:41:00.25Z"),
        ("anthropic-ratelimit-requests-limit", "1000"),
        ("anthropic-ratelimit-requests-remaining", "999"),
        ("anthropic-ratelimit-requests-reset", "2025-08-21T12:39:59Z"),
        ("anthropic-ratelimit-tokens-limit", "96000"),
        ("anthropic-ratelimit-tokens-remaining", "95000"),
        ("anthropic-ratelimit-tokens-reset", "2025-08-21T14:40:59+02:00"),
    ];

    #[test]
    fn four_budgets_and_what_was_used() {
        let body = r#"{"type":"message","usage":{"input_tokens":10,"cache_creation_input_tokens":5,
            "cache_read_input_tokens":1000,"output_tokens":25}}"#;
        let feedback = read(Provider::Auto, 200, &HEADERS, body);
        assert_eq!((feedback.actual, feedback.pause), (Some(40), None));
        assert_eq!((feedback.actual_input, feedback.actual_output), (Some(15), Some(25)));
        assert!(feedback.budgets.iter().all(|budget| (budget.refill, budget.window) == (Some(MINUTE), Some(MINUTE))));
        let budgets: Vec<_> = feedback.budgets.iter().map(|b| (b.unit, b.remaining, b.limit, b.reset)).collect();
        let after = |micros| Some(Reset::After(Micros(micros)));
        let expected = [
            (Unit::Requests, Some(999), Some(1000), after(0)),
            (Unit::Tokens, Some(95_000), Some(96_000), after(59_000_000)),
            (Unit::InputTokens, Some(79_000), Some(80_000), after(59_000_000)),
            (Unit::OutputTokens, Some(0), Some(16_000), after(60_250_000)),
        ];
        assert_eq!(budgets, expected);
    }

    #[test]
    fn refusals_and_overload_pause() {
        assert_eq!(read(Provider::Auto, 429, &HEADERS, "").pause, Some(Micros(60_250_000)));
        let with_retry_after = [&HEADERS[..], &[("retry-after", "7")]].concat();
        assert_eq!(read(Provider::Auto, 429, &with_retry_after, "").pause, Some(Micros(7_000_000)));
        let unified = [
            HEADERS[0],
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-reset", "1755783600"),
        ];
        assert_eq!(read(Provider::Auto, 429, &unified, "").pause, Some(Micros(3_600_000_000)));
        let overloaded = read(Provider::Auto, 529, &with_retry_after, "");
        assert_eq!((overloaded.throttled, overloaded.pause), (false, Some(Micros(7_000_000))));
    }
}
