//! Tests waiting threads: fair order, no polling, and recovery from faults.
// The threads wait in real time, so the tests read the clock and sleep.
#![allow(clippy::disallowed_methods)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::proxy::{Fault, Proxy};
use crate::server::Server;
use crate::support::raw::{Raw, Reply};
use crate::support::{is_soak, redis, unique};
use paddlegate::{Limiter, Paddlegate, Request};

const LONG_TIMEOUT: Duration = Duration::from_secs(30);
const LEASE_TIMEOUT: Duration = Duration::from_secs(30);

fn stores() -> [(&'static str, Paddlegate); 2] {
    [("memory", Paddlegate::memory()), ("redis", redis())]
}

/// Polls until other threads have fulfilled the condition.
fn poll_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("this did not happen in time: {what}");
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn waiters(limiter: &Limiter) -> u64 {
    limiter.statistics().expect("statistics").tickets
}

/// The number and permit of each granted waiter, in the order of the grants.
type Grants = Arc<Mutex<Vec<(u64, String)>>>;

/// Starts waiters one after the other. Each records its number when it is granted, and keeps its lease.
fn queue_up(limiter: &Limiter, count: u64) -> (Grants, Vec<thread::JoinHandle<()>>) {
    let grants = Arc::new(Mutex::new(Vec::new()));
    let before = waiters(limiter);
    let threads = (0..count).map(|number| {
        let (own, grants) = (limiter.clone(), grants.clone());
        let thread = thread::spawn(move || {
            let decision = own.acquire(Request::default(), LONG_TIMEOUT).expect("an answer");
            grants.lock().unwrap().push((number, decision.permit.expect("a permit")));
        });
        poll_until("the waiter is in the queue", || waiters(limiter) == before + number + 1);
        thread
    });
    let threads = threads.collect();
    (grants, threads)
}

#[test]
fn one_release_grants_only_the_first_of_fifty_waiters() {
    for (store, pg) in stores() {
        let limiter = pg.concurrent(&unique("fifty"), 1, LEASE_TIMEOUT).unwrap();
        let mut held = limiter.try_acquire(Request::default()).unwrap().permit.expect("a lease");
        let (grants, threads) = queue_up(&limiter, 50);
        for round in 0..50 {
            limiter.release(&held).unwrap();
            poll_until("one more waiter is granted", || grants.lock().unwrap().len() > round);
            thread::sleep(Duration::from_millis(if round == 0 { 100 } else { 0 }));
            let grants = grants.lock().unwrap();
            assert_eq!(grants.len(), round + 1, "on {store}");
            assert_eq!(grants[round].0, round as u64, "in the order of the tickets, on {store}");
            held.clone_from(&grants[round].1);
        }
        join(threads);
        let statistics = limiter.statistics().unwrap();
        assert_eq!((statistics.granted, statistics.waited, statistics.refused, statistics.lapsed), (51, 50, 0, 0));
    }
}

#[test]
fn a_wait_is_refused_when_its_maximum_is_over() {
    for (store, pg) in stores() {
        let limiter = pg.concurrent(&unique("short"), 1, LEASE_TIMEOUT).unwrap();
        limiter.try_acquire(Request::default()).unwrap();
        let started = Instant::now();
        let decision = limiter.acquire(Request::default(), Duration::from_millis(50)).unwrap();
        let waited = started.elapsed();
        assert!(!decision.allowed() && waited >= Duration::from_millis(50), "{waited:?} on {store}");
        assert!(waited < Duration::from_secs(4), "{waited:?} on {store}");
        assert_eq!((waiters(&limiter), limiter.statistics().unwrap().refused), (0, 1), "nothing is left on {store}");
    }
}

#[test]
fn a_wait_too_short_for_the_rate_is_refused_at_once() {
    for (store, pg) in stores() {
        let limiter = pg.window(&unique("rate"), 1, Duration::from_secs(600)).unwrap();
        assert!(limiter.acquire(Request::default(), LONG_TIMEOUT).unwrap().allowed());
        let started = Instant::now();
        let decision = limiter.acquire(Request::default(), LONG_TIMEOUT).unwrap();
        assert!(!decision.allowed() && started.elapsed() < Duration::from_secs(5), "on {store}");
        assert_eq!(waiters(&limiter), 0, "on {store}");
    }
}

#[test]
fn waiters_for_a_rate_are_granted_in_time_and_in_order() {
    for (store, pg) in stores() {
        let limiter = pg.leaky(&unique("rate"), 1, Duration::from_millis(50)).unwrap();
        let started = Instant::now();
        let order = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..20)
            .map(|_| {
                let (limiter, order) = (limiter.clone(), order.clone());
                thread::spawn(move || {
                    assert!(limiter.acquire(Request::default(), LONG_TIMEOUT).unwrap().allowed());
                    order.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        join(threads);
        // The first call is granted at once, the others 50 ms apart.
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(19 * 50 - 10), "{took:?} on {store}");
        assert!(took < Duration::from_secs(25), "{took:?} on {store}");
    }
}

#[test]
fn the_slot_of_a_dead_holder_is_free_when_its_lease_expires() {
    for (store, pg) in stores() {
        let name = unique("dead");
        let limiter = pg.concurrent(&name, 1, Duration::from_millis(400)).unwrap();
        let started = Instant::now();
        limiter.try_acquire(Request::default()).unwrap();
        assert!(limiter.acquire(Request::default(), LONG_TIMEOUT).unwrap().allowed());
        let waited = started.elapsed();
        assert!(waited >= Duration::from_millis(395), "{waited:?} on {store}");
        assert!(waited < Duration::from_secs(10), "{waited:?} on {store}");
        assert_eq!(limiter.statistics().unwrap().reclaimed, 1, "on {store}");
    }
}

#[test]
fn waiters_survive_the_loss_of_their_connection() {
    // A separate server, because the test kills the subscriptions of all clients.
    let server = Server::start();
    let limiter =
        Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().concurrent("lost", 1, LEASE_TIMEOUT).unwrap();
    let held = limiter.try_acquire(Request::default()).unwrap().permit.expect("a lease");
    let (grants, threads) = queue_up(&limiter, 3);
    let mut raw = Raw::open(&server.url());
    for _ in 0..5 {
        assert!(matches!(raw.command("CLIENT KILL TYPE pubsub"), Reply::Integer(_)));
        thread::sleep(Duration::from_millis(120));
    }
    limiter.release(&held).unwrap();
    for round in 0..3 {
        poll_until("the next waiter is granted", || grants.lock().unwrap().len() > round);
        let held = grants.lock().unwrap()[round].1.clone();
        limiter.release(&held).unwrap();
    }
    join(threads);
    assert_eq!(limiter.statistics().unwrap().granted, 4);
}

#[test]
fn a_failed_wait_releases_a_grant_whose_reply_was_lost() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    // Long enough that a stall of the machine ends no other call.
    let time_out = Duration::from_secs(3);
    let limiter = Paddlegate::open(&proxy.url(), Some(time_out)).unwrap().concurrent("lost", 1, LEASE_TIMEOUT).unwrap();
    // This call loads the script into the server, so that later calls have one reply each.
    limiter.statistics().unwrap();
    proxy.set(Fault::DropOneReply);
    let error = limiter.acquire(Request::default(), LONG_TIMEOUT).unwrap_err();
    assert!(error.may_have_counted(), "{error}");
    let statistics = limiter.statistics().unwrap();
    assert_eq!((statistics.granted, statistics.leases, statistics.tickets), (1, 0, 0));

    // The same applies to a call that is queued.
    let held = limiter.try_acquire(Request::default()).unwrap();
    proxy.set(Fault::DropOneReply);
    assert!(limiter.acquire(Request::default(), LONG_TIMEOUT).is_err());
    assert_eq!(waiters(&limiter), 0);
    limiter.release(&held.permit.unwrap()).unwrap();
}

#[test]
fn an_idle_waiter_calls_at_most_once_in_four_seconds() {
    let server = Server::start();
    let limiter =
        Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap().concurrent("idle", 1, LEASE_TIMEOUT).unwrap();
    let held = limiter.try_acquire(Request::default()).unwrap().permit.expect("a lease");
    let (grants, threads) = queue_up(&limiter, 8);
    let scripts = || {
        let commands = commands(&server);
        ["evalsha", "eval"].iter().filter_map(|name| commands.get(*name)).sum::<u64>()
    };
    let (before, started) = (scripts(), Instant::now());
    thread::sleep(Duration::from_secs(6));
    let (calls, seconds) = (scripts() - before, started.elapsed().as_secs() + 1);
    // The eight waiters may retry once right at the start and once right at the end.
    assert!(calls <= 2 * seconds + 8, "{calls} calls of 8 waiters in {seconds} s");
    let before = scripts();
    for round in 0..8 {
        let lease = if round == 0 { held.clone() } else { grants.lock().unwrap()[round - 1].1.clone() };
        limiter.release(&lease).unwrap();
        poll_until("the next waiter is granted", || grants.lock().unwrap().len() > round);
    }
    // Each grant takes a release and a claim; the waiters were queued before.
    assert!(scripts() - before <= 4 * 8, "{} calls for 8 grants", scripts() - before);
    join(threads);
}

#[test]
fn in_a_cluster_the_node_that_decides_wakes_the_waiters() {
    let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster");
    let pg = Paddlegate::open(&url, Some(LONG_TIMEOUT)).unwrap();
    // Enough names that every node has some; all limiters share the connections of the process.
    for number in 0..6 {
        let limiter = pg.concurrent(&unique(&format!("cluster-{number}")), 1, LEASE_TIMEOUT).unwrap();
        let mut held = limiter.try_acquire(Request::default()).unwrap().permit.expect("a lease");
        let (grants, threads) = queue_up(&limiter, 3);
        let started = Instant::now();
        for round in 0..3 {
            limiter.release(&held).unwrap();
            poll_until("the next waiter is granted", || grants.lock().unwrap().len() > round);
            held.clone_from(&grants.lock().unwrap()[round].1);
        }
        assert!(started.elapsed() < Duration::from_secs(4), "a waiter had to retry without a wake-up");
        assert_eq!(limiter.statistics().unwrap().lapsed, 0);
        join(threads);
    }
}

/// Each calls every fifteen seconds, to show that it is alive.
#[test]
fn five_hundred_waiters_leave_the_server_alone() {
    const WAITERS: u64 = 500;
    let server = Server::start();
    let limiter = Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap();
    let limiter = limiter.concurrent("together", 1, Duration::from_secs(600)).unwrap();
    let held = limiter.try_acquire(Request::default()).unwrap().permit.expect("a lease");
    let order = Arc::new(Mutex::new(Vec::new()));
    let wait = |number: u64| {
        let (limiter, order) = (limiter.clone(), order.clone());
        thread::spawn(move || {
            let decision = limiter.acquire(Request::default(), 20 * LONG_TIMEOUT).expect("an answer");
            order.lock().unwrap().push(number);
            limiter.release(&decision.permit.expect("a permit")).unwrap();
        })
    };
    let first = (0..3).map(|number| {
        let thread = wait(number);
        poll_until("the waiter is in the queue", || waiters(&limiter) == number + 1);
        thread
    });
    let mut threads: Vec<_> = first.collect();
    threads.extend((3..WAITERS).map(wait));
    poll_until("all are in the queue", || waiters(&limiter) == WAITERS);
    if is_soak() {
        // A machine that stalls makes more of them call in one window.
        let window = paddlegate::RECHECK.duration();
        let scripts = (0..4).map(|_| {
            let before = commands(&server)["evalsha"];
            thread::sleep(window);
            let scripts = commands(&server)["evalsha"] - before;
            println!("{scripts} scripts of {WAITERS} waiters in {window:?}");
            scripts
        });
        assert!(scripts.min() <= Some(WAITERS + 5), "each calls once in {window:?}");
    }
    assert_eq!(limiter.statistics().unwrap().tickets, WAITERS);
    limiter.release(&held).unwrap();
    join(threads);
    assert_eq!(order.lock().unwrap()[..3], [0, 1, 2], "in the order of the tickets");
    let statistics = limiter.statistics().unwrap();
    assert_eq!((statistics.granted, statistics.waited, statistics.refused), (WAITERS + 1, WAITERS, 0));
}

/// Returns how often the server ran each command, also in scripts.
fn commands(server: &Server) -> HashMap<String, u64> {
    let text = server.execute(&["INFO", "commandstats"]);
    let counts = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    });
    counts.collect()
}
