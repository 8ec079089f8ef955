//! Requests and tokens: what answers of model providers mean for limiters that count both.

use std::time::Duration;

use super::super::tests::read;
use super::super::{MAX_PAUSE, Provider, Response};
use super::*;
use crate::base::test_clock::TestClock;
use crate::client::limiter::Limiter;
use crate::client::paddlegate::Paddlegate;
use crate::model::learned::Learned;
use crate::model::permit::Settlement;
use crate::model::request::Request;

const MINUTE: u64 = 60;
const DAY: u64 = 86_400;
const OPENAI: [(&str, &str); 7] = [
    ("openai-processing-ms", "80"),
    ("x-ratelimit-limit-requests", "600"),
    ("x-ratelimit-limit-tokens", "200000"),
    ("x-ratelimit-remaining-requests", "598"),
    ("x-ratelimit-remaining-tokens", "190000"),
    ("x-ratelimit-reset-requests", "200ms"),
    ("x-ratelimit-reset-tokens", "3s"),
];
const AZURE: [(&str, &str); 7] = [
    ("apim-request-id", "bb943c68"),
    ("x-ratelimit-limit-requests", "600"),
    ("x-ratelimit-limit-tokens", "200000"),
    ("x-ratelimit-remaining-requests", "598"),
    ("x-ratelimit-remaining-tokens", "190000"),
    ("x-ratelimit-reset-requests", "10"),
    ("x-ratelimit-reset-tokens", "30"),
];
const GROQ: [(&str, &str); 7] = [
    ("x-groq-region", "us-west-1"),
    ("x-ratelimit-limit-requests", "14400"),
    ("x-ratelimit-limit-tokens", "18000"),
    ("x-ratelimit-remaining-requests", "14370"),
    ("x-ratelimit-remaining-tokens", "17000"),
    ("x-ratelimit-reset-requests", "2m59.56s"),
    ("x-ratelimit-reset-tokens", "7.66s"),
];
const ANTHROPIC: [(&str, &str); 13] = [
    ("date", "Thu, 21 Aug 2025 12:40:00 GMT"),
    ("anthropic-ratelimit-requests-limit", "1000"),
    ("anthropic-ratelimit-requests-remaining", "999"),
    ("anthropic-ratelimit-requests-reset", "2025-08-21T12:40:00Z"),
    ("anthropic-ratelimit-tokens-limit", "96000"),
    ("anthropic-ratelimit-tokens-remaining", "94000"),
    ("anthropic-ratelimit-tokens-reset", "2025-08-21T12:40:01Z"),
    ("anthropic-ratelimit-input-tokens-limit", "80000"),
    ("anthropic-ratelimit-input-tokens-remaining", "79000"),
    ("anthropic-ratelimit-input-tokens-reset", "2025-08-21T12:40:01Z"),
    ("anthropic-ratelimit-output-tokens-limit", "16000"),
    ("anthropic-ratelimit-output-tokens-remaining", "15000"),
    ("anthropic-ratelimit-output-tokens-reset", "2025-08-21T12:40:04Z"),
];
const LINEAR: [(&str, &str); 5] = [
    ("X-Complexity", "18"),
    ("X-RateLimit-Requests-Limit", "5000"),
    ("X-RateLimit-Requests-Remaining", "4999"),
    ("X-RateLimit-Complexity-Limit", "250000"),
    ("X-RateLimit-Complexity-Remaining", "249982"),
];
const COMPLETION: &str = r#"{"usage":{"prompt_tokens":900,"completion_tokens":300,"total_tokens":1200}}"#;
const MESSAGE: &str = r#"{"usage":{"input_tokens":700,"cache_creation_input_tokens":200,"cache_read_input_tokens":5000,
    "output_tokens":300}}"#;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn window(label: &str, limit: u64, interval: u64) -> Limit {
    Limit::window(limit, seconds(interval)).unwrap().labelled(label).unwrap()
}

fn leaky(label: &str, limit: u64, interval: u64) -> Limit {
    Limit::leaky(limit, seconds(interval)).unwrap().labelled(label).unwrap()
}

fn points(label: &str, capacity: u64, refill: u64) -> Limit {
    Limit::points(capacity, seconds(refill)).unwrap().labelled(label).unwrap()
}

fn update(headers: &[(&str, &str)], body: &str, limits: &[Limit]) -> LimiterUpdate {
    let policy = Policy::new(limits.to_vec()).unwrap();
    read(Provider::Auto, 200, headers, body).update_for(&policy, MAX_PAUSE, None)
}

/// What each label learns: the limit and what remains.
fn lessons(update: &LimiterUpdate) -> Vec<(&str, Option<u64>, Option<u64>)> {
    let amount = |budget: &BudgetUpdate| budget.limit.as_ref().map(Limit::amount);
    update.budgets.iter().map(|budget| (&*budget.label, amount(budget), budget.remaining)).collect()
}

fn charges(update: &LimiterUpdate) -> Vec<(&str, u64)> {
    update.actual_by_label.iter().map(|(label, units)| (&**label, *units)).collect()
}

#[test]
fn requests_and_tokens_are_learned_by_two_limits_of_one_limiter() {
    let both = [window("rpm", 500, MINUTE), points("tpm", 150_000, MINUTE)];
    let flipped = [both[1].clone(), both[0].clone()];
    for headers in [&OPENAI, &AZURE] {
        let learned = update(headers, COMPLETION, &both);
        let (rpm, tpm) = (("rpm", Some(600), Some(598)), ("tpm", Some(200_000), Some(190_000)));
        assert_eq!(lessons(&learned), [rpm, tpm], "{headers:?}");
        assert_eq!((charges(&learned), learned.notes.ignored.len()), (vec![("tpm", 1_200)], 0));
        assert_eq!(lessons(&update(headers, COMPLETION, &flipped)), [tpm, rpm]);
    }
    let learned = update(&ANTHROPIC, MESSAGE, &both);
    assert_eq!(lessons(&learned), [("rpm", Some(1_000), Some(999)), ("tpm", Some(96_000), Some(94_000))]);
    assert_eq!(charges(&learned), [("tpm", 1_200)]);
    let ignored =
        ["input_tokens 79000 of 80000: no limit counts them", "output_tokens 15000 of 16000: no limit counts them"];
    assert_eq!(learned.notes.ignored, ignored);
    for requests in [window("requests", 1_500, 3_600), leaky("requests", 1_500, 3_600)] {
        let learned = update(&LINEAR, "{}", &[requests, points("complexity", 250_000, 3_600)]);
        let complexity = ("complexity", Some(250_000), Some(249_982));
        assert_eq!(lessons(&learned), [("requests", Some(5_000), Some(4_999)), complexity]);
        assert_eq!(charges(&learned), [("complexity", 18)]);
    }
}

#[test]
fn requests_of_a_day_are_not_those_of_a_minute() {
    let (rpm, rpd) = (window("rpm", 30, MINUTE), leaky("rpd", 14_000, DAY));
    let tpm = points("tpm", 6_000, MINUTE);
    let learned = update(&GROQ, COMPLETION, &[rpm.clone(), rpd, tpm.clone()]);
    assert_eq!(lessons(&learned), [("rpd", Some(14_400), Some(14_370)), ("tpm", Some(18_000), Some(17_000))]);
    let learned = update(&GROQ, COMPLETION, &[rpm, tpm.clone()]);
    assert_eq!(lessons(&learned), [("tpm", Some(18_000), Some(17_000))]);
    assert_eq!(learned.notes.ignored, ["requests 14370 of 14400: no limit has their interval"]);
    // Spent for the day, the next request is possible after six seconds.
    let mut spent = GROQ;
    spent[3].1 = "0";
    let learned = update(&spent, COMPLETION, &[leaky("rpm", 30, MINUTE), tpm]);
    assert_eq!((lessons(&learned).len(), learned.notes.pause), (1, Some(Micros(6_000_000))));
    // Tokens of a minute say nothing about tokens of a day.
    let learned = update(&GROQ, COMPLETION, &[points("tpd", 500_000, DAY), points("tpm", 6_000, MINUTE)]);
    assert_eq!(lessons(&learned), [("tpm", Some(18_000), Some(17_000))]);
    assert_eq!(charges(&learned), [], "both are charged the same");
    let learned = update(&GROQ, COMPLETION, &[points("tpd", 500_000, DAY)]);
    assert_eq!(lessons(&learned), []);
    assert_eq!(learned.notes.ignored[1..], ["tokens 17000 of 18000: no limit has their interval"]);
}

#[test]
fn azure_without_a_limit_of_requests_does_not_slow_them() {
    let headers = [AZURE[0], ("x-ratelimit-remaining-requests", "19"), ("x-ratelimit-remaining-tokens", "61353")];
    let learned = update(&headers, COMPLETION, &[window("rpm", 120, MINUTE), points("tpm", 80_000, MINUTE)]);
    assert_eq!(lessons(&learned), [("tpm", None, Some(61_353))]);
    assert_eq!(learned.notes.ignored, ["requests 19: no limit has their interval"]);
}

#[test]
fn input_and_output_are_budgets_of_their_own() {
    let limits = [
        window("rpm", 500, MINUTE),
        points("otpm", 8_000, MINUTE),
        points("itpm", 40_000, MINUTE),
        points("tpm", 50_000, MINUTE),
        Limit::concurrency(20, seconds(60)).unwrap(),
    ];
    let learned = update(&ANTHROPIC, MESSAGE, &limits);
    let expected = [
        ("rpm", Some(1_000), Some(999)),
        ("otpm", Some(16_000), Some(15_000)),
        ("itpm", Some(80_000), Some(79_000)),
        ("tpm", Some(96_000), Some(94_000)),
    ];
    assert_eq!(lessons(&learned), expected);
    assert_eq!(charges(&learned), [("otpm", 300), ("itpm", 900), ("tpm", 1_200)]);
    assert_eq!((learned.actual, learned.notes.cost, learned.notes.ignored), (Some(1_200), Some(1_200), vec![]));
    // A body alone is enough for the charges, and one limit may be the only one.
    assert_eq!(charges(&update(&[], MESSAGE, &limits[1..3])), [("otpm", 300), ("itpm", 900)]);
    assert_eq!(charges(&update(&[], COMPLETION, &limits)), [("otpm", 300), ("itpm", 900), ("tpm", 1_200)]);
    assert_eq!(charges(&update(&[], COMPLETION, &limits[1..2])), [("otpm", 300)]);
    assert_eq!(charges(&update(&[], COMPLETION, &limits[3..])), [], "one number is enough");
    // What a response does not split is charged whole, since less would be a guess.
    assert_eq!(charges(&update(&[], r#"{"usage":{"total_tokens":50}}"#, &limits[..2])), [("otpm", 50)]);
    // The sum of input and output tokens is not the number of either.
    assert_eq!(lessons(&update(&OPENAI, COMPLETION, &limits[1..3])), []);
    assert_eq!(lessons(&update(&ANTHROPIC[7..], MESSAGE, &limits[3..])), []);
}

#[test]
fn a_label_says_which_tokens_a_limit_counts() {
    use Unit::{InputTokens, OutputTokens, Tokens};
    for (label, unit, of_leaky) in [
        ("itpm", InputTokens, true),
        ("itpd", InputTokens, true),
        ("input", InputTokens, false),
        ("tokens-input", InputTokens, false),
        ("otpm", OutputTokens, true),
        ("otph", OutputTokens, true),
        ("output_tokens", OutputTokens, false),
        ("tpm", Tokens, true),
        ("tpd", Tokens, true),
        ("tokens", Tokens, false),
        ("points", Tokens, false),
        ("input-and-output", Tokens, false),
        ("items", Tokens, false),
        ("otp", Tokens, false),
        ("stpm", Tokens, false),
    ] {
        assert_eq!(own_unit(&points(label, 5, 1)), Some(unit), "{label}");
        assert_eq!(own_unit(&leaky(label, 5, 1)), of_leaky.then_some(unit), "{label}");
    }
    assert_eq!(own_unit(&Limit::concurrency(5, seconds(1)).unwrap().labelled("tpm").unwrap()), None);
}

#[test]
fn meters_of_tokens_need_not_be_points() {
    let limits = [leaky("tpm", 150_000, MINUTE), window("rpm", 500, MINUTE)];
    let learned = update(&OPENAI, COMPLETION, &limits);
    assert_eq!(lessons(&learned), [("tpm", Some(200_000), Some(190_000)), ("rpm", Some(600), Some(598))]);
    assert_eq!(charges(&learned), [("tpm", 1_200)]);
    // A response may name only the requests, of an interval that it does not tell.
    let learned = update(&[OPENAI[0], ("x-ratelimit-limit-requests", "500"), OPENAI[3]], "", &limits);
    assert_eq!(lessons(&learned), [("rpm", None, Some(500))]);
}

#[test]
fn points_that_are_no_tokens_have_no_sides() {
    let body = r#"{"extensions":{"cost":{"actualQueryCost":12,"throttleStatus":{"maximumAvailable":1000.0,
        "currentlyAvailable":900,"restoreRate":50.0}}}}"#;
    let learned = update(&[], body, &[points("input", 1_000, 20), window("calls", 10, 1)]);
    assert_eq!(lessons(&learned), [("input", Some(1_000), Some(900))]);
    assert_eq!(charges(&learned), [("input", 12)]);
}

#[test]
fn a_limiter_of_requests_and_tokens_learns_both() {
    let clock = TestClock::new(Micros(1)).unwrap();
    let policy = Policy::new([window("rpm", 500, MINUTE), points("tpm", 150_000, MINUTE)]).unwrap();
    let llm = Paddlegate::memory_with_clock(&clock).limiter("llm", policy).unwrap();
    let permit = llm.try_acquire(Request::estimate(&[("tpm", 2_000)])).unwrap().permit;
    let learned = llm.apply_report(update(&OPENAI, COMPLETION, llm.policy().limits()).report(permit.as_deref()));
    let expected = Learned {
        settlement: Some(Settlement::Settled),
        learned: ["limit[rpm]", "remaining[rpm]", "limit[tpm]", "remaining[tpm]"].map(str::to_owned).to_vec(),
        cost: Some(1_200),
        ..Learned::default()
    };
    assert_eq!(learned.unwrap(), expected);
    // 598 of 600 calls are left, and 190,000 of 200,000 tokens.
    assert!(llm.peek(Request::cost(&[("tpm", 190_000), ("rpm", 598)])).unwrap().allowed());
    assert_eq!(&*llm.peek(Request::cost(&[("tpm", 190_001)])).unwrap().label.unwrap(), "tpm");
    assert_eq!(&*llm.peek(Request::cost(&[("tpm", 1), ("rpm", 599)])).unwrap().label.unwrap(), "rpm");
}

/// A provider with books of its own: two budgets per minute, refilled continuously.
struct Upstream {
    limits: [u64; 2],
    /// Millionths of what is taken.
    taken: [u64; 2],
    at: u64,
    spent: u64,
    refused: u64,
}

impl Upstream {
    fn new(rpm: u64, tpm: u64, now: u64) -> Self {
        Self { limits: [rpm, tpm], taken: [0; 2], at: now, spent: 0, refused: 0 }
    }

    /// Returns the status and the headers of an answer that costs this number of tokens.
    fn call(&mut self, tokens: u64, now: u64) -> (u16, Vec<(String, String)>) {
        for (taken, limit) in self.taken.iter_mut().zip(self.limits) {
            *taken = taken.saturating_sub((now - self.at) * limit / MINUTE);
        }
        self.at = now;
        let mut budgets = [1, tokens].into_iter().zip(self.taken).zip(self.limits);
        let allowed = budgets.all(|((cost, taken), limit)| taken + cost * 1_000_000 <= limit * 1_000_000);
        if allowed {
            self.taken[0] += 1_000_000;
            self.taken[1] += tokens * 1_000_000;
            self.spent += tokens;
        } else {
            self.refused += 1;
        }
        let mut headers = vec![("openai-version".to_owned(), "1".to_owned())];
        for ((name, taken), limit) in ["requests", "tokens"].into_iter().zip(self.taken).zip(self.limits) {
            let left = (limit * 1_000_000 - taken) / 1_000_000;
            headers.push((format!("x-ratelimit-limit-{name}"), limit.to_string()));
            headers.push((format!("x-ratelimit-remaining-{name}"), left.to_string()));
            headers.push((format!("x-ratelimit-reset-{name}"), format!("{}ms", taken * MINUTE / limit / 1_000)));
        }
        (if allowed { 200 } else { 429 }, headers)
    }
}

/// One call through the limiter; returns how long to wait before the next.
fn call(llm: &Limiter, upstream: &mut Upstream, tokens: u64, now: u64) -> Micros {
    let decision = llm.try_acquire(Request::estimate(&[("tpm", 400)])).unwrap();
    if !decision.allowed() {
        return decision.retry_after.unwrap();
    }
    let (status, headers) = upstream.call(tokens, now);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let body = format!(
        "{{\"usage\":{{\"prompt_tokens\":10,\"completion_tokens\":{},\"total_tokens\":{tokens}}}}}",
        tokens - 10
    );
    let body = if status == 200 { &*body } else { "{}" };
    let response = Response { status: Some(status), headers: &headers, body };
    let update = Feedback::read(Provider::Auto, &response, MAX_PAUSE).update_for(llm.policy(), MAX_PAUSE, None);
    llm.apply_report(update.report(decision.permit.as_deref())).unwrap();
    Micros(20_000)
}

#[test]
fn a_provider_whose_numbers_are_learned_never_refuses_and_is_used_up() {
    // The configured numbers are too high and too low; either budget may be the one that binds.
    for (rpm, tpm, most) in [(60, 9_000, 400), (60, 100_000, 400), (3_000, 40_000, 60)] {
        let start = 1_700_000_000_000_000;
        let clock = TestClock::new(Micros(start)).unwrap();
        let policy = Policy::new([leaky("rpm", 500, MINUTE), points("tpm", 30_000, MINUTE)]).unwrap();
        let llm = Paddlegate::memory_with_clock(&clock).limiter("llm", policy).unwrap();
        let mut upstream = Upstream::new(rpm, tpm, start);
        let (mut calls, mut dice) = (0, 7_u64);
        while clock.now().0 < start + 600_000_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let spent = upstream.spent;
            let wait = call(&llm, &mut upstream, 20 + (dice >> 33) % (most - 20), clock.now().0);
            calls += u64::from(upstream.spent > spent);
            clock.set(Micros(clock.now().0 + wait.0)).unwrap();
        }
        assert_eq!(upstream.refused, 0);
        // Ten minutes, and the burst at the start.
        let shares = [calls * 100 / (11 * rpm), upstream.spent * 100 / (11 * tpm)];
        assert!(shares.iter().any(|share| *share >= 95), "{shares:?} percent were used");
    }
}
