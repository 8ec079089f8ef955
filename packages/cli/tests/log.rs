//! Changes from the terminal in the log that the servers share: who made them, what they were, and why.

use crate::support;
use std::process::Command;
use std::time::Duration;

use crate::support::redis_server::Server;
use crate::support::{PATIENCE, cluster_url, name, operate, operate_on, store};
use paddlegate::{AdminCommand, Mode, Paddlegate, Request};
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);

/// A limiter that a program has used.
fn used(store: &Paddlegate, name: &str) -> paddlegate::Limiter {
    let limiter = store.window(name, 5, MINUTE).unwrap();
    assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed());
    limiter
}

/// The changes of a limiter that the log has, the newest last.
fn logged(url: &str, limiter: &str) -> Vec<Value> {
    let log = operate_on(url, &["log", "--json", "--count", "1000"]).json();
    log.as_array().unwrap().iter().filter(|entry| entry["limiter"] == limiter).cloned().collect()
}

/// What each change was.
fn whats(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["what"].as_str().unwrap()).collect()
}

#[test]
fn each_change_is_in_the_log_with_who_and_why() {
    let (store, name) = (store(), name("log"));
    used(&store, &name);
    let why = ["--by", "ann", "--reason", "the partner is \"down\""];
    for args in [
        &["pause", &name, "--expires-in", "1h"][..],
        &["resume", &name],
        &["override", &name, "--limit", "50", "--interval", "2m", "--expires-in", "90s"],
        &["override", &name, "--limit", "9", "--label", "window", "--mode", "shadow"],
        &["restore", &name, "--mode"],
        &["restore", &name, "--label", "window"],
        &["restore", &name],
        &["reset", &name, "--yes"],
    ] {
        operate(&[args, &why].concat()).text();
    }
    let entries = logged(&support::url(), &name);
    assert_eq!(
        whats(&entries),
        [
            "pause expires_in=3600",
            "resume",
            "override limit=50 interval=120 expires_in=90",
            "override label=\"window\" limit=9 without an end",
            "mode shadow without an end",
            "restore mode",
            "restore label=\"window\"",
            "restore",
            "reset",
        ]
    );
    for entry in &entries {
        assert_eq!((&entry["who"], &entry["reason"]), (&json!("ann"), &json!(why[3])), "{entry}");
        let mut members: Vec<&String> = entry.as_object().unwrap().keys().collect();
        members.sort_unstable();
        assert_eq!(members, ["at", "id", "key", "limiter", "reason", "uid", "what", "who"]);
    }
    let shown = operate(&["log", "--count", "1000"]);
    let line = shown.text().lines().find(|line| line.contains(&name)).unwrap();
    let rest = format!("  ann  {name}  pause expires_in=3600  {}", why[3]);
    let squeezed = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(squeezed(line).ends_with(&squeezed(&rest)), "{line}");
}

#[test]
fn without_options_the_user_of_the_system_is_named_and_no_reason() {
    let (store, name) = (store(), name("log-default"));
    let users = store.bucket(&name, 2, MINUTE).unwrap().keyed().unwrap();
    users.with_key("u1").unwrap().try_acquire(Request::cost(1)).unwrap();
    operate(&["resume", &name, "--key", "u1"]).text();
    let [entry] = &logged(&support::url(), &name)[..] else { panic!("one entry") };
    let user = Command::new("id").arg("-un").output().unwrap();
    let user = if user.status.success() { String::from_utf8(user.stdout).unwrap() } else { "cli".to_owned() };
    assert_eq!((&entry["who"], &entry["reason"]), (&json!(user.trim()), &Value::Null));
    assert_eq!(entry["key"], "u1");
}

#[test]
fn the_last_changes_are_shown_and_counted() {
    let server = Server::start(&[]);
    let url = server.url("");
    assert_eq!(operate_on(&url, &["log"]).text(), "0 of 0 changes\n");
    assert_eq!(operate_on(&url, &["log", "--json"]).json(), json!([]));
    let store = Paddlegate::open(&url, Some(PATIENCE)).unwrap();
    used(&store, "api");
    for who in ["ann", "bob", "eve\u{1b}[31m"] {
        operate_on(&url, &["resume", "api", "--by", who]).text();
    }
    let said = operate_on(&url, &["log", "--count", "2"]);
    let lines: Vec<&str> = said.text().lines().collect();
    assert_eq!((lines.len(), lines[3]), (4, "2 of 3 changes"), "{}", said.out);
    let age = lines[1].split_whitespace().next().unwrap_or_default();
    assert!(age == "now" || age.ends_with(['s', 'm']), "a test ends within an hour: {}", said.out);
    assert!(lines[0].starts_with("WHEN") && lines[1].contains(" bob ") && lines[2].contains("eve\u{fffd}[31m"));
    assert_eq!(operate_on(&url, &["log", "--count", "0"]).text(), "0 of 3 changes\n");
    assert!(operate(&["log", "--count", "1001"]).error(2).starts_with("invalid value '1001' for '--count <N>'"));
    assert!(operate_on("redis://127.0.0.1:1", &["log"]).error(3).starts_with("cannot connect to redis"));
}

#[test]
fn a_wrong_reason_or_name_changes_nothing() {
    let (store, name) = (store(), name("log-wrong"));
    let limiter = used(&store, &name);
    let pause = ["pause", &name, "--expires-in", "1h"];
    for (option, text, message) in [
        ("--reason", "é".repeat(251), "--reason: must have at most 500 bytes"),
        ("--by", "a".repeat(101), "--by: must have 1 to 100 bytes"),
        ("--by", String::new(), "--by: must have 1 to 100 bytes"),
    ] {
        let said = operate(&[&pause[..], &[option, &text]].concat());
        assert_eq!(said.error(2), message);
    }
    assert_eq!(limiter.admin(AdminCommand::Get).unwrap().version, 0);
    assert_eq!(logged(&support::url(), &name).len(), 0);
    operate(&[&pause[..], &["--reason", &"é".repeat(250), "--by", &"a".repeat(100)]].concat()).text();
    assert_eq!(logged(&support::url(), &name).len(), 1);
}

/// The user may change limiters, but not write the log.
#[test]
fn a_change_that_the_log_does_not_take_is_in_force_with_a_warning() {
    let server = Server::start(&[]);
    let store = Paddlegate::open(&server.url(""), Some(PATIENCE)).unwrap();
    let limiter = used(&store, "api");
    server.ask(&["ACL", "SETUSER", "app", "on", ">hush", "~*", "&*", "+@all", "-xadd"]);
    let url = server.url("app:hush@");
    let said = operate_on(&url, &["override", "api", "--limit", "9", "--mode", "shadow", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let warning = "warning: the change is in force, but the log of changes may not have it: ";
    assert!(said.err.starts_with(warning) && said.err.lines().count() == 1, "{said:?}");
    assert!(!said.err.contains("hush"), "{said:?}");
    assert_eq!(serde_json::from_str::<Value>(&said.out).unwrap()["mode"], "shadow");
    let said = operate_on(&url, &["pause", "api", "--expires-in", "1h"]);
    assert!(said.code == Some(0) && said.err.starts_with(warning), "{said:?}");
    let state = limiter.admin(AdminCommand::Get).unwrap();
    assert!(state.mode == Some(Mode::Shadow) && state.paused_for.is_some(), "{state:?}");
    assert_eq!(operate_on(&server.url(""), &["log"]).text(), "0 of 0 changes\n");
}

#[test]
fn a_cluster_has_the_log_too() {
    let (url, name) = (cluster_url(), name("log-cluster"));
    let store = Paddlegate::open(&url, Some(PATIENCE)).unwrap();
    used(&store, &name);
    operate_on(&url, &["pause", &name, "--expires-in", "1s", "--reason", "a test"]).text();
    assert_eq!(whats(&logged(&url, &name)), ["pause expires_in=1"]);
}
