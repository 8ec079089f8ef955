//! Bad input: a message that says where and what to do, and its exit code.

use crate::support::{POLICY, Temporary, simulate, simulate_with_input};
use serde_json::{Value, json};

#[test]
fn bad_options_are_told_by_their_names() {
    let file = Temporary::new(POLICY);
    for (options, message) in [
        ("--arrivals|", "--arrivals: must begin with one of steady, poisson"),
        ("--arrivals|poisson", "--arrivals: must be written as \"poisson N/UNIT for SPAN\""),
        ("--arrivals|poisson 10/s for ever", "--arrivals: for: must be a span"),
        ("--arrivals|poisson 10/fortnight for 1m", "--arrivals: per: must be a span"),
        ("--arrivals|steady 0/s for 1m", "--arrivals: count: must be a whole number from 1"),
        ("--arrivals|steady 1/s for 0s", "--arrivals: for: must be above zero"),
        ("--arrivals|steady 1/s for 1m from x", "--arrivals: from: must be a span"),
        ("--arrivals|steady 1000000/ms for 10d", "--arrivals: would be about"),
        ("--arrivals|burst 1000000 every 1s for 1h", "--arrivals: would be about"),
        ("--arrivals|jobs 1000001", "--arrivals: count: must be a whole number"),
        ("--arrivals|jobs 18446744073709551616", "--arrivals: must be written as \"jobs N\""),
        (
            "--arrivals|jobs 1|--cost|x",
            "--cost: must be a whole number such as 5, or two such as 1..10, or such for each label, as in tpm=900,rpm=1: value=\"x\"",
        ),
        ("--arrivals|jobs 1|--cost|0", "--cost: must be a whole number from 1"),
        ("--arrivals|jobs 1|--cost|5..2", "--cost: must have the lower number first"),
        ("--arrivals|jobs 1|--cost|1..2..3", "--cost: must be a whole number such as"),
        ("--arrivals|jobs 1|--cost|tpm=x", "--cost: must be a whole number such as"),
        ("--arrivals|jobs 1|--cost|tpm=1,tpm=2", "--cost: must be a whole number such as"),
        ("--arrivals|jobs 1|--cost|tpm=1,5", "--cost: must be a whole number such as"),
        ("--arrivals|jobs 1|--cost|tpm=5..2", "--cost: tpm: must have the lower number first"),
        ("--arrivals|jobs 1|--cost|tokens=1", "--cost: names a label that no policy has: label=tokens"),
        ("--arrivals|jobs 1|--actual|1.5", "--actual: must be a whole number such as"),
        ("--arrivals|jobs 1|--actual|1..1000000000001", "--actual: must be a whole number from 0"),
        ("--arrivals|jobs 1|--work|fast", "--work: must be a span"),
        ("--arrivals|jobs 1|--work|3s..1s", "--work: must have the lower number first"),
        ("--arrivals|jobs 1|--clients|0", "--clients: must be a whole number from 1 to 100"),
        ("--arrivals|jobs 1|--clients|101", "--clients: must be a whole number from 1 to 100"),
        ("--arrivals|jobs 1|--clients|x", "invalid value 'x' for '--clients <N>'"),
        ("--arrivals|jobs 1|--at-once|18446744073709551615", "--at-once: must be a whole number"),
        ("--arrivals|jobs 1|--seed|9007199254740993", "--seed: must be a whole number from 0"),
        ("--arrivals|jobs 1|--until|0s", "--until: must be above zero"),
        ("--arrivals|jobs 1|--until|11y", "--until: must be a span"),
        ("--arrivals|jobs 1|--retry|often", "invalid value 'often' for '--retry"),
        ("--arrivals|jobs 1|--wait|1s", "the following required arguments were not provided:"),
        ("--arrivals|jobs 1|--retry|wait|--wait|long", "--wait: must be a span"),
        ("--arrivals|jobs 1|--retry|linear|--attempts|1001", "--attempts: must be a whole number"),
        ("--arrivals|jobs 1|--retry|exponential|--base|0s", "--base: must be above zero"),
        ("--arrivals|jobs 1|--retry|exponential|--cap|1w", "--cap: must be a span"),
        ("--retry|none", "the following required arguments were not provided:"),
        ("--arrivals|jobs 1|--scenario|x.json", "the argument"),
        ("--nonsense", "unexpected argument '--nonsense' found"),
    ] {
        let mut args = vec![file.path()];
        args.extend(options.split('|'));
        let said = simulate(&args);
        assert!(said.error(2).starts_with(message), "{options}: {}", said.err);
    }
    let said = simulate(&["--arrivals", "jobs 1"]);
    assert!(said.error(2).starts_with("the following required arguments"), "{}", said.err);
}

#[test]
fn bad_times_are_told_by_their_lines() {
    let policy = Temporary::new(POLICY);
    for (text, message) in [
        ("0\nx\n", "line 2: must be a number of seconds"),
        ("at,price\n1,2\n", "line 1: columns are at, cost, actual, work and count"),
        ("", "has no arrival; write one time a line"),
    ] {
        let times = Temporary::new(text);
        let said = simulate(&[policy.path(), "--arrivals", &format!("times {}", times.path())]);
        assert!(said.error(2).starts_with(&format!("{}: {message}", times.path())), "{}", said.err);
        let said = simulate_with_input(&[policy.path(), "--arrivals", "times -"], text);
        assert!(said.error(2).starts_with(&format!("standard input: {message}")), "{}", said.err);
    }
    let said = simulate(&["-", "--arrivals", "times -"]);
    assert!(said.error(2).contains("cannot both come from standard input"), "{}", said.err);
}

#[test]
fn files_that_cannot_be_read_or_written_are_not_the_input_s_fault() {
    let policy = Temporary::new(POLICY);
    for args in [
        &["/nowhere/policy.json", "--arrivals", "jobs 1"][..],
        &["/", "--arrivals", "jobs 1"],
        &["--scenario", "/nowhere/scenario.json"],
        &[policy.path(), "--arrivals", "times /nowhere/times.csv"],
    ] {
        assert!(simulate(args).error(1).starts_with("cannot read /"), "{args:?}");
    }
    let said = simulate(&[policy.path(), "--arrivals", "jobs 1", "--csv", "/nowhere/out.csv"]);
    assert!(said.error(1).starts_with("cannot write /nowhere/out.csv: "), "{}", said.err);
    let said = simulate(&[policy.path(), "--arrivals", "jobs 1", "--csv", "/dev/full"]);
    assert!(said.error(1).starts_with("cannot write /dev/full: "), "{}", said.err);
    let latin = Temporary::new(b"{\"limiters\": {\"\xe9\": {}}}");
    let said = simulate(&[latin.path(), "--arrivals", "jobs 1"]);
    assert!(said.error(2).ends_with(": is not UTF-8, save it as such: byte=15"), "{}", said.err);
}

#[test]
fn bad_documents_are_told_by_file_and_path() {
    for (text, message) in [
        ("", "at $: not readable as JSON"),
        ("{", "at $: not readable as JSON"),
        ("[]", "at $: must be a JSON object"),
        ("{}", "at $: is in no known format"),
        (r#"{"limiters": {"a": {"window": {"limit": 0, "per": "1s"}}}}"#, "at $.limiters.a.window"),
        (r#"{"limiters": {"a": {"window": {"limit": 5, "per": "1x"}}}}"#, "at $.limiters.a.window"),
        (r#"{"key": "a", "key": "b"}"#, "at $: not readable as JSON: duplicate member"),
        (r#"{"limiters": {}}"#, "at $: this Paddlegate limits defines no limiter by itself"),
        (
            r#"{"name": "w", "rateLimitConfig": {"rateLimitKey": "${workflow.input.k}"}}"#,
            "at $.rateLimitConfig.rateLimitKey: has variables",
        ),
    ] {
        let file = Temporary::new(text);
        let said = simulate(&[file.path(), "--arrivals", "jobs 1"]);
        assert!(said.error(2).starts_with(&format!("{}: {message}", file.path())), "{text} {}", said.err);
    }
}

#[test]
fn bad_scenarios_are_told_by_file_and_path() {
    let limits = json!([{ "kind": "window", "limit": 5, "interval": "1s" }]);
    let with = |policy: Value| json!({ "policies": [policy], "arrivals": { "kind": "jobs", "count": 1 } }).to_string();
    let document: Value = serde_json::from_str(POLICY).unwrap();
    for (text, message) in [
        ("no".to_owned(), "at $: not readable as JSON"),
        ("[".repeat(100_000), "at $: not readable as JSON"),
        ("[1]".to_owned(), "at $: must be a JSON object"),
        (r#"{"seed": 1, "seed": 2}"#.to_owned(), "at $: not readable as JSON: duplicate member"),
        ("{}".to_owned(), "at $.policies: must be a list of 1 to 4 policies"),
        (r#"{"policies": 7}"#.to_owned(), "at $.policies: must be a list"),
        (with(json!(7)), "at $.policies[0]"),
        (with(json!({ "name": "a" })), "at $.policies[0].limits: is missing"),
        (
            with(json!({ "limits": [{ "kind": "window", "limit": 5, "interval": "x" }] })),
            "at $.policies[0].limits[0].interval: ",
        ),
        (
            with(json!({ "limits": [{ "kind": "window", "limit": 1e300, "interval": "1s" }] })),
            "at $.policies[0].limits[0].limit: ",
        ),
        (with(json!({ "limits": limits, "retries": 3 })), "at $.policies[0].retries: has no meaning here"),
        (with(json!({ "limits": limits, "limiter": "a" })), "at $.policies[0].limiter: has no meaning here"),
        (with(json!({ "limits": limits, "document": document })), "at $.policies[0]: has limits and a document"),
        (with(json!({ "document": document })), "at $.policies[0].document: has 2 limiters, choose one by a member"),
        (with(json!({ "document": document, "limiter": "x" })), "at $.policies[0].document: has no limiter \"x\""),
        (with(json!({ "document": document, "limiter": 1 })), "at $.policies[0].limiter: must be a text"),
        (
            with(json!({ "document": { "key": "a", "rate": { "limit": 1, "period": "x" } } })),
            "at $.policies[0].document.rate.period: ",
        ),
        (with(json!({ "document": "a.json" })), "at $.policies[0].document: must be a JSON object"),
        (json!({ "policies": vec![json!({ "limits": limits }); 5] }).to_string(), "at $.policies: must have at most 4"),
    ] {
        let file = Temporary::new(&text);
        let said = simulate(&["--scenario", file.path(), "--json"]);
        let shown: String = text.chars().take(200).collect();
        assert!(said.error(2).starts_with(&format!("{}: {message}", file.path())), "{shown} {}", said.err);
    }
    let file = Temporary::new(with(json!({ "limits": limits })));
    let said = simulate(&["--scenario", file.path(), "--until", "x"]);
    assert!(said.error(2).starts_with("--until: must be a span"), "{}", said.err);
    let said = simulate(&["--scenario", file.path(), "--cost", "1"]);
    assert!(said.error(2).contains("cannot be used with"), "{}", said.err);
}

/// An event that cannot happen to a policy is found while it runs.
#[test]
fn a_fault_found_on_the_way_has_the_file_s_name() {
    let scenario = json!({
        "policies": [{ "limits": [{ "kind": "window", "limit": 5, "interval": "1s" }] }],
        "arrivals": { "kind": "jobs", "count": 1 },
        "events": [{ "at": "1s", "do": "override", "label": "window", "limit": 1_000_000_000_000_u64 }],
    });
    let file = Temporary::new(scenario.to_string());
    let said = simulate(&["--scenario", file.path()]);
    assert!(said.error(2).starts_with(&format!("{}: at $.events[0]: ", file.path())), "{}", said.err);
}
