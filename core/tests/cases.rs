//! Tests numbered cases of job systems that no other test file covers.

use std::thread;
use std::time::Duration;

use crate::support::{memory_with_clock, redis_with_clock, set_clock, unique};
use paddlegate::{
    Action, AdminCommand, Deadline, Limit, Limiter, MAX_SPAN, Micros, OnLimit, Paddlegate, Policy, QueuePosition,
    Reason, Request, Settlement, Status, Wait,
};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        test(&store);
    }
}

fn at(us: u64) {
    set_clock(START + us);
}

fn admit(limiter: &Limiter, job: &str, on_limit: OnLimit) -> Action {
    limiter.admit(job, Request::cost(1), on_limit).unwrap().action
}

/// Returns the limiter of an Open Job Spec policy.
fn ojs(store: &Paddlegate, key: &str, strategies: &str) -> Limiter {
    store.load(&format!(r#"{{"key": "{key}"{strategies}}}"#)).expect("a policy").remove(0).limiter
}

/// Acquires under the job's id with a claim timeout of 1 minute and returns the status.
fn place(limiter: &Limiter, job: &str, place: QueuePosition) -> Status {
    let wait = Wait {
        max_wait: MAX_SPAN,
        claim_timeout: Micros(60 * SECOND),
        channel: "",
        position: place,
        ..Wait::up_to(MAX_SPAN)
    };
    limiter.acquire_with_id(Request::cost(1), job, Some(wait)).expect("a decision").status
}

#[test]
fn ojs_policies_of_one_key_share_its_active_jobs() {
    on_both(|store| {
        let key = unique("key");
        let policies = [
            ojs(store, &key, r#", "concurrency": 1"#),
            ojs(store, &key, r#", "concurrency": 1, "rate": {"limit": 9, "period": "PT1M"}"#),
            ojs(store, &key, r#", "concurrency": 1, "throttle": {"interval": "PT0.001S"}"#),
        ];
        for (turn, start) in [0, SECOND, 2 * SECOND].into_iter().enumerate() {
            let [one, other, third] = [0, 1, 2].map(|next| &policies[(turn + next) % 3]);
            at(start);
            let running = one.admit("running", Request::cost(1), OnLimit::Wait).unwrap();
            assert_eq!(running.action, Action::Run, "{turn}");
            at(start + 1);
            for policy in &policies {
                assert_eq!(admit(policy, "other", OnLimit::Drop), Action::Drop, "{turn}");
                assert_eq!(admit(policy, "running", OnLimit::Drop), Action::Run, "the same job");
                assert_eq!(policy.statistics().unwrap().leases, 1);
            }
            // Any policy of the key can release the job and has the queue of the key.
            assert_eq!(admit(other, "next", OnLimit::Wait), Action::Wait);
            let position =
                third.admit("last", Request::cost(1), OnLimit::Wait).unwrap().decision.ticket.unwrap().position;
            assert_eq!(position, 1);
            assert_eq!(third.release(&running.decision.permit.unwrap()).unwrap(), Settlement::Released);
            assert_eq!(admit(third, "last", OnLimit::Wait), Action::Wait);
            let next = other.admit("next", Request::cost(1), OnLimit::Wait).unwrap();
            assert_eq!(next.action, Action::Run);
            one.release(&next.decision.permit.unwrap()).unwrap();
            one.cancel("last").unwrap();
        }
    });
}

#[test]
fn ojs_policies_of_one_key_share_its_starts() {
    on_both(|store| {
        let key = unique("key");
        let rated = ojs(store, &key, r#", "rate": {"limit": 2, "period": "PT1M"}"#);
        let both = ojs(store, &key, r#", "concurrency": 5, "rate": {"limit": 2, "period": "PT1M"}"#);
        let wide = ojs(store, &key, r#", "rate": {"limit": 3, "period": "PT1M"}"#);
        at(0);
        assert_eq!(admit(&rated, "a", OnLimit::Raise), Action::Run);
        at(1);
        assert_eq!(admit(&both, "b", OnLimit::Raise), Action::Run);
        at(2);
        for policy in [&rated, &both] {
            let refused = policy.admit("c", Request::cost(1), OnLimit::Raise).unwrap();
            assert_eq!((refused.action, refused.decision.label.as_deref()), (Action::Refuse, Some("rate")));
        }
        assert_eq!(admit(&wide, "c", OnLimit::Raise), Action::Run, "its own number, and the starts of all");
        assert_eq!(admit(&wide, "d", OnLimit::Raise), Action::Refuse);
    });
}

#[test]
fn an_override_works_for_all_policies_of_its_key() {
    on_both(|store| {
        let key = unique("key");
        let free = ojs(store, &key, "");
        let plain = ojs(store, &key, r#", "concurrency": 1"#);
        let rated = ojs(store, &key, r#", "rate": {"limit": 5, "period": "PT1M"}"#);
        at(0);
        let state = free.apply_ojs_override(r#"{"concurrency": 2}"#).unwrap();
        assert_eq!(state.override_of("concurrency").map(Limit::amount), Some(2));
        let state = plain
            .apply_ojs_override(r#"{"rate": {"limit": 1, "period": "PT1M"}, "throttle": {"interval": "PT1H"}}"#)
            .unwrap();
        let labels: Vec<&str> = state.overrides.iter().map(|limit| &**limit.label()).collect();
        assert_eq!(labels, ["concurrency", "rate", "throttle"]);
        assert_eq!(free.admin(AdminCommand::Get).unwrap().overrides, state.overrides);
        at(1);
        let actions = ["a", "b", "c"].map(|job| admit(&plain, job, OnLimit::Raise));
        assert_eq!(actions, [Action::Run, Action::Run, Action::Refuse]);
        let actions = ["d", "e"].map(|job| admit(&rated, job, OnLimit::Raise));
        assert_eq!(actions, [Action::Run, Action::Refuse]);
        assert_eq!(admit(&free, "f", OnLimit::Raise), Action::Run, "it has no strategy");
        // A policy that comes later has the override of its throttle.
        let spaced = ojs(store, &key, r#", "throttle": {"interval": "PT0.001S"}"#);
        assert_eq!(admit(&spaced, "g", OnLimit::Raise), Action::Run);
        at(2 * SECOND);
        assert_eq!(admit(&spaced, "h", OnLimit::Raise), Action::Refuse);
        let state = free.apply_ojs_override(r#"{"concurrency": null, "rate": null, "throttle": null}"#).unwrap();
        assert!(state.overrides.is_empty());
        assert_eq!(admit(&spaced, "h", OnLimit::Raise), Action::Run);
        assert_eq!(admit(&rated, "e", OnLimit::Raise), Action::Run);
        assert_eq!(admit(&plain, "c", OnLimit::Raise), Action::Refuse, "two run");
    });
}

#[test]
fn a_signal_pauses_all_policies_of_its_key() {
    on_both(|store| {
        let key = unique("key");
        let free = ojs(store, &key, "");
        let limited = [r#", "concurrency": 1"#, r#", "concurrency": 1, "rate": {"limit": 5, "period": "PT1M"}"#]
            .map(|strategies| ojs(store, &key, strategies));
        at(0);
        assert!(free.apply_ojs_signal(r#"{"type": "rate_limited", "retry_after": 60}"#).unwrap());
        at(1);
        for policy in &limited {
            let paused = policy.admit("job", Request::cost(1), OnLimit::Raise).unwrap().decision;
            assert_eq!((paused.reason, paused.label), (Some(Reason::Paused), None));
            assert_eq!(policy.admin(AdminCommand::Get).unwrap().paused_for, Some(Micros(60 * SECOND - 1)));
        }
        assert_eq!(admit(&free, "job", OnLimit::Raise), Action::Run, "it has no strategy");
        free.admin(AdminCommand::Resume).unwrap();
        assert_eq!(admit(&limited[0], "job", OnLimit::Raise), Action::Run);
        assert_eq!(admit(&limited[1], "other", OnLimit::Raise), Action::Refuse);
    });
}

#[test]
fn a_limit_that_is_turned_on_applies_to_waiting_tasks() {
    on_both(|store| {
        let name = unique("task");
        let definition = |limit: u64| {
            let text = format!(r#"{{"name": "{name}", "concurrentExecLimit": {limit}}}"#);
            store.load(&text).expect("a definition").remove(0)
        };
        // The tasks were scheduled while there was no limit. A worker calls for each of them after the limit is set.
        let (before, after) = (definition(0), definition(1));
        at(0);
        assert_eq!(admit(&before.limiter, "running", OnLimit::Wait), Action::Run);
        at(1);
        let actions = ["a", "b", "c"].map(|job| admit(&after.limiter, job, after.on_limit));
        assert_eq!(actions, [Action::Run, Action::Wait, Action::Wait]);

        // The limit also applies to jobs that already have a queue position, here because of a pause.
        let limiter = store.concurrent(&unique("task"), 5, Duration::from_secs(3_600)).unwrap();
        let admin = |control: AdminCommand<'_>, us: u64| {
            at(us);
            limiter.admin(control).expect("a runtime state");
        };
        admin(AdminCommand::Pause(Deadline::After(Micros(3_600 * SECOND))), 0);
        at(1);
        for job in ["a", "b", "c"] {
            assert_eq!(admit(&limiter, job, OnLimit::Wait), Action::Wait);
        }
        let changes = limiter.override_changes(None, Some(1), None).unwrap();
        admin(AdminCommand::Override { changes: &changes, expires: None }, 2);
        admin(AdminCommand::Resume, 3);
        at(4);
        let actions = ["a", "b", "c"].map(|job| admit(&limiter, job, OnLimit::Wait));
        assert_eq!(actions, [Action::Run, Action::Wait, Action::Wait]);
    });
}

#[test]
fn of_two_workers_that_resume_at_once_one_gets_each_job() {
    on_both(|store| {
        let limiter = store.window(&unique("resume"), 50, Duration::from_secs(1)).unwrap();
        let jobs: Vec<String> = (0..50).map(|job| format!("job{job}")).collect();
        at(0);
        for full in 0..50 {
            assert_eq!(place(&limiter, &format!("full{full}"), QueuePosition::End), Status::Granted);
        }
        at(1);
        for job in &jobs {
            assert_eq!(place(&limiter, job, QueuePosition::End), Status::Queued);
        }
        at(SECOND);
        let resume = || {
            let resumed = jobs.iter().map(|job| place(&limiter, job, QueuePosition::Existing));
            resumed.map(|status| usize::from(status == Status::Granted)).collect::<Vec<_>>()
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(resume);
            (resume(), other.join().expect("the other worker"))
        });
        let each: Vec<usize> = one.iter().zip(&other).map(|(one, other)| one + other).collect();
        assert_eq!(each, [1; 50]);
    });
}

#[test]
fn the_reservation_of_a_job_that_never_comes_back_expires() {
    on_both(|store| {
        let policy = Policy::new([Limit::bucket(1, Duration::from_secs(10)).unwrap()]).unwrap();
        let limiter = store.limiter(&unique("crash"), policy).unwrap();
        let start = START.div_ceil(10 * SECOND) * 10 * SECOND - START;
        at(start);
        assert_eq!(place(&limiter, "runs", QueuePosition::End), Status::Granted);
        at(start + 1);
        assert_eq!(place(&limiter, "crashes", QueuePosition::End), Status::Queued);
        at(start + 2);
        assert_eq!(place(&limiter, "next", QueuePosition::End), Status::Queued);
        // The ticket is due in the next window and keeps its queue position for the claim timeout of 1 minute after
        // that.
        let due = start + 10 * SECOND;
        at(due + 60 * SECOND - 1);
        assert_eq!(place(&limiter, "next", QueuePosition::Existing), Status::Queued);
        at(due + 60 * SECOND + 1);
        assert_eq!(place(&limiter, "next", QueuePosition::Existing), Status::Granted);
        at(due + 61 * SECOND);
        assert_eq!(place(&limiter, "crashes", QueuePosition::Existing), Status::NoTicket);
        let statistics = limiter.statistics().unwrap();
        assert_eq!((statistics.lapsed, statistics.tickets), (1, 0));
    });
}
