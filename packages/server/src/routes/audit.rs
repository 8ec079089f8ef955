//! The log of changes.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Scope};
use crate::app::App;
use crate::audit::AuditEntry;
use crate::body::Query;
use crate::problem::Problem;

/// The query of the log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Log {
    /// The id of the last change that the caller knows. Default: from the oldest on.
    #[param(pattern = "^[0-9]{1,15}(-[0-9]{1,15})?$")]
    after: Option<String>,
}

/// Changes, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct LogBody {
    /// The changes.
    entries: Vec<AuditEntry>,
}

/// Returns the routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(log))
}

/// Lists who changed what, and why: about the last thousand changes. In Redis they are those of all servers on it.
#[utoipa::path(get, operation_id = "audit", path = "/v1/audit", tag = "look", params(Log), responses((status = 200, body = LogBody)))]
async fn log(
    State(app): State<App>,
    access: Access,
    Query(Log { after }): Query<Log>,
) -> Result<Json<LogBody>, Problem> {
    let after = after.as_deref().map(str::parse).transpose();
    let after = after.map_err(|()| Problem::invalid("after", "must be the id of a change"))?;
    let mut entries = app.audit().after(after.unwrap_or_default()).await?;
    entries.retain(|entry| access.may(Scope::Read, &entry.text.limiter));
    Ok(Json(LogBody { entries }))
}
