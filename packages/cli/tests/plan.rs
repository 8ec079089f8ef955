//! `record` of what programs do, and `plan`, the gate of a changed limit.

#![allow(clippy::disallowed_methods, reason = "tests wait for a program")]

use crate::support;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Said, Temporary, cluster_url, name, operate, operate_on, operator, simulate, store, url};
use paddlegate::{Limit, Paddlegate, Policy, Request};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(3_600);

/// A record of a limiter `api`: so many calls granted and refused in each second.
fn record(limits: &Value, seconds: &[(u64, u64)]) -> String {
    let mut text = json!({ "record": 1, "limiter": "api", "group": null, "limits": limits }).to_string();
    for ((granted, refused), second) in seconds.iter().zip(1_700_000_000_u64..) {
        let line = json!({
            "at_us": second * 1_000_000, "for_us": 1_000_000, "granted": granted, "refused": refused, "waited": 0,
            "units": granted, "held_us": 0, "released": 0,
        });
        text.extend(["\n", &line.to_string()]);
    }
    text + "\n"
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

/// A program that is ended with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records until a condition holds for the sums of the lines, and ends the record as Ctrl-C does.
fn recorded(url: &str, name: &str, calls: impl FnOnce(), sums: &[(&str, u64)]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(support::name("record"));
    let mut command = operator(url, &["record", name, "--sums", "--for", "10h", "--out", path.to_str().unwrap()]);
    let mut child = Ended(command.stdout(Stdio::null()).spawn().unwrap());
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut calls = Some(calls);
    loop {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<Value> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
        if lines.len() > 1
            && let Some(calls) = calls.take()
        {
            calls();
        }
        let sum = |name: &str| lines.iter().filter_map(|line| line[name].as_u64()).sum::<u64>();
        if calls.is_none() && sums.iter().all(|(name, wanted)| sum(name) == *wanted) {
            drop(child);
            fs::remove_file(&path).unwrap();
            return text;
        }
        assert!(sums.iter().all(|(name, wanted)| sum(name) <= *wanted), "{sums:?} {text}");
        let is_over = Instant::now() > deadline || child.0.try_wait().unwrap().is_some();
        assert!(!is_over, "{sums:?} {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_another_program_does_is_recorded_and_planned_with() {
    let (store, name) = (store(), name("record"));
    let api = store.window(&name, 5, HOUR).unwrap();
    api.acquire(Request::cost(1)).unwrap();
    operate(&["override", &name, "--limit", "7"]).text();
    let calls = || {
        (0..8).for_each(|_| drop(api.acquire(Request::cost(1)).unwrap()));
        api.statistics().unwrap();
    };
    let text = recorded(&url(), &name, calls, &[("granted", 6), ("refused", 2), ("units", 6)]);
    let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let limits = json!([{ "kind": "window", "label": "window", "limit": 7, "interval": "PT3600S" }]);
    assert_eq!((&head["limiter"], &head["limits"], &head["record"]), (&json!(name), &limits, &json!(1)));

    let file = Temporary::new(&text);
    let less = Temporary::new(json!({ "limiters": { &name: { "window": { "limit": 3, "per": "1h" } } } }).to_string());
    let args = ["plan", "--record", file.path(), "--candidate", less.path()];
    let said = operate(&args);
    let lines: Vec<&str> = said.text().lines().collect();
    assert!(lines[0].ends_with("in force  candidate") && lines[1].starts_with("arrived"), "{}", said.out);
    // All of the seven units are free to the replay, which the first call of the test had taken one of.
    assert_eq!(&lines[lines.len() - 3..lines.len() - 1], ["newly refused 4 of 8 (50%)", "newly granted 0 of 8 (0%)"]);
    assert_eq!(
        lines[lines.len() - 1],
        "recorded 6 granted, 2 refused, 0 waited; the replay of the policy in force has 7 granted, 1 refused"
    );

    // The simulator reads it too.
    let totals = simulate(&[less.path(), "--arrivals", &format!("times {}", file.path()), "--json"]).totals();
    assert_eq!((&totals[0]["arrived"], &totals[0]["granted"]), (&json!(8), &json!(3)));
}

#[test]
fn a_cluster_is_recorded_too_and_the_time_of_leases() {
    let url = cluster_url();
    let (store, name) = (Paddlegate::open(&url, Some(support::PATIENCE)).unwrap(), name("record-leases"));
    let workers = store.concurrent(&name, 2, HOUR).unwrap();
    let first = workers.acquire(Request::cost(1)).unwrap().permit.unwrap();
    let calls = || {
        let second = workers.acquire(Request::cost(1)).unwrap().permit.unwrap();
        assert!(!workers.acquire(Request::cost(1)).unwrap().allowed());
        std::thread::sleep(Duration::from_millis(5));
        for permit in [&first, &second] {
            workers.release(permit).unwrap();
        }
        workers.statistics().unwrap();
    };
    let text = recorded(&url, &name, calls, &[("granted", 1), ("refused", 1), ("released", 2)]);
    let held: u64 =
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["held_us"].as_u64()).sum();
    assert!(held > 10_000, "{text}");
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
fn units_are_those_of_the_points_limit_or_of_a_label() {
    let limits = json!([
        { "kind": "window", "label": "rpm", "limit": 100, "interval": "1m" },
        { "kind": "points", "label": "tpm", "limit": 1_000, "interval": "1m" },
    ]);
    let text = record(&limits, &[(4, 0)]).replace("\"units\":4", "\"units\":800");
    let candidate = |rpm: u64, tpm: u64| json!({ "limits": { "rpm": { "window": { "limit": rpm, "per": "1m" } }, "tpm": { "points": { "limit": tpm, "refill": "1m" } } } });
    let refused = |limiter: &Value, options: &[&str]| {
        plan(&text, limiter, &[options, &["--json"]].concat()).json()["newly_refused"].clone()
    };
    assert_eq!(refused(&candidate(100, 500), &[]), json!(2));
    assert_eq!(refused(&candidate(3, 1_000), &[]), json!(1));
    assert_eq!(refused(&candidate(3, 1_000), &["--units", "tpm"]), json!(1));
    let said = plan(&text, &candidate(100, 1_000), &["--units", "tokens"]);
    assert!(said.error(2).contains("names a label that no policy has: label=tokens"), "{}", said.err);
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
        (&record(&window(10), &[(2_000_000, 0)]), &[], "RECORD: in the replay: at $.arrivals.text: line"),
        (&good.replace("\"granted\":1", "\"granted\":-1"), &[], "RECORD: line 2: granted: must be a whole number"),
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
    store.window(&name, 5, HOUR).unwrap().acquire(Request::cost(1)).unwrap();
    let keyed = format!("{name}-keyed");
    store.window(&keyed, 5, HOUR).unwrap().keyed().unwrap().with_key("u").unwrap().acquire(Request::cost(1)).unwrap();
    for (args, code, message) in [
        (&["record", &name, "--sums", "--every", "999ms"][..], 2, "--every: must be from 1s"),
        (&["record", &name, "--sums", "--for", "2d"], 2, "--for: would be 172800 intervals"),
        (&["record", &name, "--for", "0s"], 2, "invalid value '0s' for '--for <SPAN>'"),
        (&["record", &keyed, "--sums"], 2, "NAME: the limiter has keys"),
        (&["record", &keyed, "--sums", "--key", "u"], 2, "NAME: the limiter has keys"),
        (&["record", &keyed], 2, "--key: is missing"),
        (&["record", &name, "--max", "0"], 2, "--max: must be from 1 to 1000000"),
        (&["record", &name, "--every", "1s"], 2, "the following required arguments were not provided"),
        (&["record", "nobody has this"], 2, "NAME: no program has used such a limiter"),
        (&["record", &name, "--out", "/nowhere/a"], 1, "cannot write /nowhere/a"),
    ] {
        let said = operate(args);
        assert!(said.error(code).starts_with(message), "{args:?} {}", said.err);
    }
    let said = operate_on("redis://127.0.0.1:1", &["record", &name]);
    assert!(said.error(3).starts_with("cannot connect to redis"), "{}", said.err);
}

#[test]
fn a_quota_is_recorded_as_it_is() {
    let (store, name) = (store(), name("record-quota"));
    let calendar = paddlegate::Calendar::month().in_timezone("Europe/Berlin").unwrap().starting("15").unwrap();
    let policy = Policy::new([Limit::quota(500, calendar).unwrap()]).unwrap();
    let money = store.limiter(&name, policy).unwrap();
    money.acquire(Request::cost(1)).unwrap();
    let text =
        recorded(&url(), &name, || drop(money.acquire(Request::cost(20)).unwrap()), &[("granted", 1), ("units", 20)]);
    let quota = json!({ "limiters": { &name: { "quota": { "limit": 10, "per": "month" } } } });
    let (file, candidate) = (Temporary::new(&text), Temporary::new(quota.to_string()));
    assert!(text.contains("Europe/Berlin"), "{text}");
    let said = operate(&["plan", "--record", file.path(), "--candidate", candidate.path(), "--json"]);
    // A cost above the whole limit is refused.
    assert_eq!(said.json()["newly_refused"], json!(1));
}
