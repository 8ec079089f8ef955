//! Tests operations of several steps, which a host drives one step at a time.

use std::time::Duration;

use crate::support::{memory_with_clock, redis, redis_with_clock, set_clock, unique};
use paddlegate::formats::invantive::RequestAttributes;
use paddlegate::{
    Action, AdminCommand, Error, ErrorKind, Limit, Limiter, Micros, MultiStep, OnLimit, Operation, Paddlegate, Policy,
    Prepared, SignalHandling,
};

const MINUTE: Duration = Duration::from_secs(60);
const START: Micros = Micros(3_600_000_000);

/// Drives steps as a host does, and returns their number and the outcome. The reply to the step `fails` is lost.
fn run_procedure<S: MultiStep>(mut steps: S, fails: Option<usize>) -> (usize, Result<S::Output, Error>) {
    let mut count = 0;
    while let Some((limiter, operation)) = steps.step() {
        let outcome = limiter.run(operation, SignalHandling::Ignore);
        let outcome = if fails == Some(count) { Err(Error::unknown_outcome("lost")) } else { outcome };
        steps.on_reply(outcome);
        count += 1;
    }
    (count, steps.outcome())
}

fn limiter(store: &Paddlegate, limits: &[Limit]) -> Limiter {
    store.limiter(&unique("steps"), Policy::new(limits.to_vec()).unwrap()).unwrap()
}

fn stores() -> [Paddlegate; 2] {
    [Paddlegate::memory(), redis()]
}

#[test]
fn a_gate_check_reads_the_clock_only_if_the_time_matters() {
    for store in stores() {
        let document = |validity: &str| {
            format!(
                r#"{{"RateLimitControlList": [{{"Context": "a", {validity} "SlotName": "{name}"}}],
                    "RateLimitControlSlotList": [{{"Name": "{name}", "ActionsPerHour": 9, "ActionsPerMinute": 5,
                        "ActionsPerSecond": 5, "FailOnOverflowSecond": false, "FailOnOverflowHour": false}}]}}"#,
                name = unique("slot"),
            )
        };
        let (always, until) = (document(""), document(r#""ValidToUtc": "2100-01-01T00:00:00Z","#));
        let facts = RequestAttributes { context: Some("a"), ..RequestAttributes::default() };
        for (document, facts, calls) in
            [(&always, facts, 3), (&until, facts, 4), (&until, RequestAttributes::default(), 0)]
        {
            let check = store.invantive_gate(document).unwrap().start(&facts).unwrap();
            let (count, decision) = run_procedure(check, None);
            assert!(decision.unwrap().allowed);
            assert_eq!(count, calls);
        }
        let failed = run_procedure(store.invantive_gate(&until).unwrap().start(&facts).unwrap(), Some(1));
        assert_eq!(failed.0, 2, "the procedure ends with the error");
        assert_eq!(failed.1.unwrap_err().kind(), ErrorKind::Unavailable);
        let early = store.invantive_gate(&always).unwrap().start(&facts).unwrap();
        assert_eq!(early.outcome().unwrap_err().kind(), ErrorKind::Internal);
        let bad =
            store.invantive_gate(&always).unwrap().start(&RequestAttributes { ip: Some("x"), ..facts }).unwrap_err();
        assert_eq!(bad.argument(), Some("ip"));
    }
}

#[test]
fn a_refused_gate_check_peeks_only_levels_that_could_delay_longer() {
    set_clock(START.0);
    for store in [memory_with_clock(), redis_with_clock()] {
        // The minute refuses, because it is full for longer.
        for (delays, calls, expected) in [
            ([0, 0, 0], 1, 0),
            ([7, 9, 0], 1, 9),
            ([9, 7, 0], 2, 9),
            ([0, 0, 5], 2, 5),
            ([9, 3, 5], 2, 9),
            ([4, 3, 5], 3, 5),
        ] {
            let name = unique("slot");
            let document = format!(
                r#"{{"RateLimitControlList": [{{"SlotName": "{name}"}}], "RateLimitControlSlotList": [{{"Name": "{name}",
                    "ActionsPerSecond": 1, "DelayMsOnOverflowSecond": {}, "ActionsPerMinute": 1,
                    "DelayMsOnOverflowMinute": {}, "ActionsPerHour": 1, "DelayMsOnOverflowHour": {},
                    "FailOnOverflowHour": false}}]}}"#,
                delays[0], delays[1], delays[2],
            );
            let gate = store.invantive_gate(&document).unwrap();
            let start = || gate.start(&RequestAttributes::default()).unwrap();
            assert_eq!(run_procedure(start(), None).0, 2);
            let (count, refused) = run_procedure(start(), None);
            let refused = refused.unwrap();
            assert_eq!((count, refused.allowed, refused.delay), (calls, false, Micros(expected * 1_000)), "{delays:?}");
        }
    }
}

#[test]
fn a_batch_releases_its_grants_also_after_an_error() {
    for store in stores() {
        let limiter = limiter(&store, &[Limit::concurrency(3, MINUTE).unwrap(), Limit::window(9, MINUTE).unwrap()]);
        let none = |limiter: &Limiter| {
            assert_eq!(limiter.statistics().unwrap().leases, 0);
            assert_eq!(limiter.try_acquire(paddlegate::Request::cost(0)).unwrap().remaining, Some(3));
        };
        let (count, refused) = run_procedure(limiter.batch(&["a", "b", "c", "d"], OnLimit::Drop, false), None);
        assert_eq!(count, 4 + 2 * 3);
        assert!(refused.unwrap().iter().all(|admission| admission.action == Action::Drop));
        none(&limiter);
        // The third reply is lost: the third job may still hold a lease, but the batch releases the other two.
        let (_, failed) = run_procedure(limiter.batch(&["a", "b", "c"], OnLimit::Drop, false), Some(2));
        assert!(failed.unwrap_err().may_have_counted());
        assert_eq!(limiter.statistics().unwrap().leases, 1);
        limiter.reset().unwrap();
        // The reply to one release is lost: the batch still releases the other leases.
        let (_, failed) = run_procedure(limiter.batch(&["a", "b", "c", "d"], OnLimit::Drop, false), Some(4));
        assert!(failed.is_err());
        none(&limiter);
        let (count, all) = run_procedure(limiter.batch(&["a", "b", "c"], OnLimit::Drop, false), None);
        assert_eq!((count, all.unwrap().len()), (3, 3));
        let (_, partial) = run_procedure(limiter.batch(&["a", "d"], OnLimit::Drop, true), None);
        let actions: Vec<Action> = partial.unwrap().iter().map(|one| one.action).collect();
        assert_eq!(actions, [Action::Run, Action::Drop]);
        assert!(limiter.batch(&["a"], OnLimit::Drop, false).outcome().is_err());
        assert_eq!(run_procedure(limiter.batch(&[], OnLimit::Drop, false), None).1.unwrap(), []);
    }
}

#[test]
fn an_override_reads_the_state_first() {
    for store in stores() {
        let limiter = limiter(&store, &[Limit::bucket(5, MINUTE).unwrap()]);
        let run_override = |document: &str| run_procedure(limiter.override_procedure(document).unwrap(), None);
        let (count, runtime_state) = run_override(r#"{"limit": 7, "period": "minute"}"#);
        assert_eq!((count, runtime_state.unwrap().expires_after), (2, None));
        let (count, runtime_state) = run_override(r#"{"expires_at": "2100-01-01T00:00:00Z"}"#);
        assert_eq!(count, 2);
        let runtime_state = runtime_state.unwrap();
        assert_eq!(runtime_state.override_of("bucket").map(Limit::amount), Some(7));
        assert!(runtime_state.expires_after > Some(Micros(1_000_000_000_000)));
        let (count, past) = run_override(r#"{"limit": 1, "period": "minute", "expires_at": "2001-01-01T00:00:00Z"}"#);
        assert_eq!((count, past.unwrap_err().argument()), (2, Some("document")));
        let fresh = self::limiter(&store, &[Limit::bucket(5, MINUTE).unwrap()]);
        let (count, unchanged) = run_procedure(fresh.override_procedure(r#"{"expires_at": null}"#).unwrap(), None);
        assert_eq!((count, unchanged.unwrap().version), (1, 0), "no override is in force, so nothing changes");
        assert!(
            limiter.apply_ojs_override(r#"{"throttle": null}"#).is_ok(),
            "an override that does not exist can be removed"
        );
        let (_, failed) = run_procedure(limiter.override_procedure(r#"{"rate": null}"#).unwrap(), Some(0));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(limiter.apply_ojs_override(r#"{"rate": null}"#).unwrap().overrides.is_empty());
    }
    let two = limiter(&Paddlegate::memory(), &[Limit::bucket(5, MINUTE).unwrap(), Limit::window(5, MINUTE).unwrap()]);
    let error = two.apply_ojs_override(r#"{"rate": {"limit": 1, "period": "PT1M"}}"#).unwrap_err();
    assert!(error.message().starts_with("at $.rate: "), "{error}");
}

#[test]
fn a_past_end_is_refused_also_by_limiters_that_decide_without_the_store() {
    set_clock(START.0);
    for store in [memory_with_clock(), redis_with_clock()] {
        for limits in [[Limit::unlimited()], [Limit::paused()]] {
            let limiter = limiter(&store, &limits);
            limiter.apply_ojs_override(r#"{"concurrency": 2}"#).unwrap();
            for past in [
                r#"{"expires_at": "1970-01-01T01:00:00Z"}"#,
                r#"{"rate": {"limit": 1, "period": "PT1S"}, "expires_at": "1970-01-01T01:00:00Z"}"#,
            ] {
                let (count, error) = run_procedure(limiter.override_procedure(past).unwrap(), None);
                let error = error.unwrap_err();
                assert_eq!((count, error.argument()), (2, Some("document")), "{limits:?} {past}");
                assert!(error.message().starts_with("at $.expires_at: has passed"), "{error}");
            }
            let in_force = limiter.admin(AdminCommand::Get).unwrap();
            assert_eq!(
                (in_force.override_of("concurrency").map(Limit::amount), in_force.expires_after),
                (Some(2), None)
            );
            let later = limiter.apply_ojs_override(r#"{"expires_at": "1970-01-01T01:00:01Z"}"#).unwrap();
            assert_eq!(later.expires_after, Some(Micros(1_000_000)));
        }
    }
}

#[test]
fn a_signal_sets_a_pause_for_each_of_its_times() {
    set_clock(START.0);
    for store in [memory_with_clock(), redis_with_clock()] {
        let limiter = limiter(&store, &[Limit::window(5, MINUTE).unwrap()]);
        for (failure, pauses, is_signal) in [
            (r#"{"type": "rate_limited"}"#, 1, true),
            (r#"{"type": "rate_limited", "retry_after": 0}"#, 0, true),
            (r#"{"type": "rate_limited", "retry_after": 1, "rate_limit_until": "1970-01-01T02:00:00Z"}"#, 2, true),
            (r#"{"type": "timeout", "retry_after": 1}"#, 0, false),
        ] {
            let (count, outcome) = run_procedure(limiter.pause_procedure(failure).unwrap(), None);
            assert_eq!((count, outcome), (pauses, Ok(is_signal)), "{failure}");
        }
        let runtime_state = limiter.admin(AdminCommand::Get).unwrap();
        assert_eq!(runtime_state.paused_for, Some(START), "until the later of all");
        assert_eq!(limiter.apply_ojs_signal("{").unwrap_err().argument(), Some("document"));
    }
}

#[test]
fn the_limiter_of_a_run() {
    let store = Paddlegate::memory();
    let definition = r#"{"name": "order", "rateLimitConfig":
        {"rateLimitKey": "${workflow.input.shop}", "concurrentExecLimit": 3, "policy": "REJECT"}}"#;
    let loaded = store.conductor_limiter(definition, r#"{"input": {"shop": 7}}"#, Some(Micros(90_000_000))).unwrap();
    assert_eq!((loaded.limiter.name(), loaded.on_limit), ("conductor/workflow/7", OnLimit::Raise));
    let limit = loaded.limiter.policy().concurrency().map(|limit| (limit.amount(), limit.interval()));
    assert_eq!(limit, Some((3, Micros(90_000_000))));
    let free = store.conductor_limiter(definition, "{}", None).unwrap();
    assert_eq!((free.limiter.name(), free.limiter.policy().limits()), ("conductor/unlimited/order", [].as_slice()));
    assert!(matches!(
        free.limiter.prepare(Operation::Acquire(paddlegate::Request::cost(1))),
        Ok(Prepared::Answered(_))
    ));
    let long = format!(r#"{{"input": {{"shop": "{}"}}}}"#, "x".repeat(494));
    let run = r#"{"input": {"shop": 7}}"#;
    for (definition, run, lock_timeout, argument) in [
        ("{}", run, None, "definition"),
        (definition, "5", None, "run"),
        (definition, r#"{"input": {"shop": {}}}"#, None, "run"),
        (definition, &long, None, "run"),
        (definition, run, Some(Micros(0)), "lock_timeout"),
    ] {
        let error = store.conductor_limiter(definition, run, lock_timeout).unwrap_err();
        assert_eq!(error.argument(), Some(argument), "{error}");
    }
}
