//! Cases of admin commands and upstream reports that random crowds rarely contain.

use paddlegate::Kind;

use crate::crowds::{limit, take, wait};
use crate::support::crowd::{Crowd, Ear, Order, Step, Told};

/// Orders, and who has become too large.
pub fn orders() -> Vec<Crowd> {
    vec![
        // The versions of orders that have ended are forgotten.
        Crowd {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                Step::Order(Order::Pause(1)),
                Step::Order(Order::Pause(1)),
                Step::Order(Order::Pause(1)),
                Step::Later(1),
                Step::Order(Order::Pause(1_000_000)),
            ],
        },
        // What is in use has a state, or statistics alone.
        Crowd {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![Step::Order(Order::Look), Step::Order(Order::Pause(1)), Step::Order(Order::Look)],
        },
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![Step::Resize(0), take(0, 1), Step::Order(Order::Look)],
        },
        // An override ends exactly at its deadline, to the microsecond.
        Crowd {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                Step::Order(Order::Override(vec![4], Some(1_000_000))),
                Step::Later(1_000_000),
                Step::Acquire { units: 1 },
                Step::Order(Order::Look),
            ],
        },
        // The second limit is the one that became too small, also behind leases.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 30), limit(Kind::Bucket, 4, 30)],
            steps: vec![Step::Order(Order::Override(vec![0, 2], None)), Step::Acquire { units: 3 }],
        },
        Crowd {
            limits: vec![limit(Kind::Concurrency, 4, 30), limit(Kind::Leaky, 4, 30), limit(Kind::Bucket, 4, 30)],
            steps: vec![Step::Order(Order::Override(vec![0, 3, 0], None)), Step::Peek { units: 3 }],
        },
        // One that has become too large for a limit asks again.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 60_000_000, Ear::None),
                wait(2, 3, 60_000_000, Ear::None),
                Step::Order(Order::Override(vec![3], None)),
                wait(2, 3, 60_000_000, Ear::None),
            ],
        },
        // Nobody may be there for now; who waits keeps its place, and looks after a while.
        Crowd {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 60_000_000, Ear::None),
                Step::Resize(0),
                wait(1, 1, 60_000_000, Ear::None),
                wait(2, 1, 60_000_000, Ear::None),
                wait(1, 1, 60_000_000, Ear::None),
            ],
        },
        // A bucket ends where its upstream's does, whatever is told of its amount.
        Crowd {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                learn(None, Told { remaining: None, amount: None, reset: Some(5_000_000) }),
                Step::Order(Order::Override(vec![4], None)),
                Step::Acquire { units: 1 },
            ],
        },
    ]
}

fn learn(who: Option<usize>, told: Told) -> Step {
    Step::Learn { who, actual: None, budgets: vec![told], pause: None }
}

fn remaining(remaining: u64) -> Told {
    Told { remaining: Some(remaining), amount: None, reset: None }
}

/// Returns cases of upstream reports.
pub fn reports() -> Vec<Crowd> {
    vec![
        // What was learned outlives the memory of the report.
        Crowd {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                learn(None, Told { remaining: None, amount: Some(4), reset: None }),
                Step::Later(301_000_000),
                Step::Order(Order::Look),
                take(0, 1),
            ],
        },
        // Two reports of calls that were both made before either.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 300)],
            steps: vec![
                take(0, 1),
                Step::Later(1_000_000),
                take(1, 1),
                Step::Later(1_000_000),
                learn(Some(0), remaining(3)),
                learn(Some(1), remaining(1)),
            ],
        },
        // A report of a call of long ago.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 300)],
            steps: vec![take(0, 1), Step::Later(301_000_000), learn(Some(0), remaining(0)), Step::Acquire { units: 1 }],
        },
        // Another call came later, and was settled.
        Crowd {
            limits: vec![limit(Kind::Leaky, 4, 300)],
            steps: vec![
                take(0, 1),
                Step::Later(1_000_000),
                take(1, 1),
                Step::Correct { who: 1, actual: 1 },
                Step::Learn { who: Some(0), actual: Some(1), budgets: vec![remaining(4)], pause: None },
                Step::Peek { units: 1 },
            ],
        },
        // An interval that is shorter than its phase was.
        Crowd {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                learn(None, Told { remaining: None, amount: Some(5), reset: Some(1_000_000) }),
                learn(None, Told { remaining: None, amount: Some(3), reset: None }),
                take(0, 1),
                Step::Order(Order::Look),
            ],
        },
        // An interval that ends a second after ours has begun, and one that is over.
        Crowd {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                Step::Later(10_000_000),
                learn(None, Told { remaining: Some(1), amount: None, reset: Some(1_000_000) }),
                Step::Order(Order::Look),
                Step::Acquire { units: 1 },
            ],
        },
        Crowd {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                learn(None, Told { remaining: Some(0), amount: None, reset: Some(-1) }),
                Step::Acquire { units: 1 },
            ],
        },
        // An interval begins anew after something was taken.
        Crowd {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                take(0, 2),
                Step::Later(6_000_000),
                learn(None, Told { remaining: None, amount: None, reset: Some(27_000_000) }),
                Step::Acquire { units: 1 },
            ],
        },
    ]
}
