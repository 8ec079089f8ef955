//! Rate limits: the state of a key, and changes of it while the server runs.

use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::routing::{get, put};
use serde_json::json;

use super::{Answer, Outcome, Shared, object};
use crate::fault::Fault;

/// The keys of a page, unless the request says another number.
const PER_PAGE: usize = 50;

/// The most keys of a page.
const MAX_PER_PAGE: usize = 200;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/ojs/v1/rate-limits", get(list))
        .route("/ojs/v1/rate-limits/{key}", get(read).put(change).delete(clear))
        .route("/ojs/v1/rate-limits/{key}/override", put(change).delete(restore))
}

async fn list(State(ojs): State<Shared>, Query(query): Query<HashMap<String, String>>) -> Outcome {
    let page = number(&query, "page", 1, usize::MAX)?;
    let name = if query.contains_key("limit") { "limit" } else { "per_page" };
    let per_page = number(&query, name, PER_PAGE, MAX_PER_PAGE)?;
    let names = ojs.keys().await?;
    let first = match query.get("cursor") {
        Some(cursor) => names.partition_point(|name| name <= cursor),
        None => page.saturating_sub(1).saturating_mul(per_page).min(names.len()),
    };
    let last = first.saturating_add(per_page).min(names.len());
    let mut items = Vec::with_capacity(last - first);
    for name in &names[first..last] {
        items.push(ojs.show(&ojs.key(name).await?).await?);
    }
    let has_more = last < names.len();
    let cursor = names[first..last].last().filter(|_| has_more);
    let pagination = json!({
        "total": names.len(), "page": page, "per_page": per_page, "has_more": has_more, "next_cursor": cursor,
    });
    Ok(Answer::ok(json!({"items": items, "rate_limits": items, "pagination": pagination})))
}

fn number(query: &HashMap<String, String>, name: &str, default: usize, most: usize) -> Result<usize, Fault> {
    let Some(text) = query.get(name) else { return Ok(default) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| Fault::invalid(name, format!("must be a number from 1 to {most}")))
}

async fn read(State(ojs): State<Shared>, Path(name): Path<String>) -> Outcome {
    let key = ojs.key(&name).await?;
    Ok(Answer::ok(ojs.show(&key).await?).with(key.headers().await?))
}

async fn change(State(ojs): State<Shared>, Path(name): Path<String>, body: Body) -> Outcome {
    let key = ojs.changed_key(&name, &object(body).await?).await?;
    Ok(Answer::ok(ojs.show(&key).await?).with(key.headers().await?))
}

async fn restore(State(ojs): State<Shared>, Path(name): Path<String>) -> Outcome {
    ojs.key(&name).await?.restore().await?;
    Ok(Answer::nothing())
}

async fn clear(State(ojs): State<Shared>, Path(name): Path<String>) -> Outcome {
    ojs.key(&name).await?.clear().await?;
    Ok(Answer::nothing())
}
