//! Returns workloads of callers with ids: random ones by seed, and cases that random ones rarely contain.

use paddlegate::Kind;

use crate::admin;
use crate::check::value;
use crate::history;
use crate::hosts;
use crate::orders;
use crate::policies;
use crate::support::sequence::Spec;
use crate::support::workload::{
    Admin, Asked, Channel, Costs, Order, ReportedBudget, Step, WaitOptions, Workload, workload, workload_with_admin,
    workload_with_aging, workload_with_late_callers, workload_with_modes,
};

/// Each of these seeds is the first to detect some mutant.
pub const SELECTED_SEEDS: &[u64] = &[
    4, 5, 6, 7, 8, 9, 10, 11, 15, 20, 22, 23, 33, 38, 47, 59, 70, 77, 84, 103, 107, 114, 117, 129, 148, 167, 177, 202,
    213, 223, 230, 199, 151, 28, 128, 212, 215,
];

/// Each of these seeds detects some mutant of a mode or a block.
pub const MODE_SEEDS: &[u64] =
    &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 87, 47, 179, 31, 38, 116, 17, 15, 203, 77, 123, 23, 42, 40, 213];

/// The same of workloads with several policies.
pub const POLICY_SEEDS: &[u64] = &[0, 1, 2, 3, 5, 6, 7, 8, 47, 97, 42, 234];

/// The same of workloads with priorities and shares.
pub const SHARE_SEEDS: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 232, 79, 45, 95, 77, 213, 53, 65];

/// The same of those whose callers rise in the queue.
pub const AGING_SEEDS: &[u64] = &[0, 1, 4, 6, 10];

/// The same of those whose callers come back late.
pub const LATE_SEEDS: &[u64] = &[0, 1, 2, 3, 4, 6, 7, 10, 12, 13, 32, 78];

const KINDS: [&[Kind]; 6] = [
    &[Kind::Concurrency],
    &[Kind::Leaky],
    &[Kind::Bucket],
    &[Kind::Window],
    &[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky],
    &[Kind::Points, Kind::Bucket],
];

pub fn random(seed: u64) -> Workload {
    let [kinds, has_admin] = [seed % 6, seed / 6 % 2];
    let kinds = KINDS[usize::try_from(kinds).expect("a few")];
    if has_admin == 0 {
        value(&workload(kinds, 50, Costs::Numbers), seed)
    } else {
        value(&workload_with_admin(kinds, 50, Costs::Numbers), seed)
    }
}

/// Returns a random workload whose calls have priorities and shares.
pub fn random_shares(seed: u64) -> Workload {
    let kinds = KINDS[usize::try_from(seed % 6).expect("a few")];
    value(&workload_with_admin(kinds, 50, Costs::Shares), seed)
}

/// Returns a random workload whose calls have priorities and shares, and rise in the queue.
pub fn random_aging(seed: u64) -> Workload {
    value(&workload_with_aging(KINDS[usize::try_from(seed % 6).expect("a few")], 50), seed)
}

/// Returns a random workload whose callers come back late.
pub fn random_late(seed: u64) -> Workload {
    value(&workload_with_late_callers(KINDS[usize::try_from(seed % 6).expect("a few")], 50), seed)
}

/// Returns a random workload with modes, blocks and commands.
pub fn random_modes(seed: u64) -> Workload {
    value(&workload_with_modes(KINDS[usize::try_from(seed % 6).expect("a few")], 50), seed)
}

/// Returns a random workload whose calls have several policies of the same name. Limits keep their numbers: Redis keeps
/// what was taken of a limit that later calls do not have only for as long as its numbers say.
pub fn random_policies(seed: u64) -> Workload {
    let Workload { limits, steps } =
        value(&workload(KINDS[usize::try_from(seed % 3 + 3).expect("a few")], 50, Costs::Numbers), seed);
    let others = [vec![Kind::Leaky], vec![Kind::Bucket, Kind::Window], vec![Kind::Throttle]];
    let mut limits = limits;
    for kind in others[usize::try_from(seed / 3 % 3).expect("a few")].clone() {
        limits.push(Spec { kind, number: limits.len(), ..limits[0] });
    }
    let mut policies = seed;
    let steps = steps.into_iter().filter(|step| !matches!(step, Step::Resize(_))).enumerate().flat_map(|(i, step)| {
        policies = policies.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let all = (1 << limits.len()) - 1;
        let policy = u8::try_from((policies >> 33) % all + 1).expect("a mask");
        (i % 3 == 0).then_some(Step::Policy(policy)).into_iter().chain([step])
    });
    let steps = steps.collect();
    Workload { limits, steps }
}

/// Returns cases that random workloads rarely contain.
pub fn rare() -> Vec<Workload> {
    let new = [
        quotas(),
        extensions(),
        orders::shares(),
        orders::aging(),
        orders::turns(),
        orders::ready(),
        hosts::lists(),
        hosts::turns(),
        orders::passed(),
        orders::refusals(),
    ]
    .concat();
    [wakeups(), leases(), rates(), policies::cases(), admin::admin_commands(), admin::reports(), history::cases(), new]
        .concat()
}

/// The options of a waiter that returns with its previous ticket number.
const NO_ORDER: Order = Order { priority: 0, share: 0, weight: 1 };

pub const RETURNING: WaitOptions = WaitOptions {
    max_wait: 1_000_000_000,
    claim_timeout: 1,
    channel: Channel::None,
    position: 1,
    keep: 0,
    order: NO_ORDER,
};

pub fn limit(kind: Kind, amount: u64, seconds: u64) -> Spec {
    Spec { kind, number: 0, amount, interval: seconds * 1_000_000, offset: 0 }
}

pub fn take(caller: usize, units: u64) -> Step {
    Step::Enter { caller, units: Asked::All(units), estimate: true, wait: None }
}

pub fn wait(caller: usize, units: u64, claim_timeout: u64, channel: Channel) -> Step {
    let waiting =
        WaitOptions { max_wait: 1_000_000_000, claim_timeout, channel, position: 0, keep: 0, order: NO_ORDER };
    Step::Enter { caller, units: Asked::All(units), estimate: false, wait: Some(waiting) }
}

pub fn release(caller: usize) -> Step {
    Step::Release { caller }
}

/// Returns cases of the wake-ups of waiters.
fn wakeups() -> Vec<Workload> {
    vec![
        // A correction lets two waiters pass earlier; the channel of the first has no subscriber.
        Workload {
            limits: vec![limit(Kind::Leaky, 2, 6)],
            steps: vec![
                take(0, 2),
                wait(1, 2, 1, Channel::Unsubscribed),
                wait(2, 2, 1, Channel::Subscribed),
                Step::Correct { caller: 0, actual: Asked::All(1) },
            ],
        },
        // When the only waiter has left the queue, a peek ignores the queue.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 60_000_000, Channel::Subscribed),
                Step::Cancel { caller: 1, gave_up: false },
                release(0),
                Step::Peek { units: Asked::All(1) },
            ],
        },
        // When a raised limit lets two waiters pass and the second one retries, it gets no wake-up.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 2_000_000, Channel::Subscribed),
                wait(2, 1, 2_000_000, Channel::Subscribed),
                Step::Resize(3),
                wait(2, 1, 2_000_000, Channel::Subscribed),
            ],
        },
        // When a raised limit lets two waiters pass and the first one retries, the second gets a wake-up.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 2_000_000, Channel::Subscribed),
                wait(2, 1, 2_000_000, Channel::Subscribed),
                Step::Resize(3),
                wait(1, 1, 2_000_000, Channel::Subscribed),
            ],
        },
        // One waiter has a maximum wait of zero; the ticket of another expires before it returns.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                Step::Enter {
                    caller: 5,
                    units: Asked::All(1),
                    estimate: false,
                    wait: Some(WaitOptions { max_wait: 0, ..RETURNING }),
                },
                wait(1, 1, 1, Channel::None),
                wait(2, 1, 30_000_000, Channel::None),
                Step::Advance(5_000_001),
                Step::Cancel { caller: 0, gave_up: false },
                Step::Enter { caller: 1, units: Asked::All(1), estimate: false, wait: Some(RETURNING) },
            ],
        },
    ]
}

/// Returns cases of the expiry and the release of leases.
fn leases() -> Vec<Workload> {
    vec![
        // Two waiters get a wake-up, and the first has the shorter claim timeout.
        Workload {
            limits: vec![limit(Kind::Concurrency, 2, 30)],
            steps: vec![
                take(0, 1),
                take(1, 1),
                wait(2, 1, 500_000, Channel::Subscribed),
                wait(3, 1, 2_000_000, Channel::Subscribed),
                wait(4, 1, 2_000_000, Channel::Subscribed),
                release(0),
                release(1),
            ],
        },
        // Leases are held for a millisecond and for two.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), Step::Advance(1_000), release(0), take(1, 1), Step::Advance(2_000), release(1)],
        },
        // A lease is renewed, taken over and released exactly at its expiry.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), Step::Advance(30_000_000), Step::Renew { caller: 0 }, take(1, 1), release(0)],
        },
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), Step::Advance(30_000_000), take(0, 1)],
        },
        // A new lease of the same id follows an expired one.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                Step::Advance(30_000_000),
                take(0, 1),
                Step::RenewOld { caller: 0 },
                Step::ReleaseOld { caller: 0 },
                take(1, 1),
            ],
        },
        // A peek follows the expiry of the lease and of the queue.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                wait(1, 1, 1, Channel::None),
                Step::Advance(31_000_000),
                Step::Peek { units: Asked::All(1) },
            ],
        },
        // The call of a new caller wakes a waiter after the limit was raised.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![take(0, 1), wait(1, 1, 1, Channel::Subscribed), Step::Resize(2), take(2, 1)],
        },
        // A renewed lease does not expire at its first deadline.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30)],
            steps: vec![
                take(0, 1),
                Step::Advance(20_000_000),
                Step::Renew { caller: 0 },
                Step::Advance(20_000_000),
                take(1, 1),
                release(0),
            ],
        },
        // The wait for the rate is longer than the recheck time of a waiter for a lease.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 30), limit(Kind::Window, 1, 10)],
            steps: vec![take(0, 1), wait(1, 1, 1, Channel::None)],
        },
    ]
}

/// Returns cases of the units that tickets ahead take.
fn rates() -> Vec<Workload> {
    vec![
        // A small cost waits behind a larger one while units are left; later the whole queue expires.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 1, Channel::None),
                wait(2, 1, 1, Channel::None),
                wait(2, 1, 1, Channel::None),
                Step::Cancel { caller: 1, gave_up: false },
                Step::Cancel { caller: 2, gave_up: false },
                wait(3, 4, 1, Channel::None),
                Step::Advance(30_000_000),
                wait(4, 2, 1, Channel::None),
                Step::Acquire { units: Asked::All(1) },
                Step::Advance(31_000_000),
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // The first of several waiters with different costs leaves the queue.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 30)],
            steps: vec![
                take(0, 4),
                wait(1, 2, 1, Channel::None),
                wait(2, 2, 1, Channel::None),
                wait(3, 1, 1, Channel::None),
                wait(4, 4, 1, Channel::None),
                Step::Cancel { caller: 1, gave_up: false },
                wait(3, 1, 1, Channel::None),
            ],
        },
        // The first new caller passes, because the waiter ahead can pass too; the second does not.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 60_000_000, Channel::None),
                Step::Advance(20_000_000),
                Step::Acquire { units: Asked::All(1) },
                Step::Acquire { units: Asked::All(1) },
            ],
        },
        // A waiter leaves the middle of a queue in which each waiter has a cost of 1.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 30)],
            steps: vec![
                take(0, 4),
                wait(1, 1, 1, Channel::None),
                wait(2, 1, 1, Channel::None),
                wait(3, 1, 1, Channel::None),
                wait(4, 1, 1, Channel::None),
                Step::Cancel { caller: 2, gave_up: false },
                wait(3, 1, 1, Channel::None),
            ],
        },
        // A waiter returns to the head of the queue after it had left.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 30)],
            steps: vec![
                take(0, 4),
                wait(1, 2, 60_000_000, Channel::None),
                wait(2, 2, 60_000_000, Channel::None),
                wait(3, 1, 60_000_000, Channel::None),
                Step::Cancel { caller: 1, gave_up: false },
                Step::Enter { caller: 1, units: Asked::All(2), estimate: false, wait: Some(RETURNING) },
                wait(3, 1, 60_000_000, Channel::None),
            ],
        },
    ]
}

fn reported(remaining: Option<u64>, amount: Option<u64>) -> Step {
    let budgets = vec![ReportedBudget { remaining, amount, reset: None }];
    Step::Report { caller: None, actual: None, budgets, pause: None }
}

/// Returns cases of a quota of days.
fn quotas() -> Vec<Workload> {
    let queue = |caller, units| wait(caller, units, 60_000_000, Channel::None);
    vec![
        // A correction of what was granted before midnight changes nothing of the new day.
        Workload {
            limits: vec![limit(Kind::Quota, 4, 0)],
            steps: vec![
                Step::Advance(6_390_000_000),
                take(0, 2),
                Step::Advance(20_000_000),
                take(1, 1),
                Step::Correct { caller: 0, actual: Asked::All(3) },
                Step::Acquire { units: Asked::All(3) },
            ],
        },
        // Those ahead fill one, two, three and more periods.
        Workload {
            limits: vec![limit(Kind::Quota, 4, 0)],
            steps: vec![
                take(0, 4),
                queue(1, 3),
                queue(2, 4),
                queue(3, 2),
                queue(4, 4),
                queue(5, 4),
                Step::Acquire { units: Asked::All(1) },
                Step::RetryAfter(-1),
                queue(1, 3),
                Step::RetryAfter(0),
                queue(1, 3),
                queue(2, 4),
            ],
        },
        // Overrides and reports change the number, and the periods stay.
        Workload {
            limits: vec![limit(Kind::Quota, 4, 0)],
            steps: vec![
                take(0, 2),
                Step::Admin(Admin::Override(vec![6], None)),
                take(1, 3),
                Step::Acquire { units: Asked::All(1) },
                Step::RetryAfter(0),
                Step::Acquire { units: Asked::All(4) },
                Step::Admin(Admin::Override(vec![1], None)),
                reported(Some(1), Some(4)),
                Step::Admin(Admin::Get),
                Step::Acquire { units: Asked::All(1) },
                Step::Acquire { units: Asked::All(1) },
                Step::RetryAfter(0),
                Step::Acquire { units: Asked::All(3) },
                Step::Acquire { units: Asked::All(1) },
                reported(Some(3), None),
                reported(None, Some(5)),
                Step::Admin(Admin::Get),
            ],
        },
        // A debt does not last for more than its period.
        Workload {
            limits: vec![limit(Kind::Quota, 4, 0)],
            steps: vec![take(0, 4), Step::Correct { caller: 0, actual: Asked::All(8) }, queue(1, 1), queue(2, 4)],
        },
    ]
}

/// Returns cases of extensions of permits beside leases, tickets and overrides.
fn extensions() -> Vec<Workload> {
    let extend = |caller, units, is_first_id| Step::Extend { caller, units: Asked::All(units), is_first_id };
    let by_label = |each: [Option<u64>; 4]| Asked::ByLabel(each);
    let labelled = |caller, each| Step::Enter { caller, units: by_label(each), estimate: true, wait: None };
    let second = |kind, amount, seconds| Spec { number: 1, ..limit(kind, amount, seconds) };
    let peek = Step::Peek { units: Asked::All(1) };
    vec![
        // Leases are not taken again, also when all are held.
        Workload {
            limits: vec![limit(Kind::Concurrency, 1, 60), second(Kind::Points, 4, 40)],
            steps: vec![
                take(0, 1),
                extend(0, 2, true),
                extend(0, 1, false),
                extend(0, 1, false),
                take(0, 1),
                Step::Correct { caller: 0, actual: Asked::All(1) },
                release(0),
            ],
        },
        // The order of the tags is not that of the policy, and the units differ.
        Workload {
            limits: vec![limit(Kind::Window, 4, 60), second(Kind::Leaky, 4, 40)],
            steps: vec![
                labelled(0, [Some(1), Some(2), None, None]),
                Step::Extend { caller: 0, units: by_label([None, Some(1), None, None]), is_first_id: true },
                Step::Extend { caller: 0, units: by_label([Some(1), None, None, None]), is_first_id: false },
                Step::Extend { caller: 0, units: by_label([Some(1), None, None, None]), is_first_id: true },
                peek.clone(),
                Step::Correct { caller: 0, actual: by_label([Some(0), Some(0), None, None]) },
                peek.clone(),
            ],
        },
        Workload {
            limits: vec![limit(Kind::Window, 4, 60), second(Kind::Leaky, 4, 40)],
            steps: vec![
                labelled(0, [Some(1), Some(2), None, None]),
                Step::Extend { caller: 0, units: by_label([None, Some(1), None, None]), is_first_id: true },
                Step::Extend { caller: 0, units: by_label([Some(2), None, None, None]), is_first_id: true },
                peek.clone(),
            ],
        },
        // A limit below the units is an error if the policy's is too, else a refusal, which describes the override.
        Workload {
            limits: vec![limit(Kind::Leaky, 4, 40)],
            steps: vec![
                take(0, 1),
                extend(0, 5, true),
                Step::Admin(Admin::Override(vec![2], None)),
                extend(0, 1, true),
                extend(0, 3, true),
                extend(0, 1, false),
            ],
        },
        // A raised limit lets a waiter pass, who is told; one that the extension takes the place of is not.
        Workload {
            limits: vec![limit(Kind::Leaky, 1, 40)],
            steps: vec![take(0, 1), wait(1, 1, 60_000_000, Channel::Subscribed), Step::Resize(4), extend(0, 1, true)],
        },
        Workload {
            limits: vec![limit(Kind::Leaky, 1, 40)],
            steps: vec![take(0, 1), wait(1, 1, 60_000_000, Channel::Subscribed), Step::Resize(2), extend(0, 1, true)],
        },
        // Units of extensions are counted.
        Workload { limits: vec![limit(Kind::Bucket, 4, 60)], steps: vec![take(0, 1), extend(0, 3, true)] },
    ]
}
