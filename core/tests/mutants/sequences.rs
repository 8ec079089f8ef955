//! Returns operation sequences without a queue: random ones by seed, and cases that random ones rarely contain.

use paddlegate::Kind;

use crate::check::value;
use crate::support::sequence::{Cost, Operation, Sequence, Spec, Wait, plain_composite, plain_sequence};

/// Each of these seeds is the first to detect some mutant.
pub const SELECTED_SEEDS: &[u64] = &[0, 3, 5, 6, 11, 13, 18, 40, 98, 135, 17, 28, 39, 69, 70, 7, 48, 58, 21, 105];

/// The kinds of the random sequences, for which the seeds were chosen.
const KINDS: [Kind; 5] = [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle];

pub fn random(seed: u64) -> Sequence {
    let kinds = usize::try_from(seed % 10).expect("a few");
    KINDS
        .get(kinds)
        .map_or_else(|| value(&plain_composite(&KINDS, 60), seed), |kind| value(&plain_sequence(vec![*kind], 60), seed))
}

/// Returns cases that random sequences rarely contain.
pub fn rare() -> Vec<Sequence> {
    let take = |share, estimate| Operation::Acquire(Cost { share, estimate, by_label: None });
    let later = |by| Operation::Wait(Wait::By(by));
    let correct = |quarters| Operation::Correct { age: 0, quarters, by_label: None };
    let case = |kind, amount, interval, operations| {
        let limits = vec![Spec { kind, number: 0, amount, interval, offset: 0 }];
        Sequence { limits, start: 1_700_000_000_000_000, operations }
    };
    let (minute, second) = (60_000_000, 1_000_000);
    // Three limits of a kind; each policy has one or two of them, in their order or in the other.
    let policies = |kind| {
        let limits = (0..3).map(|number| Spec {
            kind,
            number,
            amount: 10,
            interval: [60_000_000, 600_000_000, 3_600_000_000][number],
            offset: 0,
        });
        let policy = |mask| [Operation::Policy(mask), take(3, true), later(7 * second), take(2, false), later(second)];
        let masks = [1, 2, 3, 0x83, 4, 6, 0x86, 5, 0x85, 1, 7, 0x87];
        let mut operations: Vec<Operation> = masks.into_iter().flat_map(policy).collect();
        // A refusal after the clock went backwards.
        operations.extend([Operation::Policy(2), take(10, false), later(-minute), take(10, false), later(second)]);
        Sequence { limits: limits.collect(), start: 1_700_000_000_000_000, operations }
    };
    let mut middle_of_log = vec![take(1, true)];
    middle_of_log.extend((0..3).flat_map(|_| [later(second), take(1, false)]));
    middle_of_log.extend([later(second), correct(12)]);
    middle_of_log.extend((0..60).map(|_| later(second)));
    let policies: Vec<Sequence> = KINDS.into_iter().chain([Kind::Quota]).map(policies).collect();
    let cases = vec![
        // One correction adds entries in the middle of a log, another adds more entries than a log may hold.
        case(Kind::Window, 10, 60_000_000, middle_of_log),
        case(
            Kind::Window,
            10,
            60_000_000,
            vec![
                take(6, true),
                correct(40),
                Operation::Resize(vec![(40, 60_000_000, 0)]),
                later(minute),
                take(1, false),
            ],
        ),
        // A permit is settled again, one microsecond before and exactly at the end of the memory for settled permits.
        case(
            Kind::Points,
            10,
            3_600_000_000,
            vec![take(2, true), correct(0), later(minute - 1), correct(0), later(1), correct(0)],
        ),
        case(Kind::Points, 10, 3_600_000_000, vec![take(2, true), later(5 * minute - 1), later(1), correct(0)]),
        // A correction follows in the next interval.
        case(Kind::Bucket, 10, 10, vec![later(9), take(2, true), later(1), correct(12)]),
        Sequence {
            limits: vec![Spec { kind: Kind::Bucket, number: 0, amount: 10, interval: 10, offset: 3 }],
            start: 1_700_000_000_000_000,
            operations: vec![later(6), take(2, true), later(1), correct(12)],
        },
        // A correction does not change an expired charge; a longer interval makes the charge visible again.
        case(Kind::Window, 10, 10, vec![take(6, true), later(10), correct(0), Operation::Resize(vec![(10, 1_000, 0)])]),
        // A correction gives back more units than a reduced limit still counts.
        case(
            Kind::Bucket,
            10,
            3_600_000_000,
            vec![take(8, true), Operation::Resize(vec![(2, 3_600_000_000, 0)]), correct(0)],
        ),
        case(
            Kind::Leaky,
            10,
            3_600_000_000,
            vec![take(8, true), Operation::Resize(vec![(2, 3_600_000_000, 0)]), correct(0)],
        ),
        // A resize with another scale converts fractions of a unit.
        case(Kind::Leaky, 3, 7, vec![take(2, false), later(1), Operation::Resize(vec![(5, 11, 0)]), take(1, false)]),
        // A throttle starts on average as often as its rate says.
        case(
            Kind::Throttle,
            3,
            10,
            (0..6).flat_map(|_| [take(1, false), Operation::Wait(Wait::RetryAfter(0))]).collect(),
        ),
        // So it does when each call is corrected in the microsecond of the next one.
        case(
            Kind::Throttle,
            3,
            10,
            (0..6).flat_map(|_| [take(1, true), Operation::Wait(Wait::RetryAfter(0)), correct(0)]).collect(),
        ),
        // A correction does not change a throttle, which counts starts.
        case(Kind::Throttle, 1, 60_000_000, vec![take(1, true), correct(0), take(1, true), correct(12)]),
    ];
    [policies, cases, quotas(), extensions(), many_extensions(), refunds(), changes(), learned()].concat()
}

/// Returns cases in which a lower limit rules for a time after more was taken than the policy allows.
fn learned() -> Vec<Sequence> {
    let minute = 60_000_000;
    let take = |share| Operation::Acquire(Cost { share, estimate: false, by_label: None });
    let of = |kind, lower: u64| {
        // The offset of a quota is its calendar.
        let limits = [kind, Kind::Bucket].into_iter().enumerate().map(|(number, kind)| Spec {
            kind,
            number,
            amount: 10,
            interval: minute,
            offset: 0,
        });
        let beside = Some([Some(0), Some(1), None, None]);
        let operations = vec![
            Operation::Learn(vec![(50, 5 * minute, 0), (100, minute, 0)]),
            take(10),
            take(10),
            take(10),
            take(10),
            Operation::Override(vec![(lower, minute, 0), (100, minute, 0)], Some(1_000_000)),
            // It takes nothing of the first limit, which stays as it is.
            Operation::Acquire(Cost { share: 0, estimate: false, by_label: beside }),
            Operation::Wait(Wait::By(1_000_000)),
            take(1),
            Operation::Restore,
            take(10),
        ];
        Sequence { limits: limits.collect(), start: 1_700_000_000_000_000, operations }
    };
    let kinds = [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Quota];
    kinds.into_iter().flat_map(|kind| [of(kind, 1), of(kind, 10)]).collect()
}

/// Returns cases of permits from before a limit was lowered or a period ended.
fn changes() -> Vec<Sequence> {
    let take = |share, estimate| Operation::Acquire(Cost { share, estimate, by_label: None });
    let later = |by| Operation::Wait(Wait::By(by));
    let correct = |quarters| Operation::Correct { age: 0, quarters, by_label: None };
    let (minute, second) = (60_000_000_i64, 1_000_000);
    vec![
        // Of a charge above a lowered limit no more than a debt can be left.
        Sequence {
            limits: vec![Spec { kind: Kind::Leaky, number: 0, amount: 10, interval: 40_000_000, offset: 1 }],
            start: 1_700_000_000_000_000,
            operations: vec![
                take(8, true),
                Operation::Resize(vec![(2, 40_000_000, 1)]),
                later(minute),
                take(2, false),
                correct(0),
            ],
        },
        // An extension takes what an earlier one has left, which a lowered limit can hold.
        Sequence {
            limits: vec![Spec { kind: Kind::Window, number: 0, amount: 9, interval: minute.unsigned_abs(), offset: 0 }],
            start: 1_700_000_000_000_000,
            operations: vec![
                take(1, true),
                Operation::Extend { age: 0, share: 0, is_first_id: true },
                Operation::Override(vec![(7, minute.unsigned_abs(), 0)], None),
                Operation::Extend { age: 0, share: 7, is_first_id: true },
            ],
        },
        // A permit of the day before, which ends 100 seconds after the start, does not change this day.
        Sequence {
            limits: vec![Spec { kind: Kind::Quota, number: 0, amount: 10, interval: 0, offset: 0 }],
            start: 1_700_006_300_000_000,
            operations: vec![take(6, true), later(200 * second), take(3, false), correct(0)],
        },
    ]
}

/// Returns cases of a quota of ten units: of days of UTC, and of months from the 31st on.
fn quotas() -> Vec<Sequence> {
    let take = |share, estimate| Operation::Acquire(Cost { share, estimate, by_label: None });
    let (later, wait) = (|by| Operation::Wait(Wait::By(by)), |more| Operation::Wait(Wait::RetryAfter(more)));
    let correct = |quarters| Operation::Correct { age: 0, quarters, by_label: None };
    let debit = Operation::Debit(Cost { share: 10, estimate: false, by_label: None });
    let month = 31 * 86_400_000_000;
    let quota = |calendar, operations| {
        let limits = vec![Spec { kind: Kind::Quota, number: 0, amount: 10, interval: 0, offset: calendar }];
        Sequence { limits, start: 1_700_000_000_000_000, operations }
    };
    let over_an_end = |more| {
        vec![
            take(10, true),
            take(1, false),
            wait(more),
            correct(0),
            take(1, true),
            correct(40),
            later(1),
            take(10, false),
        ]
    };
    let of_calendar = |calendar| {
        vec![
            quota(calendar, over_an_end(-1)),
            quota(calendar, over_an_end(0)),
            quota(calendar, over_an_end(1)),
            quota(calendar, vec![take(2, true), correct(0), debit.clone(), debit.clone(), take(1, false)]),
            quota(calendar, vec![take(8, true), Operation::Resize(vec![(2, 1, calendar)]), take(1, false), correct(0)]),
            quota(calendar, vec![take(8, true), correct(40), take(1, true), later(2 * month), take(1, true)]),
            // A clock that runs back by more than the periods that a call knows.
            quota(
                calendar,
                vec![later(3 * month), take(9, true), later(-3 * month), take(2, true), take(1, true), correct(0)],
            ),
        ]
    };
    [of_calendar(0), of_calendar(5)].concat()
}

/// Returns cases of units that are given back without a permit.
fn refunds() -> Vec<Sequence> {
    let second = 1_000_000;
    let take = |share| Operation::Acquire(Cost { share, estimate: false, by_label: None });
    let refund = |share| Operation::Refund(Cost { share, estimate: false, by_label: None });
    let later = |by| Operation::Wait(Wait::By(by));
    let of = |kinds: &[Kind]| {
        let limit =
            |(number, kind): (usize, &Kind)| Spec { kind: *kind, number, amount: 10, interval: 60_000_000, offset: 0 };
        let mut operations =
            vec![take(4), later(second), take(3), later(second), take(2), refund(1), take(2), later(second)];
        operations.extend([refund(4), later(56 * second), take(3), later(second), refund(2), take(1), refund(0)]);
        operations.extend([
            Operation::Override(vec![(5, 60_000_000, 0); 4], None),
            refund(1),
            take(1),
            refund(10),
            refund(3),
        ]);
        operations.extend([later(-20 * second), refund(0), later(second), take(1)]);
        Sequence { limits: kinds.iter().enumerate().map(limit).collect(), start: 1_700_000_000_000_000, operations }
    };
    let one = [Kind::Window, Kind::Bucket, Kind::Leaky, Kind::Points, Kind::Quota].map(|kind| of(&[kind]));
    [one.to_vec(), vec![of(&[Kind::Window, Kind::Throttle, Kind::Leaky]), of(&[Kind::Bucket, Kind::Window])]].concat()
}

/// Returns cases of permits with several extensions at different times, which are then corrected.
fn many_extensions() -> Vec<Sequence> {
    let (minute, second) = (60_000_000, 1_000_000);
    let take = |share, estimate| Operation::Acquire(Cost { share, estimate, by_label: None });
    let later = |by| Operation::Wait(Wait::By(by));
    let correct = |quarters| Operation::Correct { age: 0, quarters, by_label: None };
    let extend = |share| Operation::Extend { age: 0, share, is_first_id: false };
    let spec = |kind, number, interval| Spec { kind, number, amount: 20, interval, offset: 0 };
    let of = |limits: Vec<Spec>, step: i64, last: Operation| {
        let operations = vec![
            take(3, true),
            later(step),
            extend(1),
            take(2, false),
            later(step),
            extend(3),
            later(step),
            extend(0),
            take(1, false),
            last,
            Operation::Peek(Cost { share: 0, estimate: false, by_label: None }),
            take(9, false),
            later(step),
            take(9, false),
            later((60 * second - 4 * step).max(0)),
            take(9, false),
            later(step),
            take(9, false),
            later(step),
            take(9, false),
        ];
        Sequence { limits, start: 1_700_000_040_000_000, operations }
    };
    let window = || spec(Kind::Window, 0, minute);
    // A minute begins at 1,700,000,040 s, so that some permits reserve in two of them.
    let several = vec![
        window(),
        Spec { amount: 1, ..spec(Kind::Throttle, 1, 1) },
        spec(Kind::Bucket, 2, minute),
        spec(Kind::Points, 3, minute),
    ];
    let mut cases = Vec::new();
    for limits in [vec![window()], vec![spec(Kind::Bucket, 0, minute)], several] {
        for step in [0, 1, 7 * second, 25 * second, 30 * second] {
            for quarters in [0, 1, 3, 5, 40, 60] {
                cases.push(of(limits.clone(), step, correct(quarters)));
            }
        }
    }
    // More extensions than a permit remembers.
    let mut operations = vec![take(1, true)];
    operations.extend((0..40).flat_map(|_| [later(1), extend(0)]));
    operations.extend([correct(0), take(9, false), later(60 * second), take(9, false)]);
    let limits = vec![Spec { amount: 100, ..window() }];
    cases.push(Sequence { limits, start: 1_700_000_000_000_000, operations });
    cases
}

/// Returns cases of extensions of permits.
fn extensions() -> Vec<Sequence> {
    let take = |share, estimate| Operation::Acquire(Cost { share, estimate, by_label: None });
    let later = |by| Operation::Wait(Wait::By(by));
    let correct = |quarters| Operation::Correct { age: 0, quarters, by_label: None };
    let extend = |share, is_first_id| Operation::Extend { age: 0, share, is_first_id };
    let second = 1_000_000;
    let of_limits = |limits: Vec<Spec>| {
        let operations = vec![
            take(2, true),
            extend(2, true),
            extend(2, true),
            later(second),
            extend(1, false),
            extend(9, false),
            Operation::Peek(Cost { share: 0, estimate: false, by_label: None }),
            later(30 * second),
            extend(0, true),
            correct(1),
            extend(0, false),
            take(1, true),
            later(300 * second - 1),
            extend(0, false),
            later(1),
            extend(0, false),
            correct(0),
        ];
        Sequence { limits, start: 1_700_000_000_000_000, operations }
    };
    let spec = |kind, number, offset| Spec { kind, number, amount: 10, interval: 60_000_000, offset };
    let mut cases: Vec<Sequence> = KINDS
        .into_iter()
        .chain([Kind::Quota])
        .flat_map(|kind| [0, 1].map(|offset| of_limits(vec![spec(kind, 0, offset)])))
        .collect();
    let of_one =
        |operations| Sequence { limits: vec![spec(Kind::Points, 0, 0)], start: 1_700_000_000_000_000, operations };
    // A refusal after the clock went backwards, and a repetition while there is a debt.
    cases.push(of_one(vec![take(10, true), later(-60 * second), extend(8, false), later(second), later(second)]));
    let debit = Operation::Debit(Cost { share: 6, estimate: false, by_label: None });
    cases.push(of_one(vec![take(2, true), extend(2, true), debit, extend(2, true)]));
    cases.push(of_limits(vec![spec(Kind::Window, 0, 0), spec(Kind::Throttle, 1, 0), spec(Kind::Bucket, 2, 0)]));
    cases.push(of_limits(vec![spec(Kind::Quota, 0, 0), spec(Kind::Points, 1, 1), spec(Kind::Leaky, 2, 0)]));
    cases
}
