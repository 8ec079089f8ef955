//! The list of limiters, and its live numbers.

use std::convert::Infallible;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive};
use axum::response::{Response, Sse};
use axum::routing::get;
use futures_util::stream::{Stream, StreamExt, iter, unfold};
use serde::Deserialize;
use tokio::time::sleep;

use super::row::Row;
use super::sort::{Column, Sort};
use super::{page, show};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::body::Query;
use crate::problem::Problem;

/// How many limiters are read at the same time.
const AT_ONCE: usize = 64;

/// The time between two updates of the numbers.
const PERIOD: Duration = Duration::from_secs(2);

/// The query of the list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct List {
    prefix: String,
    cursor: Option<String>,
    sort: Sort,
}

#[derive(Template)]
#[template(path = "list.html")]
struct ListPage {
    prefix: String,
    prefix_encoded: String,
    cursor_parameter: String,
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
    next_address: String,
}

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new().route("/ui/limiters", get(list)).route("/ui/live", get(live))
}

async fn list(State(app): State<App>, access: Access, Query(list): Query<List>) -> Result<Response, Problem> {
    let (mut rows, next) = read(&app, &access, &list).await?;
    list.sort.apply(&mut rows);
    let prefix_encoded = show::encoded(&list.prefix);
    let parameter = |cursor: &str| format!("&cursor={}", show::encoded(cursor));
    let next_address =
        next.map(|next| format!("/ui/limiters?prefix={prefix_encoded}{}{}", parameter(&next), list.sort.parameter()));
    let cursor_parameter = list.cursor.as_deref().map(parameter).unwrap_or_default();
    let next_address = next_address.unwrap_or_default();
    let columns = list.sort.columns(&format!("/ui/limiters?prefix={prefix_encoded}{cursor_parameter}"));
    let caption = list.sort.caption(rows.len());
    let prefix = list.prefix;
    page(StatusCode::OK, &ListPage { prefix, prefix_encoded, cursor_parameter, caption, columns, rows, next_address })
}

async fn read(app: &App, access: &Access, list: &List) -> Result<(Vec<Row>, Option<String>), Problem> {
    let read = app.paddlegate().limiter_page_async(&list.prefix, list.cursor.as_deref()).await?;
    let allowed = read.limiters.into_iter().filter(|info| access.may(Scope::Read, &info.name));
    let rows = iter(allowed.collect::<Vec<_>>()).map(|info| Row::read(app, info)).buffered(AT_ONCE);
    let rows = rows.collect::<Vec<_>>().await.into_iter().collect::<paddlegate::Result<_>>()?;
    Ok((rows, read.cursor))
}

/// Streams the numbers of the rows.
async fn live(
    State(app): State<App>,
    access: Access,
    Query(list): Query<List>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = unfold((app, access, list), |(app, access, list)| async move {
        loop {
            let stopping = app.stopping().clone();
            tokio::select! {
                () = stopping.cancelled() => return None,
                () = sleep(PERIOD) => {}
            }
            // While the store cannot be read, the page keeps the last numbers.
            let Ok((rows, _)) = read(&app, &access, &list).await else { continue };
            let Ok(event) = Event::default().event("rows").json_data(&rows) else { continue };
            return Some((Ok(event), (app, access, list)));
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}
