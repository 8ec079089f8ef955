//! Tests costs by label in the simulator, and limits that an override lowers below a cost.

use paddlegate::simulate::{JobOutcome, Scenario, Simulation};
use serde_json::{Value, json};

/// One second in microseconds.
const S: u64 = 1_000_000;

fn run(value: &Value, policy: usize) -> Simulation {
    let mut simulation = Simulation::new(&Scenario::from_json(value).unwrap(), policy).unwrap();
    while simulation.run(1_000).unwrap() {}
    simulation
}

fn fault(value: &Value) -> String {
    let error = Scenario::from_json(value).unwrap_err();
    assert_eq!(error.argument(), Some("scenario"));
    error.message().to_owned()
}

/// Returns the times of the grants in seconds.
fn granted(simulation: &Simulation) -> Vec<u64> {
    let timeline = simulation.timeline();
    let rows = (0..timeline.len()).filter(|row| timeline.outcome[*row] == JobOutcome::Granted as u8);
    rows.map(|row| timeline.at[row] / S).collect()
}

/// Five requests and a thousand tokens a minute.
fn limits() -> Value {
    json!([
        { "kind": "window", "label": "rpm", "limit": 5, "interval": "1m" },
        { "kind": "points", "label": "tpm", "limit": 1_000, "interval": "1m" },
        { "kind": "concurrency", "limit": 50 },
    ])
}

fn scenario(limits: &Value, cost: &Value) -> Value {
    json!({
        "policies": [{ "limits": limits }],
        "arrivals": { "kind": "steady", "count": 1, "per": "1s", "for": "10s" },
        "cost": cost,
    })
}

#[test]
fn each_limit_counts_its_own_units() {
    let simulation = run(&scenario(&limits(), &json!({ "tpm": 100 })), 0);
    assert_eq!(granted(&simulation), [0, 1, 2, 3, 4], "five requests");
    let timeline = simulation.timeline();
    assert_eq!((timeline.levels[0][4], timeline.levels[1][4]), (0, 566), "66 points have come back");
    assert_eq!((timeline.cost[4], timeline.limit[5]), (100, 0));
    let totals = simulation.totals();
    assert_eq!((totals.units, totals.largest_burst, totals.utilisation_permille), (500, 500, 1_000));

    let simulation = run(&scenario(&limits(), &json!({ "tpm": 600, "rpm": 2 })), 0);
    assert_eq!(granted(&simulation), [0]);
    assert_eq!(simulation.timeline().limit[1], 1, "the points refuse");
    // 600 of 1,000 points and the 150 that come back in 9 s, and 2 of 5 requests.
    assert_eq!(simulation.totals().utilisation_permille, 521);
}

#[test]
fn costs_by_label_are_drawn_and_corrected() {
    let mut value = scenario(&limits(), &json!({ "tpm": [100, 300] }));
    value["actual"] = json!({ "tpm": 10 });
    value["work"] = json!("0.5s");
    let simulation = run(&value, 0);
    let timeline = simulation.timeline();
    assert_eq!(granted(&simulation), [0, 1, 2, 3, 4], "the calls count");
    let costs = &timeline.cost[..5];
    assert!(costs.iter().all(|cost| (100..=300).contains(cost)) && costs.iter().any(|cost| *cost != costs[0]));
    assert_eq!(simulation.totals().units, 50);
    value["policies"][0]["correct"] = json!(false);
    let level = |simulation: &Simulation| simulation.timeline().levels[1][4];
    assert!(level(&run(&value, 0)) < level(&simulation));
}

#[test]
fn a_policy_takes_the_labels_that_it_has() {
    let mut value = scenario(&limits(), &json!({ "tpm": 100, "rpm": 2 }));
    let two = json!([{ "kind": "window", "label": "rpm", "limit": 5, "interval": "1m" }]);
    let call = json!([{ "kind": "window", "limit": 3, "interval": "1m" }]);
    let policies = [limits(), two.clone(), call, json!([{ "kind": "unlimited" }])];
    value["policies"] = policies.iter().map(|limits| json!({ "limits": limits })).collect();
    value["upstream"] = json!({ "limits": two });
    let counts = |policy| {
        let simulation = run(&value, policy);
        (simulation.totals().granted, simulation.totals().throttled, simulation.timeline().cost[0])
    };
    assert_eq!([0, 1, 2, 3].map(counts), [(2, 0, 100), (2, 0, 2), (2, 1, 1), (2, 8, 1)]);
}

#[test]
fn rows_of_a_trace_have_costs_by_label() {
    let mut value = scenario(&limits(), &json!({ "tpm": 100 }));
    let text = "at,cost.tpm,cost.rpm,actual.tpm\n0,400,,200\n1,,2,\n2,1000,,\n3,1,3,\n4,,,\n";
    value["arrivals"] = json!({ "kind": "times", "text": text });
    let simulation = run(&value, 0);
    assert_eq!(simulation.timeline().cost, [400, 100, 1_000, 3, 100]);
    assert_eq!(granted(&simulation), [0, 1, 4]);
    assert_eq!((simulation.timeline().levels[0][4], simulation.totals().units), (1, 400));
    // Without a cost in the scenario a row has its own labels alone.
    value["cost"] = Value::Null;
    value["arrivals"]["text"] = json!("at,cost.tpm\n0,400\n1,700\n");
    assert_eq!(granted(&run(&value, 0)), [0]);
}

#[test]
fn a_fault_in_a_cost_by_label_has_its_path() {
    for (cost, start) in [
        (json!({ "tokens": 1 }), "at $.cost: names a label that no policy has: label=tokens"),
        (json!({ "tpm": 1, "concurrency": 1 }), "at $.cost: counts calls, not units; leave it out"),
        (json!({ "rpm": 1 }), "at $.cost: must name the limit that counts points: label=tpm"),
        (json!({ "tpm": -1 }), "at $.cost.tpm: must be a whole number from 0"),
        (json!({ "tpm": [2, 1] }), "at $.cost.tpm: must have the lower number first"),
        (json!({ "tpm": [1] }), "at $.cost.tpm: must be one value or a list"),
        (json!({ "tpm": { "a": 1 } }), "at $.cost.tpm: is missing"),
        (json!({ "TPM": 1 }), "at $.cost.TPM: must have 1 to 32 characters"),
        (json!({ "": 1 }), "at $.cost.: must have 1 to 32 characters"),
        (json!([{ "tpm": 1 }]), "at $.cost: must be one value or a list"),
    ] {
        let mut value = scenario(&limits(), &cost);
        assert!(fault(&value).starts_with(start), "{cost}: {}", fault(&value));
        (value["cost"], value["actual"]) = (json!({ "tpm": 1 }), cost);
        assert!(fault(&value).starts_with(&start.replace("$.cost", "$.actual")), "{}", fault(&value));
    }
    let mut value = scenario(&limits(), &Value::Null);
    for (text, start) in [
        ("at,cost.tokens\n0,1\n", "names a label that no policy has: label=tokens"),
        ("at,cost.tpm,cost.rpm\n0,1,1\n1,,1\n", "must name the limit that counts points"),
        ("at,actual.rpm\n0,1\n", "must name the limit that counts points"),
        ("at,cost.RPM\n0,1\n", "line 1: columns are"),
    ] {
        value["arrivals"] = json!({ "kind": "times", "text": text });
        assert!(fault(&value).starts_with(&format!("at $.arrivals.text: {start}")), "{text:?}: {}", fault(&value));
    }
}

#[test]
fn a_limit_lowered_below_a_cost_refuses_until_it_is_raised() {
    let value = |retry: &str| {
        json!({
            "policies": [{ "retry": retry, "limits": [{ "kind": "points", "limit": 1_000, "interval": "1s" }] }],
            "arrivals": { "kind": "steady", "count": 1, "per": "2s", "for": "9s" },
            "cost": 500,
            "events": [
                { "at": "1s", "do": "override", "limit": 100, "for": "4s" },
                { "at": "7s", "do": "override", "limit": 100 },
            ],
        })
    };
    let simulation = run(&value("none"), 0);
    let timeline = simulation.timeline();
    assert_eq!(granted(&simulation), [0, 6]);
    assert_eq!(timeline.limit, [0; 5]);
    let known = |row: usize| (timeline.retry_after[row] < u64::MAX).then_some(timeline.retry_after[row] / S);
    assert_eq!([1, 2, 4].map(known), [Some(3), Some(1), None], "until the end of the override, if it has one");
    assert_eq!(simulation.totals().refused, 3);

    let waited = run(&value("wait"), 0);
    assert_eq!(granted(&waited), [0, 5, 5, 6]);
    assert_eq!((waited.totals().gave_up, waited.totals().refused), (1, 0), "nothing to wait for");
}
