//! An operator's changes: pause, override, mode and reset. Each is in force for all programs at once.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::stream::{StreamExt, iter};
use paddlegate::{AdminRequest, Answer, ChangedKeys, Limiter, LimiterInfo, MAX_NAME, Mode, RuntimeState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::unexpected;
use super::limiters::{InGroup, etag, runtime_state};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::{ALL_KEYS, Made, RESET, Text, check_reason, what};
use crate::body::{Body, Name, Query};
use crate::json::{ModeBody, ModeName, Override, Pause, Reset, RuntimeStateBody, deadline};
use crate::problem::Problem;
use crate::request::{Changing, change};

/// The query of a removal.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Removal {
    /// The group, of a name that programs have in several; empty for none.
    #[param(max_length = 512)]
    group: Option<String>,
    /// The key of a keyed limiter.
    #[param(max_length = 512)]
    key: Option<String>,
    /// Why, for the audit log.
    #[param(max_length = 500)]
    reason: Option<String>,
}

/// The query of the removal of overrides.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Restore {
    /// The group, of a name that programs have in several; empty for none.
    #[param(max_length = 512)]
    group: Option<String>,
    /// The label of the limit. Default: all overrides.
    label: Option<String>,
    /// The key of a keyed limiter.
    #[param(max_length = 512)]
    key: Option<String>,
    /// Why, for the audit log.
    #[param(max_length = 500)]
    reason: Option<String>,
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(pause, resume))
        .routes(routes!(set_override, restore))
        .routes(routes!(set_mode, restore_mode))
        .routes(routes!(reset))
        .routes(routes!(operate_many))
}

/// How many limiters are changed at the same time.
const AT_ONCE: usize = 32;

/// The body of one change of many limiters, or of all keys of one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Many {
    /// What the names begin with, 1 to 512 bytes; or `name` and `all_keys`.
    #[schema(min_length = 1, max_length = 512)]
    prefix: Option<String>,
    /// The name of a keyed limiter.
    #[schema(min_length = 1, max_length = 512)]
    name: Option<String>,
    /// The group, of a name that programs have in several; empty for none.
    #[schema(max_length = 512)]
    group: Option<String>,
    /// True for all keys of the name that have a state now. A key that comes later is not changed.
    all_keys: Option<bool>,
    /// The cursor of the answer before. Default: the first limiters or keys.
    cursor: Option<String>,
    /// Refuses every call until then.
    #[schema(inline)]
    pause: Option<Pause>,
    /// Ends pauses and blocks.
    resume: Option<bool>,
    /// Overrides limits.
    #[serde(rename = "override")]
    #[schema(inline)]
    set_override: Option<Override>,
    /// Ends all overrides.
    restore: Option<bool>,
    /// Forgets all that was taken; only with `all_keys`.
    reset: Option<bool>,
    /// Why, for the audit log.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// What was changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ManyChanged {
    /// The limiters or keys that were changed.
    changed: Vec<OneOfMany>,
    /// Those that were not, each with the reason: one with keys, or without such a limit.
    unchanged: Vec<OneOfMany>,
    /// The cursor of the next limiters or keys; null when all were there.
    #[schema(required)]
    cursor: Option<String>,
}

/// One of many limiters or keys.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneOfMany {
    /// The name.
    name: String,
    /// The group; null without one.
    #[schema(required)]
    group: Option<String>,
    /// The key; null for a limiter without keys.
    #[schema(required)]
    key: Option<String>,
    /// Why it was not changed; null when it was.
    #[schema(value_type = Option<Object>, required)]
    problem: Option<Problem>,
}

impl Many {
    /// Returns the one change.
    fn made(&self) -> Result<Made, Problem> {
        let pause = self.pause.as_ref().map(|pause| match (&pause.key, &pause.reason) {
            (None, None) => pause.request(),
            _ => Err(Problem::invalid("pause", "has expires_in or expires_at alone; give reason beside it")),
        });
        let set_override = self.set_override.as_ref().map(|set| match (&set.key, &set.reason) {
            (None, None) => set.request(),
            _ => Err(Problem::invalid("override", "has no key; give reason beside it")),
        });
        let is_true = |asked: Option<bool>| asked.unwrap_or(false);
        let resume = is_true(self.resume).then_some(Ok(AdminRequest::Resume));
        let restore = is_true(self.restore).then_some(Ok(AdminRequest::Restore(None)));
        let admin = [pause, resume, set_override, restore].into_iter().flatten().map(|wanted| wanted.map(Made::Admin));
        let mut wanted = admin.chain(is_true(self.reset).then_some(Ok(Made::Reset)));
        match (wanted.next(), wanted.next()) {
            (Some(made), None) => made,
            _ => Err(Problem::invalid("body", "give one of pause, resume, override, restore and reset")),
        }
    }
}

pub(crate) type Changed = Result<(HeaderMap, Json<RuntimeStateBody>), Problem>;

/// What a change is made of.
pub(crate) struct Change<'a> {
    pub(crate) app: &'a App,
    pub(crate) access: &'a Access,
    pub(crate) name: &'a str,
    pub(crate) group: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    /// The headers of the request, for `If-Match`.
    pub(crate) headers: &'a HeaderMap,
    pub(crate) reason: Option<&'a str>,
}

/// The limiter of a change, and who asks for it.
struct Target {
    app: App,
    access: Access,
    name: String,
    headers: HeaderMap,
}

impl FromRequestParts<App> for Target {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let access = Access::from_request_parts(parts, app).await?;
        let Name(name) = Name::from_request_parts(parts, app).await?;
        Ok(Self { app: app.clone(), access, name, headers: parts.headers.clone() })
    }
}

impl Target {
    fn change<'a>(&'a self, group_key_reason: [&'a Option<String>; 3]) -> Change<'a> {
        let Self { app, access, name, headers } = self;
        let [group, key, reason] = group_key_reason.map(Option::as_deref);
        Change { app, access, name, group, key, headers, reason }
    }
}

impl Change<'_> {
    /// Returns the limiter, if the caller may change it.
    async fn limiter(&self) -> Result<Limiter, Problem> {
        self.access.check(Scope::Operate, self.name)?;
        check_reason(self.reason)?;
        self.app.known(self.name, self.group, self.key).await
    }

    /// Returns the versions that the caller has seen; `None` when any will do.
    fn versions(&self) -> Option<Vec<u64>> {
        let expected = self.headers.get(header::IF_MATCH)?.to_str().unwrap_or_default();
        let tags: Vec<&str> = expected.split(',').map(str::trim).collect();
        let version = |tag: &&str| tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
        (!tags.contains(&"*")).then(|| tags.iter().filter_map(version).collect())
    }

    /// Makes the change and records it.
    pub(crate) async fn run(self, request: AdminRequest) -> Changed {
        let limiter = self.limiter().await?;
        match change(&limiter, &Changing::Admin(&request), self.versions().as_deref()).await? {
            Some(Answer::RuntimeState(state)) => Ok(self.done(&state, &what(&request)).await),
            Some(other) => Err(unexpected(&other)),
            None => Err(changed(&limiter).await?),
        }
    }

    /// Forgets all that was taken, and records it.
    pub(crate) async fn reset(self) -> Changed {
        let limiter = self.limiter().await?;
        match change(&limiter, &Changing::Reset, self.versions().as_deref()).await? {
            Some(_) => Ok(self.done(&RuntimeState::default(), RESET).await),
            None => Err(changed(&limiter).await?),
        }
    }

    async fn done(self, state: &RuntimeState, what: &str) -> (HeaderMap, Json<RuntimeStateBody>) {
        let Self { app, access, name, key, reason, .. } = self;
        app.audit().record(Text::now(access.who(), name, key, what, reason)).await;
        (etag(state), Json(RuntimeStateBody::from(state)))
    }
}

async fn changed(limiter: &Limiter) -> Result<Problem, Problem> {
    let version = runtime_state(limiter).await?.version;
    let detail = format!("the limiter was changed since; read it again: version={version}");
    Ok(Problem::new(StatusCode::PRECONDITION_FAILED, "changed", detail))
}

/// Refuses every call until then. A pause that ends later stays in force.
#[utoipa::path(put, path = "/v1/limiters/{name}/pause", tag = "operate", request_body = Pause,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn pause(target: Target, Query(InGroup { group }): Query<InGroup>, Body(body): Body<Pause>) -> Changed {
    let request = body.request()?;
    let changed = target.change([&group, &body.key, &body.reason]).run(request).await;
    changed.map_err(|problem| renamed(renamed(problem, "for", "expires_in"), "until", "expires_at"))
}

/// Ends the pause and the block.
#[utoipa::path(delete, path = "/v1/limiters/{name}/pause", tag = "operate",
    params(("name" = String, Path, description = "The name, percent-encoded"), Removal),
    responses((status = 200, body = RuntimeStateBody)))]
async fn resume(target: Target, Query(query): Query<Removal>) -> Changed {
    target.change([&query.group, &query.key, &query.reason]).run(AdminRequest::Resume).await
}

/// Overrides limits, whatever the policies of programs.
#[utoipa::path(put, operation_id = "override", path = "/v1/limiters/{name}/override", tag = "operate", request_body = Override,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn set_override(target: Target, Query(InGroup { group }): Query<InGroup>, Body(body): Body<Override>) -> Changed {
    let request = body.request()?;
    target.change([&group, &body.key, &body.reason]).run(request).await
}

/// Removes the override of a label, by default all.
#[utoipa::path(delete, path = "/v1/limiters/{name}/override", tag = "operate",
    params(("name" = String, Path, description = "The name, percent-encoded"), Restore),
    responses((status = 200, body = RuntimeStateBody)))]
async fn restore(target: Target, Query(query): Query<Restore>) -> Changed {
    target.change([&query.group, &query.key, &query.reason]).run(AdminRequest::Restore(query.label.clone())).await
}

/// Overrides the mode: `shadow` refuses nobody, `enforce` refuses.
#[utoipa::path(put, path = "/v1/limiters/{name}/mode", tag = "operate", request_body = ModeBody,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn set_mode(target: Target, Query(InGroup { group }): Query<InGroup>, Body(body): Body<ModeBody>) -> Changed {
    let expires = deadline(body.expires_in, body.expires_at)?;
    let mode = match body.mode {
        ModeName::Enforce => Mode::Enforce,
        ModeName::Shadow => Mode::Shadow,
    };
    target.change([&group, &body.key, &body.reason]).run(AdminRequest::OverrideMode { mode, expires }).await
}

/// Removes the override of the mode.
#[utoipa::path(delete, path = "/v1/limiters/{name}/mode", tag = "operate",
    params(("name" = String, Path, description = "The name, percent-encoded"), Removal),
    responses((status = 200, body = RuntimeStateBody)))]
async fn restore_mode(target: Target, Query(query): Query<Removal>) -> Changed {
    target.change([&query.group, &query.key, &query.reason]).run(AdminRequest::RestoreMode).await
}

/// Forgets all that was taken: units, permits, leases, tickets, statistics, overrides and a pause.
#[utoipa::path(post, path = "/v1/limiters/{name}/reset", tag = "operate", request_body = Reset,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn reset(target: Target, Query(InGroup { group }): Query<InGroup>, Body(body): Body<Reset>) -> Changed {
    target.change([&group, &body.key, &body.reason]).reset().await
}

/// Changes the limiters whose names begin with a prefix, or with `name` and `all_keys` the keys of a keyed limiter: those of a page,
/// each by itself, so that one that cannot be changed keeps no other from it. Ask again with the cursor until it is null. Limiters and
/// keys that programs use for the first time later are not covered. With a prefix, limiters with keys are left as they are: their state
/// is of each key.
#[utoipa::path(post, operation_id = "operate_many", path = "/v1/operate", tag = "operate", request_body = Many,
    responses((status = 200, body = ManyChanged)))]
async fn operate_many(
    State(app): State<App>,
    access: Access,
    Body(body): Body<Many>,
) -> Result<Json<ManyChanged>, Problem> {
    check_reason(body.reason.as_deref())?;
    let made = body.made()?;
    match (&body.prefix, &body.name, body.all_keys.unwrap_or(false)) {
        (Some(prefix), None, false) => match &made {
            Made::Admin(request) => operate_prefix(&app, &access, (prefix, request), &body).await,
            Made::Reset => {
                Err(Problem::invalid("reset", "is for name and all_keys; reset a limiter by its own address"))
            }
        },
        (None, Some(name), true) => operate_keys(&app, &access, (name, &made), &body).await,
        _ => Err(Problem::invalid("prefix", "give a prefix of names, or name and all_keys: true")),
    }
}

/// Changes the limiters of a page of the list.
async fn operate_prefix(
    app: &App,
    access: &Access,
    (prefix, request): (&str, &AdminRequest),
    body: &Many,
) -> Result<Json<ManyChanged>, Problem> {
    if prefix.is_empty() || prefix.len() > MAX_NAME {
        let detail = format!("must have 1 to {MAX_NAME} bytes: bytes={}", prefix.len());
        return Err(Problem::invalid("prefix", detail));
    }
    if body.group.is_some() {
        return Err(Problem::invalid("group", "is for name and all_keys; leave it out"));
    }
    let page = app.limiter_page(prefix, body.cursor.as_deref()).await?;
    let may = |info: &LimiterInfo| access.may(Scope::Operate, &info.name);
    let infos: Vec<LimiterInfo> = page.limiters.into_iter().filter(may).collect();
    let reason = body.reason.as_deref();
    let done = iter(infos).map(async |info| {
        let problem = one_of_many(app, access, &info, request, reason).await.err();
        OneOfMany { name: info.name, group: info.group, key: None, problem }
    });
    let done: Vec<OneOfMany> = done.buffered(AT_ONCE).collect().await;
    let (changed, unchanged) = done.into_iter().partition(|one| one.problem.is_none());
    Ok(Json(ManyChanged { changed, unchanged, cursor: page.cursor }))
}

/// Changes a page of the keys of a keyed limiter. The first page records it.
async fn operate_keys(
    app: &App,
    access: &Access,
    (name, made): (&str, &Made),
    body: &Many,
) -> Result<Json<ManyChanged>, Problem> {
    access.check(Scope::Operate, name)?;
    let limiter = app.known_without_key(name, body.group.as_deref(), true).await?;
    let cursor = body.cursor.as_deref();
    let ChangedKeys { changed, unchanged, cursor: next } = limiter.change_keys_async(made.of_keys(), cursor).await?;
    if cursor.is_none() {
        let what = made.what() + ALL_KEYS;
        app.audit().record(Text::now(access.who(), name, None, &what, body.reason.as_deref())).await;
    }
    let group = limiter.group();
    let one =
        |key, problem| OneOfMany { name: name.to_owned(), group: group.map(str::to_owned), key: Some(key), problem };
    Ok(Json(ManyChanged {
        changed: changed.into_iter().map(|key| one(key, None)).collect(),
        unchanged: unchanged.into_iter().map(|(key, error)| one(key, Some(error.into()))).collect(),
        cursor: next,
    }))
}

async fn one_of_many(
    app: &App,
    access: &Access,
    info: &LimiterInfo,
    request: &AdminRequest,
    reason: Option<&str>,
) -> Result<(), Problem> {
    if info.keyed {
        return Err(Problem::invalid(
            "key",
            "the limiter has a state for each key; change them by name and all_keys, or each by its key",
        ));
    }
    let limiter = app.of_info(info)?;
    change(&limiter, &Changing::Admin(request), None).await?;
    app.audit().record(Text::now(access.who(), &info.name, None, &what(request), reason)).await;
    Ok(())
}

/// Returns a problem whose argument has the name that it has in the body.
pub(crate) fn renamed(problem: Problem, from: &str, to: &str) -> Problem {
    match problem.argument.as_deref() {
        Some(argument) if argument == from => Problem { argument: Some(to.to_owned()), ..problem },
        _ => problem,
    }
}
