//! Tests the same scenarios on the memory store and on Redis.

use crate::support;
use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::calls::{acquire, correct};
use crate::support::names::names;
use crate::support::{calls, clock, memory_with_clock, redis, redis_with_clock, unique};
use paddlegate::{
    AdminCommand, BudgetUpdate, Deadline, ErrorKind, Label, Limit, LimitOverride, Limiter, MAX_PERMITS, MAX_SPAN,
    MAX_TIME, Micros, Operation, Paddlegate, Page, Policy, Reason, Request, Settlement, TestClock, UpstreamReport,
};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const NOW: u64 = 1_700_000_000_000_000;

macro_rules! on_both_stores {
    ($($scenario:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $scenario() { super::$scenario(&super::memory_with_clock()); })*
        }

        mod redis {
            $(#[test] fn $scenario() { super::$scenario(&super::redis_with_clock()); })*
        }
    };
}

on_both_stores![
    names_that_look_alike_are_different_limiters,
    limiters_of_one_name_share_their_state,
    policies_of_one_name_share_the_labels_they_have_in_common,
    overrides_are_of_the_name_and_of_a_label,
    a_learned_limit_has_the_label_of_its_budget,
    a_test_clock_may_begin_at_zero,
    a_limiter_is_in_use_from_its_first_change_on,
    a_name_that_was_only_read_is_not_listed,
    threads_take_no_more_than_the_limit,
    a_permit_is_settled_once_by_the_first_call,
    old_permits_are_removed_beyond_a_hundred_thousand,
    permits_expire_after_five_minutes,
    permits_expire_when_their_call_says,
    a_meter_gives_back_what_has_drained_since_the_grant,
    corrections_of_long_logs_count_no_less_than_was_used,
    no_window_is_exceeded_by_what_was_used_whatever_is_corrected,
];

fn names_that_look_alike_are_different_limiters(store: &Paddlegate) {
    let prefix = unique("name");
    let limiters: Vec<Limiter> =
        names().iter().map(|name| store.window(&format!("{prefix}{name}"), 1, DAY).expect("a limiter")).collect();
    for limiter in &limiters {
        assert!(take(limiter).allowed(), "{:?} shares the state of another name", limiter.name());
    }
    for limiter in &limiters {
        assert!(!take(limiter).allowed(), "{:?} does not have its own state", limiter.name());
    }
    limiters[0].reset().expect("a reset");
    let free: Vec<&str> = limiters.iter().filter(|limiter| take(limiter).allowed()).map(Limiter::name).collect();
    assert_eq!(free, [limiters[0].name()], "the reset of another name changed it");
}

fn limiters_of_one_name_share_their_state(store: &Paddlegate) {
    let name = unique("one");
    let policy = || Policy::new([Limit::window(5, DAY)?, Limit::leaky(5, DAY)?, Limit::bucket(5, DAY)?]);
    let made: Vec<Limiter> =
        (0..3).map(|_| store.limiter(&name, policy().expect("a policy")).expect("a limiter")).collect();
    for (i, limiter) in made.iter().cycle().take(5).enumerate() {
        assert_eq!(take(limiter).remaining, Some(4 - i as u64));
    }
    assert!(made.iter().all(|limiter| !take(limiter).allowed()));
    made[1].reset().expect("a reset");
    assert_eq!(take(&made[2]).remaining, Some(4));
}

fn policies_of_one_name_share_the_labels_they_have_in_common(store: &Paddlegate) {
    let name = unique("labels");
    let made = |limits: Vec<Limit>| store.limiter(&name, Policy::new(limits).expect("a policy")).expect("a limiter");
    let window =
        |label: &str, limit| Limit::window(limit, DAY).and_then(|limit| limit.labelled(label)).expect("a limit");
    let few = made(vec![window("few", 2)]);
    let both = made(vec![Limit::bucket(9, DAY).unwrap(), window("many", 5), window("few", 3)]);
    let many = made(vec![window("many", 5)]);
    // The same label with another kind counts by itself.
    let other = made(vec![Limit::leaky(2, DAY).unwrap().labelled("few").unwrap()]);
    let remaining = |limiter: &Limiter| limiter.peek(Request::cost(0)).expect("a peek").remaining;
    assert!(take(&few).allowed());
    let decision = take(&both);
    assert_eq!((decision.remaining, decision.label.as_deref()), (Some(1), Some("few")));
    assert_eq!([&few, &many, &other].map(remaining), [Some(0), Some(4), Some(2)]);
    assert_eq!(take(&few).label.as_deref(), Some("few"));
    assert!(take(&both).allowed() && !take(&both).allowed(), "its own number, and the units of all");
    assert!((0..3).all(|_| take(&many).allowed()));
    let refused = take(&many);
    assert_eq!((refused.allowed(), refused.label.as_deref()), (false, Some("many")));
    both.reset().expect("a reset");
    assert_eq!([&few, &both, &many].map(remaining), [Some(2), Some(3), Some(5)]);
}

fn overrides_are_of_the_name_and_of_a_label(store: &Paddlegate) {
    let name = unique("overrides");
    let window =
        |label: &str, limit| Limit::window(limit, DAY).and_then(|limit| limit.labelled(label)).expect("a limit");
    let made = |limits: Vec<Limit>| store.limiter(&name, Policy::new(limits).expect("a policy")).expect("a limiter");
    let two = made(vec![window("rpm", 5), window("rpd", 50)]);
    let one = made(vec![Limit::bucket(7, DAY).unwrap()]);
    let (unlimited, paused) = (store.unlimited(&name).unwrap(), made(vec![Limit::paused()]));
    let set = |limiter: &Limiter, changes: &[LimitOverride]| {
        limiter.admin(AdminCommand::Override { changes, expires: None }).expect("a runtime state").overrides
    };
    let changes = |limiter: &Limiter, label, amount| limiter.override_changes(label, Some(amount), None);
    assert_eq!(set(&two, &changes(&two, Some("rpd"), 2).unwrap()), [window("rpd", 2)]);
    assert_eq!(changes(&two, None, 2).unwrap_err().argument(), Some("label"));
    assert_eq!(changes(&two, Some("bucket"), 2).unwrap_err().argument(), Some("label"));
    // Each policy overrides the limits of the others, also one that decides nothing.
    let bucket = Limit::bucket(3, DAY).unwrap();
    let overrides = set(&two, &[LimitOverride::Set(bucket.clone())]);
    assert_eq!(overrides, [bucket.clone(), window("rpd", 2)]);
    assert_eq!(
        set(&unlimited, &[LimitOverride::Set(window("rpm", 1))]),
        [bucket.clone(), window("rpd", 2), window("rpm", 1)]
    );
    for limiter in [&one, &two, &unlimited, &paused] {
        assert_eq!(limiter.admin(AdminCommand::Get).unwrap().overrides.len(), 3);
        let nothing = AdminCommand::Override { changes: &[], expires: None };
        assert_eq!(limiter.admin(nothing).unwrap_err().argument(), Some("limits"));
    }
    assert_eq!((take(&one).remaining, take(&two).remaining), (Some(2), Some(0)));
    assert_eq!(take(&two).label.as_deref(), Some("rpm"));
    assert!(take(&unlimited).allowed() && !take(&paused).allowed());
    let label = |label| Label::new(label).expect("a label");
    assert_eq!(set(&paused, &[LimitOverride::Remove(label("rpm"))]), [bucket, window("rpd", 2)]);
    assert_eq!(take(&two).remaining, Some(0));
    assert_eq!(take(&two).label.as_deref(), Some("rpd"));
    assert_eq!(set(&one, &[LimitOverride::RemoveAll]), []);
    assert_eq!(take(&two).remaining, Some(2));
    unlimited.admin(AdminCommand::Pause(Deadline::After(Micros(1_000_000)))).expect("a pause");
    let refused = take(&one);
    assert_eq!((refused.reason, refused.label), (Some(Reason::Paused), None));
    paused.admin(AdminCommand::Resume).expect("a resume");
    assert!(take(&one).allowed());
}

#[test]
fn a_store_without_a_test_clock_uses_its_own() {
    for store in [Paddlegate::memory(), redis()] {
        let limiter = store.leaky(&unique("clock"), 5, DAY).expect("a limiter");
        let first = limiter.try_acquire(Request::default()).expect("a decision").at;
        let second = limiter.peek(Request::default()).expect("a peek").at;
        // The store's clock is later than this test was written, earlier than `MAX_TIME`, and running.
        assert!(first > Micros(1_760_000_000_000_000) && first < MAX_TIME, "{first:?}");
        assert!(second >= first && second.0 - first.0 < 60_000_000, "{first:?} then {second:?}");
        let throttle = store.throttle(&unique("clock"), Duration::from_millis(1)).expect("a limiter");
        let mut starts = Vec::new();
        while starts.len() < 5 {
            let decision = throttle.try_acquire(Request::default()).expect("a decision");
            if decision.allowed() {
                starts.push(decision.at.0);
            }
        }
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 1_000), "{starts:?}");
    }
}

#[test]
fn clones_of_a_test_clock_are_one_clock_that_stays_in_range() {
    let clock = TestClock::new(MAX_TIME).expect("a clock");
    let same = clock.clone();
    for by in [Duration::from_nanos(1), Duration::MAX] {
        assert_eq!(clock.advance(by).expect_err("too late").argument(), Some("now"));
    }
    assert!(clock.set(Micros(MAX_TIME.0 + 1)).is_err() && clock.now() == MAX_TIME, "an error moves nothing");
    clock.set(Micros(5)).expect("an earlier time");
    clock.advance(Duration::from_nanos(1_001)).expect("a time");
    assert_eq!(same.now(), Micros(7), "parts of a microsecond are rounded up");
}

#[test]
fn a_store_in_redis_takes_a_test_clock_only_if_the_environment_permits_it() {
    const PERMIT: &str = "PADDLEGATE_TEST_CLOCK";
    let opened = Paddlegate::open_with_clock("redis://127.0.0.1:1", None, Some(&clock()));
    if env::var_os(PERMIT).is_none() {
        let error = opened.err().expect("an error");
        assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("clock")));
        return;
    }
    assert!(opened.is_ok());
    let name = "stores::a_store_in_redis_takes_a_test_clock_only_if_the_environment_permits_it";
    let mut without = Command::new(env::current_exe().expect("a path"));
    let output = without.args(["--exact", name]).env_remove(PERMIT).output().expect("a child process");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

fn a_test_clock_may_begin_at_zero(store: &Paddlegate) {
    let second = Duration::from_secs(1);
    for limit in [
        Limit::bucket(1, second),
        Limit::window(1, second),
        Limit::leaky(1, second),
        Limit::points(1, second),
        Limit::throttle(second),
        Limit::concurrency(1, second),
    ] {
        let policy = Policy::new([limit.expect("a limit")]).expect("a policy");
        let limiter = store.limiter(&unique("zero"), policy).expect("a limiter");
        let first = acquire(&limiter, Request::estimate(1), 0);
        assert!(first.allowed() && first.at == Micros(0), "{first:?}");
        let wait = acquire(&limiter, Request::estimate(1), 1).retry_after;
        assert_eq!(wait, Some(Micros(999_999)), "{limiter:?}");
        assert!(acquire(&limiter, Request::estimate(1), 1_000_000).allowed(), "{limiter:?}");
        assert_ne!(correct(&limiter, &first.permit.expect("a permit"), 0, 1_000_000), Settlement::Unknown);
    }
}

fn a_learned_limit_has_the_label_of_its_budget(store: &Paddlegate) {
    for made in [Limit::bucket as fn(u64, Duration) -> paddlegate::Result<Limit>, Limit::leaky] {
        let policy = Policy::new([made(10, HOUR).unwrap().labelled("rpm").unwrap()]).unwrap();
        let limiter = store.limiter(&unique("learned"), policy).unwrap();
        let limit = Some(made(5, HOUR).unwrap());
        let budgets = [BudgetUpdate { limit, ..BudgetUpdate::new(Label::new("rpm").unwrap()) }];
        limiter.apply_report(UpstreamReport { budgets: &budgets, ..UpstreamReport::default() }).unwrap();
        let learned = limiter.admin(AdminCommand::Get).unwrap();
        assert_eq!(learned.learned_of("rpm").map(Limit::amount), Some(5), "{learned:?}");
        assert_eq!(limiter.peek(Request::cost(1)).unwrap().remaining, Some(5));
    }
}

fn a_limiter_is_in_use_from_its_first_change_on(store: &Paddlegate) {
    let is_in_use = |limiter: &Limiter| limiter.admin(AdminCommand::Get).expect("a runtime state").in_use;
    let pause =
        |limiter: &Limiter| limiter.admin(AdminCommand::Pause(Deadline::After(Micros(1)))).expect("a pause").in_use;
    let name = unique("in use");
    let limiter = store.window(&name, 5, DAY).expect("a limiter");
    limiter.peek(Request::cost(1)).expect("a peek");
    assert!(!is_in_use(&limiter), "a read of the runtime state or a peek counts as a use");
    take(&limiter);
    assert!(is_in_use(&limiter) && pause(&limiter), "a grant does not count as a use");
    // Other policies of the name have the same state.
    let other = store.leaky(&name, 5, DAY).expect("a limiter");
    let unlimited = store.unlimited(&name).expect("a limiter");
    assert!([&other, &unlimited].into_iter().all(is_in_use), "the use of another policy does not count");
    limiter.reset().expect("a reset");
    assert!(![&limiter, &other, &unlimited].into_iter().any(is_in_use), "a reset does not end the use");
    assert!(!pause(&other), "a pause counts as a use before it");
    assert!(pause(&other), "an earlier pause does not count as a use");
    // A refusal writes only statistics, and these count as a use.
    let full = Policy::new([Limit::concurrency(0, HOUR).unwrap()]).unwrap();
    let full = store.limiter(&unique("full"), full).expect("a limiter");
    assert!(!take(&full).allowed());
    assert!(is_in_use(&full), "a refusal does not count as a use");
    assert!(!is_in_use(&store.unlimited(&unique("open")).expect("a limiter")));
}

fn a_name_that_was_only_read_is_not_listed(store: &Paddlegate) {
    let name = unique("only read");
    let limiter = store.window(&name, 5, DAY).expect("a limiter");
    let users = limiter.keyed().expect("a limiter");
    let read = |limiter: &Limiter| {
        limiter.peek(Request::cost(1)).expect("a peek");
        limiter.admin(AdminCommand::Get).expect("a runtime state");
        limiter.inspect(Page::default()).expect("an inspection");
    };
    read(&limiter);
    limiter.statistics().expect("statistics");
    read(&users.with_key("ada").expect("a limiter"));
    users.statistics().expect("statistics");
    let listed = || store.limiters_with_prefix(&name).expect("a list").len();
    assert_eq!(listed(), 0);
    assert!(take(&limiter).allowed());
    assert_eq!(listed(), 1);
}

fn threads_take_no_more_than_the_limit(store: &Paddlegate) {
    let name = unique("threads");
    let policy = || {
        Policy::new([
            Limit::window(300, DAY)?,
            Limit::leaky(400, DAY)?,
            Limit::points(2_000, DAY)?,
            Limit::bucket(500, DAY)?,
        ])
    };
    let granted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let limiter = store.limiter(&name, policy().expect("a policy")).expect("a limiter");
                for _ in 0..100 {
                    let decision = limiter.try_acquire(Request::estimate(1)).expect("a decision");
                    granted.fetch_add(usize::from(decision.allowed()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 300);
}

fn a_permit_is_settled_once_by_the_first_call(store: &Paddlegate) {
    let name = unique("permit");
    let limiter = || store.points(&name, 1_000, DAY).expect("a limiter");
    let permit = acquire(&limiter(), Request::estimate(600), NOW).permit.expect("a permit");
    let settled = AtomicUsize::new(0);
    thread::scope(|scope| {
        for actual in 0..8 {
            let (permit, settled, limiter) = (&permit, &settled, limiter());
            scope.spawn(move || match limiter.correct(permit, actual).expect("a settlement") {
                Settlement::Settled => drop(settled.fetch_add(1, Ordering::Relaxed)),
                other => assert_eq!(other, Settlement::Already),
            });
        }
    });
    assert_eq!(settled.into_inner(), 1);
    assert!(peek(&limiter(), NOW).remaining >= Some(993));
}

fn old_permits_are_removed_beyond_a_hundred_thousand(store: &Paddlegate) {
    let limiter = store.points(&unique("many"), 1_000_000, DAY).expect("a limiter");
    let many = MAX_PERMITS + 500;
    let permits: Vec<String> = (0..many as u64)
        .map(|i| acquire(&limiter, Request::estimate(1), NOW + i * 1_000).permit.expect("a permit"))
        .collect();
    let end = NOW + many as u64 * 1_000;
    assert_eq!(correct(&limiter, &permits[0], 0, end), Settlement::Unknown);
    assert_eq!(correct(&limiter, &permits[many - 1], 0, end), Settlement::Settled);
    let every = 100;
    let sample = permits.iter().step_by(every).filter(|id| correct(&limiter, id, 1, end) != Settlement::Unknown);
    let known = every * sample.count();
    // The store trims the permits once per second, and one second of this test has 1,000 permits.
    assert!((MAX_PERMITS..MAX_PERMITS + 1_000).contains(&known), "{known}");
}

fn a_meter_gives_back_what_has_drained_since_the_grant(store: &Paddlegate) {
    let limiter = store.points(&unique("drained"), 1_000, Duration::from_secs(20)).expect("a limiter");
    let acquire_estimate = |at: u64| acquire(&limiter, Request::estimate(1_000), NOW + at).permit;
    let first = acquire_estimate(0).expect("a permit");
    assert!(acquire_estimate(20_000_000).is_some() && acquire_estimate(20_000_000).is_none());
    assert_eq!(correct(&limiter, &first, 0, NOW + 20_000_000), Settlement::Settled);
    // The 1,000 units of the first permit have drained since, but the correction still gives them back, once.
    assert!(acquire_estimate(20_000_000).is_some() && acquire_estimate(20_000_000).is_none());
}

fn corrections_of_long_logs_count_no_less_than_was_used(store: &Paddlegate) {
    /// Grants one microsecond apart, the correction of one of them, and the units then counted for each.
    type Case = (&'static [u64], (usize, u64), &'static [u64]);
    let cases: [Case; 7] = [
        (&[2_000, 1_500, 2_000, 900], (2, 2_010), &[2_000, 1_500, 2_010, 900]),
        (&[2_000, 1_500, 2_000, 900], (0, 2_010), &[2_000, 1_500, 2_010, 900]),
        (&[2_000, 1_500, 2_000, 900], (1, 1_490), &[2_000, 1_490, 2_000, 900]),
        (&[2_000, 1_500, 2_000, 900], (1, 300), &[800, 1_500, 2_000, 900]),
        (&[2_000, 1_500, 2_000, 900], (0, 500), &[500, 1_500, 2_000, 900]),
        (&[500, 3_000, 2_000, 900], (1, 1_500), &[500, 1_500, 2_000, 900]),
        (&[2_000, 900], (0, 0), &[0, 900]),
    ];
    let hour = Duration::from_secs(3_600);
    for (grants, (permit, actual), counted) in cases {
        let limiter = store.window(&unique("long"), 10_000, hour).expect("a limiter");
        let permits: Vec<String> = (NOW..)
            .zip(grants)
            .map(|(at, units)| acquire(&limiter, Request::estimate(*units), at).permit.expect("a permit"))
            .collect();
        assert_eq!(correct(&limiter, &permits[permit], actual, NOW + 10), Settlement::Settled);
        for ended in 0..=counted.len() {
            let at = NOW + 3_600_000_000 + ended as u64 - 1;
            let left = 10_000 - counted[ended..].iter().sum::<u64>();
            assert_eq!(peek(&limiter, at).remaining, Some(left), "{grants:?}, {permit} corrected to {actual}");
        }
    }
}

/// Checks that late corrections give back no units by which a window could be exceeded.
fn no_window_is_exceeded_by_what_was_used_whatever_is_corrected(store: &Paddlegate) {
    let (limit, interval) = (20, 1_000_000);
    for seed in 1..=20_u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let limiter = store.window(&unique("promise"), limit, Duration::from_micros(interval)).expect("a limiter");
        // The time, the units that were used, and the permit until it is settled.
        let mut granted: Vec<(u64, u64, Option<String>)> = Vec::new();
        let mut at = NOW;
        for _ in 0..120 {
            at += random(interval / 5);
            let units = 1 + random(8);
            let decision = acquire(&limiter, Request::estimate(units), at);
            if let Some(permit) = decision.permit {
                granted.push((at, units, Some(permit)));
            }
            let number = usize::try_from(random(granted.len() as u64)).expect("a number");
            if let (_, units, permit @ Some(_)) = &mut granted[number] {
                let actual = random(*units + 1);
                assert_eq!(correct(&limiter, &permit.take().expect("a permit"), actual, at), Settlement::Settled);
                *units = actual;
            }
            let used: u64 =
                granted.iter().filter(|(granted_at, ..)| granted_at + interval > at).map(|(_, units, _)| units).sum();
            assert!(used <= limit, "seed {seed}: {used} units in one interval");
        }
    }
}

fn permits_expire_when_their_call_says(store: &Paddlegate) {
    let limiter = store.points(&unique("days"), 1_000, DAY).expect("a limiter");
    let week = 7 * 86_400_000_000;
    let acquire_estimate = |time: u64| {
        let request = Request::estimate(100).settle_within(Micros(time));
        acquire(&limiter, request, NOW).permit.expect("a permit")
    };
    let [five_minutes, hour, days, long] = [300_000_000, 3_600_000_000, week, week].map(acquire_estimate);
    assert_eq!(correct(&limiter, &five_minutes, 0, NOW + 300_000_000), Settlement::Late);
    assert_eq!(correct(&limiter, &hour, 0, NOW + 3_599_999_999), Settlement::Settled);
    assert_eq!(correct(&limiter, &hour, 0, NOW + 3_599_999_999), Settlement::Already);
    assert_eq!(correct(&limiter, &hour, 0, NOW + 3_600_000_000), Settlement::Late);
    // A permit that others end before is still there.
    acquire(&limiter, Request::estimate(1), NOW + 4_000_000_000);
    acquire(&limiter, Request::estimate(1), NOW + week - 2);
    assert_eq!(correct(&limiter, &days, 0, NOW + week - 1), Settlement::Settled);
    assert_eq!(correct(&limiter, &days, 0, NOW + week - 1), Settlement::Already);
    assert_eq!(correct(&limiter, &long, 0, NOW + week), Settlement::Late);
    for time in [0, 299_999_999, week + 1] {
        let error = limiter.try_acquire(Request::estimate(1).settle_within(Micros(time))).unwrap_err();
        assert_eq!(error.argument(), Some("settle_within"), "{time}");
    }
    let of_a_cost = Request { settle_within: Some(Micros(week)), ..Request::cost(1) };
    assert_eq!(limiter.try_acquire(of_a_cost).unwrap_err().argument(), Some("settle_within"));
}

fn permits_expire_after_five_minutes(store: &Paddlegate) {
    let limiter = store.points(&unique("five"), 1_000, DAY).expect("a limiter");
    let acquire_estimate = |at: u64| acquire(&limiter, Request::estimate(1), at).permit.expect("a permit");
    let (first, second) = (acquire_estimate(NOW), acquire_estimate(NOW + 1));
    assert_eq!(correct(&limiter, &first, 0, NOW + 300_000_000), Settlement::Late);
    assert_eq!(correct(&limiter, &second, 0, NOW + 300_000_000), Settlement::Settled);
    let third = acquire_estimate(NOW + 700_000_000);
    assert_eq!(correct(&limiter, &second, 0, NOW + 700_000_000), Settlement::Late);
    assert_eq!(correct(&limiter, &third, 0, NOW), Settlement::Settled, "a clock that ran backwards");
}

fn take(limiter: &Limiter) -> paddlegate::Decision {
    acquire(limiter, Request::cost(1), NOW)
}

fn peek(limiter: &Limiter, at: u64) -> paddlegate::Decision {
    calls::peek(limiter, Request::cost(0), at)
}

#[test]
fn creating_a_limiter_calls_no_server() {
    let store = Paddlegate::open("redis://127.0.0.1:1/3", None).expect("a store");
    let limiter = store.leaky("nowhere", 1, DAY).expect("a limiter");
    assert_eq!(limiter.name(), "nowhere");
    for without_state in [store.unlimited("nowhere"), store.paused("nowhere")] {
        without_state.expect("a limiter").try_acquire(Request::default()).expect("no server is called");
    }
    assert!(limiter.try_acquire(Request::default()).is_err());
}

#[test]
fn a_closed_store_has_no_connections_and_returns_an_error() {
    let pg = support::redis();
    let limiter = pg.bucket(&unique("closed"), 5, HOUR).unwrap();
    let keyed = limiter.keyed().unwrap();
    limiter.try_acquire(Request::cost(1)).unwrap();
    pg.close();
    pg.close();
    for error in [
        limiter.try_acquire(Request::cost(1)).unwrap_err(),
        limiter.acquire(Request::cost(1), HOUR).unwrap_err(),
        limiter.listen().err().expect("a closed store"),
        pg.limiters().unwrap_err(),
        // A host that sends calls itself must not get one.
        limiter.prepare(Operation::Statistics).expect_err("a closed store"),
        limiter.prepare(Operation::Cancel { id: "id", gave_up: false }).expect_err("a closed store"),
        keyed.prepare(Operation::Statistics).expect_err("a closed store"),
        keyed.with_key("alice").unwrap().prepare(Operation::Acquire(Request::cost(1))).expect_err("a closed store"),
    ] {
        assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("store")));
    }
    let memory = Paddlegate::memory();
    memory.close();
    let error = memory.bucket("closed", 5, HOUR).unwrap().try_acquire(Request::cost(1)).unwrap_err();
    assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("store")));
}

#[test]
fn closing_a_store_ends_its_waits_which_give_back_their_tickets() {
    let (pg, name) = (support::redis(), unique("closed-wait"));
    let limiter = pg.concurrent(&name, 1, HOUR).unwrap();
    limiter.try_acquire(Request::default()).unwrap();
    std::thread::scope(|scope| {
        let waits = [(); 3].map(|()| scope.spawn(|| limiter.acquire(Request::default(), HOUR)));
        while limiter.statistics().unwrap().tickets < 3 {
            std::thread::yield_now();
        }
        pg.close();
        for wait in waits {
            assert_eq!(wait.join().unwrap().unwrap_err().argument(), Some("store"));
        }
    });
    let other = support::redis().concurrent(&name, 1, HOUR).unwrap();
    assert_eq!(other.statistics().unwrap().tickets, 0, "others need not wait for them");
}

#[test]
fn allow_is_refused_where_a_lease_would_be_lost() {
    let pg = Paddlegate::memory();
    assert!(pg.bucket("plain", 5, HOUR).unwrap().check_allow().is_ok());
    let error = pg.concurrent("leases", 5, HOUR).unwrap().check_allow().unwrap_err();
    assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("allow")));
}

#[test]
fn a_meter_of_the_longest_time_that_is_not_exact_takes_another_capacity() {
    let limiter = Paddlegate::memory().points("longest", 100_003, MAX_SPAN.duration()).unwrap();
    assert!(limiter.policy().limits()[0].interval() > MAX_SPAN, "made a little longer");
    assert!(limiter.override_changes(None, Some(100_000), None).is_ok());
}
