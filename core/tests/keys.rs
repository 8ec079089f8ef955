//! Tests what the library stores in Redis: the form of its keys, their expiry, and which calls write.

use std::time::Duration;

use crate::support::calls::{acquire, correct, enter, existing_only, longest_wait, peek, run};
use crate::support::names::names;
use crate::support::raw::{Raw, Reply};
use crate::support::sequence::config;
use crate::support::workload::{Costs, Runner, Workload, workload_with_admin};
use crate::support::{on_own_database, redis, test_url, unique};
use paddlegate::{
    Answer, Kind, Limit, Limiter, MAX_PERMITS, Micros, Operation, Paddlegate, Policy, Request, Settlement, Status, Wait,
};
use proptest::prelude::*;

const HOUR: Duration = Duration::from_secs(3_600);
const HOUR_MICROS: Micros = Micros(3_600_000_000);
const DAY: Duration = Duration::from_secs(86_400);
const NOW: u64 = 1_700_000_000_000_000;
const SEEDS: &str = "proptest-regressions/keys.txt";

mod redis_keys {
    use super::*;

    #[test]
    fn are_all_of_one_form_whatever_the_name() {
        let (store, mut raw) = on_own_database();
        for name in names() {
            let (mut keys, mut roles) = (Vec::new(), Vec::new());
            for (limiter, request) in every_kind(&store, &name) {
                let permit = acquire(&limiter, request, NOW).permit.expect("a permit");
                correct(&limiter, &permit, 4, NOW);
                queue(&limiter, "waits", NOW);
                keys.extend(raw.keys(""));
                limiter.reset().expect("a reset");
            }
            for key in keys {
                let text = String::from_utf8(key).expect("a key of text");
                let rest = text.strip_prefix("pg2:{").unwrap_or_else(|| panic!("{text:?}"));
                let (tag, rest) = rest.split_at(2);
                assert!(tag.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text:?}");
                let rest = rest.strip_prefix("}:").unwrap_or_else(|| panic!("{text:?}"));
                if rest == "limiters" {
                    continue;
                }
                let mut parts = rest.splitn(2, ':');
                let role = parts.next().expect("a role");
                assert_eq!(parts.next(), Some(name.as_str()), "{text:?}");
                roles.push(role.to_owned());
            }
            roles.sort();
            roles.dedup();
            assert_eq!(roles, ["h", "m", "p", "q", "s", "t", "w", "w.day"], "{name:?}");
            raw.command("FLUSHDB");
        }
    }

    #[test]
    fn of_groups_tell_group_name_and_key_apart_and_those_without_a_group_stay() {
        let (store, mut raw) = on_own_database();
        let tagless = |raw: &mut Raw| {
            let mut keys: Vec<String> = raw
                .keys("")
                .into_iter()
                .map(|key| String::from_utf8(key).expect("a key of text"))
                .map(|key| format!("{}{}", &key[..4], &key[8..]))
                .filter(|key| !key.ends_with(":limiters"))
                .collect();
            keys.sort();
            raw.command("FLUSHDB");
            keys
        };
        let forms: [(Option<&str>, Option<&str>, [&str; 3]); 4] = [
            (None, None, ["pg2::m:a:b", "pg2::s:a:b", "pg2::w:a:b"]),
            (None, Some("c:d"), ["pg2:3:s:a:b:c:d", "pg2:3:w:a:b:c:d", "pg2:k:m:a:b"]),
            (Some("g:é"), None, ["pg2:g4.:m:g:é:a:b", "pg2:g4.:s:g:é:a:b", "pg2:g4.:w:g:é:a:b"]),
            (Some("g:é"), Some("c"), ["pg2:g4.3:s:g:é:a:b:c", "pg2:g4.3:w:g:é:a:b:c", "pg2:g4.k:m:g:é:a:b"]),
        ];
        for (group, key, expected) in forms {
            let mut limiter = store.window("a:b", 5, DAY).expect("a limiter");
            if let Some(group) = group {
                limiter = limiter.with_group(group).expect("a group");
            }
            if let Some(key) = key {
                limiter = limiter.keyed().and_then(|keyed| keyed.with_key(key)).expect("a key");
            }
            acquire(&limiter, Request::cost(1), NOW);
            assert_eq!(tagless(&mut raw), expected);
            // A window of another policy of the name has a key that the script makes of that of the state.
            let other = Policy::new([Limit::window(5, DAY).and_then(|limit| limit.labelled("day")).expect("a label")]);
            acquire(&limiter, Request::cost(1), NOW);
            let named = store.limiter("a:b", other.expect("a policy")).expect("a limiter");
            let named = group.map_or(Ok(named.clone()), |group| named.with_group(group)).expect("a group");
            let named = key.map_or(Ok(named.clone()), |key| named.keyed()?.with_key(key)).expect("a key");
            acquire(&named, Request::cost(1), NOW);
            named.reset().expect("a reset");
            let kept: &[&str] = if key.is_some() { &expected[2..] } else { &[] };
            assert_eq!(tagless(&mut raw), kept, "after a reset by one of the policies");
        }
    }

    #[test]
    fn expire_after_any_operation() {
        let (store, mut raw) = on_own_database();
        for (limiter, request) in every_kind(&store, "expiry") {
            let mut permits = Vec::new();
            for round in 0..4 {
                let at = NOW + round * 1_500_000;
                let decision = acquire(&limiter, Request::estimate(2), at);
                expire(&mut raw, &limiter, "a grant or a refusal");
                permits.extend(decision.permit);
                acquire(&limiter, Request::cost(1), NOW - 86_400_000_000);
                expire(&mut raw, &limiter, "a clock that ran backwards");
                peek(&limiter, request, NOW);
                expire(&mut raw, &limiter, "a peek");
            }
            for (permit, actual) in permits.iter().zip([1, 2, 3, 0]) {
                correct(&limiter, permit, actual, NOW + 6_000_000);
                expire(&mut raw, &limiter, "a correction");
            }
            limiter.reset().expect("a reset");
            raw.keys("")
                .iter()
                .for_each(|key| assert_eq!(role(key), "limiters", "{limiter:?}: a key is left after a reset"));
        }
    }

    #[test]
    fn of_leases_live_as_long_beside_tickets_of_another_policy() {
        let (store, mut raw) = on_own_database();
        let leases = store.concurrent("both", 1, HOUR).expect("a limiter");
        let bucket = store.bucket("both", 1, Duration::from_secs(2)).expect("a limiter");
        let permit = enter(&leases, "holder", 1, None, NOW).permit.expect("a permit");
        acquire(&bucket, Request::cost(1), NOW);
        let waits = Wait { claim_timeout: Micros(1), ..longest_wait() };
        assert_eq!(enter(&bucket, "waiter", 1, Some(waits), NOW).status, Status::Queued);
        run(&bucket, Operation::Cancel { id: "waiter", gave_up: true }, NOW);
        let records = raw.keys(":t:").pop().expect("the records");
        assert!(raw.ttl(&records) > 3_600_000, "{} ms", raw.ttl(&records));
        run(&leases, Operation::Release { permit: &permit }, NOW);
        raw.command("FLUSHDB");
    }

    #[test]
    fn of_leases_and_tickets_expire_after_any_operation() {
        let (store, mut raw) = on_own_database();
        for (limiter, _) in every_kind(&store, "expiry") {
            let mut after = |what: &str| expire(&mut raw, &limiter, what);
            let mut holders = Vec::new();
            for i in 0..20 {
                match enter(&limiter, &format!("holder {i}"), 10, None, NOW).permit {
                    Some(permit) => holders.push(permit),
                    None => break,
                }
                after("a grant");
            }
            for (waiter, grace) in [("a", 1), ("b", 2_000_000), ("c", 60_000_000), ("d", 315_000_000_000_000)] {
                let wait = Wait { claim_timeout: Micros(grace), ..longest_wait() };
                let decision = enter(&limiter, waiter, 1, Some(wait), NOW + 1);
                assert_eq!(decision.status, Status::Queued, "{limiter:?}: {decision:?}");
                after("a ticket");
            }
            enter(&limiter, "b", 1, Some(longest_wait()), NOW + 2);
            after("a recheck");
            enter(&limiter, "c", 1, Some(existing_only()), NOW + 3);
            after("a claim that is too early");
            enter(&limiter, "e", 1, Some(Wait::up_to(Micros(0))), NOW + 4);
            after("a refusal behind a queue");
            run(&limiter, Operation::Statistics, NOW + 5);
            after("statistics");
            run(&limiter, Operation::Cancel { id: "c", gave_up: true }, NOW + 6);
            after("a cancellation");
            for permit in &holders {
                run(&limiter, Operation::Renew { permit }, NOW + 7);
                after("a renewal");
            }
            for permit in &holders {
                run(&limiter, Operation::Release { permit }, NOW + 8);
                after("a release");
            }
            // At these times all tickets but one have lapsed.
            for (waiter, later) in [("d", HOUR), ("a", 2 * HOUR), ("f", 30 * DAY)] {
                enter(
                    &limiter,
                    waiter,
                    1,
                    Some(longest_wait()),
                    NOW + u64::try_from(later.as_micros()).expect("a time"),
                );
                after("a grant to a waiter");
            }
            limiter.reset().expect("a reset");
            raw.keys("")
                .iter()
                .for_each(|key| assert_eq!(role(key), "limiters", "{limiter:?}: a key is left after a reset"));
        }
    }

    proptest! {
        #![proptest_config(config(20, SEEDS))]

        #[test]
        fn of_a_random_workload_expire_and_live_as_long_as_they_count(
            workload in workload_with_admin(&[Kind::Concurrency, Kind::Window, Kind::Leaky], 50, Costs::Labels),
        ) {
            every_key_of(&workload)?;
        }
    }

    #[test]
    fn without_an_expiry_have_one_after_the_next_grant() {
        let (store, mut raw) = on_own_database();
        let persist = |raw: &mut Raw| {
            for key in raw.keys("") {
                raw.execute(&[&b"PERSIST"[..], &key]);
            }
        };
        for (limiter, _) in every_kind(&store, "kinds") {
            acquire(&limiter, Request::estimate(1), NOW);
            persist(&mut raw);
            let later = NOW + 3_600_000_000;
            let decision = acquire(&limiter, Request::estimate(1), later);
            assert!(decision.allowed(), "{limiter:?}: {decision:?}");
            expire(&mut raw, &limiter, "the next grant");
            queue(&limiter, "first", later);
            persist(&mut raw);
            // A call that queues does not touch the permits, and renews the expiry of the statistics only once a
            // minute.
            queue(&limiter, "second", later + 60_000_000);
            for key in
                raw.keys("").into_iter().filter(|key| ["s", "m", "q", "t", "limiters"].contains(&role(key).as_str()))
            {
                assert!(raw.ttl(&key) > 0, "{}", String::from_utf8_lossy(&key));
            }
            limiter.reset().expect("a reset");
        }
    }

    #[test]
    fn of_statistics_and_of_the_list_live_for_the_ttl() {
        let (store, mut raw) = on_own_database();
        let kept_for = |name: &str, limit: paddlegate::Result<Limit>, ttl: Duration| {
            let policy = Policy::new([limit.expect("a limit")]).expect("a policy");
            store.limiter_with_ttl(name, policy, ttl).expect("a limiter")
        };
        let limiter = kept_for("short", Limit::concurrency(1, HOUR), Duration::from_secs(60));
        let permit = limiter.try_acquire(Request::default()).expect("a decision").permit.expect("a permit");
        assert!(!limiter.try_acquire(Request::default()).expect("a decision").allowed());
        limiter.release(&permit).expect("a release");
        let key = raw.keys(":m:").remove(0);
        assert!((1..=60_000).contains(&raw.ttl(&key)), "a new field does not extend the expiry: {}", raw.ttl(&key));

        let years = kept_for("years", Limit::bucket(1, HOUR), 366 * DAY);
        let list = |raw: &mut Raw| raw.keys("limiters").iter().map(|key| raw.ttl(key)).max().expect("a list");
        years.try_acquire(Request::default()).expect("a decision");
        assert!(list(&mut raw) > 365 * 86_400_000);
        // These limiters are in the same part of the list.
        for i in 0..2_000 {
            store
                .bucket(&format!("days {i}"), 1, HOUR)
                .expect("a limiter")
                .try_acquire(Request::default())
                .expect("a decision");
        }
        assert!(list(&mut raw) > 365 * 86_400_000, "other processes do not shorten it");
        raw.command("FLUSHDB");
    }

    #[test]
    fn of_a_limiter_with_a_short_ttl_leave_nothing_behind() {
        let (store, mut raw) = on_own_database();
        let (ttl, second) = (Duration::from_secs(5), Duration::from_secs(1));
        let limits = [
            Limit::window(2, second),
            Limit::leaky(2, second),
            Limit::points(2, second),
            Limit::bucket(2, second),
            Limit::concurrency(2, second),
        ];
        let ends = |raw: &mut Raw, most: i64, after: &str| {
            for key in raw.keys("") {
                // Permits can be settled for 5 minutes, and late releases are counted for as long.
                let late = if ["p", "s", "h", "t"].contains(&role(&key).as_str()) { 300_000 } else { 0 };
                let ttl = raw.ttl(&key);
                assert!((-2..=most + late).contains(&ttl) && ttl != -1, "{key:?} after {after}: {ttl} ms");
            }
        };
        for (number, limit) in limits.into_iter().enumerate() {
            let policy = Policy::new([limit.expect("a limit")]).expect("a policy");
            let limiter = store.limiter_with_ttl(&format!("short {number}"), policy, ttl).expect("a limiter");
            let permit = limiter.try_acquire(Request::estimate(1)).expect("a decision").permit.expect("a permit");
            ends(&mut raw, 11_000, "a grant");
            limiter.correct(&permit, 2).expect("a settlement");
            let queued = limiter.acquire_with_id(Request::cost(2), "waiter", Some(Wait::up_to(Micros(5_000_000))));
            queued.expect("a decision");
            ends(&mut raw, 15_000, "a correction and a ticket");
            limiter.release(&permit).expect("a release");
            limiter.cancel("waiter").expect("a cancellation");
            limiter.statistics().expect("statistics");
            ends(&mut raw, 15_000, "a release and a cancellation");
            // Calls without a TTL, such as a cancellation, create statistics that expire after at most 2 minutes.
            let statistics = raw.keys(":m:").pop().expect("statistics");
            raw.execute(&[&b"DEL"[..], &statistics]);
            limiter
                .run(Operation::Cancel { id: "waiter", gave_up: true }, paddlegate::SignalHandling::Ignore)
                .expect("a cancellation");
            assert!((1..=120_000).contains(&raw.ttl(&statistics)));
            limiter.reset().expect("a reset");
        }
        let list = raw.keys("limiters");
        assert!(list.iter().all(|key| raw.ttl(key) <= 5_000), "the list of limiters ends with its last entry");
    }

    #[test]
    fn are_not_written_by_peeks_refusals_and_corrections_without_effect() {
        let (store, mut raw) = on_own_database();
        for (limiter, request) in every_kind(&store, "written") {
            let permit = acquire(&limiter, request, NOW).permit.expect("a permit");
            let settled = acquire(&limiter, Request::estimate(5), NOW + 1_000_000).permit;
            if let Some(settled) = &settled {
                correct(&limiter, settled, 5, NOW + 1_000_000);
            }
            let at = NOW + 1_000_000;
            // Sends what this process has counted, which a later call would take along.
            run(&limiter, Operation::Statistics, at);
            let (before, all) = (decisive(&mut raw), contents(&mut raw));
            for units in [0, 1, 10] {
                peek(&limiter, Request::cost(units), at);
            }
            acquire(&limiter, Request::cost(0), at);
            run(&limiter, Operation::Statistics, at);
            assert_eq!(contents(&mut raw), all, "{limiter:?}: a peek");
            let refused = acquire(&limiter, Request::estimate(10), at);
            assert!(!refused.allowed());
            let refused = enter(&limiter, "no patience", 10, Some(Wait::up_to(Micros(0))), at);
            assert_eq!(refused.status, Status::Refused);
            let gone = enter(&limiter, "no ticket", 10, Some(existing_only()), at);
            assert_eq!(gone.status, Status::NoTicket);
            if let Some(settled) = &settled {
                assert_eq!(correct(&limiter, settled, 0, at), Settlement::Already);
            }
            assert_eq!(correct(&limiter, "0123456789abcdef0123456789abcdef:1:1", 0, at), Settlement::Late);
            let unknown = format!("0123456789abcdef0123456789abcdef:{NOW}:5");
            assert_eq!(correct(&limiter, &unknown, 0, at), Settlement::Unknown);
            assert_eq!(correct(&limiter, &permit, 0, NOW + 300_000_000), Settlement::Late);
            for gave_up in [false, true] {
                let cancelled = run(&limiter, Operation::Cancel { id: "nobody", gave_up }, at);
                assert_eq!(cancelled, Answer::Settlement(Settlement::Unknown));
            }
            let released = run(&limiter, Operation::Release { permit: &unknown }, at);
            assert_eq!(released, Answer::Settlement(Settlement::Unknown));
            assert_eq!(run(&limiter, Operation::Renew { permit: &unknown }, at), Answer::Renewal(None));
            assert_eq!(decisive(&mut raw), before, "{limiter:?}");
            limiter.reset().expect("a reset");
        }
        for (limiter, request) in every_kind(&store, "untouched") {
            peek(&limiter, request, NOW);
            acquire(&limiter, Request::cost(0), NOW);
            assert_eq!(decisive(&mut raw), Vec::new(), "{limiter:?}");
        }
    }

    #[test]
    fn are_one_per_limiter_without_window_and_permit() {
        let (store, mut raw) = on_own_database();
        for (limiter, _) in every_kind(&store, "one") {
            // A window adds its log; a concurrency limit adds its leases and their details.
            let more = |limit: &Limit| match limit.kind() {
                Kind::Window => 1,
                Kind::Concurrency => 2,
                _ => 0,
            };
            let more: usize = limiter.policy().limits().iter().map(more).sum();
            acquire(&limiter, Request::cost(1), NOW);
            assert_eq!(decisive(&mut raw).len(), 1 + more, "{limiter:?}");
            assert_eq!(raw.keys("").len(), 1 + more + 2, "{limiter:?}: its statistics, and the list of all limiters");
            limiter.reset().expect("a reset");
        }
        raw.command("FLUSHDB");
        for limiter in [store.unlimited("nothing"), store.paused("nothing")] {
            let limiter = limiter.expect("a limiter");
            limiter.try_acquire(Request::estimate(1)).expect("a decision");
            enter(&limiter, "somebody", 1, Some(longest_wait()), NOW);
            limiter.statistics().expect("statistics");
            limiter.reset().expect("a reset");
            assert_eq!(raw.keys("").len(), 0);
        }
    }

    #[test]
    fn hold_at_most_the_window_and_a_hundred_thousand_permits() {
        let (store, mut raw) = on_own_database();
        let limiter = store.window("bounded", 100, Duration::from_secs(1)).expect("a limiter");
        for i in 0..MAX_PERMITS as u64 + 1_500 {
            acquire(&limiter, Request::estimate(1).settle_within(HOUR_MICROS), NOW + i * 10_000);
        }
        let length = |raw: &mut Raw, command: &str, part: &str| {
            let key = raw.keys(part).remove(0);
            match raw.execute(&[command.as_bytes(), &key]) {
                Reply::Integer(length) => length,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(length(&mut raw, "LLEN", ":w:"), 100);
        let permits = length(&mut raw, "ZCARD", ":p:");
        assert!((100_000..100_100).contains(&permits), "{permits}");
        // Each call removes only some of the expired permits.
        for i in 0..120 {
            acquire(&limiter, Request::estimate(1), NOW + 2 * HOUR_MICROS.0 + i * 10_000);
        }
        assert_eq!(length(&mut raw, "ZCARD", ":p:"), 120, "the old ones have ended");
    }

    #[test]
    fn of_another_database_are_another_limiter() {
        let (store, mut raw) = on_own_database();
        let other = redis();
        let name = unique("database");
        let (here, there) = (store.leaky(&name, 1, DAY), other.leaky(&name, 1, DAY));
        for limiter in [here, there] {
            let limiter = limiter.expect("a limiter");
            assert!(limiter.try_acquire(Request::default()).expect("a decision").allowed());
        }
        raw.command("FLUSHDB");
    }
}

/// Returns limiters of every kind and one with a policy of all kinds, each with a request.
fn every_kind(store: &Paddlegate, name: &str) -> Vec<(Limiter, Request<'static>)> {
    let single = |kind: Kind| {
        // A call takes one lease, whatever its cost.
        let amount = if kind == Kind::Concurrency { 2 } else { 10 };
        let limit = Limit::of_kind(kind, amount, Micros(3_600_000_000), Micros(0)).expect("a limit");
        store.limiter(name, Policy::new([limit]).expect("a policy")).expect("a limiter")
    };
    let mut limiters: Vec<Limiter> =
        [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle, Kind::Concurrency].map(single).into();
    let policy = Policy::new([
        Limit::bucket(10, HOUR).expect("a limit"),
        Limit::window(10, HOUR).expect("a limit"),
        Limit::points(10, HOUR).expect("a limit"),
        Limit::window(20, DAY).and_then(|limit| limit.labelled("day")).expect("a limit"),
        Limit::leaky(10, HOUR).expect("a limit"),
        Limit::throttle(Duration::from_secs(1)).expect("a limit"),
        Limit::concurrency(2, HOUR).expect("a limit"),
    ]);
    limiters.push(store.limiter(name, policy.expect("a policy")).expect("a limiter"));
    limiters.into_iter().map(|limiter| (limiter, Request::estimate(5))).collect()
}

/// Asserts that every key expires: 10 s after its longest interval, its permits or its tickets, and the statistics and
/// the list after 90 days.
fn expire(raw: &mut Raw, limiter: &Limiter, after: &str) {
    let keys = raw.keys("");
    assert!(!keys.is_empty(), "{limiter:?} after {after}");
    for key in keys {
        let ttl = raw.ttl(&key);
        let (least, most) = match role(&key).as_str() {
            "m" | "limiters" => (90 * 86_400_000 - 60_000, 90 * 86_400_000),
            // A waiter can wait for at most ten years.
            "s" | "q" | "t" => (9_000, 3_660 * 86_400_000),
            _ => (9_000, 2 * 86_400_000 + 10_000),
        };
        assert!((least..=most).contains(&ttl), "{:?} after {after}: {ttl}", String::from_utf8_lossy(&key));
    }
}

/// Returns the part of a key that names its role.
fn role(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let rest = text.split_once("}:").expect("a tag").1;
    rest.split(':').next().unwrap_or(rest).to_owned()
}

fn contents(raw: &mut Raw) -> Vec<(Vec<u8>, Reply)> {
    let mut keys = raw.keys("");
    keys.sort();
    keys.into_iter().map(|key| (key.clone(), raw.dump(&key))).collect()
}

/// Returns the contents of all keys except the statistics and the list of limiters, which no decision reads.
fn decisive(raw: &mut Raw) -> Vec<(Vec<u8>, Reply)> {
    let decides = |key: &[u8]| !["m", "limiters"].contains(&role(key).as_str());
    contents(raw).into_iter().filter(|(key, _)| decides(key)).collect()
}

/// Uses up the limit, then queues a ticket.
fn queue(limiter: &Limiter, id: &str, at: u64) {
    for i in 0..20 {
        if !enter(limiter, &format!("{id} {i}"), 1, None, at).allowed() {
            assert_eq!(enter(limiter, id, 1, Some(longest_wait()), at).status, Status::Queued);
            return;
        }
    }
    panic!("{limiter:?} is never full");
}

/// Asserts after every step that each key expires, and that none expires while its content still counts.
fn every_key_of(workload: &Workload) -> Result<(), TestCaseError> {
    let (store, mut raw) = on_own_database();
    let url = test_url();
    let mut runner = Runner::on_redis(&store, &url, "workload", workload);
    for (number, step) in workload.steps.iter().enumerate() {
        runner.step(step);
        let reset_after = peek(&runner.limiter, Request::cost(0), runner.at).reset_after;
        let reset_after = reset_after.map_or(0, |micros| micros.0);
        for key in raw.keys("") {
            let (role, ttl) = (role(&key), raw.ttl(&key));
            prop_assert!(ttl > 0, "{} has no expiry after step {}: {:?}", role, number, step);
            let counts = match role.as_str() {
                "s" => reset_after,
                "h" => last_score(&mut raw, &key).saturating_sub(runner.at),
                "w.limit-1" => workload.limits[1].interval,
                _ => 0,
            };
            prop_assert!(
                ttl.cast_unsigned() * 1_000 >= counts,
                "{} expires in {} ms, but counts for {} us after step {}: {:?}",
                role,
                ttl,
                counts,
                number,
                step
            );
        }
    }
    Ok(())
}

fn last_score(raw: &mut Raw, key: &[u8]) -> u64 {
    match raw.execute(&[&b"ZRANGE"[..], key, b"-1", b"-1", b"WITHSCORES"]) {
        Reply::Array(items) => match &items[..] {
            // A lease that has ended and no longer takes a slot has a negative score.
            [_, Reply::Text(score)] => {
                String::from_utf8_lossy(score).parse::<i64>().expect("a number").max(0).unsigned_abs()
            }
            other => panic!("not a score: {other:?}"),
        },
        other => panic!("not a range: {other:?}"),
    }
}
