//! Tests that reading any text returns policies or an error with the location of the fault.

use std::fs;

use paddlegate::formats::ojs::{Override, Signal};
use paddlegate::{Document, ErrorKind, LOCK_TIMEOUT, Result};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/documents");

/// Passes a text to every reader and returns the number of definitions.
fn read(text: &str) -> Result<usize> {
    for result in [Override::parse(text, LOCK_TIMEOUT).map(drop), Signal::parse(text).map(drop)] {
        assert_says_where(result);
    }
    let definitions = Document::parse(text).and_then(|document| match (document.definitions(), document) {
        // A workflow with variables may have one limiter per run, so the document alone defines none.
        (Err(error), Document::Workflow(_)) if error.message().contains("has variables") => Ok(Vec::new()),
        (definitions, _) => definitions,
    });
    let definitions = definitions.map(|definitions| {
        assert!(definitions.iter().all(|definition| (1..=512).contains(&definition.name.len())));
        definitions.len()
    });
    assert_says_where(definitions.clone());
    definitions
}

fn assert_says_where<T>(result: Result<T>) {
    if let Err(error) = result {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(error.argument(), Some("document"));
        assert!(error.message().starts_with("at $"), "{error}");
        assert!(error.message().len() < 2_000, "{error}");
    }
}

/// Returns the texts of the corpus with their file names. The names of valid texts begin with `good-`.
fn corpus() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(CORPUS)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_corpus_is_read_or_refused() {
    let files = corpus();
    assert!(files.len() >= 30, "{}", files.len());
    for (name, text) in files {
        let result = read(&text);
        assert_eq!(result.is_ok(), name.starts_with("good-"), "{name}: {result:?}");
    }
}

#[test]
fn sizes_and_nesting_are_bounded() {
    let padded = |bytes: usize| format!("{}{}", r#"{"key":"a"}"#, " ".repeat(bytes - 11));
    assert_eq!(read(&padded(1 << 20)).unwrap(), 1);
    assert!(read(&padded((1 << 20) + 1)).unwrap_err().message().contains("at most 1048576 bytes"));
    for open in ["[", "{\"a\":", "{\"limiters\":", "[{\"rate_limit\":"] {
        assert!(read(&open.repeat(100_000)).is_err());
        assert!(read(&format!("{{\"key\":\"a\",\"rate\":{}", open.repeat(50_000))).is_err());
    }
}

#[test]
fn a_member_that_is_there_twice_is_refused() {
    for text in [
        r#"{"key":"a","key":"a"}"#,
        r#"{"key":"a","k\u0065y":"b"}"#,
        r#"{"key":"a","rate":{"limit":1,"limit":1,"period":"PT1S"}}"#,
        r#"{"limiters":{"x":{"paused":true},"x":{"paused":true}}}"#,
        r#"{"type":"job","args":[[{"a":1,"a":2}]],"rate_limit":{"key":"a"}}"#,
    ] {
        assert!(read(text).unwrap_err().message().contains("duplicate member"), "{text}");
    }
}

fn words() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "limiters",
        "limits",
        "rpm",
        "window",
        "points",
        "bucket",
        "leaky",
        "throttle",
        "concurrency",
        "limit",
        "per",
        "every",
        "refill",
        "key",
        "rate",
        "period",
        "interval",
        "on_limit",
        "rate_limit",
        "options",
        "queue",
        "max_per_second",
        "error",
        "type",
        "retry_after",
        "rate_limited",
        "expires_at",
        "PT1S",
        "P1W",
        "second",
        "500ms",
        "wait",
        "reservoir",
        "timeWindow",
        "rateLimitPerFrequency",
        "rateLimitConfig",
        "rate_limit_config",
        "rate_limit_per_frequency",
        "visibility_timeout_ms",
        "tags",
        "RATE_LIMIT",
        "RateLimitControlSlotList",
        "ActionsPerSecond",
        "FailOnOverflowSecond",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,8}"]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..100).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::hash_map(words(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Replaces the value at the path that the steps select.
fn put(value: &mut Value, steps: &[Index], new: Value) {
    let inner = match (steps.split_first(), value) {
        (Some((step, rest)), Value::Array(list)) if !list.is_empty() => {
            let at = step.index(list.len());
            Some((&mut list[at], rest))
        }
        (Some((step, rest)), Value::Object(members)) if !members.is_empty() => {
            let at = step.index(members.len());
            members.values_mut().nth(at).map(|member| (member, rest))
        }
        (_, place) => {
            *place = new;
            return;
        }
    };
    if let Some((inner, rest)) = inner {
        put(inner, rest, new);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_value_is_read_or_refused(value in values()) {
        let _ = read(&value.to_string());
    }

    #[test]
    fn any_change_of_a_value_is_read_or_refused(
        file in any::<Index>(), steps in prop::collection::vec(any::<Index>(), 0..5), new in values()
    ) {
        let good: Vec<String> = corpus().into_iter().filter(|(name, _)| name.starts_with("good-")).map(|(_, text)| text).collect();
        let mut value: Value = serde_json::from_str(file.get(&good).as_str()).unwrap();
        put(&mut value, &steps, new);
        let _ = read(&value.to_string());
    }

    #[test]
    fn any_change_of_a_text_is_read_or_refused(
        file in any::<Index>(), from in any::<Index>(), length in 0_usize..8, new in "\\PC{0,4}|[0-9eE.+-]{0,30}"
    ) {
        let files = corpus();
        let text = &file.get(&files).1;
        let start = from.index(text.len() + 1);
        let kept = text.char_indices().filter(|(at, _)| *at >= start + length).map(|(_, c)| c);
        let changed: String = text.char_indices().filter(|(at, _)| *at < start).map(|(_, c)| c).chain(new.chars()).chain(kept).collect();
        let _ = read(&changed);
    }
}
