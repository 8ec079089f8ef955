//! Tests the admission of jobs: run, wait, reschedule or drop, one at a time and in batches.

use std::time::Duration;

use crate::support::{clock, memory_with_clock, redis_with_clock, set_clock, unique};
use paddlegate::{Action, AdminCommand, Limit, Limiter, Micros, OnLimit, Policy, Reason, Request};

const MINUTE: Duration = Duration::from_secs(60);
const NOW: u64 = 1_700_000_000_000_000;

fn on_both(limits: &[Limit], test: impl Fn(&Limiter)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        let limiter = store.limiter(&unique("admission"), Policy::new(limits.to_vec()).expect("a policy"));
        test(&limiter.expect("a limiter"));
    }
}

fn cost_one() -> Request<'static> {
    Request::cost(1)
}

#[test]
fn concurrency_rate_and_throttle_are_decided_together() {
    let limits = [Limit::concurrency(1, MINUTE).unwrap(), Limit::window(10, MINUTE).unwrap()];
    on_both(&limits, |limiter| {
        let first = limiter.admit("a", cost_one(), OnLimit::Wait).unwrap();
        assert_eq!(first.action, Action::Run);
        for job in ["b", "c", "d", "e", "f"] {
            assert_eq!(limiter.admit(job, cost_one(), OnLimit::Drop).unwrap().action, Action::Drop);
        }
        limiter.release(&first.decision.permit.unwrap()).unwrap();
        assert_eq!(limiter.peek(Request::cost(0)).unwrap().limit, Some(1));
        assert_eq!(limiter.statistics().unwrap().units, 1, "what was dropped has taken nothing");
    });
}

#[test]
fn a_rescheduled_job_is_due_when_the_limit_allows_it() {
    on_both(&[Limit::window(1, Duration::from_millis(700)).unwrap()], |limiter| {
        set_clock(NOW);
        assert_eq!(limiter.admit("a", cost_one(), OnLimit::Reschedule).unwrap().action, Action::Run);
        let second = limiter.admit("b", cost_one(), OnLimit::Reschedule).unwrap();
        assert_eq!((second.action, second.after), (Action::Reschedule, Some(Micros(700_000))));
        let third = limiter.admit("c", cost_one(), OnLimit::Reschedule).unwrap();
        assert_eq!((third.action, third.after), (Action::Reschedule, Some(Micros(1_400_000))));
        set_clock(NOW + 700_000);
        assert_eq!(limiter.admit("new", cost_one(), OnLimit::Drop).unwrap().action, Action::Drop, "b is before it");
        assert_eq!(limiter.admit("b", cost_one(), OnLimit::Reschedule).unwrap().action, Action::Run);
    });
}

#[test]
fn a_batch_runs_as_a_whole_or_in_part() {
    on_both(&[Limit::window(3, MINUTE).unwrap()], |limiter| {
        let jobs = ["a", "b", "c", "d", "e"];
        let all = limiter.admit_all(&jobs, OnLimit::Wait, false).unwrap();
        assert!(all.len() == 5 && all.iter().all(|admission| admission.action == Action::Wait));
        assert_eq!(limiter.peek(Request::cost(0)).unwrap().remaining, Some(3), "nothing is taken");
        assert_eq!(limiter.statistics().unwrap().tickets, 0, "and nobody waits");
        let partial = limiter.admit_all(&jobs, OnLimit::Drop, true).unwrap();
        let ran = partial.iter().filter(|admission| admission.action == Action::Run).count();
        assert_eq!((ran, partial.len()), (3, 5));
    });
    on_both(&[Limit::concurrency(3, MINUTE).unwrap(), Limit::leaky(4, MINUTE).unwrap()], |limiter| {
        assert!(
            limiter
                .admit_all(&["a", "b", "c", "d"], OnLimit::Raise, false)
                .unwrap()
                .iter()
                .all(|admission| admission.action == Action::Refuse)
        );
        assert_eq!(limiter.statistics().unwrap().leases, 0);
        let all = limiter.admit_all(&["a", "b", "c"], OnLimit::Raise, false).unwrap();
        assert!(all.iter().all(|admission| admission.action == Action::Run), "{all:?}");
    });
    on_both(&[Limit::throttle(MINUTE).unwrap()], |limiter| {
        let both = limiter.admit_all(&["a", "b"], OnLimit::Raise, false).unwrap();
        assert!(both.iter().all(|admission| admission.action == Action::Refuse));
        assert_eq!(limiter.admit_all(&["a"], OnLimit::Raise, false).unwrap()[0].action, Action::Run);
    });
}

#[test]
fn a_retried_job_counts_as_a_new_job() {
    on_both(&[Limit::window(2, MINUTE).unwrap()], |limiter| {
        for attempt in ["job/1", "job/2"] {
            assert_eq!(limiter.admit(attempt, cost_one(), OnLimit::Drop).unwrap().action, Action::Run);
        }
        assert_eq!(limiter.admit("job/3", cost_one(), OnLimit::Drop).unwrap().action, Action::Drop);
    });
}

#[test]
fn a_running_job_that_is_admitted_again_takes_nothing() {
    on_both(&[Limit::concurrency(1, MINUTE).unwrap()], |limiter| {
        for _ in 0..3 {
            assert_eq!(limiter.admit("task", cost_one(), OnLimit::Wait).unwrap().action, Action::Run);
        }
        assert_eq!(limiter.statistics().unwrap().leases, 1);
        let other = limiter.admit("other", cost_one(), OnLimit::Wait).unwrap();
        assert_eq!((other.action, other.decision.ticket.unwrap().position), (Action::Wait, 0));
    });
}

#[test]
fn a_refused_batch_keeps_the_leases_of_running_jobs() {
    on_both(&[Limit::concurrency(1, MINUTE).unwrap()], |limiter| {
        assert_eq!(limiter.admit("a", cost_one(), OnLimit::Wait).unwrap().action, Action::Run);
        // The batch treats a grant of the same microsecond as its own.
        clock().advance(Duration::from_micros(1)).unwrap();
        let both = limiter.admit_all(&["a", "b"], OnLimit::Raise, false).unwrap();
        assert!(both.iter().all(|admission| admission.action == Action::Refuse), "{both:?}");
        assert_eq!(limiter.statistics().unwrap().leases, 1);
        assert_eq!(limiter.admit("c", cost_one(), OnLimit::Drop).unwrap().action, Action::Drop);
    });
}

#[test]
fn a_job_above_a_lowered_limit_waits_and_blocks_no_other_job() {
    on_both(&[Limit::bucket(10, MINUTE).unwrap(), Limit::concurrency(9, MINUTE).unwrap()], |limiter| {
        let admit = |job: &str, units: u64, seconds: u64| {
            set_clock(NOW + seconds * 1_000_000);
            limiter.admit(job, Request::cost(units), OnLimit::Wait)
        };
        let run = admit("runs", 6, 0).unwrap();
        assert_eq!(run.action, Action::Run);
        assert_eq!(admit("large", 5, 1).unwrap().action, Action::Wait);
        let changes = limiter.override_changes(Some("bucket"), Some(2), None).unwrap();
        let control = AdminCommand::Override { changes: &changes, expires: None };
        limiter.admin(control).unwrap();
        assert_eq!(admit("runs", 6, 3).unwrap().action, Action::Run, "it holds its lease");
        let large = admit("large", 5, 4).unwrap();
        assert_eq!((large.action, large.after), (Action::Wait, None), "until the limit is raised");
        assert_eq!(large.decision.reason, Some(Reason::TooLarge));
        assert_eq!(admit("small", 1, 61).unwrap().action, Action::Run, "nobody is before it");
    });
}
