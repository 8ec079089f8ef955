//! Tests the library against a separate, naive oracle and against its guarantees.

use crate::support::library::Library;
use crate::support::memory_with_clock;
use crate::support::oracle::{Oracle, subject};
use crate::support::sequence::{
    Event, Implementation, NOTHING, Operation, Run, Sequence, Spec, compare, composite, config, keep_only,
    keeps_state_and_clock, sequence,
};
use crate::support::units::Units;
use crate::support::vectors::{cases, replay};
use num_rational::Ratio;
use paddlegate::Kind;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const SEEDS: &str = "proptest-regressions/oracle.txt";

#[test]
fn agrees_with_the_shared_vectors() {
    for file in ["leaky", "points", "bucket", "window", "throttle", "policy", "clock", "resize", "names"] {
        for case in cases(&format!("{file}.json")) {
            let limits = subject::rules(case["limits"].as_array().expect("limits"));
            replay(&case, &mut Oracle::new(&limits));
        }
    }
}

mod agrees {
    use super::*;

    proptest! {
        #![proptest_config(config(400, SEEDS))]

        #[test]
        fn on_buckets(sequence in sequence(vec![Kind::Bucket], 60)) { with_the_oracle(&sequence)?; }

        #[test]
        fn on_windows(sequence in sequence(vec![Kind::Window], 60)) { with_the_oracle(&sequence)?; }

        #[test]
        fn on_leaky_meters(sequence in sequence(vec![Kind::Leaky], 60)) { with_the_oracle(&sequence)?; }

        #[test]
        fn on_points(sequence in sequence(vec![Kind::Points], 60)) { with_the_oracle(&sequence)?; }

        #[test]
        fn on_throttles(sequence in sequence(vec![Kind::Throttle], 60)) { with_the_oracle(&sequence)?; }

        #[test]
        fn on_quotas(sequence in sequence(vec![Kind::Quota], 60)) { with_the_oracle(&sequence)?; }

        #[test]
        fn on_one_to_four_limits(sequence in composite(60)) { with_the_oracle(&sequence)?; }
    }

    fn with_the_oracle(sequence: &Sequence) -> TestCaseResult {
        compare(sequence, &mut library(sequence), &mut Oracle::new(&subject::of(&sequence.limits)))
    }
}

mod guarantees {
    use super::*;

    proptest! {
        #![proptest_config(config(300, SEEDS))]

        #[test]
        fn a_refused_call_passes_at_retry_after_and_not_a_microsecond_before(sequence in composite(40)) {
            let sequence = keep_only(sequence, |operation| !matches!(operation, Operation::Override(..) | Operation::Learn(_)));
            let (mut limiter, mut run) = (library(&sequence), Run::new(&sequence));
            for operation in &sequence.operations {
                let Event::Decided(units, outcome) = run.step(&mut limiter, operation) else { continue };
                // A peek of nothing only looks, whatever the call did.
                if outcome.allowed || units == NOTHING || !matches!(operation, Operation::Acquire(_)) {
                    continue;
                }
                let before = limiter.peek(run.at + outcome.retry_after - 1, &units);
                prop_assert!(!before.allowed && before.retry_after == 1, "{} then {}", outcome.text, before.text);
                let then = limiter.peek(run.at + outcome.retry_after, &units);
                prop_assert!(then.allowed, "{} then {}", outcome.text, then.text);
            }
        }

        #[test]
        fn a_limit_is_fully_available_at_reset_after_and_not_a_microsecond_before(sequence in composite(40)) {
            let mut sequence = keep_only(sequence, |operation| !matches!(operation, Operation::Override(..) | Operation::Learn(_)));
            sequence.limits.truncate(1);
            let (mut limiter, mut run) = (library(&sequence), Run::new(&sequence));
            for operation in &sequence.operations {
                let Event::Decided(_, outcome) = run.step(&mut limiter, operation) else { continue };
                if outcome.reset_after == 0 || !matches!(operation, Operation::Acquire(_)) {
                    continue;
                }
                prop_assert_eq!(limiter.peek(run.at + outcome.reset_after - 1, &NOTHING).reset_after, 1);
                let whole = limiter.peek(run.at + outcome.reset_after, &NOTHING);
                let most = if run.limits[0].kind == Kind::Throttle { 1 } else { run.limits[0].amount };
                prop_assert_eq!((whole.remaining, whole.reset_after), (most, 0));
            }
        }

        #[test]
        fn corrections_to_lower_costs_grant_no_more_than_the_costs_known_from_the_start(
            (limit, calls) in estimated_calls(),
        ) {
            let mut estimated = Library::new(&memory_with_clock(), "estimated", &[limit]);
            let mut known = Library::new(&memory_with_clock(), "known", &[limit]);
            let (mut at, mut open) = (1_700_000_000_000_000, Vec::new());
            for EstimatedCall { wait, estimate, actual, extension, corrected } in calls {
                at += wait;
                let decision = estimated.acquire(at, &Units::All(estimate), true);
                if decision.allowed {
                    let permit = estimated.permits().len() - 1;
                    let more = extension.filter(|units| estimated.extend(permit, false, *units, at).is_ok_and(|it| it.allowed));
                    let actual = actual % (estimate + more.unwrap_or(0) + 1);
                    prop_assert!(known.acquire(at, &Units::All(actual), false).allowed, "{actual} of {estimate} at {at}");
                    open.push((permit, actual));
                }
                for _ in 0..corrected.min(open.len()) {
                    let (permit, actual) = open.remove(open.len() / 2);
                    estimated.correct(permit, &Units::All(actual), at);
                }
            }
        }

        #[test]
        fn peeks_change_nothing(
            sequence in composite(40),
            times in prop::collection::vec(1..1_800_000_000_000_000_u64, 4),
        ) {
            let (mut plain, mut with_peeks) = (library(&sequence), library(&sequence));
            let (mut first_run, mut second_run) = (Run::new(&sequence), Run::new(&sequence));
            for operation in &sequence.operations {
                for time in times.iter().chain([&first_run.at]) {
                    with_peeks.peek(*time, &Units::All(1));
                    with_peeks.peek(*time, &second_run.largest());
                }
                prop_assert_eq!(first_run.step(&mut plain, operation), second_run.step(&mut with_peeks, operation));
            }
        }

        #[test]
        fn refusals_change_nothing_and_a_wait_may_be_split(sequence in composite(40), cut in 1..10_u64) {
            let sequence = keep_only(sequence, keeps_state_and_clock);
            let (mut plain, mut with_refusals) = (library(&sequence), library(&sequence));
            let (mut first_run, mut second_run) = (Run::new(&sequence), Run::new(&sequence));
            for operation in &sequence.operations {
                let until = match operation {
                    Operation::Wait(wait) => second_run.after(*wait),
                    _ => second_run.at,
                };
                for time in [second_run.at, second_run.at + (until - second_run.at) / cut, until] {
                    with_refusals.acquire(time, &NOTHING, false);
                    if !with_refusals.peek(time, &second_run.largest()).allowed {
                        with_refusals.acquire(time, &second_run.largest(), true);
                    }
                }
                prop_assert_eq!(first_run.step(&mut plain, operation), second_run.step(&mut with_refusals, operation));
            }
        }

        #[test]
        fn decisions_do_not_depend_on_the_start_time(sequence in composite(40), days in 0..20_000_u64) {
            let mut sequence = keep_only(sequence, keeps_state_and_clock);
            sequence.limits.retain(|limit| !matches!(limit.kind, Kind::Bucket | Kind::Quota));
            prop_assume!(!sequence.limits.is_empty());
            sequence.start = 1;
            let later = Sequence { start: 1 + days * 86_399_999_999, ..sequence.clone() };
            let (mut now, mut then) = (library(&sequence), library(&later));
            let (mut first_run, mut second_run) = (Run::new(&sequence), Run::new(&later));
            for operation in &sequence.operations {
                match (first_run.step(&mut now, operation), second_run.step(&mut then, operation)) {
                    (Event::Decided(_, outcome), Event::Decided(_, other)) => prop_assert_eq!(
                        (outcome.allowed, outcome.remaining, outcome.retry_after, outcome.reset_after),
                        (other.allowed, other.remaining, other.retry_after, other.reset_after)
                    ),
                    (event, other) => prop_assert_eq!(event, other),
                }
            }
        }

        #[test]
        fn no_limit_is_exceeded_whatever_the_clock_does(sequence in composite(80)) {
            let sequence = keep_only(sequence, |operation| {
                !matches!(
                    operation,
                    Operation::Resize(_)
                        | Operation::Override(..)
                        | Operation::Learn(_)
                        | Operation::Reset
                        | Operation::Lose
                        | Operation::Correct { .. }
                        | Operation::Refund(_)
                        | Operation::Extend { .. }
                )
            });
            let (mut limiter, mut run) = (library(&sequence), Run::new(&sequence));
            // Each with the limits of its policy.
            let mut grants: Vec<(u64, Units, Vec<usize>)> = Vec::new();
            for operation in &sequence.operations {
                let event = run.step(&mut limiter, operation);
                if let (Event::Decided(units, outcome), Operation::Acquire(cost)) = (event, operation)
                    && outcome.allowed
                    && (units != NOTHING || cost.estimate)
                {
                    prop_assert!(grants.last().is_none_or(|(at, ..)| *at <= outcome.at), "time ran backwards");
                    grants.push((outcome.at, units, run.limits.iter().map(|limit| limit.number).collect()));
                }
            }
            for limit in &sequence.limits {
                let counts = |grant: &&(u64, Units, Vec<usize>)| grant.2.contains(&limit.number);
                let units = |grant: &(u64, Units, Vec<usize>)| (grant.0, grant.1.of(&limit.name()));
                let of_limit: Vec<(u64, u64)> = grants.iter().filter(counts).map(units).collect();
                assert_within_limit(limit, &of_limit)?;
            }
        }
    }

    /// A call whose actual cost is at most what it has reserved, and how many calls are corrected after it.
    #[derive(Clone, Debug)]
    struct EstimatedCall {
        wait: u64,
        estimate: u64,
        actual: u64,
        extension: Option<u64>,
        corrected: usize,
    }

    /// Generates a limit that gives back no drained units, and calls.
    fn estimated_calls() -> impl Strategy<Value = (Spec, Vec<EstimatedCall>)> {
        const KINDS: [Kind; 5] = [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Quota];
        const INTERVALS: [u64; 5] = [7, 1_000, 99_991, 20_000_000, 60_000_000];
        let limit = (prop::sample::select(&KINDS[..]), 1..=40_u64, prop::sample::select(&INTERVALS[..]));
        let limit = limit.prop_map(|(kind, amount, interval)| {
            let offset = u64::from(matches!(kind, Kind::Leaky | Kind::Points));
            Spec { kind, number: 0, amount, interval, offset }
        });
        limit.prop_flat_map(|limit| {
            let amount = limit.amount;
            let wait = prop_oneof![3 => 0..=limit.interval / 3, 1 => Just(0), 1 => limit.interval..=2 * limit.interval];
            let call = (wait, 1..=amount, any::<u64>(), prop::option::weighted(0.2, 1..=amount), 0..=2_usize);
            let call = call.prop_map(|(wait, estimate, actual, extension, corrected)| EstimatedCall {
                wait,
                estimate,
                actual,
                extension,
                corrected,
            });
            (Just(limit), prop::collection::vec(call, 1..60))
        })
    }

    /// Checks the limit between every pair of grants.
    fn assert_within_limit(limit: &Spec, grants: &[(u64, u64)]) -> TestCaseResult {
        let interval = i128::from(limit.interval);
        for (first, (start, _)) in grants.iter().enumerate() {
            let mut sum = 0;
            for (end, units) in &grants[first..] {
                let (start, end) = (i128::from(*start), i128::from(*end));
                sum += if limit.kind == Kind::Throttle { 1 } else { i128::from(*units) };
                let most = match limit.kind {
                    Kind::Window if end - start >= interval => break,
                    Kind::Bucket => {
                        let number = |time| (time + i128::from(limit.offset)) / interval;
                        if number(start) != number(end) {
                            break;
                        }
                        Ratio::from(i128::from(limit.amount))
                    }
                    Kind::Quota => {
                        let rule = subject::of(&[*limit]).remove(0);
                        if rule.window_of(start) != rule.window_of(end) {
                            break;
                        }
                        Ratio::from(i128::from(limit.amount))
                    }
                    Kind::Window => Ratio::from(i128::from(limit.amount)),
                    // A throttle may be early by the fraction of a microsecond that the start before was late.
                    Kind::Throttle => Ratio::new(i128::from(limit.amount) * (1 + end - start) + interval, interval),
                    _ => Ratio::new(i128::from(limit.amount) * (interval + end - start), interval),
                };
                prop_assert!(Ratio::from(sum) <= most, "{:?}: {} units from {} to {}", limit, sum, start, end);
            }
        }
        Ok(())
    }
}

fn library(sequence: &Sequence) -> Library {
    Library::new(&memory_with_clock(), "x", &sequence.limits)
}
