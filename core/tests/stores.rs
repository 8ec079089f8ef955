//! The same scenarios on both stores.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use paddlegate::{ErrorKind, Limit, Limiter, MAX_PERMITS, Micros, Paddlegate, Policy, Request, Settlement};
use support::names::names;
use support::{correct, redis, unique};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const NOW: u64 = 1_700_000_000_000_000;

macro_rules! on_both_stores {
    ($($scenario:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $scenario() { super::$scenario(&paddlegate::Paddlegate::memory()); })*
        }

        mod redis {
            $(#[test] fn $scenario() { super::$scenario(&super::redis()); })*
        }
    };
}

on_both_stores![
    names_that_look_alike_are_different_limiters,
    one_name_is_one_limiter,
    the_stores_own_clock_is_used,
    threads_take_no_more_than_the_limit,
    a_permit_is_settled_once_by_whoever_comes_first,
    old_permits_are_forgotten_beyond_ten_thousand,
    permits_end_after_five_minutes,
];

fn names_that_look_alike_are_different_limiters(store: &Paddlegate) {
    let prefix = unique("name");
    let limiters: Vec<Limiter> =
        names().iter().map(|name| store.window(&format!("{prefix}{name}"), 1, DAY).expect("a limiter")).collect();
    for limiter in &limiters {
        assert!(take(limiter).allowed(), "{:?} was taken by another", limiter.name());
    }
    for limiter in &limiters {
        assert!(!take(limiter).allowed(), "{:?} is not itself", limiter.name());
    }
    limiters[0].reset().expect("a reset");
    let free: Vec<&str> = limiters.iter().filter(|limiter| take(limiter).allowed()).map(Limiter::name).collect();
    assert_eq!(free, [limiters[0].name()], "reset by the name of another");
}

fn one_name_is_one_limiter(store: &Paddlegate) {
    let name = unique("one");
    let policy = || Policy::new([Limit::window(5, DAY)?, Limit::leaky(5, DAY)?, Limit::bucket(5, DAY)?]);
    let made: Vec<Limiter> =
        (0..3).map(|_| store.limiter(&name, policy().expect("a policy")).expect("a limiter")).collect();
    for (i, limiter) in made.iter().cycle().take(5).enumerate() {
        assert_eq!(take(limiter).remaining, Some(4 - i as u64));
    }
    assert!(made.iter().all(|limiter| !take(limiter).allowed()));
    made[1].reset().expect("a reset");
    assert_eq!(take(&made[2]).remaining, Some(4));
}

fn the_stores_own_clock_is_used(store: &Paddlegate) {
    let limiter = store.leaky(&unique("clock"), 5, DAY).expect("a limiter");
    let first = limiter.acquire(Request::default()).expect("a decision").at;
    let second = limiter.peek(Request::default()).expect("a look").at;
    // Later than this test was written, earlier than the end of time, and running.
    assert!(first > Micros(1_760_000_000_000_000) && first < paddlegate::MAX_TIME, "{first:?}");
    assert!(second >= first && second.0 - first.0 < 60_000_000, "{first:?} then {second:?}");
    let throttle = store.throttle(&unique("clock"), Duration::from_millis(1)).expect("a limiter");
    let mut starts = Vec::new();
    while starts.len() < 5 {
        let decision = throttle.acquire(Request::default()).expect("a decision");
        if decision.allowed() {
            starts.push(decision.at.0);
        }
    }
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 1_000), "{starts:?}");
}

fn threads_take_no_more_than_the_limit(store: &Paddlegate) {
    let name = unique("threads");
    let policy = || {
        Policy::new([
            Limit::window(300, DAY)?,
            Limit::leaky(400, DAY)?,
            Limit::points(2_000, DAY)?,
            Limit::bucket(500, DAY)?,
        ])
    };
    let granted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let limiter = store.limiter(&name, policy().expect("a policy")).expect("a limiter");
                for _ in 0..100 {
                    let decision = limiter.acquire(Request::estimate(1).at(Micros(NOW))).expect("a decision");
                    granted.fetch_add(usize::from(decision.allowed()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 300);
}

fn a_permit_is_settled_once_by_whoever_comes_first(store: &Paddlegate) {
    let name = unique("permit");
    let limiter = || store.points(&name, 1_000, DAY).expect("a limiter");
    let permit =
        limiter().acquire(Request::estimate(600).at(Micros(NOW))).expect("a decision").permit.expect("a permit");
    let settled = AtomicUsize::new(0);
    thread::scope(|scope| {
        for actual in 0..8 {
            let (permit, settled, limiter) = (&permit, &settled, limiter());
            scope.spawn(move || match correct(&limiter, permit, actual, NOW) {
                Settlement::Settled => drop(settled.fetch_add(1, Ordering::Relaxed)),
                other => assert_eq!(other, Settlement::Already),
            });
        }
    });
    assert_eq!(settled.into_inner(), 1);
    assert!(look(&limiter(), NOW).remaining >= Some(993));
}

fn old_permits_are_forgotten_beyond_ten_thousand(store: &Paddlegate) {
    let limiter = store.points(&unique("many"), 1_000_000, DAY).expect("a limiter");
    let many = MAX_PERMITS + 500;
    let permits: Vec<String> = (0..many as u64)
        .map(|i| {
            let request = Request::estimate(1).at(Micros(NOW + i * 1_000));
            limiter.acquire(request).expect("a decision").permit.expect("a permit")
        })
        .collect();
    let end = NOW + many as u64 * 1_000;
    assert_eq!(correct(&limiter, &permits[0], 0, end), Settlement::Unknown);
    assert_eq!(correct(&limiter, &permits[many - 1], 0, end), Settlement::Settled);
    let known = permits.iter().filter(|id| correct(&limiter, id, 1, end) != Settlement::Unknown).count();
    // It is cut once per second, and ten seconds are a thousand permits each.
    assert!((MAX_PERMITS..MAX_PERMITS + 1_000).contains(&known), "{known}");
}

fn permits_end_after_five_minutes(store: &Paddlegate) {
    let limiter = store.points(&unique("five"), 1_000, DAY).expect("a limiter");
    let ask =
        |at: u64| limiter.acquire(Request::estimate(1).at(Micros(at))).expect("a decision").permit.expect("a permit");
    let (first, second) = (ask(NOW), ask(NOW + 1));
    assert_eq!(correct(&limiter, &first, 0, NOW + 300_000_000), Settlement::Late);
    assert_eq!(correct(&limiter, &second, 0, NOW + 300_000_000), Settlement::Settled);
    let third = ask(NOW + 700_000_000);
    assert_eq!(correct(&limiter, &second, 0, NOW + 700_000_000), Settlement::Late);
    assert_eq!(correct(&limiter, &third, 0, NOW), Settlement::Settled, "a clock that ran backwards");
}

fn take(limiter: &Limiter) -> paddlegate::Decision {
    limiter.acquire(Request::cost(1).at(Micros(NOW))).expect("a decision")
}

fn look(limiter: &Limiter, at: u64) -> paddlegate::Decision {
    limiter.peek(Request::cost(0).at(Micros(at))).expect("a look")
}

#[test]
fn making_a_limiter_asks_no_server() {
    let store = Paddlegate::open("redis://127.0.0.1:1/3", None).expect("a store");
    let limiter = store.leaky("nowhere", 1, DAY).expect("a limiter");
    assert_eq!(limiter.name(), "nowhere");
    for without_state in [store.unlimited("nowhere"), store.paused("nowhere")] {
        without_state.expect("a limiter").acquire(Request::default()).expect("SK-T28: no server is asked");
    }
    assert!(limiter.acquire(Request::default()).is_err());
}

#[test]
fn a_closed_store_has_no_connections_and_says_so() {
    let pg = support::redis();
    let limiter = pg.bucket(&unique("closed"), 5, HOUR).unwrap();
    limiter.acquire(Request::cost(1)).unwrap();
    pg.close();
    pg.close();
    for error in [
        limiter.acquire(Request::cost(1)).unwrap_err(),
        limiter.acquire_within(Request::cost(1), HOUR).unwrap_err(),
        limiter.listen().err().expect("a closed store"),
        pg.limiters().unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("store")));
    }
    let memory = Paddlegate::memory();
    memory.close();
    assert!(memory.bucket("open", 5, HOUR).unwrap().acquire(Request::cost(1)).unwrap().allowed());
}

#[test]
fn closing_a_store_ends_its_waits() {
    let pg = support::redis();
    let limiter = pg.concurrent(&unique("closed-wait"), 1, HOUR).unwrap();
    limiter.acquire(Request::default()).unwrap();
    std::thread::scope(|scope| {
        let waits = [(); 3].map(|()| scope.spawn(|| limiter.acquire_within(Request::default(), HOUR)));
        while limiter.statistics().unwrap().tickets < 3 {
            std::thread::yield_now();
        }
        pg.close();
        for wait in waits {
            assert_eq!(wait.join().unwrap().unwrap_err().argument(), Some("store"));
        }
    });
}

#[test]
fn allow_is_refused_where_a_lease_would_be_lost() {
    let pg = Paddlegate::memory();
    assert!(pg.bucket("plain", 5, HOUR).unwrap().check_allow().is_ok());
    let error = pg.concurrent("leases", 5, HOUR).unwrap().check_allow().unwrap_err();
    assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("allow")));
}
