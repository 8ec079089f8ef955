//! Jobs: enqueue, read, cancel; and dead letters.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::routing::{delete, get, post};
use serde_json::{Value, json};

use super::{Answer, Outcome, Shared, object};
use crate::fault::Fault;
use crate::job::Job;
use crate::request::Members;

/// The most jobs of a batch.
const MAX_BATCH: usize = 1_000;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/ojs/v1/jobs", post(enqueue))
        .route("/ojs/v1/jobs/batch", post(enqueue_all))
        .route("/ojs/v1/jobs/{id}", get(read).delete(cancel))
        .route("/ojs/v1/dead-letter", get(dead_letters))
        .route("/ojs/v1/dead-letter/{id}", delete(forget))
        .route("/ojs/v1/dead-letter/{id}/retry", post(revive))
}

async fn enqueue(State(ojs): State<Shared>, body: Body) -> Outcome {
    let job = ojs.enqueue(&object(body).await?).await?;
    let location = format!("/ojs/v1/jobs/{}", job.id);
    Ok(Answer::created(json!({"job": job.show()}), location).with(ojs.headers_of(&job).await?))
}

/// Enqueues all jobs, or none when one is wrong.
async fn enqueue_all(State(ojs): State<Shared>, body: Body) -> Outcome {
    let body = object(body).await?;
    let jobs = Members::of(&body, "").list("jobs")?;
    let jobs = jobs.ok_or_else(|| Fault::invalid("jobs", "is missing; give a list of jobs"))?;
    if jobs.len() > MAX_BATCH {
        return Err(Fault::invalid("jobs", format!("must be at most {MAX_BATCH}: jobs={}", jobs.len())));
    }
    let no_object = |i: usize| Fault::invalid("jobs", format!("jobs[{i}] must be an object"));
    let objects = jobs.iter().enumerate().map(|(i, job)| job.as_object().ok_or_else(|| no_object(i)));
    let jobs = objects.collect::<Result<Vec<_>, _>>()?;
    let enqueued: Vec<Value> = ojs.enqueue_all(&jobs).await?.iter().map(Job::show).collect();
    Ok(Answer::created(json!({"jobs": enqueued, "count": enqueued.len()}), "/ojs/v1/jobs".to_owned()))
}

async fn read(State(ojs): State<Shared>, Path(id): Path<String>) -> Outcome {
    Ok(Answer::ok(json!({"job": ojs.job(&id).await?.show()})))
}

async fn cancel(State(ojs): State<Shared>, Path(id): Path<String>) -> Outcome {
    Ok(Answer::ok(json!({"job": ojs.cancel(&id).await?.show()})))
}

async fn dead_letters(State(ojs): State<Shared>) -> Outcome {
    let jobs: Vec<Value> = ojs.dead_letters().await?.iter().map(Job::show).collect();
    Ok(Answer::ok(json!({"jobs": jobs})))
}

async fn forget(State(ojs): State<Shared>, Path(id): Path<String>) -> Outcome {
    ojs.forget_dead_letter(&id).await?;
    Ok(Answer::ok(json!({"deleted": true, "job_id": id})))
}

async fn revive(State(ojs): State<Shared>, Path(id): Path<String>) -> Outcome {
    Ok(Answer::ok(json!({"job": ojs.revive(&id).await?.show()})))
}
