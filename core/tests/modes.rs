//! Tests modes and blocks: random callers on both stores, the oracle, and a naive count of refusals.

use std::time::Duration;

use crate::support::calls::{acquire, correct, enter, peek, run, statistics};
use crate::support::library::Library;
use crate::support::oracle::{Oracle, subject};
use crate::support::raw::Raw;
use crate::support::sequence::{Operation, Sequence, compare, composite, config, keep_only};
use crate::support::workload::{Runner, Workload, workload_with_modes};
use crate::support::{memory_with_clock, on_own_database, redis_with_clock, set_clock, test_url, unique};
use paddlegate::Operation::Admin;
use paddlegate::{
    AdminCommand, BlockAfter, Cost, Deadline, ErrorKind, Kind, LimitOverride, Micros, Mode, OnUnavailable, Paddlegate,
    Reason, Request, Result, Settlement, Status, UpstreamReport, Wait,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const SEEDS: &str = "proptest-regressions/modes.txt";
const MINUTE: Duration = Duration::from_secs(60);
const SECOND: u64 = 1_000_000;
const NOW: u64 = 1_700_000_000_000_000;

thread_local! {
    static SERVER: Paddlegate = redis_with_clock();
}

mod redis_agrees_with_memory {
    use super::*;

    proptest! {
        #![proptest_config(config(80, SEEDS))]

        #[test]
        fn on_leases(workload in workload_with_modes(&[Kind::Concurrency], 60)) { on_both_stores(&workload)?; }

        #[test]
        fn on_meters(workload in workload_with_modes(&[Kind::Leaky], 60)) { on_both_stores(&workload)?; }

        #[test]
        fn on_windows_and_points(workload in workload_with_modes(&[Kind::Window, Kind::Points], 60)) {
            on_both_stores(&workload)?;
        }

        #[test]
        fn on_leases_with_rates(
            workload in workload_with_modes(&[Kind::Concurrency, Kind::Bucket, Kind::Throttle, Kind::Leaky], 60),
        ) {
            on_both_stores(&workload)?;
        }
    }

    fn on_both_stores(workload: &Workload) -> TestCaseResult {
        let mut memory = Runner::in_memory(workload);
        let server = SERVER.with(Clone::clone);
        let mut redis_runner = Runner::on_redis(&server, &test_url(), &unique("modes"), workload);
        for (number, step) in workload.steps.iter().enumerate() {
            let (expected, seen) = (memory.step(step), redis_runner.step(step));
            prop_assert_eq!(expected.text, seen.text, "step {}: {:?}", number, step);
            prop_assert_eq!(memory.statistics(), redis_runner.statistics(), "after step {}: {:?}", number, step);
        }
        redis_runner.limiter.reset().expect("a reset");
        Ok(())
    }
}

mod shadow {
    use super::*;

    proptest! {
        #![proptest_config(config(150, SEEDS))]

        #[test]
        fn has_the_state_and_the_answers_that_refusals_would_give(sequence in composite(80)) {
            let mut limiter = Library::in_mode(&memory_with_clock(), "x", &sequence.limits, Mode::Shadow);
            compare(&sequence, &mut Oracle::new(&subject::of(&sequence.limits)), &mut limiter)?;
        }
    }

    proptest! {
        #![proptest_config(config(40, SEEDS))]

        #[test]
        fn has_them_on_redis(sequence in composite(60)) {
            // The clock of the keys is the server's, which does not jump as that of the test does.
            let sequence: Sequence = keep_only(sequence, |operation| !matches!(operation, Operation::Lose));
            let name = unique("shadow");
            let store = SERVER.with(Clone::clone);
            let mut memory = Library::new(&memory_with_clock(), &name, &sequence.limits);
            let mut limiter = Library::in_mode(&store, &name, &sequence.limits, Mode::Shadow);
            compare(&sequence, &mut memory, &mut limiter)?;
            limiter.limiter().reset().expect("a reset");
        }
    }

    #[test]
    fn grants_while_the_store_cannot_decide() {
        let store = Paddlegate::open("unix:///no/such/socket", None).expect("a store");
        let closed = |mode: Mode| -> Result<paddlegate::Limiter> {
            let api = store.window("api", 100, MINUTE)?.with_on_unavailable(OnUnavailable::FailClosed);
            api.with_mode(mode)
        };
        let (shadow, enforced) = (closed(Mode::Shadow).expect("a limiter"), closed(Mode::Enforce).expect("a limiter"));
        let decision = shadow.try_acquire(Request::cost(1)).expect("a decision");
        assert!(decision.allowed() && decision.degraded, "{decision:?}");
        assert!(!enforced.try_acquire(Request::cost(1)).expect("a decision").allowed());
        let of_both = |other: &paddlegate::Limiter| store.together(&[&shadow, other]).expect("a limiter");
        let other = store.window("other", 1, MINUTE).expect("a limiter");
        let other = other.with_on_unavailable(OnUnavailable::FailClosed);
        assert!(!of_both(&other).try_acquire(Request::cost(1)).expect("a decision").allowed());
        let other = other.with_mode(Mode::Shadow).expect("one limiter");
        assert!(of_both(&other).try_acquire(Request::cost(1)).expect("a decision").allowed());
        let local = store.window("local", 1, MINUTE).and_then(|limiter| limiter.with_mode(Mode::Shadow));
        let local = local.expect("a limiter").with_on_unavailable(OnUnavailable::Local { share_percent: 100 });
        assert_eq!(local.try_acquire(Request::cost(1)).expect("a decision").would_refuse, None);
        let decision = local.try_acquire(Request::cost(1)).expect("a decision");
        assert_eq!(decision.would_refuse, Some(Reason::Limit(Kind::Window)), "{decision:?}");
        assert!(decision.allowed() && decision.degraded, "{decision:?}");
    }

    #[test]
    fn reports_of_a_call_that_charged_nothing_still_teach_the_budget() {
        for store in [memory_with_clock(), redis_with_clock()] {
            let shop = store.points(&unique("shop"), 100, MINUTE).and_then(|shop| shop.with_mode(Mode::Shadow));
            let shop = shop.expect("a limiter");
            acquire(&shop, Request::estimate(100), NOW);
            let permit = acquire(&shop, Request::estimate(10), NOW).permit.expect("a permit");
            let budgets = shop.budget_updates(None, Some(0), None, None, None).expect("a budget");
            let (permit, actual) = (Some(&*permit), Some(Cost::Units(5)));
            let report = UpstreamReport { permit, actual, budgets: &budgets, ..UpstreamReport::default() };
            let learned = shop.apply_report(report).expect("what was learned");
            assert_eq!(learned.settlement, Some(Settlement::Settled));
            // A budget that the upstream reports as used up holds nobody up either.
            let decision = acquire(&shop, Request::cost(1), NOW);
            assert_eq!(decision.would_refuse, Some(Reason::Limit(Kind::Points)), "{decision:?}");
            assert!(shop.extend("shadow", 50).expect("an extension").allowed(), "it charges nothing either");
            assert_eq!(correct(&shop, "shadow", 0, NOW), Settlement::Settled);
            shop.reset().expect("a reset");
        }
    }

    #[test]
    fn by_an_override_wakes_those_who_wait() {
        let store = memory_with_clock();
        let workers = store.concurrent("workers", 1, MINUTE).expect("a limiter");
        let inbox = workers.listen().expect("a listener");
        enter(&workers, "holder", 1, None, NOW);
        for i in 0..100 {
            let wait = Wait { channel: inbox.channel(), ..Wait::up_to(Micros(600 * SECOND)) };
            assert_eq!(enter(&workers, &format!("{i}"), 1, Some(wait), NOW).status, Status::Queued);
        }
        let changes = [LimitOverride::Mode(Mode::Shadow)];
        run(&workers, Admin { command: AdminCommand::Override { changes: &changes, expires: None } }, NOW);
        let woken = inbox.receive().expect("wake-ups");
        assert!(woken.len() >= 60 && woken.iter().all(|wakeup| wakeup.delay == Micros(0)), "{woken:?}");
        for i in 0..100 {
            let wait = Wait { channel: inbox.channel(), ..Wait::up_to(Micros(600 * SECOND)) };
            let decision = enter(&workers, &format!("{i}"), 1, Some(wait), NOW);
            assert_eq!(decision.would_refuse, Some(Reason::Limit(Kind::Concurrency)));
        }
        assert_eq!(inbox.receive().expect("wake-ups").len() + woken.len(), 100, "each is woken once");
        assert_eq!(statistics(&workers, NOW).tickets, 0);
    }

    #[test]
    fn and_blocks_belong_to_each_limiter() {
        let store = Paddlegate::memory();
        let (a, b) =
            (store.window("a", 1, MINUTE).expect("a limiter"), store.window("b", 1, MINUTE).expect("a limiter"));
        let both = store.together(&[&a, &b]).expect("a limiter");
        let rule = BlockAfter::new(1, MINUTE, MINUTE).expect("a rule");
        for (argument, error) in [
            ("mode", both.with_mode(Mode::Shadow).expect_err("several limiters")),
            ("block_after", both.with_block_after(rule).expect_err("several limiters")),
            ("block", both.admin(AdminCommand::Block(Deadline::After(Micros(1)))).expect_err("several limiters")),
            ("for", a.admin(AdminCommand::Block(Deadline::After(Micros(0)))).expect_err("no time")),
            ("block_after", BlockAfter::new(1_000_001, MINUTE, MINUTE).expect_err("too many")),
            ("block_after", BlockAfter::new(1, Duration::from_millis(999), MINUTE).expect_err("too short")),
            ("block_after", BlockAfter::new(1, MINUTE, Duration::from_secs(7 * 86_400 + 1)).expect_err("too long")),
            ("block_after", BlockAfter::new(1, Duration::MAX, MINUTE).expect_err("too long")),
        ] {
            assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some(argument)), "{error}");
        }
    }
}

mod blocks {
    use super::*;

    proptest! {
        #![proptest_config(config(100, SEEDS))]

        #[test]
        fn begin_and_end_as_a_naive_count_says(
            refusals in 1..=4_u64,
            steps in prop::collection::vec((0..3_u64, prop::sample::select(&[0_u64, 1, 400_000, SECOND, 3 * SECOND][..])), 1..80),
        ) {
            let (within, lasts) = (2 * SECOND, 5 * SECOND);
            let rule = BlockAfter::of_micros(refusals, Micros(within), Micros(lasts)).expect("a rule");
            let made = |store: &Paddlegate| {
                store.window(&unique("blocks"), 2, Duration::from_secs(1)).and_then(|limiter| limiter.with_block_after(rule))
            };
            let stores = [memory_with_clock(), SERVER.with(Clone::clone)];
            let limiters = stores.map(|store| made(&store).expect("a limiter"));
            let (mut at, mut taken, mut counted, mut first, mut blocked) = (NOW, Vec::<u64>::new(), 0, 0, 0);
            for (cost, wait) in steps {
                at += wait;
                let live = taken.iter().filter(|time| **time + SECOND > at).count() as u64;
                let expected = if at < blocked {
                    Some(Reason::Blocked)
                } else if live + cost > 2 && cost > 0 {
                    if counted == 0 || at >= first + within {
                        (counted, first) = (0, at);
                    }
                    counted += 1;
                    if counted == refusals {
                        (counted, blocked) = (0, at + lasts);
                    }
                    Some(Reason::Limit(Kind::Window))
                } else {
                    taken.extend((0..cost).map(|_| at));
                    None
                };
                for limiter in &limiters {
                    prop_assert_eq!(acquire(limiter, Request::cost(cost), at).reason, expected, "at {}", at);
                }
            }
            for limiter in &limiters {
                limiter.reset().expect("a reset");
            }
        }
    }

    #[test]
    fn leave_nothing_behind() {
        let (store, mut raw) = on_own_database();
        let rule = BlockAfter::new(2, Duration::from_secs(100), Duration::from_secs(3_600)).expect("a rule");
        let login =
            store.window("login", 1, Duration::from_secs(10)).and_then(|login| login.keyed()?.with_block_after(rule));
        let mallory = login.and_then(|login| login.without_statistics()?.with_key("mallory")).expect("a key");
        let life = |raw: &mut Raw, name: &str| -> i64 {
            let keys = raw.keys(name);
            let [key] = &keys[..] else { panic!("{keys:?}") };
            raw.ttl(key) / 1_000
        };
        acquire(&mallory, Request::cost(1), NOW);
        assert!((19..=20).contains(&life(&mut raw, ":s:")));
        acquire(&mallory, Request::cost(1), NOW);
        assert!((109..=110).contains(&life(&mut raw, ":s:")), "refusals are counted for 100 s");
        acquire(&mallory, Request::cost(1), NOW);
        assert!((3_609..=3_610).contains(&life(&mut raw, ":s:")), "blocked for an hour");
        assert_eq!(acquire(&mallory, Request::cost(1), NOW + 20 * SECOND).reason, Some(Reason::Blocked));
        let later = NOW + 3_600 * SECOND;
        assert!(peek(&mallory, Request::cost(1), later).allowed());
        acquire(&mallory, Request::cost(1), later);
        assert!((19..=20).contains(&life(&mut raw, ":s:")), "the block is over, and nothing of it is stored");
        raw.command("FLUSHDB");
    }

    #[test]
    fn of_an_unlimited_policy_reach_the_name() {
        let store = memory_with_clock();
        let api = store.window("api", 5, MINUTE).expect("a limiter");
        let operator = store.unlimited("api").expect("a limiter");
        let block = |command| run(&operator, Admin { command }, NOW);
        block(AdminCommand::Block(Deadline::After(Micros(SECOND))));
        assert_eq!(acquire(&api, Request::cost(1), NOW).reason, Some(Reason::Blocked));
        block(AdminCommand::Resume);
        assert!(acquire(&api, Request::cost(1), NOW).allowed());
    }
}

#[test]
fn the_list_has_the_mode_that_was_used_last() {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(NOW);
        let name = unique("listed");
        let used = |mode, keyed, at| {
            set_clock(at);
            let limiter =
                store.window(&name, 1, MINUTE).and_then(|limiter| limiter.with_mode(mode)).expect("a limiter");
            let limiter =
                if keyed { limiter.keyed().and_then(|all| all.with_key("a")).expect("a key") } else { limiter };
            limiter.try_acquire(Request::cost(1)).expect("a decision");
            let listed = store.limiters_with_prefix(&name).expect("a list");
            listed.iter().map(|info| (info.keyed, info.mode)).collect::<Vec<_>>()
        };
        assert_eq!(used(Mode::Enforce, false, NOW), [(false, Mode::Enforce)]);
        assert_eq!(used(Mode::Shadow, false, NOW + 90 * SECOND), [(false, Mode::Shadow)]);
        assert_eq!(used(Mode::Shadow, true, NOW + 90 * SECOND), [(false, Mode::Shadow), (true, Mode::Shadow)]);
        let last = used(Mode::Enforce, true, NOW + 180 * SECOND);
        assert_eq!(last, [(false, Mode::Shadow), (true, Mode::Enforce)]);
    }
}
