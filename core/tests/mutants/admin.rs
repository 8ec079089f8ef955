//! Cases of admin commands and upstream reports that random workloads rarely contain.

use paddlegate::Kind;

use crate::support::sequence::Spec;
use crate::support::workload::{Admin, Asked, Channel, ReportedBudget, Step, Workload};
use crate::workloads::{limit, take, wait};

/// Returns cases of pauses and overrides, and of calls that an override makes too large.
pub fn admin_commands() -> Vec<Workload> {
    vec![
        // When all pauses have ended, the next version starts from the time again.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                Step::Admin(Admin::Pause(1)),
                Step::Admin(Admin::Pause(1)),
                Step::Admin(Admin::Pause(1)),
                Step::Advance(1),
                Step::Admin(Admin::Pause(1_000_000)),
            ],
        },
        // A pause that has ended is no longer one than that of a report.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                Step::Admin(Admin::Pause(1)),
                Step::Advance(1),
                Step::Report { caller: None, actual: None, budgets: vec![], pause: Some(-1) },
            ],
        },
        // A limiter is in use if it has a state, or statistics without a state.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![Step::Admin(Admin::Get), Step::Admin(Admin::Pause(1)), Step::Admin(Admin::Get)],
        },
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![Step::Resize(0), take(0, 1), Step::Admin(Admin::Get)],
        },
        // An override ends exactly at its deadline.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                Step::Admin(Admin::Override(vec![4], Some(1_000_000))),
                Step::Advance(1_000_000),
                Step::Acquire { units: Asked::All(1) },
                Step::Admin(Admin::Get),
            ],
        },
        // The reply names the limit that became too small, also in a policy with a concurrency limit.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 30), limit(Kind::Bucket, 4, 30)],
            steps: vec![Step::Admin(Admin::Override(vec![0, 2], None)), Step::Acquire { units: Asked::All(3) }],
        },
        Workload {
            limits: vec![limit(Kind::Concurrency, 4, 30), limit(Kind::Leaky, 4, 30), limit(Kind::Bucket, 4, 30)],
            steps: vec![Step::Admin(Admin::Override(vec![0, 3, 0], None)), Step::Peek { units: Asked::All(3) }],
        },
        // A waiter retries after an override has made its cost larger than the limit.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 60_000_000, Channel::None),
                wait(2, 3, 60_000_000, Channel::None),
                Step::Admin(Admin::Override(vec![3], None)),
                wait(2, 3, 60_000_000, Channel::None),
            ],
        },
        // While the limit is zero, waiters keep their positions and recheck.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 60_000_000, Channel::None),
                Step::Resize(0),
                wait(1, 1, 60_000_000, Channel::None),
                wait(2, 1, 60_000_000, Channel::None),
                wait(1, 1, 60_000_000, Channel::None),
            ],
        },
        // An override with a deadline in the past ends all overrides.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30), limit(Kind::Bucket, 2, 30)],
            steps: vec![
                Step::Admin(Admin::Override(vec![4, 0], None)),
                Step::Admin(Admin::Override(vec![0, 4], Some(-1))),
                Step::Acquire { units: Asked::All(2) },
                Step::Admin(Admin::Get),
            ],
        },
        // A removal keeps the end of the others.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30), limit(Kind::Bucket, 2, 30)],
            steps: vec![
                Step::Admin(Admin::Override(vec![4, 4], Some(1_000_000))),
                Step::Admin(Admin::Override(vec![1, 0], None)),
                Step::Admin(Admin::Get),
                Step::Advance(1_000_000),
                Step::Admin(Admin::Get),
            ],
        },
        // An override of the amount keeps the end of the interval that was learned from the upstream.
        Workload {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                report(None, ReportedBudget { remaining: None, amount: None, reset: Some(5_000_000) }),
                Step::Admin(Admin::Override(vec![4], None)),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
    ]
    .into_iter()
    .chain(Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Unlimited | Kind::Paused)).map(removals))
    .collect()
}

/// Returns a case that removes the override of a limit, and that of another with a label of its own.
fn removals(kind: Kind) -> Workload {
    let set = || Step::Admin(Admin::Override(vec![4, 4], Some(30_000_000)));
    let remove = |amounts: [u64; 2]| Step::Admin(Admin::Override(amounts.into(), None));
    Workload {
        limits: vec![limit(kind, 2, 30), Spec { number: 1, ..limit(Kind::Leaky, 2, 30) }],
        steps: vec![set(), remove([1, 0]), Step::Admin(Admin::Get), set(), remove([0, 1]), Step::Admin(Admin::Get)],
    }
}

fn report(caller: Option<usize>, budget: ReportedBudget) -> Step {
    Step::Report { caller, actual: None, budgets: vec![budget], pause: None }
}

fn remaining(remaining: u64) -> ReportedBudget {
    ReportedBudget { remaining: Some(remaining), amount: None, reset: None }
}

/// Returns cases of upstream reports.
pub fn reports() -> Vec<Workload> {
    vec![
        // A learned limit stays when the time of the report is no longer stored.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 30)],
            steps: vec![
                report(None, ReportedBudget { remaining: None, amount: Some(4), reset: None }),
                Step::Advance(301_000_000),
                Step::Admin(Admin::Get),
                take(0, 1),
            ],
        },
        // Two reports arrive for calls that were granted before both.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 300)],
            steps: vec![
                take(0, 1),
                Step::Advance(1_000_000),
                take(1, 1),
                Step::Advance(1_000_000),
                report(Some(0), remaining(3)),
                report(Some(1), remaining(1)),
            ],
        },
        // A report arrives too late after its call.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 300)],
            steps: vec![
                take(0, 1),
                Step::Advance(301_000_000),
                report(Some(0), remaining(0)),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // A later call is settled before the report of an earlier call arrives.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 300)],
            steps: vec![
                take(0, 1),
                Step::Advance(1_000_000),
                take(1, 1),
                Step::Correct { caller: 1, actual: Asked::All(1) },
                Step::Report { caller: Some(0), actual: Some(Asked::All(1)), budgets: vec![remaining(4)], pause: None },
                Step::Peek { units: Asked::All(1) },
            ],
        },
        // The learned interval becomes shorter than the stored offset.
        Workload {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                report(None, ReportedBudget { remaining: None, amount: Some(5), reset: Some(1_000_000) }),
                report(None, ReportedBudget { remaining: None, amount: Some(3), reset: None }),
                take(0, 1),
                Step::Admin(Admin::Get),
            ],
        },
        // The reported interval ends before the present one, or is over.
        Workload {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                Step::Advance(10_000_000),
                report(None, ReportedBudget { remaining: Some(1), amount: None, reset: Some(1_000_000) }),
                Step::Admin(Admin::Get),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        Workload {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                report(None, ReportedBudget { remaining: Some(0), amount: None, reset: Some(-1) }),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // A report moves the end of the interval after units were taken.
        Workload {
            limits: vec![limit(Kind::Bucket, 2, 30)],
            steps: vec![
                take(0, 2),
                Step::Advance(6_000_000),
                report(None, ReportedBudget { remaining: None, amount: None, reset: Some(27_000_000) }),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
    ]
}
