//! Cases of hosts that sleep until the turn of a job comes.

use paddlegate::Kind;

use crate::orders::{SECOND, enter, one_at_once, ordered};
use crate::support::sequence::Spec;
use crate::support::workload::{Channel, Step, WaitOptions, Workload};
use crate::workloads::{limit, release, take, wait};

fn queue(caller: usize) -> Step {
    wait(caller, 1, 60 * SECOND, Channel::None)
}

fn ask(host: u8, count: u64) -> Step {
    Step::Ready { count, host: Some((host, Channel::Subscribed)) }
}

fn gone(host: u8) -> Step {
    Step::Ready { count: 100, host: Some((host, Channel::Unsubscribed)) }
}

fn two() -> Vec<Spec> {
    vec![limit(Kind::Concurrency, 2, 30)]
}

fn last_eight() -> Workload {
    let mut steps = vec![take(0, 1), take(1, 1), queue(2), queue(3)];
    steps.extend((0..=8).map(|host| ask(host, 100)));
    steps.extend([release(0), release(1)]);
    Workload { limits: two(), steps }
}

/// Returns cases of who is on the list.
pub fn lists() -> Vec<Workload> {
    vec![
        // One of two is told of a turn, and is told no more before it asks again; one that asks twice is one.
        Workload {
            limits: two(),
            steps: vec![
                take(0, 1),
                take(1, 1),
                queue(2),
                queue(3),
                ask(1, 100),
                ask(2, 100),
                ask(2, 100),
                release(0),
                release(1),
                Step::Cancel { caller: 5, gave_up: false },
                ask(1, 100),
                Step::Cancel { caller: 5, gave_up: false },
            ],
        },
        // One that is gone is passed over, and so is one that has not asked for ten seconds.
        one_at_once(vec![
            take(0, 1),
            queue(1),
            gone(1),
            ask(2, 100),
            gone(3),
            release(0),
            Step::Cancel { caller: 5, gave_up: false },
            ask(2, 100),
            gone(1),
            Step::Advance(6 * SECOND),
            Step::Ready { count: 100, host: None },
            Step::Advance(5 * SECOND),
            queue(2),
            queue(3),
        ]),
        one_at_once(vec![
            take(0, 1),
            queue(1),
            ask(1, 100),
            Step::Advance(6 * SECOND),
            Step::Ready { count: 100, host: None },
            Step::Advance(4 * SECOND),
            release(0),
        ]),
        // One whose list is full does not sleep; one that gets less does.
        Workload {
            limits: two(),
            steps: vec![
                take(0, 1),
                take(1, 1),
                queue(2),
                queue(3),
                queue(4),
                ask(1, 1),
                release(0),
                ask(1, 1),
                release(1),
                ask(1, 1),
                ask(1, 1),
                queue(2),
                release(2),
            ],
        },
        last_eight(),
    ]
}

/// Returns cases of when a turn comes.
pub fn turns() -> Vec<Workload> {
    vec![
        // The first job that queues is told to one, and the time of the next turn; a call with a channel is not.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 4)],
            steps: vec![
                take(0, 2),
                ask(1, 100),
                ask(2, 100),
                queue(1),
                queue(2),
                queue(3),
                Step::Cancel { caller: 2, gave_up: false },
                ask(1, 100),
                ask(2, 100),
                Step::RetryAfter(0),
                ask(2, 1),
                ask(1, 100),
                Step::RetryAfter(0),
                ask(1, 100),
                Step::Cancel { caller: 3, gave_up: false },
                Step::Cancel { caller: 1, gave_up: false },
                take(4, 2),
                wait(5, 1, 60 * SECOND, Channel::Subscribed),
                Step::Cancel { caller: 2, gave_up: false },
                Step::Advance(60 * SECOND),
                ask(1, 100),
                take(0, 2),
                wait(1, 1, 60 * SECOND, Channel::Subscribed),
                wait(2, 1, 60 * SECOND, Channel::Subscribed),
                queue(3),
            ],
        },
        // A call comes itself when its turn has come without a message: the host is told of the one before it.
        Workload {
            limits: two(),
            steps: vec![
                take(0, 1),
                take(1, 1),
                ask(1, 100),
                ask(2, 100),
                ask(3, 100),
                queue(2),
                queue(3),
                Step::Advance(5 * SECOND),
                ask(1, 100),
                ask(2, 100),
                ask(3, 100),
                Step::Advance(5 * SECOND),
                ask(1, 100),
                ask(2, 100),
                ask(3, 100),
                Step::Advance(5 * SECOND),
                ask(1, 100),
                ask(2, 100),
                ask(3, 100),
                Step::Advance(5 * SECOND),
                ask(1, 100),
                ask(2, 100),
                ask(3, 100),
                Step::Advance(5 * SECOND),
                ask(1, 100),
                ask(2, 100),
                ask(3, 100),
                Step::Advance(5 * SECOND),
                queue(3),
            ],
        },
        // One that is gone makes no other wait.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 4)],
            steps: vec![
                take(0, 2),
                queue(1),
                queue(2),
                gone(1),
                Step::Advance(2 * SECOND),
                Step::Cancel { caller: 5, gave_up: false },
                ask(2, 100),
            ],
        },
        // A call before the jobs, whose turn a message tells, and a host that asks with another policy.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 4)],
            steps: vec![
                take(0, 2),
                wait(1, 2, 60 * SECOND, Channel::None),
                ask(1, 100),
                enter(2, WaitOptions { channel: Channel::Subscribed, ..ordered(9, 0) }),
                Step::Cancel { caller: 2, gave_up: false },
                Step::Resize(3),
                ask(2, 100),
            ],
        },
        // A call with a message queues before the first job.
        one_at_once(vec![
            take(0, 1),
            ask(1, 100),
            wait(1, 1, 60 * SECOND, Channel::Subscribed),
            queue(2),
            Step::Cancel { caller: 1, gave_up: false },
            release(0),
        ]),
    ]
}
