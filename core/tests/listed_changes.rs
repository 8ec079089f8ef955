//! Tests that what an operator has set is in the list of limiters for as long as it is in force, whoever uses the limiter.

use std::time::Duration;

use crate::support::calls::{acquire, run};
use crate::support::{memory_with_clock, redis_with_clock, set_clock, unique};
use paddlegate::{
    AdminCommand, Deadline, Limit, LimitOverride, Limiter, Micros, Mode, Operation, Paddlegate, Policy, Request,
};

const NOW: u64 = 1_700_000_000_000_000;
const MINUTE: u64 = 60_000_000;
const HOUR: Duration = Duration::from_secs(3_600);

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(NOW);
        test(&store);
    }
}

fn is_listed(store: &Paddlegate, name: &str) -> bool {
    let listed = store.limiters_with_prefix(name).expect("a list");
    assert!(listed.len() <= 1, "once: {listed:?}");
    listed.iter().any(|info| info.name == name)
}

fn after(minutes: u64) -> Deadline {
    Deadline::After(Micros(minutes * MINUTE))
}

#[test]
fn what_is_set_lists_a_limiter_that_nobody_has_used() {
    on_both(|store| {
        let set = [LimitOverride::Set(Limit::bucket(9, HOUR).unwrap())];
        let shadow = [LimitOverride::Mode(Mode::Shadow)];
        let changes = [
            AdminCommand::Pause(after(5)),
            AdminCommand::Block(after(5)),
            AdminCommand::Override { changes: &set, expires: None },
            AdminCommand::Override { changes: &shadow, expires: Some(after(5)) },
            AdminCommand::Override { changes: &set, expires: Some(Deadline::At(Micros(NOW + MINUTE))) },
        ];
        for command in changes {
            let name = unique("listed");
            let limiter = store.bucket(&name, 5, HOUR).unwrap();
            limiter.admin(AdminCommand::Get).unwrap();
            assert!(!is_listed(store, &name), "a look is no use");
            let state = limiter.admin(command).unwrap();
            assert!(!state.in_use && is_listed(store, &name), "{command:?}");
            let info = &store.limiters_with_prefix(&name).unwrap()[0];
            assert_eq!((info.limits[0].amount(), info.keyed, info.group.as_deref()), (5, false, None));
        }
        let nothing = unique("listed");
        let limiter = store.bucket(&nothing, 5, HOUR).unwrap();
        if !store.is_in_memory() {
            limiter.admin(AdminCommand::Resume).unwrap();
            limiter.admin(AdminCommand::Override { changes: &[LimitOverride::RemoveAll], expires: None }).unwrap();
            assert!(!is_listed(store, &nothing), "nothing is in force");
        }
        let silent = limiter.without_statistics().unwrap();
        silent.admin(AdminCommand::Pause(after(5))).unwrap();
        assert!(!is_listed(store, &nothing), "it is in no list whatever happens");
    });
}

#[test]
fn a_paused_key_lists_its_limiter() {
    on_both(|store| {
        let name = unique("listed");
        let keyed = store.bucket(&name, 5, HOUR).unwrap().keyed().unwrap();
        keyed.with_key("alice").unwrap().admin(AdminCommand::Pause(after(5))).unwrap();
        assert!(is_listed(store, &name) && store.limiters_with_prefix(&name).unwrap()[0].keyed);
    });
}

#[test]
fn an_idle_limiter_stays_listed_until_what_is_in_force_ends() {
    let store = redis_with_clock();
    set_clock(NOW);
    let group = unique("group");
    let of_group = |word: &str| {
        let policy = Policy::new([Limit::bucket(5, HOUR).unwrap()]).unwrap();
        store.limiter_with_ttl(&unique(word), policy, Duration::from_secs(300)).unwrap().with_group(&group).unwrap()
    };
    // The use of another limiter of the same list removes what is forgotten.
    let names_at = |minutes: u64| {
        acquire(&of_group("other"), Request::cost(1), NOW + minutes * MINUTE);
        let listed = store.limiters().unwrap().into_iter().filter(|info| info.group.as_deref() == Some(&group));
        listed.map(|info| (info.name, info.ttl)).collect::<Vec<_>>()
    };
    let (idle, paused, briefly) = (of_group("idle"), of_group("paused"), of_group("briefly"));
    for limiter in [&idle, &paused, &briefly] {
        acquire(limiter, Request::cost(1), NOW);
    }
    run(&paused, Operation::Admin { command: AdminCommand::Pause(after(60)) }, NOW + MINUTE);
    run(&briefly, Operation::Admin { command: AdminCommand::Pause(after(2)) }, NOW + MINUTE);
    let is_at = |minutes, limiter: &Limiter| names_at(minutes).iter().any(|(name, _)| name == limiter.name());
    assert!(is_at(4, &idle) && is_at(4, &paused) && is_at(4, &briefly));
    assert!(!is_at(6, &idle), "it is forgotten");
    assert!(!is_at(6, &briefly), "its pause changed nothing of that");
    assert!(is_at(60, &paused), "the pause is in force");
    let (_, ttl) = names_at(60).into_iter().find(|(name, _)| name == paused.name()).unwrap();
    assert_eq!(ttl, Micros(60 * MINUTE));
    assert!(!is_at(62, &paused), "it is over");
}
