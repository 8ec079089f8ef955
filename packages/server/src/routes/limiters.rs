//! The list of limiters, and what one contains.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use paddlegate::{AdminCommand, Answer, Limiter, MAX_NAME, Operation, Page, RuntimeState};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::unexpected;
use crate::access::{Access, Scope};
use crate::app::App;
use crate::body::{Name, Query};
use crate::index::{Asked, Condition, Sort};
use crate::json::{HistoryBody, InspectionBody, LimiterPageBody, MostRefusedBody, SamplesBody, StatisticsBody};
use crate::problem::Problem;
use crate::samples::Samples;

/// The query of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct List {
    /// What the names begin with. Default: anything.
    #[param(max_length = 512)]
    prefix: String,
    /// The cursor of the page before. Default: the first page.
    cursor: Option<String>,
    /// The order. Default: none; each page is sorted by name, and all of it is of now.
    #[param(inline, value_type = Option<Sort>)]
    sort: Option<String>,
    /// Only limiters in this state, by name without a `sort`. Default: all.
    #[param(inline)]
    state: Option<Condition>,
}

/// The query of an inspection.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Look {
    /// The group, of a name that programs have in several; empty for none.
    #[param(max_length = 512)]
    group: Option<String>,
    /// The key of a keyed limiter.
    #[param(max_length = 512)]
    key: Option<String>,
    /// The number of leases and tickets before the page, at most 100,000. Default 0.
    #[param(maximum = 100_000)]
    offset: Option<u64>,
    /// The length of the page, at most 250. Default 100.
    #[param(maximum = 1_000)]
    count: Option<u64>,
}

/// The query of what needs no more.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct InGroup {
    /// The group, of a name that programs have in several; empty for none.
    #[param(max_length = 512)]
    pub(super) group: Option<String>,
}

/// The query of the most refused keys.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Most {
    /// The group, of a name that programs have in several; empty for none.
    #[param(max_length = 512)]
    group: Option<String>,
    /// How many keys, at most 100. Default 10.
    #[param(minimum = 1, maximum = 100)]
    count: Option<u64>,
}

/// How many of the most refused keys are read by default.
pub(crate) const MOST_REFUSED: u64 = 10;

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(inspect))
        .routes(routes!(statistics))
        .routes(routes!(history))
        .routes(routes!(most_refused))
        .routes(routes!(samples))
}

/// Lists the limiters that any program, in any language, used within their `ttl`: pages of about 100 to 300, each sorted by name.
/// With `sort` the pages of 100 are in that order, by numbers that were read for all limiters at `read_at`, at most about a minute
/// before; the last page may be shorter.
#[utoipa::path(get, operation_id = "limiters", path = "/v1/limiters", tag = "look", params(List), responses((status = 200, body = LimiterPageBody)))]
async fn list(
    State(app): State<App>,
    access: Access,
    Query(List { prefix, cursor, sort, state }): Query<List>,
) -> Result<Json<LimiterPageBody>, Problem> {
    if prefix.len() > MAX_NAME {
        return Err(Problem::invalid("prefix", format!("must have at most {MAX_NAME} bytes: bytes={}", prefix.len())));
    }
    if sort.is_some() || state.is_some() {
        let sort = sort.map_or(Ok(Sort::Name), |sort| Sort::parse(&sort))?;
        let index = app.indexes().get(&app).await?;
        let asked = Asked { sort, prefix: &prefix, state, cursor: cursor.as_deref() };
        let page = index.page(asked, &access)?;
        return Ok(Json(LimiterPageBody::sorted(&page.rows, page.cursor, index.read_at)));
    }
    let page = app.limiter_page(&prefix, cursor.as_deref()).await?;
    let mut body = LimiterPageBody::from(&page);
    body.limiters.retain(|limiter| access.may(Scope::Read, &limiter.name));
    Ok(Json(body))
}

/// Looks into a limiter: its limits with the numbers that rule, its leases and its queue. Takes nothing.
#[utoipa::path(get, path = "/v1/limiters/{name}", tag = "look",
    params(("name" = String, Path, description = "The name, percent-encoded"), Look),
    responses((status = 200, body = InspectionBody)))]
async fn inspect(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(look): Query<Look>,
) -> Result<impl IntoResponse, Problem> {
    access.check(Scope::Read, &name)?;
    let limiter = app.known(&name, look.group.as_deref(), look.key.as_deref()).await?;
    let page = Page::of(look.offset, look.count);
    let (inspection, state) = inspected(&limiter, page).await?;
    Ok((etag(&state), Json(InspectionBody::new(&limiter, &inspection, &state))))
}

/// Reads the inspection and the runtime state of a limiter.
pub(crate) async fn inspected(
    limiter: &Limiter,
    page: Page,
) -> Result<(paddlegate::Inspection, RuntimeState), Problem> {
    let inspection = match limiter.run_async(Operation::Inspect { page }).await? {
        Answer::Inspection(inspection) => *inspection,
        other => return Err(unexpected(&other)),
    };
    Ok((inspection, runtime_state(limiter).await?))
}

/// Reads what is in force for a limiter.
pub(crate) async fn runtime_state(limiter: &Limiter) -> Result<RuntimeState, Problem> {
    match limiter.run_async(Operation::Admin { command: AdminCommand::Get }).await? {
        Answer::RuntimeState(state) => Ok(*state),
        other => Err(unexpected(&other)),
    }
}

/// Returns the version of a runtime state as a header.
pub(crate) fn etag(state: &RuntimeState) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(version) = format!("\"{}\"", state.version).parse() {
        headers.insert(header::ETAG, version);
    }
    headers
}

/// Reads the counters of a limiter over all programs.
#[utoipa::path(get, path = "/v1/limiters/{name}/statistics", tag = "look",
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = StatisticsBody)))]
async fn statistics(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
) -> Result<Json<StatisticsBody>, Problem> {
    access.check(Scope::Read, &name)?;
    let limiter = app.known_without_key(&name, group.as_deref(), false).await?;
    match limiter.run_async(Operation::Statistics).await? {
        Answer::Statistics(statistics) => Ok(Json(StatisticsBody::from(&*statistics))),
        other => Err(unexpected(&other)),
    }
}

/// Reads what was counted in each of the last 60 minutes and 48 hours.
#[utoipa::path(get, path = "/v1/limiters/{name}/history", tag = "look",
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = HistoryBody)))]
async fn history(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
) -> Result<Json<HistoryBody>, Problem> {
    access.check(Scope::Read, &name)?;
    let limiter = app.known_without_key(&name, group.as_deref(), false).await?;
    match limiter.run_async(Operation::History).await? {
        Answer::History(history) => Ok(Json(HistoryBody::from(&*history))),
        other => Err(unexpected(&other)),
    }
}

/// Reads the keys of a keyed limiter whose calls were refused most often in this hour and the last, by all programs. Of few keys the
/// numbers are exact; of many, keys that are refused seldom are left out.
#[utoipa::path(get, path = "/v1/limiters/{name}/most-refused", tag = "look",
    params(("name" = String, Path, description = "The name, percent-encoded"), Most),
    responses((status = 200, body = MostRefusedBody)))]
async fn most_refused(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(most): Query<Most>,
) -> Result<Json<MostRefusedBody>, Problem> {
    access.check(Scope::Read, &name)?;
    let limiter = app.known_without_key(&name, most.group.as_deref(), true).await?;
    if !limiter.is_keyed() {
        return Err(Problem::invalid("name", format!("must be that of a keyed limiter: name={name:?}")));
    }
    Ok(Json(limiter.most_refused_async(most.count.unwrap_or(MOST_REFUSED)).await?.into()))
}

/// Reads how much was left of each limit and how many calls waited in the last 60 minutes and 48 hours, as far as this server has read
/// it: once a minute, at most 2,000 limiters without keys, those that were used within the minute or of which something is taken. The
/// fewest remaining units and the most waiting calls are kept in the memory of this server alone.
#[utoipa::path(get, path = "/v1/limiters/{name}/samples", tag = "look",
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = SamplesBody)))]
async fn samples(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
) -> Result<Json<SamplesBody>, Problem> {
    access.check(Scope::Read, &name)?;
    let limiter = app.known_without_key(&name, group.as_deref(), false).await?;
    let minute = Samples::minute(&app);
    Ok(Json(SamplesBody::new(app.samples().of(&limiter, minute).as_ref(), minute)))
}
