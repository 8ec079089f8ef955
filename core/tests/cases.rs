//! Tests numbered cases of job systems that no other test file covers.
#![cfg(feature = "documents")]

mod support;

use std::thread;
use std::time::Duration;

use paddlegate::{
    Action, AdminCommand, Deadline, Limit, Limiter, MAX_SPAN, Micros, OnLimit, Paddlegate, Policy, QueuePosition,
    Request, Status, Wait,
};
use support::{memory_with_clock, redis_with_clock, set_clock, unique};

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

/// Acquires under the job's id with a claim timeout of 1 minute and returns the status.
fn place(limiter: &Limiter, job: &str, place: QueuePosition) -> Status {
    let wait = Wait { max_wait: MAX_SPAN, claim_timeout: Micros(60 * SECOND), channel: "", position: place };
    limiter.acquire_with_id(Request::cost(1), job, Some(wait)).expect("a decision").status
}

#[test]
fn cn_t23_a_limit_that_is_turned_on_applies_to_waiting_tasks() {
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
        let changes = limiter.override_changes(0, Some(1), None).unwrap();
        admin(AdminCommand::Override { changes: &changes, expires: None }, 2);
        admin(AdminCommand::Resume, 3);
        at(4);
        let actions = ["a", "b", "c"].map(|job| admit(&limiter, job, OnLimit::Wait));
        assert_eq!(actions, [Action::Run, Action::Wait, Action::Wait]);
    });
}

#[test]
fn dq_t11_of_two_workers_that_resume_at_once_one_gets_each_job() {
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
fn dq_t12_the_reservation_of_a_job_that_never_comes_back_expires() {
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
