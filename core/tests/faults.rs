//! Tests that a fault ends in a typed error by the deadline, never in a grant, and that later calls recover.

#[path = "faults/labels.rs"]
mod labels;

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::proxy::{Fault, Proxy};
use crate::sentinel::Sentinel;
use crate::server::{Server, free_port, wait_until};
use crate::support::raw::{Raw, Reply};
use crate::support::unique;
use paddlegate::{
    Decision, Error, ErrorKind, Kind, Limit, Limiter, MAX_SPAN, Paddlegate, Policy, QueuePosition, Reason, Request,
    Settlement, Status, Wait,
};

const HOUR: Duration = Duration::from_secs(3_600);

/// An interval so long that none of 1,000 units is restored during a test.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
const SHORT_TIMEOUT: Duration = Duration::from_millis(200);
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

#[allow(clippy::disallowed_methods)]
fn measure<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    (work(), started.elapsed())
}

fn acquire_one(limiter: &Limiter) -> Result<Decision, Error> {
    limiter.try_acquire(Request::cost(1))
}

fn failed(limiter: &Limiter) -> Error {
    acquire_one(limiter).expect_err("a call that cannot be decided")
}

/// Asserts that a call fails as unavailable. `timeouts` tests how long that takes.
fn assert_unavailable(limiter: &Limiter, may_have_counted: bool) {
    let error = failed(limiter);
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, may_have_counted));
}

#[test]
fn a_flushed_script_is_sent_again() {
    let server = Server::start();
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().leaky("flushed", 1_000, YEAR).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                server.execute(&["SCRIPT", "FLUSH"]);
            }
        });
        let mut granted = 0;
        for _ in 0..2_000 {
            granted += i32::from(acquire_one(&limiter).unwrap().allowed());
        }
        done.store(true, Ordering::SeqCst);
        assert_eq!(granted, 1_000);
    });
    let flushed = server.execute(&["INFO", "commandstats"]);
    assert!(flushed.contains("cmdstat_eval:"), "the script was never missing: {flushed}");
}

#[test]
fn a_refused_connection_fails_at_once_and_counts_nothing() {
    let limiter = Paddlegate::open("redis://127.0.0.1:1", Some(LONG_TIMEOUT)).unwrap();
    let (error, took) = measure(|| failed(&limiter.leaky("refused", 1, HOUR).unwrap()));
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_call_to_a_silent_server_fails_at_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let limiter = Paddlegate::open(&url, Some(SHORT_TIMEOUT)).unwrap().leaky("silent", 1, HOUR).unwrap();
    assert_unavailable(&limiter, true);
}

#[test]
fn a_silent_tls_handshake_fails_at_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("rediss://{}", silent.local_addr().unwrap());
    let limiter = Paddlegate::open(&url, Some(SHORT_TIMEOUT)).unwrap().leaky("silent", 1, HOUR).unwrap();
    assert_unavailable(&limiter, false);
}

#[test]
fn a_lost_reply_is_an_unknown_outcome_and_is_counted_once() {
    let server = Server::start();
    for fault in [Fault::Reset, Fault::DropReplies] {
        let proxy = Proxy::before(server.port);
        // Long enough for the calls that get a reply.
        let timeout = Some(Duration::from_secs(2));
        let limiter = Paddlegate::open(&proxy.url(), timeout).unwrap().leaky(&unique("lost"), 10, HOUR).unwrap();
        // Without statistics one script decides all calls, however long the machine stalls; the server then has it.
        let limiter = limiter.without_statistics().unwrap();
        assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(9));
        proxy.set(fault);
        let error = failed(&limiter);
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, true));
        proxy.set(Fault::None);
        assert_eq!(
            acquire_one(&limiter).unwrap().remaining,
            Some(7),
            "the call without a reply was executed exactly once"
        );
    }
}

#[test]
fn a_lost_settlement_may_be_repeated() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    let limiter = Paddlegate::open(&proxy.url(), Some(LONG_TIMEOUT)).unwrap().points("lost", 1_000, YEAR).unwrap();
    let permit = limiter.try_acquire(Request::estimate(200)).unwrap().permit.unwrap();
    proxy.set(Fault::Reset);
    assert!(limiter.correct(&permit, 50).unwrap_err().may_have_counted());
    proxy.set(Fault::None);
    assert_eq!(limiter.correct(&permit, 50).unwrap(), Settlement::Already);
    assert_eq!(limiter.peek(Request::cost(1)).unwrap().remaining, Some(950));
}

#[test]
fn a_reply_of_single_bytes_fails_at_the_deadline() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    proxy.set(Fault::SingleBytes);
    let limiter = Paddlegate::open(&proxy.url(), Some(SHORT_TIMEOUT)).unwrap().leaky("single bytes", 5, HOUR).unwrap();
    assert_unavailable(&limiter, true);
}

#[test]
fn a_server_that_is_not_redis_is_named_in_the_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut client, _) = listener.accept().unwrap();
        let _ = client.read(&mut [0; 512]);
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = failed(&Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("http", 5, HOUR).unwrap());
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("redis protocol"), "{error}");
}

#[test]
fn a_restart_between_two_calls_causes_no_error() {
    let port = free_port();
    let server = Server::start_with(port, &[]);
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().leaky("restart", 5, HOUR).unwrap();
    for _ in 0..3 {
        acquire_one(&limiter).unwrap();
    }
    server.stop();
    assert_eq!(failed(&limiter).kind(), ErrorKind::Unavailable);
    let server = Server::start_with(port, &[]);
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(4), "without persistence the server has lost its state");
    server.stop();
    let _server = Server::start_with(port, &[]);
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(4));
}

/// Returns a limiter of every kind that stores state, all with the same name.
fn every_kind(pg: &Paddlegate, name: &str) -> Vec<Limiter> {
    vec![
        pg.bucket(name, 5, HOUR).unwrap(),
        pg.window(name, 5, HOUR).unwrap(),
        pg.leaky(name, 5, HOUR).unwrap(),
        pg.points(name, 5, HOUR).unwrap(),
        pg.throttle(name, HOUR).unwrap(),
        pg.concurrent(name, 5, HOUR).unwrap(),
        pg.limiter(
            name,
            Policy::new([
                Limit::window(5, HOUR).unwrap(),
                Limit::leaky(5, HOUR).unwrap(),
                Limit::concurrency(5, HOUR).unwrap(),
                Limit::bucket(5, HOUR).unwrap(),
            ])
            .unwrap(),
        )
        .unwrap(),
    ]
}

#[test]
#[allow(clippy::disallowed_methods)]
fn counts_wait_while_the_server_takes_no_writes() {
    let refusals: [(&[&str], &[&str]); 3] = [
        (&["CONFIG", "SET", "maxmemory", "1"], &["CONFIG", "SET", "maxmemory", "0"]),
        (&["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"]),
        (&["CONFIG", "SET", "min-replicas-to-write", "1"], &["CONFIG", "SET", "min-replicas-to-write", "0"]),
    ];
    for (refuse, accept) in refusals {
        let server = Server::start();
        let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().leaky("full", 3, YEAR).unwrap();
        for allowed in [true, true, true, false, false] {
            assert_eq!(acquire_one(&limiter).unwrap().allowed(), allowed);
        }
        server.execute(refuse);
        thread::sleep(Duration::from_millis(1_100));
        // It takes the counts along, and writes nothing itself.
        assert_eq!(limiter.peek(Request::cost(1)).unwrap().remaining, Some(0), "{refuse:?}");
        server.execute(accept);
        let statistics = limiter.statistics().unwrap();
        assert_eq!((statistics.granted, statistics.refused), (3, 2), "{refuse:?}");
    }
}

#[test]
fn a_call_in_flight_when_the_store_is_closed_is_counted() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    let pg = Paddlegate::open(&proxy.url(), Some(LONG_TIMEOUT)).unwrap();
    let limiter = pg.leaky("closed", 1_000, YEAR).unwrap();
    let reader = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().leaky("closed", 1_000, YEAR).unwrap();
    // The first is counted by the script, the second by the process.
    acquire_one(&limiter).unwrap();
    acquire_one(&limiter).unwrap();
    proxy.set(Fault::Hold);
    thread::scope(|scope| {
        let in_flight = scope.spawn(|| acquire_one(&limiter).unwrap());
        wait_until("the server decides", || reader.peek(Request::cost(1)).unwrap().remaining == Some(997));
        pg.close();
        assert_eq!(failed(&limiter).argument(), Some("store"));
        proxy.set(Fault::None);
        assert!(in_flight.join().unwrap().allowed());
    });
    drop((pg, limiter));
    assert_eq!(reader.statistics().unwrap().granted, 3);
}

#[test]
fn a_store_that_was_closed_without_its_server_does_not_wait_for_it_again() {
    let port = free_port();
    let server = Server::start_with(port, &[]);
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    let limiter = pg.leaky("closed", 1_000, YEAR).unwrap();
    acquire_one(&limiter).unwrap();
    acquire_one(&limiter).unwrap();
    server.stop();
    pg.close();
    let server = Server::start_with(port, &[]);
    drop((pg, limiter));
    assert!(!server.execute(&["INFO", "commandstats"]).contains("cmdstat_eval"), "it was asked again");
}

#[test]
fn a_foreign_type_in_a_key_is_an_error_and_is_kept() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limiter in every_kind(&pg, "foreign") {
        for role in [":s:", ":w:", ":h:"] {
            server.execute(&["FLUSHALL"]);
            acquire_one(&limiter).unwrap();
            let keys = server.execute(&["KEYS", &format!("*{role}*")]);
            let Some(key) = keys.lines().next().filter(|key| !key.is_empty()) else { continue };
            // What this process has counted is sent before statistics are read, so that no later call takes it along.
            limiter.statistics().unwrap();
            let (statistics, size) = (server.execute(&["HGETALL", &server.key(":m:")]), server.execute(&["DBSIZE"]));
            server.execute(&["DEL", key]);
            server.execute(&["SADD", key, "theirs"]);
            for error in [
                failed(&limiter),
                limiter.acquire_with_id(Request::cost(1), "waiter", Some(longest_wait())).unwrap_err(),
                limiter.peek(Request::cost(1)).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Data, "{key}: {error}");
            }
            assert_eq!(server.execute(&["SMEMBERS", key]), "theirs");
            assert_eq!(server.execute(&["PTTL", key]), "-1");
            assert_eq!(server.execute(&["DBSIZE"]), size, "{key}: nothing is written");
            assert_eq!(server.execute(&["HGETALL", &server.key(":m:")]), statistics, "{key}: nothing is written");
        }
    }
}

/// Returns a wait of the maximum length.
fn longest_wait() -> Wait<'static> {
    Wait::up_to(MAX_SPAN)
}

/// Returns a wait that only keeps an existing queue position.
fn existing_only() -> Wait<'static> {
    Wait { position: QueuePosition::Existing, ..longest_wait() }
}

/// Returns a limiter of one unit, held by one caller, with the waiters `first` and `second`, and the holder's decision.
fn queued(pg: &Paddlegate, limit: Limit) -> (Limiter, Decision) {
    let limiter = pg.limiter("queued", Policy::new([limit]).unwrap()).unwrap();
    limiter.reset().unwrap();
    let holder = limiter.acquire_with_id(Request::cost(1), "holder", None).unwrap();
    assert!(holder.allowed());
    for waiter in ["first", "second"] {
        let decision = limiter.acquire_with_id(Request::cost(1), waiter, Some(longest_wait())).unwrap();
        assert_eq!(decision.status, Status::Queued);
    }
    (limiter, holder)
}

fn one_of_each() -> Vec<Limit> {
    vec![Limit::concurrency(1, HOUR).unwrap(), Limit::window(1, HOUR).unwrap(), Limit::leaky(1, HOUR).unwrap()]
}

#[test]
fn a_foreign_type_in_place_of_the_queue_is_an_error_and_is_kept() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limit in one_of_each() {
        for role in [":q:", ":t:"] {
            server.execute(&["FLUSHALL"]);
            let (limiter, _) = queued(&pg, limit.clone());
            let key = server.key(role);
            let (state, statistics) = (server.execute(&["GET", &server.key(":s:")]), limiter.statistics().unwrap());
            server.execute(&["DEL", &key]);
            server.execute(&["SADD", &key, "theirs"]);
            for (id, wait) in [
                ("first", Some(longest_wait())),
                ("third", Some(longest_wait())),
                ("first", None),
                ("first", Some(existing_only())),
            ] {
                match limiter.acquire_with_id(Request::cost(1), id, wait) {
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{key}: {id} {wait:?}: {error}"),
                    Ok(decision) => panic!("{key}: {id} {wait:?}: {decision:?}"),
                }
            }
            let error = limiter.cancel("first").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Data, "{key}: {error}");
            assert_eq!(server.execute(&["SMEMBERS", &key]), "theirs");
            assert_eq!(server.execute(&["PTTL", &key]), "-1");
            assert_eq!(server.execute(&["GET", &server.key(":s:")]), state, "{key}");
            server.execute(&["DEL", &key]);
            let after = limiter.statistics().unwrap();
            assert_eq!((after.granted, after.refused), (statistics.granted, statistics.refused), "{key}");
        }
    }
}

#[test]
fn a_foreign_type_in_place_of_statistics_or_the_list_fails_no_call() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limit in one_of_each() {
        for role in [":m:", ":limiters"] {
            server.execute(&["FLUSHALL"]);
            let (limiter, holder) = queued(&pg, limit.clone());
            let key = server.key(role);
            server.execute(&["DEL", &key]);
            server.execute(&["SET", &key, "theirs"]);
            // A new limiter, as in another process: its first call updates the list of limiters.
            let limiter = pg.limiter(limiter.name(), limiter.policy().clone()).unwrap();
            assert_eq!(acquire_one(&limiter).unwrap().status, Status::Refused);
            assert_eq!(
                limiter.acquire_with_id(Request::cost(1), "third", Some(longest_wait())).unwrap().status,
                Status::Queued
            );
            if let Some(permit) = &holder.permit {
                assert!(limiter.renew(permit).unwrap().is_some());
                assert_eq!(limiter.release(permit).unwrap(), Settlement::Released);
                assert!(limiter.acquire_with_id(Request::cost(1), "first", Some(longest_wait())).unwrap().allowed());
            }
            assert_eq!(limiter.cancel("second").unwrap(), Settlement::Cancelled);
            assert_eq!(limiter.statistics().unwrap().tickets, if holder.permit.is_some() { 1 } else { 2 });
            assert_eq!(server.execute(&["GET", &key]), "theirs");
            assert_eq!(server.execute(&["PTTL", &key]), "-1", "{key}");
            if role == ":limiters" {
                for error in [pg.limiters().unwrap_err(), pg.limiter_page("", None).unwrap_err()] {
                    assert_eq!(error.kind(), ErrorKind::Data);
                    assert!(error.message().contains(&format!("key={key:?}")), "{error}");
                }
                server.execute(&["DEL", &key]);
                assert!(pg.limiters().unwrap().is_empty());
            }
        }
    }
}

#[test]
fn damaged_statistics_fail_no_call() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for bad_value in ["", "x", "nan", "inf", "-5", "1.5", "1e300", "9223372036854775807", "99999999999999999999"] {
        for limit in one_of_each() {
            server.execute(&["FLUSHALL"]);
            let (limiter, holder) = queued(&pg, limit);
            let fields = ["granted", "refused", "waited", "wait", "units", "held", "overages", "reclaimed", "lapsed"];
            let mut words = vec!["HSET".to_owned(), server.key(":m:")];
            words.extend(fields.iter().flat_map(|field| [(*field).to_owned(), bad_value.to_owned()]));
            server.execute(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(acquire_one(&limiter).unwrap().status, Status::Refused, "{bad_value:?}");
            if let Some(permit) = &holder.permit {
                assert_eq!(limiter.release(permit).unwrap(), Settlement::Released, "{bad_value:?}");
                assert!(
                    limiter.acquire_with_id(Request::cost(1), "first", Some(longest_wait())).unwrap().allowed(),
                    "{bad_value:?}"
                );
            }
            assert_eq!(limiter.cancel("second").unwrap(), Settlement::Cancelled, "{bad_value:?}");
            match limiter.statistics() {
                Ok(statistics) => assert!(statistics.tickets <= 1),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{bad_value:?}: {error}"),
            }
        }
    }
}

#[test]
fn a_damaged_ticket_is_an_error_and_never_a_grant() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limit in one_of_each() {
        for field in 0..8 {
            for bad_value in ["", "x", "nan", "-1", "1.5", "0x1", "99999999999999999999"] {
                // The ticket number and the time of queueing may have any value.
                if matches!(field, 0 | 3) && bad_value.starts_with('9') {
                    continue;
                }
                // Tags are those of any policy.
                if field == 7 && !bad_value.is_empty() {
                    continue;
                }
                server.execute(&["FLUSHALL"]);
                let (limiter, holder) = queued(&pg, limit.clone());
                let tickets = server.key(":t:");
                let valid = server.execute(&["HGET", &tickets, "first"]);
                let mut numbers: Vec<&str> = valid.split(' ').collect();
                numbers.resize(9, "");
                numbers[field] = bad_value;
                let damaged = numbers.join(" ");
                server.execute(&["HSET", &tickets, "first", &damaged]);
                for wait in [existing_only(), longest_wait()] {
                    match limiter.acquire_with_id(Request::cost(1), "first", Some(wait)) {
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{damaged:?}: {error}"),
                        Ok(decision) => panic!("{damaged:?} for {valid:?}, {wait:?}: {decision:?}"),
                    }
                }
                if let Some(permit) = holder.permit {
                    // The damaged ticket does not block the other waiters.
                    assert_eq!(limiter.release(&permit).unwrap(), Settlement::Released, "{damaged:?}");
                    assert!(
                        limiter.acquire_with_id(Request::cost(1), "second", Some(longest_wait())).unwrap().allowed()
                    );
                }
            }
        }
    }
}

#[test]
fn a_damaged_count_of_tickets_is_an_error_and_never_a_grant() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limit in one_of_each() {
        server.execute(&["FLUSHALL"]);
        let (limiter, _) = queued(&pg, limit);
        let tickets = server.key(":t:");
        let huge = "99999999999999999999";
        for bad_value in ["", "x", "1", "-1 1", "1 nan", "1.5 2", "1 2 3", &format!("{huge} 1"), &format!("1 {huge}")] {
            server.execute(&["HSET", &tickets, "", bad_value]);
            let error = limiter.acquire_with_id(Request::cost(1), "third", Some(longest_wait())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Data, "{bad_value:?}: {error}");
            assert_eq!(
                limiter.acquire_with_id(Request::cost(1), "first", Some(longest_wait())).unwrap().status,
                Status::Queued
            );
        }
        let state = server.key(":s:");
        let valid = server.execute(&["GET", &state]);
        let (clock, rest) = valid.split_once(':').unwrap();
        let (line, levels) = rest.split_once(' ').unwrap_or((rest, ""));
        let numbers: Vec<&str> = line.split(':').collect();
        let replaced = |i: usize, bad_value: &str| {
            let mut damaged = numbers.clone();
            damaged[i] = bad_value;
            format!("{clock}:{} {levels}", damaged.join(":")).trim_end().to_owned()
        };
        let mut bad_values: Vec<String> = ["", "1", "1:1", "1:1:1", "1:1:1:1:1", "1:1:1:1x"]
            .iter()
            .map(|line| format!("{clock}:{line} {levels}"))
            .collect();
        for i in 0..numbers.len() {
            let bad_words = ["", "x", "nan", "-1", "1.5", "1e3", "0x1"];
            // The loads of a lost state are empty.
            bad_values.extend(bad_words[usize::from(i == 3)..].iter().map(|bad_value| replaced(i, bad_value)));
        }
        for damaged in bad_values {
            server.execute(&["SET", &state, damaged.trim_end()]);
            for wait in [None, Some(longest_wait())] {
                let error = limiter.acquire_with_id(Request::cost(1), "first", wait).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Data, "{damaged:?}: {error}");
            }
            assert_eq!(acquire_one(&limiter).unwrap_err().kind(), ErrorKind::Data, "{damaged:?}");
        }
        for damaged in (0..numbers.len()).flat_map(|i| [replaced(i, huge), replaced(i, &"9".repeat(400))]) {
            server.execute(&["SET", &state, &damaged]);
            match acquire_one(&limiter) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{damaged:?}: {error}"),
                Ok(decision) => assert!(!decision.allowed(), "{damaged:?}: {decision:?}"),
            }
        }
    }
}

#[test]
fn a_damaged_lease_is_an_error_and_never_a_grant() {
    let server = Server::start();
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().concurrent("damaged", 2, HOUR).unwrap();
    for bad_value in ["inf", "1e300", "9007199254740994", "2000000000000000.5", "1e17"] {
        for wait in [None, Some(longest_wait())] {
            limiter.reset().unwrap();
            limiter.acquire_with_id(Request::cost(1), "holder", None).unwrap();
            let leases = server.key(":h:");
            server.execute(&["ZADD", &leases, bad_value, "theirs"]);
            let before = server.execute(&["ZRANGE", &leases, "0", "-1", "WITHSCORES"]);
            // The owner of a damaged lease gets the same error as other callers.
            for id in ["another", "theirs"] {
                match limiter.acquire_with_id(Request::cost(1), id, wait) {
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{bad_value} {id}: {error}"),
                    Ok(decision) => panic!("{bad_value} {id}: {decision:?}"),
                }
            }
            assert_eq!(server.execute(&["ZRANGE", &leases, "0", "-1", "WITHSCORES"]), before);
        }
    }
}

#[test]
fn a_foreign_type_in_place_of_the_permits_charges_nothing() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limiter in every_kind(&pg, "foreign") {
        server.execute(&["FLUSHALL"]);
        limiter.acquire_with_id(Request::estimate(1), "first", None).unwrap();
        let permits = server.key(":p:foreign");
        server.execute(&["DEL", &permits]);
        server.execute(&["SET", &permits, "theirs"]);
        let contents = || {
            let keys = server.execute(&["KEYS", "*"]);
            let mut keys: Vec<String> = keys.lines().filter(|key| !key.contains(":m:")).map(str::to_owned).collect();
            keys.sort();
            keys.into_iter().map(|key| (server.execute(&["DUMP", &key]), key)).collect::<Vec<_>>()
        };
        let before = contents();
        match limiter.acquire_with_id(Request::estimate(1), "second", None) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Data),
            // A throttle refuses a second call within its interval anyway.
            Ok(decision) => {
                assert_eq!(decision.reason, Some(Reason::Limit(Kind::Throttle)));
                continue;
            }
        }
        assert_eq!(contents(), before, "{limiter:?}");
    }
}

#[test]
fn a_damaged_state_is_an_error_and_never_a_grant() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limiter in every_kind(&pg, "poisoned") {
        server.execute(&["FLUSHALL"]);
        acquire_one(&limiter).unwrap();
        let key = server.key(":s:");
        let valid = server.execute(&["GET", &key]);
        let numbers: Vec<&str> = valid.split(' ').collect();
        let mut bad_values: Vec<String> =
            ["", " ", "nan", "x", "0x10", "1e300", "-5", "1 2 3 4 5 6 7 8 9 10 11 12 13"].map(str::to_owned).into();
        bad_values.push(numbers[..numbers.len() - 1].join(" "));
        bad_values.push(format!("{valid} 1"));
        bad_values.push(format!("{valid} "));
        for i in 0..numbers.len() {
            for bad_value in ["nan", "inf", "-1", "1.5", "1e3", "0x1", "99999999999999999999", "", "?"] {
                let mut damaged = numbers.clone();
                damaged[i] = bad_value;
                bad_values.push(damaged.join(" "));
            }
        }
        for bad_value in bad_values {
            server.execute(&["SET", &key, &bad_value]);
            match acquire_one(&limiter) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{bad_value:?}: {error}"),
                // A number that this library could have written may lead to a refusal.
                Ok(decision) => assert!(!decision.allowed(), "{bad_value:?} in {valid:?} granted"),
            }
        }
        limiter.reset().unwrap();
        assert!(acquire_one(&limiter).unwrap().allowed());
    }
}

#[test]
fn a_damaged_log_is_an_error_and_never_a_grant() {
    let server = Server::start();
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().window("poisoned", 3, HOUR).unwrap();
    for bad_value in ["nan", "x", "", "-5", "1.5", "1e300", "inf", "9007199254740993"] {
        limiter.reset().unwrap();
        for _ in 0..3 {
            acquire_one(&limiter).unwrap();
        }
        let log = server.key(":w:");
        server.execute(&["LSET", &log, "2", bad_value]);
        assert_eq!(failed(&limiter).kind(), ErrorKind::Data, "{bad_value:?}");
        assert_eq!(server.execute(&["LINDEX", &log, "2"]), bad_value);
    }
}

#[test]
fn a_lost_log_starts_empty_and_a_lost_state_keeps_the_log() {
    let server = Server::start();
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().window("lost", 3, HOUR).unwrap();
    for role in [":w:", ":s:"] {
        limiter.reset().unwrap();
        for _ in 0..3 {
            acquire_one(&limiter).unwrap();
        }
        server.execute(&["DEL", &server.key(role)]);
        let granted = (0..4).filter(|_| acquire_one(&limiter).unwrap().allowed()).count();
        assert_eq!(granted, if role == ":w:" { 3 } else { 0 }, "{role}");
    }
}

#[test]
fn a_full_server_refuses_the_whole_call() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    for limiter in every_kind(&pg, "full") {
        let request = if limiter.policy().is_estimated() { Request::estimate(1) } else { Request::cost(1) };
        server.execute(&["FLUSHALL"]);
        server.execute(&["CONFIG", "SET", "maxmemory", "1"]);
        let error = limiter.try_acquire(request).unwrap_err();
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
        assert_eq!(server.execute(&["DBSIZE"]), "0");
        server.execute(&["CONFIG", "SET", "maxmemory", "0"]);
        assert!(limiter.try_acquire(request).unwrap().allowed());
    }
}

#[test]
fn a_call_on_a_replica_fails_until_it_is_the_primary() {
    let server = Server::start();
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().leaky("replica", 5, HOUR).unwrap();
    acquire_one(&limiter).unwrap();
    let state = server.execute(&["GET", &server.key(":s:")]);
    server.execute(&["REPLICAOF", "127.0.0.1", "1"]);
    let error = failed(&limiter);
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
    server.execute(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(server.execute(&["GET", &server.key(":s:")]), state);
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(3));
}

/// Returns a primary, its replica, and a URL that contains both addresses.
fn primary_and_replica() -> (Server, Server, String) {
    let (first, second) = (Server::start(), Server::start());
    second.follow(&first);
    let url = format!("{},127.0.0.1:{}", first.url(), second.port);
    (first, second, url)
}

/// Asserts that a call on a replica fails without counting, and that the next calls reach the primary.
fn assert_primary_is_found(call: impl Fn() -> Result<Decision, Error>, left: u64) {
    let error = call().expect_err("a replica");
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
    assert_eq!(call().unwrap().remaining, Some(left));
    assert_eq!(call().unwrap().remaining, Some(left - 1), "and it stays there");
}

#[test]
fn a_new_primary_is_found_among_the_nodes_of_the_url() {
    let (first, second, url) = primary_and_replica();
    let limiter = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("follows", 1_000, YEAR).unwrap();
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(999));
    second.catch_up_with(&first);
    first.follow(&second);
    assert_primary_is_found(|| acquire_one(&limiter), 998);
    first.catch_up_with(&second);
    second.follow(&first);
    assert_primary_is_found(|| acquire_one(&limiter), 996);
}

#[test]
fn a_failover_of_the_server_itself_is_followed() {
    let (first, second, url) = primary_and_replica();
    let limiter = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("failover", 1_000, YEAR).unwrap();
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(999));
    second.catch_up_with(&first);
    assert_eq!(first.execute(&["FAILOVER", "TO", "127.0.0.1", &second.port.to_string()]), "OK");
    wait_until("the roles are exchanged", || second.role() == "master" && first.role() == "slave");
    assert_primary_is_found(|| acquire_one(&limiter), 998);
}

/// Returns the first decision; a call that meets the old primary fails without counting.
fn after_failover(call: impl Fn() -> Result<Decision, Error>) -> Decision {
    for _ in 0..20 {
        match call() {
            Ok(decision) => return decision,
            Err(error) => assert!(!error.may_have_counted(), "{error}"),
        }
    }
    panic!("no decision after the failover");
}

#[test]
fn sentinels_name_the_primary_before_and_after_a_failover() {
    let (first, second, _) = primary_and_replica();
    let sentinel = Sentinel::of(&first);
    // The first address is that of no sentinel.
    let url = format!("redis+sentinel://127.0.0.1:{},127.0.0.1:{}/main", free_port(), sentinel.port);
    let pg = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap();
    let limiter = pg.leaky("of-sentinels", 1_000, YEAR).unwrap();
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(999));
    let slots = pg.concurrent("slots", 1, HOUR).unwrap();
    let holder = slots.try_acquire(Request::cost(1)).unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| slots.acquire(Request::cost(1), LONG_TIMEOUT));
        wait_until("the call waits", || slots.statistics().unwrap().tickets == 1);
        second.catch_up_with(&first);
        sentinel.fail_over(&first, &second);
        assert_eq!(after_failover(|| acquire_one(&limiter)).remaining, Some(998));
        assert_eq!(slots.release(holder.permit.as_ref().unwrap()).unwrap(), Settlement::Released);
        assert!(waiter.join().unwrap().unwrap().allowed(), "the wake-up comes from the new primary");
    });
    drop(first);
    assert_eq!(acquire_one(&limiter).unwrap().remaining, Some(997));
}

#[test]
fn sentinels_have_a_login_of_their_own_and_may_not_know_the_name() {
    let (first, _second, _) = primary_and_replica();
    let sentinel = Sentinel::of(&first);
    let at = |rest: &str| {
        let url = format!("redis+sentinel://127.0.0.1:{}/{rest}", sentinel.port);
        Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("login", 5, HOUR).unwrap()
    };
    let error = failed(&at("other"));
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));
    assert!(error.message().contains("master=other"), "{error}");
    assert_eq!(sentinel.execute(&["ACL", "SETUSER", "default", ">hush"]), "OK");
    assert!(failed(&at("main")).message().contains("NOAUTH"));
    let error = failed(&at("main?sentinel_password=guess"));
    assert!(error.message().contains("WRONGPASS") && !error.message().contains("guess"), "{error}");
    assert!(acquire_one(&at("main/1?sentinel_password=hush")).unwrap().allowed());
    assert_eq!(first.execute(&["-n", "1", "KEYS", "*:s:*"]).lines().count(), 1);
}

#[test]
fn many_dead_connections_cost_one_timeout() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    let limiter =
        Paddlegate::open(&proxy.url(), Some(Duration::from_secs(1))).unwrap().leaky("dead", 1_000, YEAR).unwrap();
    // Concurrent calls use one connection each.
    wait_until("there are many connections", || {
        thread::scope(|scope| (0..12).for_each(|_| drop(scope.spawn(|| acquire_one(&limiter)))));
        server.execute(&["CLIENT", "LIST"]).lines().count() > 8
    });
    proxy.dead_connections().mark_open_as_dead();
    let failures = (0..16).filter(|_| acquire_one(&limiter).is_err()).count();
    // A stall of the machine may add one failure.
    assert!((1..=3).contains(&failures), "{failures} calls failed");
}

#[test]
fn a_list_of_any_length_is_read_completely() {
    let server = Server::start();
    let pg = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    acquire_one(&pg.leaky("one", 5, HOUR).unwrap()).unwrap();
    let (key, entry) = (server.key(":limiters"), "7776000000000|l 5 3600000000 0|");
    let score = server.execute(&["ZRANGE", &key, "0", "0", "WITHSCORES"]).lines().nth(1).unwrap().to_owned();
    let mut raw = Raw::open(&server.url());
    let mut words = vec!["ZADD".to_owned(), key];
    words.extend((0..2_500).flat_map(|i| [score.clone(), format!("{entry}{}{i}", "long ".repeat(60))]));
    assert_eq!(raw.execute(&words), Reply::Integer(2_500));
    let limiters = pg.limiters().unwrap();
    assert_eq!(limiters.len(), 2_501);
    assert!(limiters.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn a_missing_password_is_named_in_the_error() {
    let server = Server::start();
    server.execute(&["CONFIG", "SET", "requirepass", "open sesame"]);
    for db in ["", "/3"] {
        let url = format!("{}{db}", server.url());
        let error = failed(&Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("login", 5, HOUR).unwrap());
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));
        assert!(error.message().contains("NOAUTH") && error.message().contains("the url"), "{error}");
    }
}

#[test]
fn logins_and_databases() {
    let port = free_port();
    let server = Server::start_with(port, &["--requirepass", "open sesame"]);
    let at = |login: &str| Paddlegate::open(&format!("redis://{login}127.0.0.1:{port}/3"), Some(LONG_TIMEOUT)).unwrap();
    let limiter = |pg: Paddlegate| pg.leaky("login", 5, HOUR).unwrap();
    for wrong in ["", ":guess@", "nobody:open%20sesame@"] {
        let error = failed(&limiter(at(wrong)));
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));
        assert!(!format!("{error:?}").contains("guess") && !format!("{error:?}").contains("sesame"), "{error:?}");
    }
    for right in [":open%20sesame@", "default:open%20sesame@"] {
        assert!(acquire_one(&limiter(at(right))).unwrap().allowed());
    }
    let keys = |db: &str| {
        let states = server.execute(&["-a", "open sesame", "--no-auth-warning", "-n", db, "KEYS", "*:s:*"]);
        states.lines().count()
    };
    assert_eq!((keys("0"), keys("3")), (0, 1));
    let missing = Paddlegate::open(&format!("redis://:open%20sesame@127.0.0.1:{port}/99"), Some(LONG_TIMEOUT)).unwrap();
    assert!(!failed(&limiter(missing)).may_have_counted());
}

#[test]
fn a_unix_domain_socket() {
    let port = free_port();
    let socket = std::env::temp_dir().join(format!("paddlegate-{}-{port}.sock", std::process::id()));
    let server = Server::start_with(port, &["--unixsocket", socket.to_str().unwrap()]);
    // The server opens the socket after the port.
    wait_until("the socket is there", || UnixStream::connect(&socket).is_ok());
    let pg = Paddlegate::open(&format!("unix://{}?db=2", socket.display()), Some(LONG_TIMEOUT)).unwrap();
    assert_eq!(acquire_one(&pg.leaky("unix", 5, HOUR).unwrap()).unwrap().remaining, Some(4));
    assert_eq!(server.execute(&["-n", "2", "KEYS", "*:s:*"]).lines().count(), 1);
    server.stop();
    assert_eq!(failed(&pg.leaky("unix", 5, HOUR).unwrap()).kind(), ErrorKind::Unavailable);
    let _ = fs::remove_file(socket);
}

/// Creates certificates for an authority and for a server `localhost` with openssl.
fn certificates(dir: &std::path::Path) {
    let script = "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca 2>/dev/null &&
        openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt -days 2 -subj /CN=other 2>/dev/null &&
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost 2>/dev/null &&
        printf 'subjectAltName=DNS:localhost\\nbasicConstraints=CA:FALSE\\n' > ext &&
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile ext 2>/dev/null";
    assert!(Command::new("sh").args(["-c", script]).current_dir(dir).status().unwrap().success(), "openssl");
}

#[test]
fn tls_accepts_a_trusted_certificate_and_refuses_another() {
    let dir = std::env::temp_dir().join(format!("paddlegate-tls-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    certificates(&dir);
    let (plain, port) = (free_port(), free_port());
    let file = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let server = Server::start_with(
        plain,
        &[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            &file("server.crt"),
            "--tls-key-file",
            &file("server.key"),
            "--tls-ca-cert-file",
            &file("ca.crt"),
            "--tls-auth-clients",
            "no",
        ],
    );
    let code = |host: &str, trust: Option<&str>, options: &str| {
        // A process reads the trusted certificates only once, so each case runs in its own process.
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "faults::a_call_over_tls", "--nocapture"])
            .env("TLS_TEST_URL", format!("rediss://{host}:{port}{options}"));
        if let Some(path) = trust {
            command.env("SSL_CERT_FILE", path);
        }
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .find_map(|line| line.split_once("tls: ").map(|(_, result)| result.to_owned()))
    };
    let (granted, refused) = (Some("granted granted"), Some("unavailable false"));
    let (trusted, other) = (file("ca.crt"), file("other.crt"));
    let of_url = format!("?ssl_ca_certs={trusted}");
    assert_eq!(code("localhost", Some(&trusted), "").as_deref(), granted);
    assert_eq!(code("localhost", None, "").as_deref(), refused);
    assert_eq!(code("127.0.0.1", Some(&trusted), "").as_deref(), refused, "another name");
    assert_eq!(code("localhost", None, &of_url).as_deref(), granted);
    assert_eq!(code("127.0.0.1", None, &of_url).as_deref(), refused, "another name");
    assert_eq!(code("localhost", Some(&trusted), &format!("?ssl_ca_certs={other}")).as_deref(), refused);
    assert_eq!(code("localhost", None, "?ssl_ca_certs=/nowhere.pem").as_deref(), refused);
    assert_eq!(code("127.0.0.1", None, "?ssl_cert_reqs=none").as_deref(), granted);
    server.execute(&["CONFIG", "SET", "tls-auth-clients", "yes"]);
    // The server refuses after the handshake, when the call is under way.
    assert_eq!(code("localhost", None, &of_url).as_deref(), Some("unavailable true"));
    let own = format!("&ssl_certfile={}&ssl_keyfile={}", file("server.crt"), file("server.key"));
    assert_eq!(code("localhost", None, &format!("{of_url}{own}")).as_deref(), granted);
    let _ = fs::remove_dir_all(dir);
}

/// Runs as a child process of the test above; without `TLS_TEST_URL` it does nothing.
#[test]
fn a_call_over_tls() {
    let Ok(url) = std::env::var("TLS_TEST_URL") else { return };
    let limiter = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap().leaky("tls", 5, HOUR).unwrap();
    match acquire_one(&limiter) {
        Ok(_) => println!("tls: granted {}", acquire_one(&limiter).map_or("failed", |_| "granted")),
        Err(error) => println!("tls: {} {}", error.kind().name(), error.may_have_counted()),
    }
}

#[test]
fn every_kind_works_in_a_cluster_and_a_dead_node_fails_only_its_slots() {
    let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL")
        .expect("PADDLEGATE_TEST_CLUSTER_URL is not set; run the tests under scripts/with-cluster.sh");
    let pg = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap();
    for i in 0..20 {
        for limiter in every_kind(&pg, &unique(&format!("cluster-{i}"))) {
            let request = if limiter.policy().is_estimated() { Request::estimate(1) } else { Request::cost(1) };
            let decision = limiter.try_acquire(request).unwrap();
            assert!(decision.allowed());
            if let Some(permit) = decision.permit {
                if limiter.policy().is_estimated() {
                    assert_eq!(limiter.correct(&permit, 3).unwrap(), Settlement::Settled);
                    assert_eq!(limiter.peek(Request::cost(1)).unwrap().remaining, Some(2));
                } else {
                    assert_eq!(limiter.release(&permit).unwrap(), Settlement::Released);
                }
            }
            for number in 0.. {
                let decision =
                    limiter.acquire_with_id(request, &format!("caller {number}"), Some(longest_wait())).unwrap();
                if decision.status == Status::Queued {
                    assert_eq!(limiter.cancel(&format!("caller {number}")).unwrap(), Settlement::Cancelled);
                    break;
                }
                assert!(number < 5, "{decision:?}");
            }
            assert_eq!(limiter.statistics().unwrap().tickets, 0);
            limiter.reset().unwrap();
            assert!(limiter.try_acquire(request).unwrap().allowed());
        }
    }
    // The first node of the URL is down from the start, so the store tries the next one.
    let nodes = url.strip_prefix("redis://").unwrap();
    let pg = Paddlegate::open(&format!("redis://127.0.0.1:1,{nodes}"), Some(LONG_TIMEOUT)).unwrap();
    for i in 0..10 {
        assert!(acquire_one(&pg.leaky(&unique(&format!("seed-{i}")), 5, HOUR).unwrap()).unwrap().allowed());
    }
}
