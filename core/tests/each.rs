//! Tests several calls in one exchange with the server: each is decided by itself, whatever becomes of the others.
#![allow(clippy::disallowed_methods)] // Servers that fail take real time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::support::raw::Raw;
use crate::support::{redis, test_url, unique};
use paddlegate::{Decision, ErrorKind, Limiter, OnUnavailable, Paddlegate, Request, Result, SignalHandling};

/// A busy machine may stop for a while.
const LONG_TIMEOUT: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);
/// Of what leaks in a year, nothing comes back during a test.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
const MANY: u64 = 420;

fn each(calls: &[(&Limiter, Request<'_>)]) -> Vec<Result<Decision>> {
    Limiter::acquire_each(calls, SignalHandling::Ignore)
}

fn cluster() -> Paddlegate {
    let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster");
    Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap()
}

#[test]
fn calls_of_many_names_find_their_answers_in_every_store() {
    for pg in [Paddlegate::memory(), redis(), cluster()] {
        let windows: Vec<Limiter> = (0..7).map(|_| pg.window(&unique("each"), MANY, HOUR).unwrap()).collect();
        let keyed = pg.leaky(&unique("each"), MANY, YEAR).unwrap().keyed().unwrap();
        let keys: Vec<Limiter> = (0..7).map(|i| keyed.with_key(&format!("user-{i}")).unwrap()).collect();
        let limiters: Vec<&Limiter> = windows.iter().chain(&keys).collect();
        for round in 0..3 {
            let calls: Vec<_> = (0..140).map(|i| (limiters[i % 14], Request::cost(i as u64 % 14 + 1))).collect();
            let decided: Vec<Decision> = each(&calls).into_iter().map(Result::unwrap).collect();
            assert!(decided.iter().all(Decision::allowed), "round {round}");
            for (i, cost) in (1..=14).enumerate() {
                // A call whose script the server lacks is decided after others.
                let mut remaining: Vec<u64> =
                    decided.iter().skip(i).step_by(14).map(|decision| decision.remaining.unwrap()).collect();
                remaining.sort_unstable_by_key(|remaining| std::cmp::Reverse(*remaining));
                let expected: Vec<u64> = (1..=10).map(|call| MANY - cost * (round * 10 + call)).collect();
                assert_eq!(remaining, expected, "limiter {i} in round {round}");
            }
        }
    }
}

#[test]
fn a_server_that_lost_the_scripts_gets_them_again() {
    let pg = redis();
    let limiter = pg.window(&unique("each"), MANY, HOUR).unwrap();
    for round in 1..=4 {
        Raw::open(&test_url()).command("SCRIPT FLUSH");
        let decided = each(&vec![(&limiter, Request::default()); 50]);
        assert!(decided.iter().all(|decision| decision.as_ref().unwrap().allowed()));
        let least = decided.iter().map(|decision| decision.as_ref().unwrap().remaining).min();
        assert_eq!(least, Some(Some(MANY - 50 * round)));
    }
}

#[test]
fn the_queue_and_bad_costs_and_several_stores() {
    let (one, other) = (redis(), redis());
    let leases = one.concurrent(&unique("each"), 1, HOUR).unwrap();
    let window = other.window(&unique("each"), 2, HOUR).unwrap();
    let here = Paddlegate::memory().window("here", 1, HOUR).unwrap();
    let points = one.points(&unique("each"), 9, HOUR).unwrap();
    let calls = [
        (&leases, Request::default()),
        (&window, Request::cost(3)),
        (&here, Request::default()),
        (&here, Request::default()),
        (&points, Request::default()),
        (&points, Request::estimate(4)),
        (&window, Request::cost(2)),
    ];
    let shown: Vec<String> = each(&calls)
        .into_iter()
        .map(|result| match result {
            Ok(decision) => format!("{:?} {}", decision.status, decision.permit.is_some()),
            Err(error) => error.argument().unwrap_or("none").to_owned(),
        })
        .collect();
    let expected =
        ["Granted true", "cost", "Granted false", "Refused false", "estimate", "Granted true", "Granted false"];
    assert_eq!(shown, expected);
    one.close();
    let closed = each(&[(&leases, Request::default()), (&window, Request::cost(1))]);
    assert_eq!(closed[0].as_ref().unwrap_err().argument(), Some("store"));
    assert!(!closed[1].as_ref().unwrap().allowed());
}

/// Starts a server whose connections `serve` answers, one after the other, and returns its URL.
fn server(serve: impl Fn(usize, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (i, stream) in listener.incoming().enumerate() {
            serve(i, stream.unwrap());
        }
    });
    url
}

#[test]
fn a_server_that_is_away_or_ends_leaves_each_call_its_error() {
    let hangs_up = server(|_, mut stream| {
        let _ = stream.read(&mut [0; 64]);
    });
    for (url, may_have_counted) in [("redis://127.0.0.1:1", false), (hangs_up.as_str(), true)] {
        let pg = Paddlegate::open(url, Some(LONG_TIMEOUT)).unwrap();
        let raises = pg.window("raises", 9, HOUR).unwrap();
        let open = pg.window("open", 9, HOUR).unwrap().with_on_unavailable(OnUnavailable::FailOpen);
        let calls = [(&raises, Request::default()), (&open, Request::default()), (&raises, Request::default())];
        let decided = each(&calls);
        for error in [&decided[0], &decided[2]].map(|result| result.as_ref().unwrap_err()) {
            assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, may_have_counted));
        }
        assert!(decided[1].as_ref().unwrap().degraded);
    }
}

#[test]
fn what_was_answered_before_the_end_of_a_connection_counts() {
    // The whole script answers a first call to a limiter; a grant has these numbers.
    let url = server(|_, mut stream| {
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.write_all(b"*6\r\n:1\r\n:0\r\n:8\r\n:0\r\n:1000000\r\n:1700000000000000\r\n");
    });
    let pg = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap();
    let limiter = pg.window("x", 9, HOUR).unwrap();
    let decided = each(&[(&limiter, Request::default()), (&limiter, Request::default())]);
    assert_eq!(decided[0].as_ref().unwrap().remaining, Some(8));
    assert!(decided[1].as_ref().unwrap_err().may_have_counted());
}
