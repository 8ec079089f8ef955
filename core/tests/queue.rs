//! Tests leases and tickets with random callers on both stores, and the guarantees to waiters.

use crate::support::sequence::{Spec, config};
use crate::support::workload::{
    Asked, Costs, Runner, Step, Workload, workload, workload_with_admin, workload_with_aging,
    workload_with_late_callers, workload_with_policies,
};
use crate::support::{redis_with_clock, test_url, unique};
use paddlegate::{Kind, Paddlegate};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const SEEDS: &str = "proptest-regressions/queue.txt";

thread_local! {
    static SERVER: Paddlegate = redis_with_clock();
}

mod redis_agrees_with_memory {
    use super::*;

    /// A part of the units was reserved by an earlier extension; the error has all of them.
    #[test]
    fn on_an_extension_that_can_never_pass() {
        let limits = vec![Spec { kind: Kind::Leaky, number: 0, amount: 1, interval: 1_000, offset: 0 }];
        let extend = |units, is_first_id| Step::Extend { caller: 0, units: Asked::All(units), is_first_id };
        let take = Step::Enter { caller: 0, units: Asked::All(1), estimate: true, wait: None };
        let steps = vec![take, Step::Advance(500_000), extend(1, false), extend(3, true)];
        on_both_stores(&Workload { limits, steps }).expect("the stores agree");
    }

    proptest! {
        #![proptest_config(config(60, SEEDS))]

        #[test]
        fn on_leases(workload in workload(&[Kind::Concurrency], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_leaky_queues(workload in workload(&[Kind::Leaky], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_buckets(workload in workload(&[Kind::Bucket], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_quotas(workload in workload(&[Kind::Quota], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_quotas_with_leases_and_admin(
            workload in workload_with_admin(&[Kind::Quota, Kind::Concurrency, Kind::Points], 60, Costs::Labels),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_windows(workload in workload(&[Kind::Window], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_leases_with_rates(
            workload in workload(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 60, Costs::Labels),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_requests_and_tokens(workload in workload(&[Kind::Window, Kind::Points, Kind::Leaky], 60, Costs::Labels)) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_leases_of_shares(workload in workload(&[Kind::Concurrency], 60, Costs::Shares)) { on_both_stores(&workload)?; }

        #[test]
        fn on_leaky_queues_of_shares(workload in workload(&[Kind::Leaky], 60, Costs::Shares)) { on_both_stores(&workload)?; }

        #[test]
        fn on_leases_with_rates_of_shares(
            workload in workload_with_admin(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 60, Costs::Shares),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_leases_of_shares_that_age(workload in workload_with_aging(&[Kind::Concurrency], 80)) { on_both_stores(&workload)?; }

        #[test]
        fn on_rates_of_shares_that_age(
            workload in workload_with_aging(&[Kind::Window, Kind::Leaky, Kind::Concurrency], 80),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_callers_that_are_late(
            workload in workload_with_late_callers(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 80),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_points_of_shares(workload in workload_with_admin(&[Kind::Window, Kind::Points], 60, Costs::Shares)) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_policies_of_one_name(
            workload in workload_with_policies(&[Kind::Concurrency, Kind::Quota, Kind::Points, Kind::Throttle], 60),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_policies_of_windows(workload in workload_with_policies(&[Kind::Window, Kind::Window, Kind::Leaky], 60)) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_requests_and_tokens_with_admin(
            workload in workload_with_admin(&[Kind::Window, Kind::Points, Kind::Bucket], 60, Costs::Labels),
        ) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_leases_with_admin(workload in workload_with_admin(&[Kind::Concurrency], 60, Costs::Labels)) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_points_with_admin(workload in workload_with_admin(&[Kind::Points], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_buckets_with_admin(workload in workload_with_admin(&[Kind::Bucket], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_windows_with_admin(workload in workload_with_admin(&[Kind::Window], 60, Costs::Labels)) { on_both_stores(&workload)?; }

        #[test]
        fn on_leases_with_rates_and_admin(
            workload in workload_with_admin(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 60, Costs::Labels)
        ) {
            on_both_stores(&workload)?;
        }
    }
}

fn on_both_stores(workload: &Workload) -> TestCaseResult {
    let mut memory = Runner::in_memory(workload);
    let server = SERVER.with(Clone::clone);
    let mut redis_runner = Runner::on_redis(&server, &test_url(), &unique("workload"), workload);
    for (number, step) in workload.steps.iter().enumerate() {
        let (memory_runner, seen) = (memory.step(step), redis_runner.step(step));
        prop_assert_eq!(memory_runner.text, seen.text, "step {}: {:?}", number, step);
        prop_assert_eq!(memory.statistics(), redis_runner.statistics(), "after step {}: {:?}", number, step);
    }
    redis_runner.limiter.reset().expect("a reset");
    Ok(())
}
