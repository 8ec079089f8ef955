//! The metrics of all limiters, whatever program counted them, in the text of Prometheus.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::stream::{StreamExt, iter};

use crate::access::Access;
use crate::app::App;
use crate::metrics::Own;
use crate::metrics::text::Text;

/// Returns the routes.
pub(crate) fn router() -> Router<App> {
    Router::new().route("/metrics", get(metrics))
}

/// Exports what the caller may read. While the store cannot decide, only `paddlegate_up 0` and what the server has counted.
async fn metrics(State(app): State<App>, access: Access) -> impl IntoResponse {
    let snapshot = app.snapshots().read(&app).await;
    let own = Own::of(&app, &snapshot);
    let chunks = iter(Text::new(snapshot, own, access)).map(Ok::<_, Infallible>);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], Body::from_stream(chunks))
}
