//! A call for a key that is decided at once decides and counts as a call of the limiter of that key does.

use std::time::Duration;

use crate::support::sequence::config;
use crate::support::{memory_with_clock, set_clock};
use paddlegate::{
    AdminCommand, Deadline, Decision, Kind, Limit, LimitOverride, Limiter, Micros, Policy, Request, Statistics,
};
use proptest::prelude::*;

const SEEDS: &str = "proptest-regressions/keyed_at_once.txt";
const NOW: u64 = 1_700_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
const KEYS: [&str; 4] = ["ada", "bob", "ad", "ada "];

#[derive(Clone, Copy, Debug)]
enum Step {
    Allow(usize, u64),
    Wait(i64),
    Pause(usize),
    Resume(usize),
    Override(usize, u64),
    Reset(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..KEYS.len();
    let step = prop_oneof![
        20 => (key(), 0..5_u64).prop_map(|(key, units)| Step::Allow(key, units)),
        5 => prop::sample::select(&[1, 333_333, 333_334, 999_999, 1_000_000, 60_000_000, -5][..]).prop_map(Step::Wait),
        1 => key().prop_map(Step::Pause),
        2 => key().prop_map(Step::Resume),
        1 => (key(), 1..4_u64).prop_map(|(key, limit)| Step::Override(key, limit)),
        1 => key().prop_map(Step::Reset),
    ];
    prop::collection::vec(step, 1..60)
}

fn limit(kind: Kind, amount: u64) -> Limit {
    let limit = match kind {
        Kind::Bucket => Limit::bucket(amount, SECOND),
        Kind::Window => Limit::window(amount, SECOND),
        Kind::Throttle => Limit::throttle_rate(amount, SECOND),
        _ => Limit::leaky(amount, SECOND),
    };
    limit.expect("a limit").labelled("api").expect("a label")
}

/// Returns the decision of the limiter of the key, or its error.
fn acquire(limiter: &Limiter, key: &str, request: Request<'_>) -> Result<Decision, String> {
    limiter.with_key(key).expect("a key").try_acquire(request).map_err(|error| error.to_string())
}

fn admin(limiter: &Limiter, key: &str, command: AdminCommand<'_>) {
    limiter.with_key(key).expect("a key").admin(command).expect("a runtime state");
}

/// Returns the decisions, and how many calls were decided at once.
fn run(limiter: &Limiter, steps: &[Step], is_at_once: bool) -> (Vec<Result<Decision, String>>, usize) {
    let (mut now, mut results, mut at_once) = (NOW, Vec::new(), 0);
    for step in steps {
        set_clock(now);
        match *step {
            Step::Allow(key, units) => {
                let request = Request::cost(units);
                let decided = is_at_once.then(|| limiter.acquire_at_once_with_key(KEYS[key], &request)).flatten();
                at_once += usize::from(decided.is_some());
                results.push(decided.map_or_else(|| acquire(limiter, KEYS[key], request), Ok));
            }
            Step::Wait(by) => now = now.saturating_add_signed(by),
            Step::Pause(key) => admin(limiter, KEYS[key], AdminCommand::Pause(Deadline::After(Micros(2_000_000)))),
            Step::Resume(key) => admin(limiter, KEYS[key], AdminCommand::Resume),
            Step::Override(key, amount) => {
                let kind = limiter.policy().limits()[0].kind();
                let changes = [LimitOverride::Set(limit(kind, amount))];
                admin(limiter, KEYS[key], AdminCommand::Override { changes: &changes, expires: None });
            }
            Step::Reset(key) => limiter.with_key(KEYS[key]).expect("a key").reset().expect("a reset"),
        }
    }
    (results, at_once)
}

proptest! {
    #![proptest_config(config(200, SEEDS))]

    #[test]
    fn a_call_at_once_decides_as_the_limiter_of_its_key(
        steps in steps(),
        kind in prop::sample::select(&[Kind::Bucket, Kind::Window, Kind::Throttle, Kind::Leaky][..]),
        has_statistics in any::<bool>(),
    ) {
        let run = |is_at_once| {
            let policy = Policy::new([limit(kind, 3)]).expect("a policy");
            let counted = memory_with_clock().limiter("api", policy).expect("a limiter");
            let limiter = if has_statistics { counted.clone() } else { counted.without_statistics().expect("a limiter") };
            let (decisions, _) = run(&limiter.keyed().expect("a limiter"), &steps, is_at_once);
            // A limiter without statistics does not count into those of others with its name.
            let statistics = counted.keyed().expect("a limiter").statistics().expect("statistics");
            (decisions, statistics)
        };
        let (one, other) = (run(false), run(true));
        prop_assert!(has_statistics || one.1 == Statistics::default());
        prop_assert_eq!(one, other);
    }
}

#[test]
fn every_call_of_a_key_is_decided_at_once_and_in_a_window_every_call_but_the_first() {
    let of_kind = |kind| memory_with_clock().limiter("api", Policy::new([limit(kind, 3)]).expect("a policy"));
    let steps: Vec<Step> = (0..20).map(|call| Step::Allow(call % KEYS.len(), 1)).collect();
    let of_keys = |limiter: &Limiter| run(limiter, &steps, true).1;
    for (kind, at_once) in [(Kind::Leaky, steps.len()), (Kind::Window, steps.len() - KEYS.len())] {
        let api = of_kind(kind).expect("a limiter");
        assert_eq!(of_keys(&api.keyed().expect("a limiter")), at_once);
        let grouped = api.with_group("acme").expect("a limiter").keyed().expect("a limiter");
        assert_eq!(of_keys(&grouped), at_once);
    }
    let api = of_kind(Kind::Leaky).expect("a limiter");
    assert_eq!(api.allow_at_once_with_key("ada", &Request::cost(1)), None, "not keyed");
    let ada = api.keyed().expect("a limiter").with_key("ada").expect("a limiter");
    assert_eq!(ada.allow_at_once_with_key("ada", &Request::cost(1)), None, "of one key");
}

#[test]
fn without_a_key_no_call_is_decided_at_once() {
    let api = memory_with_clock().leaky("api", 3, SECOND).expect("a limiter").keyed().expect("a limiter");
    assert!(acquire(&api, "ada", Request::cost(1)).expect("a decision").allowed());
    assert_eq!(api.allow_at_once(&Request::cost(1)), None);
    assert_eq!(api.try_acquire(Request::cost(1)).expect_err("no key").argument(), Some("key"));
}
