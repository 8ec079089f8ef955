//! What answers of real upstreams mean for policies that people have.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::super::tests::{body, read};
use super::super::{MAX_PAUSE, Provider};
use super::*;
use crate::micros::{MAX_SPAN, MAX_TIME};
use crate::operation::{Answer, Interrupt, Operation};
use crate::paddlegate::Paddlegate;
use crate::permit::Settlement;
use crate::request::Request;

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
    ("x-ratelimit-reset-tokens", "6m0s"),
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

fn lesson<const N: usize>(feedback: &Feedback, limits: [Limit; N]) -> Lesson {
    feedback.lesson(&Policy::new(limits).unwrap(), MAX_PAUSE)
}

fn remaining(remaining: u64) -> Sync {
    Sync { remaining: Some(remaining), ..Sync::default() }
}

const fn after(micros: u64) -> Moment {
    Moment::After(Micros(micros))
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
    let learned = Sync { limit: Some(points(2_000, 20)), ..remaining(1_988) };
    let expected = Lesson { actual: Some(12), budgets: vec![learned.clone()], pause: None };
    assert_eq!(lesson(&feedback, [points(1_000, 20)]), expected);
    // The numbers are those of upstream whatever was configured, and a meter of calls hears nothing of points.
    let both = lesson(&feedback, [window(4, 1), points(100, 5)]);
    assert_eq!(both.budgets, [Sync::default(), learned]);
    // In a policy without points, costs are what every limit counts.
    let leaky = lesson(&feedback, [Limit::leaky(1_000, seconds(10)).unwrap()]);
    assert_eq!(leaky.budgets[0].limit, Some(Limit::leaky(2_000, seconds(20)).unwrap()));
    assert_eq!(lesson(&feedback, [bucket(1_000, 20)]).budgets, [remaining(1_988)]);
}

#[test]
fn shopify_spent_refills_and_needs_no_pause() {
    let spent = SHOPIFY.replace("1988", "0.5");
    let spent = lesson(&body(Provider::Shopify, &spent), [points(1_000, 20)]);
    assert_eq!((spent.budgets[0].remaining, spent.pause), (Some(0), None));
}

#[test]
fn github_teaches_the_limit_that_has_its_window() {
    let feedback = read(Provider::GitHub, 200, &GITHUB, "[]");
    let learned = Sync { limit: Some(bucket(5_000, 3_600)), reset: Some(after(1_800_000_000)), ..remaining(4_990) };
    assert_eq!(lesson(&feedback, [bucket(5_000, 3_600)]).budgets, std::slice::from_ref(&learned));
    assert_eq!(lesson(&feedback, [bucket(60, 3_600)]).budgets, std::slice::from_ref(&learned), "other numbers");
    assert_eq!(lesson(&feedback, [window(10, 1)]).budgets, [remaining(4_990)]);
    assert_eq!(lesson(&feedback, [bucket(10, 60)]).budgets, [remaining(4_990)]);
    let sliding = Sync { limit: Some(window(5_000, 3_600)), ..remaining(4_990) };
    assert_eq!(lesson(&feedback, [window(60, 3_600)]).budgets, [sliding], "only a bucket has an end");
    for others in [[window(10, 1), bucket(60, 3_600)], [bucket(60, 3_600), window(10, 1)]] {
        let expected = others.clone().map(|limit| match limit.kind() {
            Kind::Bucket => learned.clone(),
            _ => Sync::default(),
        });
        assert_eq!(lesson(&feedback, others).budgets, expected, "its own limit goes first");
    }
}

#[test]
fn github_keeps_the_offset_and_the_time_of_another_clock() {
    let of_zone = Limit::bucket_with_offset(60, seconds(3_600), seconds(1_800)).unwrap();
    let feedback = read(Provider::GitHub, 200, &GITHUB[..4], "[]");
    let learned = lesson(&feedback, [of_zone]).budgets.remove(0);
    assert_eq!(learned.limit, Some(Limit::bucket_with_offset(5_000, seconds(3_600), seconds(1_800)).unwrap()));
    assert_eq!(learned.reset, Some(Moment::At(Micros(1_735_693_200_000_000))));
}

#[test]
fn github_spent_is_no_pause_of_its_own_limit() {
    let feedback = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-remaining", "0"), "[]");
    assert_eq!(lesson(&feedback, [bucket(5_000, 3_600)]).pause, None, "the bucket refuses until its end");
    assert_eq!(lesson(&feedback, [window(10, 1)]).pause, Some(after(1_800_000_000)));
    let elsewhere = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-remaining", "0")[..4], "[]");
    assert_eq!(lesson(&elsewhere, [window(10, 1)]).pause, None, "a time of another clock is no length");
}

#[test]
fn openai_teaches_requests_and_tokens_in_both_orders() {
    let usage = r#"{"usage":{"total_tokens":21}}"#;
    let feedback = read(Provider::OpenAi, 200, &OPENAI, usage);
    let (requests, tokens) = (remaining(59), remaining(149_984));
    let ahead = lesson(&feedback, [window(60, 60), points(150_000, 60)]);
    assert_eq!(ahead, Lesson { actual: Some(21), budgets: vec![requests.clone(), tokens.clone()], pause: None });
    let behind = lesson(&feedback, [points(150_000, 60), window(60, 60)]);
    assert_eq!(behind.budgets, [tokens.clone(), requests.clone()]);
    // Without requests a limit beside points hears nothing; without points all limits count one thing.
    let only_tokens = read(Provider::OpenAi, 200, &[OPENAI[1], OPENAI[3]], usage);
    let both = lesson(&only_tokens, [window(60, 60), points(150_000, 60)]);
    assert_eq!(both.budgets, [Sync::default(), tokens.clone()]);
    assert_eq!(lesson(&only_tokens, [bucket(150_000, 60)]).budgets, [tokens]);
    assert_eq!(lesson(&feedback, [window(60, 60), bucket(10_000, 86_400)]).budgets, [requests, Sync::default()]);
}

#[test]
fn openai_spent_twice_waits_for_the_later() {
    let spent = with(OPENAI, "x-ratelimit-remaining-requests", "0");
    let policy = || [window(60, 60), points(150_000, 60)];
    assert_eq!(lesson(&read(Provider::OpenAi, 200, &spent, ""), policy()).pause, Some(after(1_000_000)));
    let both = read(Provider::OpenAi, 200, &with(spent, "x-ratelimit-remaining-tokens", "0"), "");
    assert_eq!(lesson(&both, policy()).pause, Some(after(360_000_000)));
}

#[test]
fn discord_spent_without_a_window_is_a_pause() {
    let feedback = read(Provider::Discord, 200, &DISCORD, "{}");
    let expected = Lesson { actual: None, budgets: vec![remaining(0)], pause: Some(after(1_500_000)) };
    for limit in [bucket(50, 1), window(50, 1), Limit::leaky(50, seconds(1)).unwrap()] {
        assert_eq!(lesson(&feedback, [limit]), expected);
    }
    let left = read(Provider::Discord, 200, &with(DISCORD, "X-RateLimit-Remaining", "1"), "{}");
    assert_eq!(lesson(&left, [bucket(50, 1)]).pause, None);
    let over = read(Provider::Discord, 200, &with(DISCORD, "X-RateLimit-Reset-After", "0"), "{}");
    assert_eq!(lesson(&over, [bucket(50, 1)]).pause, None);
    // What the refusal says goes before what the budget says.
    let refusal = r#"{"message":"You are being rate limited.","retry_after":0.25,"global":false}"#;
    let refused = read(Provider::Discord, 429, &DISCORD, refusal);
    assert_eq!(lesson(&refused, [bucket(50, 1)]).pause, Some(after(250_000)));
}

#[test]
fn a_limit_that_counts_leases_or_starts_hears_only_of_pauses() {
    let feedback = read(Provider::Discord, 429, &DISCORD, r#"{"retry_after":2,"global":false}"#);
    let limits = [Limit::concurrency(5, seconds(30)).unwrap(), Limit::throttle(seconds(1)).unwrap(), Limit::paused()];
    let heard = lesson(&feedback, limits);
    assert_eq!((heard.budgets, heard.pause), (vec![Sync::default(); 3], Some(after(2_000_000))));
    let spent = read(Provider::Discord, 200, &DISCORD, "{}");
    assert_eq!(lesson(&spent, [Limit::unlimited()]), Lesson::default());
}

#[test]
fn the_caller_bounds_every_pause() {
    let policy = Policy::new([bucket(50, 1)]).unwrap();
    let spent = read(Provider::Discord, 200, &DISCORD, "{}");
    let refused = Feedback { pause: Some(MAX_PAUSE), ..Feedback::default() };
    for feedback in [&spent, &refused] {
        assert_eq!(feedback.lesson(&policy, Micros(1_000)).pause, Some(after(1_000)));
        assert_eq!(feedback.lesson(&policy, Micros(0)).pause, None, "a pause of nothing would be refused");
    }
    let endless = Feedback { pause: Some(Micros(u64::MAX)), ..Feedback::default() };
    assert_eq!(endless.lesson(&policy, Micros(u64::MAX)).pause, Some(after(MAX_SPAN.0)));
}

#[test]
fn a_budget_is_used_for_one_limit_only() {
    let feedback = read(Provider::GitHub, 200, &GITHUB, "[]");
    let twice = lesson(&feedback, [window(10, 1), window(20, 2)]);
    assert_eq!(twice.budgets, [remaining(4_990), Sync::default()]);
    let same = lesson(&feedback, [bucket(60, 3_600), bucket(70, 3_600)]);
    assert_eq!((same.budgets[0].remaining, &same.budgets[1]), (Some(4_990), &Sync::default()));
    let headers =
        [("RateLimit", "\"s\";r=3;t=1, \"h\";r=90;t=60"), ("RateLimit-Policy", "\"s\";q=5;w=1, \"h\";q=100;w=3600")];
    let ietf = read(Provider::Ietf, 200, &headers, "");
    let heard = lesson(&ietf, [bucket(1_000, 3_600), bucket(10, 1)]);
    let second = Sync { limit: Some(bucket(5, 1)), reset: Some(after(1_000_000)), ..remaining(3) };
    let hour = Sync { limit: Some(bucket(100, 3_600)), reset: Some(after(60_000_000)), ..remaining(90) };
    assert_eq!(heard.budgets, [hour, second]);
}

#[test]
fn numbers_that_no_limit_can_have_are_not_learned() {
    let many = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-limit", "100001"), "[]");
    assert_eq!(lesson(&many, [window(60, 3_600)]).budgets, [remaining(4_990)]);
    let none = read(Provider::GitHub, 200, &with(GITHUB, "x-ratelimit-limit", "0"), "[]");
    assert_eq!(lesson(&none, [bucket(60, 3_600)]).budgets[0].limit, None);
}

#[test]
fn a_limiter_learns_it() {
    let shop = Paddlegate::memory().points("shop", 1_000, seconds(20)).unwrap();
    let permit = shop.acquire(Request::estimate(252).at(Micros(1))).unwrap().permit;
    let lesson = body(Provider::Shopify, SHOPIFY).lesson(shop.policy(), MAX_PAUSE);
    assert_eq!(lesson.report(None).actual, None, "no permit, nothing to settle");
    let learn = Operation::Learn { report: lesson.report(permit.as_deref()), at: Some(Micros(2)) };
    assert_eq!(shop.run(learn, Interrupt::Ignore).unwrap(), Answer::Settlement(Settlement::Settled));
    assert_eq!(shop.peek(Request::estimate(1).at(Micros(2))).unwrap().remaining, Some(1_988));
}

fn budgets() -> impl Strategy<Value = Budget> {
    let unit = prop::sample::select(vec![Unit::Points, Unit::Requests, Unit::Tokens]);
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
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/lesson.txt"))),
        ..ProptestConfig::default()
    })]

    /// Whatever an answer says, its lesson is one that the limiter takes.
    #[test]
    fn every_lesson_is_taken(
        budgets in prop::collection::vec(budgets(), 0..5), limits in prop::collection::vec(limits(), 1..5),
        pause in prop::option::of((1..=MAX_SPAN.0).prop_map(Micros)), max_pause in prop_oneof![0..3_u64, 0..=u64::MAX],
    ) {
        let policy = Policy::new(limits).unwrap();
        let told = budgets.iter().filter(|budget| budget.remaining.is_some()).count();
        let feedback = Feedback { budgets, pause, ..Feedback::default() };
        let lesson = feedback.lesson(&policy, Micros(max_pause));
        prop_assert_eq!(lesson.budgets.len(), policy.limits().len());
        prop_assert!(lesson.budgets.iter().filter(|budget| budget.remaining.is_some()).count() <= told);
        prop_assert_eq!(lesson.report(None).check(&policy), Ok(()));
    }
}
