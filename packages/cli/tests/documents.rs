//! Documents of each format, as a policy and within a scenario.

use crate::support::{POLICY, Temporary, simulate};
use serde_json::{Value, json};

/// Each document, and how many of 100 at once go ahead by each of its limiters.
fn documents() -> Vec<(Value, Vec<(&'static str, u64)>)> {
    vec![
        (serde_json::from_str(POLICY).unwrap(), vec![("a", 5), ("b", 5)]),
        (
            json!({ "limiters": { "off": { "paused": true }, "slots": { "concurrency": { "limit": 7 } } } }),
            vec![("off", 0), ("slots", 100)],
        ),
        (
            json!({ "limiters": { "two": {
                "window": { "limit": 9, "per": "1s" },
                "limits": { "rpm": { "window": { "limit": 6, "per": "1m" } } },
            } } }),
            vec![("two", 6)],
        ),
        (
            json!({ "key": "email-provider", "rate": { "limit": 60, "period": "PT1H" } }),
            vec![("ojs/key/email-provider", 60)],
        ),
        (json!({ "key": "stripe-api" }), vec![("ojs/key/stripe-api", 100)]),
        (
            json!({
                "type": "api.call",
                "args": ["https://api.example.com/data"],
                "rate_limit": { "key": "api.example.com", "rate": { "limit": 30, "period": "PT1M" }, "on_limit": "wait" },
            }),
            vec![("ojs/key/api.example.com", 30)],
        ),
        (
            json!({
                "name": "encode_task",
                "rateLimitPerFrequency": 12,
                "rateLimitFrequencyInSeconds": 5,
                "responseTimeoutSeconds": 3_600,
            }),
            vec![("conductor/task/encode_task", 12)],
        ),
        (
            json!({
                "RateLimitControlList": [{ "SlotName": "s" }],
                "RateLimitControlSlotList": [{ "Name": "s", "ActionsPerSecond": 2, "ActionsPerMinute": 5 }],
            }),
            vec![("invantive/fail/s", 2)],
        ),
        (json!({ "name": "discord", "reservoir": 10, "timeWindow": 10_000 }), vec![("guild/discord:default", 10)]),
    ]
}

#[test]
fn documents_of_every_format_are_policies() {
    for (document, expected) in documents() {
        let file = Temporary::new(document.to_string());
        let totals = simulate(&[file.path(), "--arrivals", "jobs 100", "--json"]).totals();
        let granted: Vec<(&str, u64)> = totals
            .iter()
            .map(|totals| (totals["name"].as_str().unwrap(), totals["granted"].as_u64().unwrap()))
            .collect();
        assert_eq!(
            granted.iter().map(|(_, granted)| granted).collect::<Vec<_>>(),
            expected.iter().map(|(_, n)| n).collect::<Vec<_>>(),
            "{document}"
        );
        for ((name, _), (part, _)) in granted.iter().zip(&expected) {
            assert!(name.contains(part), "{name} {document}");
        }
    }
}

#[test]
fn a_document_within_a_scenario_stands_for_its_limits() {
    for (document, expected) in documents() {
        let file = Temporary::new(document.to_string());
        let outside = simulate(&[file.path(), "--arrivals", "jobs 100", "--json"]);
        let names: Vec<String> =
            outside.totals().iter().map(|totals| totals["name"].as_str().unwrap().to_owned()).collect();
        let policies: Vec<Value> = names
            .iter()
            .map(|name| match expected.len() {
                1 => json!({ "document": document, "limits": null }),
                _ => json!({ "document": document, "limiter": name }),
            })
            .collect();
        let scenario = json!({ "policies": policies, "arrivals": { "kind": "jobs", "count": 100 } });
        let scenario = Temporary::new(scenario.to_string());
        assert_eq!(simulate(&["--scenario", scenario.path(), "--json"]).out, outside.out, "{document}");
    }
    // What is beside the document stays.
    let with = |policy: Value| {
        let mut policy = policy;
        (policy["name"], policy["retry"]) = (json!("mine"), json!("exponential"));
        let scenario = json!({ "policies": [policy], "arrivals": { "kind": "jobs", "count": 5 }, "work": "1s" });
        simulate(&["--scenario", Temporary::new(scenario.to_string()).path(), "--json"]).totals()
    };
    let of_document = with(json!({ "document": { "key": "a", "concurrency": 1 } }));
    assert_eq!(of_document, with(json!({ "limits": [{ "kind": "concurrency", "limit": 1 }] })));
    assert_eq!((&of_document[0]["name"], &of_document[0]["granted"]), (&json!("mine"), &json!(5)));
}

#[test]
fn an_event_names_a_limit_by_its_label() {
    let granted = |limits: Value, label: Value| {
        let scenario = json!({
            "policies": [{ "limits": limits }],
            "arrivals": { "kind": "jobs", "count": 100, "from": "1s" },
            "events": [{ "at": "0s", "do": "override", "label": label, "limit": 3 }],
        });
        let said = simulate(&["--scenario", Temporary::new(scenario.to_string()).path(), "--json"]);
        if said.err.is_empty() {
            Ok(said.totals()[0]["granted"].as_u64().unwrap())
        } else {
            Err(said.error(2).to_owned())
        }
    };
    let window = |label: Value| json!({ "kind": "window", "label": label, "limit": 9, "interval": "1m" });
    let two = json!([window(json!("rpm")), window(Value::Null)]);
    assert_eq!(granted(two.clone(), json!("rpm")), Ok(3));
    assert_eq!(granted(two.clone(), json!("window")), Ok(3));
    assert_eq!(granted(two.clone(), json!("other")), Ok(9), "a label that the policy does not have");
    assert_eq!(granted(json!([window(json!("rpm"))]), Value::Null), Ok(3), "the only limit");
    let fault = |limits, label, message: &str| {
        let said = granted(limits, label).unwrap_err();
        assert!(said.contains(message), "{said}");
    };
    fault(two.clone(), Value::Null, "is missing; give one of rpm, window");
    fault(two, json!("Rpm"), "at $.events[0].label: must have 1 to 32 characters");
    fault(json!([window(json!("a b"))]), Value::Null, "at $.policies[0].limits[0].label: ");
    fault(
        json!([window(Value::Null), window(Value::Null)]),
        Value::Null,
        "at $.policies[0].limits: two limits have the same label",
    );
}

#[test]
fn limiters_are_chosen_by_name_in_that_order() {
    let limiter = json!({ "window": { "limit": 5, "per": "1s" } });
    let limiters: Vec<(String, Value)> =
        ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), limiter.clone())).into();
    let file =
        Temporary::new(json!({ "limiters": limiters.into_iter().collect::<serde_json::Map<_, _>>() }).to_string());
    let said = simulate(&[file.path(), "--arrivals", "jobs 9"]);
    assert!(
        said.error(2)
            .ends_with("at $: has 5 limiters, choose up to 4 by --limiter NAME: \"a\", \"b\", \"c\", \"d\", \"e\"")
    );
    let totals =
        simulate(&[file.path(), "--arrivals", "jobs 9", "--json", "--limiter", "e", "--limiter", "b"]).totals();
    assert_eq!((&totals[0]["name"], &totals[1]["name"], totals.len()), (&json!("e"), &json!("b"), 2));
    let said = simulate(&[file.path(), "--arrivals", "jobs 9", "--limiter", "x"]);
    assert!(said.error(2).contains("has no limiter \"x\"; it has \"a\", \"b\""), "{}", said.err);
}
