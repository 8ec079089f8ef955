//! What holds for every provider, and random bytes.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::*;
use crate::base::micros::{MAX_SPAN, MAX_TIME};

/// Reads an answer with the usual longest pause.
pub(super) fn read(provider: Provider, status: u16, headers: &[(&str, &str)], body: &str) -> Feedback {
    Feedback::read(provider, &Response { status: Some(status), headers, body }, MAX_PAUSE)
}

/// Reads a body that came with 200 and no headers of note.
pub(super) fn body(provider: Provider, body: &str) -> Feedback {
    read(provider, 200, &[("Content-Type", "application/json")], body)
}

#[test]
fn names_go_both_ways() {
    for provider in Provider::ALL {
        assert_eq!(Provider::from_name(provider.name()), Ok(provider));
    }
    let error = Provider::from_name("GitLab").unwrap_err();
    assert_eq!(error.argument(), Some("provider"));
    assert!(error.message().contains("shopify"), "{error}");
}

#[test]
fn retry_after_in_all_its_forms() {
    let date = ("Date", "Fri, 31 Dec 1999 23:59:00 GMT");
    for (text, with_date, without_date) in [
        ("120", Some(120_000_000), Some(120_000_000)),
        ("0.5", Some(500_000), Some(500_000)),
        (" 2.0 ", Some(2_000_000), Some(2_000_000)),
        ("0.0000001", Some(1), Some(1)),
        ("0", None, None),
        ("Fri, 31 Dec 1999 23:59:59 GMT", Some(59_000_000), Some(60_000_000)),
        ("Friday, 31-Dec-99 23:59:59 GMT", Some(59_000_000), Some(60_000_000)),
        ("Fri Dec 31 23:59:59 1999", Some(59_000_000), Some(60_000_000)),
        ("Thu, 30 Dec 1999 23:59:59 GMT", None, Some(60_000_000)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(MAX_PAUSE.0), Some(60_000_000)),
        ("86400", Some(MAX_PAUSE.0), Some(MAX_PAUSE.0)),
        ("18446744073709", Some(MAX_PAUSE.0), Some(MAX_PAUSE.0)),
        ("18446744073710", None, None),
        ("99999999999999999999999999", None, None),
        ("1e400", None, None),
        ("-5", None, None),
        ("NaN", None, None),
        ("inf", None, None),
        ("soon", None, None),
        ("", None, None),
    ] {
        for status in [429, 503] {
            for provider in Provider::ALL.into_iter().filter(|provider| *provider != Provider::Shopify) {
                let fallback = (provider == Provider::GitHub && status == 429).then_some(60_000_000);
                // A wait of nothing was understood; what was not understood is as if it were not sent.
                let understood = text == "0" || text.starts_with("Thu");
                let fallback = if understood { None } else { fallback };
                let feedback = read(provider, status, &[("RETRY-AFTER", text), date], "");
                assert_eq!(feedback.pause.map(|p| p.0), with_date.or(fallback), "{text} {provider:?} {status}");
                assert_eq!(feedback.throttled, status == 429);
                let feedback = read(provider, status, &[("Retry-After", text)], "");
                assert_eq!(feedback.pause.map(|p| p.0), without_date.or(fallback), "{text} {provider:?} {status}");
            }
        }
        for provider in Provider::ALL {
            for status in [200, 202, 301, 400, 500, 502] {
                assert_eq!(read(provider, status, &[("Retry-After", text), date], "").pause, None);
            }
        }
    }
}

#[test]
fn the_caller_bounds_the_pause() {
    let response = Response { status: Some(429), headers: &[("Retry-After", "120")], body: "" };
    assert_eq!(Feedback::read(Provider::Auto, &response, Micros(1_000_000)).pause, Some(Micros(1_000_000)));
    assert_eq!(Feedback::read(Provider::Auto, &response, Micros(0)).pause, None);
}

#[test]
fn what_is_too_long_says_nothing() {
    let long = format!("{}5", "0".repeat(4096));
    let headers = [("Retry-After", long.as_str()), ("X-RateLimit-Limit", &long), ("RateLimit", &long)];
    assert_eq!(read(Provider::Auto, 429, &headers, ""), Feedback { throttled: true, ..Feedback::default() });
    let usage = |filler: usize| format!("{{\"usage\":{{\"total_tokens\":5}},\"x\":\"{}\"}}", "x".repeat(filler));
    assert_eq!(body(Provider::OpenAi, &usage(1 << 20)).actual, Some(5));
    assert_eq!(body(Provider::OpenAi, &usage(8 << 20)), Feedback::default());
}

#[test]
fn numbers_stay_within_what_limits_can_be() {
    let headers = [("X-RateLimit-Limit", "100000000000000"), ("X-RateLimit-Remaining", "18446744073709551615")];
    let feedback = read(Provider::Auto, 200, &headers, "");
    assert_eq!((feedback.budgets[0].limit, feedback.budgets[0].remaining), (Some(MAX_UNITS), Some(MAX_UNITS)));
    let usage = r#"{"usage":{"total_tokens":1e18}}"#;
    assert_eq!(body(Provider::OpenAi, usage).actual, Some(MAX_UNITS));
}

#[test]
fn auto_reads_the_plain_headers_of_those_who_have_no_own() {
    let usage = r#"{"usage":{"total_tokens":21}}"#;
    for headers in [
        [("RateLimit", "\"api\";r=50;t=30"), ("RateLimit-Policy", "\"api\";q=500;w=300")],
        [("X-RateLimit-Remaining", "50"), ("X-RateLimit-Limit", "500")],
    ] {
        let feedback = read(Provider::Auto, 200, &headers, usage);
        assert_eq!(feedback.actual, Some(21));
        assert_eq!((feedback.budgets[0].remaining, feedback.budgets[0].limit), (Some(50), Some(500)));
        assert!(read(Provider::OpenAi, 200, &headers, usage).budgets.is_empty());
    }
    let spent = [("RateLimit", "\"api\";r=0;t=30"), ("RateLimit-Policy", "\"api\";q=500")];
    assert_eq!(read(Provider::Auto, 429, &spent, usage).pause, Some(Micros(30_000_000)));
}

/// What must hold whatever was sent.
fn check(feedback: &Feedback, max_pause: Micros) {
    assert!(feedback.pause.is_none_or(|pause| pause.0 > 0 && pause <= max_pause), "{feedback:?}");
    assert!(feedback.actual.is_none_or(|actual| actual <= MAX_UNITS), "{feedback:?}");
    for budget in &feedback.budgets {
        assert!(budget.remaining.is_some() || budget.limit.is_some());
        assert!(budget.limit.is_none_or(|limit| limit <= MAX_UNITS), "{budget:?}");
        assert!(budget.remaining.is_none_or(|remaining| remaining <= budget.limit.unwrap_or(MAX_UNITS)), "{budget:?}");
        for span in [budget.refill, budget.window].into_iter().flatten() {
            assert!(span.0 > 0 && span <= MAX_SPAN, "{budget:?}");
        }
        match budget.reset {
            Some(Reset::After(wait)) => assert!(wait <= MAX_SPAN, "{budget:?}"),
            Some(Reset::At(time)) => assert!(time <= MAX_TIME, "{budget:?}"),
            None => {}
        }
    }
}

const NAMES: [&str; 29] = [
    "Date",
    "Retry-After",
    "retry-after-ms",
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Reset-After",
    "X-RateLimit-Scope",
    "X-RateLimit-Global",
    "x-ratelimit-resource",
    "X-Complexity",
    "X-RateLimit-Requests-Limit",
    "X-RateLimit-Requests-Remaining",
    "X-RateLimit-Complexity-Reset",
    "X-RateLimit-Complexity-Remaining",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-remaining-tokens",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "X-Shopify-Shop-Api-Call-Limit",
    "Stripe-Rate-Limited-Reason",
    "é",
];

/// Bytes of any kind, and texts that come close to what is understood.
fn value() -> impl Strategy<Value = String> {
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![
        bytes.prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        "[0-9]{1,25}(\\.[0-9]{0,10})?(e[+-]?[0-9]{1,7})?",
        "[0-9]{1,20}(h|m|s|ms|ns)[0-9]{0,4}(s)?",
        "[0-9]{1,22}/[0-9]{1,22}",
        "\"?[a-z]{0,3}\"?;?[rqtw]=-?[0-9]{1,17}(;[rqtw]=[0-9]{1,5})?",
        "[0-9]{1,17}, [0-9]{1,17};w=[0-9]{1,17}",
        "(limit|reset|remaining)=[0-9]{1,16}, (limit|reset|remaining)=[0-9]{1,16}",
        "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][0-9]{2}:00)",
        "(Mon|Tue), [0-3][0-9] (Jan|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-5][0-9] GMT",
    ]
}

/// JSON with the members that are looked for, holding anything.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"THROTTLED\"".to_owned()),
        "-?[0-9]{1,25}(\\.[0-9]{1,10})?(e[+-]?[0-9]{1,4})?",
        "\"[a-zA-Z0-9:+-]{0,25}\"",
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let key = prop::sample::select(vec![
            "extensions",
            "cost",
            "actualQueryCost",
            "throttleStatus",
            "maximumAvailable",
            "currentlyAvailable",
            "restoreRate",
            "errors",
            "message",
            "code",
            "type",
            "data",
            "rateLimit",
            "limit",
            "remaining",
            "resetAt",
            "retry_after",
            "global",
            "usage",
            "total_tokens",
            "input_tokens",
            "output_tokens",
            "error",
        ]);
        let members = prop::collection::vec((key, inner.clone()), 0..6);
        let object = members.prop_map(|members| {
            let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        });
        prop_oneof![
            4 => object,
            1 => prop::collection::vec(inner, 0..4).prop_map(|values| format!("[{}]", values.join(","))),
        ]
    })
}

fn config() -> ProptestConfig {
    let factor = std::env::var("PADDLEGATE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let seeds = FileFailurePersistence::Direct("proptest-regressions/provider.txt");
    ProptestConfig { cases: 2_000 * factor, failure_persistence: Some(Box::new(seeds)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_answer_breaks_a_promise(
        provider in prop::sample::select(Provider::ALL.to_vec()),
        status in prop_oneof![Just(200_u16), Just(403), Just(429), Just(503), any::<u16>()],
        headers in prop::collection::vec((prop::sample::select(NAMES.to_vec()), value()), 0..10),
        body in prop_oneof![json(), value()],
        max_pause in 0..2 * MAX_PAUSE.0,
    ) {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let response = Response { status: Some(status), headers: &headers, body: &body };
        let feedback = Feedback::read(provider, &response, Micros(max_pause));
        check(&feedback, Micros(max_pause));
        prop_assert!(status != 200 || feedback.throttled || feedback.pause.is_none(), "{feedback:?}");
        prop_assert_eq!(feedback, Feedback::read(provider, &response, Micros(max_pause)));
    }

    #[test]
    fn what_the_ietf_forms_say_is_read_back(
        limits in prop::collection::btree_map(
            "[a-z][a-z0-9-]{0,8}",
            (0..1_000_000_u64, 0..1_000_000_u64, 1..100_000_u64, 0..100_000_u64),
            1..5,
        ),
    ) {
        let (mut policies, mut fields) = (Vec::new(), Vec::new());
        for (name, (quota, left, window, reset)) in &limits {
            policies.push(format!("\"{name}\";q={quota};w={window}"));
            fields.push(format!("\"{name}\";r={};t={reset}", left.min(quota)));
        }
        let (policies, fields) = (policies.join(", "), fields.join(", "));
        let expected: Vec<_> = limits.values().map(|(quota, left, window, reset)| Budget {
            unit: Unit::Requests,
            remaining: Some(*left.min(quota)),
            limit: Some(*quota),
            refill: None,
            window: Some(Micros(window * 1_000_000)),
            reset: Some(Reset::After(Micros(reset * 1_000_000))),
        }).collect();
        let headers = [("RateLimit-Policy", policies.as_str()), ("RateLimit", fields.as_str())];
        prop_assert_eq!(&read(Provider::Auto, 200, &headers, "").budgets, &expected);

        let first = expected[0];
        let (quota, left, window, reset) = *limits.values().next().unwrap();
        let left = left.min(quota);
        let policy = format!("{quota};w={window}");
        let combined = format!("limit={quota}, remaining={left}, reset={reset}");
        let headers = [("RateLimit-Policy", policy.as_str()), ("RateLimit", combined.as_str())];
        prop_assert_eq!(&read(Provider::Auto, 200, &headers, "").budgets, &[first]);

        let (limit, left, reset) = (format!("{quota}, {policy}"), left.to_string(), reset.to_string());
        let headers =
            [("RateLimit-Limit", limit.as_str()), ("RateLimit-Remaining", &left), ("RateLimit-Reset", &reset)];
        prop_assert_eq!(&read(Provider::Auto, 200, &headers, "").budgets, &[first]);
    }
}
