//! An operator's changes: pause, override, mode and reset. Each is in force for all programs at once.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use paddlegate::{AdminRequest, Answer, Deadline, LimitNumbers, Limiter, Mode, RuntimeState};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::acquire::unexpected;
use super::limiters::{InGroup, etag, runtime_state};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::{RESET, Text, check_reason, what};
use crate::body::{Body, Name, Query};
use crate::json::{ModeBody, ModeName, Override, Pause, Reset, RuntimeStateBody, Span, Time, deadline};
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
async fn pause(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
    headers: HeaderMap,
    Body(body): Body<Pause>,
) -> Changed {
    let span = ("expires_in", body.expires_in.map(|Span(span)| span));
    let time = ("expires_at", body.expires_at.map(|Time(time)| time));
    let until = Deadline::one_of(span, time)?;
    let (key, reason) = (body.key.as_deref(), body.reason.as_deref());
    let change =
        Change { app: &app, access: &access, name: &name, group: group.as_deref(), key, headers: &headers, reason };
    let changed = change.run(AdminRequest::Pause(until)).await;
    changed.map_err(|problem| renamed(renamed(problem, "for", "expires_in"), "until", "expires_at"))
}

/// Ends the pause and the block.
#[utoipa::path(delete, path = "/v1/limiters/{name}/pause", tag = "operate",
    params(("name" = String, Path, description = "The name, percent-encoded"), Removal),
    responses((status = 200, body = RuntimeStateBody)))]
async fn resume(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    headers: HeaderMap,
    Query(query): Query<Removal>,
) -> Changed {
    let (key, reason) = (query.key.as_deref(), query.reason.as_deref());
    let change = Change {
        app: &app,
        access: &access,
        name: &name,
        group: query.group.as_deref(),
        key,
        headers: &headers,
        reason,
    };
    change.run(AdminRequest::Resume).await
}

/// Overrides limits, whatever the policies of programs.
#[utoipa::path(put, operation_id = "override", path = "/v1/limiters/{name}/override", tag = "operate", request_body = Override,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn set_override(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
    headers: HeaderMap,
    Body(body): Body<Override>,
) -> Changed {
    let expires = deadline(body.expires_in, body.expires_at)?;
    let numbers = LimitNumbers { amount: body.limit, interval: body.interval.map(|Span(span)| span), rate: None };
    let request = match &body.limits {
        Some(_) if numbers != LimitNumbers::default() || body.label.is_some() => {
            return Err(Problem::invalid("limits", "give limits, or limit, interval and label, not both"));
        }
        Some(limits) => AdminRequest::OverrideLimits { limits: limits.limits()?, expires },
        None => AdminRequest::Override { label: body.label.clone(), numbers, expires },
    };
    let (key, reason) = (body.key.as_deref(), body.reason.as_deref());
    let change =
        Change { app: &app, access: &access, name: &name, group: group.as_deref(), key, headers: &headers, reason };
    change.run(request).await
}

/// Removes the override of a label, by default all.
#[utoipa::path(delete, path = "/v1/limiters/{name}/override", tag = "operate",
    params(("name" = String, Path, description = "The name, percent-encoded"), Restore),
    responses((status = 200, body = RuntimeStateBody)))]
async fn restore(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    headers: HeaderMap,
    Query(query): Query<Restore>,
) -> Changed {
    let (key, reason) = (query.key.as_deref(), query.reason.as_deref());
    let change = Change {
        app: &app,
        access: &access,
        name: &name,
        group: query.group.as_deref(),
        key,
        headers: &headers,
        reason,
    };
    change.run(AdminRequest::Restore(query.label.clone())).await
}

/// Overrides the mode: `shadow` refuses nobody, `enforce` refuses.
#[utoipa::path(put, path = "/v1/limiters/{name}/mode", tag = "operate", request_body = ModeBody,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn set_mode(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
    headers: HeaderMap,
    Body(body): Body<ModeBody>,
) -> Changed {
    let expires = deadline(body.expires_in, body.expires_at)?;
    let mode = match body.mode {
        ModeName::Enforce => Mode::Enforce,
        ModeName::Shadow => Mode::Shadow,
    };
    let (key, reason) = (body.key.as_deref(), body.reason.as_deref());
    let change =
        Change { app: &app, access: &access, name: &name, group: group.as_deref(), key, headers: &headers, reason };
    change.run(AdminRequest::OverrideMode { mode, expires }).await
}

/// Removes the override of the mode.
#[utoipa::path(delete, path = "/v1/limiters/{name}/mode", tag = "operate",
    params(("name" = String, Path, description = "The name, percent-encoded"), Removal),
    responses((status = 200, body = RuntimeStateBody)))]
async fn restore_mode(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    headers: HeaderMap,
    Query(query): Query<Removal>,
) -> Changed {
    let (key, reason) = (query.key.as_deref(), query.reason.as_deref());
    let change = Change {
        app: &app,
        access: &access,
        name: &name,
        group: query.group.as_deref(),
        key,
        headers: &headers,
        reason,
    };
    change.run(AdminRequest::RestoreMode).await
}

/// Forgets all that was taken: units, permits, leases, tickets, statistics, overrides and a pause.
#[utoipa::path(post, path = "/v1/limiters/{name}/reset", tag = "operate", request_body = Reset,
    params(("name" = String, Path, description = "The name, percent-encoded"), InGroup),
    responses((status = 200, body = RuntimeStateBody)))]
async fn reset(
    State(app): State<App>,
    access: Access,
    Name(name): Name,
    Query(InGroup { group }): Query<InGroup>,
    headers: HeaderMap,
    Body(body): Body<Reset>,
) -> Changed {
    let (key, reason) = (body.key.as_deref(), body.reason.as_deref());
    let change =
        Change { app: &app, access: &access, name: &name, group: group.as_deref(), key, headers: &headers, reason };
    change.reset().await
}

/// Returns a problem whose argument has the name that it has in the body.
pub(crate) fn renamed(problem: Problem, from: &str, to: &str) -> Problem {
    match problem.argument.as_deref() {
        Some(argument) if argument == from => Problem { argument: Some(to.to_owned()), ..problem },
        _ => problem,
    }
}
