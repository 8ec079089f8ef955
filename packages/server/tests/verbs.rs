//! The verbs over HTTP, on both stores.

use crate::support;
use crate::support::{Store, unique};
use serde_json::{Value, json};

#[test]
fn a_call_is_granted_until_the_limit_and_then_refused() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("api", "/acquire");
        let first = client.post(&acquire, &json!({ "cost": 4 })).expect(200);
        assert_eq!((&first["allowed"], &first["remaining"], &first["limit"]), (&json!(true), &json!(1), &json!(5)));
        let refused = client.post(&acquire, &json!({ "cost": 2 })).expect(200);
        assert_eq!((&refused["allowed"], &refused["reason"]), (&json!(false), &json!("bucket")), "{}", store.name());
        assert!(refused["retry_after"].as_f64().unwrap() > 0.0);
        let last = client.post(&acquire, &json!({})).expect(200);
        assert_eq!(last["remaining"], 0, "the refused call has taken nothing");
    }
}

#[test]
fn a_body_is_not_needed() {
    let store = Store::redis();
    let server = store.server();
    let mut client = server.client();
    client.send("POST", &store.path("api", "/acquire"), None);
    assert_eq!(client.receive().expect(200)["remaining"], 4);
}

#[test]
fn a_refusal_may_be_a_status() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("api", "/acquire?refusal=429");
        let name = format!("{}api", store.prefix);
        let granted = client.post(&acquire, &json!({ "cost": 5 }));
        assert_eq!(granted.expect(200)["limits"], json!([]), "not asked for");
        let policy = format!("\"{name}\";q=5;w=86400");
        assert_eq!(granted.header("ratelimit-policy"), Some(policy.as_str()));
        assert!(granted.header("ratelimit").unwrap().starts_with(&format!("\"{name}\";r=0;t=")));
        let refused = client.post(&acquire, &json!({}));
        let problem = refused.expect(429);
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        assert_eq!((&problem["status"], &problem["code"]), (&json!(429), &json!("over_limit")));
        assert_eq!(problem["violated-policies"], json!([name]));
        let after = problem["decision"]["retry_after"].as_f64().unwrap();
        let header: f64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(header >= after && header < after + 1.0, "rounded up: {header} {after}");
    }
}

#[test]
fn each_limit_has_a_field() {
    let store = Store::redis();
    let server = store.server();
    let granted = server.client().post(&store.path("both", "/acquire?refusal=429"), &json!({ "limits": true }));
    let name = format!("{}both", store.prefix);
    assert_eq!(granted.expect(200)["limits"].as_array().unwrap().len(), 2);
    let policy = format!("\"{name}:rpd\";q=9;w=86400, \"{name}:rpm\";q=3;w=60");
    assert_eq!(granted.header("ratelimit-policy"), Some(policy.as_str()));
}

#[test]
fn an_estimate_is_corrected_once() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let granted = client.post(&store.path("shop", "/acquire"), &json!({ "estimate": 200 })).expect(200);
        let permit = &granted["permit"];
        let correct = json!({ "permit": permit, "actual": 50 });
        assert_eq!(client.post(&store.path("shop", "/correct"), &correct).expect(200)["settlement"], "settled");
        assert_eq!(client.post(&store.path("shop", "/correct"), &correct).expect(200)["settlement"], "already");
        let peek = client.post(&store.path("shop", "/peek"), &json!({ "cost": 0 })).expect(200);
        assert_eq!(peek["remaining"], 950);
        let debited = client.post(&store.path("shop", "/debit"), &json!({ "cost": 1000 })).expect(200);
        assert_eq!((&debited["allowed"], &debited["remaining"]), (&json!(true), &json!(0)), "into debt");
    }
}

#[test]
fn a_lease_is_renewed_and_released() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let granted = client.post(&store.path("workers", "/acquire"), &json!({})).expect(200);
        assert_eq!(granted["lease"], 3600.0);
        assert!(granted["fencing_token"].is_u64());
        let permit = json!({ "permit": granted["permit"] });
        assert_eq!(client.post(&store.path("workers", "/acquire"), &json!({})).expect(200)["allowed"], false);
        let renewed = client.post(&store.path("workers", "/renew"), &permit).expect(200);
        assert_eq!(renewed, json!({ "renewed": true, "lease": 3600.0 }));
        assert_eq!(client.post(&store.path("workers", "/release"), &permit).expect(200)["settlement"], "released");
        let renewed = client.post(&store.path("workers", "/renew"), &permit).expect(200);
        assert_eq!(renewed, json!({ "renewed": false, "lease": null }));
        assert_eq!(client.post(&store.path("workers", "/acquire"), &json!({})).expect(200)["allowed"], true);
    }
}

#[test]
fn a_job_is_queued_claimed_and_cancelled() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let job = |id: &str| json!({ "id": id });
        let enqueue = store.path("workers", "/enqueue");
        let claim = store.path("workers", "/claim");
        let first = client.post(&enqueue, &job("a")).expect(200);
        assert_eq!(first["status"], "granted");
        let second = client.post(&enqueue, &job("b")).expect(200);
        assert_eq!((&second["status"], &second["position"]), (&json!("queued"), &json!(0)));
        assert_eq!(client.post(&enqueue, &json!({ "id": "c", "priority": 9 })).expect(200)["position"], 0);
        assert_eq!(client.post(&claim, &job("b")).expect(200)["status"], "queued");
        assert_eq!(client.post(&claim, &job("d")).expect(200)["status"], "no_ticket");
        let release = json!({ "permit": first["permit"] });
        client.post(&store.path("workers", "/release"), &release).expect(200);
        assert_eq!(client.post(&store.path("workers", "/cancel"), &job("c")).expect(200)["settlement"], "cancelled");
        assert_eq!(client.post(&claim, &job("b")).expect(200)["status"], "granted");
    }
}

#[test]
fn an_id_takes_nothing_twice() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let call = json!({ "id": "import" });
        let first = client.post(&store.path("workers", "/acquire"), &call).expect(200);
        let again = client.post(&store.path("workers", "/acquire"), &call).expect(200);
        assert_eq!((&again["allowed"], &again["permit"]), (&json!(true), &first["permit"]));
    }
}

#[test]
fn each_key_has_a_state() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("per-user", "/acquire");
        assert_eq!(client.post(&acquire, &json!({ "key": "alice", "cost": 2 })).expect(200)["allowed"], true);
        assert_eq!(client.post(&acquire, &json!({ "key": "alice" })).expect(200)["allowed"], false);
        assert_eq!(client.post(&acquire, &json!({ "key": "bob" })).expect(200)["allowed"], true);
        assert_eq!(client.post(&acquire, &json!({})).expect(400)["argument"], "key");
        let looked = client.get(&store.path("per-user", "?key=alice")).expect(200);
        assert_eq!((&looked["key"], &looked["limits"][0]["taken"]), (&json!("alice"), &json!(2)));
        let statistics = client.get(&store.path("per-user", "/statistics")).expect(200);
        assert_eq!((&statistics["granted"], &statistics["refused"]), (&json!(2), &json!(1)));
        client.post(&acquire, &json!({ "key": "bob", "cost": 2 })).expect(200);
        client.post(&acquire, &json!({ "key": "bob", "cost": 2 })).expect(200);
        let most = |rest: &str| store.path("per-user", &format!("/most-refused{rest}"));
        let keys = json!([{ "key": "bob", "refused": 2 }, { "key": "alice", "refused": 1 }]);
        assert_eq!(client.get(&most("")).expect(200)["keys"], keys);
        assert_eq!(client.get(&most("?count=1")).expect(200)["keys"], json!([keys[0]]));
        for count in ["0", "101"] {
            assert_eq!(client.get(&most(&format!("?count={count}"))).expect(400)["argument"], "count");
        }
        assert_eq!(client.get(&store.path("api", "/most-refused")).expect(400)["argument"], "name");
    }
}

#[test]
fn several_limiters_are_charged_together_or_not_at_all() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let name = |name: &str| format!("{}{name}", store.prefix);
        let limiters = json!([{ "name": name("api") }, { "name": name("per-user"), "key": "alice" }]);
        let call = |cost: Value| json!({ "limiters": limiters, "cost": cost });
        assert_eq!(client.post("/v1/together", &call(json!(2))).expect(200)["allowed"], true);
        let refused = client.post("/v1/together", &call(json!(1))).expect(200);
        assert_eq!((&refused["allowed"], &refused["limiter"]), (&json!(false), &json!(name("per-user"))));
        assert_eq!(client.post(&store.path("api", "/peek"), &json!({})).expect(200)["remaining"], 3);
        let each = json!({ name("api"): 3, name("per-user"): { "bucket": 0 } });
        assert_eq!(client.post("/v1/together", &call(each)).expect(200)["allowed"], true);
        assert_eq!(client.post(&store.path("api", "/peek"), &json!({})).expect(200)["remaining"], 0);

        let limiters = json!([{ "name": name("shop") }, { "name": name("workers") }]);
        let estimate = json!({ "limiters": limiters, "estimate": { name("shop"): 300 } });
        let granted = client.post("/v1/together", &estimate).expect(200);
        let permit = &granted["permit"];
        let correct = json!({ "limiters": limiters, "permit": permit, "actual": { name("shop"): 100 } });
        assert_eq!(client.post("/v1/together/correct", &correct).expect(200)["settlement"], "settled");
        assert_eq!(client.post(&store.path("shop", "/peek"), &json!({ "cost": 0 })).expect(200)["remaining"], 900);
        let permit = json!({ "limiters": limiters, "permit": permit });
        assert_eq!(client.post("/v1/together/renew", &permit).expect(200)["renewed"], true);
        assert_eq!(client.post("/v1/together/release", &permit).expect(200)["settlement"], "released");
        assert_eq!(client.post("/v1/together", &json!({ "limiters": [] })).expect(400)["argument"], "limiters");
    }
}

#[test]
fn a_policy_may_come_with_the_call() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("new", "/acquire");
        let policy = json!({ "policy": { "bucket": { "limit": 2, "per": "day" } }, "cost": 2 });
        assert_eq!(client.post(&acquire, &policy).expect(200)["allowed"], true);
        assert_eq!(client.post(&acquire, &policy).expect(200)["allowed"], false, "the same state");
        let missing = client.post(&acquire, &json!({})).expect(404);
        assert_eq!(missing["code"], "not_found", "not in the file");
        let wrong = json!({ "policy": { "bucket": { "limit": 0, "per": "day" } } });
        assert_eq!(client.post(&acquire, &wrong).expect(400)["argument"], "policy.bucket");
        let wrong = json!({ "policy": { "buckets": {} } });
        assert_eq!(client.post(&acquire, &wrong).expect(400)["argument"], "policy.buckets");
        // An operator finds it without the file.
        let looked = client.get(&store.path("new", "")).expect(200);
        assert_eq!((&looked["limits"][0]["taken"], &looked["limits"][0]["limit"]), (&json!(2), &json!(2)));
    }
}

#[test]
fn an_upstream_teaches_the_limiter() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let response = json!({ "status": 429, "headers": { "Retry-After": "30" } });
        let learned = client.post(&store.path("api", "/learn"), &response).expect(200);
        assert_eq!((&learned["learned"], &learned["pause"]), (&json!(["pause"]), &json!(30.0)));
        assert_eq!(client.post(&store.path("api", "/acquire"), &json!({})).expect(200)["reason"], "paused");
        let budget = json!({ "remaining": 7 });
        let learned = client.post(&store.path("shop", "/report-budget"), &budget).expect(200);
        assert_eq!(learned["learned"], json!(["remaining"]));
        assert_eq!(client.post(&store.path("shop", "/peek"), &json!({})).expect(200)["remaining"], 7);
        let wrong = json!({ "provider": "nobody" });
        assert_eq!(client.post(&store.path("api", "/learn"), &wrong).expect(400)["argument"], "provider");
    }
}

#[test]
fn a_wrong_argument_is_named_and_changes_nothing() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let long = "x".repeat(65);
        for (verb, body, argument) in [
            ("acquire", json!({ "cost": -1 }), "cost"),
            ("acquire", json!({ "cost": 1.5 }), "cost"),
            ("acquire", json!({ "cost": "1" }), "cost"),
            ("acquire", json!({ "cost": { "bucket": -1 } }), "cost.bucket"),
            ("acquire", json!({ "cost": { "other": 1 } }), "cost"),
            ("acquire", json!({ "cost": { "bucket": { "bucket": 1 } } }), "cost"),
            ("acquire", json!({ "cost": 6 }), "cost"),
            ("acquire", json!({ "cost": 1, "estimate": 1 }), "estimate"),
            ("acquire", json!({ "estimate": -1 }), "estimate"),
            ("acquire", json!({ "settle_within": 600 }), "settle_within"),
            ("acquire", json!({ "priority": 10 }), "priority"),
            ("acquire", json!({ "weight": 2 }), "weight"),
            ("acquire", json!({ "share": "" }), "share"),
            ("acquire", json!({ "id": long }), "id"),
            ("acquire", json!({ "id": "" }), "id"),
            ("acquire", json!({ "wait_timeout": "5 parsecs" }), "wait_timeout"),
            ("acquire", json!({ "key": "alice" }), "key"),
            ("acquire", json!({ "costs": 1 }), "costs"),
            ("acquire", json!([]), "body"),
            ("acquire", json!([null, "alice"]), "body"),
            ("debit", json!({}), "body"),
            ("correct", json!({ "permit": "p" }), "body"),
            ("release", json!({ "permit": 7 }), "permit"),
            ("enqueue", json!({ "id": "a", "claim_timeout": 0 }), "claim_timeout"),
            ("cancel", json!({ "id": "" }), "id"),
        ] {
            let problem = client.post(&store.path("api", &format!("/{verb}")), &body).expect(400);
            assert_eq!((&problem["code"], &problem["argument"]), (&json!("invalid"), &json!(argument)), "{body}");
        }
        let peek = client.post(&store.path("api", "/peek"), &json!({})).expect(200);
        assert_eq!(peek["remaining"], 5, "{}", store.name());
    }
}

#[test]
fn a_name_may_have_any_characters() {
    let store = Store::redis();
    let server = store.server();
    let mut client = server.client();
    let policy = json!({ "policy": { "bucket": { "limit": 2, "per": "day" } } });
    let name = format!("{}a/b c?é\"", unique("n"));
    let encoded = support::encoded(&name);
    let granted = client.post(&format!("/v1/limiters/{encoded}/acquire?refusal=429"), &policy);
    assert_eq!(granted.expect(200)["allowed"], true);
    assert!(granted.header("ratelimit").unwrap().contains("a/b c??\\\""), "{:?}", granted.header("ratelimit"));
    assert_eq!(client.get(&format!("/v1/limiters/{encoded}")).expect(200)["name"], name);
    let long = "x".repeat(513);
    assert_eq!(client.post(&format!("/v1/limiters/{long}/acquire"), &policy).expect(400)["argument"], "name");
    assert_eq!(client.post("/v1/limiters/%FF/acquire", &policy).expect(400)["argument"], "name");
}
