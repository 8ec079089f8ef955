//! Whether the process runs, and whether it can decide.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use paddlegate::{AdminCommand, Operation};

use crate::app::App;
use crate::problem::Problem;

/// A name that nobody uses, whose state is only looked up.
const PROBE: &str = "paddlegate-readyz";

/// Returns the routes.
pub(crate) fn router() -> Router<App> {
    Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(ready))
}

/// Ready while the store decides and the server does not stop.
async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    check(&app).await?;
    Ok("ready\n")
}

/// Fails while the server cannot decide.
pub(crate) async fn check(app: &App) -> Result<(), Problem> {
    if app.stopping().is_cancelled() {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the server stops"));
    }
    let probe = app.paddlegate().unlimited(PROBE)?.without_statistics()?;
    probe.run_async(Operation::Admin { command: AdminCommand::Get }).await?;
    Ok(())
}
