//! What answers of real upstreams mean for policies that people have.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::super::tests::{body, read};
use super::super::{MAX_PAUSE, Provider, Response};
use super::*;
use crate::base::micros::{MAX_SPAN, MAX_TIME};
use crate::base::test_clock::TestClock;
use crate::client::paddlegate::Paddlegate;
use crate::model::label::Label;
use crate::model::learned::Learned;
use crate::model::limit::MAX_UNITS;
use crate::model::permit::Settlement;
use crate::model::request::Request;

const SHOPIFY: &str = r#"{"data":{},"extensions":{"cost":{"requestedQueryCost":252,"actualQueryCost":12,
    "throttleStatus":{"maximumAvailable":2000.0,"currentlyAvailable":1988,"restoreRate":100.0}}}}"#;
const GITHUB: [(&str, &str); 5] = [
    ("x-ratelimit-limit", "5000"),
    ("x-ratelimit-remaining", "4990"),
    ("x-ratelimit-reset", "1735693200"),
    ("x-ratelimit-resource", "core"),
    ("Date", "Wed, 01 Jan 2025 00:30:00 GMT"),
];
const OPENAI: [(&str, &str); 6] = [
    ("x-ratelimit-limit-requests", "60"),
    ("x-ratelimit-limit-tokens", "150000"),
    ("x-ratelimit-remaining-requests", "59"),
    ("x-ratelimit-remaining-tokens", "149984"),
    ("x-ratelimit-reset-requests", "1s"),
    ("x-ratelimit-reset-tokens", "6s"),
];
const DISCORD: [(&str, &str); 4] = [
    ("X-RateLimit-Limit", "5"),
    ("X-RateLimit-Remaining", "0"),
    ("X-RateLimit-Reset-After", "1.5"),
    ("X-RateLimit-Bucket", "abcd1234"),
];

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn bucket(limit: u64, interval: u64) -> Limit {
    Limit::bucket(limit, seconds(interval)).unwrap()
}

fn window(limit: u64, interval: u64) -> Limit {
    Limit::window(limit, seconds(interval)).unwrap()
}

fn points(capacity: u64, refill: u64) -> Limit {
    Limit::points(capacity, seconds(refill)).unwrap()
}

fn update<const N: usize>(feedback: &Feedback, limits: [Limit; N]) -> LimiterUpdate {
    LimiterUpdate {
        notes: Notes::default(),
        ..feedback.update_for(&Policy::new(limits).unwrap(), MAX_PAUSE, Some(1_000_000))
    }
}

fn remaining(label: &str, remaining: u64) -> BudgetUpdate {
    BudgetUpdate { remaining: Some(remaining), ..BudgetUpdate::new(Label::new(label).unwrap()) }
}

const fn after(micros: u64) -> Deadline {
    Deadline::After(Micros(micros))
}

/// The same headers, of which one has another value.
fn with<const N: usize>(
    mut headers: [(&'static str, &'static str); N],
    name: &str,
    value: &'static str,
) -> [(&'static str, &'static str); N] {
    headers.iter_mut().filter(|header| header.0 == name).for_each(|header| header.1 = value);
    headers
}

#[test]
fn shopify_teaches_points_their_numbers() {
    let feedback = body(Provider::Shopify, SHOPIFY);
    let learned = BudgetUpdate { limit: Some(points(2_000, 20)), ..remaining("points", 1_988) };
    let expected =
        LimiterUpdate { actual: Some(12), budgets: vec![learned.clone()], pause: None, ..LimiterUpdate::default() };
    assert_eq!(update(&feedback, [points(1_000, 20)]), expected);
    // The upstream's numbers rule whatever was configured, and a meter of calls hears nothing of points.
    let both = update(&feedback, [window(4, 1), points(100, 5)]);
    assert_eq!(both.budgets, [learned]);
    // In a policy without points, costs are what every limit counts.
    let leaky = update(&feedback, [Limit::leaky(1_000, seconds(10)).unwrap()]);
    assert_eq!(leaky.budgets[0].limit, Some(Limit::leaky(2_000, seconds(20)).unwrap()));
    let bucketed = BudgetUpdate { limit: Some(bucket(2_000, 20)), ..remaining("bucket", 1_988) };
    assert_eq!(update(&feedback, [bucket(1_000, 20)]).budgets, [bucketed]);
    assert_eq!(update(&feedback, [bucket(1_000, 10)]).budgets, [], "of another interval");
}

#[test]
fn shopify_spent_refills_and_needs_no_pause() {
    let spent = SHOPIFY.replace("1988", "0.5");
    let spent = update(&body(Provider::Shopify, &spent), [points(1_000, 20)]);
    assert_eq!((spent.budgets[0].remaining, spent.pause), (Some(0), None));
}

#[test]
fn github_teaches_the_limit_that_has_its_window() {
    let feedback = read(Provider::GitHub, 200, &GITHUB, "[]");
    let learned = BudgetUpdate {
        limit: Some(bucket(5_000, 3_600)),
        reset: Some(after(1_800_000_000)),
        ..remaining("bucket", 4_990)
    };
    assert_eq!(update(&feedback, [bucket(5_000, 3_600)]).budgets, std::slice::from_ref(&learned));
    assert_eq!(update(&feedback, [bucket(60, 3_600)]).budgets, std::slice::from_ref(&learned), "other numbers");
    for other in [window(10, 1), bucket(10, 60), bucket(4_991, 60), bucket(5_000, 60), window(5_000, 86_400)] {
        assert_eq!(update(&feedback, [other]).budgets, [], "of another interval");
    }
    let sliding = BudgetUpdate { limit: Some(window(5_000, 3_600)), ..remaining("window", 4_990) };
    assert_eq!(update(&feedback, [window(60, 3_600)]).budgets, [sliding], "only a bucket has an end");
    for others in [[window(10, 1), bucket(60, 3_600)], [bucket(60, 3_600), window(10, 1)]] {
        assert_eq!(update(&feedback, others).budgets, std::slice::from_ref(&learned), "its own limit goes first");
    }
}

#[test]
fn github_keeps_the_offset_and_the_time_of_another_clock() {
    let of_zone = Limit::bucket_with_offset(60, seconds(3_600), seconds(1_800)).unwrap();
    let feedback = read(Provider::GitHub, 200, &GITHUB[..4], "[]");
    let learned = update(&feedback, [of_zone]).budgets.remove(0);
    assert_eq!(learned.limit, Some(Limit::bucket_with_offset(5_000, seconds(3_600), seconds(1_800)).unwrap()));
    assert_eq!(learned.reset, Some(Deadline::At(Micros(1_735_693_200_000_000))));
}

#[test]
fn github_spent_is_no_pause_of_its_own_limit() {
    let feedback = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-remaining", "0"), "[]");
    assert_eq!(update(&feedback, [bucket(5_000, 3_600)]).pause, None, "the bucket refuses until its end");
    assert_eq!(update(&feedback, [window(10, 1)]).pause, Some(after(1_800_000_000)));
    let elsewhere = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-remaining", "0")[..4], "[]");
    let by_the_store = Deadline::Within { at: Micros(1_735_693_200_000_000), most: MAX_PAUSE };
    assert_eq!(update(&elsewhere, [window(10, 1)]).pause, Some(by_the_store), "a time of another clock is no length");
}

#[test]
fn openai_teaches_requests_and_tokens_in_both_orders() {
    let usage = r#"{"usage":{"total_tokens":21}}"#;
    let feedback = read(Provider::OpenAi, 200, &OPENAI, usage);
    let (requests, tokens) = (remaining("window", 59), remaining("points", 149_984));
    let ahead = update(&feedback, [window(60, 60), points(150_000, 60)]);
    assert_eq!(
        ahead,
        LimiterUpdate {
            actual: Some(21),
            actual_by_label: vec![(Label::new("points").unwrap(), 21)],
            budgets: vec![requests.clone(), tokens.clone()],
            ..LimiterUpdate::default()
        }
    );
    let behind = update(&feedback, [points(150_000, 60), window(60, 60)]);
    assert_eq!(behind.budgets, [tokens.clone(), requests.clone()]);
    // Without requests a limit beside points hears nothing; without points all limits count one thing.
    let only_tokens = read(Provider::OpenAi, 200, &[OPENAI[1], OPENAI[3]], usage);
    let both = update(&only_tokens, [window(60, 60), points(150_000, 60)]);
    assert_eq!(both.budgets, [tokens]);
    assert_eq!(update(&only_tokens, [bucket(150_000, 60)]).budgets, [remaining("bucket", 149_984)]);
    assert_eq!(update(&feedback, [window(60, 60), bucket(10_000, 86_400)]).budgets, [requests]);
}

#[test]
fn openai_spent_twice_waits_for_the_later() {
    let spent = with(OPENAI, "x-ratelimit-remaining-requests", "0");
    let policy = || [window(60, 60), points(150_000, 60)];
    let one = update(&read(Provider::OpenAi, 200, &spent, ""), policy());
    assert_eq!(
        (one.pause, one.budgets[0].remaining),
        (Some(after(1_000_000)), None),
        "a window would wait for a minute"
    );
    let both = read(Provider::OpenAi, 200, &with(spent, "x-ratelimit-remaining-tokens", "0"), "");
    assert_eq!(update(&both, policy()).pause, Some(after(6_000_000)));
}

#[test]
fn discord_spent_without_a_window_is_a_pause() {
    let feedback = read(Provider::Discord, 200, &DISCORD, "{}");
    for limit in [bucket(50, 1), window(50, 1), Limit::leaky(50, seconds(1)).unwrap()] {
        let expected = LimiterUpdate { pause: Some(after(1_500_000)), ..LimiterUpdate::default() };
        assert_eq!(update(&feedback, [limit]), expected);
    }
    let left = read(Provider::Discord, 200, &with(DISCORD, "X-RateLimit-Remaining", "1"), "{}");
    assert_eq!(update(&left, [bucket(50, 1)]).pause, None);
    let over = read(Provider::Discord, 200, &with(DISCORD, "X-RateLimit-Reset-After", "0"), "{}");
    assert_eq!(update(&over, [bucket(50, 1)]).pause, None);
    // What the refusal says goes before what the budget says.
    let refusal = r#"{"message":"You are being rate limited.","retry_after":0.25,"global":false}"#;
    let refused = read(Provider::Discord, 429, &DISCORD, refusal);
    assert_eq!(update(&refused, [bucket(50, 1)]).pause, Some(after(250_000)));
}

#[test]
fn concurrency_and_throttle_learn_only_pauses() {
    let feedback = read(Provider::Discord, 429, &DISCORD, r#"{"retry_after":2,"global":false}"#);
    let limits = [Limit::concurrency(5, seconds(30)).unwrap(), Limit::throttle(seconds(1)).unwrap(), Limit::paused()];
    let learned = update(&feedback, limits);
    assert_eq!((learned.budgets, learned.pause), (vec![], Some(after(2_000_000))));
    let spent = read(Provider::Discord, 200, &DISCORD, "{}");
    assert_eq!(update(&spent, [Limit::unlimited()]), LimiterUpdate::default());
}

#[test]
fn the_caller_bounds_every_pause() {
    let policy = Policy::new([bucket(50, 1)]).unwrap();
    let spent = read(Provider::Discord, 200, &DISCORD, "{}");
    let refused = Feedback { pause: Some(MAX_PAUSE), ..Feedback::default() };
    for feedback in [&spent, &refused] {
        assert_eq!(feedback.update_for(&policy, Micros(1_000), None).pause, Some(after(1_000)));
        assert_eq!(feedback.update_for(&policy, Micros(0), None).pause, None, "a pause of nothing would be refused");
    }
    let endless = Feedback { pause: Some(Micros(u64::MAX)), ..Feedback::default() };
    assert_eq!(endless.update_for(&policy, Micros(u64::MAX), None).pause, Some(after(MAX_SPAN.0)));
}

#[test]
fn a_budget_is_used_for_one_limit_only() {
    let feedback = read(Provider::GitHub, 200, &GITHUB, "[]");
    let twice = update(&feedback, [window(10, 1), window(20, 2).labelled("other").unwrap()]);
    assert_eq!(twice.budgets, []);
    let same = update(&feedback, [bucket(60, 3_600).labelled("core").unwrap(), bucket(70, 3_600)]);
    let labels: Vec<&str> = same.budgets.iter().map(|budget| &*budget.label).collect();
    assert_eq!((labels, same.budgets[0].remaining), (vec!["core"], Some(4_990)));
    let headers =
        [("RateLimit", "\"s\";r=3;t=1, \"h\";r=90;t=60"), ("RateLimit-Policy", "\"s\";q=5;w=1, \"h\";q=100;w=3600")];
    let ietf = read(Provider::Ietf, 200, &headers, "");
    let labelled = |label, limit, interval| bucket(limit, interval).labelled(label).unwrap();
    let learned = update(&ietf, [labelled("hour", 1_000, 3_600), labelled("second", 10, 1)]);
    let hour = labelled("hour", 100, 3_600);
    let hour = BudgetUpdate { limit: Some(hour), reset: Some(after(60_000_000)), ..remaining("hour", 90) };
    let second = labelled("second", 5, 1);
    let second = BudgetUpdate { limit: Some(second), reset: Some(after(1_000_000)), ..remaining("second", 3) };
    assert_eq!(learned.budgets, [hour, second]);
}

#[test]
fn numbers_that_no_limit_can_have_are_not_learned() {
    let many = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-limit", "100001"), "[]");
    let most = BudgetUpdate { limit: Some(window(100_000, 3_600)), ..remaining("window", 4_990) };
    assert_eq!(update(&many, [window(60, 3_600)]).budgets, [most]);
    let none = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-limit", "0"), "[]");
    assert_eq!(update(&none, [bucket(60, 3_600)]).budgets[0].limit, None);
}

#[test]
fn a_limiter_learns_it() {
    let clock = TestClock::new(Micros(1)).unwrap();
    let shop = Paddlegate::memory_with_clock(&clock).points("shop", 1_000, seconds(20)).unwrap();
    let permit = shop.try_acquire(Request::estimate(252)).unwrap().permit;
    let update = body(Provider::Shopify, SHOPIFY).update_for(shop.policy(), MAX_PAUSE, None);
    assert_eq!(update.report(None).actual, None, "no permit, nothing to settle");
    let learned = Learned {
        settlement: Some(Settlement::Settled),
        learned: vec!["limit".to_owned()],
        cost: Some(12),
        ..Learned::default()
    };
    assert_eq!(shop.apply_report(update.report(permit.as_deref())).unwrap(), learned);
    assert_eq!(shop.peek(Request::estimate(1)).unwrap().remaining, Some(1_988));
}

#[test]
fn an_answer_opens_a_limit_to_ten_times_its_own_at_most() {
    let with_quota = |q: &str| {
        let policy = format!("\"s\";q={q};w=60");
        read(Provider::Ietf, 200, &[("RateLimit", "\"s\";r=5;t=30"), ("RateLimit-Policy", &policy)], "")
    };
    let of = |feedback: &Feedback, limit: Limit, max_learned| {
        let update = feedback.update_for(&Policy::new([limit]).unwrap(), MAX_PAUSE, max_learned);
        (update.budgets[0].limit.as_ref().map(Limit::amount), update.notes.ignored)
    };
    let above = |sent: u64, learned: u64| vec![format!("limit: {sent} is above max_learned, {learned} applies")];
    let most = 1_000_000_000_000;
    assert_eq!(of(&with_quota(&most.to_string()), bucket(100, 60), None), (Some(1_000), above(most, 1_000)));
    assert_eq!(of(&with_quota("1001"), bucket(100, 60), None), (Some(1_000), above(1_001, 1_000)));
    assert_eq!(of(&with_quota("1000"), bucket(100, 60), None), (Some(1_000), vec![]));
    assert_eq!(of(&with_quota("1001"), bucket(100, 60), Some(1_001)), (Some(1_001), vec![]));
    assert_eq!(of(&with_quota("101"), bucket(100, 60), Some(0)), (Some(100), above(101, 100)));
    assert_eq!(of(&with_quota("100"), bucket(100, 60), Some(0)), (Some(100), vec![]), "its own is never too large");
    // What refills faster is more as well.
    let shop = |rate: &str| body(Provider::Shopify, &SHOPIFY.replace("100.0", rate));
    assert_eq!(of(&shop("500.0"), points(1_000, 20), None), (Some(2_000), vec![]));
    let rate = vec!["limit: its rate is above max_learned, which applies".to_owned()];
    assert_eq!(of(&shop("501.0"), points(1_000, 20), None), (Some(2_000), rate));
    let plus = body(Provider::Shopify, &SHOPIFY.replace("2000.0", "20000.0").replace("100.0", "1000.0"));
    assert_eq!(of(&plus, points(1_000, 20), None), (Some(10_000), above(20_000, 10_000)));
}

#[test]
fn a_meter_that_is_not_exact_has_the_interval_that_was_asked_for() {
    let own = Limit::leaky(1_000_000_007, seconds(86_400)).unwrap();
    assert!(own.interval() > Micros(86_400_000_000), "made a little longer");
    let headers = [("RateLimit", "\"s\";r=5;t=30"), ("RateLimit-Policy", "\"s\";q=1000000009;w=86400")];
    let update = read(Provider::Ietf, 200, &headers, "").update_for(&Policy::new([own]).unwrap(), MAX_PAUSE, None);
    assert_eq!(update.notes.ignored, [""; 0]);
    assert_eq!(
        (update.budgets[0].limit.as_ref().map(Limit::amount), update.budgets[0].remaining),
        (Some(1_000_000_009), Some(5))
    );
}

#[test]
fn what_is_not_learned_is_told_with_its_reason() {
    let ignored = |feedback: &Feedback, limits: &[Limit]| {
        feedback.update_for(&Policy::new(limits.to_vec()).unwrap(), MAX_PAUSE, None).notes.ignored
    };
    let discord = read(Provider::Discord, 200, &DISCORD, "{}");
    assert_eq!(ignored(&discord, &[bucket(50, 1)]), ["requests 0 of 5: no limit has their amount and end"]);
    assert_eq!(ignored(&discord, &[points(50, 1)]), ["requests 0 of 5: no limit counts them"]);
    let github = read(Provider::GitHub, 200, &GITHUB, "[]");
    let of_another = ["requests 4990 of 5000: no limit has their interval"];
    assert_eq!(ignored(&github, &[window(10_000, 86_400)]), of_another);
    let own = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-resource", "scim"), "[]");
    assert_eq!(ignored(&own, &[window(5_000, 3_600)]), ["requests 4990 of 5000: are of the resource scim"]);
    let labelled = window(5_000, 3_600).labelled("scim").unwrap();
    assert_eq!(ignored(&own, &[labelled]), [""; 0]);
    assert_eq!(ignored(&github, &[bucket(50, 1), bucket(5_000, 3_600).labelled("core").unwrap()]), [""; 0]);
    let many = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-limit", "100001"), "[]");
    assert_eq!(
        ignored(&many, &[window(50_000, 3_600)]),
        ["limit: 100001 is above the maximum of a window, 100000 applies"]
    );
    let none = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-limit", "0"), "[]");
    let hourly = window(60, 3_600).labelled("hourly").unwrap();
    assert_eq!(ignored(&none, &[window(1, 1), hourly]), ["limit[hourly]: is zero"]);
    assert_eq!(
        ignored(&read(Provider::Auto, 200, &[("Date", "x")], "hello"), &[bucket(1, 1)]),
        ["not a rate limit answer"]
    );
    assert_eq!(
        ignored(&read(Provider::Auto, 429, &[], ""), &[bucket(1, 1)]),
        ["pause: the answer does not say how long"]
    );
}

#[test]
fn a_refusal_without_its_status_is_one_where_the_documentation_says_so() {
    let result = |provider, headers: &[(&str, &str)], body: &str| {
        let response = Response { status: None, headers, body };
        let feedback = Feedback::read(provider, &response, MAX_PAUSE);
        let update = feedback.update_for(&Policy::new([bucket(50, 1)]).unwrap(), MAX_PAUSE, None);
        (feedback.throttled, feedback.pause.map(|pause| pause.0 / 1_000), update.notes.ignored)
    };
    let after = ("Retry-After", "7");
    let refused = |millis| (true, Some(millis), vec![]);
    let missing = (false, None, vec!["pause: status is missing".to_owned()]);
    let discord = r#"{"message": "slow", "retry_after": 1.5, "global": true}"#;
    assert_eq!(result(Provider::Discord, &[], discord), refused(1_500));
    assert_eq!(result(Provider::Auto, &[], discord), refused(1_500));
    assert_eq!(result(Provider::Discord, &[("X-RateLimit-Scope", "user"), after], ""), refused(7_000));
    assert_eq!(result(Provider::Stripe, &[("Stripe-Rate-Limited-Reason", "global-rate")], ""), refused(1_000));
    assert_eq!(result(Provider::OpenAi, &[after], r#"{"error": {"code": "rate_limit_exceeded"}}"#), refused(7_000));
    assert_eq!(
        result(Provider::Anthropic, &[after], r#"{"type": "error", "error": {"type": "rate_limit_error"}}"#),
        refused(7_000)
    );
    assert_eq!(
        result(Provider::GitHub, &[after], r#"{"message": "You have exceeded a secondary rate limit."}"#),
        refused(7_000)
    );
    for provider in
        [Provider::Auto, Provider::Ietf, Provider::OpenAi, Provider::Stripe, Provider::Shopify, Provider::Discord]
    {
        assert_eq!(result(provider, &[after], ""), missing, "{provider:?}");
    }
    assert!(!result(Provider::Discord, &[], "{}").0);
}

#[test]
fn discord_tells_its_limit_with_the_first_call_of_a_window() {
    let feedback = |limit, left, reset| {
        let headers =
            [("X-RateLimit-Limit", limit), ("X-RateLimit-Remaining", left), ("X-RateLimit-Reset-After", reset)];
        read(Provider::Discord, 200, &[&headers[..], &[("X-RateLimit-Bucket", "abcd1234")]].concat(), "{}")
    };
    let first = feedback("5", "4", "0.998");
    assert_eq!((first.budgets[0].window, first.bucket.as_deref()), (Some(Micros(1_000_000)), Some("abcd1234")));
    let learned = BudgetUpdate { limit: Some(bucket(5, 1)), reset: Some(after(998_000)), ..remaining("bucket", 4) };
    assert_eq!(update(&first, [bucket(50, 1)]).budgets, [learned]);
    assert_eq!(update(&first, [window(50, 1)]).budgets[0].limit, Some(window(5, 1)));
    assert_eq!(update(&first, [window(50, 60)]).budgets, [], "of another interval");
    assert_eq!(feedback("5", "3", "0.998").budgets[0].window, None);
    for (reset, window) in [("0.25", 250_000), ("4.998", 5_000_000), ("59.01", 60_000_000), ("60.0", 60_000_000)] {
        assert_eq!(feedback("1", "0", reset).budgets[0].window, Some(Micros(window)), "{reset}");
    }
}

#[test]
fn discord_says_of_whom_a_refusal_is() {
    let notes = |headers: &[(&str, &str)], body: &str| {
        let feedback = read(Provider::Discord, 429, headers, body);
        feedback.update_for(&Policy::new([bucket(50, 1)]).unwrap(), MAX_PAUSE, None).notes
    };
    let global = notes(
        &[("X-RateLimit-Global", "true"), ("X-RateLimit-Scope", "global")],
        r#"{"retry_after": 2.0, "global": true}"#,
    );
    assert_eq!((global.scope, global.pause), (Some("global"), Some(Micros(2_000_000))));
    let shared = notes(&[DISCORD[3], ("X-RateLimit-Scope", "shared")], r#"{"retry_after": 2.0, "global": false}"#);
    assert_eq!((shared.scope, shared.bucket.as_deref()), (Some("shared"), Some("abcd1234")));
}

fn budgets() -> impl Strategy<Value = Budget> {
    let unit =
        prop::sample::select(vec![Unit::Points, Unit::Requests, Unit::Tokens, Unit::InputTokens, Unit::OutputTokens]);
    let span = || prop::option::of(prop_oneof![Just(Micros(1_000_000)), (1..=MAX_SPAN.0).prop_map(Micros)]);
    let reset = prop_oneof![
        (0..=MAX_SPAN.0).prop_map(|span| Reset::After(Micros(span))),
        prop_oneof![Just(MAX_TIME.0), 0..MAX_TIME.0].prop_map(|at| Reset::At(Micros(at))),
    ];
    let few = || prop::option::of(prop_oneof![0..3_u64, 0..1_000_000_000_000_u64]);
    (unit, few(), few(), span(), span(), prop::option::of(reset)).prop_map(
        |(unit, remaining, limit, refill, window, reset)| Budget { unit, remaining, limit, refill, window, reset },
    )
}

fn limits() -> impl Strategy<Value = Limit> {
    let kinds = vec![Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle, Kind::Paused];
    (prop::sample::select(kinds), 1..1_000_u64, 1..3_u64)
        .prop_map(|(kind, amount, time)| Limit::of_kind(kind, amount, Micros(time * 1_000_000), Micros(0)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/update.txt"))),
        ..ProptestConfig::default()
    })]

    /// Whatever an answer says, its update is one that the limiter takes.
    #[test]
    fn every_lesson_is_taken(
        budgets in prop::collection::vec(budgets(), 0..5), limits in prop::collection::vec(limits(), 1..5),
        pause in prop::option::of((1..=MAX_SPAN.0).prop_map(Micros)), max_pause in prop_oneof![0..3_u64, 0..=u64::MAX],
        max_learned in prop::option::of(prop_oneof![0..2_000_u64, any::<u64>()]),
        actual in prop::array::uniform3(prop::option::of(0..2_000_000_000_000_u64)),
        labels in Just(["tpm", "itpm", "otpm", "input", "output-x", "rpm"]).prop_shuffle(),
    ) {
        let labelled = limits.into_iter().zip(labels).map(|(limit, label)| limit.labelled(label).unwrap());
        let policy = Policy::new(labelled).unwrap();
        let reported = budgets.iter().filter(|budget| budget.remaining.is_some()).count();
        let [actual, actual_input, actual_output] = actual.map(|actual| actual.map(|units| units.min(MAX_UNITS)));
        let feedback = Feedback { actual, actual_input, actual_output, budgets, pause, ..Feedback::default() };
        let update = feedback.update_for(&policy, Micros(max_pause), max_learned);
        prop_assert!(update.budgets.len() <= policy.limits().len());
        prop_assert!(update.budgets.iter().filter(|budget| budget.remaining.is_some()).count() <= reported);
        prop_assert_eq!(update.report(None).check(&policy), Ok(()));
        prop_assert_eq!(update.report(Some("p")).check(&policy), Ok(()));
        // No answer opens a limit further than its owner allows, neither at once nor over time.
        for learned in &update.budgets {
            let own = policy.limit(Some(&learned.label)).unwrap();
            let Some(numbers) = &learned.limit else { continue };
            let most = max_learned.unwrap_or(LEARNED_FACTOR * own.amount()).max(own.amount());
            prop_assert!(numbers.amount() <= most, "{numbers:?} {own:?}");
            let rate = u128::from(numbers.amount()) * u128::from(own.interval().0);
            prop_assert!(rate <= u128::from(most) * u128::from(numbers.interval().0), "{numbers:?} {own:?}");
        }
    }
}
