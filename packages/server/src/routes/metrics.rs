//! The metrics of all limiters, whatever program counted them, in the text of Prometheus.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::stream::{StreamExt, iter};
use paddlegate::{Answer, Error, Inspection, LimiterInfo, Operation, Page, Result, RuntimeState, Statistics};

use crate::access::{Access, Scope};
use crate::app::App;
use crate::exposition::{Exposition, Measured, Own};
use crate::problem::Problem;

/// How many limiters are read at the same time.
const AT_ONCE: usize = 64;

/// Returns the routes.
pub(crate) fn router() -> Router<App> {
    Router::new().route("/metrics", get(metrics))
}

/// Exports what the caller may read. While the store cannot decide, only `paddlegate_up 0`.
async fn metrics(State(app): State<App>, access: Access) -> std::result::Result<impl IntoResponse, Problem> {
    let measured = match listed(&app, &access).await {
        Ok(infos) => {
            let each = iter(infos).map(|info| measured(&app, info)).buffered(AT_ONCE);
            each.collect::<Vec<_>>().await.into_iter().collect::<Result<Vec<_>>>()
        }
        Err(error) => Err(error),
    };
    let exposition = match measured {
        Ok(measured) => Exposition::of(&measured),
        // A scrape that fails would hide that the server itself runs.
        Err(_) => Exposition::down(),
    };
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], exposition.text(&Own::of(&app))))
}

async fn listed(app: &App, access: &Access) -> Result<Vec<LimiterInfo>> {
    let (mut infos, mut cursor) = (Vec::new(), None);
    loop {
        let page = app.paddlegate().limiter_page_async("", cursor.as_deref()).await?;
        infos.extend(page.limiters);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    infos.retain(|info| access.may(Scope::Read, &info.name));
    Ok(LimiterInfo::sorted(infos))
}

async fn measured(app: &App, info: LimiterInfo) -> Result<Measured> {
    let limiter = app.of_info(&info)?;
    let statistics: Statistics = match limiter.run_async(Operation::Statistics).await? {
        Answer::Statistics(statistics) => *statistics,
        other => return Err(Error::internal(format!("unexpected reply type: {other:?}"))),
    };
    // The label is the limiter, never a key, so the states of keys are not looked into.
    if limiter.is_keyed() {
        return Ok(Measured { info, statistics, inspection: None, state: RuntimeState::default() });
    }
    let page = Page { offset: 0, count: 0 };
    let inspection: Inspection = match limiter.run_async(Operation::Inspect { page }).await? {
        Answer::Inspection(inspection) => *inspection,
        other => return Err(Error::internal(format!("unexpected reply type: {other:?}"))),
    };
    let command = paddlegate::AdminCommand::Get;
    let state = match limiter.run_async(Operation::Admin { command }).await? {
        Answer::RuntimeState(state) => *state,
        other => return Err(Error::internal(format!("unexpected reply type: {other:?}"))),
    };
    Ok(Measured { info, statistics, inspection: Some(inspection), state })
}
