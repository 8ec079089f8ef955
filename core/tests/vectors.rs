//! Tests the Rust API with the shared vectors (`tests/vectors`).

use crate::support::limiter::{Named, policy, with_request};
use crate::support::units::Units;
use crate::support::vectors::{Permits, Step, cases, expected, perform, replay};
use crate::support::{memory_with_clock, redis, redis_with_clock, unique};
use paddlegate::{BlockAfter, Limiter, Micros, Mode, Operation, Paddlegate, Request, SignalHandling, TestClock};
use serde_json::Value;

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
    shares,
    ready,
    control,
    labels,
    costs,
    permits,
    quota,
    extend,
    refund,
    upstream
);

#[test]
fn several_limiters_in_memory() {
    play_several(&memory_with_clock(), "together.json");
}

#[test]
fn several_limiters_on_redis() {
    play_several(&redis_with_clock(), "together.json");
}

#[test]
fn keyed_limiters_in_memory() {
    play_several(&memory_with_clock(), "keyed.json");
}

#[test]
fn keyed_limiters_on_redis() {
    play_several(&redis_with_clock(), "keyed.json");
}

#[test]
fn modes_and_blocks_in_memory() {
    play_several(&memory_with_clock(), "modes.json");
}

#[test]
fn modes_and_blocks_on_redis() {
    play_several(&redis_with_clock(), "modes.json");
}

#[test]
fn inspections_in_memory() {
    play_several(&memory_with_clock(), "inspect.json");
}

#[test]
fn inspections_on_redis() {
    play_several(&redis_with_clock(), "inspect.json");
}

#[test]
fn histories_in_memory() {
    play_several(&memory_with_clock(), "history.json");
}

#[test]
fn histories_on_redis() {
    play_several(&redis_with_clock(), "history.json");
}

#[test]
fn every_file_of_vectors_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of the vectors")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name != "README.md")
        .collect();
    let mut played: Vec<String> = FILES
        .iter()
        .chain(&[
            "waiting.json",
            "web.json",
            "together.json",
            "keyed.json",
            "modes.json",
            "inspect.json",
            "history.json",
        ])
        .map(|name| (*name).to_owned())
        .collect();
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

/// Replays the cases of several limiters, and of limiters with keys.
fn play_several(store: &Paddlegate, file: &str) {
    let prefix = unique(file);
    for (number, case) in cases(file).iter().enumerate() {
        let full = |name: &str| format!("{prefix}-{number}.{name}");
        let limiters: Vec<(&str, Limiter)> = case["limiters"]
            .as_array()
            .expect("limiters")
            .iter()
            .map(|limiter| {
                let name = limiter["name"].as_str().expect("name");
                let policy = policy(limiter["limits"].as_array().expect("limits")).expect("a policy");
                let mut made = store.limiter(&full(name), policy).expect("a limiter");
                if limiter["keyed"] == true {
                    made = made.keyed().expect("one limiter");
                }
                if let Some(mode) = limiter["mode"].as_str() {
                    made = made.with_mode(Mode::from_name(mode).expect("a mode")).expect("one limiter");
                }
                if let Some(rule) = limiter["block_after"].as_object() {
                    let [refusals, within, lasts] =
                        ["refusals", "within_us", "for_us"].map(|key| rule[key].as_u64().expect("a number"));
                    let rule = BlockAfter::of_micros(refusals, Micros(within), Micros(lasts)).expect("a rule");
                    made = made.with_block_after(rule).expect("one limiter");
                }
                if limiter["statistics"] == false {
                    made = made.without_statistics().expect("one limiter");
                }
                (name, made)
            })
            .collect();
        let names: Vec<&str> = limiters.iter().map(|(name, _)| *name).collect();
        let of = |step: &Value| -> paddlegate::Result<Limiter> {
            let given = |name: &str| {
                let limiter = &limiters.iter().find(|(other, _)| *other == name).expect("a name of the case").1;
                let limiter = match step["groups"][name].as_str() {
                    Some(group) => limiter.with_group(group)?,
                    None => limiter.clone(),
                };
                let limiter = match step["modes"][name].as_str() {
                    Some(mode) => limiter.with_mode(Mode::from_name(mode)?)?,
                    None => limiter,
                };
                match step["keys"][name].as_str() {
                    Some(key) => limiter.with_key(key),
                    None => Ok(limiter),
                }
            };
            if let Some(name) = step["of"].as_str() {
                return given(name);
            }
            let of = step["of"].as_array().map(|of| of.iter().filter_map(Value::as_str).collect());
            let each =
                of.unwrap_or_else(|| names.clone()).into_iter().map(given).collect::<paddlegate::Result<Vec<_>>>()?;
            store.together(&each.iter().collect::<Vec<_>>())
        };
        let mut permits = Permits::new();
        for (place, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let mut step = step.clone();
            for key in ["cost", "estimate", "actual"] {
                if let Some(units) = step[key].as_object() {
                    let renamed = units.iter().map(|(key, units)| {
                        (if names.contains(&&**key) { full(key) } else { key.clone() }, units.clone())
                    });
                    step[key] = Value::Object(renamed.collect());
                }
            }
            let got = match of(&step) {
                Ok(_) if step["do"] == "together" => Some(Ok("made".to_owned())),
                Ok(limiter) => perform(&step, &mut Named::of(store, limiter), &mut permits),
                Err(error) => Some(Err(error.argument().expect("an argument").to_owned())),
            };
            if std::env::var_os("PADDLEGATE_PRINT").is_some() {
                println!("GOT {number} {place} {got:?}");
            } else if let Some(got) = got {
                assert_eq!(got, expected(&step), "step {place} of {}", case["title"]);
            }
        }
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
    let settle_within = case["settle_within_us"].as_u64();
    let step = Step {
        at: 0,
        cost: units("cost"),
        estimate: units("estimate"),
        settle_within,
        priority: None,
        share: None,
        weight: None,
    };
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
