//! Helpers that the document tests share; each test uses only some of them.
#![allow(dead_code, unreachable_pub)]

use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns a document of the corpus.
pub fn corpus(name: &str) -> String {
    let path = format!("{}/tests/corpus/documents/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Generates an object with some of the members, mostly with plausible values, and rarely an unknown member.
pub fn nearly(members: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let member = prop_oneof![20 => prop::sample::select(members).prop_map(str::to_owned), 1 => ".{0,12}"];
    prop_oneof![
        12 => prop::collection::hash_map(member, value(), 0..=members.len()).prop_map(|members| json!(members)),
        1 => value(),
    ]
}

/// Generates values that parsers are likely to mishandle.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => (-2..100_i64).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        2 => prop::sample::select(TEXTS).prop_map(Value::from),
        1 => ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(".{0,6}", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

const TEXTS: &[&str] = &[
    "a",
    "a*",
    "*",
    "${workflow.input.x}",
    "${workflow.correlationId}-$",
    "${",
    "QUEUE",
    "1.2.3.4/5",
    "1.2.3.4/99",
    "::ffff:1.2.3.4/120",
    "::/0",
    "fe80::1%eth0",
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00",
    "-009999-01-01T00:00:00Z",
    "9999-12-31T23:59:60.999999999Z",
    "2026-13-01T00:00:00Z",
];
