//! The least that a server with axum does: it reads a body of JSON and answers with one as long as a decision.

use axum::extract::Path;
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

#[derive(Deserialize)]
struct Asked {
    cost: u64,
}

/// The members of a decision, the same for every call.
#[derive(Default, Serialize)]
struct Answered {
    allowed: bool,
    status: &'static str,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry_after: Option<f64>,
    reset_after: Option<f64>,
    reason: Option<&'static str>,
    would_refuse: Option<&'static str>,
    label: Option<&'static str>,
    limiter: Option<String>,
    at_us: u64,
    permit: Option<String>,
    lease: Option<f64>,
    fencing_token: Option<u64>,
    ticket: Option<u64>,
    position: Option<u64>,
    ready_after: Option<f64>,
    degraded: bool,
    limits: Vec<u64>,
}

/// Serves on a free port, which it prints.
pub(crate) fn run() {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}", listener.local_addr().unwrap());
        let routes = Router::new().route("/v1/limiters/{name}/acquire", post(answer));
        axum::serve(listener, routes).await.unwrap();
    });
}

async fn answer(Path(name): Path<String>, Json(asked): Json<Asked>) -> Json<Answered> {
    Json(Answered {
        allowed: !name.is_empty(),
        status: "granted",
        limit: Some(1_000_000_000),
        remaining: Some(999_999_999 - asked.cost),
        retry_after: Some(0.0),
        reset_after: Some(0.000_001),
        label: Some("leaky"),
        at_us: 1_800_000_000_000_000,
        ..Answered::default()
    })
}
