//! Cases of several policies of one name: what each may take, and how their tickets wait for each other.

use paddlegate::Kind;

use crate::support::sequence::Spec;
use crate::support::workload::{Admin, Asked, Channel, Step, Workload};
use crate::workloads::{limit, take, wait};

/// The policies of two limits: the first, the second, and both.
const FIRST: Step = Step::Policy(1);
const SECOND: Step = Step::Policy(2);
const BOTH: Step = Step::Policy(3);

/// Returns two meters that drain within forty seconds, and within forty minutes.
fn meters() -> Vec<Spec> {
    vec![limit(Kind::Leaky, 4, 40), Spec { number: 1, ..limit(Kind::Leaky, 4, 2_400) }]
}

/// Returns leases and a meter.
fn leases() -> Vec<Spec> {
    vec![limit(Kind::Concurrency, 1, 600), Spec { number: 1, ..limit(Kind::Leaky, 4, 40) }]
}

fn queue(caller: usize, units: u64) -> Step {
    wait(caller, units, 60_000_000, Channel::None)
}

/// Wakes what can be woken, and changes nothing else.
const KNOCK: Step = Step::Cancel { caller: 5, gave_up: false };

fn subscribed(caller: usize, units: u64) -> Step {
    wait(caller, units, 60_000_000, Channel::Subscribed)
}

fn of(limits: Vec<Spec>, steps: Vec<Step>) -> Workload {
    Workload { limits, steps }
}

pub fn cases() -> Vec<Workload> {
    [shared_limits(), wakeups()].concat()
}

fn shared_limits() -> Vec<Workload> {
    vec![
        // Grants, refusals and statistics beside the record of another policy.
        of(
            meters(),
            vec![
                FIRST,
                Step::Acquire { units: Asked::All(3) },
                SECOND,
                Step::Acquire { units: Asked::All(2) },
                Step::Acquire { units: Asked::All(3) },
                Step::Peek { units: Asked::All(1) },
                FIRST,
                Step::Acquire { units: Asked::All(1) },
                Step::Acquire { units: Asked::All(1) },
            ],
        ),
        // A waiter for the first limit is woken although the second has nothing left.
        of(
            meters(),
            vec![
                SECOND,
                take(0, 4),
                FIRST,
                take(1, 4),
                subscribed(2, 1),
                BOTH,
                Step::Admin(Admin::Override(vec![6, 0], None)),
            ],
        ),
        // A waiter is not woken by the call of a policy that has its limit and another one.
        of(meters(), vec![FIRST, take(0, 4), subscribed(1, 1), BOTH, KNOCK]),
        // A waiter is too large for a limit that it does not have.
        of(
            vec![limit(Kind::Leaky, 4, 40), Spec { number: 1, ..limit(Kind::Leaky, 2, 40) }],
            vec![FIRST, take(0, 4), queue(1, 4), BOTH, KNOCK, FIRST, queue(1, 4)],
        ),
        // A call waits for a ticket that has the first or the last of its limits, also behind one that shares none.
        of(meters(), vec![FIRST, take(0, 4), queue(1, 4), Step::Advance(20_000_000), BOTH, take(2, 1)]),
        of(meters(), vec![FIRST, take(0, 4), BOTH, queue(1, 4), Step::Advance(20_000_000), FIRST, take(2, 1)]),
        of(
            meters(),
            vec![
                SECOND,
                take(0, 4),
                queue(1, 1),
                FIRST,
                take(2, 4),
                queue(3, 4),
                Step::Advance(20_000_000),
                take(4, 1),
            ],
        ),
        // A call passes a ticket that shares no limit with it.
        of(meters(), vec![FIRST, take(0, 4), queue(1, 4), SECOND, take(2, 1), Step::Acquire { units: Asked::All(1) }]),
        // Statistics count the leases of the name, also by a policy that has none.
        of(leases(), vec![FIRST, take(0, 1)]),
        of(leases(), vec![FIRST, take(0, 1), SECOND]),
        of(leases(), vec![FIRST, take(0, 1), SECOND, Step::Advance(599_999_999)]),
        of(leases(), vec![FIRST, take(0, 1), SECOND, Step::Advance(600_000_000)]),
        of(leases(), vec![FIRST, take(0, 1), SECOND, Step::Advance(700_000_000)]),
        // A permit belongs to the limits of its call.
        of(
            meters(),
            vec![
                FIRST,
                take(0, 2),
                SECOND,
                take(1, 2),
                Step::Correct { caller: 0, actual: Asked::All(0) },
                BOTH,
                Step::Correct { caller: 0, actual: Asked::All(0) },
                FIRST,
                Step::Correct { caller: 0, actual: Asked::All(1) },
            ],
        ),
    ]
}

/// Returns cases of the wake-ups of waiters of other policies.
fn wakeups() -> Vec<Workload> {
    vec![
        // A release wakes a waiter for a lease behind a waiter that shares nothing with it.
        of(
            vec![limit(Kind::Leaky, 1, 3_600), Spec { number: 1, ..limit(Kind::Concurrency, 1, 600) }],
            vec![
                FIRST,
                take(0, 1),
                subscribed(1, 1),
                SECOND,
                take(2, 1),
                subscribed(3, 1),
                Step::Release { caller: 2 },
            ],
        ),
        // What ends nothing wakes no waiter that shares nothing with the call.
        of(meters(), vec![FIRST, take(0, 4), subscribed(1, 1), SECOND, KNOCK, take(2, 1), Step::Release { caller: 2 }]),
        // The end of a pause concerns the waiters of all policies, of which each takes units of its own limit only.
        of(
            vec![limit(Kind::Leaky, 1, 40), Spec { number: 1, ..limit(Kind::Leaky, 1, 40) }],
            vec![
                Step::Admin(Admin::Pause(30_000_000)),
                FIRST,
                subscribed(1, 1),
                queue(2, 1),
                SECOND,
                subscribed(3, 1),
                Step::Admin(Admin::Resume),
                Step::Advance(30_000_000),
                take(4, 1),
            ],
        ),
        of(
            vec![limit(Kind::Leaky, 1, 40), Spec { number: 1, ..limit(Kind::Leaky, 1, 40) }],
            vec![
                Step::Admin(Admin::Pause(30_000_000)),
                FIRST,
                subscribed(1, 1),
                SECOND,
                subscribed(3, 1),
                Step::Admin(Admin::Resume),
            ],
        ),
        of(
            meters(),
            vec![
                Step::Admin(Admin::Pause(100_000_000)),
                FIRST,
                wait(1, 1, 2_000_000, Channel::None),
                wait(2, 4, 2_000_000, Channel::None),
                Step::Admin(Admin::Resume),
                Step::Advance(2_000_000),
                take(3, 1),
                KNOCK,
                Step::Advance(1_000_000),
                KNOCK,
                take(4, 4),
            ],
        ),
        // The channel of the first of two waiters has no subscriber.
        of(
            vec![limit(Kind::Concurrency, 1, 600)],
            vec![
                take(0, 1),
                wait(1, 1, 60_000_000, Channel::Unsubscribed),
                subscribed(2, 1),
                Step::Release { caller: 0 },
            ],
        ),
    ]
}
