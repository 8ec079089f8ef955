//! Each shape of arrivals and the options, against the same scenarios run with the library.

use crate::support::{POLICY, Temporary, simulate, simulate_with_input};
use paddlegate::simulate::{Scenario, Simulation};
use serde_json::{Value, json};

/// What the terminal has to print.
fn expected(scenario: &Value) -> String {
    let scenario = Scenario::from_json(scenario).unwrap();
    let totals = |policy| {
        let mut simulation = Simulation::new(&scenario, policy).unwrap();
        while simulation.run(7).unwrap() {}
        simulation.totals().to_string()
    };
    let lines: Vec<String> = (0..scenario.policies()).map(totals).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// The policies of `POLICY` with more members for each.
fn scenario(behaviour: &Value, rest: &Value) -> Value {
    let policy = |name: &str, kind: &str| {
        let mut policy = json!({ "name": name, "limits": [{ "kind": kind, "limit": 5, "interval": "1s" }] });
        policy.as_object_mut().unwrap().extend(behaviour.as_object().unwrap().clone());
        policy
    };
    let mut scenario = rest.clone();
    scenario["policies"] = json!([policy("a", "window"), policy("b", "bucket")]);
    scenario
}

#[test]
fn every_shape_is_the_same_as_in_a_scenario() {
    let file = Temporary::new(POLICY);
    for (text, arrivals) in [
        ("steady 10/s for 1m", json!({"kind": "steady", "count": 10, "per": "1s", "for": "1m"})),
        (
            "steady 600/m for 10s from 1s",
            json!({"kind": "steady", "count": 600, "per": "1m", "for": "10s", "from": "1s"}),
        ),
        ("poisson 10/s for 1m", json!({"kind": "poisson", "count": 10, "per": "1s", "for": "1m"})),
        ("poisson 3/PT0.5S for 20s", json!({"kind": "poisson", "count": 3, "per": "PT0.5S", "for": "20s"})),
        ("burst 100 every 1m for 5m", json!({"kind": "burst", "count": 100, "every": "1m", "for": "5m"})),
        ("ramp 1..20/s for 30s", json!({"kind": "ramp", "count": 1, "to": 20, "per": "1s", "for": "30s"})),
        ("daily 2..20/m for 1d", json!({"kind": "daily", "count": 2, "to": 20, "per": "1m", "for": "1d"})),
        ("jobs 100", json!({"kind": "jobs", "count": 100})),
    ] {
        let said = simulate(&[file.path(), "--arrivals", text, "--json"]);
        assert_eq!(said.out, expected(&scenario(&json!({}), &json!({ "arrivals": arrivals }))), "{text}");
        assert!(said.totals().iter().all(|totals| totals["arrived"].as_u64() > Some(0)), "{text}");
    }
}

#[test]
fn times_come_from_files_and_from_standard_input() {
    let file = Temporary::new(POLICY);
    let text = "at,cost,work,count\n0,2,0.5,4\n1.5,,,\n0.25,1,,1\n";
    let expected = expected(&scenario(&json!({}), &json!({ "arrivals": { "kind": "times", "text": text } })));
    let times = Temporary::new(text);
    let marked = Temporary::new(format!("\u{feff}{}", text.replace('\n', "\r\n")));
    for times in [&times, &marked] {
        let arrivals = format!("times {}", times.path());
        assert_eq!(simulate(&[file.path(), "--arrivals", &arrivals, "--json"]).out, expected);
    }
    let said = simulate_with_input(&[file.path(), "--arrivals", "times -", "--json"], text);
    assert_eq!(said.out, expected);
    let said = simulate_with_input(&["-", "--arrivals", &format!("times {}", times.path()), "--json"], POLICY);
    assert_eq!(said.out, expected);
}

/// More than the core reads as one document.
#[test]
fn many_times_are_read() {
    use std::fmt::Write;

    let mut text = String::new();
    for i in 0..200_000 {
        writeln!(text, "{}.{:05}", i / 100, i % 100).unwrap();
    }
    assert!(text.len() > 1 << 20);
    let file = Temporary::new(POLICY);
    let said = simulate_with_input(&[file.path(), "--arrivals", "times -", "--json", "--limiter", "a"], &text);
    assert_eq!(said.totals()[0]["arrived"], 200_000);
    let scenario = scenario(&json!({}), &json!({ "arrivals": { "kind": "times", "text": text } }));
    let scenario = Temporary::new(scenario.to_string());
    assert_eq!(simulate(&["--scenario", scenario.path(), "--json"]).totals()[1]["arrived"], 200_000);
}

#[test]
fn every_option_is_the_same_as_in_a_scenario() {
    let file = Temporary::new(POLICY);
    let arrivals = json!({ "kind": "poisson", "count": 8, "per": "1s", "for": "30s" });
    for (options, behaviour, rest) in [
        (
            "--retry wait --wait 2s --clients 3 --at-once 1 --work 100ms..2s",
            json!({ "retry": "wait", "wait": "2s" }),
            json!({ "clients": 3, "at_once": 1, "work": ["100ms", "2s"] }),
        ),
        (
            "--retry exponential --base 200ms --cap 5s --attempts 4 --cost 1..3 --seed 7",
            json!({ "retry": "exponential", "base": "200ms", "cap": "5s", "attempts": 4 }),
            json!({ "cost": [1, 3], "seed": 7 }),
        ),
        (
            "--retry ticket --cost 4 --actual 1..2 --work 1s --until 20s",
            json!({ "retry": "ticket" }),
            json!({ "cost": 4, "actual": [1, 2], "work": "1s", "until": "20s" }),
        ),
        ("--retry linear --attempts 3", json!({ "retry": "linear", "attempts": 3 }), json!({})),
    ] {
        let mut rest = rest;
        rest["arrivals"] = arrivals.clone();
        let mut args = vec![file.path(), "--arrivals", "poisson 8/s for 30s", "--json"];
        args.extend(options.split(' '));
        let said = simulate(&args);
        assert_eq!((said.out, said.err.as_str()), (expected(&scenario(&behaviour, &rest)), ""), "{options}");
    }
}

#[test]
fn the_same_seed_gives_the_same_answer_and_another_seed_another() {
    let file = Temporary::new(POLICY);
    let with_seed = |seed: &str| {
        let options = ["--retry", "exponential", "--cost", "1..3", "--json", "--seed", seed];
        simulate(&[&[file.path(), "--arrivals", "poisson 10/s for 1m"][..], &options].concat()).out
    };
    assert_eq!(with_seed("7"), with_seed("7"));
    assert_ne!(with_seed("7"), with_seed("8"));
    let without = simulate(&[file.path(), "--arrivals", "poisson 10/s for 1m", "--json"]);
    let one = simulate(&[file.path(), "--arrivals", "poisson 10/s for 1m", "--json", "--seed", "1"]);
    assert_eq!(without.out, one.out);
}

#[test]
fn a_scenario_is_what_the_library_makes_of_it() {
    let value = json!({
        "seed": 3,
        "policies": [
            { "name": "short, \"leases\"", "limits": [{ "kind": "concurrency", "limit": 2, "interval": "5s" }], "retry": "ticket", "wait": "5m" },
            { "name": "é漢", "limits": [{ "kind": "points", "limit": 100, "interval": "20s" }], "retry": "wait", "wait": "5m", "correct": false },
        ],
        "arrivals": { "kind": "steady", "count": 1, "per": "1s", "for": "1m", "from": null },
        "work": ["1s", "3s"],
        "cost": [1, 10],
        "actual": 5,
        "clients": 3,
        "at_once": 1,
        "upstream": { "limits": [{ "kind": "window", "limit": 20, "interval": "3s" }], "latency": "50ms", "learn": true },
        "events": [{ "at": "20s", "do": "crash", "client": 0, "for": "20s" }, { "at": "30s", "do": "pause", "for": "4s" }],
    });
    let file = Temporary::new(value.to_string());
    let said = simulate(&["--scenario", file.path(), "--json"]);
    assert_eq!((said.out, said.err.as_str()), (expected(&value), ""));
    let mut changed = value.clone();
    (changed["seed"], changed["until"]) = (json!(9), json!("40s"));
    let said = simulate(&["--scenario", file.path(), "--json", "--seed", "9", "--until", "40s"]);
    assert_eq!(said.out, expected(&changed));
    assert_eq!(simulate_with_input(&["--scenario", "-", "--json"], &value.to_string()).out, expected(&value));
}
