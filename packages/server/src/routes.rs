//! The routes, a module for each noun, and what holds for all of them.

mod acquire;
mod audit;
pub(crate) mod changes;
mod check;
mod events;
pub(crate) mod health;
mod jobs;
mod learn;
pub(crate) mod limiters;
mod many;
mod metrics;
mod ojs;
mod settle;
mod together;

pub(crate) use self::acquire::unexpected;

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::guard::guard;
use crate::problem::Problem;
use crate::{openapi, pages};

/// Returns all routes; the metrics only if they have no address of their own.
pub(crate) fn router(app: &App) -> Router {
    let (api, document) = api().split_for_parts();
    let document: Arc<str> = openapi::document(&document).to_string().into();
    let json = [(header::CONTENT_TYPE, "application/json")];
    let routes = Router::new()
        .merge(health::router())
        .merge(api)
        .merge(ojs::router(app).with_state(()))
        .merge(pages::router())
        .route("/openapi.json", get(async move || (json, document.to_string())));
    let routes = if app.options().metrics.is_none() { routes.merge(metrics::router()) } else { routes };
    guarded(routes.fallback(unknown), app)
}

/// Returns the routes of the metrics' own address.
pub(crate) fn metrics_router(app: &App) -> Router {
    guarded(metrics::router().merge(health::router()).fallback(unknown), app)
}

/// Returns the routes while all connections are in use, so that the server can still say whether it runs.
pub(crate) fn crowded_router(app: &App) -> Router {
    let busy = async || {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "all connections are in use; call again");
        ([(header::RETRY_AFTER, "1")], problem)
    };
    guarded(health::router().fallback(busy), app)
}

async fn unknown(uri: Uri) -> Problem {
    Problem::not_found(format!("no such route: path={:?}", uri.path()))
}

/// Adds what holds for all routes.
fn guarded(routes: Router<App>, app: &App) -> Router {
    routes
        .method_not_allowed_fallback(async |method: Method| {
            let detail = format!("this route does not take the method; see the header allow: method={method}");
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .layer(from_fn_with_state(app.clone(), guard))
        .with_state(app.clone())
}

/// Returns the routes that the `OpenAPI` document describes.
fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base())
        .merge(acquire::router())
        .merge(check::router())
        .merge(many::router())
        .merge(settle::router())
        .merge(jobs::router())
        .merge(learn::router())
        .merge(together::router())
        .merge(limiters::router())
        .merge(changes::router())
        .merge(audit::router())
        .merge(events::router())
}
