//! Measures the verbs on the memory store, where a slow call delays only the other calls of its limiter.
//! Only the wall clock can measure them, so the test compares times with each other:
//! a state a hundred times as large may take twenty times as long.

use std::time::Instant;

use paddlegate::{Limiter, Paddlegate, Request};

use crate::cases;
use crate::states::{NOW, wait};
use crate::support::calls::{acquire, enter};
use crate::support::{memory_with_clock, set_clock};
use crate::{Bound, Case, HOUR, LARGE, RUNS, Run};

const FACTOR: u128 = 20;
/// Growth from below this, in microseconds, is noise.
const NOISE: u128 = 25;

type Build = fn(&Paddlegate, u64) -> Limiter;

#[test]
fn no_call_in_memory_grows_with_what_it_does_not_touch() {
    let states: [(Build, Vec<Case>); 6] = [
        (leases, cases::leases()),
        (queue, cases::queue()),
        (leases_and_queue, cases::leases_and_queue()),
        (meter_and_queue, cases::meter_and_queue()),
        (window, cases::window()),
        (permits, cases::permits()),
    ];
    let mut grown = Vec::new();
    println!("times in memory in microseconds\n{:<52} {:>8} {:>8}", "verb", "small", "large");
    for (build, cases_of_state) in states {
        let [small, large] = [1_000, LARGE].map(|size| {
            let store = memory_with_clock();
            let limiter = build(&store, size);
            cases_of_state.iter().map(|case| fastest(case, &store, &limiter, size)).collect::<Vec<_>>()
        });
        for ((case, small), large) in cases_of_state.iter().zip(small).zip(large) {
            println!("{:<52} {small:>8} {large:>8}", case.verb);
            if large > FACTOR * small.max(NOISE) && case.bound == Bound::Constant {
                grown.push(format!("{}: {small} to {large} us", case.verb));
            }
        }
    }
    assert!(grown.is_empty(), "{}", grown.join("\n"));
}

#[allow(clippy::disallowed_methods)]
fn fastest(case: &Case, store: &Paddlegate, limiter: &Limiter, size: u64) -> u128 {
    let times = (0..RUNS).map(|number| {
        let run = Run { store, limiter, size, number };
        (case.before)(&run);
        let started = Instant::now();
        (case.run)(&run);
        started.elapsed().as_micros()
    });
    times.min().expect("runs")
}

fn leases(store: &Paddlegate, size: u64) -> Limiter {
    let limiter = store.concurrent("times", LARGE, HOUR).expect("a limiter");
    for number in 1..=size - 100 {
        enter(&limiter, &format!("lease{number}"), 1, None, NOW - 1);
    }
    enter(&limiter, "first", 1, None, NOW);
    limiter
}

fn queue(store: &Paddlegate, size: u64) -> Limiter {
    let limiter = store.concurrent("times", 1, HOUR).expect("a limiter");
    enter(&limiter, "first", 1, None, NOW);
    fill_queue(&limiter, size);
    limiter
}

fn leases_and_queue(store: &Paddlegate, size: u64) -> Limiter {
    let limiter = store.concurrent("times", size - 100, HOUR).expect("a limiter");
    for number in 1..size - 100 {
        enter(&limiter, &format!("lease{number}"), 1, None, NOW - 1);
    }
    enter(&limiter, "first", 1, None, NOW);
    fill_queue(&limiter, size);
    limiter
}

fn meter_and_queue(store: &Paddlegate, size: u64) -> Limiter {
    let limiter = store.leaky("times", 1, HOUR).expect("a limiter");
    acquire(&limiter, Request::cost(1), NOW);
    fill_queue(&limiter, size);
    limiter
}

fn fill_queue(limiter: &Limiter, size: u64) {
    enter(limiter, "head", 1, Some(wait()), NOW);
    for number in 1..size {
        enter(limiter, &format!("ticket{number}"), 1, Some(wait()), NOW);
    }
}

fn window(store: &Paddlegate, size: u64) -> Limiter {
    let limiter = store.window("times", size, HOUR).expect("a limiter");
    for at in NOW - (size - 100)..NOW {
        acquire(&limiter, Request::cost(1), at);
    }
    limiter
}

fn permits(store: &Paddlegate, size: u64) -> Limiter {
    let limiter = store.points("times", 1_000_000_000, HOUR).expect("a limiter");
    set_clock(NOW);
    for number in 1..=size {
        limiter.acquire_with_id(Request::estimate(10), &format!("{number:032}"), None).expect("a decision");
    }
    limiter
}
