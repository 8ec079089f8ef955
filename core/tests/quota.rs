//! Tests quotas where vectors and random sequences do not: other clocks than the caller's, the list of limiters, overrides of
//! unknown limits, and the number of attempts.

use std::time::Duration;

use crate::support::raw::Raw;
use crate::support::{memory_with_clock, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{
    AdminCommand, Calendar, Decision, ErrorKind, Kind, Limit, LimitOverride, Limiter, Micros, OnUnavailable, Operation,
    Paddlegate, Policy, Prepared, Request, Settlement,
};

const DAY: u64 = 86_400_000_000;
/// 2025-01-15T12:00:00Z.
const NOON: u64 = 1_736_942_400_000_000;

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(NOON);
        test(&store);
    }
}

fn daily(store: &Paddlegate, limit: u64) -> Limiter {
    let policy = Policy::new([Limit::quota(limit, Calendar::day()).unwrap()]).unwrap();
    store.limiter(&unique("quota"), policy).unwrap()
}

fn take(limiter: &Limiter, cost: u64) -> Decision {
    limiter.try_acquire(Request::cost(cost)).unwrap()
}

#[test]
fn the_clock_of_the_limiter_picks_the_period_however_far_it_is_away() {
    on_both(|store| {
        let quota = daily(store, 5);
        for days in [1, 2, 3, 40, 400] {
            // The limiter's clock stays where it was when the store's runs back, days away from the caller's.
            set_clock(NOON + days * DAY);
            assert!(take(&quota, 4).allowed());
            set_clock(NOON - days * DAY);
            let refused = take(&quota, 2);
            assert_eq!((refused.allowed(), refused.remaining), (false, Some(1)), "{days} days");
            assert_eq!(refused.retry_after, Some(Micros(DAY / 2)), "{days} days");
            assert_eq!(refused.at, Micros(NOON + days * DAY), "{days} days");
            let estimate = quota.try_acquire(Request::estimate(1)).unwrap();
            assert_eq!(quota.correct(&estimate.permit.unwrap(), 0).unwrap(), Settlement::Settled);
            assert_eq!(quota.peek(Request::cost(1)).unwrap().remaining, Some(1));
            assert_eq!(quota.debit(1).unwrap().remaining, Some(0));
            assert_eq!(quota.admin(AdminCommand::Get).unwrap().overrides, []);
            quota.statistics().unwrap();
            quota.reset().unwrap();
        }
    });
}

#[test]
fn a_permit_of_several_limiters_is_settled_once_by_whatever_clock() {
    on_both(|store| {
        let (plain, quota, other) =
            (store.bucket(&unique("plain"), 9, Duration::from_micros(DAY)).unwrap(), daily(store, 9), daily(store, 9));
        // One limiter is days ahead of the others.
        set_clock(NOON + 40 * DAY);
        assert!(take(&other, 1).allowed());
        set_clock(NOON);
        let all = store.together(&[&plain, &quota, &other]).unwrap();
        let permit = all.try_acquire(Request::estimate(5)).unwrap().permit.unwrap();
        set_clock(NOON + 1);
        assert_eq!(all.correct(&permit, 2).unwrap(), Settlement::Settled);
        assert_eq!(all.correct(&permit, 2).unwrap(), Settlement::Already);
        for (limiter, left) in [(&plain, 7), (&quota, 7), (&other, 6)] {
            assert_eq!(limiter.peek(Request::cost(0)).unwrap().remaining, Some(left), "{}", limiter.name());
        }
        assert!(!all.try_acquire(Request::cost(7)).unwrap().allowed());
        assert!(all.try_acquire(Request::cost(6)).unwrap().allowed());
        assert_eq!(all.debit(1).unwrap().remaining, Some(0));
    });
}

#[test]
fn one_further_attempt_is_made_only_where_the_instants_do_not_fit() {
    let store = redis_with_clock();
    let quota = daily(&store, 5);
    let first_reply = |quota: &Limiter| {
        let Prepared::Call(call) = quota.prepare(Operation::Acquire(Request::cost(1))).unwrap() else {
            panic!("not on redis")
        };
        format!("{:?}", Raw::open(&test_url()).send(call.bytes()))
    };
    set_clock(NOON);
    assert!(take(&quota, 1).allowed(), "the script is known");
    let reply = first_reply(&quota);
    assert!(reply.starts_with("Array([Integer(1)"), "{reply}");
    set_clock(NOON + 40 * DAY);
    assert!(take(&quota, 1).allowed());
    set_clock(NOON);
    let reply = first_reply(&quota);
    assert!(reply.contains(&format!("PGTIME {}", NOON + 40 * DAY)), "{reply}");
    assert_eq!(quota.peek(Request::cost(0)).unwrap().remaining, Some(4), "the first attempt took nothing");
    // The same when the server gets the script with the call, behind which everything stands later.
    Raw::open(&test_url()).command("SCRIPT FLUSH");
    assert_eq!(take(&quota, 3).remaining, Some(1));
    let both = store.together(&[&daily(&store, 5), &quota]).unwrap();
    Raw::open(&test_url()).command("SCRIPT FLUSH");
    assert_eq!(both.try_acquire(Request::cost(1)).unwrap().remaining, Some(0));
}

#[test]
fn the_list_of_limiters_has_the_calendar() {
    on_both(|store| {
        let calendar = Calendar::quarter().in_timezone("Europe/Berlin").unwrap().starting("2025-05-31T09:30").unwrap();
        let quota = Limit::quota(7, calendar).unwrap().labelled("usd").unwrap();
        let limiter = store.limiter(&unique("listed"), Policy::new([quota.clone()]).unwrap()).unwrap();
        assert!(take(&limiter, 1).allowed());
        let listed = store.limiters().unwrap();
        let info = listed.iter().find(|info| info.name == limiter.name()).expect("in the list");
        assert_eq!(info.limits, [quota]);
    });
}

#[test]
fn an_override_of_a_quota_is_a_number() {
    on_both(|store| {
        let quota = daily(store, 5);
        let limits = [LimitOverride::Set(Limit::quota(9, Calendar::day()).unwrap())];
        let state = quota.admin(AdminCommand::Override { changes: &limits, expires: None }).unwrap();
        let number = state.override_of("quota").unwrap();
        assert_eq!((number.kind(), number.amount(), number.calendar()), (Kind::Quota, 9, None));
        assert_eq!(Policy::new([number.clone()]).unwrap_err().argument(), Some("limits"));
        assert_eq!(take(&quota, 9).remaining, Some(0));
        // The number of a runtime state sets the override again, also for a policy without the limit.
        let other = store.window(quota.name(), 3, Duration::from_secs(60)).unwrap();
        let again = [LimitOverride::Set(Limit::clone(number))];
        for limiter in [&quota, &other] {
            let state = limiter.admin(AdminCommand::Override { changes: &again, expires: None }).unwrap();
            assert_eq!(state.override_of("quota"), Some(number));
        }
        let labelled = [LimitOverride::Set(Limit::quota(4, Calendar::month()).unwrap().labelled("monthly").unwrap())];
        let state = other.admin(AdminCommand::Override { changes: &labelled, expires: None }).unwrap();
        assert_eq!(state.override_of("monthly").map(Limit::amount), Some(4));
        assert_eq!(take(&quota, 0).remaining, Some(0));
    });
}

#[test]
fn an_error_names_the_argument() {
    let quota = |limit, per, timezone, starts| Limit::quota(limit, Calendar::parse(per, timezone, starts)?);
    for (result, argument) in [
        (quota(0, "month", None, None), "limit"),
        (quota(1_000_000_000_001, "month", None, None), "limit"),
        (quota(1, "hour", None, None), "per"),
        (quota(1, "Month", None, None), "per"),
        (quota(1, "month", Some("Europe/Berlln"), None), "timezone"),
        (quota(1, "month", Some("CEST+1"), None), "timezone"),
        (quota(1, "month", Some("+25:00"), None), "timezone"),
        (quota(1, "month", None, Some("32")), "starts"),
        (quota(1, "month", None, Some("2025-02-29")), "starts"),
        (quota(1, "quarter", None, Some("02-30")), "starts"),
        (quota(1, "week", None, Some("Monday")), "starts"),
        (quota(1, "day", None, Some("24:00")), "starts"),
        (quota(1, "year", None, Some("2025-01-01T09:60")), "starts"),
    ] {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some(argument)), "{error}");
    }
    let of_kind = Limit::of_kind(Kind::Quota, 1, Micros(DAY), Micros(0));
    assert_eq!(of_kind.unwrap_err().argument(), Some("kind"));
}

#[test]
fn a_process_alone_has_its_share_of_a_quota() {
    let pg = Paddlegate::open("unix:///no/such/socket", None).unwrap();
    let policy = Policy::new([Limit::quota(100, Calendar::day()).unwrap()]).unwrap();
    let quota = pg.limiter("quota", policy).unwrap();
    let decision = take(&quota.with_on_unavailable(OnUnavailable::Local { share_percent: 10 }), 1);
    assert!(decision.allowed() && decision.degraded);
    assert_eq!((decision.limit, decision.remaining), (Some(10), Some(9)));
}

#[test]
fn the_calendars_of_many_threads_and_times_agree_with_a_new_one() {
    let calendar = Calendar::month().in_timezone("Europe/Berlin").unwrap().starting("31").unwrap();
    let limit = Limit::quota(1, calendar.clone()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (kept, calendar) = (limit.calendar().unwrap(), &calendar);
            scope.spawn(move || {
                for step in 0..400 {
                    let time = Micros(NOON + (step * 7 + thread) % 200 * DAY);
                    assert_eq!(kept.period_at(time), calendar.clone().period_at(time), "{time:?}");
                }
            });
        }
    });
}
