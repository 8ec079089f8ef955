//! For operators: a job whole, and the limits of a queue.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::routing::{get, put};
use serde_json::{Value, json};

use super::{Answer, Outcome, Shared, object};
use crate::fault::Fault;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/ojs/v1/admin/jobs/{id}", get(read))
        .route("/ojs/v1/admin/queues/{name}/rate-limit", put(limit))
        .route("/ojs/v1/admin/queues/{name}/config", put(configure))
}

async fn read(State(ojs): State<Shared>, Path(id): Path<String>) -> Outcome {
    Ok(Answer::ok(ojs.job(&id).await?.show()))
}

/// Takes `{"concurrency": 20, "rate": {...}}`.
async fn limit(State(ojs): State<Shared>, Path(queue): Path<String>, body: Body) -> Outcome {
    let policy = object(body).await?;
    if policy.contains_key("key") {
        return Err(Fault::invalid("key", "must not be given: the limits are those of the queue"));
    }
    configured(&ojs, &queue, policy.into()).await
}

/// Takes `{"concurrency": 30, "rate_limit": {"limit": 2000, "period": "PT1H"}}`; other members concern no limit.
async fn configure(State(ojs): State<Shared>, Path(queue): Path<String>, body: Body) -> Outcome {
    let body = object(body).await?;
    let mut policy = json!({});
    if let Some(Value::Object(rate_limit)) = body.get("rate_limit") {
        let names = if rate_limit.contains_key("limit") { "rate" } else { "" };
        if names.is_empty() {
            policy = rate_limit.clone().into();
        } else {
            policy[names] = rate_limit.clone().into();
        }
    }
    if let Some(concurrency) = body.get("concurrency") {
        policy["concurrency"] = concurrency.clone();
    }
    configured(&ojs, &queue, policy).await
}

async fn configured(ojs: &Shared, queue: &str, policy: Value) -> Outcome {
    let mut policy = policy;
    // A policy needs a key where it is no queue's; the name of the limiter is the queue's.
    policy["key"] = "queue".into();
    let key = ojs.configure_queue(queue, &json!({"rate_limit": policy})).await?;
    Ok(Answer::ok(ojs.show(&key).await?).with(key.headers().await?))
}
