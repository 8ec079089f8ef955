//! Tests leases and tickets with random callers on both stores, and the guarantees to waiters.

mod support;

use paddlegate::{Kind, Paddlegate};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use support::crowd::{Crowd, Stage, crowd, ordered_crowd};
use support::script::config;
use support::{redis, test_url, unique};

const SEEDS: &str = "proptest-regressions/queue.txt";

thread_local! {
    static SERVER: Paddlegate = redis();
}

mod redis_agrees_with_memory {
    use super::*;

    proptest! {
        #![proptest_config(config(60, SEEDS))]

        #[test]
        fn on_leases(crowd in crowd(&[Kind::Concurrency], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_leaky_queues(crowd in crowd(&[Kind::Leaky], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_buckets(crowd in crowd(&[Kind::Bucket], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_windows(crowd in crowd(&[Kind::Window], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_leases_with_rates(crowd in crowd(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 60)) {
            on_both_stores(&crowd)?;
        }

        #[test]
        fn on_ordered_leases(crowd in ordered_crowd(&[Kind::Concurrency], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_ordered_points(crowd in ordered_crowd(&[Kind::Points], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_ordered_buckets(crowd in ordered_crowd(&[Kind::Bucket], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_ordered_windows(crowd in ordered_crowd(&[Kind::Window], 60)) { on_both_stores(&crowd)?; }

        #[test]
        fn on_ordered_leases_with_rates(
            crowd in ordered_crowd(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 60)
        ) {
            on_both_stores(&crowd)?;
        }
    }
}

fn on_both_stores(crowd: &Crowd) -> TestCaseResult {
    let mut memory = Stage::in_memory(crowd);
    let server = SERVER.with(Clone::clone);
    let mut there = Stage::on_redis(&server, &test_url(), &unique("crowd"), crowd);
    for (number, step) in crowd.steps.iter().enumerate() {
        let (here, seen) = (memory.step(step), there.step(step));
        prop_assert_eq!(here.text, seen.text, "step {}: {:?}", number, step);
        prop_assert_eq!(memory.statistics(), there.statistics(), "after step {}: {:?}", number, step);
    }
    there.limiter.reset().expect("a reset");
    Ok(())
}
