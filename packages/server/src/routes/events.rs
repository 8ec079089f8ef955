//! The stream of events: changes, and what the statistics count.

use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::future::{OptionFuture, pending};
use futures_util::stream::unfold;
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::{AuditEntry, AuditId};
use crate::body::Query;
use crate::count_news::{CountEvent, Counted};
use crate::problem::Problem;

const CHANGE: &str = "change";
const REFUSED: &str = "refused";
const LEASE_LOST: &str = "lease_lost";
const KINDS: [&str; 3] = [CHANGE, REFUSED, LEASE_LOST];

/// The query of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    /// The kinds of events, with commas between. Default: all.
    kinds: Option<String>,
}

/// One listener.
struct Listener {
    app: App,
    /// Ends the stream when the server stops, and when the tokens are read again.
    ended: CancellationToken,
    access: Access,
    kinds: Vec<&'static str>,
    changes: Option<Receiver<AuditEntry>>,
    counts: Option<Receiver<CountEvent>>,
    /// Changes that are still to be told, the newest first.
    missed: Vec<AuditEntry>,
    /// The last change that was looked at, told or not.
    last: AuditId,
}

/// Returns the route.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().route("/v1/events", axum::routing::get(events))
}

/// Streams the changes as they are made, also those of other servers, and what all programs count as refused and lost;
/// `Last-Event-ID` continues the changes after that one.
async fn events(
    State(app): State<App>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let ended = app.streams();
    let access = Access::of(&app, &headers)?;
    let kinds = kinds(wanted.kinds.as_deref())?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<AuditId>().ok());
    let (mut changes, mut missed, mut end) = (None, Vec::new(), AuditId::default());
    if kinds.contains(&CHANGE) {
        // Without the header it begins here, so that nobody who is late later is told of what was before.
        end = match last {
            Some(last) => last,
            None => app.audit().end().await?,
        };
        changes = Some(app.audit().news().await?);
        missed = app.audit().after(end).await?;
    }
    let counts =
        if kinds.iter().any(|kind| *kind != CHANGE) { Some(app.count_news().listen(&app).await?) } else { None };
    missed.reverse();
    let listener = Listener { app, ended, access, kinds, changes, counts, missed, last: end };
    let stream = unfold(listener, |mut listener| async move { Some((Ok(listener.next().await?), listener)) });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

fn kinds(given: Option<&str>) -> Result<Vec<&'static str>, Problem> {
    let Some(given) = given else { return Ok(KINDS.to_vec()) };
    let known = |kind: &str| KINDS.into_iter().find(|known| *known == kind);
    given.split(',').map(known).collect::<Option<_>>().ok_or_else(|| {
        Problem::invalid("kinds", format!("must be of {}, with commas between: kinds={given:?}", KINDS.join(", ")))
    })
}

impl Listener {
    /// Returns the next event, and nothing when the server stops or has read its tokens again.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.ended.is_cancelled() {
                return None;
            }
            if let Some(entry) = self.missed.pop() {
                if let Some(event) = self.change(&entry) {
                    return Some(event);
                }
                continue;
            }
            tokio::select! {
                biased;
                () = self.ended.cancelled() => return None,
                change = received(&mut self.changes) => match change {
                    Ok(entry) => self.missed.push(entry),
                    Err(RecvError::Lagged(_)) => {
                        self.missed = self.app.audit().after(self.last).await.ok()?;
                        self.missed.reverse();
                    }
                    Err(RecvError::Closed) => return None,
                },
                counted = received(&mut self.counts) => match counted {
                    Ok(event) => if let Some(event) = self.counted(&event) {
                        return Some(event);
                    },
                    // They are a sample.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn change(&mut self, entry: &AuditEntry) -> Option<Event> {
        if entry.id <= self.last {
            return None;
        }
        self.last = entry.id;
        if !self.access.may(Scope::Read, &entry.text.limiter) {
            return None;
        }
        Event::default().event(CHANGE).id(entry.id.to_string()).json_data(entry).ok()
    }

    /// Without an id, so that a client that comes back tells that of the last change.
    fn counted(&self, event: &CountEvent) -> Option<Event> {
        let kind = match event.counted {
            Counted::Refused { .. } => REFUSED,
            Counted::LeaseLost { .. } => LEASE_LOST,
        };
        let is_told = self.kinds.contains(&kind) && self.access.may(Scope::Read, &event.limiter);
        if is_told { Event::default().event(kind).json_data(event).ok() } else { None }
    }
}

/// Waits for ever for what is not wanted.
async fn received<T: Clone>(receiver: &mut Option<Receiver<T>>) -> Result<T, RecvError> {
    match OptionFuture::from(receiver.as_mut().map(Receiver::recv)).await {
        Some(item) => item,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use futures_util::StreamExt;

    use super::*;
    use crate::audit::Text;
    use crate::options::Options;

    #[tokio::test]
    async fn a_slow_listener_is_told_nothing_of_before_it_came() {
        let app = App::open(Options::default()).expect("a store in memory");
        for _ in 0..3 {
            app.audit().record(Text::now("somebody", "api", None, "before", None)).await;
        }
        let wanted = Query(Wanted { kinds: Some(CHANGE.to_owned()) });
        let stream = events(State(app.clone()), HeaderMap::new(), wanted).await.expect("a stream");
        // More than a listener may be behind.
        for _ in 0..300 {
            app.audit().record(Text::now("somebody", "api", None, "after", None)).await;
        }
        let mut body = stream.into_response().into_body().into_data_stream();
        for _ in 0..300 {
            let event = body.next().await.expect("an event").expect("its bytes");
            let event = String::from_utf8_lossy(&event);
            assert!(event.contains(r#""what":"after""#), "{event}");
        }
    }
}
