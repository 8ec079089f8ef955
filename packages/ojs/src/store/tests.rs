use futures_util::future::join_all;
use serde_json::{Value, json};

use super::*;
use crate::enqueue::Enqueue;
use crate::event::MAX_EVENTS;
use crate::testing::{connection, empty_redis};

/// A store in memory, and one in a database of Redis that is empty and no other test's.
async fn stores(database: u8) -> [Store; 2] {
    let redis = RedisStore::new(empty_redis(database).await, None);
    [Store::Memory(Box::new(MemoryStore::new(None))), Store::Redis(Box::new(redis))]
}

/// Writes a job, and returns it as a dead letter.
async fn dead_letter(store: &Store) -> Record {
    let body = json!({"type": "test", "args": [], "rate_limit": {"key": "one", "concurrency": 1}});
    let now = store.now().await.unwrap();
    let job = Enqueue::read(body.as_object().unwrap(), now).unwrap().job;
    let written = Change { before: None, after: job.clone(), events: Vec::new() };
    assert!(store.apply(&written).await.unwrap());
    let mut transition = store.get(&job.id).await.unwrap().unwrap().job.discarded(now);
    transition.job.is_dead_letter = true;
    let discarded = store.get(&job.id).await.unwrap().unwrap().becomes(transition);
    assert!(store.apply(&discarded).await.unwrap());
    store.get(&job.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_job_that_another_has_changed_is_not_forgotten() {
    for store in stores(10).await {
        let read = dead_letter(&store).await;
        let now = store.now().await.unwrap();
        let revived = read.job.revived(now);
        assert!(store.apply(&read.clone().becomes(revived)).await.unwrap());
        assert!(!store.forget(&read).await.unwrap(), "it is no dead letter any more");
        let place = Place::Available("default".to_owned());
        assert_eq!(store.page(&place, 0, 50).await.unwrap().len(), 1);
        assert_eq!(store.waiting("ojs/key/one").await.unwrap(), 1);
        let again = store.get(&read.job.id).await.unwrap().expect("the job is there");
        let cancelled = again.job.cancelled(now);
        assert!(store.apply(&again.becomes(cancelled)).await.unwrap());
        let ended = store.get(&read.job.id).await.unwrap().unwrap();
        assert!(store.forget(&ended).await.unwrap(), "nobody has changed it");
        assert!(!store.forget(&ended).await.unwrap(), "it is gone");
        assert!(store.get(&read.job.id).await.unwrap().is_none());
        assert!(store.over(&Place::Ended, now).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn ids_without_a_job_hide_no_job() {
    let [_, store] = stores(11).await;
    let read = dead_letter(&store).await;
    let revived = read.job.revived(store.now().await.unwrap());
    assert!(store.apply(&read.becomes(revived)).await.unwrap());
    let mut connection = connection(11).await;
    // More than one call takes away.
    for i in 0..1_020 {
        let key = "pgojs1:{ojs}:available:default";
        let _: () = ::redis::cmd("ZADD").arg(key).arg(0).arg(i).query_async(&mut connection).await.unwrap();
    }
    let place = Place::Available("default".to_owned());
    assert!(store.page(&place, 0, 50).await.unwrap().is_empty());
    assert_eq!(store.page(&place, 0, 50).await.unwrap().len(), 1);
    assert!(store.page(&place, 1, 50).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_policy_and_an_override_that_are_written_at_once_both_hold() {
    let policy = |rate: u64| {
        let document = json!({"rate_limit": {"key": "one", "rate": {"limit": rate, "period": "PT1S"}}});
        Definition::new(document.to_string())
    };
    let over = |value: Value| Definition::without_limits().with_override(value.as_object().unwrap()).unwrap();
    for store in stores(14).await {
        let read = async || store.definitions(&["one"]).await.unwrap().remove(0).expect("a definition");
        // An override of a key that nobody knows, and one that saw no other; then a policy that saw neither.
        store.add_strategies("one", &over(json!({"concurrency": 2}))).await.unwrap();
        store.add_strategies("one", &over(json!({"throttle": {"limit": 1, "period": "PT1S"}}))).await.unwrap();
        assert!(read().await.strategies().unwrap().is_empty());
        store.define("one", &policy(5)).await.unwrap();
        let all = over(json!({"concurrency": 2, "throttle": {"limit": 1, "period": "PT1S"}}));
        assert_eq!(read().await, policy(5).with_added_of(&all));
        // An override that has read an older policy.
        store.add_strategies("one", &policy(4)).await.unwrap();
        assert_eq!(read().await, policy(5).with_added_of(&all));
        store.define("one", &policy(6)).await.unwrap();
        assert_eq!(read().await, policy(6).with_added_of(&all));
    }
}

#[tokio::test]
async fn the_newest_events_are_kept() {
    for store in stores(12).await {
        let event = |name: String| Event::of_key("test", &name, 0, &json!({}));
        for i in 0..=MAX_EVENTS / 50 {
            let events: Vec<Event> = (0..50).map(|j| event(format!("{i}/{j}"))).collect();
            for written in join_all(events.iter().map(|event| store.write_event(event))).await {
                written.unwrap();
            }
        }
        let newest = event("newest".to_owned());
        store.write_event(&newest).await.unwrap();
        let kept = store.events().await.unwrap();
        assert_eq!(kept.len(), MAX_EVENTS);
        assert_eq!(kept.last(), Some(&newest));
        assert_eq!(kept[0].subject, event("1/1".to_owned()).subject, "the oldest is first");
    }
    // Redis keeps some more, which is why it matters from which end they are read.
    let kept: usize =
        ::redis::cmd("XLEN").arg("pgojs1:{ojs}:events").query_async(&mut connection(12).await).await.unwrap();
    assert!(kept > MAX_EVENTS, "{kept}");
}
