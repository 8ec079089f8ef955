//! The list of limiters in an order, page by page.

use crate::support;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Client, LIMITS, Running, Store, encoded, file, until};
use paddlegate_server::Options;
use serde_json::{Value, json};

/// Returns the limiters of all pages that were used, without those of the limits file that were not.
fn all(client: &mut Client, query: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/limiters?{query}{cursor}")).expect(200);
        let limiters = page["limiters"].as_array().expect("limiters");
        all.extend(limiters.iter().cloned());
        let Some(next) = page["cursor"].as_str() else {
            all.retain(|one| one["numbers"]["granted"] != 0 || one["numbers"]["refused"] != 0);
            return all;
        };
        assert_eq!(limiters.len(), 100, "a page before the last one is full");
        cursor = format!("&cursor={}", encoded(next));
    }
}

fn names(limiters: &[Value], prefix: &str) -> Vec<String> {
    let name = |one: &Value| one["name"].as_str().expect("a name").trim_start_matches(prefix).to_owned();
    limiters.iter().map(name).collect()
}

#[test]
fn each_order_puts_the_most_first_and_says_the_numbers() {
    for store in Store::all() {
        // No minute ends meanwhile.
        let (limits, test_clock) = (Some(store.limits()), Some(paddlegate::Micros(1_800_000_000_000_000)));
        let server = Running::start(Options { redis: store.url.clone(), limits, test_clock, ..Options::default() });
        let (mut client, mut waiter) = (server.client(), server.client());
        for (name, calls) in [("api", 7), ("shop", 3), ("both", 1), ("workers", 2)] {
            for _ in 0..calls {
                client.post(&store.path(name, "/acquire"), &json!({ "cost": 1 })).expect(200);
            }
        }
        client.post(&store.path("per-user", "/acquire"), &json!({ "key": "alice" })).expect(200);
        waiter.send("POST", &store.path("workers", "/acquire"), Some(&json!({ "wait_timeout": 200 })));
        let expected = [
            ("name", vec!["api", "both", "per-user", "shop", "workers"]),
            ("granted", vec!["api", "shop", "both", "per-user", "workers"]),
            ("refused", vec!["api", "workers", "both", "per-user", "shop"]),
            ("waiting", vec!["workers", "api", "both", "shop", "per-user"]),
            ("oldest_wait", vec!["workers", "api", "both", "shop", "per-user"]),
            ("used", vec!["api", "workers", "both", "shop", "per-user"]),
        ];
        for (sort, expected) in expected {
            let query = format!("sort={sort}&prefix={}", store.prefix);
            // What is sorted is read from time to time.
            until(&format!("{sort}: {expected:?}"), || {
                let found = all(&mut client, &query);
                names(&found, &store.prefix) == expected && found[expected.len() - 1]["numbers"].is_object()
            });
        }
        support::advance(&mut client, 1);
        let mut found = Vec::new();
        until("the wait is known", || {
            found = all(&mut client, &format!("sort=name&prefix={}", store.prefix));
            found[4]["numbers"]["oldest_wait"].as_f64().is_some_and(|waited| waited > 0.0)
        });
        assert_eq!(
            found[0]["numbers"],
            json!({ "granted": 5, "refused": 2, "granted_minute": 0, "refused_minute": 0, "waiting": 0, "oldest_wait": 0.0, "used": 1.0 })
        );
        assert_eq!(
            found[2]["numbers"],
            json!({ "granted": 1, "refused": 0, "granted_minute": 0, "refused_minute": 0, "waiting": null, "oldest_wait": null, "used": null })
        );
        assert_eq!(found[4]["numbers"]["waiting"], 1);
        let (sorted, plain) = (
            client.get("/v1/limiters?sort=last_used").expect(200),
            client.get(&format!("/v1/limiters?prefix={}", store.prefix)).expect(200),
        );
        assert!(sorted["read_at"].as_f64().is_some_and(|at| at > 1.6e9), "{sorted}");
        assert_eq!((&plain["read_at"], &plain["limiters"][0]["numbers"]), (&Value::Null, &Value::Null));
        let used: Vec<f64> =
            sorted["limiters"].as_array().unwrap().iter().map(|one| one["last_used"].as_f64().unwrap_or(0.0)).collect();
        assert!(used.is_sorted_by(|a, b| a >= b), "{used:?}");
    }
}

#[test]
fn the_last_full_minute_puts_those_of_now_first() {
    for store in [Store { url: None, prefix: String::new() }, Store::redis()] {
        let start = 1_800_000_000_000_000;
        let limits = Some(store.limits());
        let test_clock = Some(paddlegate::Micros(start));
        let server = Running::start(Options { redis: store.url.clone(), limits, test_clock, ..Options::default() });
        let mut client = server.client();
        for (name, calls) in [("api", 7), ("both", 4), ("shop", 2)] {
            for _ in 0..calls {
                client.post(&store.path(name, "/acquire"), &json!({ "cost": 1 })).expect(200);
            }
        }
        // The first call of a later minute ends the minutes before in the store.
        support::advance(&mut client, 61);
        client.post(&store.path("shop", "/acquire"), &json!({ "cost": 1 })).expect(200);
        let expected = [
            ("granted_minute", vec!["api", "both", "shop"], [5, 3, 2]),
            ("refused_minute", vec!["api", "both", "shop"], [2, 1, 0]),
        ];
        for (sort, names_of, counts) in expected {
            until(sort, || {
                let found = all(&mut client, &format!("sort={sort}&prefix={}", store.prefix));
                let of = found.iter().map(|one| one["numbers"][sort].as_u64().unwrap()).collect::<Vec<_>>();
                names(&found, &store.prefix) == names_of && of == counts
            });
        }
        support::advance(&mut client, 3_600);
        until("an hour later it is over", || {
            let found = all(&mut client, &format!("sort=granted_minute&prefix={}", store.prefix));
            found.len() == 3 && found.iter().all(|one| one["numbers"]["granted_minute"] == 0)
        });
    }
}

#[test]
fn pages_have_each_limiter_once_in_the_order() {
    let store = Store { url: None, prefix: String::new() };
    let server = Running::with_limits(&store);
    let mut client = server.client();
    let policy = json!({ "bucket": { "limit": 9, "per": "day" } });
    for i in 0..350 {
        for _ in 0..=(i % 3) {
            client.post(&format!("/v1/limiters/c{i:03}/acquire"), &json!({ "policy": policy })).expect(200);
        }
    }
    for sort in ["name", "last_used", "granted", "refused", "waiting", "used"] {
        until("all are known", || all(&mut client, &format!("sort={sort}&prefix=c")).len() == 350);
        let found = all(&mut client, &format!("sort={sort}&prefix=c"));
        assert_eq!(names(&found, "").into_iter().collect::<BTreeSet<_>>().len(), 350, "{sort}");
        let order: Vec<(i64, String)> = found
            .iter()
            .zip(names(&found, ""))
            .map(|(one, name)| (if sort == "granted" { -one["numbers"]["granted"].as_i64().unwrap() } else { 0 }, name))
            .collect();
        if sort != "used" {
            assert!(order.is_sorted(), "{sort}: {order:?}");
        }
        let used: Vec<f64> = found.iter().map(|one| one["numbers"]["used"].as_f64().unwrap()).collect();
        assert!(sort != "used" || used.is_sorted_by(|a, b| a >= b), "{used:?}");
    }
    assert_eq!(all(&mut client, "sort=granted&prefix=nobody"), Vec::<Value>::new());
}

#[test]
fn a_wrong_order_or_the_cursor_of_another_is_named() {
    let store = Store { url: None, prefix: String::new() };
    let server = Running::with_limits(&store);
    let mut client = server.client();
    let policy = json!({ "bucket": { "limit": 9, "per": "day" } });
    for i in 0..120 {
        client.post(&format!("/v1/limiters/c{i}/acquire"), &json!({ "policy": policy })).expect(200);
    }
    for wrong in ["", "size", "Name", "name,used", "granted%20"] {
        let problem = client.get(&format!("/v1/limiters?sort={wrong}")).expect(400);
        assert_eq!((&problem["code"], &problem["argument"]), (&json!("invalid"), &json!("sort")), "{problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(
                "name, last_used, granted, refused, granted_minute, refused_minute, waiting, oldest_wait, used"
            )
        );
    }
    let mut cursor = Value::Null;
    until("there are two pages", || {
        cursor = client.get("/v1/limiters?sort=granted").expect(200)["cursor"].clone();
        cursor.is_string()
    });
    let cursor = encoded(cursor.as_str().unwrap());
    client.get(&format!("/v1/limiters?sort=granted&cursor={cursor}")).expect(200);
    for wrong in
        [format!("sort=refused&cursor={cursor}"), format!("cursor={cursor}"), "sort=name&cursor=AAAA".to_owned()]
    {
        let problem = client.get(&format!("/v1/limiters?{wrong}")).expect(400);
        assert_eq!(problem["argument"], "cursor", "{problem}");
    }
}

#[test]
fn a_token_sees_its_own_names_and_its_pages_are_full() {
    // `reader` reads names that begin with `a`, `secret` does everything.
    let tokens = file(
        r#"{"tokens": [
        {"name": "root", "sha256": "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
         "read": [""], "decide": [""], "operate": [""]},
        {"name": "reader", "sha256": "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30", "read": ["a"]}
    ]}"#,
    );
    let server = Running::start(Options {
        limits: Some(file(LIMITS)),
        tokens: Some(tokens),
        timeout: Some(Duration::from_secs(60)),
        ..Options::default()
    });
    let mut root = server.client().with("authorization", "Bearer secret");
    let mut reader = server.client().with("authorization", "Bearer reader");
    let policy = json!({ "bucket": { "limit": 9, "per": "day" } });
    for name in (0..150).flat_map(|i| [format!("a{i}"), format!("b{i}")]) {
        root.post(&format!("/v1/limiters/{name}/acquire"), &json!({ "policy": policy })).expect(200);
    }
    until("all are known", || all(&mut root, "sort=granted").len() == 300);
    let found = all(&mut reader, "sort=granted");
    assert_eq!(found.len(), 150);
    assert!(names(&found, "").iter().all(|name| name.starts_with('a')));
    for address in ["/ui/limiters", "/ui/limiters?sort=used"] {
        let mut page = String::new();
        until("the page has its order", || {
            page = reader.get(address).text();
            !page.contains("role=\"status\"") && page.contains(" limiters, by ")
        });
        assert!(page.contains("/ui/limiters/a1\"") && !page.contains("/ui/limiters/b"), "{page}");
        // The limits file has `api` too.
        assert!(page.contains("151 limiters, by ") && !page.contains("300"), "{page}");
    }
}
