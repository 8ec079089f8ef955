//! What an operator sees and changes, on both stores, and what a new limits file does.

use crate::support;
use crate::support::{Running, Store, file};
use paddlegate_server::Options;
use serde_json::json;

#[test]
fn the_list_has_the_limiters_of_all_programs() {
    let store = Store::redis();
    let server = store.server();
    let mut client = server.client();
    client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
    let pg = paddlegate::Paddlegate::open(store.url.as_deref().unwrap(), None).unwrap();
    let other = pg.window(&format!("{}other", store.prefix), 3, std::time::Duration::from_secs(60)).unwrap();
    other.try_acquire(paddlegate::Request::cost(1)).unwrap();
    let page = client.get(&format!("/v1/limiters?prefix={}", store.prefix)).expect(200);
    let names: Vec<&str> =
        page["limiters"].as_array().unwrap().iter().map(|limiter| limiter["name"].as_str().unwrap()).collect();
    let all = ["api", "both", "mail", "other", "per-user", "shop", "workers"];
    assert_eq!(names, all.map(|name| format!("{}{name}", store.prefix)));
    let used = page["limiters"].as_array().unwrap().iter().filter(|limiter| limiter["last_used"] != json!(null));
    assert_eq!(used.count(), 2, "the others are of the limits file alone");
    assert_eq!(page["cursor"], json!(null));
    let looked = client.get(&store.path("other", "")).expect(200);
    assert_eq!((&looked["limits"][0]["limit"], &looked["limits"][0]["taken"]), (&json!(3), &json!(1)));
    assert_eq!(client.get("/v1/limiters?cursor=x").expect(400)["argument"], "cursor");
    assert_eq!(client.get("/v1/limiters?prefixes=x").expect(400)["argument"], "query");
}

#[test]
fn a_pause_before_any_use_is_in_the_list() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        // That of another server has no file.
        let other = Running::start(Options { redis: store.url.clone(), ..Options::default() });
        let listed = || {
            let server = if store.url.is_some() { &other } else { &server };
            let page = server.client().get(&format!("/v1/limiters?prefix={}", store.prefix)).expect(200);
            page["limiters"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>()
        };
        client.get(&store.path("api", "")).expect(200);
        if store.url.is_some() {
            assert_eq!(listed(), [json!(null); 0], "a look is no use");
        }
        client.put(&store.path("api", "/pause"), &json!({ "expires_in": "1h", "reason": "a test" })).expect(200);
        client.put(&store.path("shop", "/override"), &json!({ "limit": 7, "expires_in": "1h" })).expect(200);
        client.put(&store.path("mail", "/mode"), &json!({ "mode": "shadow", "expires_in": "1h" })).expect(200);
        let names = ["api", "mail", "shop"].map(|name| json!(format!("{}{name}", store.prefix)));
        assert!(names.iter().all(|name| listed().contains(name)));
        assert_eq!(listed().len(), if store.url.is_some() { 3 } else { 6 });
        let page = client.get(&format!("/ui/limiters?prefix={}", store.prefix)).text();
        for mark in ["paused for 59 min", "override", "shadow"] {
            assert!(page.contains(mark), "{mark}: {page}");
        }
    }
}

#[test]
fn a_limits_file_shows_its_limiters_before_the_first_call() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let page = client.get(&format!("/ui/limiters?prefix={}", store.prefix)).text();
        for text in ["6 limiters", "bucket 2 per d"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        let sorted = client.get(&format!("/v1/limiters?sort=used&prefix={}", store.prefix)).expect(200);
        assert_eq!(sorted["limiters"].as_array().unwrap().len(), 6);
        client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
        let listed = client.get(&format!("/v1/limiters?prefix={}", store.prefix)).expect(200);
        assert_eq!(listed["limiters"].as_array().unwrap().len(), 6, "each once");
    }
}

#[test]
fn a_prefix_is_paused_and_overridden_page_by_page() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let operate = |client: &mut support::Client, change: serde_json::Value| {
            let mut body = change;
            body["prefix"] = json!(store.prefix);
            body["reason"] = json!("a test");
            client.post("/v1/operate", &body).expect(200)
        };
        let names = |answer: &serde_json::Value, part: &str| {
            let all = answer[part].as_array().unwrap().iter();
            all.map(|one| one["name"].as_str().unwrap()[store.prefix.len()..].to_owned()).collect::<Vec<_>>()
        };
        let paused = operate(&mut client, json!({ "pause": { "expires_in": "1h" } }));
        assert_eq!(names(&paused, "changed"), ["api", "both", "mail", "shop", "workers"]);
        assert_eq!((names(&paused, "unchanged"), &paused["cursor"]), (vec!["per-user".to_owned()], &json!(null)));
        assert_eq!(paused["unchanged"][0]["problem"]["argument"], "key");
        assert_eq!(client.post(&store.path("mail", "/peek"), &json!({})).expect(200)["reason"], "paused");
        operate(&mut client, json!({ "resume": true }));
        assert_eq!(client.post(&store.path("mail", "/peek"), &json!({})).expect(200)["allowed"], true);
        let set = operate(&mut client, json!({ "override": { "label": "bucket", "limit": 3, "expires_in": "1h" } }));
        assert_eq!(names(&set, "changed"), ["api"], "the others have no such limit: {set}");
        operate(&mut client, json!({ "restore": true }));
        assert_eq!(client.post(&store.path("api", "/peek"), &json!({})).expect(200)["limit"], 5);
        for (body, argument) in [
            (json!({ "prefix": "", "resume": true }), "prefix"),
            (json!({ "prefix": "x" }), "body"),
            (json!({ "prefix": "x", "resume": true, "restore": true }), "body"),
            (json!({ "prefix": "x", "pause": { "expires_in": "1h", "key": "k" } }), "pause"),
        ] {
            assert_eq!(client.post("/v1/operate", &body).expect(400)["argument"], argument);
        }
    }
}

#[test]
fn all_keys_of_a_limiter_are_changed() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let name = format!("{}per-user", store.prefix);
        let call = |client: &mut support::Client, key: &str, verb: &str| {
            client.post(&store.path("per-user", verb), &json!({ "key": key })).expect(200)
        };
        let operate = |client: &mut support::Client, change: serde_json::Value| {
            let (mut body, mut keys) = (change, std::collections::BTreeSet::new());
            body["name"] = json!(name);
            body["all_keys"] = json!(true);
            loop {
                let answer = client.post("/v1/operate", &body).expect(200);
                assert_eq!(answer["unchanged"], json!([]), "{answer}");
                let changed = answer["changed"].as_array().unwrap().iter();
                keys.extend(changed.map(|one| one["key"].as_str().unwrap().to_owned()));
                body["cursor"] = answer["cursor"].clone();
                if body["cursor"].is_null() {
                    return keys;
                }
            }
        };
        let users = ["ada", "bob", "eve"];
        for user in users {
            call(&mut client, user, "/acquire");
        }
        let reason = "a test of all keys";
        assert!(operate(&mut client, json!({ "pause": { "expires_in": "1h" }, "reason": reason })).iter().eq(users));
        assert_eq!(call(&mut client, "eve", "/peek")["reason"], "paused");
        assert_eq!(call(&mut client, "new", "/peek")["allowed"], true, "it has no state yet");
        let log = client.get("/v1/audit").expect(200);
        let entries = log["entries"].as_array().unwrap().iter();
        let own: Vec<_> = entries.filter(|entry| entry["limiter"] == json!(name)).map(|entry| &entry["what"]).collect();
        assert_eq!(own, [&json!("pause expires_in=3600, all keys")]);
        operate(&mut client, json!({ "resume": true }));
        assert_ne!(call(&mut client, "eve", "/peek")["reason"], "paused");
        let before = call(&mut client, "ada", "/peek")["remaining"].as_u64().unwrap();
        assert!(operate(&mut client, json!({ "reset": true })).iter().eq(users));
        assert!(call(&mut client, "ada", "/peek")["remaining"].as_u64().unwrap() > before);
        let all = format!("{}api", store.prefix);
        client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
        for (body, argument) in [
            (json!({ "name": all, "all_keys": true, "reset": true }), "all_keys"),
            (json!({ "name": name, "reset": true }), "prefix"),
            (json!({ "prefix": "x", "all_keys": true, "resume": true }), "prefix"),
            (json!({ "prefix": "x", "reset": true }), "reset"),
            (json!({ "prefix": "x", "group": "g", "resume": true }), "group"),
            (json!({ "name": name, "all_keys": true, "resume": true, "reset": true }), "body"),
            (json!({ "name": name, "all_keys": true, "resume": true, "cursor": "x" }), "cursor"),
        ] {
            assert_eq!(client.post("/v1/operate", &body).expect(400)["argument"], argument, "{body}");
        }
    }
}

#[test]
fn pages_add_up_to_the_whole_list() {
    let store = Store::redis();
    let server = store.server();
    let pg = paddlegate::Paddlegate::open(store.url.as_deref().unwrap(), None).unwrap();
    let of_file = ["api", "both", "mail", "per-user", "shop", "workers"].map(|name| format!("{}{name}", store.prefix));
    let mut names: Vec<String> = (0..1_000).map(|i| format!("{}n{i:04}", store.prefix)).collect();
    for name in &names {
        let limiter = pg.window(name, 3, std::time::Duration::from_secs(60)).unwrap();
        limiter.try_acquire(paddlegate::Request::cost(1)).unwrap();
    }
    let (mut client, mut seen, mut cursor) = (server.client(), Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/limiters?prefix={}{cursor}", store.prefix)).expect(200);
        let page_names = page["limiters"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
        seen.extend(page_names);
        let Some(next) = page["cursor"].as_str() else { break };
        let encoded = support::encoded(next);
        cursor = format!("&cursor={encoded}");
    }
    seen.sort();
    let count = seen.len();
    seen.dedup();
    names.extend(of_file);
    names.sort();
    assert_eq!(seen, names);
    assert!(count >= 1_006);
}

#[test]
fn a_pause_and_an_override_hold_until_they_are_removed() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let (acquire, peek) = (store.path("api", "/acquire"), store.path("api", "/peek"));
        client.post(&acquire, &json!({})).expect(200);

        let pause = json!({ "expires_in": "1h", "reason": "the upstream is down" });
        let paused = client.put(&store.path("api", "/pause"), &pause).expect(200);
        assert_eq!(paused["paused_for"], 3600.0);
        assert_eq!(client.post(&acquire, &json!({})).expect(200)["reason"], "paused");
        let looked = client.get(&store.path("api", "")).expect(200);
        assert!(looked["paused_for"].as_f64().unwrap() > 3000.0);
        assert_eq!(client.delete(&store.path("api", "/pause")).expect(200)["paused_for"], json!(null));
        assert_eq!(client.post(&acquire, &json!({})).expect(200)["allowed"], true);

        let lower = json!({ "limit": 3, "expires_in": 3600 });
        let overridden = client.put(&store.path("api", "/override"), &lower).expect(200);
        assert_eq!(
            (&overridden["overrides"]["bucket"]["amount"], &overridden["expires_in"]),
            (&json!(3), &json!(3600.0))
        );
        assert_eq!(client.post(&peek, &json!({})).expect(200)["remaining"], 1);
        let looked = client.get(&store.path("api", "")).expect(200);
        assert_eq!(looked["limits"][0]["source"], "override");
        let whole = json!({ "limits": { "bucket": { "bucket": { "limit": 4, "per": "day" } } } });
        client.put(&store.path("api", "/override"), &whole).expect(200);
        assert_eq!(client.post(&peek, &json!({})).expect(200)["remaining"], 2);
        assert_eq!(client.delete(&store.path("api", "/override")).expect(200)["overrides"], json!({}));
        assert_eq!(client.post(&peek, &json!({})).expect(200)["remaining"], 3);

        client.put(&store.path("api", "/mode"), &json!({ "mode": "shadow" })).expect(200);
        let in_shadow = client.post(&acquire, &json!({ "cost": 5 })).expect(200);
        assert_eq!((&in_shadow["allowed"], &in_shadow["would_refuse"]), (&json!(true), &json!("bucket")));
        client.delete(&store.path("api", "/mode")).expect(200);
        assert_eq!(client.post(&acquire, &json!({ "cost": 5 })).expect(200)["allowed"], false);

        client.post(&store.path("api", "/reset"), &json!({ "reason": "a new day" })).expect(200);
        assert_eq!(client.post(&peek, &json!({})).expect(200)["remaining"], 5);

        let log = entries(&mut client, &store, "");
        let what: Vec<&str> = log.iter().map(|it| it["what"].as_str().unwrap()).collect();
        assert_eq!(
            what,
            [
                "pause expires_in=3600",
                "resume",
                "override limit=3 expires_in=3600",
                "override bucket=4 without an end",
                "restore",
                "mode shadow without an end",
                "restore mode",
                "reset",
            ]
        );
        assert_eq!(log[0]["reason"], "the upstream is down");
        let last_but_one = log[6]["id"].as_str().unwrap();
        assert_eq!(entries(&mut client, &store, &format!("?after={last_but_one}")), log[7..]);
        for wrong in ["x", "1-2-3", "-1", "1-", "9999999999999999"] {
            assert_eq!(client.get(&format!("/v1/audit?after={wrong}")).expect(400)["argument"], "after", "{wrong}");
        }
    }
}

#[test]
fn a_change_of_an_old_version_changes_nothing() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
        let seen = client.get(&store.path("api", ""));
        let tag = seen.header("etag").unwrap().to_owned();
        let lower = json!({ "limit": 3 });
        let changed = server.client().with("if-match", &tag).put(&store.path("api", "/override"), &lower);
        changed.expect(200);
        let old = server.client().with("if-match", &tag).put(&store.path("api", "/override"), &json!({ "limit": 2 }));
        assert_eq!(old.expect(412)["code"], "changed");
        assert_eq!(client.post(&store.path("api", "/peek"), &json!({})).expect(200)["limit"], 3);
        let tag = changed.header("etag").unwrap();
        server.client().with("if-match", tag).put(&store.path("api", "/override"), &json!({ "limit": 2 })).expect(200);
    }
}

#[test]
fn a_wrong_change_names_its_argument() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        for (path, body, argument) in [
            ("/pause", json!({}), "expires_in"),
            ("/pause", json!({ "expires_in": 0 }), "expires_in"),
            ("/pause", json!({ "expires_in": 1, "expires_at": 1 }), "expires_at"),
            ("/override", json!({}), "limit"),
            ("/override", json!({ "limit": 0 }), "limit"),
            ("/override", json!({ "limit": 1, "label": "other" }), "label"),
            ("/override", json!({ "limits": {} }), "limits"),
            ("/override", json!({ "limits": { "a": { "window": {} } } }), "limits.a.window.limit"),
            ("/override", json!({ "limit": 1, "limits": {} }), "limits"),
            ("/mode", json!({ "mode": "other" }), "mode"),
            ("/pause", json!({ "expires_at": 1 }), "expires_at"),
            ("/override", json!({ "limit": 1, "expires_at": 1 }), "expires_at"),
            ("/mode", json!({ "mode": "shadow", "expires_at": 1 }), "expires_at"),
            ("/pause", json!({ "expires_in": 1, "reason": "x".repeat(501) }), "reason"),
        ] {
            let problem = client.put(&store.path("api", path), &body).expect(400);
            assert_eq!(problem["argument"], argument, "{path} {body} {problem}");
        }
        assert_eq!(client.get(&store.path("api", "")).expect(200)["state"]["version"], 0);
        assert_eq!(entries(&mut client, &store, ""), Vec::<serde_json::Value>::new(), "nothing was changed");
        assert_eq!(
            client.put(&store.path("nobody", "/pause"), &json!({ "expires_in": 1 })).expect(404)["code"],
            "not_found"
        );
    }
}

#[test]
fn a_new_limits_file_is_in_force_after_a_reload_and_a_wrong_one_is_not() {
    let path = file(r#"{"limiters": {"a": {"bucket": {"limit": 2, "per": "day"}}}}"#);
    let server = Running::start(paddlegate_server::Options { limits: Some(path.clone()), ..Default::default() });
    let mut client = server.client();
    assert_eq!(client.post("/v1/limiters/a/acquire", &json!({})).expect(200)["remaining"], 1);
    std::fs::write(&path, r#"{"limiters": {"a": {"bucket": {"limit": 9, "per": "day"}}, "b": {"unlimited": true}}}"#)
        .unwrap();
    server.app.reload().unwrap();
    assert_eq!(client.post("/v1/limiters/a/acquire", &json!({})).expect(200)["remaining"], 7, "its state stays");
    client.post("/v1/limiters/b/acquire", &json!({})).expect(200);
    std::fs::write(&path, r#"{"limiters": {"a": {"bucket": {"limit": 9, "per": "year"}}}}"#).unwrap();
    let failure = server.app.reload().unwrap_err().to_string();
    assert!(failure.contains("at $.limiters.a.bucket.per"), "{failure}");
    assert!(failure.starts_with(&path.display().to_string()), "{failure}");
    assert_eq!(client.post("/v1/limiters/a/acquire", &json!({})).expect(200)["remaining"], 6);
    client.post("/v1/limiters/b/acquire", &json!({})).expect(200);
}

/// Returns the entries of the log that are of this test.
fn entries(client: &mut support::Client, store: &Store, query: &str) -> Vec<serde_json::Value> {
    let log = client.get(&format!("/v1/audit{query}")).expect(200);
    let is_own = |entry: &&serde_json::Value| entry["limiter"].as_str().unwrap().starts_with(&store.prefix);
    log["entries"].as_array().unwrap().iter().filter(is_own).cloned().collect()
}

/// Reads the next event that is of this test: its id and what it tells.
#[allow(clippy::disallowed_methods, reason = "a test waits for a server")]
fn next_event(reader: &mut support::Client, store: &Store) -> (String, String) {
    let (mut id, begun) = (String::new(), std::time::Instant::now());
    loop {
        let line = reader.line().expect("a line");
        // A stream without events has comments.
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "still no event");
        if let Some(given) = line.strip_prefix("id: ") {
            given.clone_into(&mut id);
        }
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let entry: serde_json::Value = serde_json::from_str(data).unwrap();
        if entry["limiter"].as_str().unwrap().starts_with(&store.prefix) {
            return (id, entry["what"].as_str().unwrap().to_owned());
        }
    }
}

#[test]
fn events_tell_of_changes_and_go_on_where_a_reader_was() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
        let pause = |client: &mut support::Client, seconds: u64| {
            client.put(&store.path("api", "/pause"), &json!({ "expires_in": seconds })).expect(200);
        };
        pause(&mut client, 1);
        let mut reader = server.client().with("last-event-id", "0");
        reader.send("GET", "/v1/events", None);
        let (first, what) = next_event(&mut reader, &store);
        assert_eq!(what, "pause expires_in=1");
        pause(&mut client, 2);
        assert_eq!(next_event(&mut reader, &store).1, "pause expires_in=2");
        let mut later = server.client().with("last-event-id", &first);
        later.send("GET", "/v1/events", None);
        assert_eq!(next_event(&mut later, &store).1, "pause expires_in=2");
    }
}

#[test]
fn a_reader_that_comes_back_after_a_new_start_is_told_what_is_new() {
    let store = Store { url: None, prefix: String::new() };
    let pause = |client: &mut support::Client, seconds: u64| {
        client.put("/v1/limiters/api/pause", &json!({ "expires_in": seconds })).expect(200);
    };
    let before = store.server();
    let mut client = before.client();
    for seconds in 1..4 {
        pause(&mut client, seconds);
    }
    let last = entries(&mut client, &store, "").pop().expect("a change")["id"].clone();
    drop(client);
    drop(before);
    let server = store.server();
    let mut reader = server.client().with("last-event-id", last.as_str().expect("an id"));
    reader.send("GET", "/v1/events", None);
    assert_eq!(reader.line().as_deref(), Some("HTTP/1.1 200 OK"), "it listens");
    pause(&mut server.client(), 9);
    pause(&mut server.client(), 10);
    assert_eq!(next_event(&mut reader, &store).1, "pause expires_in=9");
}

#[test]
fn of_a_name_in_several_groups_the_group_says_which_is_changed() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let plain = json!({ "bucket": { "limit": 5, "per": "day" } });
        let mut of_group = plain.clone();
        of_group["group"] = json!("a/b");
        for policy in [&plain, &of_group] {
            client.post(&store.path("two", "/acquire"), &json!({ "policy": policy })).expect(200);
        }
        client.post(&store.path("two", "/acquire"), &json!({ "policy": of_group, "cost": 2 })).expect(200);
        let pause = json!({ "expires_in": 60, "reason": "a test" });
        // Nobody knows which is meant.
        for path in ["", "/statistics", "/history", "/samples"] {
            assert_eq!(client.get(&store.path("two", path)).expect(400)["argument"], "group", "{path}");
        }
        let problem = client.put(&store.path("two", "/pause"), &pause).expect(400);
        assert_eq!(problem["argument"], "group");
        assert!(problem["detail"].as_str().unwrap().contains(r#""", "a/b""#), "{problem}");
        for path in ["/pause", "/override", "/mode"] {
            assert_eq!(client.delete(&store.path("two", path)).expect(400)["argument"], "group", "{path}");
        }
        assert_eq!(client.post(&store.path("two", "/reset"), &json!({})).expect(400)["argument"], "group");
        let wrong = client.get(&store.path("two", "?group=c")).expect(400);
        assert_eq!(wrong["argument"], "group");

        let is_paused = |client: &mut support::Client, group: &str| {
            client.get(&store.path("two", &format!("?group={group}"))).expect(200)["paused_for"].is_number()
        };
        client.put(&store.path("two", "/pause?group=a%2Fb"), &pause).expect(200);
        assert_eq!((is_paused(&mut client, "a%2Fb"), is_paused(&mut client, "")), (true, false));
        client.delete(&store.path("two", "/pause?group=a%2Fb")).expect(200);
        client.put(&store.path("two", "/pause?group="), &pause).expect(200);
        assert_eq!((is_paused(&mut client, "a%2Fb"), is_paused(&mut client, "")), (false, true));
        let granted = |client: &mut support::Client, group: &str| {
            client.get(&store.path("two", &format!("/statistics?group={group}"))).expect(200)["granted"].clone()
        };
        assert_eq!((granted(&mut client, "a%2Fb"), granted(&mut client, "")), (json!(2), json!(1)));

        // Each row leads to its own page, and the forms of a page change the limiter that it shows.
        let address = format!("/ui/limiters/{}two", support::form_encoded(&store.prefix));
        let list = client.get(&format!("/ui/limiters?prefix={}", store.prefix)).text();
        for link in [format!("\"{address}\""), format!("\"{address}?group=a%2Fb\"")] {
            assert!(list.contains(&link), "{link}: {list}");
        }
        let page = client.get(&format!("{address}?group=a%2Fb")).text();
        assert!(page.contains("Of the group a/b.") && page.contains(r#"name="group" value="a/b""#), "{page}");
        assert!(!page.contains("Paused for"), "{page}");
        let plain = client.get(&address).text();
        assert!(plain.contains("Paused for") && plain.contains(r#"name="group" value="""#), "{plain}");
    }
}

#[test]
fn a_page_without_a_group_is_of_the_limiter_without_one_also_beside_one_of_the_file() {
    for store in Store::all() {
        let name = format!("{}two", store.prefix);
        let policy = json!({ "bucket": { "limit": 5, "per": "day" }, "group": "g" });
        let limits = Some(file(&json!({ "limiters": { &name: policy } }).to_string()));
        let options =
            paddlegate_server::Options { redis: store.url.clone(), limits, ..paddlegate_server::Options::default() };
        let server = Running::start(options);
        let mut client = server.client();
        let address = format!("/ui/limiters/{}two", support::form_encoded(&store.prefix));
        let is_of_group = |client: &mut support::Client, query: &str| {
            client.get(&format!("{address}{query}")).text().contains("Of the group g.")
        };
        client.post(&store.path("two", "/acquire"), &json!({})).expect(200);
        assert!(is_of_group(&mut client, ""), "there is no other");
        let plain = json!({ "bucket": { "limit": 5, "per": "day" } });
        client.post(&store.path("two", "/acquire"), &json!({ "policy": plain })).expect(200);
        assert!(!is_of_group(&mut client, "") && is_of_group(&mut client, "?group=g"));
    }
}

#[test]
fn servers_on_one_redis_have_one_log_which_outlives_them() {
    let store = Store::redis();
    let (one, other) = (store.server(), store.server());
    let (mut client, mut elsewhere) = (one.client(), other.client());
    client.post(&store.path("api", "/acquire"), &json!({})).expect(200);
    let mut reader = other.client();
    reader.send("GET", "/v1/events", None);
    assert_eq!(reader.line().as_deref(), Some("HTTP/1.1 200 OK"), "it listens");
    let pause = |client: &mut support::Client, seconds: u64| {
        client.put(&store.path("api", "/pause"), &json!({ "expires_in": seconds })).expect(200);
    };
    pause(&mut client, 1);
    let (first, what) = next_event(&mut reader, &store);
    assert_eq!(what, "pause expires_in=1");
    pause(&mut elsewhere, 2);
    pause(&mut client, 3);
    assert_eq!(next_event(&mut reader, &store).1, "pause expires_in=2");
    assert_eq!(next_event(&mut reader, &store).1, "pause expires_in=3");
    let told = entries(&mut client, &store, "");
    assert_eq!(told.len(), 3);
    assert_eq!(entries(&mut elsewhere, &store, ""), told);
    drop((client, elsewhere, reader));
    drop((one, other));
    let again = store.server();
    assert_eq!(entries(&mut again.client(), &store, ""), told);
    // A reader that comes back to another server goes on where it was.
    let mut reader = again.client().with("last-event-id", &first);
    reader.send("GET", "/v1/events", None);
    assert_eq!(next_event(&mut reader, &store).1, "pause expires_in=2");
}

#[test]
fn of_changes_at_once_that_have_seen_one_version_one_is_made() {
    for store in Store::all() {
        let servers = [store.server(), store.server()];
        // In memory each server has limits of its own.
        let servers = if store.url.is_some() { &servers[..] } else { &servers[..1] };
        servers[0].client().post(&store.path("api", "/acquire"), &json!({})).expect(200);
        for round in 0..20_u64 {
            let tag = servers[0].client().get(&store.path("api", "")).header("etag").unwrap().to_owned();
            let start = std::sync::Barrier::new(4);
            let statuses: Vec<u16> = std::thread::scope(|scope| {
                let start_change = |i: usize| {
                    let (tag, start, store) = (&tag, &start, &store);
                    let server = &servers[i % servers.len()];
                    scope.spawn(move || {
                        let mut client = server.client().with("if-match", tag);
                        start.wait();
                        // A reset of a limiter without overrides leaves it without: its version stays 0.
                        if i == 3 && *tag != "\"0\"" {
                            client.post(&store.path("api", "/reset"), &json!({})).status
                        } else {
                            client.put(&store.path("api", "/override"), &json!({ "limit": 100 + i })).status
                        }
                    })
                };
                let made: Vec<_> = (0..4).map(start_change).collect();
                made.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let done = statuses.iter().filter(|status| **status == 200).count();
            assert_eq!(
                (done, statuses.iter().filter(|status| **status == 412).count()),
                (1, 3),
                "{round} {statuses:?}"
            );
        }
    }
}
