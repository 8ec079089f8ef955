//! Replays `tests/vectors/web.json`, and tests the header fields that no vector can have: those with names of limiters.

use std::time::Duration;

use paddlegate::{
    CallerOptions, Decision, HeaderFields, IPV6_PREFIX, Limiter, Micros, Mode, Paddlegate, Request, TestClock,
    caller_key, plain_key,
};
use serde_json::{Value, json};

use crate::support::limiter::{Named, policy, text, with_request};
use crate::support::units::Units;
use crate::support::vectors::{Permits, Step, cases, expected, perform};
use crate::support::{memory_with_clock, redis_with_clock, set_clock, unique};

#[test]
fn vectors_in_memory() {
    play(&memory_with_clock());
}

#[test]
fn vectors_on_redis() {
    play(&redis_with_clock());
}

fn play(store: &Paddlegate) {
    let prefix = unique("web");
    for (number, case) in cases("web.json").iter().enumerate() {
        let policy = policy(case["limits"].as_array().expect("limits")).expect("a policy");
        let limiter = store.limiter(&format!("{prefix}-{number}"), policy).expect("a limiter");
        let mut last = None;
        for (place, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let got = match step["do"].as_str() {
                Some("headers") => headers(step, last.as_ref().expect("a decision")),
                Some("caller_key") => key(step),
                Some("plain_key") => Ok(Value::from(plain_key(&bytes(step)))),
                Some("acquire" | "peek") => {
                    let decision = decide(&limiter, step);
                    assert_eq!(Ok(text(&decision)), expected(step), "step {place} of {}", case["title"]);
                    last = Some(decision);
                    continue;
                }
                _ => {
                    perform(step, &mut Named::of(store, limiter.clone()), &mut Permits::new());
                    continue;
                }
            };
            let wanted = match step["error"].as_str() {
                Some(argument) => Err(argument.to_owned()),
                None => Ok(step["expect"].clone()),
            };
            assert_eq!(got, wanted, "step {place} of {}: {step}", case["title"]);
        }
    }
}

fn decide(limiter: &Limiter, step: &Value) -> Decision {
    let at = step["at_us"].as_u64().expect("at_us");
    let (cost, estimate) = (Units::read(&step["cost"]), Units::read(&step["estimate"]));
    let given = Step { at, cost, estimate, settle_within: None, priority: None, share: None, weight: None };
    set_clock(at);
    let decision = with_request(&given, |request| {
        let request = if step["describe"] == true { request.with_limits() } else { request };
        if step["do"] == "peek" { limiter.peek(request) } else { limiter.try_acquire(request) }
    });
    decision.expect("a decision")
}

fn headers(step: &Value, decision: &Decision) -> Result<Value, String> {
    let fields = HeaderFields::from_name(step["fields"].as_str().expect("fields")).map_err(|error| argument(&error))?;
    Ok(decision.headers(fields).into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect())
}

fn key(step: &Value) -> Result<Value, String> {
    let proxies: Vec<&str> =
        step["trusted_proxies"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let options = CallerOptions {
        forwarded_for: step["forwarded_for"].as_str().map(str::as_bytes),
        trusted_proxies: &proxies,
        ipv6_prefix: step["ipv6_prefix"].as_u64().unwrap_or(IPV6_PREFIX),
    };
    let key = caller_key(step["address"].as_str().expect("address").as_bytes(), &options);
    key.map(Value::from).map_err(|error| argument(&error))
}

fn argument(error: &paddlegate::Error) -> String {
    error.argument().expect("an argument").to_owned()
}

fn bytes(step: &Value) -> Vec<u8> {
    let Some(hex) = step["hex"].as_str() else {
        return step["text"].as_str().expect("text").as_bytes().to_vec();
    };
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn limiters_that_decide_together_have_their_names() {
    let clock = TestClock::new(Micros(1_000_000)).unwrap();
    let pg = Paddlegate::memory_with_clock(&clock);
    let minute = Duration::from_secs(60);
    let one = pg.window("one \"é\"", 2, minute).unwrap();
    let limits = json!([{ "kind": "window", "amount": 9, "interval_us": 1_000_000, "label": "burst" },
                        { "kind": "leaky", "amount": 9, "interval_us": 9_000_000 }]);
    let two = pg.limiter("two", policy(limits.as_array().unwrap()).unwrap()).unwrap();
    let both = pg.together(&[&one, &two]).unwrap();
    let granted = both.try_acquire(Request::cost(1).with_limits()).unwrap();
    let policies = r#""one \"?\"";q=2;w=60, "two:burst";q=9;w=1, "two:leaky";q=9;w=9"#;
    let levels = r#""one \"?\"";r=1;t=60, "two:burst";r=8;t=1, "two:leaky";r=8;t=1"#;
    let draft = granted.headers(HeaderFields::Draft);
    assert_eq!(draft, [("RateLimit-Policy", policies.to_owned()), ("RateLimit", levels.to_owned())]);
    let refused = both.try_acquire(Request::cost(2)).unwrap().headers(HeaderFields::Draft);
    assert_eq!(refused[0].1, r#""one \"?\":window";q=2"#);
    assert_eq!(refused[2], ("Retry-After", "60".to_owned()));
}

#[test]
fn a_grant_in_shadow_is_no_refusal() {
    let clock = TestClock::new(Micros(1_000_000)).unwrap();
    let api = Paddlegate::memory_with_clock(&clock).window("api", 1, Duration::from_secs(60)).unwrap();
    let api = api.with_mode(Mode::Shadow).unwrap();
    assert!(api.try_acquire(Request::cost(1)).unwrap().allowed());
    let in_shadow = api.try_acquire(Request::cost(1)).unwrap();
    assert!(in_shadow.would_refuse.is_some());
    let names: Vec<_> = in_shadow.headers(HeaderFields::X).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]);
}

#[test]
fn a_refused_ticket_has_the_time_of_its_turn() {
    let clock = TestClock::new(Micros(1_000_000)).unwrap();
    let api = Paddlegate::memory_with_clock(&clock).throttle("api", Duration::from_secs(10)).unwrap();
    assert!(api.try_acquire(Request::cost(1)).unwrap().allowed());
    let wait = Some(paddlegate::Wait::up_to(Micros(60_000_000)));
    for (id, after) in [("first", "10"), ("second", "20")] {
        let queued = api.acquire_with_id(Request::cost(1).with_limits(), id, wait).unwrap();
        assert_eq!(queued.limits.len(), 1, "a call that waits has its limits too");
        assert_eq!(queued.headers(HeaderFields::Draft).last(), Some(&("Retry-After", after.to_owned())));
    }
}
