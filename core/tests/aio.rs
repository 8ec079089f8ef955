//! Tests the asynchronous transport: equal results, one connection for all tasks, and an end for every call.

use crate::server;
use std::net::TcpListener;
use std::time::Duration;

use crate::server::Server;
use crate::support::{redis, unique};
use paddlegate::{Answer, ErrorKind, Operation, Paddlegate, Request, Settlement, Statistics};
use tokio::runtime::{Builder, Runtime};

const HOUR: Duration = Duration::from_secs(3_600);

/// An interval so long that none of 1,000 units is restored during a test.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn many_tasks_share_one_limit() {
    for runtime in [current_thread(), Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()] {
        let limiter = redis().leaky(&unique("aio"), 100, HOUR).unwrap();
        let granted = runtime.block_on(async {
            let tasks: Vec<_> = (0..200)
                .map(|_| {
                    let limiter = limiter.clone();
                    tokio::spawn(async move { limiter.try_acquire_async(Request::default()).await.unwrap().allowed() })
                })
                .collect();
            let mut granted = 0;
            for task in tasks {
                granted += i32::from(task.await.unwrap());
            }
            granted
        });
        assert_eq!(granted, 100);
    }
}

#[test]
fn permits_are_settled_once() {
    current_thread().block_on(async {
        let limiter = redis().points(&unique("aio"), 1_000, YEAR).unwrap();
        let permit = limiter.try_acquire_async(Request::estimate(200)).await.unwrap().permit.unwrap();
        assert_eq!(limiter.correct_async(&permit, 50).await.unwrap(), Settlement::Settled);
        assert_eq!(limiter.correct_async(&permit, 50).await.unwrap(), Settlement::Already);
        let peeked = limiter.run_async(Operation::Peek(Request::cost(1))).await.unwrap();
        assert!(matches!(peeked, Answer::Decision(decision) if decision.remaining == Some(950)));
        assert_eq!(limiter.run_async(Operation::Reset).await.unwrap(), Answer::Reset);
        assert_eq!(limiter.correct_async(&permit, 0).await.unwrap(), Settlement::Unknown);
    });
}

#[test]
fn a_store_outlives_the_runtime_of_its_first_call() {
    let limiter = redis().leaky(&unique("aio"), 10, HOUR).unwrap();
    for left in [9, 8, 7] {
        let decision = current_thread().block_on(limiter.try_acquire_async(Request::default())).unwrap();
        assert_eq!(decision.remaining, Some(left));
    }
}

#[test]
fn a_memory_store_needs_no_tokio_runtime() {
    let limiter = Paddlegate::memory().leaky("aio", 1, HOUR).unwrap();
    let first = current_thread().block_on(limiter.try_acquire_async(Request::default())).unwrap();
    assert!(first.allowed());
    assert!(!limiter.try_acquire(Request::default()).unwrap().allowed());
}

#[test]
fn a_call_to_a_silent_server_fails_at_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let limiter = Paddlegate::open(&url, Some(Duration::from_millis(200))).unwrap().leaky("aio", 1, HOUR).unwrap();
    // `timeouts` tests how long the call takes.
    let error = current_thread().block_on(limiter.try_acquire_async(Request::default())).unwrap_err();
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, true));
}

#[test]
fn a_refused_connection_fails_at_once_and_a_later_server_is_used() {
    let port = server::free_port();
    let limiter = Paddlegate::open(&format!("redis://127.0.0.1:{port}"), Some(LONG_TIMEOUT))
        .unwrap()
        .leaky("aio", 5, HOUR)
        .unwrap();
    let runtime = current_thread();
    let error = runtime.block_on(limiter.try_acquire_async(Request::default())).unwrap_err();
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));

    let server = Server::start_with(port, &[]);
    assert_eq!(runtime.block_on(limiter.try_acquire_async(Request::default())).unwrap().remaining, Some(4));
    server.stop();
    let server = Server::start_with(port, &[]);
    // The connection died between two calls, which must not fail the next call. The new server starts without state.
    assert_eq!(runtime.block_on(limiter.try_acquire_async(Request::default())).unwrap().remaining, Some(4));
    server.stop();
}

#[test]
fn calls_follow_the_slots_of_a_cluster() {
    let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL")
        .expect("PADDLEGATE_TEST_CLUSTER_URL is not set; run the tests under scripts/with-cluster.sh");
    let pg = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap();
    current_thread().block_on(async {
        for i in 0..30 {
            let limiter = pg.window(&unique(&format!("aio-{i}")), 2, HOUR).unwrap();
            for left in [1, 0] {
                assert_eq!(limiter.try_acquire_async(Request::default()).await.unwrap().remaining, Some(left));
            }
            assert!(!limiter.try_acquire_async(Request::default()).await.unwrap().allowed());
        }
    });
}

#[test]
fn a_new_primary_is_found_among_the_nodes_of_the_url() {
    let (first, second) = (Server::start(), Server::start());
    second.follow(&first);
    let url = format!("{},127.0.0.1:{}", first.url(), second.port);
    let limiter = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("follows", 1_000, YEAR).unwrap();
    let runtime = current_thread();
    let call = || runtime.block_on(limiter.try_acquire_async(Request::default()));
    assert_eq!(call().unwrap().remaining, Some(999));
    for (primary, replica, left) in [(&second, &first, 998), (&first, &second, 997)] {
        primary.catch_up_with(replica);
        replica.follow(primary);
        let error = call().expect_err("a replica");
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
        assert_eq!(call().unwrap().remaining, Some(left));
    }
}

#[test]
fn counters_are_the_statistics_without_what_is_held_now() {
    let cluster = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster");
    let cluster = Paddlegate::open(&cluster, Some(LONG_TIMEOUT)).unwrap();
    for pg in [Paddlegate::memory(), redis(), cluster] {
        let plain = pg.leaky(&unique("counters"), 3, YEAR).unwrap();
        let leases = pg.concurrent(&unique("counters"), 3, HOUR).unwrap();
        let keyed = pg.bucket(&unique("counters"), 3, YEAR).unwrap().keyed().unwrap();
        let of_group = pg.bucket(&unique("counters"), 3, YEAR).unwrap().with_group("counters").unwrap();
        let of_key = keyed.with_key("alice").unwrap();
        current_thread().block_on(async {
            for limiter in [&plain, &leases, &of_group, &of_key] {
                for _ in 0..2 {
                    assert!(limiter.try_acquire_async(Request::cost(1)).await.unwrap().allowed());
                }
            }
            assert!(!plain.try_acquire_async(Request::cost(2)).await.unwrap().allowed());
            for limiter in [&plain, &leases, &of_group, &keyed] {
                let counters = limiter.counters_async().await.unwrap();
                let Answer::Statistics(all) = limiter.run_async(Operation::Statistics).await.unwrap() else {
                    panic!("statistics of {limiter:?}")
                };
                assert_eq!(counters.granted, 2, "{limiter:?}");
                assert_eq!(counters, Statistics { leases: 0, tickets: 0, ..*all }, "{limiter:?}");
            }
            let unused = pg.leaky(&unique("counters"), 3, YEAR).unwrap();
            assert_eq!(unused.counters_async().await.unwrap(), Statistics::default());
            let without = pg.leaky(&unique("counters"), 3, YEAR).unwrap().without_statistics().unwrap();
            assert_eq!(without.counters_async().await.unwrap_err().argument(), Some("statistics"));
        });
        assert_eq!(leases.statistics().unwrap().leases, 2);
    }
}

#[test]
fn a_call_that_times_out_fails_no_other_call() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(Duration::from_secs(3))).unwrap();
    let limiter = pg.leaky("shared", 1_000, YEAR).unwrap();
    current_thread().block_on(async {
        limiter.try_acquire_async(Request::default()).await.unwrap();
        server.execute(&["CLIENT", "PAUSE", "100000", "WRITE"]);
        let early = tokio::spawn({
            let limiter = limiter.clone();
            async move { limiter.try_acquire_async(Request::default()).await }
        });
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let late = tokio::spawn({
            let limiter = limiter.clone();
            async move { limiter.try_acquire_async(Request::default()).await }
        });
        assert!(early.await.unwrap().is_err());
        server.execute(&["CLIENT", "UNPAUSE"]);
        assert!(late.await.unwrap().unwrap().allowed(), "it had half of its time left");
    });
}

#[test]
fn counts_whose_reply_came_too_late_are_counted_once() {
    for ends_runtime in [false, true] {
        let server = Server::start();
        let pg = Paddlegate::open(&server.url(), Some(Duration::from_secs(1))).unwrap();
        let limiter = pg.leaky("counts", 1_000, YEAR).unwrap();
        let runtime = current_thread();
        runtime.block_on(async {
            for _ in 0..20 {
                limiter.try_acquire_async(Request::default()).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(1_100)).await;
            server.process().signal("STOP");
            // It takes along the counts of the calls before.
            assert!(limiter.try_acquire_async(Request::default()).await.unwrap_err().may_have_counted());
            if !ends_runtime {
                // The connection ends, since nobody waits for it.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        drop(runtime);
        // The server has what was sent before.
        server.process().signal("CONT");
        server::wait_until("statistics", || limiter.statistics().is_ok());
        let reader = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().leaky("counts", 1_000, YEAR).unwrap();
        let charged = 1_000 - reader.peek(Request::default()).unwrap().remaining.unwrap();
        assert_eq!((charged, reader.statistics().unwrap().granted), (21, 21), "{ends_runtime}");
    }
}
