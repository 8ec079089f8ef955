//! Crowds of callers with ids: random ones by seed, and cases that random ones rarely contain.

use paddlegate::Kind;

use crate::check::value;
use crate::orders;
use crate::support::crowd::{Crowd, Ear, Step, Waiting, crowd, ordered_crowd};
use crate::support::script::Spec;

/// Each of these seeds is the first to detect some mutant.
pub const CHOSEN: &[u64] = &[
    4, 5, 6, 7, 8, 9, 10, 11, 15, 20, 22, 23, 33, 38, 47, 59, 70, 77, 84, 103, 107, 114, 117, 129, 148, 167, 177, 202,
    213, 223, 230, 199, 151,
];

const KINDS: [&[Kind]; 6] = [
    &[Kind::Concurrency],
    &[Kind::Leaky],
    &[Kind::Bucket],
    &[Kind::Window],
    &[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky],
    &[Kind::Points, Kind::Bucket],
];

pub fn random(seed: u64) -> Crowd {
    let [kinds, is_ordered] = [seed % 6, seed / 6 % 2];
    let kinds = KINDS[usize::try_from(kinds).expect("a few")];
    if is_ordered == 0 { value(&crowd(kinds, 50), seed) } else { value(&ordered_crowd(kinds, 50), seed) }
}

/// Returns cases that random crowds rarely contain.
pub fn rare() -> Vec<Crowd> {
    [called(), leases(), rates(), orders::orders(), orders::reports()].concat()
}

/// A waiter that returns with its previous ticket number.
const BACK: Waiting = Waiting { patience: 1_000_000_000, grace: 1, ear: Ear::None, place: 1 };

pub fn limit(kind: Kind, amount: u64, seconds: u64) -> Spec {
    Spec { kind, amount, interval: seconds * 1_000_000, offset: 0 }
}

pub fn take(who: usize, units: u64) -> Step {
    Step::Enter { who, units, estimate: true, wait: None }
}

pub fn wait(who: usize, units: u64, grace: u64, ear: Ear) -> Step {
    let waiting = Waiting { patience: 1_000_000_000, grace, ear, place: 0 };
    Step::Enter { who, units, estimate: false, wait: Some(waiting) }
}

fn release(who: usize) -> Step {
    Step::Release { who }
}

/// Returns cases that decide which waiters get a wake-up.
fn called() -> Vec<Crowd> {
    vec![
        // One that is deaf stands before one that is not, and both may pass sooner than they know.
        Crowd {
            limits: vec![limit(Kind::Leaky, 2, 6)],
            steps: vec![
                take(0, 2),
                wait(1, 2, 1, Ear::Lost),
                wait(2, 2, 1, Ear::Open),
                Step::Correct { who: 0, actual: 1 },
            ],
        },
        // A queue that is left is no queue, also for a look that does not see it.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 60_000_000, Ear::Open),
                Step::Cancel { who: 1, gave_up: false },
                release(0),
                Step::Peek { units: 1 },
            ],
        },
        // One that asks behind another, when both may pass, is not called itself.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 2_000_000, Ear::Open),
                wait(2, 1, 2_000_000, Ear::Open),
                Step::Resize(3),
                wait(2, 1, 2_000_000, Ear::Open),
            ],
        },
        // The limit was raised, and the first that asks calls the next.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 2_000_000, Ear::Open),
                wait(2, 1, 2_000_000, Ear::Open),
                Step::Resize(3),
                wait(1, 1, 2_000_000, Ear::Open),
            ],
        },
        // A waiter without patience, and one that has lapsed and comes back.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                Step::Enter { who: 5, units: 1, estimate: false, wait: Some(Waiting { patience: 0, ..BACK }) },
                wait(1, 1, 1, Ear::None),
                wait(2, 1, 30_000_000, Ear::None),
                Step::Later(5_000_001),
                Step::Cancel { who: 0, gave_up: false },
                Step::Enter { who: 1, units: 1, estimate: false, wait: Some(BACK) },
            ],
        },
    ]
}

/// Returns cases of the end of leases.
fn leases() -> Vec<Crowd> {
    vec![
        // Two are called, and the first of them has less time.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 2, 30)],
            steps: vec![
                take(0, 1),
                take(1, 1),
                wait(2, 1, 500_000, Ear::Open),
                wait(3, 1, 2_000_000, Ear::Open),
                wait(4, 1, 2_000_000, Ear::Open),
                release(0),
                release(1),
            ],
        },
        // At the very end of a lease: renewed, taken over, and released.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), Step::Later(30_000_000), Step::Renew { who: 0 }, take(1, 1), release(0)],
        },
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), Step::Later(30_000_000), take(0, 1)],
        },
        // A lease that ended, and another of the same id.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                Step::Later(30_000_000),
                take(0, 1),
                Step::RenewOld { who: 0 },
                Step::ReleaseOld { who: 0 },
                take(1, 1),
            ],
        },
        // A look at leases behind a queue that has lapsed.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), wait(1, 1, 1, Ear::None), Step::Later(31_000_000), Step::Peek { units: 1 }],
        },
        // A larger limit, which a newcomer tells those who wait of.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), wait(1, 1, 1, Ear::Open), Step::Resize(2), take(2, 1)],
        },
        // A renewed lease does not expire at its first deadline.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                Step::Later(20_000_000),
                Step::Renew { who: 0 },
                Step::Later(20_000_000),
                take(1, 1),
                release(0),
            ],
        },
        // A rate that is longer than a waiter for a lease sleeps.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30), limit(Kind::Window, 1, 10)],
            steps: vec![take(0, 1), wait(1, 1, 1, Ear::None)],
        },
    ]
}

/// What stands before a place where units are waited for.
fn rates() -> Vec<Crowd> {
    vec![
        // Costs before others, where there is something left, and a queue that has lapsed.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 1, Ear::None),
                wait(2, 1, 1, Ear::None),
                wait(2, 1, 1, Ear::None),
                Step::Cancel { who: 1, gave_up: false },
                Step::Cancel { who: 2, gave_up: false },
                wait(3, 4, 1, Ear::None),
                Step::Later(30_000_000),
                wait(4, 2, 1, Ear::None),
                Step::Acquire { units: 1 },
                Step::Later(31_000_000),
                Step::Acquire { units: 1 },
            ],
        },
        // The first of several costs leaves the queue.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 30)],
            steps: vec![
                take(0, 4),
                wait(1, 2, 1, Ear::None),
                wait(2, 2, 1, Ear::None),
                wait(3, 1, 1, Ear::None),
                wait(4, 4, 1, Ear::None),
                Step::Cancel { who: 1, gave_up: false },
                wait(3, 1, 1, Ear::None),
            ],
        },
        // A newcomer passes, as all before it can pass too, and another does not.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 60_000_000, Ear::None),
                Step::Later(20_000_000),
                Step::Acquire { units: 1 },
                Step::Acquire { units: 1 },
            ],
        },
        // One leaves the middle of a queue of single units.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 30)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 1, Ear::None),
                wait(2, 1, 1, Ear::None),
                wait(3, 1, 1, Ear::None),
                wait(4, 1, 1, Ear::None),
                Step::Cancel { who: 2, gave_up: false },
                wait(3, 1, 1, Ear::None),
            ],
        },
        // One comes back to the head of a queue that has moved on.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 30)],
            steps: vec![
                take(0, 4),
                wait(1, 2, 60_000_000, Ear::None),
                wait(2, 2, 60_000_000, Ear::None),
                wait(3, 1, 60_000_000, Ear::None),
                Step::Cancel { who: 1, gave_up: false },
                Step::Enter { who: 1, units: 2, estimate: false, wait: Some(BACK) },
                wait(3, 1, 60_000_000, Ear::None),
            ],
        },
    ]
}
