//! `OpenAI` and compatible services: requests and tokens.
//!
//! After <https://platform.openai.com/docs/guides/rate-limits>. Resets are durations in Go's notation (`1s`, `6m0s`).
//! `retry-after-ms` is a finer `Retry-After`. The headers do not say for which interval a limit is meant:
//!
//! - `OpenAI` counts requests per minute or per day and refills continuously. The interval is the one in which the used
//!   units are back at the reset: 1 of 60 in `1s` is per minute, 1 of 10,000 in `8.64s` per day.
//! - Groq counts requests per day and tokens per minute, refilled continuously, and no tokens from its prompt cache
//!   (<https://console.groq.com/docs/rate-limits>).
//! - Azure counts both per minute; its resets are plain seconds, and -1 is unknown. Deployments that do not report the
//!   limit of requests report what remains of ten seconds
//!   (<https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/quota>).
//! - For other services the interval is unknown.

use super::decimal::{milliseconds, units_up};
use super::json::Json;
use super::parsed_response::ParsedResponse;
use super::{Budget, Feedback, Reset, Unit};
use crate::base::micros::Micros;

const TEN_SECONDS: Micros = Micros(10_000_000);
const MINUTE: Micros = Micros(60_000_000);
const DAY: Micros = Micros(86_400_000_000);

/// The services whose intervals are documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    OpenAi,
    Azure,
    Groq,
    Other,
}

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let [usage, x_groq] = response.body.pick(["usage", "x_groq"]);
    let service = service(response, x_groq.is_some());
    if let Some(usage) = usage {
        used(usage, service, &mut feedback);
    }
    feedback.budgets.extend(budget(response, service, Unit::Requests));
    feedback.budgets.extend(budget(response, service, Unit::Tokens));
    if matches!(response.status, 429 | 503) {
        feedback.wait_until(response.read("retry-after-ms", milliseconds).map(Reset::After));
    }
    response.settle(&mut feedback);
    feedback
}

fn service(response: &ParsedResponse<'_>, is_groq: bool) -> Service {
    let has = |prefixes: &[&str]| prefixes.iter().any(|prefix| response.has_prefix(prefix));
    if is_groq || has(&["x-groq-"]) {
        Service::Groq
    } else if has(&["apim-request-id", "azureml-", "x-ms-"]) {
        Service::Azure
    } else if has(&["openai-"]) {
        Service::OpenAi
    } else {
        Service::Other
    }
}

/// Reads the tokens of a completion (`prompt_tokens`) or a response (`input_tokens`).
fn used(usage: Json<'_>, service: Service, feedback: &mut Feedback) {
    let [total, prompt, input, completion, output, details] = usage.pick([
        "total_tokens",
        "prompt_tokens",
        "input_tokens",
        "completion_tokens",
        "output_tokens",
        "prompt_tokens_details",
    ]);
    let units = |member: Option<Json<'_>>| member.and_then(Json::number).and_then(units_up);
    let cached = match service {
        Service::Groq => units(details.and_then(|details| details.get("cached_tokens"))).unwrap_or(0),
        _ => 0,
    };
    feedback.actual = units(total).map(|total| total.saturating_sub(cached));
    feedback.actual_input = units(prompt.or(input)).map(|input| input.saturating_sub(cached));
    feedback.actual_output = units(completion.or(output));
}

fn budget(response: &ParsedResponse<'_>, service: Service, unit: Unit) -> Option<Budget> {
    let name = |word: &str| format!("x-ratelimit-{word}-{}", unit.name());
    // Azure sends -1 for what it does not know.
    let is_known = |name: &String| response.header(name) != Some("-1");
    let count = |word: &str| Some(name(word)).filter(is_known).and_then(|name| response.count(&name));
    let budget = Budget::new(unit, count("remaining"), count("limit"))?;
    let reset = response.reset(&name("reset"));
    let budget = Budget { reset, ..budget };
    let (window, refill) = match (service, unit) {
        (Service::Groq, Unit::Requests) => (Some(DAY), Some(DAY)),
        (Service::Groq, _) => (Some(MINUTE), Some(MINUTE)),
        (Service::Azure, Unit::Requests) if budget.limit.is_none() => (Some(TEN_SECONDS), None),
        (Service::Azure, _) => (Some(MINUTE), None),
        (Service::OpenAi, _) => {
            let interval = [MINUTE, DAY].into_iter().find(|interval| refills_in(&budget, *interval));
            (interval, interval)
        }
        (Service::Other, _) => (None, None),
    };
    Some(Budget { refill, window, ..budget })
}

/// Returns whether the used units are back at the reset, if the limit is refilled evenly in this interval.
fn refills_in(budget: &Budget, interval: Micros) -> bool {
    let (Some(limit), Some(remaining), Some(Reset::After(reset))) = (budget.limit, budget.remaining, budget.reset)
    else {
        return false;
    };
    let used = limit - remaining;
    let back = |units: u64| u128::from(units) * u128::from(interval.0) / u128::from(limit.max(1));
    // Remaining units are rounded down and durations to about two digits.
    let (reset, slack) = (u128::from(reset.0), u128::from(reset.0 / 50 + 1_000));
    used > 0 && back(used - 1) <= reset + slack && reset <= back(used) + slack
}

#[cfg(test)]
mod tests {
    use super::super::Provider;
    use super::super::tests::read;
    use super::*;

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
        assert_eq!((feedback.actual_input, feedback.actual_output), (Some(9), Some(12)));
        let [requests, tokens] = feedback.budgets[..] else { panic!("{feedback:?}") };
        assert_eq!((requests.unit, requests.remaining, requests.limit), (Unit::Requests, Some(59), Some(60)));
        assert_eq!(requests.reset, Some(Reset::After(Micros(1_000_000))));
        assert_eq!((tokens.unit, tokens.remaining, tokens.limit), (Unit::Tokens, Some(149_984), Some(150_000)));
        assert_eq!(tokens.reset, Some(Reset::After(Micros(360_000_000))));
        assert_eq!((requests.window, tokens.window), (None, None), "of an unknown service");
        assert_eq!(read(Provider::Auto, 200, &[], body).actual, Some(21));
        let response = r#"{"object":"response","usage":{"input_tokens":7,"output_tokens":5,"total_tokens":12}}"#;
        let feedback = read(Provider::OpenAi, 200, &[], response);
        assert_eq!((feedback.actual, feedback.actual_input, feedback.actual_output), (Some(12), Some(7), Some(5)));
    }

    /// The window and the refill of a budget of requests.
    fn interval(header: (&str, &str), limit: &str, remaining: &str, reset: &str) -> [Option<Micros>; 2] {
        let headers = [
            header,
            ("x-ratelimit-limit-requests", limit),
            ("x-ratelimit-remaining-requests", remaining),
            ("x-ratelimit-reset-requests", reset),
        ];
        let budget = read(Provider::Auto, 200, &headers, "").budgets[0];
        [budget.window, budget.refill]
    }

    #[test]
    fn openai_counts_per_minute_or_per_day_as_its_reset_says() {
        let header = ("openai-version", "2020-10-01");
        for (limit, remaining, reset) in [
            ("60", "59", "1s"),
            ("3500", "3499", "17ms"),
            ("30000", "29973", "54ms"),
            ("150000000", "149999900", "0s"),
            ("500", "0", "1m0s"),
        ] {
            assert_eq!(interval(header, limit, remaining, reset), [Some(MINUTE); 2], "{limit} {remaining} {reset}");
        }
        for (limit, remaining, reset) in
            [("10000", "9999", "8.64s"), ("200", "199", "7m12s"), ("1000", "942", "1h23m31s"), ("200", "0", "24h0m0s")]
        {
            assert_eq!(interval(header, limit, remaining, reset), [Some(DAY); 2], "{limit} {remaining} {reset}");
        }
        for (limit, remaining, reset) in [
            ("60", "60", "0s"),
            ("60", "59", "30m"),
            ("150000", "149984", "6m0s"),
            ("0", "0", "1s"),
            ("60", "50", "1s"),
        ] {
            assert_eq!(interval(header, limit, remaining, reset), [None; 2], "{limit} {remaining} {reset}");
        }
        // An unknown service may have a window of a minute, of which two thirds are left: not 2 of 3,000 per day.
        assert_eq!(interval(("server", "x"), "3000", "2998", "40s"), [None; 2]);
    }

    #[test]
    fn groq_counts_requests_per_day_and_tokens_per_minute() {
        let headers = [
            ("x-ratelimit-limit-requests", "14400"),
            ("x-ratelimit-limit-tokens", "18000"),
            ("x-ratelimit-remaining-requests", "14370"),
            ("x-ratelimit-remaining-tokens", "17997"),
            ("x-ratelimit-reset-requests", "2m59.56s"),
            ("x-ratelimit-reset-tokens", "7.66s"),
        ];
        let body = r#"{"usage":{"prompt_tokens":4641,"completion_tokens":1817,"total_tokens":6458,
            "prompt_tokens_details":{"cached_tokens":4608}},"x_groq":{"id":"req_1"}}"#;
        let feedback = read(Provider::Auto, 200, &headers, body);
        let intervals: Vec<_> = feedback.budgets.iter().map(|budget| [budget.window, budget.refill]).collect();
        assert_eq!(intervals, [[Some(DAY); 2], [Some(MINUTE); 2]]);
        assert_eq!(
            (feedback.actual, feedback.actual_input, feedback.actual_output),
            (Some(1850), Some(33), Some(1817))
        );
        assert_eq!(interval(("x-groq-region", "us"), "14400", "14399", "6s"), [Some(DAY); 2]);
    }

    #[test]
    fn azure_counts_per_minute() {
        let header = ("x-ms-region", "North Central US");
        assert_eq!(interval(header, "60", "59", "10"), [Some(MINUTE), None]);
        let without_limit =
            [header, ("x-ratelimit-remaining-requests", "19"), ("x-ratelimit-remaining-tokens", "61353")];
        let windows: Vec<_> =
            read(Provider::Auto, 200, &without_limit, "").budgets.iter().map(|budget| budget.window).collect();
        assert_eq!(windows, [Some(TEN_SECONDS), Some(MINUTE)]);
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
