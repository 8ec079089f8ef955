//! Lists every verb with the states that could make it slow.

use paddlegate::{
    AdminCommand, BudgetUpdate, Deadline, Limit, LimitOverride, Limiter, Micros, Operation, QueuePosition, Request,
    UpstreamReport, Wait,
};

use crate::states::{self, NOW, SPAN, wait};
use crate::support::calls::{cancel, enter, release, renew, run, statistics};
use crate::support::correct;
use crate::{Act, Bound, HOUR, Run, Times};

/// The largest number of expired entries that one script removes.
const PIECE: u64 = 10_000;

pub(crate) fn all(times: &mut Times) {
    times.on(1_000, states::leases, &leases());
    times.on(1_000, states::queue, &queue());
    times.on(1_000, states::leases_and_queue, &leases_and_queue());
    times.on(1_000, states::meter_and_queue, &meter_and_queue());
    times.on(1_000, states::window, &window());
    times.on(1_000, states::permits, &permits());
    for act in corrections() {
        times.afresh(1_000, states::window_with_permits, &act);
    }
    for act in whole_windows() {
        times.afresh(1_000, states::empty_window, &act);
    }
    // A script removes expired entries in pieces, so both states must be larger than a piece.
    times.on(
        PIECE,
        states::leases,
        &[piece("all leases have ended: acquire", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, None, late()).allowed());
        })],
    );
    times.on(
        PIECE,
        states::queue,
        &[piece("all tickets have lapsed: enter", |run| {
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), late());
        })],
    );
    times.afresh(
        PIECE,
        states::dead_waiters,
        &Act {
            before: |run| {
                cancel(run.limiter, "head", NOW + 1);
            },
            ..piece("all waiters are dead: release", |run| {
                release(run.limiter, &format!("first:{NOW}:1"), NOW + 1);
            })
        },
    );
    times.afresh(
        PIECE,
        states::permits,
        &piece("all permits have ended: acquire", |run| estimate(run.limiter, late())),
    );
    times.afresh(
        PIECE,
        states::list,
        &piece("all on the list have ended: acquire", |run| {
            run.limiter.acquire(Request::cost(1).at(Micros(NOW + 1))).expect("a decision");
        }),
    );
    times.afresh(
        1_000,
        states::window,
        &Act {
            bound: Bound::Units,
            ..act("window: all have ended, acquire", |run| {
                assert!(run.limiter.acquire(Request::cost(1).at(Micros(late()))).expect("a decision").allowed());
            })
        },
    );
    // Both states have more permits than a limiter keeps.
    times.on(
        2 * PIECE,
        states::permits,
        &[piece("too many permits: acquire", |run| estimate(run.limiter, NOW + (1 + run.number) * 1_000_000))],
    );
    times.afresh(1_000, states::leases_and_queue, &act("reset, leases and tickets", reset));
    times.afresh(1_000, states::window, &act("reset, window", reset));
    times.afresh(1_000, states::permits, &act("reset, permits", reset));
}

fn act(verb: &'static str, run: fn(&Run<'_>)) -> Act {
    Act { verb, bound: Bound::Constant, before: |_| {}, run }
}

fn piece(verb: &'static str, run: fn(&Run<'_>)) -> Act {
    Act { bound: Bound::Piece, ..act(verb, run) }
}

fn late() -> u64 {
    NOW + 3 * SPAN
}

fn reset(run: &Run<'_>) {
    run.limiter.reset().expect("a reset");
}

fn order(limiter: &Limiter, control: AdminCommand<'_>) {
    run(limiter, Operation::Admin { command: control, at: Some(Micros(NOW + 2)) });
}

fn estimate(limiter: &Limiter, at: u64) {
    limiter.acquire(Request::estimate(10).at(Micros(at))).expect("a decision");
}

/// Returns the limiter of the run with another limit, as a second process may configure it.
fn limited(run: &Run<'_>, limit: u64) -> Limiter {
    run.store.concurrent(run.limiter.name(), limit, HOUR).expect("a limiter")
}

fn lease(number: u64) -> String {
    format!("lease{number}:{}:1", NOW - 1)
}

pub(crate) fn leases() -> Vec<Act> {
    vec![
        act("leases: peek", |run| {
            run.limiter.peek(Request::cost(1).at(Micros(NOW + 1))).expect("a look");
        }),
        act("leases: acquire, granted", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, None, NOW + 1).allowed());
        }),
        act("leases: acquire, refused", |run| {
            assert!(!enter(&limited(run, run.size / 2), "refused", 1, None, NOW + 1).allowed());
        }),
        act("leases: acquire again, by its holder", |run| {
            assert!(enter(run.limiter, "lease70", 1, None, NOW + 1).allowed());
        }),
        act("leases: renew", |run| {
            renew(run.limiter, &lease(80), NOW + 1).expect("a lease");
        }),
        act("leases: release", |run| {
            release(run.limiter, &lease(100 + run.number), NOW + 1);
        }),
        act("leases: release, late", |run| {
            release(run.limiter, &format!("gone:{}:1", NOW - 2 * SPAN), NOW + 1);
        }),
        act("leases: cancel", |run| {
            cancel(run.limiter, &format!("lease{}", 200 + run.number), NOW + 1);
        }),
        act("leases: statistics", |run| {
            assert!(statistics(run.limiter, NOW + 1).leases + 200 > run.size);
        }),
        act("leases: pause", |run| order(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        act("leases: resume", |run| order(run.limiter, AdminCommand::Resume)),
        act("leases: override", |run| {
            let changes = [LimitOverride::Set(Limit::concurrency(run.size / 2, HOUR).expect("a limit"))];
            order(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
        act("leases: look at what is in force", |run| order(run.limiter, AdminCommand::Get)),
        act("leases: end of an override", |run| {
            order(run.limiter, AdminCommand::Override { changes: &[LimitOverride::Remove], expires: None });
        }),
        act("leases: learn", |run| {
            let report = UpstreamReport { pause: Some(Deadline::After(Micros(1))), ..UpstreamReport::default() };
            run_report(run.limiter, report);
        }),
    ]
}

fn run_report(limiter: &Limiter, report: UpstreamReport<'_>) {
    run(limiter, Operation::ApplyReport { report, at: Some(Micros(NOW + 3)) });
}

pub(crate) fn queue() -> Vec<Act> {
    let mut acts = standing();
    acts.extend([
        act("queue: release", |run| {
            let holder = if run.number == 0 { format!("first:{NOW}:1") } else { holder(run.number - 1) };
            release(run.limiter, &holder, NOW + 1);
            // Claims the free slot, so that the next run has a lease to release.
            assert!(enter(run.limiter, &queued(run.number), 1, Some(wait()), NOW + 1).allowed());
        }),
        Act {
            before: |run| {
                release(run.limiter, &holder(8 + run.number), NOW + 1);
            },
            ..act("queue: claim, granted", |run| {
                assert!(enter(run.limiter, &queued(9 + run.number), 1, Some(wait()), NOW + 1).allowed());
            })
        },
        act("queue: pause", |run| order(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        act("queue: resume", |run| order(run.limiter, AdminCommand::Resume)),
        act("queue: override, all may pass", |run| {
            let changes = [LimitOverride::Set(Limit::concurrency(100_000, HOUR).expect("a limit"))];
            order(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
    ]);
    acts
}

/// Returns the id of the ticket at a queue position.
fn queued(place: u64) -> String {
    if place == 0 { "head".to_owned() } else { format!("ticket{place}") }
}

/// Returns the permit of a granted ticket.
fn holder(place: u64) -> String {
    format!("{}:{}:1", queued(place), NOW + 1)
}

/// Returns the verbs that leave the head of the queue as it is.
fn standing() -> Vec<Act> {
    vec![
        act("queue: peek", |run| {
            run.limiter.peek(Request::cost(1).at(Micros(NOW + 1))).expect("a look");
        }),
        act("queue: enter", |run| {
            let id = format!("new{}", run.number);
            // The large queue is full and accepts no further ticket.
            cancel(run.limiter, &format!("ticket{}", 300 + run.number), NOW + 1);
            enter(run.limiter, &id, 1, Some(wait()), NOW + 1);
        }),
        act("queue: look from the middle", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2), 1, Some(wait()), NOW + 1);
        }),
        act("queue: come back to an old number", |run| {
            let id = format!("ticket{}", run.size / 2 + 1 + run.number);
            cancel(run.limiter, &id, NOW + 1);
            let place = QueuePosition::Number(run.size / 2 + 2 + run.number);
            enter(run.limiter, &id, 1, Some(Wait { position: place, ..wait() }), NOW + 1);
        }),
        act("queue: cancel from the middle", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 3 + run.number), NOW + 1);
        }),
        act("queue: acquire, refused", |run| {
            assert!(!enter(run.limiter, "refused", 1, None, NOW + 1).allowed());
        }),
        act("queue: statistics", |run| {
            statistics(run.limiter, NOW + 1);
        }),
    ]
}

pub(crate) fn leases_and_queue() -> Vec<Act> {
    vec![
        act("leases and queue: enter", |run| {
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), NOW + 1);
        }),
        act("leases and queue: look from the middle", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2), 1, Some(wait()), NOW + 1);
        }),
        act("leases and queue: release", |run| {
            release(run.limiter, &lease(1 + run.number), NOW + 1);
        }),
        act("leases and queue: claim, granted", |run| {
            assert!(enter(run.limiter, &queued(run.number), 1, Some(wait()), NOW + 1).allowed());
        }),
        act("leases and queue: cancel", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 3 + run.number), NOW + 1);
        }),
        act("leases and queue: renew", |run| {
            renew(run.limiter, &lease(80), NOW + 1).expect("a lease");
        }),
    ]
}

pub(crate) fn meter_and_queue() -> Vec<Act> {
    vec![
        act("meter and queue: acquire, refused", |run| {
            assert!(!run.limiter.acquire(Request::cost(1).at(Micros(NOW + 1))).expect("a decision").allowed());
        }),
        act("meter and queue: acquire behind the queue", |run| {
            assert!(!run.limiter.acquire(Request::cost(1).at(Micros(NOW + SPAN + 1))).expect("a decision").allowed());
        }),
        act("meter and queue: look from the middle", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2), 1, Some(wait()), NOW + SPAN + 2);
        }),
        act("meter and queue: enter", |run| {
            cancel(run.limiter, &format!("ticket{}", 300 + run.number), NOW + SPAN + 2);
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), NOW + SPAN + 2);
        }),
        act("meter and queue: cancel", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 3 + run.number), NOW + SPAN + 2);
        }),
    ]
}

pub(crate) fn window() -> Vec<Act> {
    vec![
        act("window: acquire, granted", |run| {
            assert!(run.limiter.acquire(Request::cost(1).at(Micros(NOW + 1))).expect("a decision").allowed());
        }),
        act("window: acquire, refused", |run| {
            let request = Request::cost(run.size / 2).at(Micros(NOW + 1));
            assert!(!run.limiter.acquire(request).expect("a decision").allowed());
        }),
        act("window: peek", |run| {
            run.limiter.peek(Request::cost(1).at(Micros(NOW + 1))).expect("a look");
        }),
        act("window: peek, half have ended", |run| {
            let half = NOW + SPAN - run.size / 2;
            run.limiter.peek(Request::cost(1).at(Micros(half))).expect("a look");
        }),
        act("window: enter, queued", |run| {
            enter(run.limiter, &format!("new{}", run.number), run.size / 2, Some(wait()), NOW + 1);
        }),
        act("window: pause", |run| order(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        act("window: override", |run| {
            let changes = [LimitOverride::Set(Limit::window(run.size / 2, HOUR).expect("a limit"))];
            order(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
    ]
}

fn permit(id: &str, at: u64, size: u64) -> String {
    format!("{id}:{at}:{}", size / 10)
}

fn corrections() -> Vec<Act> {
    vec![
        act("window: correct the last up by one", |run| {
            correct(run.limiter, &permit("last", NOW, run.size), run.size / 10 + 1, NOW + 1);
        }),
        act("window: correct the first up by one", |run| {
            correct(run.limiter, &permit("first", NOW - 10, run.size), run.size / 10 + 1, NOW + 1);
        }),
        act("window: correct the last down by one", |run| {
            correct(run.limiter, &permit("last", NOW, run.size), run.size / 10 - 1, NOW + 1);
        }),
        act("window: correct the first down by one", |run| {
            correct(run.limiter, &permit("first", NOW - 10, run.size), run.size / 10 - 1, NOW + 1);
        }),
        Act {
            bound: Bound::Units,
            ..act("window: correct the last up to all", |run| {
                correct(run.limiter, &permit("last", NOW, run.size), 10 * run.size, NOW + 1);
            })
        },
        Act {
            bound: Bound::Units,
            ..act("window: correct the first up to all", |run| {
                correct(run.limiter, &permit("first", NOW - 10, run.size), 10 * run.size, NOW + 1);
            })
        },
        Act {
            bound: Bound::Units,
            ..act("window: correct the last down to nothing", |run| {
                correct(run.limiter, &permit("last", NOW, run.size), 0, NOW + 1);
            })
        },
        Act {
            bound: Bound::Units,
            ..act("window: correct the first down to nothing", |run| {
                correct(run.limiter, &permit("first", NOW - 10, run.size), 0, NOW + 1);
            })
        },
    ]
}

fn whole_windows() -> Vec<Act> {
    vec![
        Act {
            bound: Bound::Units,
            ..act("window: acquire all at once", |run| {
                let request = Request::cost(run.size).at(Micros(NOW + 1));
                assert!(run.limiter.acquire(request).expect("a decision").allowed());
            })
        },
        Act {
            bound: Bound::Units,
            ..act("window: learn that nothing is left", |run| {
                let budgets = [BudgetUpdate { remaining: Some(0), ..BudgetUpdate::default() }];
                run_report(run.limiter, UpstreamReport { budgets: &budgets, ..UpstreamReport::default() });
            })
        },
    ]
}

pub(crate) fn permits() -> Vec<Act> {
    vec![
        act("permits: acquire, granted", |run| estimate(run.limiter, NOW + 1)),
        act("permits: correct", |run| {
            correct(run.limiter, &format!("{:032}:{NOW}:10", 10 + run.number), 20, NOW + 1);
        }),
        act("permits: learn, of a permit", |run| {
            let permit = format!("{:032}:{NOW}:10", 100 + run.number);
            let budgets = [BudgetUpdate { remaining: Some(1_000), ..BudgetUpdate::default() }];
            run_report(
                run.limiter,
                UpstreamReport {
                    permit: Some(&permit),
                    actual: Some(5),
                    budgets: &budgets,
                    ..UpstreamReport::default()
                },
            );
        }),
        act("permits: learn, without a permit", |run| {
            let budgets = [BudgetUpdate { remaining: Some(1_000), ..BudgetUpdate::default() }];
            run_report(run.limiter, UpstreamReport { budgets: &budgets, ..UpstreamReport::default() });
        }),
        act("permits: peek", |run| {
            run.limiter.peek(Request::cost(1).at(Micros(NOW + 1))).expect("a look");
        }),
    ]
}
