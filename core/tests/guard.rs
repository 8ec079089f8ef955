//! Tests decisions in the same script as functions of the caller.

use std::time::Duration;

use crate::support::{redis as store, unique};
use paddlegate::store::redis::{Guard, GuardInput, Guarded};
use paddlegate::{
    Answer, Calendar, CalendarPeriod, Decision, Limit, Limiter, Operation, Paddlegate, Policy, Request, Settlement,
};
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

const HOUR: Duration = Duration::from_secs(3_600);

struct Jobs {
    guard: Guard,
    waiting: String,
    active: String,
    connection: MultiplexedConnection,
}

/// Returns jobs that are assigned by moving them from one set to another.
async fn jobs(waiting: &[&str]) -> Jobs {
    let guard = Guard::new(
        "if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return 'gone' end",
        "redis.call('SMOVE', KEYS[1], KEYS[2], ARGV[1])",
    );
    let client = redis::Client::open(std::env::var("PADDLEGATE_TEST_URL").unwrap()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let jobs = Jobs { guard, waiting: unique("waiting"), active: unique("active"), connection: connection.clone() };
    let _: () = connection.sadd(&jobs.waiting, waiting).await.unwrap();
    jobs
}

impl Jobs {
    async fn assign(&mut self, limiter: &Limiter, job: &str) -> paddlegate::Result<Guarded> {
        let input =
            GuardInput { keys: &[self.waiting.as_bytes(), self.active.as_bytes()], arguments: &[job.as_bytes()] };
        let mut connection = self.connection.clone();
        let acquire = Operation::AcquireWithId { request: Request::cost(1), id: job, wait: None };
        limiter.run_guarded(&mut connection, acquire, (self.guard, input)).await
    }

    /// Moves a job back from the active ones, and ends its lease.
    async fn end(&mut self, limiter: &Limiter, job: &str) -> paddlegate::Result<Guarded> {
        let input =
            GuardInput { keys: &[self.active.as_bytes(), self.waiting.as_bytes()], arguments: &[job.as_bytes()] };
        let mut connection = self.connection.clone();
        let cancel = Operation::Cancel { id: job, gave_up: false };
        limiter.run_guarded(&mut connection, cancel, (self.guard, input)).await
    }

    async fn active(&mut self) -> Vec<String> {
        let mut active: Vec<String> = self.connection.smembers(&self.active).await.unwrap();
        active.sort();
        active
    }
}

fn decided(guarded: paddlegate::Result<Guarded>) -> Decision {
    match guarded.unwrap() {
        Guarded::Answered(answer) => match *answer {
            Answer::Decision(decision) => decision,
            other => panic!("{other:?}"),
        },
        stopped @ Guarded::Stopped(_) => panic!("{stopped:?}"),
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn both(store: &Paddlegate, leases: u64, starts: u64) -> (Limiter, Limiter, Limiter) {
    let workers = store.concurrent(&unique("workers"), leases, HOUR).unwrap();
    let api = store.window(&unique("api"), starts, HOUR).unwrap();
    (store.together(&[&workers, &api]).unwrap(), workers, api)
}

#[test]
fn a_job_is_assigned_exactly_when_all_limiters_pass_it() {
    run(async {
        let store = store();
        let (limiter, workers, api) = both(&store, 2, 5);
        let mut jobs = jobs(&["a", "b", "c"]).await;
        for (job, allowed) in [("a", true), ("b", true), ("c", false)] {
            let decision = decided(jobs.assign(&limiter, job).await);
            assert_eq!((decision.allowed(), decision.permit.is_some()), (allowed, allowed), "{job}");
        }
        assert_eq!(jobs.active().await, ["a", "b"]);
        assert_eq!((workers.statistics().unwrap().leases, api.peek(Request::cost(1)).unwrap().remaining), (2, Some(3)));
    });
}

#[test]
fn a_job_ends_and_frees_its_slot_in_one_step() {
    run(async {
        let store = store();
        let (limiter, workers, _) = both(&store, 1, 5);
        let mut jobs = jobs(&["a", "b"]).await;
        assert!(decided(jobs.assign(&limiter, "a").await).allowed());
        assert_eq!(jobs.end(&limiter, "b").await.unwrap(), Guarded::Stopped(b"gone".to_vec()));
        let cancelled = Guarded::Answered(Answer::Settlement(Settlement::Cancelled).into());
        assert_eq!(jobs.end(&limiter, "a").await.unwrap(), cancelled);
        assert_eq!((jobs.active().await, workers.statistics().unwrap().leases), (vec![], 0));
        let other = Operation::Release { permit: "a" };
        let input = GuardInput::default();
        assert!(limiter.run_guarded(&mut jobs.connection.clone(), other, (jobs.guard, input)).await.is_err());
    });
}

#[test]
fn a_job_that_is_gone_charges_nothing() {
    run(async {
        let store = store();
        let (limiter, workers, api) = both(&store, 2, 5);
        let mut jobs = jobs(&["a"]).await;
        assert_eq!(jobs.assign(&limiter, "other").await.unwrap(), Guarded::Stopped(b"gone".to_vec()));
        assert!(decided(jobs.assign(&limiter, "a").await).allowed());
        assert_eq!(jobs.assign(&limiter, "a").await.unwrap(), Guarded::Stopped(b"gone".to_vec()));
        assert_eq!((workers.statistics().unwrap().leases, api.peek(Request::cost(1)).unwrap().remaining), (1, Some(4)));
    });
}

#[test]
fn it_runs_alone_without_limits_and_never_for_a_limiter_that_refuses_all() {
    run(async {
        let store = store();
        let alone = |limiter: Limiter| store.together(&[&limiter]).unwrap();
        let mut jobs = jobs(&["a", "b"]).await;
        let unlimited = alone(store.unlimited(&unique("free")).unwrap());
        assert!(decided(jobs.assign(&unlimited, "a").await).allowed());
        assert_eq!(jobs.assign(&unlimited, "a").await.unwrap(), Guarded::Stopped(b"gone".to_vec()));
        let paused = alone(store.paused(&unique("paused")).unwrap());
        assert!(!decided(jobs.assign(&paused, "b").await).allowed());
        assert_eq!(jobs.active().await, ["a"]);
    });
}

#[test]
fn a_quota_has_its_periods_behind_the_words_of_the_guard() {
    run(async {
        let store = store();
        let calendar = Calendar::new(CalendarPeriod::Month);
        let quota =
            store.limiter(&unique("quota"), Policy::new([Limit::quota(1, calendar).unwrap()]).unwrap()).unwrap();
        let quota = store.together(&[&quota]).unwrap();
        let mut jobs = jobs(&["a", "b"]).await;
        for (job, allowed) in [("a", true), ("b", false)] {
            let decision = decided(jobs.assign(&quota, job).await);
            assert_eq!(decision.allowed(), allowed, "{job}");
        }
        assert_eq!(jobs.active().await, ["a"]);
    });
}

#[test]
fn an_error_of_a_function_is_an_error_of_the_call() {
    run(async {
        let store = store();
        let (limiter, workers, _) = both(&store, 2, 5);
        let mut jobs = jobs(&["a"]).await;
        jobs.guard = Guard::new("return redis.call('SADD', KEYS[1])", "");
        assert!(jobs.assign(&limiter, "a").await.is_err());
        assert_eq!(workers.statistics().unwrap().leases, 0);
        jobs.guard = Guard::new("return 7", "");
        assert_eq!(jobs.assign(&limiter, "a").await.unwrap(), Guarded::Stopped(b"7".to_vec()));
    });
}

#[test]
fn an_error_behind_the_decision_may_have_counted() {
    run(async {
        let store = store();
        let (limiter, workers, _) = both(&store, 2, 5);
        let mut jobs = jobs(&["a"]).await;
        let () = jobs.connection.set(&jobs.active, "of another program").await.unwrap();
        let error = jobs.assign(&limiter, "a").await.unwrap_err();
        assert!(error.may_have_counted() && error.to_string().contains("WRONGTYPE"), "{error}");
        assert_eq!(workers.inspect(paddlegate::Page { offset: 0, count: 0 }).unwrap().lease_count, 1);
    });
}

#[test]
fn an_error_of_the_decision_has_not_counted() {
    run(async {
        let (limiter, workers, _) = both(&store(), 2, 5);
        let mut jobs = jobs(&["a"]).await;
        assert!(decided(jobs.assign(&limiter, "a").await).allowed());
        let keys: Vec<String> = jobs.connection.keys(format!("*:s:{}", workers.name())).await.unwrap();
        let () = redis::pipe()
            .del(&keys)
            .rpush(&keys[0], "of another program")
            .query_async(&mut jobs.connection)
            .await
            .unwrap();
        let () = jobs.connection.sadd(&jobs.waiting, "b").await.unwrap();
        let error = jobs.assign(&limiter, "b").await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_counted()), (paddlegate::ErrorKind::Data, false));
    });
}
