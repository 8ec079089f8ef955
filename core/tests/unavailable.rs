//! Tests the answers of a limiter while its store is unavailable.

#![allow(clippy::disallowed_methods)] // A store that comes back does so in real time.

use crate::support;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{test_url, unique};
use paddlegate::{
    AdminCommand, Cost, Deadline, ErrorKind, Kind, Limit, Limiter, Micros, OnUnavailable, Paddlegate, Policy, Reason,
    Request, Settlement, Status, UpstreamReport,
};

const MINUTE: Duration = Duration::from_secs(60);

/// An address without a listener.
const UNREACHABLE_URL: &str = "redis://127.0.0.1:1";

fn unreachable(limit: Limit, mode: OnUnavailable) -> Limiter {
    let store = Paddlegate::open(UNREACHABLE_URL, None).expect("a store");
    store.limiter("lost", Policy::new([limit]).expect("a policy")).expect("a limiter").with_on_unavailable(mode)
}

#[test]
fn raise_is_an_error_and_never_a_refusal() {
    let limiter = unreachable(Limit::window(1, MINUTE).unwrap(), OnUnavailable::Raise);
    for _ in 0..10 {
        assert_eq!(limiter.try_acquire(Request::cost(1)).unwrap_err().kind(), ErrorKind::Unavailable);
    }
}

#[test]
fn fail_closed_refuses_and_marks_the_decision_as_degraded() {
    let limiter = unreachable(Limit::window(7, MINUTE).unwrap(), OnUnavailable::FailClosed);
    for _ in 0..10 {
        let decision = limiter.try_acquire(Request::cost(1)).unwrap();
        assert_eq!((decision.status, decision.degraded, decision.reason), (Status::Refused, true, None));
        assert_eq!((decision.limit, decision.remaining, decision.permit), (Some(7), Some(0), None));
        assert!(decision.retry_after.unwrap() <= Micros(1_000_000));
    }
    assert!(limiter.peek(Request::cost(1)).unwrap().degraded);
    assert_eq!(
        limiter.try_acquire(Request::cost(u64::MAX)).unwrap_err().argument(),
        Some("cost"),
        "the argument is checked first"
    );
    assert_eq!(limiter.statistics().unwrap_err().kind(), ErrorKind::Unavailable, "not a decision");
}

#[test]
fn fail_open_grants_and_marks_the_decision_as_degraded() {
    let limiter = unreachable(Limit::concurrency(1, MINUTE).unwrap(), OnUnavailable::FailOpen);
    for _ in 0..10 {
        let decision = limiter.try_acquire(Request::cost(1)).unwrap();
        assert!(decision.allowed() && decision.degraded && decision.lease.is_none());
        assert_eq!(limiter.release(&decision.permit.unwrap()).unwrap(), Settlement::Unknown);
    }
}

#[test]
fn local_keeps_its_share_of_the_limit() {
    let half = OnUnavailable::Local { share_percent: 50 };
    let limiter = unreachable(Limit::concurrency(5, MINUTE).unwrap(), half);
    let permits: Vec<String> = (0..2)
        .map(|_| {
            let decision = limiter.try_acquire(Request::cost(1)).unwrap();
            assert!(decision.allowed() && decision.degraded);
            assert_eq!(decision.limit, Some(2));
            decision.permit.expect("a permit")
        })
        .collect();
    let refused = limiter.try_acquire(Request::cost(1)).unwrap();
    assert_eq!((refused.status, refused.degraded), (Status::Refused, true));
    assert_eq!(limiter.release(&permits[0]).unwrap(), Settlement::Released);
    assert_eq!(limiter.release(&permits[0]).unwrap(), Settlement::Unknown, "once");
    assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed());

    let points = unreachable(Limit::points(1_000, MINUTE).unwrap(), half);
    let decision = points.try_acquire(Request::estimate(400)).unwrap();
    assert_eq!(decision.remaining, Some(100));
    assert_eq!(points.correct(&decision.permit.unwrap(), 100).unwrap(), Settlement::Settled);
    assert!(points.peek(Request::cost(0)).unwrap().remaining >= Some(400));

    let single = unreachable(Limit::window(1, MINUTE).unwrap(), half);
    assert!(!single.try_acquire(Request::cost(1)).unwrap().allowed(), "half a unit grants nothing");
}

#[test]
fn limiters_of_one_name_share_one_local_limit_scaled_by_the_share() {
    let store = Paddlegate::open(UNREACHABLE_URL, None).expect("a store");
    let local = |limit: &Limit, share| {
        let policy = Policy::new([limit.clone()]).expect("a policy");
        store
            .limiter("one", policy)
            .expect("a limiter")
            .with_on_unavailable(OnUnavailable::Local { share_percent: share })
    };
    let window = Limit::window(2, MINUTE).unwrap();
    let granted = (0..5).filter(|_| local(&window, 100).try_acquire(Request::cost(1)).unwrap().allowed()).count();
    assert_eq!(granted, 2);
    let mutex = Limit::concurrency(1, MINUTE).unwrap();
    assert!(!local(&mutex, 99).try_acquire(Request::cost(1)).unwrap().allowed());
    let throttle = Limit::throttle(MINUTE).unwrap();
    assert!(local(&throttle, 10).try_acquire(Request::cost(1)).unwrap().allowed());
    let next = local(&throttle, 10).try_acquire(Request::cost(1)).unwrap();
    assert!(next.retry_after.unwrap() > Micros(9 * 60_000_000), "{next:?}");
    let points = local(&Limit::points(100, MINUTE).unwrap(), 50);
    let never = points.try_acquire(Request::cost(60)).unwrap();
    assert_eq!(
        (never.status, never.degraded),
        (Status::Refused, true),
        "a cost that fits the whole limit is no wrong argument"
    );
}

#[test]
fn an_upstream_report_settles_a_locally_granted_permit() {
    let limiter = unreachable(Limit::points(1_000, MINUTE).unwrap(), OnUnavailable::Local { share_percent: 100 });
    let permit = limiter.try_acquire(Request::estimate(400)).unwrap().permit.unwrap();
    let report = UpstreamReport { permit: Some(&permit), actual: Some(Cost::Units(100)), ..UpstreamReport::default() };
    assert_eq!(
        limiter.apply_report(report).unwrap_err().kind(),
        ErrorKind::Unavailable,
        "the report does not reach the store"
    );
    assert!(limiter.peek(Request::cost(0)).unwrap().remaining >= Some(900));
    assert_eq!(limiter.correct(&permit, 100).unwrap(), Settlement::Already);
}

#[test]
fn local_leases_are_known_by_the_callers_id() {
    let limiter = unreachable(Limit::concurrency(2, MINUTE).unwrap(), OnUnavailable::Local { share_percent: 100 });
    for id in ["job".to_owned(), "x".repeat(64)] {
        let permits: Vec<_> =
            (0..3).map(|_| limiter.acquire_with_id(Request::cost(1), &id, None).unwrap().permit).collect();
        assert!(permits[0].is_some() && permits.iter().all(|permit| *permit == permits[0]), "{permits:?}");
    }
    assert_eq!(limiter.acquire_with_id(Request::cost(1), "~job", None).unwrap_err().argument(), Some("id"));
}

#[test]
fn a_failed_store_is_tried_once_a_second_and_used_when_it_returns() {
    let switch = Switch::open();
    let store = Paddlegate::open(&switch.url, Some(Duration::from_secs(30))).expect("a store");
    let limiter = store.window(&unique("switch"), 1_000_000.min(paddlegate::MAX_WINDOW), MINUTE).expect("a limiter");
    let limiter = limiter.with_on_unavailable(OnUnavailable::FailOpen);
    let is_degraded = || limiter.try_acquire(Request::cost(1)).expect("a decision").degraded;
    assert!(!is_degraded());

    switch.is_off.store(true, Ordering::SeqCst);
    (0..5).for_each(|_| assert!(is_degraded()));
    let (connections, started) = (switch.connections.load(Ordering::SeqCst), Instant::now());
    (0..200).for_each(|_| assert!(is_degraded()));
    let more = switch.connections.load(Ordering::SeqCst) - connections;
    assert!(more <= 2 + 2 * usize::try_from(started.elapsed().as_secs()).unwrap(), "{more} more connections");

    switch.is_off.store(false, Ordering::SeqCst);
    let until = Instant::now() + Duration::from_secs(20);
    while is_degraded() {
        assert!(Instant::now() < until, "the store is back and not used");
        thread::sleep(Duration::from_millis(50));
    }
    (0..20).for_each(|_| assert!(!is_degraded()));
}

/// Returns a limiter that decides locally once the switch is off.
fn limiter_behind(switch: &Switch, limits: impl IntoIterator<Item = Limit>, share: u8) -> Limiter {
    let store = Paddlegate::open(&switch.url, Some(Duration::from_secs(30))).expect("a store");
    let limiter = store.limiter(&unique("alone"), Policy::new(limits).expect("a policy")).expect("a limiter");
    limiter.with_on_unavailable(OnUnavailable::Local { share_percent: share })
}

/// Returns how many of ten calls this process grants locally.
fn local_grants(limiter: &Limiter) -> usize {
    let decisions = (0..10).map(|_| limiter.try_acquire(Request::cost(1)).expect("a decision"));
    decisions.inspect(|decision| assert!(decision.degraded)).filter(paddlegate::Decision::allowed).count()
}

#[test]
fn local_continues_from_the_last_remaining_units_of_the_store() {
    let hour = Duration::from_secs(3_600);
    let kinds: [fn(u64, Duration) -> paddlegate::Result<Limit>; 5] =
        [Limit::window, Limit::bucket, Limit::leaky, Limit::points, Limit::concurrency];
    for (kind, make) in kinds.into_iter().enumerate() {
        for (taken, share, left) in [(0, 100, 5), (1, 100, 4), (3, 100, 2), (5, 100, 0), (1, 60, 3), (4, 60, 1)] {
            let switch = Switch::open();
            let limiter = limiter_behind(&switch, [make(5, hour).unwrap()], share);
            assert!(!limiter.peek(Request::cost(0)).unwrap().degraded);
            for _ in 0..taken {
                assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed());
            }
            switch.is_off.store(true, Ordering::SeqCst);
            assert_eq!(local_grants(&limiter), left, "kind {kind}, {taken} taken, share {share}");
        }
    }
    let switch = Switch::open();
    let throttle = limiter_behind(&switch, [Limit::throttle(hour).unwrap()], 100);
    assert!(throttle.try_acquire(Request::cost(1)).unwrap().allowed());
    switch.is_off.store(true, Ordering::SeqCst);
    assert_eq!(local_grants(&throttle), 0);
}

#[test]
fn local_continues_from_the_reported_limit_and_starts_the_others_full() {
    let hour = Duration::from_secs(3_600);
    let short_throttle = Limit::throttle(Duration::from_micros(1)).unwrap();
    let switch = Switch::open();
    let full = limiter_behind(&switch, [Limit::concurrency(5, hour).unwrap(), short_throttle], 100);
    (0..5).for_each(|_| assert!(full.try_acquire(Request::cost(1)).unwrap().allowed()));
    assert_eq!(full.try_acquire(Request::cost(1)).unwrap().reason, Some(Reason::Limit(Kind::Concurrency)));
    let idle = limiter_behind(&switch, [Limit::concurrency(1, hour).unwrap(), Limit::throttle(hour).unwrap()], 100);
    let permit = idle.try_acquire(Request::cost(1)).unwrap().permit.unwrap();
    idle.release(&permit).unwrap();
    assert_eq!(idle.try_acquire(Request::cost(1)).unwrap().reason, Some(Reason::Limit(Kind::Throttle)));

    switch.is_off.store(true, Ordering::SeqCst);
    assert_eq!(local_grants(&full), 0, "the throttle does not free the held leases");
    let decision = idle.try_acquire(Request::cost(1)).unwrap();
    assert_eq!(
        (decision.degraded, decision.reason),
        (true, Some(Reason::Limit(Kind::Throttle))),
        "no caller holds the lease"
    );
}

#[test]
fn a_degraded_refusal_of_a_throttle_has_the_limit_of_any_other() {
    let switch = Switch::open();
    let throttle = Limit::throttle_rate(3, Duration::from_secs(1)).unwrap();
    let limiter = limiter_behind(&switch, [throttle], 1).with_on_unavailable(OnUnavailable::FailClosed);
    assert_eq!(limiter.try_acquire(Request::cost(1)).unwrap().limit, Some(1));
    switch.is_off.store(true, Ordering::SeqCst);
    let refused = limiter.try_acquire(Request::cost(1)).unwrap();
    assert_eq!((refused.degraded, refused.allowed(), refused.limit), (true, false, Some(1)));
}

#[test]
fn ids_of_callers_do_not_collide_with_seeded_local_state() {
    let switch = Switch::open();
    let limiter = limiter_behind(&switch, [Limit::concurrency(5, MINUTE).unwrap()], 100);
    (0..4).for_each(|_| assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed()));
    switch.is_off.store(true, Ordering::SeqCst);
    let ids = (0..5).flat_map(|n| [format!("known-{n}"), format!("{n:x}").repeat(64)]);
    let granted = ids.filter(|id| limiter.acquire_with_id(Request::cost(1), id, None).expect("a decision").allowed());
    assert_eq!(granted.count(), 1, "the store had one lease left");
}

#[test]
fn a_known_pause_holds_while_the_store_is_unavailable() {
    let switch = Switch::open();
    let limiter = limiter_behind(&switch, [Limit::window(5, MINUTE).unwrap()], 100);
    limiter.admin(AdminCommand::Pause(Deadline::After(Micros(3_600_000_000)))).unwrap();
    assert_eq!(limiter.try_acquire(Request::cost(1)).unwrap().reason, Some(Reason::Paused));
    switch.is_off.store(true, Ordering::SeqCst);
    let decision = limiter.try_acquire(Request::cost(1)).unwrap();
    assert_eq!((decision.degraded, decision.reason), (true, Some(Reason::Paused)));
    assert!(decision.retry_after > Some(Micros(3_500_000_000)), "{decision:?}");
}

#[test]
fn each_outage_continues_from_the_state_at_its_beginning() {
    let switch = Switch::open();
    let limiter = limiter_behind(&switch, [Limit::window(5, MINUTE).unwrap()], 100);
    assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed());
    switch.is_off.store(true, Ordering::SeqCst);
    assert!(limiter.try_acquire(Request::cost(1)).unwrap().degraded);
    switch.is_off.store(false, Ordering::SeqCst);
    let until = Instant::now() + Duration::from_secs(20);
    while limiter.peek(Request::cost(0)).unwrap().degraded {
        assert!(Instant::now() < until, "the store is back and not used");
    }
    assert!(!limiter.try_acquire(Request::cost(2)).unwrap().degraded);
    switch.is_off.store(true, Ordering::SeqCst);
    assert_eq!(local_grants(&limiter), 2, "three of five units are taken in the store");
}

/// Returns granted, refused, degraded and errors, as another process reads them.
fn counted_elsewhere(limiter: &Limiter) -> [u64; 4] {
    let store = support::redis();
    let other = store.limiter(limiter.name(), limiter.policy().clone()).expect("a limiter");
    let other = if limiter.is_keyed() { other.keyed().expect("one limiter") } else { other };
    let found = other.statistics().expect("statistics");
    assert_eq!(found.last_degraded.is_some(), found.degraded > 0);
    assert_eq!(other.history().expect("a history").last_degraded, found.last_degraded);
    [found.granted, found.refused, found.degraded, found.errors]
}

#[test]
fn calls_that_the_store_did_not_decide_are_counted_once_and_sent_when_it_answers() {
    // The sizes of the outages and of the times between them.
    let seed = std::process::id();
    println!("seed={seed}");
    let modes = [
        OnUnavailable::Raise,
        OnUnavailable::FailOpen,
        OnUnavailable::FailClosed,
        OnUnavailable::Local { share_percent: 50 },
    ];
    for (mode, is_keyed) in modes.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
        let switch = Switch::open();
        let store = Paddlegate::open(&switch.url, Some(Duration::from_secs(30))).expect("a store");
        let limiter = store.bucket(&unique("undecided"), 9, Duration::from_secs(30 * 86_400)).expect("a limiter");
        let limiter = if is_keyed { limiter.keyed().expect("one limiter") } else { limiter };
        let limiter = limiter.with_on_unavailable(mode);
        let one = if is_keyed { limiter.with_key("ada").expect("a key") } else { limiter.clone() };
        let (mut random, mut expected) = (seed, [0; 4]);
        for outage in 0..3 {
            random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let sizes = [(random >> 16) & 15, (random >> 24) & 15];
            let mut call = || {
                let at = match one.try_acquire(Request::cost(1)) {
                    Ok(decision) if decision.degraded => 2,
                    Ok(decision) => usize::from(!decision.allowed()),
                    Err(error) => {
                        assert_eq!((error.kind(), mode), (ErrorKind::Unavailable, OnUnavailable::Raise));
                        3
                    }
                };
                expected[at] += 1;
                at
            };
            for _ in 0..sizes[0] {
                call();
            }
            // It takes all counts along. The first call of the outage would lose what it took along: its answer is lost.
            limiter.statistics().expect("statistics");
            switch.is_off.store(true, Ordering::SeqCst);
            (0..=sizes[1]).for_each(|_| assert!(call() >= 2, "outage {outage}"));
            // Looks are no calls.
            assert!(one.peek(Request::cost(1)).map_or(true, |decision| decision.degraded));
            switch.is_off.store(false, Ordering::SeqCst);
            let until = Instant::now() + Duration::from_secs(30);
            while call() >= 2 {
                assert!(Instant::now() < until, "the store is back and not used");
                thread::sleep(Duration::from_millis(50));
            }
        }
        // A call takes along what was counted more than a second ago, and another one after a second what did not arrive.
        let until = Instant::now() + Duration::from_secs(30);
        while counted_elsewhere(&limiter) != expected && Instant::now() < until {
            thread::sleep(Duration::from_millis(200));
            drop(one.peek(Request::cost(1)));
        }
        assert_eq!(counted_elsewhere(&limiter), expected, "{mode:?} keyed={is_keyed} seed={seed}");
        let own = limiter.statistics().expect("statistics");
        assert_eq!([own.granted, own.refused, own.degraded, own.errors], expected, "its own");
    }
}

#[test]
fn of_several_limiters_each_counts_a_call_that_the_store_did_not_decide() {
    let switch = Switch::open();
    let store = Paddlegate::open(&switch.url, Some(Duration::from_secs(30))).expect("a store");
    let limiters = [unique("both"), unique("both")].map(|name| {
        let limiter = store.window(&name, 100, MINUTE).expect("a limiter").with_group("acme").expect("a group");
        limiter.with_on_unavailable(OnUnavailable::FailOpen)
    });
    let both = store.together(&[&limiters[0], &limiters[1]]).expect("two limiters");
    assert!(!both.try_acquire(Request::cost(1)).expect("a decision").degraded);
    switch.is_off.store(true, Ordering::SeqCst);
    for _ in 0..7 {
        assert!(both.try_acquire(Request::cost(1)).expect("a decision").degraded);
    }
    limiters[0].debit(1).expect_err("a debit is not decided without the store");
    switch.is_off.store(false, Ordering::SeqCst);
    let until = Instant::now() + Duration::from_secs(30);
    while limiters[0].peek(Request::cost(1)).map_or(true, |decision| decision.degraded) {
        assert!(Instant::now() < until, "the store is back and not used");
        thread::sleep(Duration::from_millis(50));
    }
    let counts = limiters.each_ref().map(|limiter| {
        let found = limiter.statistics().expect("statistics");
        (found.granted, found.degraded, found.errors)
    });
    assert_eq!(counts, [(1, 7, 1), (1, 7, 0)]);
    limiters[0].reset().expect("a reset");
    assert_eq!(limiters[0].statistics().expect("statistics").degraded, 0);
}

/// A proxy to the test server that a test can switch off.
struct Switch {
    url: String,
    is_off: Arc<AtomicBool>,
    /// The number of connections that the switch has accepted.
    connections: Arc<AtomicUsize>,
}

impl Switch {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("redis://{}", listener.local_addr().expect("an address"));
        let server = test_url().trim_start_matches("redis://").trim_end_matches('/').to_owned();
        let (is_off, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (state, count) = (is_off.clone(), connections.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                if state.load(Ordering::SeqCst) {
                    continue;
                }
                let server = TcpStream::connect(&server).expect("the server of the tests");
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().expect("a stream"), to.try_clone().expect("a stream"));
                    let state = state.clone();
                    thread::spawn(move || copy_bytes(from, to, &state));
                }
            }
        });
        Self { url, is_off, connections }
    }
}

/// Copies bytes until the switch is off.
fn copy_bytes(mut from: TcpStream, mut to: TcpStream, is_off: &AtomicBool) {
    let mut buffer = [0; 4_096];
    while let Ok(size @ 1..) = io::Read::read(&mut from, &mut buffer) {
        if is_off.load(Ordering::SeqCst) || io::Write::write_all(&mut to, &buffer[..size]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}
