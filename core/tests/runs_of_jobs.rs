//! Tests two runs of one job, which a job system starts when it takes the first for dead: each has a lease of its own.

use std::time::Duration;

use crate::support::{clock, memory_with_clock, redis_with_clock, set_clock, unique};
use paddlegate::{
    Decision, Limit, Limiter, Micros, OnLimit, Paddlegate, Policy, Reason, Request, Settlement, Status, Waiter,
};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const LEASE: Duration = Duration::from_secs(30);

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(START);
        test(&store);
    }
}

/// Asks as a worker does that begins with the job.
fn begin(limiter: &Limiter) -> Decision {
    let mut waiter = Waiter::of_job(None, Micros(0), Micros(0)).unwrap();
    limiter.acquire_with_id(Request::cost(1), "job", Some(waiter.next(Micros(0), ""))).unwrap()
}

fn both_at_once(store: &Paddlegate) -> Limiter {
    let policy =
        Policy::new(vec![Limit::concurrency(2, LEASE).unwrap(), Limit::window(9, Duration::from_secs(60)).unwrap()]);
    store.limiter(&unique("runs"), policy.unwrap()).unwrap()
}

#[test]
fn a_second_run_does_not_share_the_lease_of_the_first() {
    on_both(|store| {
        for limiter in [store.concurrent(&unique("runs"), 2, LEASE).unwrap(), both_at_once(store)] {
            let first = begin(&limiter);
            assert!(first.allowed());
            clock().advance(Duration::from_secs(10)).unwrap();
            let second = begin(&limiter);
            assert_eq!((second.status, second.reason), (Status::Refused, Some(Reason::Running)));
            assert_eq!(second.retry_after, Some(Micros(20 * SECOND)), "when the lease ends");
            assert_eq!((second.permit, second.lease, second.fencing_token, second.ticket), (None, None, None, None));
            let statistics = limiter.statistics().unwrap();
            assert_eq!((statistics.granted, statistics.leases, statistics.tickets), (1, 1, 0), "it takes nothing");

            let permit = first.permit.unwrap();
            assert_eq!(limiter.release(&permit).unwrap(), Settlement::Released);
            let third = begin(&limiter);
            assert!(third.allowed());
            assert_ne!(limiter.release(&permit).unwrap(), Settlement::Released, "it is the lease of the third");
            assert_eq!(limiter.statistics().unwrap().leases, 1);
        }
    });
}

#[test]
fn the_run_after_a_killed_one_begins_when_its_lease_has_ended() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("runs"), 1, LEASE).unwrap();
        let first = begin(&limiter).permit.unwrap();
        let wait = begin(&limiter).retry_after.unwrap();
        clock().advance(Duration::from_micros(wait.0 - 1)).unwrap();
        assert_eq!(begin(&limiter).reason, Some(Reason::Running));
        clock().advance(Duration::from_micros(1)).unwrap();
        assert!(begin(&limiter).allowed());
        assert_ne!(limiter.release(&first).unwrap(), Settlement::Released);
        assert_eq!(limiter.statistics().unwrap().leases, 1);
    });
}

#[test]
fn admit_repairs_a_lost_reply() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("runs"), 1, LEASE).unwrap();
        let admit = || limiter.admit("job", Request::cost(1), OnLimit::Wait).unwrap().decision;
        assert_eq!(admit().permit, admit().permit);
        assert_eq!(begin(&limiter).reason, Some(Reason::Running));
    });
}

#[test]
fn limiters_that_decide_together_tell_it_too() {
    on_both(|store| {
        let queue = store.concurrent(&unique("queue"), 9, LEASE).unwrap();
        let customer = store.window(&unique("customer"), 9, Duration::from_secs(60)).unwrap();
        let both = store.together(&[&customer, &queue]).unwrap();
        let first = begin(&both);
        assert!(first.allowed());
        let second = begin(&both);
        assert_eq!((second.status, second.reason), (Status::Refused, Some(Reason::Running)));
        assert_eq!((second.limiter.as_deref(), second.permit), (Some(queue.name()), None));
        assert_eq!(both.release(&first.permit.unwrap()).unwrap(), Settlement::Released);
        assert!(begin(&both).allowed());
    });
}
