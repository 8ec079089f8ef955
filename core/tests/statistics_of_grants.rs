//! Tests what statistics count of grants: those near a limit, estimated units, and for how long leases were held. An oracle counts
//! them from the answers of random calls.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::support::calls::{acquire, correct, debit, enter, release, statistics};
use crate::support::{clock, memory_with_clock, open, open_whole, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{
    Action, AdminCommand, Answer, Decision, Durations, Extension, Kind, Limit, LimitOverride, Limiter, Micros, Mode,
    OnLimit, Operation, Paddlegate, Policy, Request, Result, Settlement, SignalHandling, Statistics,
};

const START: u64 = 1_700_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn cluster() -> Paddlegate {
    open(
        &std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("PADDLEGATE_TEST_CLUSTER_URL names a cluster"),
        Some(&clock()),
    )
}

fn whole() -> Paddlegate {
    open_whole(&test_url(), Some(&clock()))
}

fn on_all(test: impl Fn(&Paddlegate) -> Result<()>) {
    for store in [memory_with_clock(), redis_with_clock(), whole(), cluster()] {
        set_clock(START);
        test(&store).expect("a test");
    }
}

/// What the answers say that statistics must have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Expected {
    granted: u64,
    near_limit: u64,
    units: i64,
    estimated_units: i64,
    holds: [u64; Durations::BUCKETS],
    held_time: u64,
}

impl Expected {
    fn grant(&mut self, decision: &Decision, units: u64) {
        if !decision.allowed() || decision.would_refuse.is_some() || units == 0 {
            return;
        }
        let (remaining, limit) = (decision.remaining.expect("a number"), decision.limit.expect("a number"));
        self.granted += 1;
        self.near_limit += u64::from(remaining <= limit / 5);
        self.estimated_units += units.cast_signed();
        self.units += units.cast_signed();
    }

    fn hold(&mut self, held: u64) {
        let milliseconds = held / 1_000;
        let below = (0..21).find(|bucket| milliseconds < 1 << bucket).unwrap_or(21);
        self.holds[below] += 1;
        self.held_time += held;
    }

    fn of(counted: &Statistics) -> Self {
        Self {
            granted: counted.granted,
            near_limit: counted.near_limit,
            units: counted.units.cast_signed(),
            estimated_units: counted.estimated_units.cast_signed(),
            holds: counted.holds.counts(),
            held_time: counted.held_time.0,
        }
    }
}

/// Random numbers by a seed, which a failure prints.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// An open permit: what it has charged, and when it was granted.
struct Open {
    permit: String,
    charged: u64,
    granted_at: u64,
}

/// Makes random calls with one limiter, and returns what their answers say.
fn make_calls(limiter: &Limiter, random: &mut Random, run: &dyn Fn(&Limiter, Operation<'_>) -> Answer) -> Expected {
    let (mut expected, mut now) = (Expected::default(), START);
    let mut open: Vec<Open> = Vec::new();
    let kinds: Vec<Kind> = limiter.policy().limits().iter().map(Limit::kind).collect();
    let has_leases = kinds.contains(&Kind::Concurrency);
    let takes_units = kinds.iter().any(|kind| !matches!(kind, Kind::Concurrency | Kind::Throttle));
    let decided = |answer| match answer {
        Answer::Decision(decision) => decision,
        other => panic!("not a decision: {other:?}"),
    };
    let settled = |answer| match answer {
        Answer::Settlement(settlement) => settlement,
        other => panic!("not a settlement: {other:?}"),
    };
    for call in 0..120 {
        now += [0, 1, 999, 150_000, 1_000_000, 7_000_000][usize::try_from(random.below(6)).expect("an index")];
        set_clock(now);
        let units = random.below(4);
        let id = format!("call {call}");
        match random.below(16) {
            0..6 => {
                let decision = decided(run(limiter, Operation::Acquire(Request::cost(units))));
                expected.grant(&decision, units);
                let kept = decision.permit.filter(|_| decision.would_refuse.is_none());
                open.extend(kept.map(|permit| Open { permit, charged: units, granted_at: now }));
            }
            6..9 => {
                let request = if has_leases || units == 0 { Request::cost(units) } else { Request::estimate(units) };
                let decision = decided(run(limiter, Operation::AcquireWithId { request, id: &id, wait: None }));
                expected.grant(&decision, units);
                if has_leases && decision.allowed() && units > 0 {
                    // The lease that the id has is not another grant.
                    let again = decided(run(limiter, Operation::AcquireWithId { request, id: &id, wait: None }));
                    assert_eq!((again.allowed(), &again.permit), (true, &decision.permit));
                }
                let kept = decision.permit.filter(|_| units > 0 && decision.would_refuse.is_none());
                open.extend(kept.map(|permit| Open { permit, charged: units, granted_at: now }));
            }
            9 => drop(run(limiter, Operation::Peek(Request::cost(units)))),
            10 if takes_units => {
                let decision = decided(run(limiter, Operation::Debit(units.into())));
                expected.grant(&decision, units);
            }
            11 => {
                let amount = random.below(12) + 1;
                let changes = if random.below(2) == 0 {
                    limiter.override_changes(Some(&**limiter.policy().limits()[0].label()), Some(amount), None)
                } else {
                    Ok(vec![LimitOverride::RemoveAll])
                };
                // A throttle has no amount.
                if let Ok(changes) = changes {
                    let command = AdminCommand::Override { changes: &changes, expires: None };
                    run(limiter, Operation::Admin { command });
                }
            }
            12 if takes_units && !has_leases && !open.is_empty() => {
                let at = usize::try_from(random.below(open.len() as u64)).expect("an index");
                let (permit, units) = (open[at].permit.clone(), random.below(3) + 1);
                let extended = run(limiter, Operation::Extend { permit: &permit, units: units.into() });
                let Answer::Extension(extended) = extended else { panic!("not an extension: {extended:?}") };
                if let Extension::Decided(decision) = *extended
                    && let Some(permit) = decision.permit
                {
                    (open[at].permit, open[at].charged) = (permit, open[at].charged + units);
                    expected.estimated_units += units.cast_signed();
                    expected.units += units.cast_signed();
                }
            }
            _ if open.is_empty() => {}
            _ => {
                let at = usize::try_from(random.below(open.len() as u64)).expect("an index");
                let Open { permit, charged, granted_at } = open.swap_remove(at);
                if now - granted_at > 200_000_000 {
                    continue;
                }
                if has_leases {
                    let settlement = settled(run(limiter, Operation::Release { permit: &permit }));
                    assert!(matches!(settlement, Settlement::Released | Settlement::Late), "{settlement:?}");
                    expected.hold(now - granted_at);
                } else {
                    let actual = random.below(7);
                    let correction = Operation::Correct { permit: &permit, actual: actual.into() };
                    if settled(run(limiter, correction)) == Settlement::Settled {
                        expected.units += actual.cast_signed() - charged.cast_signed();
                    }
                }
                if random.below(4) == 0 && has_leases {
                    // Known no longer, so it counts nothing.
                    run(limiter, Operation::Release { permit: &permit });
                }
            }
        }
    }
    expected
}

fn policies() -> Vec<Policy> {
    let labelled = |limit: Result<Limit>, label: &str| limit.and_then(|limit| limit.labelled(label));
    let of = |limits: Vec<Result<Limit>>| {
        Policy::new(limits.into_iter().map(|limit| limit.expect("a limit"))).expect("a policy")
    };
    vec![
        of(vec![Limit::bucket(7, MINUTE)]),
        of(vec![Limit::window(6, 9 * SECOND)]),
        of(vec![Limit::leaky(11, MINUTE)]),
        of(vec![Limit::points(40, MINUTE)]),
        of(vec![Limit::throttle(3 * SECOND)]),
        of(vec![Limit::window(10, 20 * SECOND), labelled(Limit::leaky(5, 30 * SECOND), "slow")]),
        of(vec![Limit::concurrency(1, MINUTE)]),
        of(vec![Limit::concurrency(6, MINUTE)]),
        of(vec![Limit::concurrency(5, MINUTE), Limit::bucket(30, MINUTE)]),
    ]
}

/// The seed of a run; `PADDLEGATE_SEED` repeats one.
fn seed() -> u64 {
    let seed = std::env::var("PADDLEGATE_SEED")
        .map_or_else(|_| RandomState::new().build_hasher().finish(), |seed| seed.parse().expect("a number"));
    println!("PADDLEGATE_SEED={seed}");
    seed
}

/// Compares the statistics of random runs with what the answers say, in this process and in another one.
fn compare(open: impl Fn() -> Paddlegate, run: &dyn Fn(&Limiter, Operation<'_>) -> Answer) {
    let seed = seed();
    let mut random = Random(seed);
    let mut near = HashMap::new();
    for (number, policy) in policies().into_iter().enumerate() {
        for form in 0..3 {
            let (store, name) = (open(), unique("grants"));
            let made = |store: &Paddlegate| {
                let limiter = store.limiter(&name, policy.clone()).expect("a limiter");
                match form {
                    0 => limiter,
                    1 => limiter.keyed().expect("one limiter"),
                    _ => limiter.with_mode(Mode::Shadow).expect("one limiter"),
                }
            };
            let limiter = made(&store);
            let one = if form == 1 { limiter.with_key("ada").expect("a key") } else { limiter.clone() };
            let mut expected = make_calls(&one, &mut random, run);
            // A refund may be more than all that was charged since; there are no units below zero.
            expected.units = expected.units.max(0);
            let which = format!("policy {number}, form {form}, seed {seed}");
            let counted = match run(&limiter, Operation::Statistics) {
                Answer::Statistics(statistics) => *statistics,
                other => panic!("not statistics: {other:?}"),
            };
            assert_eq!(Expected::of(&counted), expected, "{which}");
            if store.redis().is_some() {
                drop((one, limiter, store));
                assert_eq!(
                    Expected::of(&made(&open()).statistics().expect("statistics")),
                    expected,
                    "elsewhere, {which}"
                );
            }
            *near.entry(form).or_insert(0) += expected.near_limit;
        }
    }
    assert!(near.values().all(|count| *count > 20), "{near:?}");
}

fn blocking(limiter: &Limiter, operation: Operation<'_>) -> Answer {
    limiter.run(operation, SignalHandling::Ignore).unwrap_or_else(|error| panic!("{operation:?}: {error}"))
}

#[test]
fn random_calls_are_counted_as_their_answers_say_in_memory() {
    compare(memory_with_clock, &blocking);
}

#[test]
fn random_calls_are_counted_as_their_answers_say_in_redis() {
    compare(redis_with_clock, &blocking);
}

#[test]
fn random_calls_are_counted_as_their_answers_say_by_the_whole_script() {
    compare(whole, &blocking);
}

#[test]
fn random_calls_are_counted_as_their_answers_say_in_a_cluster() {
    compare(cluster, &blocking);
}

#[cfg(feature = "aio")]
#[test]
fn random_calls_are_counted_as_their_answers_say_by_tasks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    compare(redis_with_clock, &|limiter, operation| {
        runtime.block_on(limiter.run_async(operation)).unwrap_or_else(|error| panic!("{operation:?}: {error}"))
    });
}

#[test]
fn a_grant_is_near_a_limit_when_at_most_a_fifth_of_it_is_left() {
    on_all(|store| {
        let near = |limiter: &Limiter| statistics(limiter, START).near_limit;
        let api = store.bucket(&unique("near"), 10, MINUTE)?;
        let expected = [0, 0, 0, 0, 0, 0, 0, 1, 2, 3];
        for (taken, expected) in expected.into_iter().enumerate() {
            assert!(acquire(&api, Request::cost(1), START).allowed());
            assert_eq!(near(&api), expected, "{} taken", taken + 1);
        }
        // A refusal, a look and a cost of zero are not near.
        acquire(&api, Request::cost(1), START);
        acquire(&api, Request::cost(0), START);
        enter(&api, "looks", 0, None, START);
        assert_eq!((near(&api), statistics(&api, START).granted), (3, 10));

        let four = store.window(&unique("of four"), 4, MINUTE)?;
        (0..4).for_each(|_| drop(acquire(&four, Request::cost(1), START)));
        assert_eq!(near(&four), 1, "a fifth of four is less than one");

        let throttle = store.throttle(&unique("throttle"), SECOND)?;
        acquire(&throttle, Request::cost(1), START);
        assert_eq!(near(&throttle), 1, "nothing is left of one");

        let shadow = store.window(&unique("shadow"), 2, MINUTE)?.with_mode(Mode::Shadow)?;
        (0..5).for_each(|_| drop(acquire(&shadow, Request::cost(1), START)));
        assert_eq!((near(&shadow), statistics(&shadow, START).shadow_refused), (1, 3));

        let tokens = store.leaky(&unique("debit"), 10, MINUTE)?;
        debit(&tokens, 7, START);
        assert_eq!(near(&tokens), 0);
        debit(&tokens, 1, START);
        assert_eq!(near(&tokens), 1, "a fifth");
        debit(&tokens, 30, START);
        assert_eq!(near(&tokens), 2, "a debt");
        Ok(())
    });
}

#[test]
fn the_limit_in_force_counts() {
    on_all(|store| {
        let api = store.bucket(&unique("in force"), 100, MINUTE)?;
        acquire(&api, Request::cost(1), START);
        let changes = api.override_changes(None, Some(5), None)?;
        api.admin(AdminCommand::Override { changes: &changes, expires: None })?;
        // Of five, one is left then.
        acquire(&api, Request::cost(3), START);
        assert_eq!(statistics(&api, START).near_limit, 1);
        api.admin(AdminCommand::Override { changes: &[LimitOverride::RemoveAll], expires: None })?;
        acquire(&api, Request::cost(1), START);
        assert_eq!(statistics(&api, START).near_limit, 1);
        Ok(())
    });
}

#[test]
fn a_grant_after_a_wait_and_one_of_several_limiters_count_once_each() {
    on_all(|store| {
        let one = store.concurrent(&unique("turns"), 1, MINUTE)?;
        let first = one.admit("first", Request::cost(1), OnLimit::Wait)?.decision.permit.expect("a permit");
        assert_eq!(one.admit("second", Request::cost(1), OnLimit::Wait)?.action, Action::Wait);
        release(&one, &first, START + 5_000);
        assert_eq!(one.admit("second", Request::cost(1), OnLimit::Wait)?.action, Action::Run);
        assert_eq!(one.admit("second", Request::cost(1), OnLimit::Wait)?.action, Action::Run, "the lease that it has");
        let counted = statistics(&one, START + 5_000);
        assert_eq!((counted.granted, counted.waited, counted.near_limit), (2, 1, 2));

        let [small, large] = [2, 100].map(|limit| {
            store
                .window(&unique("both"), limit, MINUTE)
                .and_then(|limiter| limiter.with_group("both"))
                .expect("a limiter")
        });
        let both = store.together(&[&small, &large])?;
        for _ in 0..4 {
            acquire(&both, Request::cost(1), START + 5_000);
        }
        let near = [&small, &large].map(|limiter| statistics(limiter, START + 5_000).near_limit);
        assert_eq!(near, [1, 0], "the refused calls take nothing");
        Ok(())
    });
}

#[test]
fn units_are_estimated_until_a_permit_is_settled() {
    on_all(|store| {
        let shop = store.points(&unique("estimated"), 1_000, MINUTE)?;
        let units = || {
            let counted = statistics(&shop, START);
            (counted.estimated_units, counted.units)
        };
        let permit = |units: u64| acquire(&shop, Request::estimate(units), START).permit.expect("a permit");
        let (less, more, forgotten) = (permit(200), permit(100), permit(30));
        assert_eq!(units(), (330, 330));
        let longer = shop.extend(&less, 50)?.decision().and_then(|decision| decision.permit.clone()).expect("a permit");
        assert_eq!(units(), (380, 380));
        correct(&shop, &longer, 10, START);
        assert_eq!(units(), (380, 140));
        correct(&shop, &longer, 10, START);
        correct(&shop, &more, 400, START);
        assert_eq!(units(), (380, 440));
        // A permit that nobody settles in time keeps its estimate.
        correct(&shop, &forgotten, 0, START + 3_600_000_000);
        assert_eq!(units(), (380, 440));
        shop.reset()?;
        assert_eq!(units(), (0, 0));
        Ok(())
    });
}

#[test]
fn each_released_lease_counts_below_the_next_power_of_two_of_a_millisecond() {
    on_all(|store| {
        let erp = store.concurrent(&unique("holds"), 2, Duration::from_secs(7_200))?;
        let held = [0, 7, 999, 1_000, 1_999, 2_000, 1_024_000, 1_048_575_999, 1_048_576_000, 7_200_000_001];
        let mut now = START;
        for held in held {
            let permit = acquire(&erp, Request::cost(1), now).permit.expect("a lease");
            now += held;
            let expected = if held > 7_200_000_000 { Settlement::Late } else { Settlement::Released };
            assert_eq!(release(&erp, &permit, now), expected);
            assert_eq!(
                release(&erp, &permit, now),
                if held > 7_200_000_000 { Settlement::Late } else { Settlement::Unknown }
            );
        }
        let mut expected = [0; Durations::BUCKETS];
        for bucket in [0, 0, 0, 1, 1, 2, 11, 20, 21, 21] {
            expected[bucket] += 1;
        }
        let counted = statistics(&erp, now);
        assert_eq!(counted.holds.counts(), expected);
        assert_eq!(counted.held_time, Micros(held.iter().sum()));
        Ok(())
    });
}
