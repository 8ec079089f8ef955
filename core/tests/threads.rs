//! Threads that share limits in memory take no more than one thread may.

#![allow(clippy::disallowed_methods)] // The memory store's own clock is tested.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use paddlegate::{Limiter, Paddlegate, Request};

const THREADS: usize = 8;
const PERIOD: Duration = Duration::from_millis(10);

/// Many threads call for a while; a limit of 100 in 10 ms may grant 100 at once, then one every 100 us.
fn is_within(make: impl FnOnce(&Paddlegate) -> Limiter, call: impl Fn(&Limiter) -> bool + Sync) {
    let limiter = make(&Paddlegate::memory());
    let (begun, at) = (Instant::now(), SystemTime::now());
    let granted: u64 = thread::scope(|scope| {
        let run = || {
            let mut granted = 0;
            while begun.elapsed() < Duration::from_millis(300) {
                granted += u64::from(call(&limiter));
            }
            granted
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // The second where somebody sets the clock forward meanwhile; a hundredth where it is being adjusted.
    let passed = begun.elapsed().max(at.elapsed().unwrap_or_default()).as_micros();
    let most = 100 + passed / 100 + passed / 10_000;
    assert!(u128::from(granted) <= most, "at most {most} in {passed} us, and {granted} were granted");
}

fn leaky(pg: &Paddlegate) -> Limiter {
    pg.leaky("api", 100, PERIOD).unwrap()
}

fn bucket(pg: &Paddlegate) -> Limiter {
    pg.bucket("api", 100, PERIOD).unwrap()
}

fn allows(limiter: &Limiter) -> bool {
    limiter.allow(Request::default()).unwrap()
}

fn is_granted(limiter: &Limiter) -> bool {
    limiter.try_acquire(Request::default().with_limits()).unwrap().allowed()
}

#[test]
fn plain_calls() {
    is_within(leaky, allows);
    is_within(bucket, allows);
}

#[test]
fn plain_calls_by_key() {
    let by_key = |limiter: &Limiter| limiter.allow_at_once_with_key("ada", &Request::default()) == Some(true);
    is_within(|pg| leaky(pg).keyed().unwrap(), by_key);
}

#[test]
fn calls_of_the_whole_engine() {
    is_within(leaky, is_granted);
    is_within(|pg| bucket(pg).keyed().unwrap().with_key("ada").unwrap(), is_granted);
}

#[test]
fn calls_with_a_permit() {
    let estimated = |limiter: &Limiter| limiter.try_acquire(Request::estimate(1)).unwrap().allowed();
    is_within(|pg| pg.points("api", 100, PERIOD).unwrap(), estimated);
}

#[test]
fn debits_between_calls() {
    // A debit of nothing takes nothing, and keeps the limiter's time.
    let calls = |limiter: &Limiter| limiter.debit(0).is_ok() && allows(limiter);
    is_within(leaky, calls);
}

#[test]
fn calls_of_several_limiters() {
    let together = |pg: &Paddlegate| {
        let loose = pg.leaky("loose", 100_000, PERIOD).unwrap();
        pg.together(&[&leaky(pg), &loose]).unwrap()
    };
    is_within(together, |limiter| limiter.try_acquire(Request::default()).unwrap().allowed());
}

#[test]
fn the_time_of_a_limiter_does_not_run_back_or_away_from_the_clock() {
    let clock = || u64::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
    let away_from_it = || {
        let limiter = Paddlegate::memory().leaky("api", 1_000_000_000, Duration::from_secs(1)).unwrap();
        let begun = Instant::now();
        let run = || {
            let (mut last, mut away) = (0, None);
            while begun.elapsed() < Duration::from_secs(2) {
                let before = clock();
                let at = limiter.try_acquire(Request::default()).unwrap().at.0;
                let after = clock();
                assert!(last <= at, "{last} {at}");
                if before > at + 20 || at > after + 20 {
                    away = Some((before, at, after));
                }
                last = at;
            }
            away
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            threads.into_iter().find_map(|thread| thread.join().unwrap())
        })
    };
    loop {
        let (begun, clock_begun) = (Instant::now(), clock());
        let away = away_from_it();
        let passed = u64::try_from(begun.elapsed().as_micros()).unwrap();
        if away.is_none() {
            return;
        }
        // Unless somebody has set the clock meanwhile.
        assert!(clock().saturating_sub(clock_begun).abs_diff(passed) > 20, "{away:?}");
    }
}
