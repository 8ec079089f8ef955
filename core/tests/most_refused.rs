//! Tests the most refused keys of keyed limiters on all stores. See `store/refused_keys.rs` and `store/redis/tally.lua`.

use crate::support;
use std::collections::HashMap;
use std::time::Duration;

use crate::support::calls::{acquire, enter};
use crate::support::sequence::config;
use crate::support::{clock, memory_with_clock, on_own_database, open, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{Limiter, Micros, Paddlegate, Request, Result, Status, Wait};
use proptest::prelude::*;

const SEEDS: &str = "proptest-regressions/most_refused.txt";
/// The beginning of an hour.
const NOW: u64 = 1_699_999_200_000_000;
const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: Duration = Duration::from_secs(86_400);

fn most(limiter: &Limiter) -> Vec<(String, u64)> {
    let found = limiter.most_refused(100).expect("the most refused keys");
    found.into_iter().map(|found| (found.key, found.refused)).collect()
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(key, refused)| ((*key).to_owned(), *refused)).collect()
}

/// Refuses a call of a key so many times, after a first one that may be granted.
fn refuse(limiter: &Limiter, key: &str, times: u64, now: u64) {
    let of_key = limiter.with_key(key).expect("a key");
    acquire(&of_key, Request::cost(1), now);
    for _ in 0..times {
        assert!(!acquire(&of_key, Request::cost(1), now).allowed());
    }
}

#[test]
fn numbers_of_few_keys_are_exact_whatever_refused_the_call() {
    each_store(|store, name| {
        let per_user = store.points(name, 1, DAY)?.keyed()?;
        // The first call of a key is decided by the whole script, the others are plain.
        for (i, key) in ["ada", "bob", "ä:b", "c d"].iter().enumerate() {
            refuse(&per_user, key, 1 + i as u64, NOW);
        }
        assert_eq!(most(&per_user), pairs(&[("c d", 4), ("ä:b", 3), ("bob", 2), ("ada", 1)]));
        let ada = per_user.with_key("ada")?;
        assert!(!acquire(&ada, Request::estimate(1), NOW).allowed());
        assert!(!acquire(&ada, Request::cost(1).with_limits(), NOW).allowed());
        assert_eq!(enter(&ada, "call", 1, None, NOW).status, Status::Refused);
        assert_eq!(most(&per_user)[0], ("ada".to_owned(), 4), "and those with a permit, with limits, with an id");
        // A wait that timed out counts, one that was given up does not, and neither does a ticket.
        let wait = Some(Wait::up_to(Micros(100_000 * SECOND)));
        for (id, gave_up) in [("late", true), ("gone", false)] {
            assert_eq!(enter(&ada, id, 1, wait, NOW).status, Status::Queued);
            support::calls::run(&ada, paddlegate::Operation::Cancel { id, gave_up }, NOW);
        }
        assert_eq!(most(&per_user)[0], ("ada".to_owned(), 5));
        assert_eq!(per_user.statistics()?.refused, 5 + 4 + 3 + 2);
        assert_eq!(per_user.most_refused(2)?.len(), 2);
        Ok(())
    });
}

#[test]
fn of_several_limiters_the_key_counts_that_refused() {
    each_store(|store, name| {
        let limiter =
            |what: &str, limit| store.window(&format!("{name}{what}"), limit, DAY)?.keyed()?.with_group("acme");
        let (org, user) = (limiter("org", 5)?, limiter("user", 1)?);
        let both = store.together(&[&org.with_key("acme")?, &user.with_key("ada")?])?;
        assert!(acquire(&both, Request::cost(1), NOW).allowed());
        for call in 0..3 {
            assert!(!acquire(&both, Request::cost(1), NOW).allowed());
            assert_eq!(enter(&both, &format!("call-{call}"), 1, None, NOW).status, Status::Refused);
        }
        assert_eq!((most(&org), most(&user)), (vec![], pairs(&[("ada", 6)])));
        assert_eq!(user.statistics()?.refused, 6);
        Ok(())
    });
}

#[test]
fn counts_are_of_this_hour_and_the_last_and_a_reset_of_a_key_removes_it() {
    each_store(|store, name| {
        let per_user = store.bucket(name, 1, 30 * DAY)?.keyed()?;
        refuse(&per_user, "ada", 2, NOW);
        refuse(&per_user, "bob", 5, NOW + HOUR - 1);
        assert_eq!(most(&per_user), pairs(&[("bob", 5), ("ada", 2)]));
        refuse(&per_user, "ada", 9, NOW + HOUR);
        // The first of these was refused too, since a bucket of a month is not over.
        assert_eq!(most(&per_user), pairs(&[("ada", 12), ("bob", 5)]));
        set_clock(NOW + 2 * HOUR - 1);
        assert_eq!(most(&per_user), pairs(&[("ada", 12), ("bob", 5)]));
        set_clock(NOW + 2 * HOUR);
        assert_eq!(most(&per_user), pairs(&[("ada", 10)]));
        refuse(&per_user, "bob", 3, NOW + 2 * HOUR);
        per_user.with_key("ada")?.reset()?;
        assert_eq!(most(&per_user), pairs(&[("bob", 4)]));
        assert!(
            acquire(&per_user.with_key("ada")?, Request::cost(1), NOW + 2 * HOUR).allowed(),
            "the state is new too"
        );
        set_clock(NOW + 4 * HOUR);
        assert_eq!(most(&per_user), []);
        Ok(())
    });
}

#[test]
fn other_processes_read_what_one_has_counted_when_it_is_closed() {
    for url in [test_url(), cluster_url()] {
        let name = unique("elsewhere");
        let per_user = |store: &Paddlegate| {
            store.bucket(&name, 1, 30 * DAY).and_then(|limiter| limiter.keyed()).expect("a limiter")
        };
        set_clock(NOW);
        for refused in [7, 3] {
            let store = open(&url, Some(&clock()));
            refuse(&per_user(&store), "ada", refused, NOW);
            refuse(&per_user(&store), "eve", 1, NOW);
            store.close();
        }
        // Of the second store the first call was refused too.
        assert_eq!(most(&per_user(&open(&url, Some(&clock())))), pairs(&[("ada", 11), ("eve", 3)]), "{url}");
    }
}

#[test]
fn in_redis_they_live_for_two_hours_and_only_refusals_are_stored() {
    let (store, mut raw) = on_own_database();
    let per_user = store.bucket("api", 2, 30 * DAY).and_then(|limiter| limiter.keyed()).expect("a limiter");
    let per_user = per_user.with_group("acme").expect("a group");
    let uncounted = per_user.without_statistics().expect("one limiter");
    let mut stored = || -> Vec<Vec<u8>> {
        raw.keys("").into_iter().filter(|key| String::from_utf8_lossy(key).contains("k:r")).collect()
    };
    for _ in 0..2 {
        assert!(acquire(&per_user.with_key("ada").expect("a key"), Request::cost(1), NOW).allowed());
    }
    refuse(&uncounted, "ada", 3, NOW);
    assert_eq!((most(&per_user), stored()), (vec![], vec![]), "grants, and refusals that nobody counts");
    refuse(&per_user, "ada", 1, NOW);
    // The first call was refused as well.
    assert_eq!(most(&per_user), pairs(&[("ada", 2)]));
    let stored = stored();
    let name = format!("k:r{}:acme:api", NOW / HOUR);
    assert!(stored.len() == 1 && String::from_utf8_lossy(&stored[0]).ends_with(&name), "{stored:?}");
    let ttl = raw.ttl(&stored[0]);
    assert!((7_000_000..=7_200_000).contains(&ttl), "ttl_ms={ttl}");
    raw.command("FLUSHDB");
}

#[test]
fn redis_keeps_so_many_keys_of_an_hour_and_its_counts_are_never_too_high() {
    let (store, mut raw) = on_own_database();
    let per_user = store.bucket("api", 1, 30 * DAY).and_then(|limiter| limiter.keyed()).expect("a limiter");
    let per_user = per_user.with_group("acme").expect("a group");
    for report in 0..8 {
        for key in 0..120 {
            refuse(&per_user, &format!("{report}-{key}"), 1, NOW);
        }
        refuse(&per_user, "often", 50, NOW);
        // Sends what was counted so far.
        most(&per_user);
    }
    let key = raw.keys("").into_iter().find(|key| String::from_utf8_lossy(key).contains("k:r")).expect("refused keys");
    let count = raw.execute(&[b"ZCARD".to_vec(), key]);
    assert!(matches!(count, support::raw::Reply::Integer(1..=400)), "{count:?}");
    // 407 times: also by the first call of each report but the first. All others were refused once.
    let (key, refused) = most(&per_user).remove(0);
    assert!(key == "often" && (395..407).contains(&refused), "{key}: {refused}");
    raw.command("FLUSHDB");
}

proptest! {
    #![proptest_config(config(12, SEEDS))]

    /// The bound is that of `store/refused_keys.rs` and of `tally.lua` together.
    #[test]
    fn of_many_keys_counts_are_never_too_high_and_too_low_by_a_known_share(
        reports in prop::collection::vec(prop::collection::vec((0_u32..1_500, 1_u32..60), 1..400), 1..12),
        in_memory in any::<bool>(),
    ) {
        let store = if in_memory { memory_with_clock() } else { redis_with_clock() };
        // One hash tag.
        let per_user = store.bucket(&unique("many"), 1, 30 * DAY).and_then(|limiter| limiter.keyed()?.with_group("acme")).expect("a limiter");
        let mut exact: HashMap<String, u64> = HashMap::new();
        for report in reports {
            for (key, skew) in report {
                let key = (key / skew).to_string();
                let decision = acquire(&per_user.with_key(&key).expect("a key"), Request::cost(1), NOW);
                if !decision.allowed() {
                    *exact.entry(key).or_default() += 1;
                }
            }
            // Sends what was counted so far.
            most(&per_user);
        }
        let (found, all) = (most(&per_user), exact.values().sum::<u64>());
        prop_assert_eq!(per_user.statistics().expect("statistics").refused, all);
        let lost = all / 65 + all / 201 + 1;
        for (key, refused) in &found {
            let exact = exact[key];
            prop_assert!(*refused <= exact && refused + lost >= exact, "{}: {} of {}, all={}", key, refused, exact, all);
        }
        let least = if found.len() < 100 { 0 } else { found[99].1 };
        for (key, refused) in exact {
            let is_found = found.iter().any(|(other, _)| *other == key);
            prop_assert!(is_found || refused <= least + lost, "{}: {} of {}", key, refused, all);
        }
    }
}

fn cluster_url() -> String {
    std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster")
}

/// Runs a test in memory, in Redis and in a cluster.
fn each_store(test: impl Fn(&Paddlegate, &str) -> Result<()>) {
    for store in [memory_with_clock(), redis_with_clock(), open(&cluster_url(), Some(&clock()))] {
        set_clock(NOW);
        let place = store.redis().map_or("memory", |_| "redis");
        test(&store, &unique("refused")).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
}
