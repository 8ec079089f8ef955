//! `record` of decisions one by one, while other programs make them, and `plan` with it.

#![allow(clippy::disallowed_methods, reason = "tests wait for a program")]

use crate::support;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::redis_server::Server;
use crate::support::{Temporary, cluster_url, name, operate, operate_on, operator, simulate, store, url};
use paddlegate::{Limit, Limiter, Paddlegate, Policy, Request};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(3_600);

/// A recorder that is under way, and its file.
struct Recorder {
    child: Child,
    path: PathBuf,
}

impl Recorder {
    /// Starts, and waits until it records.
    fn start(url: &str, name: &str, options: &[&str]) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(support::name("decisions"));
        let mut args = vec!["record", name, "--out", path.to_str().unwrap()];
        args.extend(options);
        let child = operator(url, &args).stdout(Stdio::null()).spawn().unwrap();
        let mut recorder = Self { child, path };
        recorder.lines_until(|lines| !lines.is_empty());
        recorder
    }

    /// Reads until a condition holds.
    fn lines_until(&mut self, is_enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let text = fs::read_to_string(&self.path).unwrap_or_default();
            let lines: Vec<Value> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
            if is_enough(&lines) {
                return lines;
            }
            assert!(Instant::now() < deadline, "{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for so many decisions.
    fn decisions(&mut self, count: usize) -> Vec<Value> {
        self.lines_until(|lines| lines.len() > count)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the program, and returns its exit code and the text.
    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        (status.code(), fs::read_to_string(&self.path).unwrap())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.path);
    }
}

fn ends(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn take(limiter: &Limiter, times: usize) {
    (0..times).for_each(|_| drop(limiter.try_acquire(Request::cost(1)).unwrap()));
}

fn of(name: &str, limiter: &Value) -> Temporary {
    Temporary::new(json!({ "limiters": { name: limiter } }).to_string())
}

#[test]
fn each_decision_is_recorded_and_replayed_until_ctrl_c() {
    let (store, name) = (store(), name("decisions"));
    let limits = [
        Limit::window(100, HOUR).unwrap().labelled("rpm").unwrap(),
        Limit::points(1_000, HOUR).unwrap().labelled("tpm").unwrap(),
    ];
    let llm = store.limiter(&name, Policy::new(limits).unwrap()).unwrap();
    let mut recorder = Recorder::start(
        &url(),
        &name,
        &[
            "--limits",
            of(
                &name,
                &json!({ "limits": {
        "rpm": { "window": { "limit": 100, "per": "1h" } }, "tpm": { "points": { "limit": 1_000, "refill": "1h" } }
    } }),
            )
            .path(),
            "--for",
            "1h",
        ],
    );
    let permit = llm.try_acquire(Request::estimate(&[("rpm", 1), ("tpm", 600)])).unwrap().permit.unwrap();
    assert!(!llm.try_acquire(Request::cost(&[("rpm", 1), ("tpm", 500)])).unwrap().allowed());
    llm.correct(&permit, &[("tpm", 100)]).unwrap();
    assert!(llm.try_acquire(Request::cost(&[("rpm", 1), ("tpm", 500)])).unwrap().allowed());
    let lines = recorder.decisions(4);
    assert_eq!((&lines[0]["record"], &lines[0]["limiter"]), (&json!(2), &json!(name)));
    let shown: Vec<_> =
        lines[1..].iter().map(|line| (&line["verb"], &line["outcome"], &line["units"]["tpm"])).collect();
    let is = |verb: &str, outcome: &str, units: u64| (json!(verb), json!(outcome), json!(units));
    let expected = [
        is("acquire", "granted", 600),
        is("acquire", "refused", 500),
        is("correct", "settled", 100),
        is("acquire", "granted", 500),
    ];
    assert_eq!(shown, expected.iter().map(|(a, b, c)| (a, b, c)).collect::<Vec<_>>());
    assert_eq!((&lines[2]["held_up_by"], &lines[3]["granted_at_us"]), (&json!("tpm"), &lines[1]["at_us"]));
    recorder.signal(Signal::INT);
    let (code, text) = recorder.end();
    assert_eq!((code, ends(&text)), (Some(0), json!({ "end": "stopped", "decisions": 4, "may_lack": false })));
    take(
        &store
            .limiter(&name, Policy::new([Limit::window(100, HOUR).unwrap().labelled("rpm").unwrap()]).unwrap())
            .unwrap(),
        1,
    );

    let record = Temporary::new(&text);
    let candidate = |tpm: u64| {
        of(
            &name,
            &json!({ "limits": {
        "rpm": { "window": { "limit": 100, "per": "1h" } }, "tpm": { "points": { "limit": tpm, "refill": "1h" } }
    } }),
        )
    };
    let plan = |tpm: u64, options: &[&str]| {
        let candidate = candidate(tpm);
        operate(&[&["plan", "--record", record.path(), "--candidate", candidate.path()], options].concat())
    };
    let told = plan(2_000, &["--json"]).json();
    assert_eq!(told["recorded"], json!({ "granted": 2, "refused": 1, "waited": 0 }));
    assert_eq!(
        (&told["unlike_the_record"], &told["newly_granted"], &told["may_lack"]),
        (&json!(0), &json!(1), &json!(false))
    );
    assert_eq!(told["candidate"]["units"], json!(1_100), "with the correction");
    let said = plan(599, &["--fail-on", "newly_refused>0"]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("\nnewly refused 1 of 3"), "{}", said.out);
    assert!(
        said.out.contains("\nthe replay of the policy in force decides 0 of 3 (0%) unlike the record\n"),
        "{}",
        said.out
    );

    let policy = candidate(1_000);
    let totals = simulate(&[policy.path(), "--arrivals", &format!("times {}", record.path()), "--json"]).totals();
    assert_eq!((&totals[0]["arrived"], &totals[0]["granted"]), (&json!(3), &json!(2)), "{totals:?}");
}

#[test]
fn the_limits_in_force_are_recorded() {
    let (store, name) = (store(), name("in-force"));
    let calendar = paddlegate::Calendar::month().in_timezone("Europe/Berlin").unwrap().starting("15").unwrap();
    let limits = [Limit::quota(500, calendar).unwrap(), Limit::window(5, HOUR).unwrap()];
    let money = store.limiter(&name, Policy::new(limits).unwrap()).unwrap();
    take(&money, 1);
    operate(&["override", &name, "--label", "window", "--limit", "7"]).text();
    let mut recorder = Recorder::start(&url(), &name, &["--for", "1h"]);
    money.try_acquire(Request::cost(6)).unwrap();
    recorder.decisions(1);
    recorder.signal(Signal::INT);
    let (code, text) = recorder.end();
    assert_eq!(code, Some(0));
    let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(text.contains("Europe/Berlin"), "{text}");
    assert_eq!(head["limits"][1]["limit"], json!(7), "{text}");
    let candidate = of(&name, &json!({ "quota": { "limit": 5, "per": "month" } }));
    let record = Temporary::new(&text);
    let said = operate(&["plan", "--record", record.path(), "--candidate", candidate.path(), "--json"]);
    // A cost above the whole limit is refused.
    assert_eq!(said.json()["newly_refused"], json!(1));
}

#[test]
fn programs_at_once_are_recorded_whole_and_replayed_as_they_were() {
    let name = name("at-once");
    let of_store = || store().window(&name, 300, HOUR).unwrap();
    of_store().try_acquire(Request::cost(1)).unwrap();
    of_store().reset().unwrap();
    let document = of(&name, &json!({ "window": { "limit": 300, "per": "1h" } }));
    let mut recorder = Recorder::start(&url(), &name, &["--limits", document.path(), "--for", "1h"]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| take(&of_store(), 100));
        }
    });
    recorder.decisions(400);
    recorder.signal(Signal::TERM);
    let (code, text) = recorder.end();
    assert_eq!((code, ends(&text)["decisions"].as_u64()), (Some(0), Some(400)));
    let record = Temporary::new(&text);
    let told = operate(&["plan", "--record", record.path(), "--candidate", document.path(), "--json"]).json();
    assert_eq!(told["recorded"], json!({ "granted": 300, "refused": 100, "waited": 0 }));
    assert_eq!((&told["unlike_the_record"], &told["newly_refused"]), (&json!(0), &json!(0)));
}

#[test]
fn it_ends_by_its_time_and_by_a_reset() {
    let (store, name) = (store(), name("ends"));
    let api = store.window(&name, 50, HOUR).unwrap();
    take(&api, 1);
    // Its own time: nothing else ends it.
    let recorder = Recorder::start(&url(), &name, &["--for", "300ms"]);
    let (code, text) = recorder.end();
    assert_eq!((code, ends(&text)["end"].as_str()), (Some(0), Some("time")), "{text}");
    assert!(api.record(paddlegate::Micros(1), 1).is_ok());

    let mut recorder = Recorder::start(&url(), &name, &["--for", "1h"]);
    take(&api, 2);
    recorder.decisions(2);
    operate(&["reset", &name, "--yes"]).text();
    let (code, text) = recorder.end();
    assert_eq!((code, ends(&text)), (Some(0), json!({ "end": "removed", "decisions": 2, "may_lack": true })), "{text}");
}

#[test]
fn a_killed_recorder_leaves_a_record_and_a_recording_that_ends() {
    let server = Server::start(&[]);
    let store = Paddlegate::open(&server.url(""), Some(support::PATIENCE)).unwrap();
    let name = name("killed");
    let api = store.window(&name, 50, HOUR).unwrap();
    take(&api, 1);
    let mut recorder = Recorder::start(&server.url(""), &name, &["--for", "2s"]);
    take(&api, 3);
    recorder.decisions(3);
    recorder.signal(Signal::KILL);
    let (code, text) = recorder.end();
    assert_eq!((code, text.lines().count()), (None, 4), "{text}");
    let (record, candidate) =
        (Temporary::new(text + "{\"at_us\":1"), of(&name, &json!({ "window": { "limit": 50, "per": "1h" } })));
    let said = operate(&["plan", "--record", record.path(), "--candidate", candidate.path()]);
    assert!(said.text().ends_with("\nthe record may lack decisions, or has no end\n"), "{}", said.out);

    let stream = server.ask(&["KEYS", "*:r:*"]);
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut before = server.ask(&["XLEN", &stream]);
    loop {
        std::thread::sleep(Duration::from_millis(200));
        take(&api, 1);
        let after = server.ask(&["XLEN", &stream]);
        if before == after {
            break;
        }
        before = after;
        assert!(Instant::now() < deadline, "it goes on");
    }
    let ttl: i64 = server.ask(&["PTTL", &stream]).parse().unwrap();
    assert!((0..=302_000).contains(&ttl), "{ttl}");
}

#[test]
fn a_key_and_a_limiter_in_a_cluster_are_recorded() {
    let url = cluster_url();
    let store = Paddlegate::open(&url, Some(support::PATIENCE)).unwrap();
    let name = name("clustered");
    let users = store.window(&name, 2, HOUR).unwrap().keyed().unwrap();
    let (ann, bob) = (users.with_key("ann").unwrap(), users.with_key("bob").unwrap());
    take(&bob, 1);
    let mut recorder = Recorder::start(&url, &name, &["--key", "ann", "--for", "1h"]);
    take(&ann, 3);
    take(&bob, 1);
    let lines = recorder.decisions(3);
    let outcomes: Vec<_> = lines[1..].iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["granted", "granted", "refused"]);
    recorder.signal(Signal::INT);
    assert_eq!(ends(&recorder.end().1)["decisions"], json!(3));
}

#[test]
fn a_user_who_may_not_append_is_told() {
    let server = Server::start(&[]);
    let store = Paddlegate::open(&server.url(""), Some(support::PATIENCE)).unwrap();
    let name = name("rights");
    take(&store.window(&name, 50, HOUR).unwrap(), 1);
    server.ask(&["ACL", "SETUSER", "ann", "on", ">secret", "~pg2:*", "&pg2:hints:*", "+@all", "-xadd"]);
    let said = operate_on(&server.url("ann:secret@"), &["record", &name, "--for", "1s"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("a recording needs the right to XADD"), "{}", said.err);
}
