//! The list of limiters, and its live numbers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive};
use axum::response::{Response, Sse};
use axum::routing::get;
use futures_util::stream::{Stream, StreamExt, iter, unfold};
use paddlegate::LimiterInfo;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::row::Row;
use super::sort::{Column, called, columns, parameter};
use super::{page, show};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::body::Query;
use crate::index::{Asked, Condition, Index, Sort};
use crate::problem::Problem;

/// How many limiters are read at the same time.
const AT_ONCE: usize = 128;

/// The most rows of a page: those of a page of the store, which has about 100 to 300.
const MAX_ROWS: usize = 500;

/// How long the page waits for what is wrong now, which is the first that its reader wants to know; a second reads some thousand
/// limiters.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time between two updates of the numbers.
const PERIOD: Duration = Duration::from_millis(500);

/// How many times as long as reading the numbers took no page reads them again, so that a busy store has time for programs.
const TIMES_IDLE: u32 = 20;

/// The query of the list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct List {
    prefix: String,
    cursor: Option<String>,
    sort: Sort,
    /// Only those in this state.
    state: Option<Condition>,
    /// Of the live numbers: whether the page is shown without the order that was asked for.
    pending: bool,
}

/// A page of the list.
struct Listed {
    infos: Vec<LimiterInfo>,
    /// The order of all pages together; without one only the names of this page are sorted.
    order: Option<Order>,
    /// The query of the next page behind the prefix; empty on the last one.
    next: String,
    /// Whether all limiters are being read, to put them in the order that was asked for.
    is_pending: bool,
}

/// The order of all limiters.
struct Order {
    sort: Sort,
    /// The number of limiters on all pages.
    count: usize,
    /// When an index was read; `None` of now.
    read_at: Option<f64>,
}

#[derive(Template)]
#[template(path = "list.html")]
struct ListPage {
    prefix: String,
    live_address: String,
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
    next_address: String,
    /// This page again, while the order is being read; empty otherwise.
    pending_address: String,
    /// The order that was asked for.
    asked: String,
    /// The state that was asked for; empty for all.
    state: &'static str,
    /// This page again.
    own_address: String,
    /// The list without that.
    all_address: String,
    /// What is wrong now; `None` while it is being read.
    now: Option<Vec<Wrong>>,
}

/// How many limiters are in a state, or how many calls wait.
struct Wrong {
    number: String,
    state: &'static str,
    address: String,
}

fn now(states: &[(Condition, u64)], start: &str) -> Vec<Wrong> {
    let some = states.iter().filter(|(_, number)| *number > 0);
    some.map(|(state, number)| Wrong {
        number: show::count(*number),
        state: state.name(),
        address: format!("{start}&state={}", state.name()),
    })
    .collect()
}

/// Returns the routes.
pub(super) fn router() -> Router<App> {
    Router::new().route("/ui/limiters", get(list)).route("/ui/live", get(live))
}

async fn list(State(app): State<App>, access: Access, Query(list): Query<List>) -> Result<Response, Problem> {
    let listed = list.find(&app, &access).await?;
    // What keeps all from being read need not keep a page from being shown.
    let (rows, index) = tokio::join!(read(&app, &listed.infos), app.indexes().within(&app, PATIENCE));
    let rows = rows?;
    let start = format!("/ui/limiters?prefix={}", show::encoded(&list.prefix));
    let own = list.parameters();
    let of_state = list.state.map(|state| format!("&state={}", state.name())).unwrap_or_default();
    let pending = if listed.is_pending { "&pending=true" } else { "" };
    let shown = ListPage {
        live_address: format!("/ui/live?prefix={}{own}{pending}", show::encoded(&list.prefix)),
        caption: listed.caption(),
        now: index.ok().flatten().map(|index| now(&index.states(&list.prefix, &access), &start)),
        columns: columns(listed.order.as_ref().map(|order| order.sort), &format!("{start}{of_state}")),
        rows,
        next_address: if listed.next.is_empty() { String::new() } else { format!("{start}{}", listed.next) },
        pending_address: if listed.is_pending { format!("{start}{own}") } else { String::new() },
        own_address: format!("{start}{own}"),
        asked: called(list.sort),
        state: list.state.map_or("", Condition::name),
        all_address: start.clone(),
        prefix: list.prefix,
    };
    page(StatusCode::OK, &shown)
}

impl List {
    /// Finds the limiters of the page. While the server reads an order for long, it shows a page without it.
    async fn find(&self, app: &App, access: &Access) -> Result<Listed, Problem> {
        let of_store = self.cursor.as_deref().filter(|cursor| cursor.contains('.'));
        if of_store.is_some() && self.state.is_none() {
            return self.of_store(app, access, of_store).await;
        }
        let is_first_by_name = self.sort == Sort::Name && self.cursor.is_none() && self.state.is_none();
        if is_first_by_name && app.indexes().known(app).is_none() {
            let listed = self.of_store(app, access, None).await?;
            if listed.order.is_some() {
                return Ok(listed);
            }
        }
        // What keeps all from being read, such as one late call, need not keep a page from it.
        if let Ok(Some(index)) = app.indexes().soon(app).await {
            let listed = self.of_index(&index, access)?;
            if !listed.infos.is_empty() || self.cursor.is_some() || self.state.is_some() {
                return Ok(listed);
            }
            // It may be older than a limiter that somebody looks for.
            return self.of_store(app, access, None).await;
        }
        Ok(Listed { is_pending: true, ..self.of_store(app, access, None).await? })
    }

    async fn of_store(&self, app: &App, access: &Access, cursor: Option<&str>) -> Result<Listed, Problem> {
        let read = app.limiter_page(&self.prefix, cursor).await?;
        let is_whole = cursor.is_none() && read.cursor.is_none();
        let is_shown = |info: &LimiterInfo| access.may(Scope::Read, &info.name);
        let mut infos = read.limiters.into_iter().filter(is_shown).collect::<Vec<_>>();
        // In memory all are one page.
        let is_whole = is_whole && infos.len() <= MAX_ROWS;
        infos.truncate(MAX_ROWS);
        let order = is_whole.then_some(Order { sort: Sort::Name, count: infos.len(), read_at: None });
        let next = read.cursor.map(|cursor| format!("&cursor={}", show::encoded(&cursor))).unwrap_or_default();
        Ok(Listed { infos, order, next, is_pending: false })
    }

    fn of_index(&self, index: &Index, access: &Access) -> Result<Listed, Problem> {
        let asked = Asked { sort: self.sort, prefix: &self.prefix, state: self.state, cursor: self.cursor.as_deref() };
        let page = index.page(asked, access)?;
        let order = Some(Order { sort: self.sort, count: page.count, read_at: Some(index.read_at) });
        let infos = page.rows.iter().map(|row| row.info.clone()).collect();
        let next = Self { cursor: page.cursor, ..self.clone() };
        let next = if next.cursor.is_some() { next.parameters() } else { String::new() };
        Ok(Listed { infos, order, next, is_pending: false })
    }

    /// Returns the parameters of the address behind the prefix.
    fn parameters(&self) -> String {
        let cursor = self.cursor.as_deref().map(|cursor| format!("&cursor={}", show::encoded(cursor)));
        let state = self.state.map(|state| format!("&state={}", state.name()));
        format!("{}{}{}", cursor.unwrap_or_default(), parameter(self.sort), state.unwrap_or_default())
    }
}

impl Listed {
    fn caption(&self) -> String {
        let shown = |count: usize| show::count(count as u64);
        let count = self.infos.len();
        let limiters = |count: usize| if count == 1 { "limiter" } else { "limiters" };
        match &self.order {
            None => format!("{} {} on this page, by name", shown(count), limiters(count)),
            Some(Order { sort, count: all, read_at }) => {
                let of = if count == *all { String::new() } else { format!("{} of ", shown(count)) };
                let at = read_at.map(|at| format!(", in the order of {} UTC", show::clock_of(at)));
                format!("{of}{} {}, by {}{}", shown(*all), limiters(*all), called(*sort), at.unwrap_or_default())
            }
        }
    }
}

async fn read(app: &App, infos: &[LimiterInfo]) -> Result<Vec<Row>, Problem> {
    let rows = iter(infos.to_vec()).map(|info| Row::read(app, info)).buffered(AT_ONCE);
    Ok(rows.collect::<Vec<_>>().await.into_iter().collect::<paddlegate::Result<_>>()?)
}

/// Reads rows that others may have read a moment ago.
async fn shared(app: &App, infos: &[LimiterInfo]) -> paddlegate::Result<Vec<Arc<Row>>> {
    let rows = iter(infos.to_vec()).map(|info| app.rows().get(app, info)).buffered(AT_ONCE);
    rows.collect::<Vec<_>>().await.into_iter().collect()
}

/// Streams the numbers of the rows, and says when the order that was asked for can be shown.
async fn live(
    State(app): State<App>,
    headers: HeaderMap,
    Query(list): Query<List>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let ended = app.streams();
    let access = Access::of(&app, &headers)?;
    let mut listed = list.find(&app, &access).await?;
    // The order may have been read since the page was sent, which does not have it.
    listed.is_pending |= list.pending;
    let sort = list.sort;
    let stream = unfold((app, ended, listed, PERIOD), move |(app, ended, mut listed, mut period)| async move {
        loop {
            if listed.is_pending && matches!(app.indexes().soon(&app).await, Ok(Some(_))) {
                listed.is_pending = false;
                // A browser drops an event without data.
                return Some((Ok(Event::default().event("ordered").data(sort.name())), (app, ended, listed, period)));
            }
            tokio::select! {
                biased;
                () = ended.cancelled() => return None,
                () = sleep(period) => {}
            }
            let begun = Instant::now();
            let rows = shared(&app, &listed.infos).await;
            period = PERIOD.max(begun.elapsed() * TIMES_IDLE);
            // While the store cannot be read, the page keeps the last numbers.
            let Ok(rows) = rows else { continue };
            let rows: Vec<&Row> = rows.iter().map(|row| &**row).collect();
            let Ok(event) = Event::default().event("rows").json_data(&rows) else { continue };
            return Some((Ok(event), (app, ended, listed, period)));
        }
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

#[cfg(test)]
mod tests {
    use paddlegate::Request;

    use super::*;
    use crate::options::Options;

    fn names(listed: &Listed) -> Vec<&str> {
        listed.infos.iter().map(|info| info.name.as_str()).collect()
    }

    /// Creates limiters `n000`, `n001` and so on, each used a little less than the one before.
    fn app_with(count: u64) -> App {
        let app = App::open(Options::default()).expect("a store in memory");
        for i in 0..count {
            let limiter =
                app.paddlegate().window(&format!("n{i:03}"), 1_000, Duration::from_secs(60)).expect("a limiter");
            limiter.try_acquire(Request::cost(1_000 - i)).expect("a decision");
        }
        app
    }

    #[tokio::test]
    async fn nobody_waits_for_an_order_that_is_being_read() {
        let (app, access) = (app_with(3), Access::anybody());
        let list = List { sort: Sort::Used, ..List::default() };
        let reading = app.indexes().being_read().await;
        let listed = list.find(&app, &access).await.expect("a page");
        assert!(listed.is_pending && names(&listed) == ["n000", "n001", "n002"]);
        assert_eq!((listed.order.as_ref().map(|order| order.sort), listed.next.as_str()), (Some(Sort::Name), ""));
        drop(reading);
        let mut listed = list.find(&app, &access).await.expect("a page");
        while listed.is_pending {
            listed = list.find(&app, &access).await.expect("a page");
        }
        assert_eq!(listed.order.expect("an order").sort, Sort::Used);
    }

    #[tokio::test]
    async fn a_page_without_its_order_is_shown_again_for_an_order_that_was_read_meanwhile() {
        let app = app_with(3);
        app.indexes().get(&app).await.expect("an index");
        let list = List { sort: Sort::Used, pending: true, ..List::default() };
        let live = live(State(app), HeaderMap::new(), Query(list)).await.expect("a stream");
        let mut body = axum::response::IntoResponse::into_response(live).into_body().into_data_stream();
        let first = body.next().await.expect("an event").expect("its bytes");
        assert_eq!(first, "event: ordered\ndata: used\n\n");
    }

    // While the clock stands still, an index does not get old.
    #[tokio::test(start_paused = true)]
    async fn a_limiter_that_is_newer_than_the_order_is_found() {
        let (app, access) = (app_with(3), Access::anybody());
        let _index = app.indexes().get(&app).await.expect("an index");
        let limiter = app.paddlegate().window("new", 1, Duration::from_secs(60)).expect("a limiter");
        limiter.try_acquire(Request::cost(1)).expect("a decision");
        let list = List { prefix: "ne".to_owned(), sort: Sort::Used, ..List::default() };
        let listed = list.find(&app, &access).await.expect("a page");
        assert_eq!(names(&listed), ["new"]);
        assert!(app.indexes().known(&app).is_some_and(|index| {
            let page = index.page(Asked { prefix: "ne", ..Asked::default() }, &access).expect("a page");
            page.rows.is_empty()
        }));
    }

    #[tokio::test]
    async fn a_list_of_one_page_by_name_needs_no_index() {
        let (app, access) = (app_with(3), Access::anybody());
        let _reading = app.indexes().being_read().await;
        let listed = List::default().find(&app, &access).await.expect("a page");
        assert_eq!((listed.is_pending, listed.caption().as_str()), (false, "3 limiters, by name"));
    }

    #[tokio::test]
    async fn a_long_list_is_in_one_order_page_by_page() {
        let (app, access) = (app_with(MAX_ROWS as u64 + 7), Access::anybody());
        {
            let _reading = app.indexes().being_read().await;
            let listed = List::default().find(&app, &access).await.expect("a page");
            assert!(listed.is_pending && listed.order.is_none() && listed.infos.len() == MAX_ROWS);
        }
        for (sort, prefix, count) in [(Sort::Name, "", 507), (Sort::Used, "", 507), (Sort::Used, "n2", 100)] {
            let mut list = List { sort, prefix: prefix.to_owned(), ..List::default() };
            let mut found = Vec::new();
            loop {
                let listed = list.find(&app, &access).await.expect("a page");
                if listed.is_pending {
                    continue;
                }
                assert_eq!(listed.order.as_ref().map(|order| (order.sort, order.count)), Some((sort, count)));
                found.extend(names(&listed).into_iter().map(str::to_owned));
                let Some(cursor) = listed.next.strip_prefix("&cursor=") else { break };
                let cursor = cursor.split('&').next().expect("a cursor");
                let cursor = percent_encoding::percent_decode_str(cursor).decode_utf8().expect("text");
                list.cursor = Some(cursor.into_owned());
            }
            assert!(found.len() == count && found.is_sorted(), "{sort:?} {prefix:?}: {found:?}");
        }
    }
}
