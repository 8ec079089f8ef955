//! The page of the simulator, if the server has it.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;

/// Where it is.
pub(super) const ADDRESS: &str = "/simulator/";

/// Its core is WebAssembly, which runs in a worker.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; \
     img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/simulator/", get(async |state, access| file(state, access, Path(String::new())).await))
        .route("/simulator/{*path}", get(file))
}

async fn file(State(app): State<App>, _access: Access, Path(path): Path<String>) -> Result<Response, Problem> {
    let Some(simulator) = app.simulator() else {
        return Err(Problem::not_found("the server has no simulator; start it with --simulator FOLDER"));
    };
    let file = simulator.get(&path).ok_or_else(|| Problem::not_found("the simulator has no such file"))?;
    let headers = [(header::CONTENT_TYPE, file.media_type), (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY)];
    Ok((headers, file.content.clone()).into_response())
}
