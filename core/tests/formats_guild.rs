//! Tests the reservoirs of guild-queues: their formula, and that a queue returns the same times.

use crate::formats_support::{corpus, nearly};
use crate::support::sequence::config;
use crate::support::{calls, memory_with_clock};
use paddlegate::formats::guild::{Reservoir, ready_at};
use paddlegate::{
    Decision, JOB_CLAIM_TIMEOUT, Kind, Limiter, MAX_SPAN, Micros, OnLimit, Paddlegate, Settlement, Statistics, Status,
    Wait,
};
use proptest::prelude::*;
use serde_json::json;

const MS: u64 = 1_000;
const SEEDS: &str = "proptest-regressions/formats_guild.txt";

fn reservoir(reservoir: u64, interval_ms: u64) -> Reservoir {
    Reservoir::parse(&json!({ "name": "discord", "reservoir": reservoir, "timeWindow": interval_ms }).to_string())
        .expect("a reservoir")
}

fn limiter_of(pg: &Paddlegate, reservoir: &Reservoir) -> Limiter {
    let definition = reservoir.definitions().expect("definitions").remove(0);
    pg.limiter(&definition.name, definition.policy).expect("a limiter")
}

fn enter(limiter: &Limiter, job: u64, at_ms: u64) -> Decision {
    let wait = Wait { claim_timeout: JOB_CLAIM_TIMEOUT, ..Wait::up_to(MAX_SPAN) };
    calls::enter(limiter, &format!("job-{job}"), 1, Some(wait), at_ms * MS)
}

/// Returns when each job may run, in milliseconds: the time of the call for jobs that are granted at once.
fn times(limiter: &Limiter, jobs: std::ops::Range<u64>, at_ms: u64) -> Vec<u64> {
    jobs.map(|job| ready_ms(&enter(limiter, job, at_ms))).collect()
}

fn ready_ms(decision: &Decision) -> u64 {
    let ready = decision.at.0 + decision.ticket.and_then(|ticket| ticket.ready_after).map_or(0, |after| after.0);
    assert_eq!(ready % MS, 0, "to the millisecond: {decision:?}");
    ready / MS
}

fn statistics(limiter: &Limiter, at_ms: u64) -> Statistics {
    calls::statistics(limiter, at_ms * MS)
}

#[test]
fn the_documents_of_the_corpus_are_read() {
    let roles = Reservoir::parse(&corpus("good-guild-discord.json")).unwrap();
    let definition = &roles.definitions().unwrap()[0];
    let limit = &definition.policy.limits()[0];
    assert_eq!((definition.name.as_str(), definition.on_limit), ("guild/discord:default", OnLimit::Reschedule));
    assert_eq!((limit.kind(), limit.amount(), limit.interval()), (Kind::Bucket, 10, Micros(10_000 * MS)));
    let group = Reservoir::parse(&corpus("good-guild-group.json")).unwrap();
    assert_eq!(group.limiter_name(), "guild/manage-reward:discord:81384788765712384");
    assert_eq!(group.in_group("2").limiter_name(), "guild/manage-reward:discord:2");
}

#[test]
fn thirty_five_jobs_at_once() {
    let limiter = limiter_of(&memory_with_clock(), &reservoir(10, 10_000));
    let times = times(&limiter, 0..35, 12_345);
    let expected: Vec<u64> = [(10, 12_345), (10, 20_000), (10, 30_000), (5, 40_000)]
        .into_iter()
        .flat_map(|(jobs, at)| std::iter::repeat_n(at, jobs))
        .collect();
    assert_eq!(times, expected);
    let formula: Vec<u64> =
        (0..25).map(|waiting| ready_at(Micros(12_345 * MS), Micros(10_000 * MS), 10, waiting).0 / MS).collect();
    assert_eq!(formula, expected[10..]);
}

#[test]
fn a_boundary_belongs_to_the_new_window() {
    assert_eq!(ready_at(Micros(20_000 * MS), Micros(10_000 * MS), 10, 0), Micros(30_000 * MS));
    let limiter = limiter_of(&memory_with_clock(), &reservoir(10, 10_000));
    assert_eq!(times(&limiter, 0..10, 19_999), [19_999; 10]);
    assert_eq!(times(&limiter, 10..20, 20_000), [20_000; 10]);
    assert_eq!(times(&limiter, 20..21, 20_000), [30_000]);
}

#[test]
fn groups_are_limited_by_themselves() {
    let (pg, queue) = (memory_with_clock(), reservoir(3, 3_000));
    for group in ["1", "2"] {
        let limiter = limiter_of(&pg, &queue.in_group(group));
        assert_eq!(times(&limiter, 0..5, 1_000), [1_000, 1_000, 1_000, 3_000, 3_000], "group {group}");
        assert_eq!(statistics(&limiter, 1_000).tickets, 2, "group {group}");
    }
}

#[test]
fn each_job_runs_when_its_delay_is_over() {
    let limiter = limiter_of(&memory_with_clock(), &reservoir(3, 3_000));
    let mut delayed: Vec<(u64, u64)> = (0..11).zip(times(&limiter, 0..11, 1_000)).skip(3).collect();
    delayed.sort_by_key(|(job, at)| (*at, *job));
    for (job, at) in delayed {
        assert_eq!(enter(&limiter, job, at).status, Status::Granted, "job {job} at {at}");
    }
    let after = statistics(&limiter, 9_000);
    assert_eq!((after.tickets, after.granted, after.waited, after.lapsed), (0, 11, 8, 0));
}

#[test]
fn the_slot_of_a_deleted_job_is_used() {
    let limiter = limiter_of(&memory_with_clock(), &reservoir(1, 1_000));
    assert_eq!(times(&limiter, 0..4, 500), [500, 1_000, 2_000, 3_000]);
    assert_eq!(calls::cancel(&limiter, "job-1", 600 * MS), Settlement::Cancelled);
    assert_eq!(statistics(&limiter, 600).tickets, 2);
    assert_eq!(times(&limiter, 2..5, 600), [1_000, 2_000, 3_000]);
}

#[test]
fn what_can_never_run_is_refused() {
    for (document, path) in [
        (json!({ "name": "a", "reservoir": 0, "timeWindow": 1 }), "$.reservoir:"),
        (json!({ "name": "a", "reservoir": -1, "timeWindow": 1 }), "$.reservoir:"),
        (json!({ "name": "a", "reservoir": null, "timeWindow": 1 }), "$.reservoir:"),
        (json!({ "name": "a", "timeWindow": 1 }), "$.reservoir:"),
        (json!({ "name": "a", "reservoir": 1.5, "timeWindow": 1 }), "$.reservoir:"),
        (json!({ "name": "a", "reservoir": 1, "timeWindow": 0 }), "$.timeWindow:"),
        (json!({ "name": "a", "reservoir": 1, "interval": -5 }), "$.interval:"),
        (json!({ "name": "a", "reservoir": 1, "interval": i64::MAX }), "$.interval:"),
        (json!({ "name": "a", "reservoir": 1, "timeWindow": 5, "interval": 5 }), "$.interval:"),
        (json!({ "name": "a", "reservoir": 1 }), "$:"),
        (json!({ "name": "", "reservoir": 1, "timeWindow": 1 }), "$:"),
        (json!({ "name": "a", "reservoir": 1, "timeWindow": 1, "group": "b:c" }), "$:"),
        (json!({ "name": "a", "reservoir": 1, "timeWindow": 1, "group": 7 }), "$.group:"),
        (json!({ "name": "a", "reservoir": 1, "timeWindow": 1, "delayable": true }), "$.delayable:"),
        (json!({ "reservoir": 1, "timeWindow": 1 }), "$.name:"),
        (json!("discord"), "$:"),
    ] {
        let error = Reservoir::parse(&document.to_string()).unwrap_err();
        assert!(error.message().starts_with(&format!("at {path}")), "{document}: {error}");
    }
    assert!(reservoir(1, 1).in_group("").definitions().is_err());
    assert!(Reservoir { reservoir: 0, ..reservoir(1, 1) }.definitions().is_err());
}

#[test]
fn the_clock_of_a_client_has_no_effect() {
    for skew_ms in [-5_000_i64, 0, 5_000] {
        let limiter = limiter_of(&memory_with_clock(), &reservoir(1, 10_000));
        enter(&limiter, 0, 12_345);
        let decision = enter(&limiter, 1, 12_345);
        let after_ms = decision.ticket.unwrap().ready_after.unwrap().0 / MS;
        // The client waits by its own clock, which is wrong by the same amount at both ends of the wait.
        let there = 12_345_i64 + skew_ms;
        let woken = there + i64::try_from(after_ms).unwrap();
        let at_store = u64::try_from(woken - skew_ms).unwrap();
        assert_eq!((ready_ms(&decision), at_store), (20_000, 20_000), "skew {skew_ms} ms");
        assert_eq!(enter(&limiter, 1, at_store).status, Status::Granted);
    }
}

#[test]
fn queues_that_name_one_limiter_share_it() {
    let pg = memory_with_clock();
    let (one, other) = (limiter_of(&pg, &reservoir(2, 1_000)), limiter_of(&pg, &reservoir(2, 1_000)));
    assert_eq!(times(&one, 0..1, 100), [100]);
    assert_eq!(times(&other, 1..3, 100), [100, 1_000]);
    assert_eq!(times(&one, 3..5, 100), [1_000, 2_000]);
}

#[test]
fn queues_of_one_name_with_other_numbers_share_the_calls() {
    let pg = memory_with_clock();
    let (small, large) = (limiter_of(&pg, &reservoir(2, 1_000)), limiter_of(&pg, &reservoir(3, 1_000)));
    assert_eq!(times(&small, 0..3, 100), [100, 100, 1_000]);
    assert_eq!(calls::cancel(&large, "job-2", 150 * MS), Settlement::Cancelled);
    assert_eq!(times(&large, 3..5, 200), [200, 1_000]);
}

proptest! {
    #![proptest_config(config(300, SEEDS))]

    /// Compares the queue with the formula, which applies when all jobs arrive at once and none later.
    #[test]
    fn the_queue_agrees_with_the_formula(
        size in 1..12_u64, interval_ms in 1..20_000_u64, at_ms in 0..5_000_000_u64, jobs in 1..60_u64,
    ) {
        let limiter = limiter_of(&memory_with_clock(), &reservoir(size, interval_ms));
        let times = times(&limiter, 0..jobs, at_ms);
        for (job, time) in (0..jobs).zip(times) {
            let expected = match job.checked_sub(size) {
                None => at_ms,
                Some(waiting) => ready_at(Micros(at_ms * MS), Micros(interval_ms * MS), size, waiting).0 / MS,
            };
            prop_assert_eq!(time, expected, "job {}", job);
        }
    }

    #[test]
    fn nothing_panics(
        document in nearly(&["name", "reservoir", "timeWindow", "interval", "intervalMs", "group"]), text: String,
        now: u64, interval: u64, size: u64, waiting: u64,
    ) {
        for text in [document.to_string(), text] {
            if let Err(error) = Reservoir::parse(&text).and_then(|reservoir| reservoir.definitions()) {
                prop_assert!(error.message().starts_with("at $"), "{}", error);
            }
        }
        prop_assert!(ready_at(Micros(now), Micros(interval), size, waiting).0 >= now);
    }
}
