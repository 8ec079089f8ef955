//! Tests the parsing of Conductor task and workflow definitions, and the keys of workflows.

use crate::formats_support::{corpus, nearly};
use crate::support::sequence::config;
use paddlegate::formats::conductor::{RESPONSE_TIMEOUT, TaskDefinition, Template, WorkflowDefinition};
use paddlegate::{Kind, LOCK_TIMEOUT, Limit, Micros, OnLimit};
use proptest::prelude::*;
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000;
const SEEDS: &str = "proptest-regressions/formats_conductor.txt";

/// Returns a task definition: `task(json!([12, 5, 2]))` has `12` tasks per `5` seconds, `2` at once.
fn task(numbers: &Value) -> TaskDefinition {
    let document = json!({
        "name": "task",
        "rateLimitPerFrequency": numbers[0],
        "rateLimitFrequencyInSeconds": numbers[1],
        "concurrentExecLimit": numbers[2],
    });
    TaskDefinition::parse(&document.to_string()).expect("a task definition")
}

fn workflow(limit: &Value) -> WorkflowDefinition {
    WorkflowDefinition::parse(&json!({ "name": "w", "rateLimitConfig": limit }).to_string()).expect("a workflow")
}

#[test]
fn the_documents_of_the_corpus_are_read() {
    let task = TaskDefinition::parse(&corpus("good-conductor-task.json")).unwrap();
    let definition = &task.definitions().unwrap()[0];
    let limits: Vec<_> =
        definition.policy.limits().iter().map(|limit| (limit.kind(), limit.amount(), limit.interval().0)).collect();
    assert_eq!(definition.name, "conductor/task/encode_task");
    assert_eq!(definition.on_limit, OnLimit::Wait);
    assert_eq!(limits, [(Kind::Concurrency, 2, 3_600 * SECOND), (Kind::Window, 12, 5 * SECOND)]);

    let unlimited = TaskDefinition::parse(&corpus("good-conductor-task-unlimited.json")).unwrap();
    assert_eq!(unlimited.definitions().unwrap()[0].policy.limits(), []);
    assert_eq!((unlimited.response_timeout, RESPONSE_TIMEOUT.0), (RESPONSE_TIMEOUT, 3_600 * SECOND));

    let workflow_definition = WorkflowDefinition::parse(&corpus("good-conductor-workflow.json")).unwrap();
    let run = json!({ "input": { "customer": { "id": 7 } }, "version": 2 });
    assert_eq!(workflow_definition.key(&run).unwrap().as_deref(), Some("7-2"));
    let policy = workflow_definition.policy(LOCK_TIMEOUT).unwrap();
    assert_eq!(policy.concurrency().map(|limit| (limit.amount(), limit.interval())), Some((3, LOCK_TIMEOUT)));

    let reject = WorkflowDefinition::parse(&corpus("good-conductor-workflow-reject.json")).unwrap();
    assert_eq!((reject.key(&json!({})).unwrap().as_deref(), reject.on_limit), (Some("max"), OnLimit::Raise));

    let tag = WorkflowDefinition::parse(&corpus("good-conductor-workflow-tag.json")).unwrap();
    assert_eq!((tag.concurrent_exec_limit, tag.on_limit), (3, OnLimit::Wait));
    assert_eq!(tag.key(&json!({ "correlationId": "a" })).unwrap().as_deref(), Some("a"));
}

#[test]
fn snake_case_is_read_as_conductor_python_writes_it() {
    let task = TaskDefinition::parse(&corpus("good-conductor-task-python.json")).unwrap();
    let limits = &task.definitions().unwrap()[0].policy;
    let limits: Vec<_> =
        limits.limits().iter().map(|limit| (limit.kind(), limit.amount(), limit.interval().0)).collect();
    assert_eq!(limits, [(Kind::Concurrency, 2, 60 * SECOND), (Kind::Window, 12, 5 * SECOND)]);
    let workflow_definition = WorkflowDefinition::parse(&corpus("good-conductor-workflow-python.json")).unwrap();
    assert_eq!(
        (workflow_definition.key(&json!({})).unwrap().as_deref(), workflow_definition.concurrent_exec_limit),
        (Some("max"), 3)
    );
    let both = r#"{"name": "a", "concurrentExecLimit": 1, "concurrent_exec_limit": 1}"#;
    let error = TaskDefinition::parse(both).unwrap_err();
    assert!(error.message().starts_with("at $.concurrent_exec_limit: is the same as"), "{error}");
}

#[test]
fn former_names_of_a_rate_limit_are_read() {
    for limit in [
        json!({ "tag": "max", "concurrentExecutionLimit": 3 }),
        json!({ "tag": "max", "concurrent_execution_limit": 3, "rate_limit_key": null, "concurrent_exec_limit": null }),
    ] {
        let former = workflow(&limit);
        assert_eq!((former.key(&json!({})).unwrap().as_deref(), former.concurrent_exec_limit), (Some("max"), 3));
    }
    for (limit, path) in [
        (json!({ "tag": "max", "rateLimitKey": "max" }), "at $.rateLimitConfig.tag: "),
        (
            json!({ "concurrent_execution_limit": 1, "concurrent_exec_limit": 1 }),
            "at $.rateLimitConfig.concurrent_execution_limit: ",
        ),
    ] {
        let document = json!({ "name": "w", "rateLimitConfig": limit }).to_string();
        let error = WorkflowDefinition::parse(&document).unwrap_err();
        assert!(error.message().starts_with(path), "{error}");
    }
}

#[test]
fn a_workflow_with_one_key_is_a_definition() {
    let fixed = workflow(&json!({ "rateLimitKey": "max", "concurrentExecLimit": 3 }));
    let definition = &fixed.definitions(LOCK_TIMEOUT).unwrap()[0];
    assert_eq!(definition.name, "conductor/workflow/max");
    assert_eq!(definition.policy.concurrency().map(Limit::amount), Some(3));
    let free = workflow(&json!({ "concurrentExecLimit": 3 })).definitions(LOCK_TIMEOUT).unwrap();
    assert_eq!((free[0].name.as_str(), free[0].policy.limits()), ("conductor/unlimited/w", [].as_slice()));
    let by_run = workflow(&json!({ "rateLimitKey": "a-${workflow.input.x}", "concurrentExecLimit": 3 }));
    let error = by_run.definitions(LOCK_TIMEOUT).unwrap_err();
    assert!(error.message().starts_with("at $.rateLimitConfig.rateLimitKey: has variables"), "{error}");
    let long = workflow(&json!({ "rateLimitKey": "k".repeat(494), "concurrentExecLimit": 3 }));
    assert!(long.definitions(LOCK_TIMEOUT).unwrap_err().message().starts_with("at $"));
}

#[test]
fn no_limit() {
    let unlimited =
        [json!([0, 0, 0]), json!([-1, -1, -1]), json!([5, 0, 0]), json!([5, -3, null]), json!([null, 5, 0])];
    for numbers in unlimited {
        assert_eq!(task(&numbers).definitions().unwrap()[0].policy.limits(), [], "{numbers}");
    }
    assert_eq!(TaskDefinition::parse(r#"{"name":"a"}"#).unwrap().definitions().unwrap()[0].policy.limits(), []);
    let limit = &task(&json!([5, null, null])).definitions().unwrap()[0].policy.limits()[0].clone();
    assert_eq!((limit.kind(), limit.amount(), limit.interval()), (Kind::Window, 5, Micros(SECOND)));
}

#[test]
fn an_empty_key_is_not_limited() {
    let by_input = workflow(&json!({ "rateLimitKey": "${workflow.input.x}", "concurrentExecLimit": 3 }));
    for input in [json!({}), json!({ "x": null }), json!({ "x": "" }), json!(null), json!("x")] {
        assert_eq!(by_input.key(&json!({ "input": input })).unwrap(), None, "{input}");
    }
    for limit in [json!(null), json!({}), json!({ "rateLimitKey": null }), json!({ "rateLimitKey": "" })] {
        assert_eq!(workflow(&limit).key(&json!({})).unwrap(), None, "{limit}");
    }
    let unlimited = workflow(&json!({ "rateLimitKey": "max", "concurrentExecLimit": 0 }));
    assert_eq!(unlimited.policy(LOCK_TIMEOUT).unwrap().limits(), []);
    assert!(by_input.key(&json!("input")).is_err());
}

#[test]
fn a_run_may_be_in_snake_case_as_clients_and_the_server_write_it() {
    let key: Template = "${workflow.correlationId}/${workflow.version}/${workflow.input.orderId}".parse().unwrap();
    for run in [
        json!({ "correlation_id": "C", "workflow_version": 2, "input": { "orderId": 7 } }),
        json!({ "correlationId": "C", "workflowVersion": 2, "input": { "orderId": 7 } }),
        json!({ "correlationId": "C", "correlation_id": "D", "version": 2, "workflowVersion": 3, "input": { "orderId": 7 } }),
    ] {
        assert_eq!(key.resolve(&run).unwrap().as_deref(), Some("C/2/7"), "{run}");
    }
    let run = json!({ "correlation_id": "C", "version": 2, "input": { "order_id": 7 } });
    assert_eq!(key.resolve(&run).unwrap(), None, "the names in the input are the caller's");
}

#[test]
fn templates() {
    let run = json!({
        "input": { "x": "X", "n": 5, "yes": true, "a": { "b": { "c": "deep" } }, "ids": [{ "id": "first" }] },
        "correlationId": "C",
        "version": 2,
    });
    for (template, key) in [
        ("max", Some("max")),
        ("${workflow.input.x}", Some("X")),
        ("${workflow.correlationId}/${workflow.version}", Some("C/2")),
        ("a-${workflow.input.n}-${workflow.input.yes}-z", Some("a-5-true-z")),
        ("${workflow.input.a.b.c}", Some("deep")),
        ("${workflow.input.ids[0].id}", Some("first")),
        ("${ workflow.input.x }", Some("X")),
        ("5$", Some("5$")),
        ("$5 ${workflow.input.x}$", Some("$5 X$")),
        ("$workflow.input.x", Some("$workflow.input.x")),
        ("$${workflow.input.x}", Some("${workflow.input.x}")),
        ("{x} é }", Some("{x} é }")),
        ("${workflow.input.y}", None),
        ("a-${workflow.input.y}", None),
        ("${workflow.input.x.y}", None),
        ("${workflow.input.ids[1].id}", None),
        ("${encode.output.x}", None),
        ("", None),
    ] {
        let resolved = template.parse::<Template>().unwrap().resolve(&run).unwrap();
        assert_eq!(resolved.as_deref(), key, "{template}");
    }
    for template in [
        "${workflow.input",
        "${",
        "${${workflow.input.x}}",
        "${workflow.input.{x}}",
        "${}",
        "${ }",
        "${a..b}",
        "${a.}",
        "${a[}",
        "${a[]}",
        "${a[x]}",
        "${a[1]b}",
        "${a['b']}",
        "${[0]}",
        "${a[99999999999999999999999]}",
    ] {
        let error = template.parse::<Template>().unwrap_err();
        assert_eq!(error.argument(), Some("rate_limit_key"), "{template}");
    }
    for template in ["${workflow}", "${workflow.input}", "${workflow.input.ids}"] {
        let error = template.parse::<Template>().unwrap().resolve(&run).unwrap_err();
        assert_eq!(error.argument(), Some("workflow"), "{template}");
    }
}

#[test]
fn faults_name_their_path() {
    for (document, path) in [
        (json!([]), "$:"),
        (json!({}), "$.name:"),
        (json!({ "name": "" }), "$.name:"),
        (json!({ "name": "a".repeat(494) }), "$.name:"),
        (json!({ "name": "a", "rateLimitPerFrequency": 1.5 }), "$.rateLimitPerFrequency:"),
        (json!({ "name": "a", "rateLimitPerFrequency": "5" }), "$.rateLimitPerFrequency:"),
        (json!({ "name": "a", "rateLimitPerFrequency": 100_001 }), "$.rateLimitPerFrequency:"),
        (json!({ "name": "a", "rateLimitFrequencyInSeconds": u64::MAX }), "$.rateLimitFrequencyInSeconds:"),
        (json!({ "name": "a", "rateLimitFrequencyInSeconds": i64::MAX }), "$.rateLimitFrequencyInSeconds:"),
        (json!({ "name": "a", "concurrentExecLimit": 100_001 }), "$.concurrentExecLimit:"),
        (json!({ "name": "a", "responseTimeoutSeconds": true }), "$.responseTimeoutSeconds:"),
    ] {
        let error = TaskDefinition::parse(&document.to_string()).unwrap_err();
        assert!(error.message().starts_with(&format!("at {path}")), "{document}: {error}");
    }
    let config = |config: Value| json!({ "name": "a", "rateLimitConfig": config });
    let tag = json!({ "type": "RATE_LIMIT", "key": "k", "value": 1 });
    for (document, path) in [
        (config(json!(3)), "$.rateLimitConfig:"),
        (config(json!({ "limit": 3 })), "$.rateLimitConfig.limit:"),
        (config(json!({ "policy": "queue" })), "$.rateLimitConfig.policy:"),
        (config(json!({ "rateLimitKey": "${" })), "$.rateLimitConfig.rateLimitKey:"),
        (config(json!({ "concurrentExecLimit": "${workflow.input.x}" })), "$.rateLimitConfig.concurrentExecLimit:"),
        (json!({ "name": "a", "tags": [tag, tag] }), "$.tags[1]:"),
        (json!({ "name": "a", "tags": [tag], "rateLimitConfig": {} }), "$.tags[0]:"),
        (json!({ "name": "a", "tags": [1] }), "$.tags[0]:"),
        (json!({ "name": "a", "tags": [{ "type": 1 }] }), "$.tags[0].type:"),
    ] {
        let error = WorkflowDefinition::parse(&document.to_string()).unwrap_err();
        assert!(error.message().starts_with(&format!("at {path}")), "{document}: {error}");
        assert_eq!(error.argument(), Some("document"));
    }
}

proptest! {
    #![proptest_config(config(500, SEEDS))]

    #[test]
    fn nothing_panics(
        task in nearly(&["name", "rateLimitPerFrequency", "rateLimitFrequencyInSeconds", "concurrentExecLimit", "responseTimeoutSeconds"]),
        config in nearly(&["rateLimitKey", "concurrentExecLimit", "policy"]),
        run in nearly(&["input", "correlationId", "version"]),
        text: String,
    ) {
        let read = |text: &str| TaskDefinition::parse(text).and_then(|task| task.definitions());
        for text in [task.to_string(), config.to_string(), text.clone()] {
            if let Err(error) = read(&text) {
                prop_assert!(error.message().starts_with("at $"), "{}", error);
            }
        }
        match WorkflowDefinition::parse(&json!({ "name": "w", "rateLimitConfig": config }).to_string()) {
            Ok(workflow) => {
                let _ = workflow.key(&run);
                let _ = workflow.policy(LOCK_TIMEOUT);
            }
            Err(error) => prop_assert!(error.message().starts_with("at $"), "{}", error),
        }
    }

    #[test]
    fn no_template_panics(template in "([${}\\[\\].a0 é]|\\$\\{|workflow|input)*", run in nearly(&["input", "a"])) {
        if let Ok(template) = template.parse::<Template>() {
            let _ = template.resolve(&run);
        }
    }

    #[test]
    fn a_text_without_dollars_is_its_own_key(text in "[^$]{1,40}") {
        prop_assert_eq!(text.parse::<Template>().unwrap().resolve(&json!({})).unwrap(), Some(text));
    }
}
