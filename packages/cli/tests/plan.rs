//! `plan`, the gate of a changed limit.

use std::time::Duration;

use crate::support::{Said, Temporary, name, operate, operate_on, store};
use paddlegate::Request;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(3_600);

/// A record of a limiter `api`: so many calls granted and refused in each second.
fn record(limits: &Value, seconds: &[(u64, u64)]) -> String {
    let mut lines = vec![json!({ "record": 2, "limiter": "api", "group": null, "limits": limits })];
    for ((granted, refused), second) in seconds.iter().zip(1_700_000_000_u64..) {
        let calls = (0..*granted).map(|_| "granted").chain((0..*refused).map(|_| "refused"));
        let label = &limits[0]["label"].as_str().unwrap_or_default();
        lines.extend(calls.zip(0_u64..).map(|(outcome, i)| {
            let at = second * 1_000_000 + i * 1_000;
            json!({ "at_us": at, "verb": "acquire", "outcome": outcome, "units": { *label: 1 } })
        }));
    }
    lines.push(json!({ "end": "time", "decisions": lines.len() - 1, "may_lack": false }));
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

fn window(limit: u64) -> Value {
    json!([{ "kind": "window", "label": "window", "limit": limit, "interval": "1m" }])
}

fn candidate(limiter: &Value) -> Temporary {
    Temporary::new(json!({ "limiters": { "api": limiter } }).to_string())
}

fn plan(record: &str, limiter: &Value, options: &[&str]) -> Said {
    let (record, candidate) = (Temporary::new(record), candidate(limiter));
    let mut args = vec!["plan", "--record", record.path(), "--candidate", candidate.path()];
    args.extend(options);
    operate(&args)
}

fn per_minute(limit: u64) -> Value {
    json!({ "window": { "limit": limit, "per": "minute" } })
}

#[test]
fn a_gate_fails_when_calls_would_be_newly_refused() {
    let record = record(&window(10), &[(4, 0), (4, 0), (2, 5)]);
    for (limit, refused, granted) in [(10, 0, 0), (7, 3, 0), (12, 0, 2), (100, 0, 5)] {
        let told = plan(&record, &per_minute(limit), &["--json"]).json();
        assert_eq!((&told["newly_refused"], &told["newly_granted"]), (&json!(refused), &json!(granted)), "{told}");
        assert_eq!(told["recorded"], json!({ "granted": 10, "refused": 5, "waited": 0 }));
        assert_eq!((&told["in_force"]["granted"], &told["candidate"]["arrived"]), (&json!(10), &json!(15)));
    }
    for (rule, code) in [
        ("newly_refused>0", 1),
        ("newly_refused>3", 0),
        ("newly_refused>=3", 1),
        ("newly_refused>20%", 0),
        ("newly_refused>=20%", 1),
        ("newly_granted>0", 0),
        ("refused>7", 1),
        ("wait_longest>0s", 0),
    ] {
        let said = plan(&record, &per_minute(7), &["--fail-on", rule]);
        assert_eq!((said.code, said.err.as_str()), (Some(code), ""), "{rule} {}", said.out);
        assert_eq!(said.out.ends_with(&format!("\nfailed: {rule}\n")), code == 1, "{rule} {}", said.out);
    }
    let said = plan(&record, &per_minute(7), &["--fail-on", "refused>0", "--fail-on", "newly_granted>0", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&said.out).unwrap()["failed"], json!(["refused>0"]));
    assert_eq!(said.code, Some(1));
}

#[test]
fn callers_that_wait_are_granted_later() {
    let record = record(&json!([{ "kind": "leaky", "label": "leaky", "limit": 10, "interval": "10s" }]), &[(10, 10)]);
    let slower = json!({ "leaky": { "limit": 10, "drain": "20s" } });
    let told = plan(&record, &slower, &["--wait", "1m", "--json"]).json();
    assert_eq!((&told["newly_refused"], &told["candidate"]["granted"]), (&json!(0), &json!(20)));
    let longest = |policy: &str| told[policy]["wait_us"]["max"].as_u64().unwrap();
    assert!(longest("candidate") > longest("in_force") && longest("in_force") > 0, "{told}");
    let said = plan(&record, &slower, &["--wait", "1m", "--fail-on", "wait_longest>15s"]);
    assert!(said.code == Some(1) && said.out.contains("wait, longest"), "{said:?}");
}

#[test]
fn bad_input_of_record_and_plan_is_told() {
    let good = record(&window(10), &[(1, 0)]);
    for (record, options, message) in [
        ("", &[][..], "RECORD: is empty"),
        ("at,cost\n1,2\n", &[], "RECORD: not readable as JSON"),
        ("{}", &[], "RECORD: line 1: is not the beginning of a record"),
        (&record(&window(10), &[(0, 0)]), &[], "RECORD: has no call"),
        (&record(&window(0), &[(1, 0)]), &[], "RECORD: in the replay: at $.policies[0].limits[0].limit"),
        (&record(&json!(7), &[(1, 0)]), &[], "RECORD: in the replay: at $.policies[0].limits"),
        (&good.replace("\"window\":1}", "\"window\":-1}"), &[], "RECORD: line 2: units: must be a whole number"),
        (&good, &["--limiter", "b"], "CANDIDATE: at $: has no limiter \"b\"; it has \"api\""),
        (
            &good,
            &["--fail-on", "refusals>0"],
            "invalid value 'refusals>0' for '--fail-on <RULE>': the name must be one of",
        ),
        (&good, &["--fail-on", "refused"], "invalid value 'refused' for '--fail-on <RULE>': must be a name"),
        (&good, &["--wait", "1w"], "invalid value '1w' for '--wait <SPAN>'"),
    ] {
        let (record, candidate) = (Temporary::new(record), candidate(&per_minute(5)));
        let mut args = vec!["plan", "--record", record.path(), "--candidate", candidate.path()];
        args.extend(options);
        let said = operate(&args);
        let message = message.replace("RECORD", record.path()).replace("CANDIDATE", candidate.path());
        let message = message.replace(": not readable", ": line 1: not readable");
        assert!(said.error(2).starts_with(&message), "{message} {}", said.err);
    }
    let wrong = Temporary::new(r#"{"limiters": {"api": {"window": {"limit": 0, "per": "1m"}}}}"#);
    let file = Temporary::new(&good);
    let said = operate(&["plan", "--record", file.path(), "--candidate", wrong.path()]);
    assert!(said.error(2).starts_with(&format!("{}: at $.limiters.api.window", wrong.path())), "{}", said.err);
    assert!(
        operate(&["plan", "--record", "/nowhere", "--candidate", wrong.path()])
            .error(1)
            .starts_with("cannot read /nowhere")
    );
    assert!(
        operate(&["plan", "--record", "-", "--candidate", "-"]).error(2).starts_with("the record and the candidate")
    );

    let (store, name) = (store(), name("record-bad"));
    store.window(&name, 5, HOUR).unwrap().try_acquire(Request::cost(1)).unwrap();
    let keyed = format!("{name}-keyed");
    store
        .window(&keyed, 5, HOUR)
        .unwrap()
        .keyed()
        .unwrap()
        .with_key("u")
        .unwrap()
        .try_acquire(Request::cost(1))
        .unwrap();
    for (args, code, message) in [
        (&["record", &name, "--for", "0s"][..], 2, "invalid value '0s' for '--for <SPAN>'"),
        (&["record", &keyed], 2, "--key is required for a keyed limiter"),
        (&["record", &name, "--max", "0"], 2, "--max: must be from 1 to 1000000"),
        (&["record", "nobody has this"], 2, "NAME: no program has used such a limiter"),
        (&["record", &name, "--out", "/nowhere/a"], 1, "cannot write /nowhere/a"),
    ] {
        let said = operate(args);
        assert!(said.error(code).starts_with(message), "{args:?} {}", said.err);
    }
    let said = operate_on("redis://127.0.0.1:1", &["record", &name]);
    assert!(said.error(3).starts_with("cannot connect to redis"), "{}", said.err);
}
