//! Tests of what a process counts itself and sends by the way: the plain calls of a burst. See `store/redis/tally.rs`.

use std::thread;
use std::time::Duration;

use crate::support::{clock, open, redis, set_clock, unique};
use paddlegate::store::redis::send_counts;
use paddlegate::{Limit, Limiter, Micros, Paddlegate, Request, Settlement};

const HOUR: Duration = Duration::from_secs(3_600);

fn take(limiter: &Limiter, units: u64) -> bool {
    limiter.try_acquire(Request::cost(units)).expect("a decision").allowed()
}

/// Returns granted, refused and units.
fn counts(limiter: &Limiter) -> (u64, u64, u64) {
    let statistics = limiter.statistics().expect("statistics");
    (statistics.granted, statistics.refused, statistics.units)
}

/// The counts after `burst`.
const BURST: (u64, u64, u64) = (2, 3, 3);

/// Takes all three units, and is refused three times.
fn burst(limiter: &Limiter) {
    assert!(take(limiter, 1) && take(limiter, 2));
    for _ in 0..3 {
        assert!(!take(limiter, 1));
    }
}

fn bucket(pg: &Paddlegate, name: &str) -> Limiter {
    pg.bucket(name, 3, 24 * HOUR).expect("a limiter")
}

/// Returns what another process reads.
fn read_elsewhere(name: &str) -> (u64, u64, u64) {
    counts(&bucket(&redis(), name))
}

#[allow(clippy::disallowed_methods)] // The core waits for nothing, so the test must.
fn after_a_second() {
    thread::sleep(Duration::from_millis(1_010));
}

fn cluster() -> Paddlegate {
    open(&std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster"), None)
}

#[test]
fn a_process_reads_all_that_it_has_counted() {
    for pg in [redis(), cluster()] {
        for limit in [Limit::bucket(3, 24 * HOUR), Limit::window(3, HOUR), Limit::leaky(3, 300 * HOUR)] {
            let policy = paddlegate::Policy::new([limit.expect("a limit")]).expect("a policy");
            let api = pg.limiter(&unique("own"), policy).expect("a limiter");
            burst(&api);
            assert_eq!(counts(&api), BURST, "{api:?}");
            let refused_by = api.statistics().expect("statistics").refused_by;
            assert_eq!(refused_by, [(api.policy().limits()[0].label().clone(), 3)]);
            assert!(!take(&api, 1));
            assert_eq!(counts(&api), (2, 4, 3), "{api:?}");
        }
    }
}

#[test]
fn other_processes_read_how_long_leases_were_held() {
    const NOW: u64 = 1_700_000_000_000_000;
    for url in ["PADDLEGATE_TEST_URL", "PADDLEGATE_TEST_CLUSTER_URL"] {
        let store = || open(&std::env::var(url).expect("the url of a server"), Some(&clock()));
        let name = unique("held");
        let leases = |pg: &Paddlegate| pg.concurrent(&name, 2, HOUR).expect("a limiter");
        let pg = store();
        let erp = leases(&pg);
        for call in 0..20 {
            set_clock(NOW + 1_000 * call);
            let lease = erp.try_acquire(Request::default()).expect("a decision").permit.expect("a permit");
            set_clock(NOW + 1_000 * call + 7);
            assert_eq!(erp.release(&lease).expect("a release"), Settlement::Released);
        }
        drop((erp, pg));
        let statistics = leases(&store()).statistics().expect("statistics");
        assert_eq!((statistics.granted, statistics.held_time, statistics.leases), (20, Micros(140), 0), "{url}");
    }
}

#[test]
fn what_was_counted_before_a_reset_is_not_added_after_it() {
    let api = bucket(&redis(), &unique("reset"));
    burst(&api);
    api.reset().expect("a reset");
    assert_eq!(counts(&api), (0, 0, 0));
    burst(&api);
    assert_eq!(counts(&api), BURST);
}

#[test]
fn other_processes_read_all_after_a_close_a_drop_and_the_end_of_the_process() {
    let ends: [fn(Paddlegate); 3] = [
        |pg| pg.close(),
        drop,
        |pg| {
            send_counts();
            std::mem::forget(pg);
        },
    ];
    for store in [redis, cluster] {
        for end in ends {
            let (pg, names) = (store(), (0..100).map(|_| unique("end")).collect::<Vec<_>>());
            for name in &names {
                burst(&bucket(&pg, name));
            }
            end(pg);
            let elsewhere = store();
            assert!(names.iter().all(|name| counts(&bucket(&elsewhere, name)) == BURST));
        }
    }
}

#[test]
fn a_call_a_second_later_takes_along_what_all_limiters_of_the_store_have_counted() {
    let (pg, names) = (redis(), [unique("along"), unique("along"), unique("along")]);
    let limiters = names.each_ref().map(|name| bucket(&pg, name));
    for limiter in &limiters {
        burst(limiter);
    }
    after_a_second();
    // A peek is not counted.
    limiters[2].peek(Request::cost(1)).expect("a decision");
    assert!(names.iter().all(|name| read_elsewhere(name) == BURST));
}

#[test]
fn a_call_after_a_second_without_calls_is_counted_at_once() {
    let (pg, name) = (redis(), unique("seldom"));
    let api = bucket(&pg, &name);
    for granted in 1..=2 {
        assert!(take(&api, 1));
        assert_eq!(read_elsewhere(&name), (granted, 0, granted));
        after_a_second();
    }
}

#[test]
fn the_statistics_of_all_keys_are_complete() {
    for pg in [redis(), cluster()] {
        let users = bucket(&pg, &unique("users")).keyed().expect("a limiter");
        for user in 0..200 {
            burst(&users.with_key(&format!("user {user}")).expect("a limiter"));
        }
        assert_eq!(counts(&users), (400, 600, 600));
    }
}

#[test]
fn threads_lose_no_count() {
    for pg in [redis(), cluster()] {
        let limiters: Vec<Limiter> =
            (0..5).map(|_| pg.bucket(&unique("threads"), 700, 24 * HOUR).expect("a limiter")).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|i| _ = take(&limiters[i % 5], 1)));
            }
        });
        assert!(limiters.iter().all(|limiter| counts(limiter) == (700, 100, 700)));
    }
}

#[cfg(feature = "aio")]
#[tokio::test]
async fn tasks_lose_no_count() {
    let (pg, name) = (redis(), unique("tasks"));
    let api = bucket(&pg, &name);
    let calls = (0..5).map(|_| async { api.try_acquire_async(Request::cost(1)).await.expect("a decision").allowed() });
    for call in calls {
        call.await;
    }
    assert_eq!(counts(&api), (3, 2, 3));
    drop((api, pg));
    assert_eq!(read_elsewhere(&name), (3, 2, 3));
}
