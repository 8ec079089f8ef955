//! Open Job Spec: the routes of the job server, for callers with a scope for `ojs/`.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::any;
use paddlegate::store::redis::DEFAULT_TIMEOUT;
use paddlegate_ojs::Ojs;

use crate::access::{Access, Scope};
use crate::app::App;
use crate::body;
use crate::problem::Problem;

/// The beginning of the names of all its limiters.
const NAMES: &str = "ojs/";

/// Returns the routes; none without `--ojs`. On a store that cannot keep jobs they say so, and the rest of the server works.
pub(super) fn router(app: &App) -> Router {
    // One of the routes moves the clock of tests.
    if !app.options().ojs && app.clock().is_none() {
        let detail = "the job server is off; start with --ojs";
        return Router::new().route("/ojs/{*path}", any(async move || Problem::not_found(detail)));
    }
    let (paddlegate, clock) = (app.paddlegate().clone(), app.clock().cloned());
    let ojs = match &app.options().redis {
        None => Ok(Ojs::memory(paddlegate, clock)),
        Some(url) => {
            let timeout = app.options().timeout.unwrap_or(DEFAULT_TIMEOUT.duration());
            Ojs::redis(paddlegate, url, timeout, clock)
        }
    };
    let routes = match ojs {
        Ok(ojs) => paddlegate_ojs::router(app.keep_ojs(ojs)),
        Err(why) => Router::new().route(
            "/ojs/{*path}",
            any(async move || Problem::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", why)),
        ),
    };
    routes.layer(middleware::from_fn_with_state(app.clone(), check))
}

/// Fails unless the caller may do what the request asks for, and its body is short and arrives in time.
async fn check(State(app): State<App>, access: Access, request: Request, next: Next) -> Result<Response, Problem> {
    access.check(scope(request.method(), request.uri().path()), NAMES)?;
    Ok(next.run(body::buffered(request, &app).await?).await)
}

fn scope(method: &Method, path: &str) -> Scope {
    let is_of_operators = ["/ojs/v1/rate-limits", "/ojs/v1/admin", "/ojs/v1/dead-letter"];
    match *method {
        Method::GET | Method::HEAD => Scope::Read,
        _ if is_of_operators.iter().any(|start| path.starts_with(start)) => Scope::Operate,
        _ => Scope::Decide,
    }
}
