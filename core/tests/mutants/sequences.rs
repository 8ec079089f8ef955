//! Operation sequences without a queue: random ones by seed, and cases that random ones rarely contain.

use paddlegate::Kind;

use crate::check::value;
use crate::support::script::{Ask, COUNTED, Operation, Script as Sequence, Spec, Wait, composite, script};

/// Each of these seeds is the first to detect some mutant.
pub const CHOSEN: &[u64] = &[0, 3, 5, 6, 11, 13, 18, 40, 98, 135];

pub fn random(seed: u64) -> Sequence {
    let kinds = usize::try_from(seed % 10).expect("a few");
    COUNTED.get(kinds).map_or_else(|| value(&composite(60), seed), |kind| value(&script(vec![*kind], 60), seed))
}

/// Returns cases that random sequences rarely contain.
pub fn rare() -> Vec<Sequence> {
    let take = |share, estimate| Operation::Acquire(Ask { share, estimate });
    let later = |by| Operation::Wait(Wait::By(by));
    let correct = |quarters| Operation::Correct { age: 0, quarters };
    let sequence = |kind, amount, interval, operations| {
        let limits = vec![Spec { kind, amount, interval, offset: 0 }];
        Sequence { limits, start: 1_700_000_000_000_000, operations }
    };
    let (minute, second) = (60_000_000, 1_000_000);
    let mut middle = vec![take(1, true)];
    middle.extend((0..3).flat_map(|_| [later(second), take(1, false)]));
    middle.extend([later(second), correct(12)]);
    middle.extend((0..60).map(|_| later(second)));
    vec![
        // A correction that adds entries in the middle of a log, and one that adds more than a log may hold.
        sequence(Kind::Window, 10, 60_000_000, middle),
        sequence(
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
        // Settled again, and too late, to the microsecond.
        sequence(
            Kind::Points,
            10,
            3_600_000_000,
            vec![take(2, true), correct(0), later(minute - 1), correct(0), later(1), correct(0)],
        ),
        sequence(Kind::Points, 10, 3_600_000_000, vec![take(2, true), later(5 * minute - 1), later(1), correct(0)]),
        // Corrected in the next interval.
        sequence(Kind::Bucket, 10, 10, vec![later(9), take(2, true), later(1), correct(12)]),
        Sequence {
            limits: vec![Spec { kind: Kind::Bucket, amount: 10, interval: 10, offset: 3 }],
            start: 1_700_000_000_000_000,
            operations: vec![later(6), take(2, true), later(1), correct(12)],
        },
        // What has expired is not corrected, as a longer interval shows.
        sequence(
            Kind::Window,
            10,
            10,
            vec![take(6, true), later(10), correct(0), Operation::Resize(vec![(10, 1_000, 0)])],
        ),
        // More is given back than is left after a smaller limit.
        sequence(
            Kind::Bucket,
            10,
            3_600_000_000,
            vec![take(8, true), Operation::Resize(vec![(2, 3_600_000_000, 0)]), correct(0)],
        ),
        sequence(
            Kind::Leaky,
            10,
            3_600_000_000,
            vec![take(8, true), Operation::Resize(vec![(2, 3_600_000_000, 0)]), correct(0)],
        ),
        // Parts of a unit under another scale.
        sequence(
            Kind::Leaky,
            3,
            7,
            vec![take(2, false), later(1), Operation::Resize(vec![(5, 11, 0)]), take(1, false)],
        ),
        // A throttle counts starts.
        sequence(Kind::Throttle, 1, 60_000_000, vec![take(1, true), correct(0), take(1, true), correct(12)]),
    ]
}
