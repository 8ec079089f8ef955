//! Tests `inspect`: it writes nothing, and sees what other policies of the name have.

use std::time::Duration;

use crate::support::calls::{acquire, enter, run};
use crate::support::raw::{Raw, Reply};
use crate::support::{memory_with_clock, on_own_database, redis_with_clock, set_clock, unique};
use paddlegate::{
    AdminCommand, BlockAfter, Deadline, Kind, Limit, Limiter, Micros, Mode, Operation, Paddlegate, Page, Policy,
    Request, Status, Wait,
};

const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(NOW);
        test(&store);
    }
}

#[allow(clippy::unnecessary_wraps)] // As the calls take it.
fn waits() -> Option<Wait<'static>> {
    Some(Wait::up_to(Micros(600 * SECOND)))
}

/// Returns a limiter of every kind, in shadow unless overridden, whose refusals lead to a block.
fn of_every_kind(store: &Paddlegate, name: &str) -> Limiter {
    let limits = [
        Limit::concurrency(1, MINUTE),
        Limit::window(5, MINUTE),
        Limit::bucket(5, MINUTE),
        Limit::leaky(5, MINUTE),
        Limit::throttle(Duration::from_millis(1)),
    ];
    let policy = Policy::new(limits.map(|limit| limit.expect("a limit"))).expect("a policy");
    let rule = BlockAfter::new(2, MINUTE, MINUTE).expect("a rule");
    let policy = policy.with_mode(Mode::Shadow).with_block_after(Some(rule));
    store.limiter(name, policy).expect("a limiter")
}

/// Returns every key with its contents and its expiry in milliseconds.
fn contents(raw: &mut Raw) -> Vec<(Vec<u8>, Reply, i64)> {
    let mut keys = raw.keys("");
    keys.sort();
    keys.into_iter().map(|key| (key.clone(), raw.dump(&key), raw.ttl(&key))).collect()
}

#[test]
fn it_writes_nothing() {
    let (store, mut raw) = on_own_database();
    let name = unique("inspect");
    let limiter = of_every_kind(&store, &name);
    let inspect = |limiter: &Limiter, raw: &mut Raw, after: &str| {
        let before = contents(raw);
        // Later, earlier than the state, and when everything has ended.
        for at in [NOW + 2, NOW - 3_600 * SECOND, NOW + 86_400 * SECOND] {
            run(limiter, Operation::Inspect { page: Page::default() }, at);
        }
        let now = contents(raw);
        assert_eq!(now.len(), before.len(), "{after}");
        for ((key, held, ttl), (same, holds, now)) in before.iter().zip(&now) {
            assert_eq!((key, held), (same, holds), "{after}");
            assert!(now <= ttl && ttl - now < 60_000, "{after}: {ttl} became {now} ms");
        }
        now.len()
    };
    assert_eq!(inspect(&limiter, &mut raw, "nothing"), 0);
    assert_eq!(inspect(&limiter.keyed().and_then(|keyed| keyed.with_key("a")).expect("a key"), &mut raw, "a key"), 0);
    assert_eq!(inspect(&store.unlimited(&name).expect("a limiter"), &mut raw, "an unlimited one"), 0);
    enter(&limiter, "holder", 1, None, NOW);
    inspect(&limiter, &mut raw, "a grant");
    run(
        &limiter,
        Operation::Admin {
            command: AdminCommand::Override {
                changes: &[paddlegate::LimitOverride::Mode(Mode::Enforce)],
                expires: None,
            },
        },
        NOW,
    );
    assert_eq!(enter(&limiter, "waiter", 1, waits(), NOW + 1).status, Status::Queued);
    acquire(&limiter, Request::cost(1), NOW + 1);
    inspect(&limiter, &mut raw, "a ticket and a refusal");
    run(&limiter, Operation::Admin { command: AdminCommand::Pause(Deadline::After(MINUTE_MICROS)) }, NOW + 1);
    assert!(inspect(&limiter, &mut raw, "a pause") >= 6);
    raw.command("FLUSHDB");
}

const MINUTE_MICROS: Micros = Micros(60 * SECOND);

#[test]
fn an_unknown_name_stays_unknown() {
    on_both(|store| {
        let name = unique("unknown");
        let api = store.window(&name, 5, MINUTE).unwrap();
        let inspection = api.inspect(Page::default()).unwrap();
        assert_eq!((inspection.at, inspection.limits[0].remaining), (Micros(NOW), 5));
        assert!(store.limiters().unwrap().iter().all(|listed| listed.name != name));
        assert!(!api.admin(AdminCommand::Get).unwrap().in_use);
    });
}

#[test]
fn it_sees_the_leases_and_tickets_of_other_policies() {
    on_both(|store| {
        let name = unique("others");
        let jobs = store.concurrent(&name, 1, MINUTE).unwrap();
        enter(&jobs, "holder", 1, None, NOW);
        enter(&jobs, "waiter", 1, waits(), NOW + 1);
        let paused = store.paused(&name).unwrap();
        for other in [store.window(&name, 5, MINUTE).unwrap(), store.unlimited(&name).unwrap(), paused] {
            set_clock(NOW + 2);
            let inspection = other.inspect(Page::default()).unwrap();
            let lease = &inspection.leases[0];
            assert_eq!((lease.id.as_str(), lease.held_for), ("holder", Some(Micros(2))));
            assert_eq!((lease.ends_in, lease.fencing_token), (Micros(60 * SECOND - 2), Some(NOW)));
            assert_eq!((inspection.lease_count, inspection.ticket_count), (1, 1));
            assert_eq!(other.queue(Page::default()).unwrap(), inspection.tickets);
            assert_eq!((inspection.tickets[0].id.as_str(), inspection.tickets[0].waited), ("waiter", Micros(1)));
            let kinds: Vec<Kind> = inspection.limits.iter().map(|limit| limit.kind).collect();
            let has_window = other.policy().limits().iter().any(|limit| limit.kind() == Kind::Window);
            assert_eq!(kinds, if has_window { vec![Kind::Window] } else { vec![] });
        }
        jobs.reset().unwrap();
    });
}

#[test]
fn a_name_with_too_many_limits_is_inspected_too() {
    on_both(|store| {
        let name = unique("labels");
        let limits: Vec<Limit> =
            (0..32).map(|number| Limit::leaky(5, MINUTE).unwrap().labelled(&format!("l{number}")).unwrap()).collect();
        for limits in limits.chunks(8) {
            let limiter = store.limiter(&name, Policy::new(limits.to_vec()).unwrap()).unwrap();
            assert!(acquire(&limiter, Request::cost(1), NOW).allowed());
        }
        let one_more = store.bucket(&name, 3, MINUTE).unwrap();
        assert!(one_more.try_acquire(Request::cost(1)).is_err());
        assert_eq!(one_more.inspect(Page::default()).unwrap().limits[0].remaining, 3);
    });
}

#[test]
fn a_page_out_of_range_is_an_error() {
    on_both(|store| {
        let limiters = [store.window("pages", 5, MINUTE).unwrap(), store.unlimited("pages").unwrap()];
        for limiter in &limiters {
            for (offset, count, argument) in [(100_001, 1, "offset"), (0, 251, "count"), (u64::MAX, 1, "offset")] {
                let page = Page { offset, count };
                assert_eq!(limiter.inspect(page).unwrap_err().argument(), Some(argument));
                assert_eq!(limiter.queue(page).unwrap_err().argument(), Some(argument));
            }
            assert!(limiter.inspect(Page { offset: 100_000, count: 250 }).is_ok());
        }
        let keyed = limiters[0].keyed().unwrap();
        assert_eq!(keyed.inspect(Page::default()).unwrap_err().argument(), Some("key"));
    });
}

/// The longest answer is within what the library reads.
#[test]
fn the_longest_page_is_read() {
    on_both(|store| {
        let jobs = store.concurrent(&unique("long"), 250, MINUTE).unwrap();
        let id = |number: u64| format!("{number:0>64}");
        for number in 0..500 {
            let share = "s".repeat(128);
            let request = Request::cost(1).share(&share, 1);
            jobs.acquire_with_id(request, &id(number), waits()).unwrap();
        }
        let inspection = jobs.inspect(Page { offset: 0, count: 250 }).unwrap();
        assert_eq!((inspection.leases.len(), inspection.tickets.len()), (250, 250));
        assert_eq!((inspection.leases[249].id.as_str(), inspection.tickets[249].id.as_str()), (&*id(249), &*id(499)));
        jobs.reset().unwrap();
    });
}
