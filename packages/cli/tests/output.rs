//! The readable report, CSV, and who reads them.

use std::process::Stdio;

use crate::support::{POLICY, Temporary, command, simulate};
use serde_json::json;

#[test]
fn the_report_is_a_table_and_a_sentence_for_each_policy() {
    let policies = json!([
        { "name": "fixed", "limits": [{ "kind": "bucket", "limit": 1_000, "interval": "1m" }] },
        { "name": "a sliding window with a long name", "limits": [{ "kind": "window", "limit": 1_000, "interval": "1m" }] },
    ]);
    let arrivals = json!({ "kind": "burst", "count": 1_000, "every": "2s", "for": "4s", "from": "59s" });
    let scenario = Temporary::new(json!({ "policies": policies, "arrivals": arrivals }).to_string());
    let said = simulate(&["--scenario", scenario.path()]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let expected = "
                     fixed  a sliding window with a…
arrived              2,000                     2,000
granted              2,000                     1,000
refused                  0                     1,000
decisions            2,000                     2,000
units                2,000                     1,000
utilisation           100%                       50%
largest burst in 1m  2,000                     1,000
drained after           2s                        0s
looked at            1m 1s                     1m 1s

fixed: 2,000 of 2,000 went ahead (100%); none of them waited; at most 2,000 units within 1m; the last went ahead 2s \
         after the first came.
a sliding window with a…: 1,000 of 2,000 went ahead (50%), 1,000 refused; none of them waited; at most 1,000 units \
         within 1m.
seed 1
";
    assert_eq!(said.out.trim_start(), expected.trim_start());
    let mut widths = said.out.lines().take(10).map(|line| line.chars().count());
    let first = widths.next().unwrap();
    assert!(widths.all(|width| width == first), "{}", said.out);
}

#[test]
fn what_the_page_exports_is_taken_as_it_is() {
    let scenario = json!({
        "policies": [{ "name": "p", "limits": [{ "kind": "window", "limit": 1, "interval": "1m" }] }],
        "arrivals": { "kind": "jobs", "count": 2 },
    });
    let mut exported = scenario.clone();
    exported["totals"] = json!([{ "name": "p", "granted": 7 }]);
    let run = |value: &serde_json::Value| {
        let file = Temporary::new(value.to_string());
        simulate(&["--scenario", file.path(), "--json"]).out
    };
    assert!(run(&scenario).contains("\"granted\":1,"));
    assert_eq!(run(&exported), run(&scenario));
}

#[test]
fn the_report_tells_of_waits_and_of_what_is_pending() {
    let file = Temporary::new(POLICY);
    let said = simulate(&[file.path(), "--arrivals", "jobs 23", "--retry", "wait", "--until", "3s", "--limiter", "b"]);
    let sentence = "b: 15 of 23 went ahead (65.2%), 8 still pending; 10 of them waited (95% of all at most 2s, the longest 2s); \
                    at most 5 units within 1s.\n";
    assert!(said.out.contains(sentence), "{}", said.out);
    let scenario = json!({
        "policies": [{ "name": "\u{1b}[31mred\u{7}", "limits": [{ "kind": "unlimited" }] }],
        "arrivals": { "kind": "times", "text": "9\n" },
        "until": "1s",
    });
    let said = simulate(&["--scenario", Temporary::new(scenario.to_string()).path()]);
    assert!(said.out.contains("red\u{fffd}: no arrivals.\n") && !said.out.contains('\u{1b}'), "{}", said.out);
}

#[test]
fn csv_has_a_row_for_each_decision_of_each_policy() {
    let scenario = json!({
        "policies": [
            { "name": "a, \"b\"", "limits": [{ "kind": "window", "limit": 5, "interval": "1s" }] },
            { "name": "c", "limits": [{ "kind": "window", "limit": 5, "interval": "1s" }], "retry": "exponential" },
        ],
        "arrivals": { "kind": "poisson", "count": 10, "per": "1s", "for": "1m" },
    });
    let (scenario, csv) = (Temporary::new(scenario.to_string()), Temporary::new("old"));
    let said = simulate(&["--scenario", scenario.path(), "--json", "--csv", csv.path()]);
    let totals = said.totals();
    assert_eq!(said.out, simulate(&["--scenario", scenario.path(), "--json"]).out, "a timeline changes nothing");
    let text = csv.text();
    let mut lines = text.lines();
    let header = "policy,at_us,job,client,attempt,outcome,cost,wait_us,limit,retry_after_us,before,after,queue,held";
    assert_eq!(lines.next(), Some(header));
    let rows: Vec<&str> = lines.collect();
    for (prefix, totals) in ["\"a, \"\"b\"\"\",", "c,"].iter().zip(&totals) {
        let of_policy: Vec<&str> = rows.iter().filter_map(|row| row.strip_prefix(prefix)).collect();
        assert_eq!(Some(of_policy.len() as u64), totals["decisions"].as_u64());
        assert!(of_policy.iter().all(|row| row.split(',').count() == 13));
        let granted = of_policy.iter().filter(|row| row.contains(",granted,")).count();
        assert_eq!(Some(granted as u64), totals["granted"].as_u64());
    }
    let decisions: u64 = totals.iter().filter_map(|totals| totals["decisions"].as_u64()).sum();
    assert_eq!(rows.len() as u64, decisions);
}

#[test]
fn nobody_who_reads_is_no_error() {
    let file = Temporary::new(POLICY);
    for last in ["--json", "--csv=/dev/stdout"] {
        let mut command = command();
        command.args([file.path(), "--arrivals", "jobs 20000", last]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{last}");
    }
}

#[test]
fn help_and_version_are_there() {
    let said = simulate(&["--help"]);
    assert!(said.code == Some(0) && said.out.contains("poisson N/UNIT for SPAN"), "{}", said.out);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_paddlegate")).arg("--version").output().unwrap();
    assert_eq!(output.stdout, format!("paddlegate {}\n", paddlegate::VERSION).into_bytes());
}
