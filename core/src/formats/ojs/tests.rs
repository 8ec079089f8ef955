use serde_json::{Value, json};

use super::*;
use crate::formats::document::Document;

fn limits(value: &Value) -> Vec<Limit> {
    RateLimit::read(value).unwrap().policy(LOCK_TIMEOUT).unwrap().limits().to_vec()
}

fn of_kind(kind: Kind, amount: u64, micros: u64) -> Limit {
    Limit::of_kind(kind, amount, Micros(micros), Micros(0)).unwrap()
}

fn rate(limit: u64, micros: u64) -> Limit {
    Rate { limit, period: Micros(micros) }.limit().unwrap()
}

fn fault(value: &Value) -> String {
    let error = RateLimit::read(value).unwrap_err();
    assert_eq!(error.argument(), Some("document"));
    error.message().to_owned()
}

#[test]
fn only_a_key_is_unlimited() {
    let policy = RateLimit::read(&json!({"key": "free", "concurrency": null, "rate": null, "throttle": null})).unwrap();
    let definitions = policy.definitions().unwrap();
    assert_eq!(definitions.len(), 1);
    assert_eq!(definitions[0].name, "ojs/key/free");
    assert!(definitions[0].policy.limits().is_empty());
    assert_eq!(definitions[0].on_limit, OnLimit::Wait);
}

#[test]
fn concurrency_zero_is_a_pause_in_the_same_place() {
    let paused = RateLimit::read(&json!({"key": "a", "concurrency": 0})).unwrap().policy(LOCK_TIMEOUT).unwrap();
    assert_eq!(paused.limits(), [Limit::concurrency(0, LOCK_TIMEOUT.duration()).unwrap()]);
    let open = RateLimit::read(&json!({"key": "a", "concurrency": 1})).unwrap().policy(LOCK_TIMEOUT).unwrap();
    assert_eq!(paused.tags(), open.tags());
}

#[test]
fn t08_a_throttle_in_both_forms() {
    let expected = [of_kind(Kind::Throttle, 1, 100_000)];
    assert_eq!(limits(&json!({"key": "a", "throttle": {"interval": "PT0.1S"}})), expected);
    let tenths = limits(&json!({"key": "a", "throttle": {"limit": 10, "period": "PT1S"}}));
    assert_eq!(tenths, [of_kind(Kind::Throttle, 10, 1_000_000)]);
    let thirds = limits(&json!({"key": "a", "throttle": {"limit": 3, "period": "PT1S"}}));
    assert_eq!(thirds, [of_kind(Kind::Throttle, 3, 1_000_000)]);
    for throttle in [
        json!({"interval": "PT1S", "limit": 1, "period": "PT1S"}),
        json!({"interval": "PT1S", "limit": 1}),
        json!({"limit": 1}),
        json!({"period": "PT1S"}),
        json!({}),
        json!({"limit": 1_000_001, "period": "PT1S"}),
        json!({"limit": 0, "period": "PT1S"}),
        json!({"interval": "PT0S"}),
        json!("PT1S"),
    ] {
        assert!(fault(&json!({"key": "a", "throttle": throttle})).starts_with("at $.throttle"), "{throttle}");
    }
}

#[test]
fn validation() {
    for (value, path) in [
        (json!({"concurrency": 5}), "at $.key: is missing"),
        (json!({"key": null, "concurrency": 5}), "at $.key: must not be null"),
        (json!({"max_per_second": null, "concurrency": 5}), "at $.key: is missing"),
        (json!({"key": "", "concurrency": 5}), "at $.key: must begin"),
        (json!({"key": ".a"}), "at $.key: must begin"),
        (json!({"key": "a/b"}), "at $.key: must begin"),
        (json!({"key": "a b"}), "at $.key: must begin"),
        (json!({"key": "ä"}), "at $.key: must begin"),
        (json!({"key": "a\n"}), "at $.key: must begin"),
        (json!({"key": "a".repeat(513)}), "at $.key: must begin"),
        (json!({"key": 1}), "at $.key: must be a text"),
        (json!({"key": "a", "concurrency": -1}), "at $.concurrency: must be a whole number"),
        (json!({"key": "a", "concurrency": 1.5}), "at $.concurrency: must be a whole number"),
        (json!({"key": "a", "concurrency": 100_001}), "at $.concurrency: "),
        (json!({"key": "a", "rate": {"limit": 1}}), "at $.rate.period: is missing"),
        (json!({"key": "a", "rate": {"period": "PT1S"}}), "at $.rate.limit: is missing"),
        (json!({"key": "a", "rate": {"limit": 0, "period": "PT1S"}}), "at $.rate.limit: "),
        (json!({"key": "a", "rate": {"limit": -1, "period": "PT1S"}}), "at $.rate.limit: "),
        (json!({"key": "a", "rate": {"limit": 1, "period": "1s"}}), "at $.rate.period: "),
        (json!({"key": "a", "rate": {"limit": 1, "period": "P1M"}}), "at $.rate.period: months"),
        (json!({"key": "a", "rate": {"limit": 1, "period": "PT1S", "x": 1}}), "at $.rate.x: is not known"),
        (json!({"key": "a", "rate": {"limit": 1, "period": "PT1S"}, "period": "second"}), "at $.period: "),
        (json!({"key": "a", "rate": 1}), "at $.rate: needs a period"),
        (json!({"key": "a", "period": "second"}), "at $.period: has no limit"),
        (json!({"key": "a", "rate": 1, "limit": 1, "period": "second"}), "at $: give one of"),
        (json!({"max_per_second": 1, "limit": 1, "period": "second"}), "at $: give one of"),
        (json!({"max_per_second": 1, "period": "second"}), "at $.period: "),
        (json!({"max_per_second": 0}), "at $.max_per_second: "),
        (json!({"max_per_second": 0.5}), "at $.max_per_second: "),
        (json!({"key": "a", "on_limit": "raise"}), "at $.on_limit: must be wait, reschedule or drop"),
        (json!({"key": "a", "on_limit": "Wait"}), "at $.on_limit: "),
        (json!({"key": "a", "concurency": 1}), "at $.concurency: is not known"),
    ] {
        let message = fault(&value);
        assert!(message.starts_with(path), "{value}: {message}");
    }
    for key in ["a", "0", "api.example.com", "tenant_123:api-1", &"a".repeat(247)] {
        assert!(RateLimit::read(&json!({"key": key})).is_ok(), "{key}");
    }
}

#[test]
fn ojs_shape_1_the_full_policy() {
    let value = json!({"rate_limit": {
        "key": "api.example.com", "concurrency": 5, "rate": {"limit": 100, "period": "PT1M"},
        "throttle": {"interval": "PT1S"}, "on_limit": "reschedule"
    }, "type": "api.call", "args": ["https://api.example.com/data"]});
    let definition = RateLimit::read(&value).unwrap().definition(None, Some(Micros(7_000_000))).unwrap();
    assert_eq!(definition.name, "ojs/key/api.example.com");
    assert_eq!(definition.on_limit, OnLimit::Reschedule);
    let expected =
        [of_kind(Kind::Concurrency, 5, 7_000_000), rate(100, 60_000_000), of_kind(Kind::Throttle, 1, 1_000_000)];
    assert_eq!(definition.policy.limits(), expected);
}

#[test]
fn ojs_shape_2_a_queue_has_a_rate_per_second() {
    assert_eq!(limits(&json!({"max_per_second": 2_000})), [rate(2_000, 1_000_000)]);
    let job = json!({"type": "t", "options": {"queue": "mail", "rate_limit": {"max_per_second": 1}}});
    assert_eq!(RateLimit::read(&job).unwrap().definitions().unwrap()[0].name, "ojs/queue/mail");
    let job = json!({"type": "t", "rate_limit": {"max_per_second": 1}});
    assert_eq!(RateLimit::read(&job).unwrap().definitions().unwrap()[0].name, "ojs/queue/default");
    let alone = RateLimit::read(&json!({"max_per_second": 1})).unwrap();
    assert!(alone.definitions().unwrap_err().message().starts_with("at $.key: is missing"));
}

#[test]
fn ojs_shape_3_a_whole_rate_and_a_word() {
    let value = json!({"key": "a", "rate": 1, "period": "second"});
    assert_eq!(limits(&value), [rate(1, 1_000_000)]);
}

#[test]
fn ojs_shape_4_a_limit_and_a_period_of_a_queue() {
    for (text, micros) in [
        ("1s", 1_000_000),
        ("10s", 10_000_000),
        ("1m", 60_000_000),
        ("5m", 300_000_000),
        ("1h", 3_600_000_000),
        ("PT1M", 60_000_000),
    ] {
        let value = json!({"limit": 50, "period": text});
        assert_eq!(limits(&value), [rate(50, micros)], "{text}");
    }
}

#[test]
fn a_rate_above_what_a_window_keeps_is_a_bucket() {
    let value = |limit: u64| json!({"key": "a", "rate": {"limit": limit, "period": "PT1H"}});
    assert_eq!(limits(&value(100_000)), [of_kind(Kind::Window, 100_000, 3_600_000_000).labelled("rate").unwrap()]);
    assert_eq!(limits(&value(100_001)), [of_kind(Kind::Bucket, 100_001, 3_600_000_000).labelled("rate").unwrap()]);
    assert!(fault(&value(1_000_000_000_001)).starts_with("at $.rate.limit: "));
}

#[test]
fn both_places_of_a_job() {
    let policy = json!({"key": "a", "rate": {"limit": 1, "period": "PT60S"}});
    let same = json!({"key": "a", "rate": {"limit": 1, "period": "PT1M"}});
    let other = json!({"key": "b"});
    let job = |top: &Value, inner: &Value| json!({"rate_limit": top, "options": {"rate_limit": inner}});
    let expected = RateLimit::read(&policy).unwrap();
    for job in [
        job(&policy, &same),
        job(&policy, &Value::Null),
        job(&Value::Null, &policy),
        json!({"rate_limit": policy, "options": null}),
        json!({"rate_limit": policy, "options": {"queue": "any name"}}),
        json!({"options": {"rate_limit": policy}}),
    ] {
        assert_eq!(RateLimit::read(&job).unwrap(), expected, "{job}");
        assert_eq!(Document::parse(&job.to_string()).unwrap(), Document::Ojs(expected.clone()));
    }
    assert!(fault(&job(&policy, &other)).contains("differ"));
    assert!(fault(&job(&Value::Null, &Value::Null)).starts_with("at $: the rate_limit is null"));
    assert!(fault(&json!({"options": {"rate_limit": {"key": "/"}}})).starts_with("at $.options.rate_limit.key: "));
    assert!(fault(&json!({"rate_limit": 5})).starts_with("at $.rate_limit: must be an object"));
}

#[test]
fn keys_of_tenants() {
    let policy = RateLimit::read(&json!({"key": "api.example.com"})).unwrap();
    assert_eq!(policy.limiter_name(Some("tenant_123")).unwrap(), "ojs/tenant/tenant_123/key/api.example.com");
    assert_eq!(policy.limiter_name(None).unwrap(), "ojs/key/api.example.com");
    for tenant in ["", "a/b", "/", "a b", &"a".repeat(248)] {
        assert_eq!(policy.limiter_name(Some(tenant)).unwrap_err().argument(), Some("tenant"), "{tenant}");
    }
    let longest = RateLimit::read(&json!({"key": "k".repeat(247)})).unwrap();
    assert_eq!(longest.limiter_name(Some(&"t".repeat(247))).unwrap().len(), 510);
}

#[test]
fn a_queue_has_a_concurrency_beside_its_rate() {
    let queue = |rate_limit: Value| RateLimit::read(&json!({"concurrency": 20, "rate_limit": rate_limit}));
    let policy = queue(json!({"limit": 100, "period": "PT1M"})).unwrap();
    let limits = [of_kind(Kind::Concurrency, 20, LOCK_TIMEOUT.0), rate(100, 60_000_000)];
    assert_eq!(policy.definitions().unwrap()[0].policy.limits(), limits);
    assert_eq!(queue(json!({"key": "a", "concurrency": 20})).unwrap().concurrency, Some(20));
    for (document, path) in [
        (json!({"concurrency": 20, "rate_limit": {"key": "a", "concurrency": 5}}), "at $.concurrency: differs"),
        (json!({"concurrency": -1, "rate_limit": {"key": "a"}}), "at $.concurrency: must be"),
        (json!({"rate": {"limit": 1, "period": "PT1S"}, "rate_limit": {"key": "a"}}), "at $.rate: stands beside"),
        (json!({"on_limit": "drop", "rate_limit": {"key": "a"}}), "at $.on_limit: stands beside"),
        (json!({"key": "b", "rate_limit": {"key": "a"}}), "at $.key: stands beside"),
    ] {
        assert!(fault(&document).starts_with(path), "{document}: {}", fault(&document));
    }
}

#[test]
fn the_visibility_timeout_is_the_lease() {
    let lease = |document: &Value, given: Option<u64>| {
        let definition = RateLimit::read(document).unwrap().definition(None, given.map(Micros)).unwrap();
        definition.policy.limits()[0].interval().0
    };
    let policy = json!({"key": "a", "concurrency": 1});
    let job = json!({"type": "t", "visibility_timeout_ms": 90_000, "rate_limit": policy});
    assert_eq!((lease(&policy, None), lease(&job, None), lease(&job, Some(5))), (LOCK_TIMEOUT.0, 90_000_000, 5));
    for job in [
        json!({"options": {"visibility_timeout_ms": 45_000, "rate_limit": policy}}),
        json!({"visibility_timeout": 45, "options": {"visibility_timeout_ms": 45_000, "rate_limit": policy}}),
    ] {
        assert_eq!(lease(&job, None), 45_000_000, "{job}");
    }
    for (document, path) in [
        (json!({"visibility_timeout_ms": 0, "rate_limit": policy}), "at $.visibility_timeout_ms: must be"),
        (json!({"visibility_timeout_ms": u64::MAX, "rate_limit": policy}), "at $.visibility_timeout_ms: must be"),
        (json!({"visibility_timeout": "PT30S", "rate_limit": policy}), "at $.visibility_timeout: must be"),
        (
            json!({"visibility_timeout": 1, "options": {"visibility_timeout": 2, "rate_limit": policy}}),
            "at $.options.visibility_timeout: differs",
        ),
    ] {
        assert!(fault(&document).starts_with(path), "{document}: {}", fault(&document));
    }
}

#[test]
fn signals() {
    let read = |value: Value| Signal::read(&value).unwrap();
    let signal = read(json!({"error": {"type": "rate_limited", "retry_after": 30}})).unwrap();
    assert_eq!(signal, Signal { retry_after: Some(Micros(30_000_000)), until: None });
    assert_eq!(signal.end(Micros(5)), Some(Micros(30_000_005)));
    let bare = read(json!({"type": "rate_limited", "retry_after": 0.3, "stack": ["..."]})).unwrap();
    assert_eq!(bare.retry_after, Some(Micros(300_000)));
    let both = read(json!({
        "type": "RateLimitExceeded", "message": "slow down", "retry_after": 10,
        "rate_limit_until": "1970-01-01T00:01:00Z"
    }))
    .unwrap();
    assert_eq!(both.end(Micros(0)), Some(Micros(60_000_000)));
    assert_eq!(both.end(Micros(55_000_000)), Some(Micros(65_000_000)));
    assert_eq!(read(json!({"type": "rate_limited"})).unwrap().end(Micros(1)), None);
    for other in [
        json!({"type": "timeout", "retry_after": "x"}),
        json!({}),
        json!(null),
        json!("x"),
        json!({"error": 5}),
        json!([]),
    ] {
        assert_eq!(read(other), None);
    }
    for (wrong, path) in [
        (json!({"error": {"type": "rate_limited", "retry_after": -1}}), "at $.error.retry_after: "),
        (json!({"type": "rate_limited", "retry_after": "30"}), "at $.retry_after: "),
        (json!({"type": "rate_limited", "retry_after": 1e300}), "at $.retry_after: "),
        (json!({"type": "rate_limited", "rate_limit_until": "soon"}), "at $.rate_limit_until: "),
    ] {
        assert!(Signal::read(&wrong).unwrap_err().message().starts_with(path), "{wrong}");
    }
}

#[test]
fn other_numbers_are_the_same_counters() {
    let policy = |concurrency: u64, rate: u64, micros: &str| {
        let value = json!({
            "key": "a", "concurrency": concurrency, "rate": {"limit": rate, "period": micros},
            "throttle": {"interval": micros}
        });
        RateLimit::read(&value).unwrap().policy(LOCK_TIMEOUT).unwrap()
    };
    let (one, other) = (policy(1, 10, "PT1S"), policy(50, 100_000, "PT1H"));
    assert_ne!(one, other);
    assert_eq!(one.tags(), other.tags());
}

#[test]
fn overrides_are_partial() {
    let read = |value: Value| Override::read(&value, LOCK_TIMEOUT);
    let keep =
        Override { concurrency: Change::Keep, rate: Change::Keep, throttle: Change::Keep, expires_at: Expiry::Keep };
    let set = |kind, amount, micros| Change::Set(of_kind(kind, amount, micros));
    let lease = LOCK_TIMEOUT.0;
    for (value, expected) in [
        (json!({"concurrency": 20}), Override { concurrency: set(Kind::Concurrency, 20, lease), ..keep.clone() }),
        (
            json!({"concurrency": 0, "expires_at": "1970-01-01T00:00:02Z"}),
            Override {
                concurrency: set(Kind::Concurrency, 0, lease),
                expires_at: Expiry::At(Micros(2_000_000)),
                ..keep.clone()
            },
        ),
        (json!({"concurrency": null}), Override { concurrency: Change::Remove, ..keep.clone() }),
        (
            json!({"rate": null, "expires_at": null}),
            Override { rate: Change::Remove, expires_at: Expiry::Never, ..keep.clone() },
        ),
        (json!({"limit": null, "period": null}), Override { rate: Change::Remove, ..keep.clone() }),
        (json!({"limit": 5, "period": "10s"}), Override { rate: Change::Set(rate(5, 10_000_000)), ..keep.clone() }),
        (
            json!({"rate": {"limit": 5, "period": "PT10S"}, "throttle": {"limit": 10, "period": "PT1S"}}),
            Override {
                rate: Change::Set(rate(5, 10_000_000)),
                throttle: set(Kind::Throttle, 10, 1_000_000),
                ..keep.clone()
            },
        ),
        (json!({"throttle": null}), Override { throttle: Change::Remove, ..keep.clone() }),
    ] {
        assert_eq!(read(value.clone()).unwrap(), expected, "{value}");
    }
    for (value, path) in [
        (json!({}), "at $: changes nothing"),
        (json!([]), "at $: must be an object"),
        (json!({"key": "a"}), "at $.key: is not known"),
        (json!({"concurrency": -1}), "at $.concurrency: "),
        (json!({"limit": 5}), "at $.limit: needs a period"),
        (json!({"limit": null, "period": "1s"}), "at $.period: needs a limit"),
        (json!({"rate": null, "limit": 5, "period": "1s"}), "at $: give either"),
        (json!({"limit": 0, "period": "1s"}), "at $.limit: "),
        (json!({"expires_at": 5}), "at $.expires_at: "),
    ] {
        let error = read(value.clone()).unwrap_err();
        assert!(error.message().starts_with(path), "{value}: {error}");
    }
}
