//! The bodies of an operator's changes.

use std::collections::BTreeMap;

use paddlegate::{AdminRequest, Deadline, Document, Limit, LimitNumbers};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Span, Time, deadline};
use crate::problem::Problem;

/// The body of a pause.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pause {
    /// How long the pause lasts; or `expires_at`.
    #[schema(inline)]
    pub(crate) expires_in: Option<Span>,
    /// When the pause ends.
    #[schema(inline)]
    pub(crate) expires_at: Option<Time>,
    /// Why, for the audit log.
    #[schema(max_length = 500)]
    pub(crate) reason: Option<String>,
    /// The key of a keyed limiter.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// The body of an override: other numbers for one limit, or whole `limits` by their labels.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Override {
    /// The amount.
    pub(crate) limit: Option<u64>,
    /// The interval.
    #[schema(inline)]
    pub(crate) interval: Option<Span>,
    /// The label of the limit; a limiter of one limit may omit it.
    pub(crate) label: Option<String>,
    /// Whole limits by their labels, as `limits` of a limits file has them.
    #[schema(inline)]
    pub(crate) limits: Option<LimitsBody>,
    /// How long the override lasts; without an end until it is removed.
    #[schema(inline)]
    pub(crate) expires_in: Option<Span>,
    /// When the override ends.
    #[schema(inline)]
    pub(crate) expires_at: Option<Time>,
    /// Why, for the audit log.
    #[schema(max_length = 500)]
    pub(crate) reason: Option<String>,
    /// The key of a keyed limiter.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// Limits by their labels.
#[derive(Debug, Deserialize)]
pub(crate) struct LimitsBody(BTreeMap<String, Value>);

impl Pause {
    /// Returns the change.
    pub(crate) fn request(&self) -> Result<AdminRequest, Problem> {
        let span = ("expires_in", self.expires_in.map(|Span(span)| span));
        let time = ("expires_at", self.expires_at.map(|Time(time)| time));
        Ok(AdminRequest::Pause(Deadline::one_of(span, time)?))
    }
}

impl Override {
    /// Returns the change.
    pub(crate) fn request(&self) -> Result<AdminRequest, Problem> {
        let expires = deadline(self.expires_in, self.expires_at)?;
        let numbers = LimitNumbers { amount: self.limit, interval: self.interval.map(|Span(span)| span), rate: None };
        Ok(match &self.limits {
            Some(_) if numbers != LimitNumbers::default() || self.label.is_some() => {
                return Err(Problem::invalid("limits", "give limits, or limit, interval and label, not both"));
            }
            Some(limits) => AdminRequest::OverrideLimits { limits: limits.limits()?, expires },
            None => AdminRequest::Override { label: self.label.clone(), numbers, expires },
        })
    }
}

/// The body of a change of the mode.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModeBody {
    /// The mode.
    pub(crate) mode: ModeName,
    /// How long the override lasts; without an end until it is removed.
    #[schema(inline)]
    pub(crate) expires_in: Option<Span>,
    /// When the override ends.
    #[schema(inline)]
    pub(crate) expires_at: Option<Time>,
    /// Why, for the audit log.
    #[schema(max_length = 500)]
    pub(crate) reason: Option<String>,
    /// The key of a keyed limiter.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

/// A mode.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeName {
    /// Refuses what is above a limit.
    Enforce,
    /// Refuses nobody.
    Shadow,
}

/// The body of a reset.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reset {
    /// Why, for the audit log.
    #[schema(max_length = 500)]
    pub(crate) reason: Option<String>,
    /// The key of a keyed limiter.
    #[schema(max_length = 512)]
    pub(crate) key: Option<String>,
}

impl LimitsBody {
    /// Returns the limits.
    pub(crate) fn limits(&self) -> Result<Vec<Limit>, Problem> {
        let document = serde_json::json!({ "limiters": { "override": { "limits": self.0 } } });
        let read = Document::parse(&document.to_string()).and_then(|document| document.definitions());
        let definitions = read.map_err(|error| {
            let message = error.message().strip_prefix("at $.limiters.override.").unwrap_or(error.message());
            let (place, fault) = message.split_once(": ").unwrap_or(("limits", message));
            Problem::invalid(if place.starts_with("limits") { place } else { "limits" }, fault)
        })?;
        Ok(definitions.into_iter().flat_map(|definition| definition.policy.limits().to_vec()).collect())
    }
}

impl utoipa::PartialSchema for LimitsBody {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Ref, Type};
        // The schema of one limit is the core's, which `openapi` adds.
        let labelled = AdditionalProperties::RefOr(utoipa::openapi::RefOr::Ref(Ref::from_schema_name("Labelled")));
        ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(labelled)).into()
    }
}

impl ToSchema for LimitsBody {}
