//! Tests limiters with a state for each key, and limiters without statistics, on all stores.

use crate::support;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::calls::{acquire, correct, enter, peek, release, run};
use crate::support::raw::Reply;
use crate::support::sequence::config;
use crate::support::workload::{Form, Runner, Step, Workload, workload_with_policies};
use crate::support::{clock, memory_with_clock, on_own_database, open, redis_with_clock, set_clock, test_url, unique};
use paddlegate::store::redis::Redis;
use paddlegate::{
    AdminCommand, Answer, Durations, Kind, Label, Limit, Limiter, Micros, Operation, Paddlegate, Policy, Request,
    Result, Settlement, Statistics, Status, Wait,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const SEEDS: &str = "proptest-regressions/keyed.txt";
const NOW: u64 = 1_700_000_000_000_000;
const MINUTE: Duration = Duration::from_secs(60);

thread_local! {
    static SERVER: Paddlegate = redis_with_clock();
}

mod every_form_of_a_limiter_decides_alike {
    use super::*;

    const ALL: &[Kind] = &[Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle, Kind::Concurrency];

    proptest! {
        #![proptest_config(config(80, SEEDS))]

        #[test]
        fn with_a_key_in_redis(workload in workload_with_policies(ALL, 50)) {
            as_a_plain_one(&workload, on_redis(&workload).in_form(Form::Keyed), Form::Keyed)?;
        }

        #[test]
        fn with_a_key_in_memory(workload in workload_with_policies(ALL, 50)) {
            as_a_plain_one(&workload, Runner::in_memory(&workload).in_form(Form::Keyed), Form::Keyed)?;
        }

        #[test]
        fn without_statistics_in_redis(workload in workload_with_policies(ALL, 50)) {
            as_a_plain_one(&workload, on_redis(&workload).in_form(Form::Uncounted), Form::Uncounted)?;
        }

        #[test]
        fn without_statistics_in_memory(workload in workload_with_policies(ALL, 50)) {
            as_a_plain_one(&workload, Runner::in_memory(&workload).in_form(Form::Uncounted), Form::Uncounted)?;
        }
    }

    fn on_redis(workload: &Workload) -> Runner {
        Runner::on_redis(&SERVER.with(Clone::clone), &test_url(), &unique("keyed"), workload)
    }

    fn as_a_plain_one(workload: &Workload, mut other: Runner, form: Form) -> TestCaseResult {
        let mut plain = Runner::in_memory(workload);
        // A reset of a key keeps the statistics of all keys.
        let mut before_resets = Vec::new();
        for (number, step) in workload.steps.iter().enumerate() {
            if matches!(step, Step::Reset) {
                before_resets.push(plain.limiter.statistics().expect("statistics"));
            }
            let (expected, seen) = (plain.step(step), other.step(step));
            prop_assert_eq!(expected.text, seen.text, "step {}: {:?}", number, step);
        }
        if form == Form::Keyed {
            before_resets.push(plain.limiter.statistics().expect("statistics"));
            let of_all = keyless(&other).statistics().expect("statistics");
            let (mut refused_by, mut waits) = (BTreeMap::new(), [0; Durations::BUCKETS]);
            let (mut holds, mut of_grants) = (waits, [0; 2]);
            for one in &before_resets {
                for (label, count) in &one.refused_by {
                    *refused_by.entry(label.to_string()).or_insert(0) += count;
                }
                waits.iter_mut().zip(one.waits.counts()).for_each(|(sum, count)| *sum += count);
                holds.iter_mut().zip(one.holds.counts()).for_each(|(sum, count)| *sum += count);
                of_grants = [of_grants[0] + one.near_limit, of_grants[1] + one.estimated_units];
            }
            let labels = of_all.refused_by.iter().map(|(label, count)| (label.to_string(), *count));
            prop_assert_eq!(labels.collect::<BTreeMap<_, _>>(), refused_by);
            prop_assert_eq!(of_all.waits.counts(), waits);
            prop_assert_eq!(of_all.holds.counts(), holds);
            prop_assert_eq!([of_all.near_limit, of_all.estimated_units], of_grants);
            let of_all = of_all.values();
            for (i, value) in of_all.into_iter().enumerate().take(10) {
                let sum: u64 = before_resets.iter().map(|statistics| statistics.values()[i]).sum();
                prop_assert_eq!(sum, value, "{}", Statistics::FIELDS[i]);
            }
            prop_assert_eq!(&of_all[10..], &[0, 0], "leases and tickets are of one key");
            let hours = plain.limiter.history().expect("a history").hours;
            let refused: u64 = hours.iter().rev().take(2).map(|hour| hour.refused).sum();
            let most = keyless(&other).most_refused(10).expect("the most refused keys");
            prop_assert_eq!(
                most.iter().map(|found| found.refused).collect::<Vec<_>>(),
                if refused > 0 { vec![refused] } else { vec![] }
            );
        }
        other.limiter.reset().expect("a reset");
        Ok(())
    }

    /// Returns the keyed limiter without a key.
    fn keyless(runner: &Runner) -> Limiter {
        runner.limiter.keyed().expect("one limiter")
    }
}

mod keys {
    use super::*;

    #[test]
    fn have_nothing_in_common_but_the_statistics() {
        each_store(|store, name| {
            let policy = Policy::new([Limit::window(2, MINUTE)?, Limit::concurrency(2, MINUTE)?])?;
            let per_user = store.limiter(name, policy.clone())?.keyed()?;
            let alice = || per_user.with_key("alice");
            let permit = acquire(&alice()?, Request::cost(2), NOW).permit.expect("a lease");
            assert!(!acquire(&alice()?, Request::cost(1), NOW).allowed());
            for other in ["bob", "alic", "alice ", "alice\0", ":alice", "älice"] {
                let other = per_user.with_key(other)?;
                assert_eq!(peek(&other, Request::cost(1), NOW).remaining, Some(2), "{:?}", other.key());
                assert_eq!(release(&other, &permit, NOW), Settlement::Unknown, "{:?}", other.key());
            }
            let plain = store.limiter(name, policy)?;
            assert_eq!(peek(&plain, Request::cost(1), NOW).remaining, Some(2), "the limiter without keys");
            assert_eq!(release(&alice()?, &permit, NOW + 7), Settlement::Released);
            let counted = per_user.statistics()?;
            assert_eq!((counted.holds.counts()[0], counted.holds.counts().iter().sum::<u64>()), (1, 1));
            let expected = Statistics {
                granted: 1,
                refused: 1,
                refused_by: vec![(Label::new("window")?, 1)],
                near_limit: 1,
                units: 2,
                estimated_units: 2,
                held_time: Micros(7),
                holds: counted.holds.clone(),
                ..Statistics::default()
            };
            assert_eq!(counted, expected);
            assert_eq!(plain.statistics()?, Statistics::default());
            alice()?.reset()?;
            assert_eq!(peek(&alice()?, Request::cost(1), NOW).remaining, Some(2));
            assert_eq!(per_user.statistics()?, expected, "a reset is of one key");
            Ok(())
        });
    }

    #[test]
    fn and_names_are_not_confused() {
        each_store(|store, name| {
            let pairs = [("a", "b:c"), ("a:b", "c"), ("a:", "b:c"), ("a", ":b:c"), ("1:a", "b:c")];
            for (i, (of_name, key)) in pairs.into_iter().enumerate() {
                let limiter = store.window(&format!("{name}{of_name}"), 100, MINUTE)?.keyed()?.with_key(key)?;
                let decision = acquire(&limiter, Request::cost(1 + i as u64), NOW);
                assert_eq!(decision.remaining, Some(99 - i as u64), "{of_name} {key}");
            }
            let texts = [format!("{name}a:b:c"), format!("{}:{name}a:b:c", name.len() + 1)];
            for text in texts {
                assert_eq!(peek(&store.window(&text, 100, MINUTE)?, Request::cost(1), NOW).remaining, Some(100));
            }
            Ok(())
        });
    }

    #[test]
    fn and_names_in_groups_are_not_confused() {
        each_store(|store, name| {
            // Some have one hash tag, since there are 300 groups and 256 tags.
            let groups = || (0..300).map(|i| format!("{name}{i}"));
            let of_group = |group: &str| store.window(name, 1_000, MINUTE)?.with_group(group);
            for (i, group) in groups().enumerate() {
                let i = i as u64;
                assert_eq!(acquire(&of_group(&group)?, Request::cost(1 + i), NOW).remaining, Some(999 - i), "{group}");
                let alice = of_group(&group)?.keyed()?.with_key("alice")?;
                assert_eq!(acquire(&alice, Request::cost(2 + i), NOW).remaining, Some(998 - i), "{group}");
            }
            for (i, group) in groups().enumerate() {
                let (i, statistics) = (i as u64, of_group(&group)?.keyed()?.statistics()?);
                assert_eq!((statistics.granted, statistics.units), (1, 2 + i), "{group}");
                let statistics = of_group(&group)?.statistics()?;
                assert_eq!((statistics.granted, statistics.units), (1, 1 + i), "{group}");
            }
            // All of one text, apart from the lengths, and of one hash tag.
            let group = format!("{name}g");
            let all: [(&str, Option<&str>, Option<&str>); 8] = [
                ("a:b:c:d", Some(&group), None),
                ("a", Some(&group), Some("b:c:d")),
                ("a:b", Some(&group), Some("c:d")),
                (":a", Some(&group), Some("b:c:d")),
                ("d", Some(&group), Some(":s:d")),
                ("d", Some(&group), None),
                ("d", None, Some(":s:d")),
                ("s:d", Some(&group), Some("s:d")),
            ];
            for (i, (of_name, group, key)) in all.into_iter().enumerate() {
                let mut limiter = store.window(&format!("{name}{of_name}"), 100, MINUTE)?;
                if let Some(group) = group {
                    limiter = limiter.with_group(group)?;
                }
                if let Some(key) = key {
                    limiter = limiter.keyed()?.with_key(key)?;
                }
                let decision = acquire(&limiter, Request::cost(1 + i as u64), NOW);
                assert_eq!(decision.remaining, Some(99 - i as u64), "{of_name} {group:?} {key:?}");
            }
            // The clocks of other tests may end entries of the list in Redis.
            if store.redis().is_none() {
                let listed = store.limiters_with_prefix(name)?;
                let groups = listed.iter().filter(|info| info.name == *name).filter(|info| info.group.is_some());
                assert_eq!(groups.count(), 600, "with keys and without");
            }
            Ok(())
        });
    }

    #[test]
    fn have_queues_overrides_and_pauses_of_their_own() {
        each_store(|store, name| {
            let per_user = store.throttle(name, MINUTE)?.keyed()?;
            let (alice, bob) = (per_user.with_key("alice")?, per_user.with_key("bob")?);
            let wait = Some(Wait::up_to(Micros(600_000_000)));
            assert_eq!(enter(&alice, "one", 1, wait, NOW).status, Status::Granted);
            assert_eq!(enter(&alice, "two", 1, wait, NOW).status, Status::Queued);
            assert_eq!(enter(&bob, "two", 1, wait, NOW).status, Status::Granted, "of another queue");
            run(
                &alice,
                Operation::Admin { command: AdminCommand::Pause(paddlegate::Deadline::After(Micros(600_000_000))) },
                NOW,
            );
            assert!(!peek(&alice, Request::cost(1), NOW + 120_000_000).allowed());
            run(
                &bob,
                Operation::Admin { command: AdminCommand::Pause(paddlegate::Deadline::After(Micros(600_000_000))) },
                NOW,
            );
            run(&bob, Operation::Admin { command: AdminCommand::Resume }, NOW);
            assert!(peek(&bob, Request::cost(1), NOW + 120_000_000).allowed());
            let Answer::RuntimeState(state) =
                run(&per_user.with_key("carol")?, Operation::Admin { command: AdminCommand::Get }, NOW)
            else {
                panic!("no runtime state")
            };
            assert!(!state.in_use, "a key that was never used");
            Ok(())
        });
    }

    #[test]
    fn decide_together() {
        each_store(|store, name| {
            let org = store.window(&format!("{name}org"), 3, MINUTE)?.keyed()?.with_group("acme")?;
            let user = store.points(&format!("{name}user"), 2, MINUTE)?.keyed()?.with_group("acme")?;
            let of = |org_key: &str, user_key: &str| -> Result<Limiter> {
                store.together(&[&org.with_key(org_key)?, &user.with_key(user_key)?])
            };
            let permit = acquire(&of("acme", "alice")?, Request::estimate(2), NOW).permit.expect("a permit");
            let refused = acquire(&of("acme", "alice")?, Request::cost(1), NOW);
            assert_eq!(refused.limiter, Some(format!("{name}user")));
            let refused = acquire(&of("acme", "bob")?, Request::cost(2), NOW);
            assert_eq!(refused.limiter, Some(format!("{name}org")));
            assert!(acquire(&of("umbrella", "bob")?, Request::cost(2), NOW).allowed());
            assert_eq!(correct(&of("acme", "alice")?, &permit, 0, NOW), Settlement::Settled);
            assert!(acquire(&of("acme", "alice")?, Request::cost(2), NOW).allowed());
            assert_eq!((org.statistics()?.granted, user.statistics()?.corrections), (3, 1));
            Ok(())
        });
    }

    #[test]
    fn and_limiters_without_statistics_count_nothing() {
        each_store(|store, name| {
            for limiter in [store.window(name, 5, MINUTE)?, store.window(name, 5, MINUTE)?.keyed()?] {
                let of_key = |limiter: &Limiter| {
                    if limiter.is_keyed() { limiter.with_key("alice") } else { Ok(limiter.clone()) }
                };
                let uncounted = limiter.without_statistics()?;
                let [counts, does_not] = [of_key(&limiter)?, of_key(&uncounted)?];
                acquire(&does_not, Request::cost(2), NOW);
                assert_eq!(acquire(&counts, Request::cost(1), NOW).remaining, Some(2), "one state");
                acquire(&store.together(&[&does_not])?, Request::cost(1), NOW);
                acquire(&does_not, Request::cost(3), NOW);
                let expected = Statistics { granted: 1, units: 1, estimated_units: 1, ..Statistics::default() };
                assert_eq!(limiter.statistics()?, expected, "keyed={}", limiter.is_keyed());
                // A reset is one of all that the name has, but of a key.
                does_not.reset()?;
                let left = if limiter.is_keyed() { expected } else { Statistics::default() };
                assert_eq!(limiter.statistics()?, left, "keyed={}", limiter.is_keyed());
            }
            Ok(())
        });
    }

    #[test]
    fn are_refused_where_they_do_not_belong() {
        each_store(|store, name| {
            let plain = store.window(name, 2, MINUTE)?;
            let keyed = plain.keyed()?;
            let long = "k".repeat(513);
            for (limiter, key) in [(&plain, "alice"), (&keyed, ""), (&keyed, &*long)] {
                assert_eq!(limiter.with_key(key).unwrap_err().argument(), Some("key"), "{key:?}");
            }
            assert!(keyed.with_key(&long[1..])?.try_acquire(Request::cost(1))?.allowed());
            let wait = Some(Wait::up_to(Micros(1)));
            for operation in [
                Operation::Acquire(Request::cost(1)),
                Operation::AcquireWithId { request: Request::cost(1), id: "id", wait },
                Operation::Peek(Request::cost(1)),
                Operation::Debit(1.into()),
                Operation::Correct { permit: "id:1:1", actual: 1.into() },
                Operation::Release { permit: "id:1:1" },
                Operation::Renew { permit: "id:1:1" },
                Operation::Cancel { id: "id", gave_up: false },
                Operation::Admin { command: AdminCommand::Resume },
                Operation::Reset,
            ] {
                let error = keyed.prepare(operation).unwrap_err();
                assert_eq!(error.argument(), Some("key"), "{operation:?}");
            }
            assert_eq!(keyed.with_key("alice")?.statistics().unwrap_err().argument(), Some("key"));
            assert_eq!(keyed.with_key("alice")?.most_refused(10).unwrap_err().argument(), Some("key"));
            assert_eq!(plain.most_refused(10).unwrap_err().argument(), Some("most_refused"));
            assert_eq!(keyed.without_statistics()?.most_refused(10).unwrap_err().argument(), Some("statistics"));
            assert_eq!(store.together(&[&plain])?.most_refused(10).unwrap_err().argument(), Some("most_refused"));
            for count in [0, 101] {
                assert_eq!(keyed.most_refused(count).unwrap_err().argument(), Some("count"), "{count}");
            }
            assert_eq!(store.together(&[&keyed]).unwrap_err().argument(), Some("key"));
            assert_eq!(store.together(&[&plain])?.keyed().unwrap_err().argument(), Some("keyed"));
            let uncounted = plain.without_statistics()?;
            assert_eq!(uncounted.statistics().unwrap_err().argument(), Some("statistics"));
            assert_eq!(keyed.without_statistics()?.statistics().unwrap_err().argument(), Some("statistics"));
            assert_eq!(peek(&plain, Request::cost(1), NOW).remaining, Some(2), "nothing has changed");
            Ok(())
        });
    }

    #[test]
    fn are_one_entry_in_the_list() {
        let (on_redis, _raw) = on_own_database();
        for store in [memory_with_clock(), on_redis] {
            listed_once(&store).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    fn listed_once(store: &Paddlegate) -> Result<()> {
        set_clock(NOW);
        let ttl = Duration::from_secs(300);
        let policy = Policy::new([Limit::window(2, MINUTE)?])?;
        let per_user = store.limiter_with_ttl("api", policy.clone(), ttl)?.keyed()?;
        for user in 0..100 {
            per_user.with_key(&format!("user-{user}"))?.try_acquire(Request::cost(1))?;
        }
        store.limiter_with_ttl("api", policy, ttl)?.without_statistics()?.try_acquire(Request::cost(1))?;
        let listed = store.limiters()?;
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert!(listed[0].name == "api" && listed[0].keyed, "{listed:?}");
        assert_eq!(per_user.statistics()?.granted, 100);
        assert_eq!(store.limiters()?.iter().map(|info| info.limits.len()).sum::<usize>(), 1);
        Ok(())
    }
}

mod in_redis {
    use super::*;

    #[test]
    fn nothing_remains_of_a_key_and_its_state_is_one_key() {
        let (store, mut raw) = on_own_database();
        let per_user = store.leaky("api", 100, MINUTE).and_then(|limiter| limiter.keyed()).expect("a limiter");
        let uncounted = per_user.without_statistics().expect("one limiter");
        set_clock(NOW);
        for user in 0..500 {
            let key = format!("user-{user}");
            uncounted.with_key(&key).and_then(|limiter| limiter.try_acquire(Request::cost(1))).expect("a decision");
        }
        let keys = raw.keys("");
        assert_eq!(keys.len(), 500, "one key for each: {:?}", keys.iter().take(5).collect::<Vec<_>>());
        let most = keys.iter().map(|key| raw.ttl(key)).max().expect("keys");
        assert!((1..=10_600).contains(&most), "600 ms of the unit and 10 s: ttl_ms={most}");
        per_user.with_key("user-1").and_then(|limiter| limiter.try_acquire(Request::cost(1))).expect("a decision");
        let more: Vec<String> = raw
            .keys("")
            .iter()
            .filter(|key| !keys.contains(key))
            .map(|key| String::from_utf8_lossy(key).into_owned())
            .collect();
        assert_eq!(more.len(), 2, "statistics and the list: {more:?}");
    }

    #[test]
    fn the_keys_of_a_limiter_are_spread_over_sixteen_hash_tags_and_those_of_a_group_are_not() {
        let (store, mut raw) = on_own_database();
        let per_user = store.leaky("api", 100, MINUTE).and_then(|limiter| limiter.keyed()).expect("a limiter");
        let tags = |raw: &mut support::raw::Raw| {
            let tag = |key: &Vec<u8>| String::from_utf8_lossy(key).split(['{', '}']).nth(1).expect("a tag").to_owned();
            let mut tags: Vec<String> = raw.keys("").iter().map(tag).collect();
            tags.sort();
            tags.dedup();
            tags
        };
        for user in 0..500 {
            let alice = per_user.with_key(&format!("user-{user}")).expect("a key");
            acquire(&alice, Request::cost(1), NOW);
        }
        let spread = tags(&mut raw);
        assert_eq!(spread.len(), 16, "{spread:?}");
        assert!(spread.iter().all(|tag| tag.len() == 2 && tag[1..] == spread[0][1..]), "{spread:?}");
        assert_eq!(per_user.statistics().expect("statistics").granted, 500);
        raw.command("FLUSHDB");
        let of_group = per_user.with_group("acme").expect("a group");
        for user in 0..50 {
            let alice = of_group.with_key(&format!("user-{user}")).expect("a key");
            acquire(&alice, Request::cost(1), NOW);
        }
        assert_eq!(tags(&mut raw).len(), 1);
        assert_eq!(of_group.statistics().expect("statistics").granted, 50);
        raw.command("FLUSHDB");
    }

    #[test]
    fn the_statistics_of_all_keys_live_for_the_ttl_of_the_limiter() {
        let (store, mut raw) = on_own_database();
        let policy = Policy::new([Limit::leaky(100, MINUTE).expect("a limit")]).expect("a policy");
        let per_user =
            store.limiter_with_ttl("api", policy, Duration::from_secs(3_600)).and_then(|limiter| limiter.keyed());
        let per_user = per_user.expect("a limiter");
        for user in 0..100 {
            acquire(&per_user.with_key(&format!("user-{user}")).expect("a key"), Request::cost(1), NOW);
        }
        let statistics: Vec<Vec<u8>> =
            raw.keys("").into_iter().filter(|key| String::from_utf8_lossy(key).contains("}k:m:")).collect();
        assert_eq!(statistics.len(), 16);
        for key in statistics {
            let ttl = raw.ttl(&key);
            assert!((3_500_000..=3_600_000).contains(&ttl), "{}: ttl_ms={ttl}", String::from_utf8_lossy(&key));
        }
        raw.command("FLUSHDB");
    }

    #[test]
    fn a_damaged_statistic_of_another_program_is_an_error_of_the_statistics_alone() {
        let (store, mut raw) = on_own_database();
        let per_user = store.leaky("api", 100, MINUTE).and_then(|limiter| limiter.keyed()).expect("a limiter");
        let alice = per_user.with_key("alice").expect("a key");
        acquire(&alice, Request::cost(1), NOW);
        let key =
            raw.keys("").into_iter().find(|key| String::from_utf8_lossy(key).contains("}k:m:")).expect("statistics");
        assert_eq!(raw.execute(&[b"SET".to_vec(), key, b"text".to_vec()]), Reply::Text(b"OK".to_vec()));
        assert!(acquire(&alice, Request::cost(1), NOW).allowed());
        assert_eq!(per_user.statistics().unwrap_err().kind(), paddlegate::ErrorKind::Data);
        raw.command("FLUSHDB");
    }
}

mod the_list_of_limiters {
    use super::*;

    #[test]
    fn is_read_by_prefix_and_in_pages() {
        let (on_redis, mut raw) = on_own_database();
        for store in [memory_with_clock(), on_redis] {
            listed(&store).unwrap_or_else(|error| panic!("{error}"));
        }
        raw.command("FLUSHDB");
    }

    fn listed(store: &Paddlegate) -> Result<()> {
        set_clock(NOW);
        let mut names: Vec<String> = (0..1_000).map(|i| format!("shop-{i:03}")).collect();
        let strange = ["*", "a*b", "a?b", "a[b]", "a\\b", "^a", "a|b|c", "shop", "", "é-1", "é-2"];
        for name in names.iter().map(String::as_str).chain(strange.into_iter().filter(|name| !name.is_empty())) {
            store.window(name, 5, MINUTE)?.try_acquire(Request::cost(1))?;
        }
        store.window("of-group", 5, MINUTE)?.with_group("shop-group")?.try_acquire(Request::cost(1))?;
        let by_prefix = |prefix: &str| -> Result<Vec<String>> {
            Ok(store.limiters_with_prefix(prefix)?.into_iter().map(|info| info.name).collect())
        };
        assert_eq!(by_prefix("shop-")?, names);
        assert_eq!(by_prefix("shop-99")?.len(), 10);
        for name in strange.into_iter().filter(|name| !name.is_empty()) {
            let found = by_prefix(name)?;
            assert!(found.iter().any(|other| other == name), "{name}: {found:?}");
            assert!(found.iter().all(|other| other.starts_with(name)), "{name}: {found:?}");
        }
        assert_eq!(by_prefix("é-")?, ["é-1", "é-2"]);
        assert_eq!(by_prefix("nothing")?, Vec::<String>::new());
        assert_eq!(by_prefix("")?.len(), names.len() + strange.len());
        names.push("shop".to_owned());
        let (mut found, mut cursor, mut pages): (Vec<String>, Option<String>, usize) = (Vec::new(), None, 0);
        loop {
            let page = store.limiter_page("shop", cursor.as_deref())?;
            pages += 1;
            assert!(page.limiters.len() >= 100 || page.cursor.is_none(), "page {pages}: {}", page.limiters.len());
            assert!(page.limiters.is_sorted_by(|a, b| a.name <= b.name));
            found.extend(page.limiters.into_iter().map(|info| info.name));
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        let is_paged = store.redis().is_some();
        assert!(if is_paged { (3..=11).contains(&pages) } else { pages == 1 }, "pages={pages}");
        found.sort();
        found.dedup();
        names.sort();
        assert_eq!(found, names);
        for cursor in ["", "1", "x.y", "256.0", "-1.0", "+1.0", "01.0", "1.-1", "1.0.0"] {
            assert_eq!(store.limiter_page("", Some(cursor)).unwrap_err().argument(), Some("cursor"), "{cursor:?}");
        }
        Ok(())
    }
}

/// Runs a test in memory, in Redis and in a cluster.
fn each_store(test: impl Fn(&Paddlegate, &str) -> Result<()>) {
    let cluster = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster");
    for store in [memory_with_clock(), redis_with_clock(), open(&cluster, Some(&clock()))] {
        set_clock(NOW);
        let place = store.redis().map_or("memory", |_: &std::sync::Arc<Redis>| "redis");
        test(&store, &unique("keyed")).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
}
