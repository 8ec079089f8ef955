//! Tests the numbers of each limit in a decision, on both stores.

use std::time::Duration;

use crate::support::calls::{acquire, debit, enter, peek, run};
use crate::support::{memory_with_clock, redis_with_clock, unique};
use paddlegate::{
    AdminCommand, Calendar, CalendarPeriod, Deadline, Decision, DecisionLimit, Limit, LimitOverride, Micros, Mode,
    OnUnavailable, Operation, Paddlegate, Policy, Request, Status, Wait,
};

const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Label, limit, remaining, seconds to wait, seconds until all is available.
type Row<'a> = (&'a str, u64, u64, Option<u64>, Option<u64>);

fn rows(decision: &Decision) -> Vec<Row<'_>> {
    let seconds = |time: Option<Micros>| time.map(|time| time.0 / SECOND);
    let mut rows = Vec::new();
    for DecisionLimit { limiter: _, label, kind: _, limit, interval: _, remaining, retry_after, reset_after } in
        &decision.limits
    {
        rows.push((&**label, *limit, *remaining, seconds(*retry_after), seconds(*reset_after)));
    }
    rows
}

fn stores() -> [Paddlegate; 2] {
    [memory_with_clock(), redis_with_clock()]
}

fn limits() -> Policy {
    Policy::new([
        Limit::window(3, MINUTE).and_then(|limit| limit.labelled("requests")).expect("a window"),
        Limit::leaky(100, Duration::from_secs(100)).and_then(|limit| limit.labelled("tokens")).expect("a meter"),
        Limit::concurrency(2, Duration::from_secs(30)).expect("leases"),
    ])
    .expect("a policy")
}

fn one(limit: Limit) -> Policy {
    Policy::new([limit]).expect("a policy")
}

fn tokens(units: u64) -> Request<'static> {
    let cost: &'static [(&'static str, u64)] = match units {
        40 => &[("tokens", 40)],
        70 => &[("tokens", 70)],
        other => panic!("no such cost: {other}"),
    };
    Request::cost(cost).with_limits()
}

#[test]
fn a_grant_has_what_is_left_and_a_refusal_what_each_limit_says() {
    for store in stores() {
        let limiter = store.limiter(&unique("each"), limits()).unwrap();
        let granted = acquire(&limiter, tokens(40), NOW);
        let after = [
            ("requests", 3, 2, Some(0), Some(60)),
            ("tokens", 100, 60, Some(0), Some(40)),
            ("concurrency", 2, 1, Some(0), Some(30)),
        ];
        assert_eq!(rows(&granted), after);
        let refused = acquire(&limiter, tokens(70), NOW);
        assert_eq!((refused.status, refused.label.as_deref()), (Status::Refused, Some("tokens")));
        let unchanged = [
            ("requests", 3, 2, Some(0), Some(60)),
            ("tokens", 100, 60, Some(10), Some(40)),
            ("concurrency", 2, 1, Some(0), Some(30)),
        ];
        assert_eq!(rows(&refused), unchanged);
        assert_eq!(rows(&peek(&limiter, tokens(70), NOW)), unchanged);
        // The last lease of two: both limits would hold the next call up.
        acquire(&limiter, tokens(40), NOW + 10 * SECOND);
        let refused = acquire(&limiter, tokens(70), NOW + 10 * SECOND);
        let both = [
            ("requests", 3, 1, Some(0), Some(60)),
            ("tokens", 100, 30, Some(40), Some(70)),
            ("concurrency", 2, 0, Some(20), Some(30)),
        ];
        assert_eq!(rows(&refused), both);
        limiter.reset().unwrap();
    }
}

#[test]
fn a_call_that_does_not_ask_gets_none() {
    for store in stores() {
        let limiter = store.limiter(&unique("silent"), limits()).unwrap();
        assert!(acquire(&limiter, Request { limits: false, ..tokens(40) }, NOW).limits.is_empty());
        assert!(debit(&limiter, &[("tokens", 1)], NOW).limits.is_empty());
        limiter.reset().unwrap();
    }
}

#[test]
fn plain_calls_get_the_one_limit_they_have() {
    for store in stores() {
        let limiter = store.limiter(&unique("one"), one(Limit::bucket(5, MINUTE).unwrap())).unwrap();
        let one = Request::cost(2).with_limits();
        let first = acquire(&limiter, one, 60 * SECOND);
        assert_eq!(rows(&first), [("bucket", 5, 3, Some(0), Some(60))]);
        let second = acquire(&limiter, one, 75 * SECOND);
        assert_eq!(rows(&second), [("bucket", 5, 1, Some(0), Some(45))]);
        assert_eq!(rows(&peek(&limiter, one, 75 * SECOND)), [("bucket", 5, 1, Some(45), Some(45))]);
        limiter.reset().unwrap();
    }
}

#[test]
fn a_pause_and_the_queue_do_not_count() {
    for store in stores() {
        let limiter = store.limiter(&unique("paused"), one(Limit::concurrency(1, MINUTE).unwrap())).unwrap();
        let pause = AdminCommand::Pause(Deadline::After(Micros(600 * SECOND)));
        run(&limiter, Operation::Admin { command: pause }, NOW);
        let paused = acquire(&limiter, Request::default().with_limits(), NOW);
        assert_eq!((paused.status, paused.label.as_deref()), (Status::Refused, None));
        assert_eq!(rows(&paused), [("concurrency", 1, 1, Some(0), Some(0))]);
        run(&limiter, Operation::Admin { command: AdminCommand::Resume }, NOW);
        let wait = Some(Wait::up_to(Micros(600 * SECOND)));
        assert!(enter(&limiter, "one", 1, wait, NOW).allowed());
        let request = Request::default().with_limits();
        let ask = |id, at| match run(&limiter, Operation::AcquireWithId { request, id, wait }, at) {
            paddlegate::Answer::Decision(decision) => decision,
            other => panic!("no decision: {other:?}"),
        };
        for id in ["two", "three"] {
            let queued = ask(id, NOW + SECOND);
            assert_eq!(queued.status, Status::Queued);
            assert_eq!(rows(&queued), [("concurrency", 1, 0, Some(59), Some(59))], "{id}");
        }
        let again = ask("one", NOW + SECOND);
        assert_eq!(rows(&again), [("concurrency", 1, 0, Some(0), Some(59))], "the lease that it has");
        limiter.reset().unwrap();
    }
}

#[test]
fn an_override_shadow_and_a_lowered_limit_show() {
    for store in stores() {
        let limits = Policy::new([Limit::window(5, MINUTE).unwrap(), Limit::points(10, MINUTE).unwrap()]).unwrap();
        let limiter = store.limiter(&unique("lowered"), limits).unwrap();
        let lowered = [LimitOverride::Set(Limit::points(3, MINUTE).unwrap())];
        let command = AdminCommand::Override { changes: &lowered, expires: Some(Deadline::After(Micros(50 * SECOND))) };
        run(&limiter, Operation::Admin { command }, NOW);
        let cost: &[(&str, u64)] = &[("points", 4)];
        let refused = acquire(&limiter, Request::cost(cost).with_limits(), NOW);
        assert_eq!(rows(&refused), [("window", 5, 5, Some(0), Some(0)), ("points", 3, 3, Some(50), Some(0))]);
        let shadow = [LimitOverride::Mode(Mode::Shadow)];
        let command = AdminCommand::Override { changes: &shadow, expires: Some(Deadline::After(Micros(50 * SECOND))) };
        run(&limiter, Operation::Admin { command }, NOW);
        let passed = acquire(&limiter, Request::cost(cost).with_limits(), NOW);
        assert!(passed.allowed() && passed.would_refuse.is_some());
        assert_eq!(rows(&passed), rows(&refused), "nothing is charged");
        limiter.reset().unwrap();
    }
}

#[test]
fn several_limiters_name_theirs() {
    for store in stores() {
        let names = [unique("org"), unique("user")];
        let org = store.limiter(&names[0], one(Limit::bucket(9, MINUTE).unwrap())).unwrap();
        let user = store.limiter(&names[1], limits()).unwrap();
        let both = store.together(&[&org, &user]).unwrap();
        let granted = acquire(&both, Request::cost(&[("tokens", 40)]).with_limits(), NOW);
        let expected = [("bucket", 9, 8), ("requests", 3, 2), ("tokens", 100, 60), ("concurrency", 2, 1)];
        let numbers: Vec<_> = rows(&granted).iter().map(|row| (row.0, row.1, row.2)).collect();
        assert_eq!(numbers, expected);
        let limiters: Vec<_> = granted.limits.iter().map(|limit| limit.limiter.as_deref()).collect();
        let user_name = Some(names[1].as_str());
        assert_eq!(limiters, [Some(names[0].as_str()), user_name, user_name, user_name]);
        let refused = acquire(&both, Request::cost(&[("tokens", 70)]).with_limits(), NOW);
        let numbers: Vec<_> = rows(&refused).iter().map(|row| (row.0, row.2, row.3)).collect();
        let left =
            [("bucket", 8, Some(0)), ("requests", 2, Some(0)), ("tokens", 60, Some(10)), ("concurrency", 1, Some(0))];
        assert_eq!(numbers, left, "the bucket was not charged");
        org.reset().unwrap();
        user.reset().unwrap();
    }
}

#[test]
fn each_limit_has_the_interval_that_rules() {
    let day = Duration::from_secs(86_400);
    for store in stores() {
        let limits = Policy::new([
            Limit::window(3, MINUTE).unwrap(),
            Limit::bucket(5, Duration::from_secs(7)).unwrap(),
            Limit::leaky(7, Duration::from_secs(9)).unwrap(),
            Limit::points(100_000, day).unwrap(),
            Limit::throttle_rate(3, Duration::from_secs(2)).unwrap(),
            Limit::concurrency(2, Duration::from_secs(30)).unwrap(),
            Limit::quota(9, Calendar::new(CalendarPeriod::Month)).unwrap(),
        ]);
        let limiter = store.limiter(&unique("intervals"), limits.unwrap()).unwrap();
        let request = Request::cost(&[("points", 1)]).with_limits();
        let check = |changed: Option<u64>| {
            let decision = peek(&limiter, request, NOW);
            let intervals: Vec<u64> = decision.limits.iter().map(|limit| limit.interval.0 / SECOND).collect();
            assert_eq!(intervals, [60, 7, 9, changed.unwrap_or(86_400), 2, 30, 31 * 86_400]);
        };
        check(None);
        let changes = [LimitOverride::Set(Limit::points(50, Duration::from_secs(3_600)).unwrap())];
        run(&limiter, Operation::Admin { command: AdminCommand::Override { changes: &changes, expires: None } }, NOW);
        check(Some(3_600));
        limiter.reset().unwrap();
    }
}

#[test]
fn no_limit_is_known_where_no_store_decides() {
    let request = Request::default().with_limits();
    assert!(Paddlegate::memory().unlimited("free").unwrap().try_acquire(request).unwrap().limits.is_empty());
    let away = Paddlegate::open("redis://127.0.0.1:1", None).unwrap();
    let window = away.window("away", 10, MINUTE).unwrap();
    let open = window.clone().with_on_unavailable(OnUnavailable::FailOpen).try_acquire(request).unwrap();
    assert!(open.allowed() && open.degraded && open.limits.is_empty());
    let local = window.with_on_unavailable(OnUnavailable::Local { share_percent: 50 }).try_acquire(request).unwrap();
    assert_eq!(rows(&local), [("window", 5, 4, Some(0), Some(60))], "the share of this process");
}
