//! The metrics, which have the counts of all programs.

#![allow(clippy::float_cmp, reason = "whole numbers")]

use crate::support;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::{Client, Running, Store, advance, until};
use paddlegate::{Micros, Paddlegate, Request};
use paddlegate_server::Options;
use serde_json::json;

/// Reads the samples by name and labels, and checks the form of each line.
fn samples(client: &mut Client) -> BTreeMap<String, f64> {
    let response = client.get("/metrics");
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    let (mut samples, mut typed) = (BTreeMap::new(), Vec::new());
    for line in response.text().lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            typed.push(rest.split(' ').next().unwrap().to_owned());
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let family = name.split('{').next().unwrap();
        let known = |typed: &String| {
            family.strip_prefix(typed.as_str()).is_some_and(|rest| ["", "_bucket", "_sum", "_count"].contains(&rest))
        };
        assert!(typed.last().is_some_and(known), "under its head: {line}");
        assert!(samples.insert(name.to_owned(), value.parse().expect("a number")).is_none(), "once: {line}");
    }
    samples
}

#[test]
fn the_counts_of_another_program_are_exported() {
    let store = Store::redis();
    let server = store.server();
    let mut client = server.client();
    let name = format!("{}api", store.prefix);
    client.post(&store.path("api", "/acquire"), &json!({ "cost": 2 })).expect(200);
    client.post(&store.path("api", "/acquire"), &json!({ "cost": 4 })).expect(200);
    let pg = Paddlegate::open(store.url.as_deref().unwrap(), None).unwrap();
    let same = pg.bucket(&name, 5, Duration::from_secs(86_400)).unwrap();
    assert!(same.try_acquire(Request::cost(3)).unwrap().allowed());
    pg.close();
    client.put(&store.path("api", "/override"), &json!({ "limit": 4 })).expect(200);
    client.put(&store.path("api", "/pause"), &json!({ "expires_in": 60 })).expect(200);
    let samples = samples(&mut client);
    let get = |metric: &str, labels: &str| samples.get(&format!("paddlegate_{metric}{{limiter=\"{name}\"{labels}}}"));
    assert_eq!(get("requests_total", ",result=\"granted\""), Some(&2.0));
    assert_eq!(get("requests_total", ",result=\"refused\""), Some(&1.0));
    assert_eq!(get("requests_total", ",result=\"waited\""), Some(&0.0));
    assert_eq!(get("refused_total", ",limit=\"bucket\""), Some(&1.0));
    assert_eq!(get("units_total", ",phase=\"actual\""), Some(&5.0));
    assert_eq!(get("units_total", ",phase=\"estimated\""), Some(&5.0));
    assert_eq!(get("near_limit_total", ""), Some(&1.0), "nothing is left after the second grant");
    assert_eq!(get("limit", ",limit=\"bucket\""), Some(&4.0));
    assert_eq!(get("remaining", ",limit=\"bucket\""), Some(&0.0));
    assert_eq!(get("override_info", ",limit=\"bucket\",amount=\"4\""), Some(&1.0));
    assert_eq!(get("paused", ""), Some(&1.0));
    assert_eq!(samples["paddlegate_up"], 1.0);
    let decisions = samples["paddlegate_store_seconds_count"];
    assert_eq!(decisions, 2.0, "of this server alone");
    assert_eq!(samples["paddlegate_store_seconds_bucket{le=\"+Inf\"}"], decisions);
    let bounds = samples.iter().filter(|(name, _)| name.starts_with("paddlegate_store_seconds_bucket"));
    assert_eq!(bounds.count(), 18);
    assert!(samples["paddlegate_store_seconds_sum"] > 0.0);
    assert_eq!(samples["paddlegate_request_seconds_count"], 2.0, "the verbs, not what looks or changes");
    assert!(samples["paddlegate_request_seconds_sum"] >= samples["paddlegate_store_seconds_sum"]);
    assert_eq!(samples["paddlegate_server_errors_total"], 0.0);
}

#[test]
fn waits_are_a_histogram() {
    for store in Store::all() {
        let server = store.server();
        let (mut client, mut waiter) = (server.client(), server.client());
        let acquire = store.path("workers", "/acquire");
        let held = client.post(&acquire, &json!({})).expect(200);
        waiter.send("POST", &acquire, Some(&json!({ "wait_timeout": 250 })));
        support::until("the call is in the queue", || {
            client.get(&store.path("workers", "")).expect(200)["ticket_count"] == 1
        });
        let before = samples(&mut client);
        let labels = format!("{{limiter=\"{}workers\"}}", store.prefix);
        assert_eq!(before[&format!("paddlegate_waiting{labels}")], 1.0);
        assert_eq!(before[&format!("paddlegate_active_leases{labels}")], 1.0);
        client.post(&store.path("workers", "/release"), &json!({ "permit": held["permit"] })).expect(200);
        waiter.receive().expect(200);
        let after = samples(&mut client);
        let verbs = "paddlegate_request_seconds_count";
        assert_eq!((before[verbs], after[verbs]), (1.0, 2.0), "a held request says nothing of the server");
        assert_eq!(after[&format!("paddlegate_wait_seconds_count{labels}")], 1.0);
        assert!(after[&format!("paddlegate_wait_seconds_sum{labels}")] > 0.0);
        let bucket = |bound: &str| {
            let name = format!("paddlegate_wait_seconds_bucket{{limiter=\"{}workers\",le=\"{bound}\"}}", store.prefix);
            after[&name]
        };
        assert_eq!(bucket("+Inf"), 1.0);
        let bounds = (0..21).map(|i| bucket(&(f64::from(1 << i) / 1_000.0).to_string())).collect::<Vec<_>>();
        assert!(bounds.is_sorted(), "{bounds:?}");
    }
}

#[test]
fn leases_are_a_histogram_and_units_are_told_before_and_after_corrections() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let labels = |of: &str, more: &str| format!("{{limiter=\"{}{of}\"{more}}}", store.prefix);
        let workers = |verb: &str| store.path("workers", verb);
        for _ in 0..3 {
            let held = client.post(&workers("/acquire"), &json!({})).expect(200);
            client.post(&workers("/release"), &json!({ "permit": held["permit"] })).expect(200);
        }
        let shop = |verb: &str| store.path("shop", verb);
        let policy = json!({ "points": { "limit": 1000, "refill": "1m" } });
        let permit = client.post(&shop("/acquire"), &json!({ "policy": policy, "estimate": 400 })).expect(200);
        let correction = json!({ "policy": policy, "permit": permit["permit"], "actual": 50 });
        client.post(&shop("/correct"), &correction).expect(200);
        let samples = samples(&mut client);
        assert_eq!(samples[&format!("paddlegate_lease_seconds_count{}", labels("workers", ""))], 3.0);
        assert!(samples[&format!("paddlegate_lease_seconds_sum{}", labels("workers", ""))] > 0.0);
        let bucket = |bound: &str| {
            let bound = format!(",le=\"{bound}\"");
            samples[&format!("paddlegate_lease_seconds_bucket{}", labels("workers", &bound))]
        };
        let bounds = (0..21).map(|i| bucket(&(f64::from(1 << i) / 1_000.0).to_string())).collect::<Vec<_>>();
        assert!(bounds.is_sorted() && bucket("+Inf") == 3.0, "{bounds:?}");
        // Of a histogram without a count there is only the last bound.
        let none = format!("paddlegate_lease_seconds_bucket{}", labels("shop", ",le=\"0.001\""));
        assert!(!samples.contains_key(&none));
        let units =
            |phase: &str| samples[&format!("paddlegate_units_total{}", labels("shop", &format!(",phase=\"{phase}\"")))];
        assert_eq!((units("estimated"), units("actual")), (400.0, 50.0));
        assert_eq!(samples[&format!("paddlegate_near_limit_total{}", labels("workers", ""))], 3.0, "one at a time");
        assert_eq!(samples[&format!("paddlegate_near_limit_total{}", labels("shop", ""))], 0.0);
    }
}

#[test]
fn names_are_escaped_and_variants_of_a_name_told_apart() {
    let store = Store { url: None, prefix: String::new() };
    let server = Running::with_limits(&store);
    let mut client = server.client();
    let bucket = json!({ "bucket": { "limit": 2, "per": "day" } });
    let mut of_group = bucket.clone();
    of_group["group"] = json!("g");
    for policy in [bucket, of_group] {
        client.post("/v1/limiters/a%22b%5C%0A/acquire", &json!({ "policy": policy })).expect(200);
    }
    client.post("/v1/limiters/per-user/acquire", &json!({ "key": "alice" })).expect(200);
    let samples = samples(&mut client);
    let granted = "paddlegate_requests_total{limiter=";
    assert_eq!(samples[&format!(r#"{granted}"a\"b\\\n",result="granted"}}"#)], 1.0);
    assert_eq!(samples[&format!(r#"{granted}"a\"b\\\n",group="g",result="granted"}}"#)], 1.0);
    assert_eq!(samples[&format!(r#"{granted}"per-user",keyed="true",result="granted"}}"#)], 1.0);
    assert!(!samples.keys().any(|name| name.contains("alice")), "never a key");
}

#[test]
fn a_limiter_whose_limit_changed_its_kind_or_that_is_damaged_hides_no_other() {
    for store in [Store { url: None, prefix: String::new() }, Store::database(1)] {
        let server = store.server();
        let mut client = server.client();
        for kind in ["window", "bucket"] {
            let limits = json!({ "rpm": { kind: { "limit": 5, "per": "minute" } } });
            client.post(&store.path("changed", "/acquire"), &json!({ "policy": { "limits": limits } })).expect(200);
        }
        client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
        let is_damaged = store.url.is_some();
        if is_damaged {
            client.post(&store.path("both", "/acquire"), &json!({})).expect(200);
            let damage = "local keys = redis.call('KEYS', ARGV[1]) \
                for _, key in ipairs(keys) do redis.call('SET', key, 'x') end return #keys";
            let reply = store.command(&["EVAL", damage, "0", &format!("*{}both*", store.prefix)]);
            assert!(reply.starts_with(':') && reply != ":0", "{reply}");
        }
        let samples = samples(&mut client);
        assert_eq!(samples["paddlegate_up"], 1.0);
        for name in ["api", "changed"] {
            let key = format!("paddlegate_requests_total{{limiter=\"{}{name}\",result=\"granted\"}}", store.prefix);
            assert!(samples.contains_key(&key), "{key}");
        }
        for sort in ["name", "granted_minute"] {
            let found = client.get(&format!("/v1/limiters?sort={sort}&prefix={}", store.prefix)).expect(200);
            let used = found["limiters"].as_array().unwrap().iter().filter(|one| one["numbers"]["granted"] != 0);
            assert_eq!(used.count(), 2, "{found}");
        }
        for address in ["", "?sort=used", "?prefix="] {
            let mut page = String::new();
            until("the page is shown", || {
                page = client.get(&format!("/ui/limiters{address}")).text();
                page.contains(" limiters, by ")
            });
        }
        assert_eq!(client.get(&format!("/ui/limiters/{}changed", store.prefix)).status, 200);
    }
}

#[test]
fn a_store_that_is_away_is_told() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let redis = Some(format!("redis://{closed}"));
    let server = Running::start(Options { redis, timeout: Some(Duration::from_millis(100)), ..Options::default() });
    let mut client = server.client();
    assert_eq!(samples(&mut client)["paddlegate_up"], 0.0);
    let policy = json!({ "bucket": { "limit": 1, "per": "day" } });
    client.post("/v1/limiters/a/acquire", &json!({ "policy": policy })).expect(503);
    let after = samples(&mut client);
    assert_eq!(after["paddlegate_server_errors_total"], 1.0);
    assert_eq!(after["paddlegate_store_seconds_count"], 1.0);
    assert_eq!(client.get("/healthz").status, 200);
    assert_eq!(client.get("/readyz").expect(503)["code"], "unavailable");
}

#[test]
fn keys_of_open_job_spec_have_the_metrics_that_it_names() {
    for store in Store::all() {
        let test_clock = Some(Micros(1_700_000_000_000_000));
        let options =
            Options { redis: store.url.clone(), ojs: true, ojs_metrics: true, test_clock, ..Options::default() };
        let server = Running::start(options);
        let mut client = server.client();
        let (key, queue) = (format!("{}stripe", store.prefix), format!("{}mail", store.prefix).replace(':', "-"));
        let limit = json!({ "key": key, "concurrency": 1 });
        let job = json!({ "type": "charge", "args": [], "options": { "queue": queue, "rate_limit": limit } });
        for _ in 0..3 {
            client.post("/ojs/v1/jobs", &job).expect(201);
        }
        let fetch = json!({ "queues": [queue], "count": 3 });
        // The second fetch tells no more of the limit.
        let first = client.post("/ojs/v1/workers/fetch", &fetch).expect(200);
        client.post("/ojs/v1/workers/fetch", &fetch).expect(200);
        advance(&mut client, 3);
        let id = &first["jobs"][0]["id"];
        client.post("/ojs/v1/workers/ack", &json!({ "job_id": id })).expect(200);
        assert_eq!(client.post("/ojs/v1/workers/fetch", &fetch).expect(200)["jobs"].as_array().unwrap().len(), 1);
        let samples = samples(&mut client);
        let get =
            |metric: &str, labels: &str| samples.get(&format!("ojs_rate_limit_{metric}{{key=\"{key}\"{labels}}}"));
        assert_eq!((get("active", ""), get("waiting", "")), (Some(&1.0), Some(&1.0)));
        assert_eq!(get("exceeded_total", ",strategy=\"concurrency\""), Some(&2.0), "before the release and after it");
        assert_eq!(get("wait_duration_seconds_count", ""), Some(&1.0));
        assert_eq!(get("wait_duration_seconds_sum", ""), Some(&3.0));
        assert_eq!(get("wait_duration_seconds_bucket", ",le=\"2.048\""), Some(&0.0));
        assert_eq!(get("wait_duration_seconds_bucket", ",le=\"4.096\""), Some(&1.0));
    }
}

#[test]
fn without_the_switch_there_are_none_of_open_job_spec() {
    let server = Running::start(Options { ojs: true, ..Options::default() });
    let mut client = server.client();
    let limit = json!({ "key": "stripe", "concurrency": 1 });
    client.post("/ojs/v1/jobs", &json!({ "type": "charge", "args": [], "rate_limit": limit })).expect(201);
    assert!(!client.get("/metrics").text().contains("ojs_"));
}
