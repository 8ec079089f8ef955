//! The operator's verbs on limiters that another program uses, in one Redis and in a cluster.

use crate::support;
use std::time::Duration;

use crate::support::{PATIENCE, Temporary, cluster_url, name, operate, operate_on, store};
use paddlegate::{
    AdminCommand, Deadline, Kind, Limit, LimitOverride, Limiter, Micros, Mode, Paddlegate, Policy, Reason, Request,
    Wait,
};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

const MINUTE: Duration = Duration::from_secs(60);

fn one() -> Request<'static> {
    Request::cost(1)
}

/// A limiter with two limits, two leases and a ticket.
fn partner(store: &Paddlegate, name: &str) -> Limiter {
    let rpm = Limit::window(100, MINUTE).unwrap().labelled("rpm").unwrap();
    let busy = Limit::concurrency(2, Duration::from_secs(3_600)).unwrap().labelled("busy").unwrap();
    let limiter = store.limiter(name, Policy::new([rpm, busy]).unwrap()).unwrap();
    for id in ["import", "export"] {
        assert!(limiter.acquire_with_id(one(), id, None).unwrap().allowed());
    }
    let wait = Wait::of_job(Micros(3_600_000_000), None);
    limiter.acquire_with_id(one().priority(3), "report", Some(wait)).unwrap();
    limiter
}

#[test]
fn the_list_has_the_limiters_of_other_programs() {
    let (store, prefix) = (store(), name("list"));
    let long = format!("{prefix}-{}", "0 of a long name ".repeat(5));
    store.window(&long, 100, MINUTE).unwrap().try_acquire(one()).unwrap();
    let users = store.bucket(&format!("{prefix}-a"), 5, MINUTE).unwrap().keyed().unwrap();
    users.with_key("u").unwrap().try_acquire(one()).unwrap();
    let shadow = store.limiter(&format!("{prefix}-b"), Policy::new([Limit::points(1_000, MINUTE).unwrap()]).unwrap());
    shadow
        .unwrap()
        .with_group("acme")
        .unwrap()
        .with_mode(Mode::Shadow)
        .unwrap()
        .try_acquire(Request::estimate(1))
        .unwrap();

    let said = operate(&["list", &prefix]);
    let lines: Vec<&str> = said.text().lines().collect();
    assert_eq!((lines.len(), lines[4]), (5, "3 limiters"), "{}", said.out);
    assert!(lines[0].starts_with("NAME ") && lines[0].ends_with(" LAST USED"), "{}", said.out);
    assert!(lines.iter().all(|line| line.width() <= 80), "{}", said.out);
    assert!(
        lines[1].starts_with("cli-list-") && lines[1].contains('…') && lines[1].contains("window 100/1m"),
        "{}",
        said.out
    );
    assert!(lines[2].contains("bucket 5/1m") && lines[2].contains("keyed"), "{}", said.out);
    assert!(lines[3].contains("points 1,000/1m") && lines[3].contains("shadow"), "{}", said.out);

    let listed = operate(&["list", &prefix, "--json"]).json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|info| info["name"].as_str()).collect();
    assert_eq!(names, [&*long, &format!("{prefix}-a"), &format!("{prefix}-b")]);
    let limits = json!([{ "label": "window", "kind": "window", "amount": 100, "interval": 60.0 }]);
    assert_eq!((&listed[0]["limits"], &listed[0]["group"]), (&limits, &Value::Null));
    assert_eq!((&listed[1]["keyed"], &listed[2]["keyed"]), (&json!(true), &json!(false)));
    assert_eq!((&listed[2]["mode"], &listed[2]["group"]), (&json!("shadow"), &json!("acme")));
    assert_eq!(operate(&["list", &name("none")]).text(), "0 limiters\n");
}

#[test]
fn inspect_shows_limits_leases_tickets_and_counters() {
    let (store, name) = (store(), name("inspect"));
    partner(&store, &name);
    let said = operate(&["inspect", &name]);
    let text = said.text();
    assert!(text.starts_with(&format!("{name}\nnothing overrides the policies of programs\n\nLIMIT ")), "{text}");
    let row = |begin: &str| {
        let line = text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin} {text}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("rpm ")[1..7], ["window", "100/1m", "policy", "2", "98", "0s"]);
    assert_eq!(row("busy ")[1..8], ["concurrency", "2", "for", "1h", "policy", "2", "0"]);
    assert_eq!(row("granted ").join(" "), "granted 2, refused 0, near a limit 1, units 2");
    assert_eq!(
        (row("import ")[0].as_str(), row("export ")[0].as_str(), row("leases ")[1].as_str()),
        ("import", "export", "2")
    );
    assert_eq!((row("report")[1].as_str(), row("tickets ")[1].as_str()), ("3", "1"));
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");

    let found = operate(&["inspect", &name, "--json", "--count", "1", "--offset", "1"]).json();
    assert_eq!((&found["limits"][0]["remaining"], &found["limits"][1]["taken"]), (&json!(98), &json!(2)));
    assert_eq!((found["leases"].as_array().unwrap().len(), &found["lease_count"]), (1, &json!(2)));
    assert_eq!((&found["leases"][0]["id"], &found["tickets"]), (&json!("export"), &json!([])));
    assert_eq!((&found["statistics"]["granted"], &found["statistics"]["tickets"]), (&json!(2), &json!(1)));
    let counted = operate(&["inspect", &name, "--count", "0"]);
    assert!(counted.text().ends_with("\nleases 2, 0 of them shown\n\ntickets 1, 0 of them shown\n"), "{}", counted.out);
}

#[test]
fn changes_are_in_force_in_other_programs_at_once() {
    let (store, name) = (store(), name("change"));
    let api = store.window(&name, 5, MINUTE).unwrap();
    assert!(api.try_acquire(one()).unwrap().allowed());

    let said = operate(&["pause", &name, "--expires-in", "1h"]);
    assert!(said.text().starts_with(&format!("{name}\npaused for ")), "{}", said.out);
    assert_eq!(api.try_acquire(one()).unwrap().reason, Some(Reason::Paused));
    assert!(operate(&["inspect", &name]).text().contains("\npaused for 59m"));
    assert_eq!(operate(&["resume", &name, "--json"]).json()["paused_for"], Value::Null);
    assert!(api.try_acquire(one()).unwrap().allowed());

    let state =
        operate(&["override", &name, "--limit", "50", "--interval", "2m", "--expires-in", "1h", "--json"]).json();
    let numbers = json!({ "window": { "kind": "window", "amount": 50, "interval": 120.0 } });
    assert_eq!((&state["overrides"], &state["name"], &state["in_use"]), (&numbers, &json!(name), &json!(true)));
    assert!(state["expires_in"].as_f64().is_some_and(|left| left > 3_000.0 && left <= 3_600.0), "{state}");
    assert_eq!(api.peek(one()).unwrap().remaining, Some(48));
    let both = format!("{name}\noverride mode shadow, until restored\noverride window 50/2m, until restored\n");
    assert_eq!(operate(&["override", &name, "--mode", "shadow"]).text(), both);
    let state = operate(&["restore", &name, "--mode", "--json"]).json();
    assert_eq!((&state["mode"], &state["overrides"]), (&Value::Null, &numbers));
    assert_eq!(operate(&["override", &name, "--mode", "shadow"]).text(), both);
    let mode = format!("{name}\noverride mode shadow, until restored\n");
    assert_eq!(operate(&["restore", &name, "--label", "window"]).text(), mode);
    operate(&["override", &name, "--limit", "1", "--mode", "enforce"]).text();
    assert!(!api.try_acquire(one()).unwrap().allowed());
    assert_eq!(operate(&["restore", &name]).text(), format!("{name}\nnothing overrides the policies of programs\n"));
    assert_eq!(api.peek(one()).unwrap().remaining, Some(3));

    operate(&["reset", &name, "--yes"]).text();
    assert_eq!(api.peek(one()).unwrap().remaining, Some(5));
}

#[test]
fn a_prefix_names_many_limiters() {
    let (store, name) = (store(), name("prefix"));
    let [first, second] = ["-a", "-b"].map(|end| store.window(&format!("{name}{end}"), 5, MINUTE).unwrap());
    for limiter in [&first, &second] {
        limiter.try_acquire(one()).unwrap();
    }
    operate(&["pause", &name, "--prefix", "--expires-in", "1h"]).text();
    assert_eq!([&first, &second].map(|of| of.peek(one()).unwrap().reason), [Some(Reason::Paused); 2]);
    operate(&["resume", &name, "--prefix"]).text();
    let users = store.window(&format!("{name}-users"), 5, MINUTE).unwrap().keyed().unwrap();
    users.with_key("u1").unwrap().try_acquire(one()).unwrap();
    let said = operate(&["override", &name, "--prefix", "--limit", "3"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("1 of 3 limiters were not changed"), "{}", said.err);
    assert_eq!([&first, &second].map(|of| of.peek(one()).unwrap().remaining), [Some(2); 2]);
    assert_eq!(operate(&["pause", "nobody-", "--prefix", "--expires-in", "1h"]).code, Some(2));
}

#[test]
fn all_keys_of_a_limiter_are_changed() {
    let (store, name) = (store(), name("all-keys"));
    let users = store.window(&name, 5, MINUTE).unwrap().keyed().unwrap();
    let of = |key: &str| users.with_key(key).unwrap();
    for i in 0..120 {
        of(&format!("u{i}")).try_acquire(one()).unwrap();
    }
    let all = |order: &[&str]| operate(&[order, &["--all-keys"]].concat());
    assert_eq!(all(&["pause", &name, "--expires-in", "1h"]).text(), format!("{name}\nchanged 120 keys\n"));
    assert_eq!(
        ["u0", "u119", "new"].map(|key| of(key).peek(one()).unwrap().reason).map(|it| it == Some(Reason::Paused)),
        [true, true, false]
    );
    let said = operate(&["log", "--count", "1000"]);
    let line = said.text().lines().find(|line| line.contains(&name)).unwrap_or_default();
    assert!(line.contains("pause expires_in=3600, all keys"), "{}", said.out);
    assert_eq!(all(&["resume", &name, "--json"]).json(), json!({ "name": name, "group": null, "changed": 120 }));
    all(&["override", &name, "--limit", "9", "--mode", "shadow"]).text();
    assert_eq!(of("u7").peek(one()).unwrap().remaining, Some(8));
    all(&["restore", &name]).text();
    assert_eq!(of("u7").peek(one()).unwrap().remaining, Some(4));
    all(&["reset", &name, "--yes"]).text();
    assert_eq!(of("u7").peek(one()).unwrap().remaining, Some(5));
    assert_eq!(all(&["override", &name, "--label", "rpm", "--limit", "9"]).code, Some(2), "no such limit");
    for more in [["--key", "u7"], ["--prefix", "--json"]] {
        assert_eq!(operate(&[&["resume", &name, "--all-keys"][..], &more].concat()).code, Some(2));
    }
    let plain = store.window(&format!("{name}-plain"), 5, MINUTE).unwrap();
    plain.try_acquire(one()).unwrap();
    let message = format!("--all-keys: the limiter has one state for all; leave it out: name={:?}", plain.name());
    assert_eq!(all(&["resume", plain.name()]).error(2), message);
}

#[test]
fn an_override_of_leases_shows_their_time_and_its_own_end() {
    let (store, name) = (store(), name("leases"));
    partner(&store, &name);
    let busy = &["override", &name, "--label", "busy", "--interval", "90m"][..];
    let until = format!("{name}\noverride busy concurrency 2, leases of 1h 30m, until restored\n");
    assert_eq!(operate(busy).text(), until);
    let said = operate(&[busy, &["--expires-in", "1h"]].concat());
    let begin = format!("{name}\noverride busy concurrency 2, leases of 1h 30m, ends in ");
    assert!(said.text().starts_with(&begin), "{}", said.out);
}

#[test]
fn a_label_without_an_override_is_not_restored() {
    let (store, name) = (store(), name("label"));
    let limiter = partner(&store, &name);
    let restore = |label: &str| operate(&["restore", &name, "--label", label, "--by", "ann"]);
    assert_eq!(restore("windw").error(2), "--label: no override of a limit is in force: label=\"windw\"");
    // Another program's policy has a limit that the list does not have.
    let tpm = Limit::window(5, MINUTE).unwrap().labelled("tpm").unwrap();
    limiter.admin(AdminCommand::Override { changes: &[LimitOverride::Set(tpm)], expires: None }).unwrap();
    operate(&["override", &name, "--label", "rpm", "--limit", "9"]).text();
    let before = limiter.admin(AdminCommand::Get).unwrap();
    for label in ["windw", "busy"] {
        let message = format!("--label: no override of this limit is in force, only of rpm, tpm: label={label:?}");
        assert_eq!(restore(label).error(2), message);
    }
    assert_eq!(limiter.admin(AdminCommand::Get).unwrap(), before);
    let log = operate(&["log", "--json", "--count", "1000"]).json();
    let ours = |entry: &&Value| entry["limiter"] == name && entry["who"] == "ann";
    assert_eq!(log.as_array().unwrap().iter().filter(ours).count(), 0, "{log}");
    assert_eq!(restore("tpm").text(), format!("{name}\noverride rpm window 9/1m, until restored\n"));
}

#[test]
fn keys_groups_and_files_name_a_limiter() {
    let (store, name) = (store(), name("target"));
    let users = store.bucket(&name, 2, Duration::from_secs(86_400)).unwrap().keyed().unwrap();
    users.with_key("u1").unwrap().try_acquire(one()).unwrap();
    let said = operate(&["pause", &name, "--key", "u1", "--expires-in", "1h"]);
    assert!(said.text().starts_with(&format!("{name} key=\"u1\"\npaused for")), "{}", said.out);
    assert!(!users.with_key("u1").unwrap().try_acquire(one()).unwrap().allowed());
    assert!(users.with_key("u2").unwrap().try_acquire(one()).unwrap().allowed());
    let said = operate(&["resume", &name, "--key", "u3"]);
    assert!(said.code == Some(0) && said.err.starts_with("warning: Redis had nothing of this limiter"), "{}", said.err);

    // This process has counted for which key a call was refused.
    paddlegate::store::redis::send_counts();
    let said = operate(&["inspect", &name]);
    assert!(
        said.text().contains("\na state for each key; see one with --key\n\ngranted 2, refused 1,"),
        "{}",
        said.out
    );
    let row = said.text().lines().last().map(|row| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(row, Some(vec!["u1".to_owned(), "1".to_owned()]), "{}", said.out);
    let found = operate(&["inspect", &name, "--json", "--count", "0"]).json();
    assert_eq!(found["most_refused"], json!([{ "key": "u1", "refused": 1 }]));
    assert_eq!((&found["key"], &found["statistics"]["refused"]), (&Value::Null, &json!(1)));

    // The name without keys is another limiter.
    store.window(&name, 7, MINUTE).unwrap().try_acquire(one()).unwrap();
    let limit = |args: &[&str]| operate(args).json()["limits"][0]["limit"].clone();
    assert_eq!(limit(&["inspect", &name, "--json"]), json!(7));
    assert_eq!(limit(&["inspect", &name, "--json", "--key", "u1"]), json!(2));

    let grouped = format!("{name}-grouped");
    for (group, limit) in [("a", 5), ("b", 7)] {
        let limiter = store.window(&grouped, limit, MINUTE).unwrap().with_group(group).unwrap();
        limiter.try_acquire(one()).unwrap();
    }
    assert!(
        operate(&["inspect", &grouped])
            .error(2)
            .starts_with("--group: the name is in several groups, choose one: \"a\", \"b\"")
    );
    assert!(
        operate(&["inspect", &grouped, "--group", "c"]).error(2).starts_with("--group: the name is not in this group")
    );
    let found = operate(&["inspect", &grouped, "--group", "b", "--json"]).json();
    assert_eq!((&found["limits"][0]["limit"], &found["group"]), (&json!(7), &json!("b")));

    // One that is in no list.
    let hidden = format!("{name}-hidden");
    let limiter = store.window(&hidden, 3, MINUTE).unwrap().without_statistics().unwrap();
    limiter.try_acquire(one()).unwrap();
    let window = json!({ "window": { "limit": 3, "per": "1m" }, "statistics": false });
    let file = Temporary::new(json!({ "limiters": { &hidden: window } }).to_string());
    let found = operate(&["inspect", &hidden, "--limits", file.path(), "--json"]).json();
    assert_eq!((&found["limits"][0]["remaining"], &found["statistics"]), (&json!(2), &Value::Null));
    // A limiter of another group than the file's is another limiter.
    for verb in [
        &["inspect"][..],
        &["pause", "--expires-in", "1h"],
        &["override", "--limit", "1"],
        &["reset", "--yes"],
        &["record"],
    ] {
        let said = operate(&[verb, &[&hidden, "--limits", file.path(), "--group", "g"]].concat());
        let message =
            format!("--group: {} defines the name in another group: group=\"g\", in the file \"\"", file.path());
        assert_eq!(said.error(2), message);
    }
    assert_eq!(limiter.admin(AdminCommand::Get).unwrap().version, 0);
    assert_eq!(limiter.peek(one()).unwrap().remaining, Some(2));
    let grouped = json!({ "limiters": { &hidden: { "window": { "limit": 3, "per": "1m" }, "group": "g" } } });
    let grouped = Temporary::new(grouped.to_string());
    for group in [&["--group", "g"][..], &[]] {
        let found = operate(&[&["inspect", &hidden, "--limits", grouped.path(), "--json"], group].concat()).json();
        assert_eq!(found["group"], json!("g"));
    }
    let said = operate(&["reset", &hidden, "--limits", grouped.path(), "--group", "", "--yes"]);
    assert!(said.error(2).ends_with(" in another group: group=\"\", in the file \"g\""), "{}", said.err);
    operate(&["pause", &hidden, "--limits", file.path(), "--group", "", "--expires-in", "1h"]).text();
    assert_eq!(limiter.try_acquire(one()).unwrap().reason, Some(Reason::Paused));
}

#[test]
fn bad_input_names_the_argument_and_changes_nothing() {
    let (store, name) = (store(), name("bad"));
    let limiter = partner(&store, &name);
    let keyed = format!("{name}-keyed");
    store.bucket(&keyed, 2, MINUTE).unwrap().keyed().unwrap().with_key("u").unwrap().try_acquire(one()).unwrap();
    let before = limiter.admin(AdminCommand::Get).unwrap().version;
    for (args, message) in [
        (&["pause", "NAME"][..], "the following required arguments were not provided:"),
        (&["pause", "NAME", "--expires-in", "10"], "invalid value '10' for '--expires-in <SPAN>': must be second"),
        (&["pause", "NAME", "--expires-in", "0s"], "invalid value '0s' for '--expires-in <SPAN>': must be above zero"),
        (&["pause", "NAME", "--expires-in", "11y"], "invalid value '11y' for '--expires-in <SPAN>'"),
        (&["pause", "nobody has this", "--expires-in", "1s"], "NAME: no program has used such a limiter"),
        (&["pause", "NAME", "--expires-in", "1s", "--key", "k"], "--key: the limiter has one state for all"),
        (&["pause", "KEYED", "--expires-in", "1s"], "--key: is missing"),
        (&["pause", "KEYED", "--expires-in", "1s", "--key", ""], "--key: "),
        (&["pause", "NAME", "--expires-in", "1s", "--limits", "/dev/null"], "/dev/null: at $: not readable as JSON"),
        (&["override", "NAME"], "--limit: give another limit, another interval or a mode"),
        (&["override", "NAME", "--mode", "off"], "invalid value 'off' for '--mode <MODE>'"),
        (&["override", "NAME", "--mode", "shadow", "--label", "rpm"], "--label: is that of a limit"),
        (&["override", "NAME", "--limit", "5"], "--label: is missing; give one of rpm, busy"),
        (&["override", "NAME", "--limit", "5", "--label", "tpm"], "--label: "),
        (&["override", "NAME", "--limit", "0", "--label", "rpm"], "--limit: must be from 1"),
        (&["override", "NAME", "--limit", "-1", "--label", "rpm"], "unexpected argument '-1' found"),
        (
            &["override", "NAME", "--limit", "5", "--label", "rpm", "--interval", "1w"],
            "invalid value '1w' for '--interval",
        ),
        (&["restore", "NAME", "--label", "RPM"], "--label: "),
        (&["reset", "NAME"], "the following required arguments were not provided:"),
        (&["inspect", "NAME", "--count", "251"], "--count: must be from 0 to 250"),
        (&["inspect", "NAME", "--offset", "100001"], "--offset: must be from 0 to 100000"),
        (&["inspect"], "the following required arguments were not provided:"),
        (&["list", "--json", "a", "b"], "unexpected argument 'b' found"),
        (&["list", "--timeout", "0.5ms"], "--timeout: must be from one millisecond"),
    ] {
        let args: Vec<&str> = args
            .iter()
            .map(|arg| match *arg {
                "NAME" => &*name,
                "KEYED" => &*keyed,
                arg => arg,
            })
            .collect();
        let said = if args.contains(&"--timeout") { run(&args) } else { operate(&args) };
        assert!(said.error(2).starts_with(message), "{args:?}: {}", said.err);
    }
    assert_eq!(limiter.admin(AdminCommand::Get).unwrap().version, before);
    assert_eq!(limiter.statistics().unwrap().granted, 2);
    assert_eq!(limiter.peek(one()).unwrap().reason, Some(Reason::Limit(Kind::Concurrency)));
}

/// Runs a verb without a time-out of the test's own.
fn run(args: &[&str]) -> support::Said {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_paddlegate"));
    support::Said::of(command.args(args).env("PADDLEGATE_URL", support::url()).output().unwrap())
}

#[test]
fn no_password_is_printed() {
    for url in ["redis://u:hush@127.0.0.1:1", "http://u:hush@h", "u:hush@127.0.0.1:1", "redis://:hush@h:99999"] {
        for args in [&["list", "--redis", url][..], &["inspect", "a", "--redis", url], &["list", "a", url], &[url]] {
            let said = run(args);
            assert!(matches!(said.code, Some(2 | 3)), "{args:?} {said:?}");
            assert!(!format!("{}{}", said.out, said.err).contains("hush"), "{args:?} {said:?}");
        }
        let said = operate_on(url, &["list"]);
        assert!(matches!(said.code, Some(2 | 3)) && !said.err.contains("hush"), "{url} {said:?}");
        assert!(!operate_on(url, &["list", "--help"]).out.contains("hush"));
    }
}

#[test]
fn a_store_is_needed_and_one_that_is_down_has_its_own_exit_code() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_paddlegate"));
    let said = support::Said::of(command.arg("list").env_remove("PADDLEGATE_URL").output().unwrap());
    assert!(said.error(2).starts_with("--redis: is missing"), "{}", said.err);
    assert!(operate_on("", &["list"]).error(2).starts_with("--redis: is missing"));
    assert!(operate_on("memory://", &["list"]).error(2).starts_with("--redis: must be a Redis server"));
    assert!(
        operate_on("redis://127.0.0.1:1", &["list"]).error(3).starts_with("cannot connect to redis: node=127.0.0.1:1")
    );
}

#[test]
fn limiters_of_a_cluster_are_operated_too() {
    let url = cluster_url();
    let store = Paddlegate::open(&url, Some(PATIENCE)).unwrap();
    let prefix = name("cluster");
    // On several nodes.
    let limiters: Vec<Limiter> = (0..9).map(|i| store.window(&format!("{prefix}-{i}"), 5, MINUTE).unwrap()).collect();
    for limiter in &limiters {
        limiter.try_acquire(one()).unwrap();
    }
    assert_eq!(operate_on(&url, &["list", &prefix, "--json"]).json().as_array().unwrap().len(), 9);
    for limiter in &limiters {
        operate_on(&url, &["pause", limiter.name(), "--expires-in", "1h"]).text();
        assert_eq!(limiter.try_acquire(one()).unwrap().reason, Some(Reason::Paused));
        operate_on(&url, &["reset", limiter.name(), "--yes"]).text();
        assert_eq!(limiter.peek(one()).unwrap().remaining, Some(5));
    }
}

/// The list has the limits of all policies, which no policy may have together.
#[test]
fn limits_of_several_policies_are_shown_as_far_as_they_go_together() {
    let (store, name) = (store(), name("merged"));
    for label in ["a", "b"] {
        let limit = Limit::concurrency(3, MINUTE).unwrap().labelled(label).unwrap();
        store.limiter(&name, Policy::new([limit]).unwrap()).unwrap().try_acquire(one()).unwrap();
    }
    for i in 0..9 {
        let limit = Limit::window(3, MINUTE).unwrap().labelled(&format!("w{i}")).unwrap();
        store.limiter(&name, Policy::new([limit]).unwrap()).unwrap().try_acquire(one()).unwrap();
    }
    let found = operate(&["inspect", &name, "--json"]).json();
    assert_eq!(found["limits"].as_array().unwrap().len(), 8, "{found}");
    operate(&["pause", &name, "--expires-in", "1h"]).text();
}

#[test]
fn a_pause_of_another_program_is_shown_and_ended() {
    let (store, name) = (store(), name("theirs"));
    let api = store.window(&name, 5, MINUTE).unwrap();
    api.try_acquire(one()).unwrap();
    api.admin(AdminCommand::Pause(Deadline::After(Micros(3_600_000_000)))).unwrap();
    api.admin(AdminCommand::Block(Deadline::After(Micros(7_200_000_000)))).unwrap();
    let said = operate(&["inspect", &name]);
    assert!(said.text().contains("\npaused for 59m") && said.out.contains("\nblocked for 1h 59m"), "{}", said.out);
    operate(&["resume", &name]).text();
    assert!(api.try_acquire(one()).unwrap().allowed());
}
