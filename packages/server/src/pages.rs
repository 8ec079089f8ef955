//! The pages for people: the list, one limiter, the changes. They work without a script; a small one keeps numbers live.

mod changes;
mod chart;
mod degraded;
mod detail;
mod effect;
mod forms;
mod list;
mod replay;
mod row;
mod rows;
mod scenario;
mod show;
mod simulator;
mod sort;

use askama::Template;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::app::App;
use crate::problem::Problem;

pub(crate) use rows::Rows;

/// Returns the routes.
pub(crate) fn router() -> Router<App> {
    let style = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
    let script = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    Router::new()
        .route("/", get(async || Redirect::to("/ui/limiters")))
        .route("/ui/page.css", get(async move || (style, include_str!("../static/page.css"))))
        .route("/ui/page.js", get(async move || (script, include_str!("../static/page.js"))))
        .merge(list::router())
        .merge(detail::router())
        .merge(forms::router())
        .merge(changes::router())
        .merge(scenario::router())
        .merge(simulator::router())
}

/// Renders a template.
fn page(status: StatusCode, template: &impl Template) -> Result<Response, Problem> {
    let text = template.render().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", format!("cannot render: {error}"))
    })?;
    Ok((status, Html(text)).into_response())
}
