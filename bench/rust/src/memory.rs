//! The memory store against `governor`, one hot key and many.

use std::collections::HashMap;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use paddlegate::{Limiter, Paddlegate, Request};

use crate::measure::{Unit, compare};

/// Nothing is refused: a refusal is less work.
const HUGE: u32 = 1_000_000_000;
const KEYS: usize = 100_000;

pub(crate) fn run() {
    let names: Vec<String> = (0..KEYS).map(|i| format!("user-{i}")).collect();
    let pg = Paddlegate::memory();
    let make = |name| pg.leaky(name, HUGE.into(), Duration::from_secs(1)).unwrap();
    let limiters: Vec<Limiter> = names.iter().map(|name| make(name)).collect();
    let by_name: HashMap<&String, Limiter> = names.iter().zip(limiters.iter().cloned()).collect();

    let unit = Unit::Nanoseconds;
    compare("rust memory", "one", unit, by_governor(&names[..1]), |calls| {
        (0..calls).for_each(|_| assert!(taken(&limiters[0])));
    });
    compare("rust memory", "many", unit, by_governor(&names), |calls| {
        turns(&limiters, calls).for_each(|limiter| assert!(taken(limiter)));
    });
    // As governor does it: from the name to the state.
    compare("rust memory", "many by name", unit, by_governor(&names), |calls| {
        turns(&names, calls).for_each(|name| assert!(taken(&by_name[name])));
    });
    let keyed = make("keyed").keyed().unwrap();
    compare("rust memory", "keyed", unit, by_governor(&names), |calls| {
        turns(&names, calls).for_each(|name| {
            assert!(black_box(keyed.allow_at_once_with_key(name, &Request::default())).unwrap());
        });
    });
}

fn by_governor(names: &[String]) -> impl FnMut(u32) {
    let quota = Quota::per_second(NonZeroU32::new(HUGE).unwrap());
    let limiter: DefaultKeyedRateLimiter<&String> = RateLimiter::keyed(quota);
    move |calls| turns(names, calls).for_each(|name| assert!(black_box(limiter.check_key(&name)).is_ok()))
}

fn taken(limiter: &Limiter) -> bool {
    black_box(limiter.allow(Request::default())).unwrap()
}

/// So many of the items, one after the other, again and again.
fn turns<T>(items: &[T], calls: u32) -> impl Iterator<Item = &T> {
    items.iter().cycle().take(calls as usize)
}
