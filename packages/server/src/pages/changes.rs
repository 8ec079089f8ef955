//! The page of the changes that were made.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;

use super::{page, show};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::AuditId;
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    entries: Vec<Entry>,
}

/// One change.
struct Entry {
    when: String,
    who: String,
    limiter: String,
    /// Empty without one.
    key: String,
    address: String,
    what: String,
    reason: String,
}

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new().route("/ui/changes", get(changes))
}

async fn changes(State(app): State<App>, access: Access) -> Result<Response, Problem> {
    let allowed = app.audit().after(AuditId::default()).await?;
    let allowed = allowed.into_iter().map(|entry| entry.text).filter(|text| access.may(Scope::Read, &text.limiter));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
    let mut entries: Vec<Entry> = allowed
        .map(|entry| Entry {
            when: show::day_and_clock(entry.at as u64),
            who: entry.who,
            address: show::address(&entry.limiter) + &show::query(None, entry.key.as_deref()),
            key: entry.key.unwrap_or_default(),
            limiter: entry.limiter,
            what: entry.what,
            reason: entry.reason.unwrap_or_default(),
        })
        .collect();
    entries.reverse();
    page(StatusCode::OK, &ChangesPage { entries })
}
