use futures_util::future::join_all;
use paddlegate::{Answer, Micros, Operation, Page};

use super::*;
use crate::testing::{empty_redis, url};

const NOON: u64 = 1_795_262_400_000_000;

/// Servers in memory and in a database of Redis that is no other test's.
async fn servers(database: u8) -> [Ojs; 2] {
    drop(empty_redis(database).await);
    let redis = Ojs::redis(Paddlegate::memory(), &url(database), Duration::from_secs(10), None).unwrap();
    [Ojs::memory(Paddlegate::memory(), None), redis]
}

fn body(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other}"),
    }
}

async fn fetched(ojs: &Ojs) -> Vec<String> {
    let fetch = Fetch { queues: vec!["default"], count: 9, worker: Some("worker"), visibility: None };
    ojs.fetch(&fetch).await.unwrap().into_iter().map(|job| job.id).collect()
}

async fn enqueued_events(ojs: &Ojs) -> usize {
    ojs.events().await.unwrap().iter().filter(|event| event.kind == "job.enqueued").count()
}

#[tokio::test]
async fn a_job_that_expires_leaves_the_queue_of_its_limit() {
    let clock = TestClock::new(Micros(NOON)).unwrap();
    let ojs = Ojs::memory(Paddlegate::memory_with_clock(&clock), Some(clock.clone()));
    let policy = json!({"key": "one", "rate": {"limit": 1, "period": "PT10S"}, "on_limit": "reschedule"});
    let job = json!({
        "type": "test", "args": [], "rate_limit": policy, "options": {"expires_at": "2026-11-21T12:00:05Z"},
    });
    let mut jobs = Vec::new();
    for _ in 0..2 {
        jobs.push(ojs.enqueue(&body(job.clone())).await.unwrap().id);
    }
    assert_eq!(fetched(&ojs).await, jobs[..1]);
    let tickets = async || {
        let key = ojs.key("one").await.unwrap();
        match key.limiter.run_async(Operation::Inspect { page: Page { offset: 0, count: 0 } }).await.unwrap() {
            Answer::Inspection(inspection) => inspection.ticket_count,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(tickets().await, 1);
    clock.advance(Duration::from_secs(10)).unwrap();
    assert!(fetched(&ojs).await.is_empty());
    assert_eq!(ojs.job(&jobs[1]).await.unwrap().state, State::Discarded);
    assert_eq!(tickets().await, 0);
}

#[tokio::test]
async fn of_many_who_try_a_dead_letter_again_one_does() {
    for ojs in servers(13).await {
        let retry = json!({"max_attempts": 1, "on_exhaustion": "dead_letter"});
        let job = ojs.enqueue(&body(json!({"type": "test", "args": [], "options": {"retry": retry}}))).await.unwrap();
        assert_eq!(fetched(&ojs).await, [&*job.id]);
        ojs.nack(&job.id, None, &json!({"code": "failed"}), false).await.unwrap();
        let before = enqueued_events(&ojs).await;
        let tried = join_all((0..8).map(|_| ojs.revive(&job.id))).await;
        assert_eq!(tried.iter().filter(|tried| tried.is_ok()).count(), 1);
        assert!(tried.iter().filter_map(|tried| tried.as_ref().err()).all(|fault| fault.status.as_u16() == 404));
        assert_eq!(enqueued_events(&ojs).await, before + 1);
        assert_eq!(fetched(&ojs).await, [&*job.id]);
        assert!(ojs.forget_dead_letter(&job.id).await.is_err(), "it is no dead letter any more");
        assert_eq!(ojs.job(&job.id).await.unwrap().state, State::Active);
    }
}
