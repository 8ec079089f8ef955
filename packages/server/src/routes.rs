//! The routes, a module for each noun, and what holds for all of them.

mod health;

use axum::Router;
use axum::http::{Method, StatusCode, Uri};

use crate::app::App;
use crate::problem::Problem;

/// Returns all routes.
pub(crate) fn router(app: &App) -> Router {
    Router::new()
        .merge(health::router())
        .fallback(async |uri: Uri| Problem::not_found(format!("no such route: path={:?}", uri.path())))
        .method_not_allowed_fallback(async |method: Method| {
            let detail = format!("this route does not take the method; see the header allow: method={method}");
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .with_state(app.clone())
}
