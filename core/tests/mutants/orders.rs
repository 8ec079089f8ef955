//! Cases of priorities, shares and turns that random workloads rarely contain.

use paddlegate::{Kind, Mode};

use crate::support::workload::{Admin, Asked, Channel, Order, Step, WaitOptions, Workload};
use crate::workloads::{RETURNING, limit, release, take, wait};

pub const SECOND: u64 = 1_000_000;

pub fn one_at_once(steps: Vec<Step>) -> Workload {
    Workload { limits: vec![limit(Kind::Concurrency, 1, 30)], steps }
}

pub fn enter(caller: usize, options: WaitOptions) -> Step {
    Step::Enter { caller, units: Asked::All(1), estimate: false, wait: Some(options) }
}

pub fn ordered(priority: u8, share: u8) -> WaitOptions {
    let order = Order { priority, share, weight: 1 };
    WaitOptions { claim_timeout: 60 * SECOND, position: 0, order, ..RETURNING }
}

/// Returns cases of the order of tickets.
pub fn shares() -> Vec<Workload> {
    let queue = |caller, share| enter(caller, ordered(0, share));
    let weighted = |caller, share, weight| {
        let options = ordered(0, share);
        enter(caller, WaitOptions { order: Order { weight, ..options.order }, ..options })
    };
    let cancel = |caller| Step::Cancel { caller, gave_up: false };
    vec![
        // A share without tickets begins anew, whether it had one or two.
        one_at_once(vec![take(0, 1), queue(1, 1), queue(2, 2), cancel(1), queue(3, 1), queue(4, 2)]),
        one_at_once(vec![take(0, 1), queue(1, 1), queue(2, 1), queue(3, 2), cancel(1), cancel(2), queue(4, 1)]),
        // A turn of a higher priority is one of that priority alone.
        one_at_once(vec![
            take(0, 1),
            enter(1, ordered(3, 1)),
            enter(2, ordered(3, 1)),
            release(0),
            enter(1, ordered(3, 1)),
            enter(3, ordered(3, 2)),
        ]),
        // A ticket that comes back with its number takes nothing from its share.
        one_at_once(vec![
            take(0, 1),
            queue(1, 1),
            queue(2, 1),
            cancel(1),
            enter(1, WaitOptions { position: 1, ..ordered(0, 1) }),
            queue(3, 1),
        ]),
        // 131,072 / 515 is rounded up to 255, which is one too much to tie with 131,072 / 532 = 246.
        one_at_once(vec![take(0, 1), weighted(1, 1, 515), weighted(2, 2, 532), weighted(1, 1, 515)]),
        // The share of the fourth goes on at 438, the whole number of the first, and so ties with the second.
        one_at_once(vec![
            take(0, 1),
            weighted(1, 1, 300),
            weighted(2, 2, 200),
            release(0),
            weighted(1, 1, 300),
            weighted(3, 3, 600),
            weighted(2, 2, 200),
        ]),
        // The first two tie, and the one with the higher number goes first; the fourth goes on at the lower number.
        one_at_once(vec![
            take(0, 1),
            weighted(1, 1, 400),
            weighted(2, 2, 500),
            weighted(3, 3, 200),
            release(0),
            weighted(1, 1, 400),
            release(1),
            weighted(2, 2, 500),
            weighted(4, 1, 400),
            weighted(3, 3, 200),
        ]),
        // One of a higher priority comes back ahead of the others, and is granted.
        one_at_once(vec![
            take(0, 1),
            enter(2, ordered(0, 0)),
            enter(1, ordered(3, 0)),
            cancel(1),
            release(0),
            enter(1, WaitOptions { position: 1, ..ordered(3, 0) }),
        ]),
    ]
}

/// Returns cases of tickets that rise.
pub fn aging() -> Vec<Workload> {
    let queue = |caller, priority, share| enter(caller, ordered(priority, share));
    let (aging, later) = (|| Step::Aging(Some(10 * SECOND)), |seconds| Step::Advance(seconds * SECOND));
    let one_for_long = |steps| Workload { limits: vec![limit(Kind::Concurrency, 1, 300)], steps };
    vec![
        // One rises behind those that have the higher priority, by two at once, and then to the highest.
        one_for_long(vec![
            aging(),
            take(0, 1),
            queue(1, 0, 0),
            queue(2, 2, 0),
            Step::Advance(10 * SECOND - 1),
            queue(1, 0, 0),
            Step::Advance(10 * SECOND + 1),
            queue(3, 2, 0),
            queue(2, 2, 0),
            queue(1, 0, 0),
            queue(1, 0, 0),
            later(50),
            queue(1, 0, 0),
            queue(3, 2, 0),
            later(50),
            queue(1, 0, 0),
            queue(4, 9, 0),
            queue(3, 2, 0),
            later(1),
            queue(1, 0, 0),
            queue(3, 2, 0),
            release(0),
            queue(1, 0, 0),
        ]),
        // Shares rise with their tickets.
        one_for_long(vec![
            aging(),
            take(0, 1),
            queue(1, 0, 1),
            queue(2, 0, 1),
            queue(3, 1, 2),
            later(11),
            queue(1, 0, 1),
            queue(2, 0, 1),
            queue(4, 0, 1),
            queue(5, 1, 2),
            Step::Cancel { caller: 1, gave_up: false },
            queue(1, 1, 1),
            release(0),
            queue(3, 1, 2),
        ]),
        // The queue is not in the order of arrival any more, also for those who come with no priority.
        Workload {
            limits: vec![limit(Kind::Throttle, 1, 20)],
            steps: vec![
                aging(),
                take(0, 1),
                queue(1, 0, 0),
                queue(2, 0, 0),
                later(11),
                queue(2, 0, 0),
                queue(3, 0, 0),
                queue(1, 0, 0),
            ],
        },
    ]
}

/// Returns cases of the time until the turn of a call without a wake-up, by how long leases are held.
pub fn turns() -> Vec<Workload> {
    let queue = |caller| wait(caller, 1, 60 * SECOND, Channel::None);
    vec![one_at_once(vec![
        take(0, 1),
        queue(1),
        queue(2),
        queue(3),
        Step::Advance(SECOND),
        release(0),
        queue(1),
        Step::Advance(100_000),
        release(1),
        queue(2),
        queue(3),
        Step::Advance(300_000),
        queue(3),
        Step::Advance(3 * SECOND),
        queue(3),
    ])]
}

/// Returns cases of a host that asks whose turn has come.
pub fn ready() -> Vec<Workload> {
    let queue = |caller| wait(caller, 1, 60 * SECOND, Channel::None);
    let short = |caller| wait(caller, 1, 30 * SECOND, Channel::None);
    let ask = |count| Step::Ready { count, host: None };
    vec![
        // It is known for ten seconds; two that can be granted are listed, one asked for.
        Workload {
            limits: vec![limit(Kind::Concurrency, 2, 300)],
            steps: vec![
                take(0, 1),
                take(1, 1),
                ask(100),
                queue(2),
                ask(100),
                queue(3),
                short(4),
                Step::Advance(6 * SECOND),
                ask(100),
                Step::Advance(9 * SECOND),
                enter(5, WaitOptions { claim_timeout: SECOND, keep: 60 * SECOND, ..ordered(0, 0) }),
                release(0),
                release(1),
                ask(1),
                Step::Advance(SECOND),
                ask(100),
                queue(2),
                ask(100),
                Step::Advance(20 * SECOND),
                queue(5),
                ask(100),
                Step::Advance(45 * SECOND),
                ask(100),
            ],
        },
        // Questions within five seconds of each other are one.
        one_at_once(vec![
            take(0, 1),
            queue(1),
            ask(100),
            Step::Advance(3 * SECOND),
            ask(100),
            Step::Advance(8 * SECOND),
            queue(2),
        ]),
        // Those with a wake-up are not listed, and count.
        Workload {
            limits: vec![limit(Kind::Concurrency, 2, 30)],
            steps: vec![
                take(0, 1),
                take(1, 1),
                wait(2, 1, 60 * SECOND, Channel::Subscribed),
                queue(3),
                queue(4),
                Step::Advance(31 * SECOND),
                ask(100),
            ],
        },
    ]
}

/// Returns cases of tickets that others pass by.
pub fn passed() -> Vec<Workload> {
    let kept = WaitOptions { keep: 3_600 * SECOND, position: 0, ..RETURNING };
    vec![
        // It counts for those behind it when it calls.
        Workload {
            limits: vec![limit(Kind::Concurrency, 2, 30)],
            steps: vec![
                take(0, 1),
                take(1, 1),
                wait(2, 1, 60 * SECOND, Channel::None),
                enter(3, kept),
                Step::Advance(28 * SECOND),
                wait(4, 1, 60 * SECOND, Channel::Subscribed),
                Step::Advance(3 * SECOND),
                enter(3, kept),
            ],
        },
        // Others pass it by in the very microsecond.
        one_at_once(vec![
            take(0, 1),
            enter(1, kept),
            Step::Advance(5 * SECOND + 1),
            wait(2, 1, 60 * SECOND, Channel::None),
        ]),
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 16)],
            steps: vec![
                take(0, 4),
                enter(1, kept),
                Step::Advance(4 * SECOND + 1),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // A command wakes those behind it.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 160)],
            steps: vec![
                take(0, 4),
                Step::Enter {
                    caller: 1,
                    units: Asked::All(4),
                    estimate: false,
                    wait: Some(WaitOptions { channel: Channel::Subscribed, ..kept }),
                },
                Step::Advance(16 * SECOND),
                wait(2, 1, 60 * SECOND, Channel::Subscribed),
                Step::Admin(Admin::Override(vec![6], None)),
            ],
        },
    ]
}

/// Returns cases of blocks.
pub fn refusals() -> Vec<Workload> {
    vec![
        // After a block the count begins anew, also within the time in which refusals count.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                Step::BlockAfter(Some((2, 600 * SECOND, 60 * SECOND))),
                Step::Acquire { units: Asked::All(4) },
                Step::Acquire { units: Asked::All(1) },
                Step::Acquire { units: Asked::All(1) },
                Step::Advance(61 * SECOND),
                Step::Acquire { units: Asked::All(4) },
                Step::Acquire { units: Asked::All(1) },
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // A call of no units is refused while there is a debt, and does not count.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                Step::BlockAfter(Some((2, 600 * SECOND, 600 * SECOND))),
                Step::Enter { caller: 0, units: Asked::All(4), estimate: true, wait: None },
                Step::Correct { caller: 0, actual: Asked::All(8) },
                Step::Acquire { units: Asked::All(0) },
                Step::Acquire { units: Asked::All(0) },
                Step::Advance(60 * SECOND),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // What is refused while a command enforces passes when that ends, and the pause with it.
        Workload {
            limits: vec![limit(Kind::Leaky, 1, 3_600)],
            steps: vec![
                Step::Mode(Mode::Shadow),
                Step::Acquire { units: Asked::All(1) },
                Step::Admin(Admin::Mode(Some(Mode::Enforce), Some(30_000_000))),
                Step::Acquire { units: Asked::All(1) },
                Step::Admin(Admin::Pause(60_000_000)),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // In shadow a command's block still holds up those that wait.
        one_at_once(vec![
            take(0, 1),
            enter(1, WaitOptions { channel: Channel::Subscribed, ..ordered(0, 0) }),
            Step::Admin(Admin::Block(1_000_000)),
            Step::Admin(Admin::Mode(Some(Mode::Shadow), None)),
        ]),
    ]
}
