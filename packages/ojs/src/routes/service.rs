//! The server itself: what it is, whether it works, and its events.

use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::{Answer, Outcome, Shared, object};
use crate::event::Event;
use crate::fault::Fault;

/// The events of an answer, unless the request says another number.
const EVENTS: usize = 100;

/// The most events of an answer.
const MAX_EVENTS: usize = 1_000;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/ojs/manifest", get(manifest))
        .route("/ojs/v1/health", get(health))
        .route("/ojs/v1/events", get(events))
        .route("/ojs/v1/test-clock/advance", post(advance))
}

async fn manifest() -> Answer {
    Answer::ok(json!({
        "specversion": "1.0",
        "implementation": {"name": "paddlegate", "version": env!("CARGO_PKG_VERSION"), "language": "rust"},
        "conformance_level": 1,
        "protocols": ["http"],
        "capabilities": {"rate_limiting": true, "dead_letter": true, "priorities": true, "scheduling": true},
        "extensions": [{"name": "rate-limiting", "uri": "urn:ojs:ext:rate-limiting", "version": "1.0.0"}],
    }))
}

async fn health(State(ojs): State<Shared>) -> Outcome {
    ojs.check().await?;
    Ok(Answer::ok(json!({"status": "ok"})))
}

/// The newest events, oldest first; `types` and `queues` are lists with commas between.
async fn events(State(ojs): State<Shared>, Query(query): Query<HashMap<String, String>>) -> Outcome {
    let list = |name: &str| query.get(name).map(|text| text.split(',').collect::<Vec<_>>());
    let (types, queues) = (list("types"), list("queues"));
    let count = match query.get("limit") {
        None => EVENTS,
        Some(text) => {
            let number = text.parse().ok().filter(|number| (1..=MAX_EVENTS).contains(number));
            number.ok_or_else(|| Fault::invalid("limit", format!("must be a number from 1 to {MAX_EVENTS}")))?
        }
    };
    let is_asked = |event: &&Event| {
        let queue = event.queue.as_deref();
        types.as_ref().is_none_or(|types| types.contains(&event.kind.as_str()))
            && queues.as_ref().is_none_or(|queues| queue.is_some_and(|queue| queues.contains(&queue)))
    };
    let all = ojs.events().await?;
    let asked: Vec<&Event> = all.iter().filter(is_asked).collect();
    let shown: Vec<Value> = asked[asked.len().saturating_sub(count)..].iter().map(|event| event.show()).collect();
    Ok(Answer::ok(json!({"events": shown})))
}

/// Moves the clock of a server for tests; a server by the wall has no such route.
async fn advance(State(ojs): State<Shared>, body: Body) -> Outcome {
    let clock = ojs.test_clock().ok_or_else(|| Fault::not_found("the server has no clock for tests"))?;
    let body = object(body).await?;
    let micros = body.get("micros").and_then(Value::as_u64);
    let micros = micros.ok_or_else(|| Fault::invalid("micros", "must be a whole number of microseconds"))?;
    clock.advance(std::time::Duration::from_micros(micros))?;
    Ok(Answer::ok(json!({"now_us": clock.now().0})))
}
