//! Tests that no two limiters that documents define have the same name, whatever keys users choose.

use crate::support::sequence::config;
use paddlegate::formats::conductor::WorkflowDefinition;
use paddlegate::{Document, LoadOptions, Paddlegate};
use proptest::prelude::*;
use serde_json::{Value, json};

const SEEDS: &str = "proptest-regressions/formats_names.txt";

/// The definition that a limiter comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    Native(String),
    OjsKey {
        tenant: Option<String>,
        key: String,
    },
    OjsQueue {
        tenant: Option<String>,
        queue: String,
    },
    Task(String),
    Run(String),
    Group {
        queue: String,
        group: String,
    },
    /// The level is empty for the limiter of all levels that fail.
    Slot {
        name: String,
        level: &'static str,
    },
}

impl Origin {
    /// Returns the name of the limiter, or `None` when the document is refused.
    fn name(&self) -> Option<String> {
        let by = |document: &Value, options: &LoadOptions<'_>| {
            let definitions = Document::parse(&document.to_string()).ok()?.definitions_with(options).ok()?;
            assert_eq!(definitions.len(), 1, "{document}");
            Some(definitions[0].name.clone())
        };
        let plain = |document: Value| by(&document, &LoadOptions::default());
        match self {
            Self::Native(name) => plain(json!({ "limiters": { name: { "concurrency": { "limit": 1 } } } })),
            Self::OjsKey { tenant, key } => {
                let options = LoadOptions { tenant: tenant.as_deref(), ..LoadOptions::default() };
                by(&json!({ "key": key, "concurrency": 1 }), &options)
            }
            Self::OjsQueue { tenant, queue } => {
                let options = LoadOptions { tenant: tenant.as_deref(), ..LoadOptions::default() };
                by(&json!({ "queue": queue, "rate_limit": { "max_per_second": 1 } }), &options)
            }
            Self::Task(name) => plain(json!({ "name": name, "concurrentExecLimit": 1 })),
            Self::Run(key) => {
                let limit = json!({ "rateLimitKey": "${workflow.correlationId}", "concurrentExecLimit": 1 });
                let definition = json!({ "name": "w", "rateLimitConfig": limit }).to_string();
                let run = json!({ "correlationId": key }).to_string();
                let loaded = Paddlegate::memory().conductor_limiter(&definition, &run, None).ok()?;
                loaded.limiter.policy().concurrency().map(|_| loaded.limiter.name().to_owned())
            }
            Self::Group { queue, group } => {
                let options = LoadOptions { group: Some(group), ..LoadOptions::default() };
                by(&json!({ "name": queue, "reservoir": 1, "timeWindow": 1_000 }), &options)
            }
            Self::Slot { name, level } => {
                let slot = match *level {
                    "" => json!({ "Name": name, "ActionsPerSecond": 1 }),
                    "second" => json!({ "Name": name, "ActionsPerSecond": 1, "FailOnOverflowSecond": false }),
                    _ => json!({ "Name": name, "ActionsPerHour": 1, "FailOnOverflowHour": false }),
                };
                plain(json!({ "RateLimitControlSlotList": [slot] }))
            }
        }
    }
}

/// Generates texts that look like names and parts of names.
fn texts() -> impl Strategy<Value = String> {
    let words = vec![
        "erp",
        "acme",
        "api",
        "a",
        "ojs",
        "key",
        "queue",
        "tenant",
        "conductor",
        "task",
        "workflow",
        "unlimited",
        "guild",
        "invantive",
        "fail",
        "second",
        "hour",
        "/",
        ":",
        ".",
        "-",
    ];
    prop::collection::vec(prop::sample::select(words), 1..8).prop_map(|words| words.concat())
}

fn origins() -> impl Strategy<Value = Origin> {
    let tenant = || prop::option::of(texts());
    prop_oneof![
        texts().prop_map(Origin::Native),
        (tenant(), texts()).prop_map(|(tenant, key)| Origin::OjsKey { tenant, key }),
        (tenant(), texts()).prop_map(|(tenant, queue)| Origin::OjsQueue { tenant, queue }),
        texts().prop_map(Origin::Task),
        texts().prop_map(Origin::Run),
        (texts(), texts()).prop_map(|(queue, group)| Origin::Group { queue, group }),
        (texts(), prop::sample::select(vec!["", "second", "hour"]))
            .prop_map(|(name, level)| Origin::Slot { name, level }),
    ]
}

/// Returns origins whose keys are made from another limiter's name, as an attacker would choose them to use its slots.
fn named(name: &str) -> Vec<Origin> {
    let text = || name.to_owned();
    let mut origins = vec![
        Origin::Native(text()),
        Origin::OjsKey { tenant: None, key: text() },
        Origin::OjsQueue { tenant: None, queue: text() },
        Origin::Task(text()),
        Origin::Run(text()),
        Origin::Slot { name: text(), level: "" },
        Origin::Slot { name: text(), level: "hour" },
    ];
    for (at, _) in name.match_indices(['/', ':']) {
        let (before, after) = (name[..at].to_owned(), name[at + 1..].to_owned());
        origins.push(Origin::OjsKey { tenant: Some(before.clone()), key: after.clone() });
        origins.push(Origin::OjsQueue { tenant: Some(before.clone()), queue: after.clone() });
        origins.push(Origin::Group { queue: before, group: after });
    }
    origins
}

proptest! {
    #![proptest_config(config(3_000, SEEDS))]

    #[test]
    fn different_origins_have_different_names(one in origins(), other in origins()) {
        if let (Some(name), Some(again)) = (one.name(), other.name()) {
            prop_assert_eq!(name == again, one == other, "{:?} {:?}: {}", one, other, name);
        }
    }

    #[test]
    fn no_origin_has_the_name_of_another_origin(origin in origins()) {
        let Some(name) = origin.name() else { return Ok(()) };
        let tails = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
        for text in [name.as_str()].into_iter().chain(tails) {
            for other in named(text).into_iter().filter(|other| *other != origin) {
                prop_assert_ne!(other.name(), Some(name.clone()), "{:?} {:?}", origin, other);
            }
        }
    }
}

/// Reproduces a reported bug: the input of a workflow run selected a limiter of the program.
#[test]
fn a_run_does_not_use_the_slots_of_another_limiter() {
    let store = Paddlegate::memory();
    let erp = store.concurrent("erp", 1, std::time::Duration::from_secs(30)).unwrap();
    let definition = r#"{"name": "order", "rateLimitConfig":
        {"rateLimitKey": "${workflow.input.x}", "concurrentExecLimit": 1}}"#;
    let run = store.conductor_limiter(definition, r#"{"input": {"x": "erp"}}"#, None).unwrap().limiter;
    assert!(run.try_acquire(paddlegate::Request::cost(1)).unwrap().allowed());
    assert!(erp.try_acquire(paddlegate::Request::cost(1)).unwrap().allowed());
    assert_eq!(run.name(), WorkflowDefinition::limiter_name("erp"));
}

#[test]
fn a_tenant_with_a_key_differs_from_a_key_with_a_colon() {
    let name = |tenant: Option<&str>, key: &str| {
        let origin = Origin::OjsKey { tenant: tenant.map(str::to_owned), key: key.to_owned() };
        origin.name().expect("a name")
    };
    assert_ne!(name(None, "acme:api"), name(Some("acme"), "api"));
    assert_ne!(name(Some("a:b"), "c"), name(Some("a"), "b:c"));
}

#[test]
fn an_option_that_a_document_does_not_accept_is_named_in_the_error() {
    let store = Paddlegate::memory();
    let tenant = LoadOptions { tenant: Some("acme"), ..LoadOptions::default() };
    let group = LoadOptions { group: Some("7"), ..LoadOptions::default() };
    let lease = LoadOptions { lock_timeout: Some(paddlegate::Micros(90_000_000)), ..LoadOptions::default() };
    let ojs = r#"{"key": "a", "concurrency": 1}"#;
    let task = r#"{"name": "t", "concurrentExecLimit": 1, "responseTimeoutSeconds": 5}"#;
    let guild = r#"{"name": "g", "reservoir": 1, "timeWindow": 1000}"#;
    let native = r#"{"limiters": {}}"#;
    for (document, options, argument) in [
        (task, tenant, "tenant"),
        (guild, tenant, "tenant"),
        (native, tenant, "tenant"),
        (ojs, group, "group"),
        (guild, lease, "lock_timeout"),
        (native, lease, "lock_timeout"),
    ] {
        let error = store.load_with(document, &options).unwrap_err();
        assert_eq!(error.argument(), Some(argument), "{document}");
    }
    let lease_of = |document, options| {
        let limiter = store.load_with(document, options).unwrap().remove(0).limiter;
        limiter.policy().concurrency().map(|limit| limit.interval().0)
    };
    for document in [ojs, task, r#"{"name": "w", "rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1}}"#]
    {
        assert_eq!(lease_of(document, &lease), Some(90_000_000));
    }
    assert_eq!(lease_of(ojs, &tenant), Some(30_000_000));
    assert_eq!(store.load_with(guild, &group).unwrap()[0].limiter.name(), "guild/g:7");
}
