//! Tests the decisions of the limiters that Conductor task and workflow definitions define.

use crate::support::calls::acquire;
use crate::support::{calls, memory_with_clock};
use paddlegate::formats::conductor::{TaskDefinition, WorkflowDefinition};
use paddlegate::{
    Decision, JOB_CLAIM_TIMEOUT, LOCK_TIMEOUT, Limiter, MAX_SPAN, Micros, OnLimit, Paddlegate, Request, Settlement,
    Status, Wait,
};
use serde_json::{Value, json};

/// The start of a minute, in microseconds since 1970.
const START: u64 = 1_700_000_040_000_000;
const SECOND: u64 = 1_000_000;

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

fn limiter_of(pg: &Paddlegate, task: &TaskDefinition) -> Limiter {
    let definition = task.definitions().expect("definitions").remove(0);
    pg.limiter(&definition.name, definition.policy).expect("a limiter")
}

/// Returns whether a task is handed out at each of the times, in microseconds from the start.
fn polls(limiter: &Limiter, times: &[u64]) -> Vec<bool> {
    let poll = |time: &u64| acquire(limiter, Request::cost(1), START + time).allowed();
    times.iter().map(poll).collect()
}

fn enter(limiter: &Limiter, id: &str, time: u64) -> Decision {
    let wait = Wait { claim_timeout: JOB_CLAIM_TIMEOUT, ..Wait::up_to(MAX_SPAN) };
    calls::enter(limiter, id, 1, Some(wait), START + time)
}

fn release(limiter: &Limiter, permit: &str, time: u64) -> Settlement {
    calls::release(limiter, permit, START + time)
}

fn workflow(limit: &Value) -> WorkflowDefinition {
    WorkflowDefinition::parse(&json!({ "name": "w", "rateLimitConfig": limit }).to_string()).expect("a workflow")
}

#[test]
fn twelve_per_five_seconds() {
    let limiter = limiter_of(&memory_with_clock(), &task(&json!([12, 5, 0])));
    let times: Vec<u64> = (0..600).map(|tenth| tenth * SECOND / 10).collect();
    let passed = polls(&limiter, &times);
    assert_eq!(passed.iter().filter(|passed| **passed).count(), 144);
    assert!(passed.windows(50).all(|window| window.iter().filter(|passed| **passed).count() <= 12));
}

#[test]
fn rates() {
    let pg = memory_with_clock;
    let few = limiter_of(&pg(), &task(&json!([20, 60, 0])));
    assert_eq!(polls(&few, &[0, 1, 2, 3, 4]), [true; 5]);
    let one = limiter_of(&pg(), &task(&json!([1, 60, 0])));
    assert_eq!(polls(&one, &[0, 1]), [true, false]);
    let three = limiter_of(&pg(), &task(&json!([3, 3, 0])));
    let times = [0, 0, 0, 1, 2, 3 * SECOND, 3 * SECOND, 3 * SECOND, 3 * SECOND];
    assert_eq!(polls(&three, &times), [true, true, true, false, false, true, true, true, false]);
    let later = limiter_of(&pg(), &task(&json!([1, 1, 0])));
    assert_eq!(polls(&later, &[0, 1_500_000]), [true, true]);
}

#[test]
fn definitions_are_independent() {
    let (pg, a) = (memory_with_clock(), task(&json!([1, 60, 0])));
    let b = TaskDefinition { name: "other".to_owned(), ..a.clone() };
    assert_eq!(
        (polls(&limiter_of(&pg, &a), &[0, 1]), polls(&limiter_of(&pg, &b), &[0, 1])),
        (vec![true, false], vec![true, false])
    );
}

#[test]
fn definitions_of_one_name_share_its_tasks_whatever_they_limit() {
    let pg = memory_with_clock();
    let [running, both, started, free] = [json!([0, 0, 1]), json!([2, 60, 1]), json!([2, 60, 0]), json!([0, 0, 0])]
        .map(|task_of| limiter_of(&pg, &task(&task_of)));
    let first = enter(&running, "a", 0);
    assert_eq!(first.status, Status::Granted);
    // The definition gains a rate, and the task that runs counts.
    assert_eq!(enter(&both, "b", 1).status, Status::Queued);
    assert_eq!(enter(&running, "b", 2).status, Status::Queued);
    assert_eq!(release(&both, &first.permit.unwrap(), SECOND), Settlement::Released);
    assert_eq!(enter(&both, "b", SECOND).status, Status::Granted);
    // It loses its other limit, and the start counts; the first start was before there was a rate.
    assert_eq!(polls(&started, &[2 * SECOND, 3 * SECOND]), [true, false]);
    assert_eq!(polls(&free, &[3 * SECOND; 3]), [true; 3]);
    assert_eq!(enter(&running, "c", 4 * SECOND).status, Status::Queued);
}

#[test]
fn one_per_ten_seconds() {
    let limiter = limiter_of(&memory_with_clock(), &task(&json!([1, 10, 0])));
    assert_eq!(polls(&limiter, &[0, SECOND, 14 * SECOND]), [true, false, true]);
}

#[test]
fn a_completion_frees_the_slot_at_once() {
    let limiter = limiter_of(&memory_with_clock(), &task(&json!([0, 0, 1])));
    let (first, second) = (enter(&limiter, "a", 0), enter(&limiter, "b", 0));
    assert_eq!((first.status, second.status), (Status::Granted, Status::Queued));
    assert_eq!(release(&limiter, &first.permit.unwrap(), SECOND), Settlement::Released);
    assert_eq!(enter(&limiter, "b", SECOND).status, Status::Granted);
}

#[test]
fn a_holder_that_calls_again_keeps_its_permit() {
    let limiter = limiter_of(&memory_with_clock(), &task(&json!([0, 0, 1])));
    let (first, again) = (enter(&limiter, "a", 0), enter(&limiter, "a", SECOND));
    assert_eq!((first.status, again.status), (Status::Granted, Status::Granted));
    assert_eq!(first.permit, again.permit);
    assert_eq!(polls(&limiter, &[SECOND]), [false]);
    release(&limiter, &first.permit.unwrap(), SECOND);
    assert_eq!(polls(&limiter, &[SECOND, SECOND]), [true, false]);
}

#[test]
fn exactly_one_more_on_completion() {
    let limiter = limiter_of(&memory_with_clock(), &task(&json!([0, 0, 1])));
    let enter_all = |time| -> Vec<Decision> {
        (0..15)
            .map(|i| calls::enter(&limiter, &format!("{time}-{i}"), 1, None, START + time))
            .filter(Decision::allowed)
            .collect()
    };
    let first = enter_all(0);
    assert_eq!(first.len(), 1);
    release(&limiter, first[0].permit.as_deref().unwrap(), SECOND);
    assert_eq!(enter_all(SECOND).len(), 1);
}

#[test]
fn a_release_counts_once() {
    let limiter = limiter_of(&memory_with_clock(), &task(&json!([0, 0, 1])));
    let permit = enter(&limiter, "a", 0).permit.unwrap();
    assert_eq!(release(&limiter, &permit, 1), Settlement::Released);
    assert_eq!(release(&limiter, &permit, 1), Settlement::Unknown);
    assert_eq!(release(&limiter, &permit.replace('a', "b"), 1), Settlement::Unknown);
    assert_eq!(polls(&limiter, &[1, 1]), [true, false]);
}

#[test]
fn held_workflows_start_in_their_order() {
    let held = workflow(&json!({ "rateLimitKey": "max", "concurrentExecLimit": 3 }));
    assert_eq!(held.on_limit, OnLimit::Wait);
    let key = held.key(&json!({})).unwrap().unwrap();
    let limiter = memory_with_clock().limiter(&key, held.policy(Micros(3_600 * SECOND)).unwrap()).unwrap();
    let started: Vec<Decision> = (1..=6).map(|run| enter(&limiter, &run.to_string(), run)).collect();
    let status: Vec<Status> = started.iter().map(|decision| decision.status).collect();
    assert_eq!(status[..3], [Status::Granted; 3]);
    assert_eq!(status[3..], [Status::Queued; 3]);

    release(&limiter, started[0].permit.as_deref().unwrap(), SECOND);
    assert_eq!(enter(&limiter, "5", SECOND).status, Status::Queued);
    assert_eq!(enter(&limiter, "4", SECOND).status, Status::Granted);
    assert_eq!(enter(&limiter, "5", SECOND).status, Status::Queued);

    // The cancellation of the queued job 5 moves job 6 up.
    assert_eq!(calls::cancel(&limiter, "5", START + 2 * SECOND), Settlement::Cancelled);
    release(&limiter, started[1].permit.as_deref().unwrap(), 2 * SECOND);
    assert_eq!(enter(&limiter, "7", 2 * SECOND).status, Status::Queued);
    assert_eq!(enter(&limiter, "6", 2 * SECOND).status, Status::Granted);
    assert_eq!(enter(&limiter, "7", 2 * SECOND).status, Status::Queued);
}

#[test]
fn each_key_has_its_own_limit() {
    let by_id = workflow(&json!({ "rateLimitKey": "${workflow.correlationId}", "concurrentExecLimit": 3 }));
    let pg = memory_with_clock();
    for id in ["a", "b"] {
        let key = by_id.key(&json!({ "correlationId": id })).unwrap().unwrap();
        let limiter = pg.limiter(&key, by_id.policy(LOCK_TIMEOUT).unwrap()).unwrap();
        assert_eq!(polls(&limiter, &[0; 6]), [true, true, true, false, false, false], "{id}");
    }
}

#[test]
fn a_rejected_start_is_not_queued() {
    let reject = workflow(&json!({ "rateLimitKey": "max", "concurrentExecLimit": 1, "policy": "REJECT" }));
    assert_eq!(reject.on_limit, OnLimit::Raise);
    let limiter = memory_with_clock().limiter("max", reject.policy(LOCK_TIMEOUT).unwrap()).unwrap();
    let start = |id| calls::enter(&limiter, id, 1, None, START).status;
    assert_eq!((start("a"), start("b")), (Status::Granted, Status::Refused));
    let statistics = calls::statistics(&limiter, START);
    assert_eq!((statistics.leases, statistics.tickets), (1, 0));
}
