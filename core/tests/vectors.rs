//! Tests the Rust API with the shared vectors (`tests/vectors`).

mod support;

use paddlegate::{Limiter, Micros, Operation, Paddlegate, Request, SignalHandling, TestClock};
use serde_json::Value;
use support::limiter::{Named, policy, with_request};
use support::units::Units;
use support::vectors::{Step, cases, replay};
use support::{memory_with_clock, redis, redis_with_clock, unique};

macro_rules! files {
    ($($name:ident),*) => {
        const FILES: &[&str] = &[$(concat!(stringify!($name), ".json")),*, "errors.json"];

        mod memory {
            $(#[test] fn $name() { super::play(&super::memory_with_clock(), concat!(stringify!($name), ".json")); })*
            #[test] fn errors() { super::misuse(&paddlegate::Paddlegate::memory()); }
        }

        mod redis {
            $(#[test] fn $name() { super::play(&super::redis_with_clock(), concat!(stringify!($name), ".json")); })*
            #[test] fn errors() { super::misuse(&super::redis()); }
        }
    };
}

files!(
    leaky,
    points,
    bucket,
    window,
    throttle,
    policy,
    clock,
    resize,
    names,
    concurrency,
    queue,
    control,
    labels,
    costs
);

#[test]
fn every_file_of_vectors_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of the vectors")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name != "README.md")
        .collect();
    let mut played: Vec<String> = FILES.iter().chain(&["waiting.json"]).map(|name| (*name).to_owned()).collect();
    found.sort();
    played.sort();
    assert_eq!(found, played);
}

fn play(store: &Paddlegate, file: &str) {
    let prefix = unique(file);
    for (number, case) in cases(file).iter().enumerate() {
        let name = match case["name"].as_str() {
            Some(name) => format!("{prefix}{name}"),
            None => format!("{prefix}-{number}"),
        };
        replay(case, &mut Named::new(store, name, case["limits"].as_array().expect("limits")));
    }
}

fn misuse(store: &Paddlegate) {
    let mut played = 0;
    for case in cases("errors.json") {
        if case["not_in"].as_array().is_some_and(|languages| languages.iter().any(|language| language == "rust")) {
            continue;
        }
        played += 1;
        let (error, limiter) = provoke(store, &case);
        let got = serde_json::json!({
            "kind": error.kind().name(), "code": error.kind().code(), "argument": error.argument(),
        });
        assert_eq!(got, case["expect"], "{}: {error}", case["title"]);
        if let Some(limiter) =
            limiter.filter(|limiter| limiter.policy().limits().iter().all(|limit| limit.amount() > 0))
        {
            let peeked = limiter.peek(Request::cost(0)).expect("a peek");
            assert_eq!((peeked.remaining, peeked.reset_after), (peeked.limit, Some(Micros(0))), "{}", case["title"]);
        }
    }
    assert!(played > 80, "only {played} cases");
}

/// Causes the error of a case, and returns it with the limiter that it occurred on.
fn provoke(store: &Paddlegate, case: &Value) -> (paddlegate::Error, Option<Limiter>) {
    let title = &case["title"];
    if case["do"] == "clock" {
        let clock = TestClock::new(Micros(case["now_us"].as_u64().expect("now_us")));
        return (clock.err().unwrap_or_else(|| panic!("{title}: a clock was made")), None);
    }
    let name = case["name"].as_str().map_or_else(|| unique("errors"), str::to_owned);
    let made = policy(case["limits"].as_array().expect("limits")).and_then(|policy| store.limiter(&name, policy));
    if case["do"] == "limiter" {
        return (made.err().unwrap_or_else(|| panic!("{title}: a limiter was made")), None);
    }
    let limiter = made.unwrap_or_else(|error| panic!("{title}: {error}"));
    let units = |key: &str| Units::read(&case[key]);
    let run = |operation: Operation<'_>| limiter.run(operation, SignalHandling::Ignore).err();
    let step = Step { at: 0, cost: units("cost"), estimate: units("estimate") };
    let error = match case["do"].as_str() {
        Some("acquire") => with_request(&step, |request| run(Operation::Acquire(request))),
        Some("peek") => with_request(&step, |request| run(Operation::Peek(request))),
        Some("debit") => step.cost.expect("cost").with(|cost| run(Operation::Debit(cost))),
        _ => {
            let permit = case["permit"].as_str().expect("permit");
            units("actual").expect("actual").with(|actual| run(Operation::Correct { permit, actual }))
        }
    };
    let error = error.unwrap_or_else(|| panic!("{title}: no error"));
    (error, Some(limiter))
}
