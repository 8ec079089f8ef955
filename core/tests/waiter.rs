//! Tests the rules of a waiting call without a clock, with `tests/vectors/waiting.json`.

use paddlegate::{Decision, Kind, Label, Micros, QueuePosition, Reason, Status, Ticket, Waiter, reconnect_pause};
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../../tests/vectors/waiting.json");

#[test]
fn a_waiter_follows_the_vectors() {
    let vectors: Value = serde_json::from_str(VECTORS).expect("json");
    let cases = vectors["cases"].as_array().expect("cases");
    assert!(cases.len() > 20);
    for case in cases {
        let owns_id = case["owns_id"].as_bool().expect("a flag");
        let mut waiter = Waiter::new(owns_id, micros(&case["max_wait_us"]), micros(&case["now_us"])).expect("a waiter");
        for (number, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let answer = answer(&mut waiter, step);
            waiter = Waiter::from_words(waiter.words());
            assert_eq!(answer, step["expect"], "{}: step {number}", case["title"]);
        }
    }
}

#[test]
fn the_waiter_of_a_job_follows_the_vectors() {
    let vectors: Value = serde_json::from_str(VECTORS).expect("json");
    let cases = vectors["jobs"].as_array().expect("cases");
    assert!(cases.len() > 5);
    for case in cases {
        let (claim_timeout, patience) = (micros(&case["claim_timeout_us"]), micros(&case["patience_us"]));
        let mut waiter = Waiter::of_job(Some(claim_timeout), patience, micros(&case["now_us"])).expect("a waiter");
        for (number, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let answer = if step["do"] == "next" {
                let wait = waiter.next(micros(&step["now_us"]), text(&step["channel"]));
                assert_eq!((wait.claim_timeout, wait.keep), (claim_timeout, paddlegate::JOB_CLAIM_TIMEOUT));
                json!({ "max_wait_us": wait.max_wait.0, "ticket": ticket(wait.position), "channel": wait.channel })
            } else {
                answer(&mut waiter, step)
            };
            waiter = Waiter::from_words(waiter.words());
            assert_eq!(answer, step["expect"], "{}: step {number}", case["title"]);
        }
    }
}

#[test]
fn the_ticket_of_a_job_has_the_claim_timeout_of_admit() {
    let mut waiter = Waiter::of_job(None, Micros(0), Micros(0)).expect("a waiter");
    assert_eq!(waiter.next(Micros(0), "").claim_timeout, paddlegate::ADMISSION_CLAIM_TIMEOUT);
    let error = Waiter::of_job(None, Micros(3650 * 86_400 * 1_000_000 + 1), Micros(0)).unwrap_err();
    assert_eq!(error.argument(), Some("patience"));
}

#[test]
fn pauses_between_connections_follow_the_vectors() {
    let vectors: Value = serde_json::from_str(VECTORS).expect("json");
    let pauses = vectors["reconnect_pauses_us"].as_array().expect("pauses");
    for (failures, pause) in (0..).zip(pauses) {
        assert_eq!(reconnect_pause(failures), micros(pause), "failures={failures}");
    }
    assert_eq!(reconnect_pause(u32::MAX), reconnect_pause(9));
}

#[test]
fn a_wait_above_ten_years_is_an_error() {
    let error = Waiter::new(true, Micros(3650 * 86_400 * 1_000_000 + 1), Micros(0)).unwrap_err();
    assert_eq!(error.argument(), Some("wait_timeout"));
}

fn answer(waiter: &mut Waiter, step: &Value) -> Value {
    match step["do"].as_str().expect("a step") {
        "next" => {
            let wait = waiter.next(micros(&step["now_us"]), text(&step["channel"]));
            assert_eq!(wait.channel, text(&step["channel"]));
            json!({ "max_wait_us": wait.max_wait.0, "ticket": ticket(wait.position) })
        }
        "decision" => waiter.on_decision(micros(&step["now_us"]), &decision(step)).into(),
        "error" => {
            waiter.on_error(step["may_have_counted"].as_bool().expect("a flag"));
            Value::Null
        }
        "wakeup" => {
            waiter.on_wakeup(micros(&step["at_us"]));
            Value::Null
        }
        "retry_at" => waiter.retry_at(text(&step["channel"])).0.into(),
        "must_cancel" => waiter.must_cancel(step["delivered"].as_bool().expect("a flag")).into(),
        other => panic!("no such step: {other}"),
    }
}

fn decision(step: &Value) -> Decision {
    let status = match text(&step["status"]) {
        "granted" => Status::Granted,
        "queued" => Status::Queued,
        _ => Status::Refused,
    };
    let ticket = |number| Ticket { number, position: 0, ready_after: None };
    Decision {
        limiter: None,
        status,
        limit: Some(1),
        remaining: Some(0),
        retry_after: step["retry_after_us"].as_u64().map(Micros),
        reset_after: None,
        reason: (status != Status::Granted).then_some(Reason::Limit(Kind::Concurrency)),
        would_refuse: None,
        label: Some(Label::new("concurrency").expect("a label")),
        at: Micros(0),
        permit: None,
        lease: None,
        fencing_token: None,
        ticket: step["ticket"].as_u64().map(ticket),
        degraded: step["degraded"].as_bool().expect("a flag"),
        limits: Vec::new(),
        is_lowered: false,
    }
}

fn micros(value: &Value) -> Micros {
    Micros(value.as_u64().expect("microseconds"))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn ticket(position: QueuePosition) -> Option<u64> {
    match position {
        QueuePosition::End => None,
        QueuePosition::Number(number) => Some(number),
        QueuePosition::Existing => panic!("a waiter has a ticket or none"),
    }
}
