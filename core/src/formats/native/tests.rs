use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::model::block_after::BlockAfter;
use crate::model::calendar::Calendar;
use crate::model::limit::{Kind, Limit};
use crate::model::mode::Mode;
use crate::model::on_limit::OnLimit;
use crate::model::refund::Refund;

fn one(limiter: &Value) -> Definition {
    let limits = Limits::read(&json!({"limiters": {"a": limiter}})).unwrap();
    limits.definitions().unwrap().remove(0)
}

fn of_kind(kind: Kind, amount: u64, seconds: u64) -> Limit {
    Limit::of_kind(kind, amount, Micros(seconds * 1_000_000), Micros(0)).unwrap()
}

#[test]
fn the_example_of_the_documentation() {
    let text = include_str!("../native.rs").lines().filter_map(|line| line.strip_prefix("//! "));
    let lines: Vec<&str> =
        text.skip_while(|line| *line != "```json").skip(1).take_while(|line| *line != "```").collect();
    let definitions = Limits::parse(&lines.join("\n")).unwrap().definitions().unwrap();
    assert_eq!(definitions.len(), 2);
    assert_eq!(definitions[0].name, "shopify-42");
    assert_eq!(definitions[0].policy.limits(), [of_kind(Kind::Points, 1_000, 20)]);
    assert_eq!(definitions[0].wait_timeout, Some(Micros(5_000_000)));
    assert_eq!(definitions[0].on_limit, OnLimit::Raise);
    let stripe = [
        of_kind(Kind::Concurrency, 5, 30),
        Limit::of_kind(Kind::Throttle, 1, Micros(100_000), Micros(0)).unwrap(),
        of_kind(Kind::Window, 1_000, 3_600).labelled("rph").unwrap(),
        of_kind(Kind::Window, 100, 60).labelled("rpm").unwrap(),
    ];
    assert_eq!(definitions[1].policy.limits(), stripe);
    assert_eq!(definitions[1].on_limit, OnLimit::Reschedule);
}

#[test]
fn every_kind_in_one_order() {
    let definition = one(&json!({
        "paused": true, "throttle": {"limit": 3, "every": 2}, "points": {"limit": 4, "refill": "1m"},
        "quota": {"limit": 9, "per": "month", "timezone": "+01:00", "starts": 15},
        "leaky": {"limit": 3, "drain": "PT3S", "refund": "undrained"}, "window": {"limit": 2, "per": "hour"},
        "bucket": {"limit": 1, "per": "day", "offset": "2h"}, "concurrency": {"limit": 0}, "ttl": "P90D"
    }));
    let kinds: Vec<Kind> = definition.policy.limits().iter().map(Limit::kind).collect();
    let order = [
        Kind::Concurrency,
        Kind::Bucket,
        Kind::Window,
        Kind::Leaky,
        Kind::Points,
        Kind::Throttle,
        Kind::Quota,
        Kind::Paused,
    ];
    assert_eq!(kinds, order);
    assert_eq!([3, 4].map(|i| definition.policy.limits()[i].refund()), [Refund::Undrained, Refund::Full]);
    let calendar = Calendar::month().in_timezone("+01:00").unwrap().starting("15").unwrap();
    assert_eq!(definition.policy.limits()[6], Limit::quota(9, calendar).unwrap());
    assert_eq!(definition.policy.limits()[1].offset(), Micros(7_200_000_000));
    assert_eq!(definition.ttl, Some(crate::model::statistics::DEFAULT_STATISTICS_TTL));
    assert_eq!(definition.group, None);
    assert_eq!(one(&json!({"unlimited": true, "group": "acme"})).group.as_deref(), Some("acme"));
    assert_eq!((definition.keyed, definition.statistics), (false, true));
    let definition = one(&json!({"unlimited": true, "keyed": true, "statistics": false}));
    assert_eq!((definition.keyed, definition.statistics), (true, false));
    assert_eq!((definition.policy.mode(), definition.policy.block_after()), (Mode::Enforce, None));
    let rule = json!({"refusals": 100, "within": "1m", "for": 3_600});
    let policy = one(&json!({"throttle": {"every": 1}, "mode": "shadow", "block_after": rule})).policy;
    let rule = BlockAfter::of_micros(100, Micros(60_000_000), Micros(3_600_000_000)).unwrap();
    assert_eq!((policy.mode(), policy.block_after()), (Mode::Shadow, Some(&rule)));
    let policy = one(&json!({"throttle": {"every": 1}, "aging": "1m"})).policy;
    assert_eq!(policy.aging(), Some(Micros(60_000_000)));
    assert!(one(&json!({"unlimited": true, "paused": false})).policy.limits().is_empty());
    assert_eq!(one(&json!({"unlimited": true, "wait_timeout": 0})).wait_timeout, Some(Micros(0)));
}

#[test]
fn limits_have_labels() {
    let limits = |limiter: Value| one(&limiter).policy.limits().to_vec();
    let labelled = |kind, amount, label: &str| of_kind(kind, amount, 60).labelled(label).unwrap();
    let each = limits(json!({"limits": {
        "f": {"throttle": {"limit": 6, "every": 60}}, "e": {"points": {"limit": 5, "refill": 60}},
        "d": {"leaky": {"limit": 4, "drain": 60}}, "c": {"window": {"limit": 3, "per": 60}},
        "g": {"quota": {"limit": 7, "per": "year"}}, "b": {"bucket": {"limit": 2, "per": 60}}, "a": {"concurrency": {"limit": 1, "lock_timeout": 60}}
    }}));
    let expected = [
        labelled(Kind::Concurrency, 1, "a"),
        labelled(Kind::Bucket, 2, "b"),
        labelled(Kind::Window, 3, "c"),
        labelled(Kind::Leaky, 4, "d"),
        labelled(Kind::Points, 5, "e"),
        labelled(Kind::Throttle, 6, "f"),
        Limit::quota(7, Calendar::year()).unwrap().labelled("g").unwrap(),
    ];
    assert_eq!(each, expected, "by label");
    let window = json!({"limit": 3, "per": 60});
    let both = limits(json!({"window": window, "limits": {"rpm": {"window": window}}}));
    assert_eq!(both, [of_kind(Kind::Window, 3, 60), labelled(Kind::Window, 3, "rpm")]);
    assert_eq!(limits(json!({"limits": {"window": {"window": window}}})), limits(json!({"window": window})));
    assert_eq!(limits(json!({"limits": {"window": {"bucket": window}}})), [labelled(Kind::Bucket, 3, "window")]);
    assert_eq!(limits(json!({"window": window, "limits": {}})), limits(json!({"window": window, "limits": null})));
}

#[test]
fn faults_say_where_they_are() {
    let (start, window) = (json!({"throttle": {"every": 1}}), json!({"window": {"limit": 1, "per": 1}}));
    let nine: serde_json::Map<String, Value> = ('a'..='i').map(|label| (label.to_string(), start.clone())).collect();
    for (limiter, path) in [
        (json!({}), "at $.limiters.a: has no limit"),
        (json!({"unlimited": false}), "at $.limiters.a: has no limit"),
        (json!({"unlimited": true, "throttle": {"every": 1}}), "at $.limiters.a: unlimited excludes other limits"),
        (json!({"windows": {}}), "at $.limiters.a.windows: is not known here"),
        (json!({"window": {"limit": 0, "per": 1}}), "at $.limiters.a.window: "),
        (json!({"window": {"limit": 1, "per": 0}}), "at $.limiters.a.window.per: must be above zero"),
        (json!({"window": {"limit": 1, "per": "P1M"}}), "at $.limiters.a.window.per: months"),
        (json!({"window": {"per": 1}}), "at $.limiters.a.window.limit: is missing"),
        (json!({"window": [{"limit": 1, "per": 1}]}), "at $.limiters.a.window: must be an object"),
        (json!({"window": 5}), "at $.limiters.a.window: must be an object"),
        (json!({"quota": {"limit": 1, "per": "hour"}}), "at $.limiters.a.quota: must be day, week"),
        (
            json!({"quota": {"limit": 1, "per": "day", "timezone": "Mars"}}),
            "at $.limiters.a.quota: must be UTC, an offset",
        ),
        (
            json!({"quota": {"limit": 1, "per": "month", "starts": 32}}),
            "at $.limiters.a.quota: must be a day from 1 to 31",
        ),
        (json!({"quota": {"limit": 1, "per": 5}}), "at $.limiters.a.quota.per: must be a text"),
        (json!({"quota": {"limit": 1, "per": "month", "starts": -1}}), "at $.limiters.a.quota.starts: must be a whole"),
        (
            json!({"points": {"limit": 1, "refill": 1, "refund": "half"}}),
            "at $.limiters.a.points.refund: must be full or",
        ),
        (
            json!({"window": {"limit": 1, "per": 1, "refund": "full"}}),
            "at $.limiters.a.window.refund: is not known here",
        ),
        (json!({"limits": {}}), "at $.limiters.a: has no limit"),
        (json!({"limits": [window]}), "at $.limiters.a.limits: must be an object"),
        (json!({"limits": {"RPM": window}}), "at $.limiters.a.limits.RPM: must have 1 to 32 characters"),
        (json!({"limits": {"": window}}), "at $.limiters.a.limits[\"\"]: must have 1 to 32 characters"),
        (json!({"limits": {"rpm": {}}}), "at $.limiters.a.limits.rpm: must have one kind"),
        (json!({"limits": {"rpm": null}}), "at $.limiters.a.limits.rpm: must be an object"),
        (
            json!({"limits": {"rpm": {"window": {"limit": 1, "per": 1}, "throttle": {"every": 1}}}}),
            "at $.limiters.a.limits.rpm: must have one kind",
        ),
        (json!({"limits": {"rpm": {"paused": true}}}), "at $.limiters.a.limits.rpm.paused: is not known here"),
        (json!({"limits": {"rpm": {"window": {"limit": 1}}}}), "at $.limiters.a.limits.rpm.window.per: is missing"),
        (json!({"limits": {"rpm": {"window": {"limit": 0, "per": 1}}}}), "at $.limiters.a.limits.rpm.window: "),
        (
            json!({"throttle": {"every": 1}, "limits": {"throttle": start}}),
            "at $.limiters.a: two limits have the same label; give each its own: label=throttle",
        ),
        (
            json!({"throttle": {"every": 1}, "limits": {"throttle": window}}),
            "at $.limiters.a: two limits have the same",
        ),
        (
            json!({"concurrency": {"limit": 1}, "limits": {"b": {"concurrency": {"limit": 1}}}}),
            "at $.limiters.a: a policy has at most one concurrency limit",
        ),
        (json!({"unlimited": true, "limits": {"b": start}}), "at $.limiters.a: unlimited excludes other limits"),
        (json!({"limits": nine}), "at $.limiters.a: a policy has one to 8 limits"),
        (json!({"concurrency": [{"limit": 1}]}), "at $.limiters.a.concurrency: must be an object"),
        (json!({"bucket": {"limit": 1, "per": 1, "offset": 1}}), "at $.limiters.a.bucket: must be below"),
        (json!({"paused": true, "group": ""}), "at $.limiters.a.group: must have 1 to 512 bytes"),
        (json!({"paused": true, "group": 5}), "at $.limiters.a.group: "),
        (json!({"paused": true, "keyed": "yes"}), "at $.limiters.a.keyed: "),
        (json!({"paused": true, "statistics": 0}), "at $.limiters.a.statistics: "),
        (json!({"paused": true, "mode": "off"}), "at $.limiters.a.mode: must be enforce or shadow"),
        (json!({"paused": true, "mode": true}), "at $.limiters.a.mode: "),
        (json!({"paused": true, "block_after": 5}), "at $.limiters.a.block_after: must be an object"),
        (
            json!({"paused": true, "block_after": {"refusals": 0, "within": 1, "for": 1}}),
            "at $.limiters.a.block_after: must have 1 to 1000000 refusals",
        ),
        (
            json!({"paused": true, "block_after": {"refusals": 1, "within": 1, "for": "8d"}}),
            "at $.limiters.a.block_after: must be from one second to seven days",
        ),
        (json!({"paused": true, "block_after": {"refusals": 1, "within": 1}}), "at $.limiters.a.block_after"),
        (json!({"paused": true, "aging": 0.5}), "at $.limiters.a.aging: must be from one second to seven days"),
        (json!({"paused": true, "aging": "8d"}), "at $.limiters.a.aging: must be from one second to seven days"),
        (json!({"paused": true, "ttl": 0.5}), "at $.limiters.a.ttl: must be from one second"),
        (json!({"paused": true, "wait_timeout": -1}), "at $.limiters.a.wait_timeout: "),
        (json!({"paused": true, "on_limit": "retry"}), "at $.limiters.a.on_limit: must be raise"),
        (json!({"paused": 1}), "at $.limiters.a.paused: must be true or false"),
        (json!(null), "at $.limiters.a: must be an object"),
    ] {
        let error = Limits::read(&json!({"limiters": {"a": limiter}})).unwrap_err();
        assert!(error.message().starts_with(path), "{limiter}: {error}");
    }
}

#[test]
fn names_and_their_number_are_bounded() {
    let named = |name: &str| Limits::read(&json!({"limiters": {name: {"paused": true}}}));
    assert!(named(&"n".repeat(512)).is_ok());
    assert!(named("any name / is a name").is_ok());
    assert!(named("").unwrap_err().message().starts_with("at $.limiters[\"\"]: the name must have"));
    assert!(named(&"n".repeat(513)).is_err());
    let many = |count: usize| {
        let limiters: BTreeMap<String, Value> = (0..count).map(|i| (i.to_string(), json!({"paused": true}))).collect();
        Limits::read(&json!({ "limiters": limiters }))
    };
    assert_eq!(many(MAX_LIMITERS).unwrap().definitions().unwrap().len(), MAX_LIMITERS);
    assert!(many(MAX_LIMITERS + 1).unwrap_err().message().starts_with("at $.limiters: must be at most 10000"));
    assert!(Limits::read(&json!({"limiters": {}, "$schema": "x"})).unwrap().definitions().unwrap().is_empty());
}

fn spans() -> impl Strategy<Value = Span> {
    (1..=MAX_SPAN.0).prop_map(|micros| Span(Micros(micros)))
}

fn limiters() -> impl Strategy<Value = Limiter> {
    let window = || (1_u64..=100_000, spans()).prop_map(|(limit, per)| Window { limit, per });
    let throttle = || (prop::option::of(1..=9_u64), spans()).prop_map(|(limit, every)| Throttle { limit, every });
    let labelled = prop_oneof![window().prop_map(Labelled::Window), throttle().prop_map(Labelled::Throttle)];
    let labels = prop_oneof![Just("window".to_owned()), "[a-z][a-z0-9_-]{0,3}", "\\PC{1,3}"];
    let limits = prop::collection::btree_map(labels, labelled, 0..3);
    let concurrency = prop::option::of((0_u64..=100_000, prop::option::of(spans())))
        .prop_map(|both| both.map(|(limit, lock_timeout)| Concurrency { limit, lock_timeout }));
    let rest = (any::<bool>(), prop::option::of(spans()), prop::sample::select(&OnLimit::ALL[..]));
    (prop::option::of(window()), throttle(), limits, concurrency, rest).prop_map(
        |(window, throttle, limits, concurrency, (paused, wait_timeout, on_limit))| Limiter {
            concurrency,
            window,
            throttle: Some(throttle),
            limits,
            paused,
            wait_timeout,
            on_limit,
            ..Limiter::default()
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(limiters in prop::collection::btree_map("\\PC{1,20}", limiters(), 0..4)) {
        let limits = Limits { schema: None, limiters };
        let text = serde_json::to_string(&limits).unwrap();
        // A policy may be one that the core cannot count exactly, which both ways say.
        match limits.definitions() {
            Ok(definitions) => {
                let read = Limits::parse(&text).unwrap();
                prop_assert_eq!(&read, &limits);
                prop_assert_eq!(read.definitions().unwrap(), definitions);
            }
            Err(_) => prop_assert!(Limits::parse(&text).is_err()),
        }
    }
}
