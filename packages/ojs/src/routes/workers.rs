//! Workers: fetch, acknowledge, fail, heartbeat.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use paddlegate::Micros;
use serde_json::{Value, json};

use super::{Answer, Outcome, Shared, object};
use crate::fault::Fault;
use crate::job::{Job, State as JobState};
use crate::lifecycle::name;
use crate::request::Members;
use crate::server::Fetch;
use crate::time::rfc3339;

/// The most jobs of one fetch.
const MAX_COUNT: i64 = 1_000;

/// The longest visibility timeout: ten years.
const LONGEST_MS: i64 = 10 * 365 * 86_400 * 1_000;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/ojs/v1/workers/fetch", post(fetch))
        .route("/ojs/v1/workers/ack", post(ack))
        .route("/ojs/v1/workers/nack", post(nack))
        .route("/ojs/v1/workers/heartbeat", post(heartbeat))
}

async fn fetch(State(ojs): State<Shared>, body: Body) -> Outcome {
    let body = object(body).await?;
    let members = Members::of(&body, "");
    let queues = texts(&members, "queues")?;
    if queues.is_empty() {
        return Err(Fault::invalid("queues", "is missing; give a list of names"));
    }
    let fetch = Fetch {
        queues: queues.iter().map(String::as_str).collect(),
        count: usize::try_from(members.number("count", 1, MAX_COUNT)?.unwrap_or(1)).unwrap_or(1),
        worker: members.text("worker_id")?,
        visibility: visibility(&members)?,
    };
    let jobs: Vec<Value> = ojs.fetch(&fetch).await?.iter().map(Job::show).collect();
    Ok(Answer::ok(json!({"jobs": jobs})))
}

async fn ack(State(ojs): State<Shared>, body: Body) -> Outcome {
    let body = object(body).await?;
    let members = Members::of(&body, "");
    let job = ojs.ack(id(&members)?, members.text("worker_id")?, members.get("result")).await?;
    let completed_at = job.completed_at.map(rfc3339);
    let shown = json!({
        "acknowledged": true, "id": job.id, "job_id": job.id, "state": name(job.state), "completed_at": completed_at,
        "job": job.show(),
    });
    Ok(Answer::ok(shown).with(ojs.headers_of(&job).await?))
}

async fn nack(State(ojs): State<Shared>, body: Body) -> Outcome {
    let body = object(body).await?;
    let members = Members::of(&body, "");
    let error = members.object("error")?.cloned().unwrap_or_default().into();
    let requeue = members.flag("requeue")?.unwrap_or(false);
    let job = ojs.nack(id(&members)?, members.text("worker_id")?, &error, requeue).await?;
    let mut shown = json!({
        "id": job.id, "job_id": job.id, "state": name(job.state), "attempt": job.attempt,
        "max_attempts": job.retry.max_attempts, "job": job.show(),
    });
    match job.state {
        JobState::Retryable => {
            shown["next_attempt_at"] = job.scheduled_at.map(rfc3339).into();
            shown["retry_delay_ms"] = job.retry_delay_ms.into();
        }
        JobState::Discarded => {
            shown["discarded_at"] = job.discarded_at.map(rfc3339).into();
            shown["completed_at"] = job.completed_at.map(rfc3339).into();
        }
        _ => {}
    }
    Ok(Answer::ok(shown).with(ojs.headers_of(&job).await?))
}

async fn heartbeat(State(ojs): State<Shared>, body: Body) -> Outcome {
    let body = object(body).await?;
    let members = Members::of(&body, "");
    let worker =
        members.text("worker_id")?.ok_or_else(|| Fault::invalid("worker_id", "is missing; name the worker"))?;
    let (jobs, now) = ojs.heartbeat(worker, &texts(&members, "active_jobs")?, visibility(&members)?).await?;
    let extended: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
    Ok(Answer::ok(json!({"state": "running", "jobs_extended": extended, "server_time": rfc3339(now)})))
}

fn id<'a>(members: &Members<'a>) -> Result<&'a str, Fault> {
    members.text("job_id")?.ok_or_else(|| Fault::invalid("job_id", "is missing; name the job"))
}

fn texts(members: &Members<'_>, name: &str) -> Result<Vec<String>, Fault> {
    let texts = members.list(name)?.map(Vec::as_slice).unwrap_or_default();
    let texts: Option<Vec<String>> = texts.iter().map(|text| text.as_str().map(str::to_owned)).collect();
    texts.filter(|texts| texts.len() <= 1_000).ok_or_else(|| Fault::invalid(name, "must be at most 1000 texts"))
}

fn visibility(members: &Members<'_>) -> Result<Option<Micros>, Fault> {
    let milliseconds = members.number("visibility_timeout_ms", 1, LONGEST_MS)?;
    Ok(milliseconds.map(|milliseconds| Micros(milliseconds.unsigned_abs() * 1_000)))
}
