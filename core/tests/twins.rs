//! Tests that the Rust core in memory and the script on Redis give equal integers for the same random sequences.

use crate::support::library::Library;
use crate::support::raw::{Raw, words};
use crate::support::sequence::{
    Implementation, NOTHING, Operation, Outcome, Run, Sequence, Spec, compare, composite, config, keep_only, sequence,
};
use crate::support::units::Units;
use crate::support::{clock, memory_with_clock, open, open_whole, redis_with_clock, test_url, unique};
use paddlegate::Operation::Reset;
use paddlegate::{Kind, Limiter, Paddlegate, Prepared};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const SEEDS: &str = "proptest-regressions/twins.txt";

mod redis_agrees_with_memory {
    use super::*;

    proptest! {
        #![proptest_config(config(60, SEEDS))]

        #[test]
        fn on_buckets(sequence in sequence(vec![Kind::Bucket], 80)) { on_both_stores(&sequence)?; }

        #[test]
        fn on_windows(sequence in sequence(vec![Kind::Window], 80)) { on_both_stores(&sequence)?; }

        #[test]
        fn on_leaky_meters(sequence in sequence(vec![Kind::Leaky], 80)) { on_both_stores(&sequence)?; }

        #[test]
        fn on_points(sequence in sequence(vec![Kind::Points], 80)) { on_both_stores(&sequence)?; }

        #[test]
        fn on_throttles(sequence in sequence(vec![Kind::Throttle], 80)) { on_both_stores(&sequence)?; }

        #[test]
        fn on_quotas(sequence in sequence(vec![Kind::Quota], 80)) { on_both_stores(&sequence)?; }

        #[test]
        fn on_two_windows(sequence in sequence(vec![Kind::Window, Kind::Window], 80)) { on_both_stores(&sequence)?; }
    }

    proptest! {
        #![proptest_config(config(200, SEEDS))]

        #[test]
        fn on_one_to_four_limits(sequence in composite(80)) { on_both_stores(&sequence)?; }
    }
}

mod a_cluster_agrees_with_memory {
    use super::*;

    proptest! {
        #![proptest_config(config(40, SEEDS))]

        #[test]
        fn on_one_to_four_limits(sequence in composite(60)) {
            let name = unique("clustered");
            let mut memory = Library::new(&memory_with_clock(), &name, &sequence.limits);
            let mut cluster = Library::new(&CLUSTER.with(Clone::clone), &name, &sequence.limits);
            compare(&sequence, &mut memory, &mut cluster)?;
            cluster.reset();
        }
    }
}

mod redis_keeps {
    use super::*;

    proptest! {
        #![proptest_config(config(50, SEEDS))]

        #[test]
        fn a_state_for_as_long_as_it_counts(mut sequence in composite(60)) {
            sequence.limits.truncate(1);
            let sequence = keep_only(sequence, |operation| !matches!(operation, Operation::Resize(_) | Operation::Override(..) | Operation::Learn(_)));
            let mut server = OnServer::new(&unique("kept"), &sequence);
            let mut run = Run::new(&sequence);
            for operation in &sequence.operations {
                run.step(&mut server, operation);
                let reset_after = server.peek(run.at, &NOTHING).reset_after;
                for (key, ttl) in server.keys() {
                    prop_assert!(ttl != -1, "{key} has no expiry");
                    // Permits have their own expiry, and no decision reads the statistics.
                    if [":p:kept", ":e:kept", ":m:kept"].iter().any(|role| key.contains(role)) {
                        continue;
                    }
                    // A key that does not exist (-2) has no content that counts.
                    let enough = ttl == -2 || ttl >= 0 && ttl.cast_unsigned() * 1_000 > reset_after;
                    prop_assert!(enough, "{key} expires in {ttl} ms of {reset_after} us after {operation:?}");
                }
            }
            server.lose_keys();
        }
    }
}

fn on_both_stores(sequence: &Sequence) -> TestCaseResult {
    let name = unique("twins");
    let mut memory = Library::new(&memory_with_clock(), &name, &sequence.limits);
    let mut server = OnServer::new(&name, sequence);
    compare(sequence, &mut memory, &mut server)?;
    let suffixes = |library: &Library| -> Vec<String> {
        library.permits().iter().map(|id| id.split_once(':').expect("an id").1.to_owned()).collect()
    };
    prop_assert_eq!(suffixes(&memory), suffixes(&server.library), "the number of permits");
    server.lose_keys();
    Ok(())
}

thread_local! {
    static SERVER: Paddlegate = redis_with_clock();
    /// The same, but the whole script decides plain calls too.
    static WHOLE: Paddlegate = open_whole(&test_url(), Some(&clock()));
    static CLUSTER: Paddlegate = {
        let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster");
        open(&url, Some(&clock()))
    };
    static RAW: std::cell::RefCell<Raw> = std::cell::RefCell::new(Raw::open(&test_url()));
}

/// A limiter on Redis that can lose its keys.
struct OnServer {
    library: Library,
    /// A limiter of the same name with the limits of all its policies.
    whole: Limiter,
}

impl OnServer {
    fn new(name: &str, sequence: &Sequence) -> Self {
        let store = if sequence.operations.len().is_multiple_of(3) { &WHOLE } else { &SERVER };
        let library = Library::new(&store.with(Clone::clone), name, &sequence.limits);
        Self { whole: library.limiter().clone(), library }
    }

    /// Returns all keys that the name may have and their TTL in milliseconds, -2 for a key that does not exist.
    fn keys(&self) -> Vec<(String, i64)> {
        let Ok(Prepared::Call(call)) = self.whole.prepare(Reset) else { panic!("not on redis") };
        let words = words(call.bytes());
        let count: usize = String::from_utf8_lossy(&words[2]).parse().expect("the number of keys");
        let keys = words[3..3 + count].to_vec();
        RAW.with_borrow_mut(|raw| {
            keys.into_iter().map(|key| (String::from_utf8_lossy(&key).into_owned(), raw.ttl(&key))).collect()
        })
    }
}

impl Implementation for OnServer {
    fn acquire(&mut self, at: u64, units: &Units, estimate: bool) -> Outcome {
        self.library.acquire(at, units, estimate)
    }

    fn peek(&mut self, at: u64, units: &Units) -> Outcome {
        self.library.peek(at, units)
    }

    fn debit(&mut self, at: u64, units: &Units) -> Outcome {
        self.library.debit(at, units)
    }

    fn refund(&mut self, at: u64, units: &Units) -> Outcome {
        self.library.refund(at, units)
    }

    fn extend(&mut self, permit: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        self.library.extend(permit, is_first_id, units, at)
    }

    fn correct(&mut self, permit: usize, actual: &Units, at: u64) -> String {
        self.library.correct(permit, actual, at)
    }

    fn override_limits(&mut self, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        self.library.override_limits(limits, at);
    }

    fn learn(&mut self, limits: &[Spec], at: u64) {
        self.library.learn(limits, at);
    }

    fn resize(&mut self, limits: &[Spec]) {
        self.library.resize(limits);
    }

    fn reset(&mut self) {
        self.library.reset();
    }

    fn inspect(&mut self, at: u64) -> Option<String> {
        self.library.inspect(at)
    }

    /// Deletes every key without the library's knowledge.
    fn lose_keys(&mut self) {
        for (key, _) in self.keys() {
            RAW.with_borrow_mut(|raw| raw.execute(&["DEL", &key]));
        }
    }
}
