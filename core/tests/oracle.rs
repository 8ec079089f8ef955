//! Tests the library against a separate, naive oracle and against its guarantees.

mod support;

use num_rational::Ratio;
use paddlegate::{Kind, Paddlegate};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use support::oracle::{Oracle, subject};
use support::script::{Event, Operation, Run, Script, Side, Spec, compare, composite, config, is_calm, only, script};
use support::side::Library;
use support::vectors::{cases, replay};

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
        fn on_buckets(script in script(vec![Kind::Bucket], 60)) { with_the_oracle(&script)?; }

        #[test]
        fn on_windows(script in script(vec![Kind::Window], 60)) { with_the_oracle(&script)?; }

        #[test]
        fn on_leaky_meters(script in script(vec![Kind::Leaky], 60)) { with_the_oracle(&script)?; }

        #[test]
        fn on_points(script in script(vec![Kind::Points], 60)) { with_the_oracle(&script)?; }

        #[test]
        fn on_throttles(script in script(vec![Kind::Throttle], 60)) { with_the_oracle(&script)?; }

        #[test]
        fn on_one_to_four_limits(script in composite(60)) { with_the_oracle(&script)?; }
    }

    fn with_the_oracle(script: &Script) -> TestCaseResult {
        compare(script, &mut library(script), &mut Oracle::new(&subject::of(&script.limits)))
    }
}

mod promises {
    use super::*;

    proptest! {
        #![proptest_config(config(300, SEEDS))]

        #[test]
        fn a_refused_call_passes_at_retry_after_and_not_a_microsecond_before(script in composite(40)) {
            let (mut limiter, mut run) = (library(&script), Run::new(&script));
            for operation in &script.operations {
                let Event::Told(units, told) = run.step(&mut limiter, operation) else { continue };
                if told.allowed || !matches!(operation, Operation::Acquire(_)) {
                    continue;
                }
                let before = limiter.peek(run.at + told.retry_after - 1, units);
                prop_assert!(!before.allowed && before.retry_after == 1, "{} then {}", told.text, before.text);
                let then = limiter.peek(run.at + told.retry_after, units);
                prop_assert!(then.allowed, "{} then {}", told.text, then.text);
            }
        }

        #[test]
        fn a_limit_is_whole_at_reset_after_and_not_a_microsecond_before(mut script in composite(40)) {
            script.limits.truncate(1);
            let (mut limiter, mut run) = (library(&script), Run::new(&script));
            for operation in &script.operations {
                let Event::Told(_, told) = run.step(&mut limiter, operation) else { continue };
                if told.reset_after == 0 || !matches!(operation, Operation::Acquire(_)) {
                    continue;
                }
                prop_assert_eq!(limiter.peek(run.at + told.reset_after - 1, 0).reset_after, 1);
                let whole = limiter.peek(run.at + told.reset_after, 0);
                prop_assert_eq!((whole.remaining, whole.reset_after), (run.limits[0].amount, 0));
            }
        }

        #[test]
        fn looks_change_nothing(script in composite(40), times in prop::collection::vec(1..1_800_000_000_000_000_u64, 4)) {
            let (mut plain, mut watched) = (library(&script), library(&script));
            let (mut here, mut there) = (Run::new(&script), Run::new(&script));
            for operation in &script.operations {
                for time in times.iter().chain([&here.at]) {
                    watched.peek(*time, 1);
                    watched.peek(*time, there.fits());
                }
                prop_assert_eq!(here.step(&mut plain, operation), there.step(&mut watched, operation));
            }
        }

        #[test]
        fn refusals_change_nothing_and_a_wait_may_be_split(script in composite(40), cut in 1..10_u64) {
            let script = only(script, is_calm);
            let (mut plain, mut nagged) = (library(&script), library(&script));
            let (mut here, mut there) = (Run::new(&script), Run::new(&script));
            for operation in &script.operations {
                let until = match operation {
                    Operation::Wait(wait) => there.after(*wait),
                    _ => there.at,
                };
                for time in [there.at, there.at + (until - there.at) / cut, until] {
                    nagged.acquire(time, 0, false);
                    if !nagged.peek(time, there.fits()).allowed {
                        nagged.acquire(time, there.fits(), true);
                    }
                }
                prop_assert_eq!(here.step(&mut plain, operation), there.step(&mut nagged, operation));
            }
        }

        #[test]
        fn the_same_at_any_other_time(script in composite(40), days in 0..20_000_u64) {
            let mut script = only(script, is_calm);
            script.limits.retain(|limit| limit.kind != Kind::Bucket);
            prop_assume!(!script.limits.is_empty());
            script.start = 1;
            let later = Script { start: 1 + days * 86_399_999_999, ..script.clone() };
            let (mut now, mut then) = (library(&script), library(&later));
            let (mut here, mut there) = (Run::new(&script), Run::new(&later));
            for operation in &script.operations {
                match (here.step(&mut now, operation), there.step(&mut then, operation)) {
                    (Event::Told(_, told), Event::Told(_, other)) => prop_assert_eq!(
                        (told.allowed, told.remaining, told.retry_after, told.reset_after),
                        (other.allowed, other.remaining, other.retry_after, other.reset_after)
                    ),
                    (event, other) => prop_assert_eq!(event, other),
                }
            }
        }

        #[test]
        fn no_limit_is_exceeded_whatever_the_clock_does(script in composite(80)) {
            let script = only(script, |operation| {
                !matches!(operation, Operation::Resize(_) | Operation::Reset | Operation::Lose | Operation::Correct { .. })
            });
            let (mut limiter, mut run) = (library(&script), Run::new(&script));
            let mut grants: Vec<(u64, u64)> = Vec::new();
            for operation in &script.operations {
                if let (Event::Told(units, told), Operation::Acquire(_)) = (run.step(&mut limiter, operation), operation)
                    && told.allowed
                    && units > 0
                {
                    prop_assert!(grants.last().is_none_or(|(at, _)| *at <= told.at), "time ran backwards");
                    grants.push((told.at, units));
                }
            }
            for limit in &script.limits {
                within(limit, &grants)?;
            }
        }
    }

    /// Checks the limit between every pair of grants.
    fn within(limit: &Spec, grants: &[(u64, u64)]) -> TestCaseResult {
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
                    Kind::Window => Ratio::from(i128::from(limit.amount)),
                    _ => Ratio::new(i128::from(limit.amount) * (interval + end - start), interval),
                };
                prop_assert!(Ratio::from(sum) <= most, "{:?}: {} units from {} to {}", limit, sum, start, end);
            }
        }
        Ok(())
    }
}

fn library(script: &Script) -> Library {
    Library::new(&Paddlegate::memory(), "x", &script.limits)
}
