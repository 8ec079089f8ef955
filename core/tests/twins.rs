//! Tests that the Rust core in memory and the script on Redis give equal integers for the same random sequences.

mod support;

use paddlegate::Operation::Reset;
use paddlegate::{Kind, Paddlegate, Prepared};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use support::raw::{Raw, words};
use support::script::{Operation, Run, Script, Side, Spec, Told, compare, composite, config, only, script};
use support::side::Library;
use support::{redis, test_url, unique};

const SEEDS: &str = "proptest-regressions/twins.txt";

mod redis_agrees_with_memory {
    use super::*;

    proptest! {
        #![proptest_config(config(60, SEEDS))]

        #[test]
        fn on_buckets(script in script(vec![Kind::Bucket], 80)) { on_both_stores(&script)?; }

        #[test]
        fn on_windows(script in script(vec![Kind::Window], 80)) { on_both_stores(&script)?; }

        #[test]
        fn on_leaky_meters(script in script(vec![Kind::Leaky], 80)) { on_both_stores(&script)?; }

        #[test]
        fn on_points(script in script(vec![Kind::Points], 80)) { on_both_stores(&script)?; }

        #[test]
        fn on_throttles(script in script(vec![Kind::Throttle], 80)) { on_both_stores(&script)?; }

        #[test]
        fn on_two_windows(script in script(vec![Kind::Window, Kind::Window], 80)) { on_both_stores(&script)?; }
    }

    proptest! {
        #![proptest_config(config(200, SEEDS))]

        #[test]
        fn on_one_to_four_limits(script in composite(80)) { on_both_stores(&script)?; }
    }
}

mod a_cluster_agrees_with_memory {
    use super::*;

    proptest! {
        #![proptest_config(config(40, SEEDS))]

        #[test]
        fn on_one_to_four_limits(script in composite(60)) {
            let name = unique("clustered");
            let mut memory = Library::new(&Paddlegate::memory(), &name, &script.limits);
            let mut cluster = Library::new(&CLUSTER.with(Clone::clone), &name, &script.limits);
            compare(&script, &mut memory, &mut cluster)?;
            cluster.reset();
        }
    }
}

mod redis_keeps {
    use super::*;

    proptest! {
        #![proptest_config(config(50, SEEDS))]

        #[test]
        fn a_state_for_as_long_as_it_counts(mut script in composite(60)) {
            script.limits.truncate(1);
            let script = only(script, |operation| !matches!(operation, Operation::Resize(_)));
            let mut server = OnServer::new(&unique("kept"), &script);
            let mut run = Run::new(&script);
            for operation in &script.operations {
                run.step(&mut server, operation);
                let whole = server.peek(run.at, 0).reset_after;
                for (key, ttl) in server.keys() {
                    prop_assert!(ttl != -1, "{key} never ends");
                    // Permits have their own expiry, and no decision reads the statistics.
                    if key.contains(":p:kept") || key.contains(":m:kept") {
                        continue;
                    }
                    // A key that does not exist (-2) has no content that counts.
                    let enough = ttl == -2 || ttl >= 0 && ttl.cast_unsigned() * 1_000 > whole;
                    prop_assert!(enough, "{key} lives {ttl} ms of {whole} us after {operation:?}");
                }
            }
            server.lose();
        }
    }
}

fn on_both_stores(script: &Script) -> TestCaseResult {
    let name = unique("twins");
    let mut memory = Library::new(&Paddlegate::memory(), &name, &script.limits);
    let mut server = OnServer::new(&name, script);
    compare(script, &mut memory, &mut server)?;
    let suffixes = |library: &Library| -> Vec<String> {
        library.permits().iter().map(|id| id.split_once(':').expect("an id").1.to_owned()).collect()
    };
    prop_assert_eq!(suffixes(&memory), suffixes(&server.library), "what the permits say of the grants");
    server.lose();
    Ok(())
}

thread_local! {
    static SERVER: Paddlegate = redis();
    static CLUSTER: Paddlegate = {
        let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster");
        Paddlegate::open(&url, Some(std::time::Duration::from_secs(30))).expect("a url of a cluster")
    };
    static RAW: std::cell::RefCell<Raw> = std::cell::RefCell::new(Raw::open(&test_url()));
}

/// A limiter on Redis that can lose its keys.
struct OnServer {
    library: Library,
}

impl OnServer {
    fn new(name: &str, script: &Script) -> Self {
        Self { library: Library::new(&SERVER.with(Clone::clone), name, &script.limits) }
    }

    /// Returns all keys that the limiter may have and their TTL in milliseconds, -2 for a key that does not exist.
    fn keys(&self) -> Vec<(String, i64)> {
        let Ok(Prepared::Call(call)) = self.library.limiter().prepare(Reset) else { panic!("not on redis") };
        let keys = words(call.bytes()).split_off(1);
        RAW.with_borrow_mut(|raw| {
            keys.into_iter().map(|key| (String::from_utf8_lossy(&key).into_owned(), raw.ttl(&key))).collect()
        })
    }
}

impl Side for OnServer {
    fn acquire(&mut self, at: u64, units: u64, estimate: bool) -> Told {
        self.library.acquire(at, units, estimate)
    }

    fn peek(&mut self, at: u64, units: u64) -> Told {
        self.library.peek(at, units)
    }

    fn correct(&mut self, permit: usize, actual: u64, at: u64) -> String {
        self.library.correct(permit, actual, at)
    }

    fn resize(&mut self, limits: &[Spec]) {
        self.library.resize(limits);
    }

    fn reset(&mut self) {
        self.library.reset();
    }

    /// Deletes every key without the library's knowledge.
    fn lose(&mut self) {
        for (key, _) in self.keys() {
            RAW.with_borrow_mut(|raw| raw.ask(&["DEL", &key]));
        }
    }
}
