//! Tests several limiters that decide together: in memory and on Redis, and both alike for random calls.

use std::time::Duration;

use crate::support::raw::{Raw, words};
use crate::support::sequence::config;
use crate::support::together::{Amount, Call, Subject, amount, call_with_modes, directly, limits, with_cost};
use crate::support::{clock, memory_with_clock, redis, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{
    Action, AdminCommand, Answer, Cost, Deadline, Decision, Error, ErrorKind, Limit, Limiter, LimiterUnits, Micros,
    OnLimit, OnUnavailable, Operation, Paddlegate, Page, Policy, QueuePosition, Reason, Request, Settlement,
    SignalHandling, Status, Wait,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(START);
        test(&store);
    }
}

fn at(us: u64) {
    set_clock(START + us);
}

fn wait(seconds: u64) -> Wait<'static> {
    Wait::up_to(Micros(seconds * SECOND))
}

fn enter(limiter: &Limiter, id: &str) -> Decision {
    limiter.acquire_with_id(Request::cost(1), id, Some(wait(60))).unwrap()
}

fn limiter(store: &Paddlegate, name: &str, limits: Vec<Limit>) -> Limiter {
    store.limiter(name, Policy::new(limits).unwrap()).unwrap()
}

fn left(limiter: &Limiter) -> u64 {
    limiter.peek(Request::cost(0)).unwrap().remaining.unwrap()
}

#[test]
fn all_are_charged_or_none() {
    on_both(|store| {
        let (org, user) = (unique("org"), unique("user"));
        let org = store.window(&org, 5, MINUTE).unwrap();
        let user = store.bucket(&user, 2, MINUTE).unwrap();
        let both = store.together(&[&org, &user]).unwrap();
        let granted = both.try_acquire(Request::cost(2)).unwrap();
        assert_eq!((granted.allowed(), granted.remaining), (true, Some(0)));
        assert_eq!(granted.limiter.as_deref(), Some(user.name()), "the fewest remaining units");
        let refused = both.try_acquire(Request::default()).unwrap();
        assert_eq!((refused.status, refused.limiter.as_deref()), (Status::Refused, Some(user.name())));
        assert_eq!((left(&org), left(&user)), (3, 0));
        let exact = refused.retry_after.unwrap().0;
        at(exact - 1);
        assert!(!both.peek(Request::cost(1)).unwrap().allowed());
        at(exact);
        assert!(both.try_acquire(Request::cost(1)).unwrap().allowed());
        assert_eq!((left(&org), left(&user)), (2, 1));
        let counts = |limiter: &Limiter| {
            let statistics = limiter.statistics().unwrap();
            (statistics.granted, statistics.refused, statistics.units)
        };
        assert_eq!((counts(&org), counts(&user)), ((2, 0, 3), (2, 1, 3)), "only the one that refused counts it");
    });
}

#[test]
fn a_cost_is_given_by_limiter_and_label() {
    on_both(|store| {
        let rpm = Limit::window(10, MINUTE).unwrap().labelled("rpm").unwrap();
        let tpm = Limit::points(1_000, MINUTE).unwrap().labelled("tpm").unwrap();
        let model = limiter(store, &unique("model"), vec![rpm, tpm]);
        let team = store.bucket(&unique("team"), 2_000, MINUTE).unwrap();
        let both = store.together(&[&model, &team]).unwrap();
        let units = |limiter, label, units| LimiterUnits { limiter, label, units };
        let estimate = [units(Some(model.name()), Some("tpm"), 900), units(Some(team.name()), None, 700)];
        let granted = both.try_acquire(Request::estimate(&estimate[..])).unwrap();
        assert_eq!((granted.limiter.as_deref(), granted.remaining), (Some(model.name()), Some(9)));
        let remaining = |label: &str| {
            let of_label = [(label, 0)];
            let cost = if label == "tpm" { &of_label[..] } else { &[("rpm", 0), ("tpm", 0)] };
            model.peek(Request::cost(cost)).unwrap().remaining
        };
        assert_eq!((left(&team), remaining("rpm")), (1_300, Some(9)));
        let permit = granted.permit.unwrap();
        let actual = [units(Some(model.name()), Some("tpm"), 100), units(Some(team.name()), None, 100)];
        assert_eq!(both.correct(&permit, &actual[..]).unwrap(), Settlement::Settled);
        assert_eq!(both.correct(&permit, &actual[..]).unwrap(), Settlement::Already);
        assert_eq!(left(&team), 1_900);
        // A label without a limiter is that of each which has it; a name is that of the limiter.
        assert!(both.try_acquire(Request::cost(&[("tpm", 900), (team.name(), 1_900)])).unwrap().allowed());
        assert_eq!(left(&team), 0);
        assert_eq!(both.debit(Cost::ByLabel(&[("tpm", 0), (team.name(), 5)])).unwrap().remaining, Some(0));
        for (cost, message) in [
            (Cost::ByLabel(&[("tokens", 1)]), "must name a limiter or a label of"),
            (Cost::ByLimiter(&[units(Some("other"), None, 1)]), "must name a limiter or a label of"),
            (Cost::ByLimiter(&[units(Some(team.name()), None, 1)]), "must name the limit that counts points"),
            (
                Cost::ByLimiter(&[
                    units(None, Some("tpm"), 1),
                    units(Some(team.name()), None, 1),
                    units(Some(team.name()), Some("bucket"), 1),
                ]),
                "names a limiter twice",
            ),
        ] {
            let error = both.try_acquire(Request::cost(cost)).unwrap_err();
            assert_eq!(error.argument(), Some("cost"));
            assert!(error.message().starts_with(message), "{error}");
        }
        let error = team.try_acquire(Request::cost(&estimate[..])).unwrap_err();
        assert_eq!(error.argument(), Some("cost"), "only one limiter");
        assert_eq!(both.try_acquire(Request::default()).unwrap_err().argument(), Some("estimate"));
        let error = both.try_acquire(Request::cost(&[("tpm", 1), (team.name(), 2_001)])).unwrap_err();
        assert_eq!(error.argument(), Some("cost"), "more than ever fits");
    });
}

#[test]
fn leases_are_of_all_limiters_that_have_them() {
    on_both(|store| {
        let org = store.concurrent(&unique("org"), 2, MINUTE).unwrap();
        let user = store.concurrent(&unique("user"), 1, MINUTE / 2).unwrap();
        let rate = store.bucket(&unique("rate"), 9, MINUTE).unwrap();
        let all = store.together(&[&org, &user, &rate]).unwrap();
        assert!(all.grants_leases() && all.check_allow().is_err());
        let held = all.try_acquire(Request::cost(1)).unwrap();
        assert_eq!(held.lease, Some(Micros(30 * SECOND)), "the first that ends");
        assert!(held.fencing_token.is_some());
        let refused = all.try_acquire(Request::cost(1)).unwrap();
        assert_eq!((refused.allowed(), refused.limiter.as_deref()), (false, Some(user.name())));
        assert_eq!((left(&org), left(&user), left(&rate)), (1, 0, 8));
        let permit = held.permit.unwrap();
        at(10 * SECOND);
        assert_eq!(all.renew(&permit).unwrap(), Some(Micros(30 * SECOND)));
        assert_eq!(all.release(&permit).unwrap(), Settlement::Released);
        assert_eq!((left(&org), left(&user), left(&rate)), (2, 1, 8));
        assert_eq!(all.release(&permit).unwrap(), Settlement::Unknown);
        assert_eq!(all.renew(&permit).unwrap(), None);
        assert_eq!(all.release("unheard of").unwrap(), Settlement::Unknown);
        // A repeated call takes no second lease; a limiter without leases is charged again.
        let first = enter(&all, "job");
        let again = enter(&all, "job");
        assert_eq!((again.status, &again.permit), (Status::Granted, &again.permit));
        assert_eq!(again.fencing_token, first.fencing_token);
        assert_eq!((left(&org), left(&user), left(&rate)), (1, 0, 6));
        assert_eq!(all.cancel("job").unwrap(), Settlement::Cancelled);
        assert_eq!(all.cancel("job").unwrap(), Settlement::Unknown);
        assert_eq!((left(&org), left(&user)), (2, 1));
    });
}

#[test]
fn a_call_waits_in_the_queue_of_the_first_that_refuses_it_and_keeps_its_place_while_another_holds_it_up() {
    on_both(|store| {
        let a = store.concurrent(&unique("a"), 1, MINUTE).unwrap();
        let b = store.concurrent(&unique("b"), 1, MINUTE).unwrap();
        let both = store.together(&[&a, &b]).unwrap();
        let tickets = || [&a, &b].map(|limiter| limiter.statistics().unwrap().tickets);
        let (in_a, in_b) = (enter(&a, "in a").permit.unwrap(), enter(&b, "in b").permit.unwrap());
        let queued = enter(&both, "first");
        assert_eq!((queued.status, queued.limiter.as_deref()), (Status::Queued, Some(a.name())));
        assert_eq!(tickets(), [1, 0]);
        assert_eq!(enter(&a, "second").ticket.unwrap().position, 1, "behind it");

        // Its turn in a; now b holds it up, and it stops nobody in a.
        a.release(&in_a).unwrap();
        assert_eq!(enter(&a, "second").status, Status::Queued, "the first has its turn");
        let held_up = enter(&both, "first");
        assert_eq!((held_up.status, held_up.limiter.as_deref()), (Status::Queued, Some(b.name())));
        assert_eq!(tickets(), [2, 1], "it keeps its place in a");
        let second = enter(&a, "second");
        assert_eq!(second.status, Status::Granted, "it is passed over");
        assert_eq!(enter(&a, "third").ticket.unwrap().position, 1);

        // Its turn in b, but a is taken: it has its old place there, before the third.
        b.release(&in_b).unwrap();
        let back = enter(&both, "first");
        assert_eq!((back.status, back.limiter.as_deref()), (Status::Queued, Some(a.name())));
        assert_eq!(tickets(), [2, 1]);
        assert!(enter(&b, "other").allowed(), "in b it is passed over");
        b.cancel("other").unwrap();
        a.release(&second.permit.unwrap()).unwrap();
        assert_eq!(enter(&a, "third").status, Status::Queued);
        let granted = enter(&both, "first");
        assert_eq!(granted.status, Status::Granted);
        assert_eq!(tickets(), [1, 0]);
        assert_eq!(both.release(&granted.permit.unwrap()).unwrap(), Settlement::Released);
        assert!(enter(&a, "third").allowed());
    });
}

#[test]
fn a_refusal_takes_the_tickets_away() {
    on_both(|store| {
        let a = store.concurrent(&unique("a"), 1, MINUTE).unwrap();
        let slow = store.bucket(&unique("slow"), 1, MINUTE * 60).unwrap();
        let both = store.together(&[&a, &slow]).unwrap();
        let in_a = enter(&a, "in a").permit.unwrap();
        assert_eq!(enter(&both, "first").status, Status::Queued);
        assert!(slow.try_acquire(Request::cost(1)).unwrap().allowed());
        let behind = enter(&a, "behind");
        assert_eq!(behind.ticket.unwrap().position, 1);
        let refused = both.acquire_with_id(Request::cost(1), "first", Some(wait(5))).unwrap();
        assert_eq!((refused.status, refused.limiter.as_deref()), (Status::Refused, Some(slow.name())));
        assert_eq!(enter(&a, "behind").ticket.unwrap().position, 0);
        // The same for a cost above what a limiter can ever grant.
        assert_eq!(both.acquire_with_id(Request::cost(1), "next", Some(wait(7_200))).unwrap().status, Status::Queued);
        let error = both.acquire_with_id(Request::cost(2), "next", Some(wait(7_200))).unwrap_err();
        assert_eq!(error.argument(), Some("cost"));
        assert_eq!(a.statistics().unwrap().tickets, 1);
        a.release(&in_a).unwrap();
        assert!(enter(&a, "behind").allowed());
    });
}

#[test]
fn a_lapsed_call_regains_its_place_by_its_number() {
    on_both(|store| {
        let a = store.concurrent(&unique("a"), 1, MINUTE * 60).unwrap();
        let b = store.concurrent(&unique("b"), 1, MINUTE * 60).unwrap();
        let both = store.together(&[&a, &b]).unwrap();
        assert!(enter(&b, "in b").allowed());
        let ticket = enter(&both, "first").ticket.unwrap();
        assert_eq!(enter(&both, "second").ticket.unwrap().position, 1);
        at(8 * SECOND);
        b.cancel("in b").unwrap();
        assert_eq!([&a, &b].map(|limiter| limiter.statistics().unwrap().tickets), [0, 0], "both have lapsed");
        assert!(enter(&b, "in b").allowed());
        assert_eq!(enter(&both, "second").ticket.unwrap().position, 0);
        let back = Wait { position: QueuePosition::Number(ticket.number), ..Wait::up_to(Micros(60 * SECOND)) };
        let back = both.acquire_with_id(Request::cost(1), "first", Some(back)).unwrap();
        assert_eq!(back.ticket.unwrap(), ticket);
        let kept = Wait { position: QueuePosition::Existing, ..Wait::up_to(Micros(60 * SECOND)) };
        let existing = |id| both.acquire_with_id(Request::cost(1), id, Some(kept)).unwrap().status;
        assert_eq!((existing("first"), existing("nobody")), (Status::Queued, Status::NoTicket));
        // With a ticket of one of them the call may get one of the other.
        assert!(enter(&a, "in a").allowed());
        b.cancel("in b").unwrap();
        assert_eq!(existing("first"), Status::Queued);
        assert_eq!([&a, &b].map(|limiter| limiter.statistics().unwrap().tickets), [1, 2]);
    });
}

#[test]
fn one_call_removes_about_as_much_of_several_limiters_as_of_one() {
    on_both(|store| {
        for (count, lapsed, reclaimed) in [(1, 124, 600), (2, 62, 500), (3, 40, 333), (4, 30, 250)] {
            set_clock(START);
            let each: Vec<Limiter> =
                (0..count).map(|_| store.concurrent(&unique("busy"), 600, MINUTE).unwrap()).collect();
            for limiter in &each {
                for i in 0..600 + 130 {
                    enter(limiter, &format!("old{i}"));
                }
            }
            at(120 * SECOND);
            assert!(enter(&store.together(&each.iter().collect::<Vec<_>>()).unwrap(), "new").allowed());
            for limiter in &each {
                let statistics = limiter.statistics().unwrap();
                assert_eq!((statistics.lapsed, statistics.reclaimed), (lapsed, reclaimed), "of {count}");
            }
        }
    });
}

#[test]
fn pauses_overrides_and_calls_on_one_limiter_hold_for_all() {
    on_both(|store| {
        let org = store.window(&unique("org"), 5, MINUTE).unwrap();
        let user = store.window(&unique("user"), 5, MINUTE).unwrap();
        let both = store.together(&[&org, &user]).unwrap();
        org.admin(AdminCommand::Pause(Deadline::After(Micros(10 * SECOND)))).unwrap();
        let paused = both.try_acquire(Request::cost(1)).unwrap();
        assert_eq!((paused.reason, paused.limiter.as_deref()), (Some(Reason::Paused), Some(org.name())));
        org.admin(AdminCommand::Resume).unwrap();
        let lowered = user.override_changes(None, Some(2), None).unwrap();
        user.admin(AdminCommand::Override { changes: &lowered, expires: None }).unwrap();
        let too_large = both.try_acquire(Request::cost(3)).unwrap();
        assert_eq!((too_large.reason, too_large.retry_after), (Some(Reason::TooLarge), None));
        assert_eq!(too_large.limiter.as_deref(), Some(user.name()));
        for (operation, argument) in [
            (Operation::Statistics, "statistics"),
            (Operation::Reset, "reset"),
            (Operation::Inspect { page: Page::default() }, "inspect"),
            (Operation::Admin { command: AdminCommand::Get }, "runtime_state"),
            (Operation::ApplyReport { report: paddlegate::UpstreamReport::default() }, "learn"),
        ] {
            assert_eq!(both.run(operation, SignalHandling::Ignore).unwrap_err().argument(), Some(argument));
        }
    });
}

#[test]
fn limiters_without_a_state_take_part() {
    on_both(|store| {
        let org = store.window(&unique("org"), 1, MINUTE).unwrap();
        let free = store.unlimited(&unique("free")).unwrap();
        let stopped = store.paused(&unique("stopped")).unwrap();
        let with_free = store.together(&[&free, &org]).unwrap();
        let granted = with_free.try_acquire(Request::estimate(1)).unwrap();
        assert_eq!((granted.limiter.as_deref(), granted.remaining), (Some(org.name()), Some(0)));
        assert_eq!(with_free.correct(&granted.permit.unwrap(), 0).unwrap(), Settlement::Settled);
        assert_eq!(left(&org), 1);
        let refused = store.together(&[&org, &stopped]).unwrap().try_acquire(Request::cost(1)).unwrap();
        assert_eq!((refused.reason, refused.limiter.as_deref()), (Some(Reason::Paused), Some(stopped.name())));
        assert_eq!(left(&org), 1);
        let all_free = store.together(&[&free]).unwrap();
        let granted = all_free.acquire_with_id(Request::cost(9), "any", Some(wait(5))).unwrap();
        assert_eq!((granted.allowed(), granted.remaining), (true, None));
        assert_eq!(all_free.notification_node(), None);
        assert_eq!(all_free.cancel("any").unwrap(), Settlement::Unknown);
        assert!(all_free.debit(1).unwrap().allowed() && all_free.peek(Request::cost(1)).unwrap().allowed());
    });
}

#[test]
fn wrong_limiters_are_errors_that_name_the_argument() {
    on_both(|store| {
        let each: Vec<Limiter> = (0..5).map(|_| store.window(&unique("any"), 1, MINUTE).unwrap()).collect();
        let error = |limiters: &[&Limiter]| store.together(limiters).unwrap_err();
        let five: Vec<&Limiter> = each.iter().collect();
        let elsewhere = Paddlegate::memory().window("elsewhere", 1, MINUTE).unwrap();
        let pair = store.together(&[&each[0], &each[1]]).unwrap();
        for limiters in [&[][..], &five, &[&each[0], &each[0]], &[&each[0], &elsewhere], &[&pair, &each[2]]] {
            assert_eq!(error(limiters).argument(), Some("limiters"), "{}", limiters.len());
        }
        let grouped = each[0].with_group("acme").unwrap();
        assert_eq!(error(&[&grouped, &each[1]]).argument(), Some("group"));
        assert_eq!(grouped.with_group("").unwrap_err().argument(), Some("group"));
        assert_eq!(pair.with_group("acme").unwrap_err().argument(), Some("group"));
        let other = each[1].with_group("acme").unwrap();
        assert!(store.together(&[&grouped, &other]).unwrap().try_acquire(Request::cost(1)).unwrap().allowed());
        let error = pair.acquire_with_id(Request::cost(1), "", Some(wait(1))).unwrap_err();
        assert_eq!(error.argument(), Some("id"));
    });
}

#[test]
fn a_group_is_part_of_the_place_of_a_name_in_redis() {
    let store = redis();
    let (name, group) = (unique("grouped"), unique("gr|o,up"));
    let (alone, grouped) = (store.window(&name, 2, MINUTE).unwrap(), store.window(&name, 2, MINUTE).unwrap());
    let grouped = grouped.with_group(&group).unwrap();
    let other = store.window(&unique("other"), 2, MINUTE).unwrap().with_group(&group).unwrap();
    let slot = |limiter: &Limiter| match limiter.prepare(Operation::Peek(Request::cost(1))) {
        Ok(paddlegate::Prepared::Call(call)) => call.slot(),
        other => panic!("not on redis: {other:?}"),
    };
    assert_eq!(slot(&grouped), slot(&other));
    assert!(store.together(&[&grouped, &other]).unwrap().try_acquire(Request::cost(2)).unwrap().allowed());
    assert_eq!((left(&alone), left(&grouped), left(&other)), (2, 0, 0));
    assert!(alone.try_acquire(Request::cost(1)).unwrap().allowed());
    let listed = store.limiters().unwrap();
    let groups: Vec<Option<&str>> =
        listed.iter().filter(|info| info.name == name).map(|info| info.group.as_deref()).collect();
    assert_eq!(groups, [None, Some(&*group)]);
    grouped.admin(AdminCommand::Pause(Deadline::After(Micros(60 * SECOND)))).unwrap();
    assert!(!grouped.peek(Request::cost(1)).unwrap().allowed() && alone.peek(Request::cost(1)).unwrap().allowed());
    for limiter in [&alone, &grouped, &other] {
        limiter.reset().unwrap();
    }
}

/// Returns the keys of a limiter on the shared server.
fn keys(limiter: &Limiter) -> Vec<String> {
    let Ok(paddlegate::Prepared::Call(call)) = limiter.prepare(Operation::Reset) else { panic!("not on redis") };
    let words = words(call.bytes());
    let text = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
    let count: usize = text(&words[2]).parse().unwrap();
    words[3..3 + count].iter().map(text).collect()
}

#[test]
fn damage_of_one_limiter_is_an_error_and_charges_no_other() {
    let store = redis();
    let mut raw = Raw::open(&test_url());
    let limiters = ["first", "second", "third"].map(|name| store.window(&unique(name), 5, MINUTE).unwrap());
    let all = store.together(&limiters.each_ref()).unwrap();
    for damaged in 0..3 {
        let state = &keys(&limiters[damaged])[0];
        raw.execute(&["SET", state, "garbage"]);
        let wait = Some(wait(60));
        for error in [
            all.try_acquire(Request::cost(1)).unwrap_err(),
            all.try_acquire(Request::estimate(1)).unwrap_err(),
            all.acquire_with_id(Request::cost(1), "id", wait).unwrap_err(),
            all.debit(1).unwrap_err(),
            all.peek(Request::cost(1)).unwrap_err(),
            all.correct("id+1:1+1:1+1:1", 0).unwrap_err(),
            all.cancel("id").unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Data, false), "{damaged}: {error}");
        }
        raw.execute(&["DEL", state]);
        assert_eq!(limiters.each_ref().map(left), [5, 5, 5], "{damaged}");
    }
    raw.command("SCRIPT FLUSH");
    assert!(all.try_acquire(Request::cost(1)).unwrap().allowed(), "the server forgot the script");
    assert_eq!(limiters.each_ref().map(left), [4, 4, 4]);
}

#[test]
fn a_limiter_that_another_holds_up_is_listed() {
    let store = redis();
    for is_queued in [false, true] {
        let [a, b] = ["a", "b"].map(|name| store.concurrent(&unique(name), 1, MINUTE).unwrap());
        let plain = store.window(&unique("plain"), 1, MINUTE).unwrap();
        let held = enter(&a, "held").permit.unwrap();
        let all = store.together(&[&a, &b, &plain]).unwrap();
        let wait = is_queued.then(|| wait(60));
        assert!(!all.acquire_with_id(Request::cost(1), "id", wait).unwrap().allowed());
        let full = store.window(&unique("full"), 1, MINUTE).unwrap();
        assert!(full.try_acquire(Request::cost(1)).unwrap().allowed());
        let other = store.bucket(&unique("other"), 1, MINUTE).unwrap();
        assert!(!store.together(&[&full, &other]).unwrap().try_acquire(Request::cost(1)).unwrap().allowed());
        let names: Vec<String> = store.limiters().unwrap().into_iter().map(|info| info.name).collect();
        for limiter in [&a, &b, &plain, &full, &other] {
            assert!(names.iter().any(|name| name == limiter.name()), "{}", limiter.name());
        }
        a.release(&held).unwrap();
    }
}

#[test]
fn all_limiters_decide_at_one_time() {
    for store in [Paddlegate::memory(), redis()] {
        let each = ["first", "second"].map(|name| store.leaky(&unique(name), 9, MINUTE).unwrap());
        let both = store.together(&each.each_ref()).unwrap();
        let permit = both.try_acquire(Request::estimate(1)).unwrap().permit.unwrap();
        let times: Vec<&str> = permit.split('+').skip(1).map(|word| word.split(':').next().unwrap()).collect();
        assert_eq!((times.len(), times[0]), (2, times[1]));
    }
}

#[test]
fn without_a_server_the_strictest_limiter_decides() {
    let store = Paddlegate::open("unix:///no/such/socket", None).unwrap();
    let modes = [
        OnUnavailable::FailOpen,
        OnUnavailable::Local { share_percent: 100 },
        OnUnavailable::FailClosed,
        OnUnavailable::Raise,
    ];
    let each = modes.map(|mode| store.concurrent(&unique("any"), 5, MINUTE).unwrap().with_on_unavailable(mode));
    let together = |places: &[usize]| {
        let limiters: Vec<&Limiter> = places.iter().map(|place| &each[*place]).collect();
        store.together(&limiters).unwrap()
    };
    let open = together(&[0]).try_acquire(Request::cost(1)).unwrap();
    assert!(open.allowed() && open.degraded);
    assert_eq!(together(&[0]).release(&open.permit.unwrap()).unwrap(), Settlement::Unknown);
    for places in [&[1][..], &[0, 1], &[0, 2], &[2, 1]] {
        let closed = together(places).try_acquire(Request::cost(1)).unwrap();
        assert!(!closed.allowed() && closed.degraded, "{places:?}");
    }
    assert_eq!(together(&[0, 1, 2, 3]).try_acquire(Request::cost(1)).unwrap_err().kind(), ErrorKind::Unavailable);
    let local = together(&[0]).with_on_unavailable(OnUnavailable::Local { share_percent: 50 });
    assert_eq!(local.on_unavailable(), OnUnavailable::FailClosed);
    assert_eq!(local.limiters().len(), 1);
}

#[test]
fn a_batch_is_admitted_by_all_or_by_none() {
    on_both(|store| {
        let org = store.window(&unique("org"), 5, MINUTE).unwrap();
        let user = store.concurrent(&unique("user"), 2, MINUTE).unwrap();
        let both = store.together(&[&org, &user]).unwrap();
        let actions = |jobs: &[&str], partial| {
            let admitted = both.admit_all(jobs, OnLimit::Drop, partial).unwrap();
            admitted.into_iter().map(|admission| admission.action).collect::<Vec<_>>()
        };
        assert_eq!(actions(&["a", "b", "c"], false), [Action::Drop; 3]);
        assert_eq!((left(&org), left(&user)), (5, 2), "what was taken is given back");
        assert_eq!(actions(&["a", "b"], false), [Action::Run; 2]);
        assert_eq!((left(&org), left(&user)), (3, 0));
        assert_eq!(actions(&["c"], true), [Action::Drop]);
    });
}

#[test]
fn a_waiting_thread_gets_its_turn_from_either_limiter() {
    for store in [Paddlegate::memory(), redis()] {
        let a = store.concurrent(&unique("a"), 1, MINUTE).unwrap();
        let b = store.concurrent(&unique("b"), 1, MINUTE).unwrap();
        let both = store.together(&[&a, &b]).unwrap();
        let (in_a, in_b) = (enter(&a, "in a").permit.unwrap(), enter(&b, "in b").permit.unwrap());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| both.acquire(Request::cost(1), Duration::from_secs(600)).unwrap());
            let queued = |limiter: &Limiter| {
                while limiter.statistics().unwrap().tickets == 0 {
                    std::thread::yield_now();
                }
            };
            queued(&a);
            a.release(&in_a).unwrap();
            queued(&b);
            b.release(&in_b).unwrap();
            let granted = waits.join().unwrap();
            assert_eq!(both.release(&granted.permit.unwrap()).unwrap(), Settlement::Released);
        });
    }
}

thread_local! {
    static SERVER: Paddlegate = redis_with_clock();
}

/// Runs the calls on both stores. Compares every answer, and the statistics and remaining units of each limiter.
fn agree(limits: &[Vec<Limit>], calls: &[Call]) -> TestCaseResult {
    set_clock(START);
    let names = [unique("one"), unique("two"), unique("three")];
    let mut memory = Subject::new(&memory_with_clock(), &names, limits, directly());
    let mut server = Subject::new(&SERVER.with(Clone::clone), &names, limits, directly());
    for (number, call) in calls.iter().enumerate() {
        if let Call::Advance(us) = call {
            clock().advance(Duration::from_micros(*us)).unwrap();
        }
        prop_assert_eq!(memory.run(call), server.run(call), "call {}: {:?}", number, call);
        for who in 0..3 {
            let looks = [Call::Statistics { who }, Call::Peek { who, cost: Amount::All(0) }];
            for look in &looks {
                prop_assert_eq!(memory.run(look), server.run(look), "{:?} after call {}: {:?}", look, number, call);
            }
        }
    }
    for limiter in &server.single {
        limiter.reset().unwrap();
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(150, "proptest-regressions/together.txt"))]

    #[test]
    fn redis_agrees_with_memory(
        limits in [limits(), limits(), limits()],
        calls in proptest::collection::vec(call_with_modes(), 1..60),
    ) {
        agree(&limits, &calls)?;
    }

    /// All or nothing: what each would grant by itself, all grant together, and a refusal takes nothing.
    #[test]
    fn a_call_passes_when_each_limiter_alone_passes_it(
        limits in [limits(), limits(), limits()],
        costs in proptest::collection::vec((amount(), 0_u64..2 * SECOND), 1..40),
    ) {
        set_clock(START);
        let names = [unique("one"), unique("two"), unique("three")];
        let subject = Subject::new(&memory_with_clock(), &names, &limits, directly());
        for (cost, us) in costs {
            clock().advance(Duration::from_micros(us)).unwrap();
            let each = |cost: &Amount| [0, 1, 2].map(|who| {
                with_cost(&subject.each, who, cost, |limiter, cost| limiter.peek(Request::cost(cost)).map(Answer::Decision))
            });
            let alone = each(&cost);
            let before = each(&Amount::All(0));
            let decided = with_cost(&subject.each, 5, &cost, |limiter, cost| limiter.try_acquire(Request::cost(cost)).map(Answer::Decision));
            let passes = |answer: &Result<Answer, Error>| matches!(answer, Ok(Answer::Decision(it)) if it.allowed());
            prop_assert_eq!(passes(&decided), alone.iter().all(passes), "{:?}: {:?}", cost, decided);
            if !passes(&decided) {
                prop_assert_eq!(format!("{:?}", each(&Amount::All(0))), format!("{before:?}"));
            }
        }
    }
}
