//! Lists every verb with the states that could make it slow.

use paddlegate::{
    AdminCommand, Answer, BudgetUpdate, Cost, Deadline, Limit, LimitOverride, Limiter, Micros, Operation, Page,
    QueuePosition, Request, Statistics, UpstreamReport, Wait,
};
use std::cell::RefCell;

use crate::states::{self, NOW, SPAN, wait};
use crate::support::calls::{acquire, cancel, correct, debit, enter, peek, ready, release, renew, run, statistics};
use crate::{Bound, Case, HOUR, LARGE, Run, Times, each};

/// The largest number of expired entries that one script removes.
const MAX_REMOVED: u64 = 10_000;

pub(crate) fn all(times: &mut Times) {
    times.on(1_000, states::leases, &leases());
    times.on(1_000, states::queue, &queue());
    times.on(1_000, states::leases_and_queue, &leases_and_queue());
    times.on(1_000, states::meter_and_queue, &meter_and_queue());
    times.on(1_000, states::four_together, &four_together());
    times.on(1_000, states::window, &window());
    times.on(1_000, states::permits, &permits());
    times.on(8, states::labels, &labels());
    all_recorded(times);
    times.on_new_states(
        1,
        states::history,
        &Case {
            bound: Bound::Labels,
            ..case("an hour of history ends: acquire", |run| {
                assert!(acquire(run.limiter, Request::cost(1), NOW + 10_800_000_000).allowed());
            })
        },
    );
    for case in corrections() {
        times.on_new_states(1_000, states::window_with_permits, &case);
    }
    for case in whole_windows() {
        times.on_new_states(1_000, states::empty_window, &case);
    }
    // A script removes expired entries in pieces, so both states must be larger than the pieces of all runs.
    times.on(
        MAX_REMOVED,
        states::leases,
        &[removal("all leases have ended: acquire", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, None, late()).allowed());
        })],
    );
    times.on(
        MAX_REMOVED,
        states::queue,
        &[removal("all tickets have lapsed: enter", |run| {
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), late());
        })],
    );
    times.on(
        MAX_REMOVED,
        states::leases_and_queue,
        &[removal("leases and queue, all has ended: enter", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), late()).allowed());
        })],
    );
    times.on(
        MAX_REMOVED,
        states::four_together,
        &[removal("four together, all has ended: enter", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), late()).allowed());
        })],
    );
    times.on_new_states(
        MAX_REMOVED,
        states::dead_waiters,
        &Case {
            before: |run| {
                cancel(run.limiter, "head", NOW + 1);
            },
            ..removal("all waiters are dead: release", |run| {
                release(run.limiter, &format!("first:{NOW}:1"), NOW + 1);
            })
        },
    );
    times.on_new_states(
        MAX_REMOVED,
        states::permits,
        &removal("all permits have ended: acquire", |run| estimate(run.limiter, late())),
    );
    times.on_new_states(
        MAX_REMOVED,
        states::list,
        &removal("all on the list have ended: acquire", |run| {
            acquire(run.limiter, Request::cost(1), NOW + 1);
        }),
    );
    times.on_new_states(
        1_000,
        states::window,
        &Case {
            bound: Bound::Units,
            ..case("window: all have ended, acquire", |run| {
                assert!(acquire(run.limiter, Request::cost(1), late()).allowed());
            })
        },
    );
    times.on_new_states(
        MAX_REMOVED,
        states::too_many_permits,
        &removal("too many permits: acquire", |run| estimate(run.limiter, NOW + 1_000_000)),
    );
    times.on_new_states(1_000, states::leases_and_queue, &case("reset, leases and tickets", reset));
    times.on_new_states(1_000, states::window, &case("reset, window", reset));
    times.on_new_states(1_000, states::permits, &case("reset, permits", reset));
    times.on_new_states(8, states::labels, &case("reset, labels", reset));
}

fn all_recorded(times: &mut Times) {
    times.on(1_000, states::recorded, &recorded());
    times.on_new_states(
        MAX_REMOVED,
        states::recorded_before,
        &Case {
            bound: Bound::Removal,
            ..case("recorded, the stream is far too long: acquire", |run| {
                assert!(acquire(run.limiter, Request::cost(1), NOW + 1).allowed());
            })
        },
    );
    times.on_new_states(1_000, states::recorded, &case("reset, recorded", reset));
}

fn case(verb: &'static str, run: fn(&Run<'_>)) -> Case {
    Case { verb, bound: Bound::Constant, before: |_| {}, run }
}

fn removal(verb: &'static str, run: fn(&Run<'_>)) -> Case {
    Case { bound: Bound::Removal, before: assert_not_removed, ..case(verb, run) }
}

/// Panics when nothing is left to remove: a run before has removed more than a piece, and this one would be fast.
fn assert_not_removed(run: &Run<'_>) {
    for limiter in each(run.limiter) {
        let Statistics { reclaimed, lapsed, .. } = statistics(limiter, late());
        assert!(reclaimed.max(lapsed) < run.size / 10 * 9, "one call removes all that has ended");
    }
}

fn late() -> u64 {
    NOW + 3 * SPAN
}

fn reset(run: &Run<'_>) {
    run.limiter.reset().expect("a reset");
}

fn admin(limiter: &Limiter, control: AdminCommand<'_>) {
    run(limiter, Operation::Admin { command: control }, NOW + 2);
}

fn estimate(limiter: &Limiter, at: u64) {
    acquire(limiter, Request::estimate(10), at);
}

/// Returns the limiter of the run with another limit, as a second process may configure it.
fn limited(run: &Run<'_>, limit: u64) -> Limiter {
    run.store.concurrent(run.limiter.name(), limit, HOUR).expect("a limiter")
}

fn lease(number: u64) -> String {
    format!("lease{number}:{}:1", NOW - 1)
}

pub(crate) fn leases() -> Vec<Case> {
    vec![
        case("leases: peek", |run| {
            peek(run.limiter, Request::cost(1), NOW + 1);
        }),
        case("leases: acquire, granted", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, None, NOW + 1).allowed());
        }),
        case("leases: acquire, refused", |run| {
            assert!(!enter(&limited(run, run.size / 2), "refused", 1, None, NOW + 1).allowed());
        }),
        case("leases: acquire again, by its holder", |run| {
            assert!(enter(run.limiter, "lease70", 1, None, NOW + 1).allowed());
        }),
        case("leases: renew", |run| {
            renew(run.limiter, &lease(80), NOW + 1).expect("a lease");
        }),
        case("leases: release", |run| {
            release(run.limiter, &lease(100 + run.number), NOW + 1);
        }),
        case("leases: release, late", |run| {
            release(run.limiter, &format!("gone:{}:1", NOW - 2 * SPAN), NOW + 1);
        }),
        case("leases: cancel", |run| {
            cancel(run.limiter, &format!("lease{}", 200 + run.number), NOW + 1);
        }),
        case("leases: statistics", |run| {
            assert!(statistics(run.limiter, NOW + 1).leases + 200 > run.size);
        }),
        case("leases: pause", |run| admin(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        case("leases: resume", |run| admin(run.limiter, AdminCommand::Resume)),
        case("leases: override", |run| {
            let changes = [LimitOverride::Set(Limit::concurrency(run.size / 2, HOUR).expect("a limit"))];
            admin(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
        case("leases: look at what is in force", |run| admin(run.limiter, AdminCommand::Get)),
        case("leases: end of an override", |run| {
            admin(run.limiter, AdminCommand::Override { changes: &[LimitOverride::RemoveAll], expires: None });
        }),
        case("leases: learn", |run| {
            let report = UpstreamReport { pause: Some(Deadline::After(Micros(1))), ..UpstreamReport::default() };
            run_report(run.limiter, report);
        }),
    ]
}

fn run_report(limiter: &Limiter, report: UpstreamReport<'_>) {
    run(limiter, Operation::ApplyReport { report }, NOW + 3);
}

pub(crate) fn queue() -> Vec<Case> {
    let mut cases_of_state = at_fixed_head();
    cases_of_state.extend([
        case("queue: release", |run| {
            let holder = if run.number == 0 { format!("first:{NOW}:1") } else { holder(run.number - 1) };
            release(run.limiter, &holder, NOW + 1);
            // Claims the free slot, so that the next run has a lease to release.
            assert!(enter(run.limiter, &queued(run.number), 1, Some(wait()), NOW + 1).allowed());
        }),
        Case {
            before: |run| {
                release(run.limiter, &holder(8 + run.number), NOW + 1);
            },
            ..case("queue: claim, granted", |run| {
                assert!(enter(run.limiter, &queued(9 + run.number), 1, Some(wait()), NOW + 1).allowed());
            })
        },
        // The first hundred are called.
        case("queue: ready, none", |run| assert!(ready(run.limiter, NOW + 1).is_empty())),
        case("queue: pause", |run| admin(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        case("queue: resume", |run| admin(run.limiter, AdminCommand::Resume)),
        case("queue: override, all may pass", |run| {
            let changes = [LimitOverride::Set(Limit::concurrency(100_000, HOUR).expect("a limit"))];
            admin(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
        Case {
            // The calls that the last run listed call in a pause, so that they wait again.
            before: |run| {
                admin(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1_000_000))));
                for id in LISTED.take() {
                    assert!(!enter(run.limiter, &id, 1, Some(wait()), NOW + 1).allowed());
                }
                admin(run.limiter, AdminCommand::Resume);
            },
            ..case("queue: ready, a hundred", |run| {
                LISTED.set(ready(run.limiter, NOW + 1));
                assert_eq!(LISTED.with_borrow(Vec::len), 100);
            })
        },
    ]);
    cases_of_state
}

thread_local! {
    static LISTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
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
fn at_fixed_head() -> Vec<Case> {
    vec![
        case("queue: peek", |run| {
            peek(run.limiter, Request::cost(1), NOW + 1);
        }),
        case("queue: enter", |run| {
            let id = format!("new{}", run.number);
            // The large queue is full and accepts no further ticket.
            cancel(run.limiter, &format!("ticket{}", 300 + run.number), NOW + 1);
            enter(run.limiter, &id, 1, Some(wait()), NOW + 1);
        }),
        case("queue: look from the middle", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2), 1, Some(wait()), NOW + 1);
        }),
        case("queue: come back to an old number", |run| {
            let id = format!("ticket{}", run.size / 2 + 1 + run.number);
            cancel(run.limiter, &id, NOW + 1);
            let place = QueuePosition::Number(run.size / 2 + 2 + run.number);
            enter(run.limiter, &id, 1, Some(Wait { position: place, ..wait() }), NOW + 1);
        }),
        case("queue: cancel from the middle", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 3 + run.number), NOW + 1);
        }),
        case("queue: acquire, refused", |run| {
            assert!(!enter(run.limiter, "refused", 1, None, NOW + 1).allowed());
        }),
        case("queue: statistics", |run| {
            statistics(run.limiter, NOW + 1);
        }),
    ]
}

pub(crate) fn leases_and_queue() -> Vec<Case> {
    vec![
        case("leases and queue: inspect, the longest page", |run| inspect(run, Page { offset: 0, count: 250 }, 250)),
        case("leases and queue: inspect, the last page", |run| {
            inspect(run, Page { offset: run.size - 250, count: 250 }, 150);
        }),
        case("leases and queue: inspect, only counted", |run| inspect(run, Page { offset: 0, count: 0 }, 0)),
        case("leases and queue: enter", |run| {
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), NOW + 1);
        }),
        case("leases and queue: look from the middle", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2), 1, Some(wait()), NOW + 1);
        }),
        case("leases and queue: release", |run| {
            release(run.limiter, &lease(1 + run.number), NOW + 1);
        }),
        case("leases and queue: claim, granted", |run| {
            assert!(enter(run.limiter, &queued(run.number), 1, Some(wait()), NOW + 1).allowed());
        }),
        case("leases and queue: cancel", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 3 + run.number), NOW + 1);
        }),
        case("leases and queue: renew", |run| {
            renew(run.limiter, &lease(80), NOW + 1).expect("a lease");
        }),
    ]
}

fn inspect(run: &Run<'_>, page: Page, at_least: usize) {
    let Answer::Inspection(inspection) = crate::support::calls::run(run.limiter, Operation::Inspect { page }, NOW + 1)
    else {
        panic!("no inspection");
    };
    assert!(inspection.leases.len() >= at_least && inspection.tickets.len() >= at_least, "{inspection:?}");
    assert!(inspection.lease_count + 200 > run.size && inspection.ticket_count + 200 > run.size);
}

pub(crate) fn four_together() -> Vec<Case> {
    vec![
        case("four together: acquire, refused", |run| {
            assert!(!acquire(run.limiter, Request::cost(1), NOW + 1).allowed());
        }),
        case("four together: enter", |run| {
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), NOW + 1);
        }),
        case("four together: look from the middle, suspended in three", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2 + run.number), 1, Some(wait()), NOW + 1);
        }),
        case("four together: refused from the middle", |run| {
            let wait = Some(Wait { max_wait: Micros(0), ..wait() });
            assert!(!enter(run.limiter, &format!("ticket{}", run.size / 3 + run.number), 1, wait, NOW + 1).allowed());
        }),
        Case {
            before: |run| {
                for limiter in run.limiter.limiters() {
                    release(limiter, &lease(1 + run.number), NOW + 1);
                }
            },
            ..case("four together: claim, granted", |run| {
                assert!(enter(run.limiter, &queued(run.number), 1, Some(wait()), NOW + 1).allowed());
            })
        },
        case("four together: cancel", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 4 + run.number), NOW + 1);
        }),
    ]
}

pub(crate) fn meter_and_queue() -> Vec<Case> {
    vec![
        case("meter and queue: acquire, refused", |run| {
            assert!(!acquire(run.limiter, Request::cost(1), NOW + 1).allowed());
        }),
        case("meter and queue: acquire behind the queue", |run| {
            assert!(!acquire(run.limiter, Request::cost(1), NOW + SPAN + 1).allowed());
        }),
        case("meter and queue: look from the middle", |run| {
            enter(run.limiter, &format!("ticket{}", run.size / 2), 1, Some(wait()), NOW + SPAN + 2);
        }),
        case("meter and queue: enter", |run| {
            cancel(run.limiter, &format!("ticket{}", 300 + run.number), NOW + SPAN + 2);
            enter(run.limiter, &format!("new{}", run.number), 1, Some(wait()), NOW + SPAN + 2);
        }),
        case("meter and queue: cancel", |run| {
            cancel(run.limiter, &format!("ticket{}", run.size / 3 + run.number), NOW + SPAN + 2);
        }),
    ]
}

pub(crate) fn window() -> Vec<Case> {
    vec![
        case("window: acquire, granted", |run| {
            assert!(acquire(run.limiter, Request::cost(1), NOW + 1).allowed());
        }),
        case("window: acquire, refused", |run| {
            assert!(!acquire(run.limiter, Request::cost(run.size / 2), NOW + 1).allowed());
        }),
        case("window: peek", |run| {
            peek(run.limiter, Request::cost(1), NOW + 1);
        }),
        case("window: peek, half have ended", |run| {
            let half = NOW + SPAN - run.size / 2;
            peek(run.limiter, Request::cost(1), half);
        }),
        case("window: enter, queued", |run| {
            enter(run.limiter, &format!("new{}", run.number), run.size / 2, Some(wait()), NOW + 1);
        }),
        case("window: pause", |run| admin(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        case("window: override", |run| {
            let changes = [LimitOverride::Set(Limit::window(run.size / 2, HOUR).expect("a limit"))];
            admin(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
    ]
}

fn permit(id: &str, at: u64, size: u64) -> String {
    format!("{id}:{at}:{}", size / 10)
}

fn labels() -> Vec<Case> {
    let labels = |verb, run| Case { bound: Bound::Labels, ..case(verb, run) };
    vec![
        labels("labels: acquire of one limit", |run| {
            assert!(acquire(run.limiter, Request::cost(1), NOW + 1).allowed());
        }),
        labels("labels: acquire of one limit, refused", |run| {
            assert!(!acquire(run.limiter, Request::cost(LARGE), NOW + 1).allowed());
        }),
        labels("labels: acquire of one limit, with a permit", |run| estimate(run.limiter, NOW + 1)),
        labels("labels: acquire of eight limits", |run| {
            assert!(acquire(&eight_limits(run), Request::cost(1), NOW + 1).allowed());
        }),
        labels("labels: acquire of eight limits, refused", |run| {
            assert!(!acquire(&eight_limits(run), Request::cost(LARGE), NOW + 1).allowed());
        }),
        labels("labels: acquire of eight limits, with a permit", |run| estimate(&eight_limits(run), NOW + 1)),
        labels("labels: peek", |run| {
            peek(run.limiter, Request::cost(1), NOW + 1);
        }),
        labels("labels: inspect eight limits", |run| {
            crate::support::calls::run(&eight_limits(run), Operation::Inspect { page: Page::default() }, NOW + 1);
        }),
        labels("labels: statistics", |run| {
            statistics(run.limiter, NOW + 1);
        }),
        labels("labels: override of eight limits", |run| {
            let changes: Vec<LimitOverride> =
                (0..8).map(|number| LimitOverride::Set(states::labelled(number))).collect();
            admin(run.limiter, AdminCommand::Override { changes: &changes, expires: None });
        }),
        labels("labels: acquire of one limit, overridden", |run| {
            assert!(acquire(run.limiter, Request::cost(1), NOW + 2).allowed());
        }),
        labels("labels: acquire of eight limits, overridden", |run| {
            assert!(acquire(&eight_limits(run), Request::cost(1), NOW + 2).allowed());
        }),
    ]
}

/// Returns the limiter of the run with another policy, of as many limits as a policy can have.
fn eight_limits(run: &Run<'_>) -> Limiter {
    let limits = (0..states::MAX_LIMITS as u64).map(states::labelled);
    states::with_limits(run.store, run.limiter.name(), limits.collect())
}

fn corrections() -> Vec<Case> {
    vec![
        case("window: correct the last up by one", |run| {
            correct(run.limiter, &permit("last", NOW, run.size), run.size / 10 + 1, NOW + 1);
        }),
        case("window: correct the first up by one", |run| {
            correct(run.limiter, &permit("first", NOW - 10, run.size), run.size / 10 + 1, NOW + 1);
        }),
        case("window: correct the last down by one", |run| {
            correct(run.limiter, &permit("last", NOW, run.size), run.size / 10 - 1, NOW + 1);
        }),
        case("window: correct the first down by one", |run| {
            correct(run.limiter, &permit("first", NOW - 10, run.size), run.size / 10 - 1, NOW + 1);
        }),
        Case {
            bound: Bound::Units,
            ..case("window: correct the last up to all", |run| {
                correct(run.limiter, &permit("last", NOW, run.size), 10 * run.size, NOW + 1);
            })
        },
        Case {
            bound: Bound::Units,
            ..case("window: correct the first up to all", |run| {
                correct(run.limiter, &permit("first", NOW - 10, run.size), 10 * run.size, NOW + 1);
            })
        },
        Case {
            bound: Bound::Units,
            ..case("window: correct the last down to nothing", |run| {
                correct(run.limiter, &permit("last", NOW, run.size), 0, NOW + 1);
            })
        },
        Case {
            bound: Bound::Units,
            ..case("window: correct the first down to nothing", |run| {
                correct(run.limiter, &permit("first", NOW - 10, run.size), 0, NOW + 1);
            })
        },
    ]
}

fn whole_windows() -> Vec<Case> {
    vec![
        Case {
            bound: Bound::Units,
            ..case("window: acquire all at once", |run| {
                assert!(acquire(run.limiter, Request::cost(run.size), NOW + 1).allowed());
            })
        },
        Case {
            bound: Bound::Units,
            ..case("window: learn that nothing is left", |run| {
                let budgets = left(run.limiter, 0);
                run_report(run.limiter, UpstreamReport { budgets: &budgets, ..UpstreamReport::default() });
            })
        },
    ]
}

/// The calls of a limiter that is recorded, and the start of another recording.
fn recorded() -> Vec<Case> {
    vec![
        case("recorded: acquire, granted", |run| {
            assert!(acquire(run.limiter, Request::cost(1), NOW + 1).allowed());
        }),
        case("recorded: acquire with an id, granted", |run| {
            assert!(enter(run.limiter, &format!("new{}", run.number), 1, None, NOW + 1).allowed());
        }),
        case("recorded: acquire, refused", |run| {
            assert!(!acquire(run.limiter, Request::cost(LARGE), NOW + 1).allowed());
        }),
        case("recorded: debit", |run| {
            debit(run.limiter, 1, NOW + 1);
        }),
        case("recorded: peek", |run| {
            peek(run.limiter, Request::cost(1), NOW + 1);
        }),
        case("recorded: pause", |run| admin(run.limiter, AdminCommand::Pause(Deadline::After(Micros(1))))),
        case("recorded: start", |run| {
            let recording = run.limiter.record(Micros(SPAN), run.size).expect("a recording");
            recording.end().expect("an end");
        }),
    ]
}

pub(crate) fn permits() -> Vec<Case> {
    vec![
        case("permits: acquire, granted", |run| estimate(run.limiter, NOW + 1)),
        case("permits: correct", |run| {
            correct(run.limiter, &format!("{:032}:{NOW}:10", 10 + run.number), 20, NOW + 1);
        }),
        case("permits: learn, of a permit", |run| {
            let permit = format!("{:032}:{NOW}:10", 100 + run.number);
            let budgets = left(run.limiter, 1_000);
            run_report(
                run.limiter,
                UpstreamReport {
                    permit: Some(&permit),
                    actual: Some(Cost::Units(5)),
                    budgets: &budgets,
                    ..UpstreamReport::default()
                },
            );
        }),
        case("permits: learn, without a permit", |run| {
            let budgets = left(run.limiter, 1_000);
            run_report(run.limiter, UpstreamReport { budgets: &budgets, ..UpstreamReport::default() });
        }),
        case("permits: peek", |run| {
            peek(run.limiter, Request::cost(1), NOW + 1);
        }),
    ]
}

/// Returns a report of the units that the only limit has left upstream.
fn left(limiter: &Limiter, remaining: u64) -> Vec<BudgetUpdate> {
    limiter.budget_updates(None, Some(remaining), None, None, None).expect("budgets")
}
