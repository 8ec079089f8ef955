//! The native format: limiters by name.
//!
//! ```json
//! {
//!   "limiters": {
//!     "shopify-42": {"points": {"limit": 1000, "refill": "20s"}, "wait_timeout": "5s"},
//!     "stripe": {
//!       "concurrency": {"limit": 5, "lock_timeout": "30s"},
//!       "limits": {"rpm": {"window": {"limit": 100, "per": "minute"}}, "rph": {"window": {"limit": 1000, "per": "hour"}}},
//!       "throttle": {"every": "PT0.1S"},
//!       "on_limit": "reschedule"
//!     }
//!   }
//! }
//! ```
//!
//! A duration is a number of seconds, a word (`second`, `minute`, `hour`, `day`), a number with its unit (`500ms`,
//! `10s`, `5m`, `1h`, `1d`) or an ISO 8601 duration (`PT0.1S`). A kind of limit is a member
//! of its limiter, and has its name as label; `limits` has further ones by their labels.

mod block_after;
mod kinds;
mod limiter;
mod span;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use self::block_after::BlockAfter;
pub use self::kinds::{Bucket, Concurrency, Labelled, Leaky, Points, Quota, Throttle, Window};
pub use self::limiter::Limiter;
pub use self::span::Span;

use super::field::Field;
use super::{Definition, PREFIXES};
use crate::base::error::Result;
use crate::base::json;
use crate::client::limiter::MAX_NAME;

/// The maximum number of limiters in one document.
pub const MAX_LIMITERS: usize = 10_000;

/// The limiters of a company, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(title = "Paddlegate limits", transform = with_server))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The address of this schema, for editors; ignored otherwise.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Every limiter by its name of 1 to 512 bytes; at most 10,000.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("maxProperties" = MAX_LIMITERS, "propertyNames" = {"minLength": 1, "maxLength": MAX_NAME}))
    )]
    pub limiters: BTreeMap<String, Limiter>,
}

impl Limits {
    /// Parses the native format; see the module for an example.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// # use paddlegate::formats::native::Limits;
    /// let limits = Limits::parse(r#"{ "limiters": { "mail": { "throttle": { "every": "100ms" } } } }"#)?;
    /// assert_eq!(limits.limiters["mail"].policy()?.limits()[0].interval(), Micros(100_000));
    /// assert_eq!(limits.definitions()?[0].name, "mail");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self> {
        let root = Field::root(value);
        // The server reads what is for it.
        root.object(&["$schema", "limiters", "server"])?;
        let schema = root.get("$schema").map(|schema| schema.text().map(str::to_owned)).transpose()?;
        let named = root.need("limiters")?;
        let members = named.members()?;
        if members.len() > MAX_LIMITERS {
            return Err(named.fault(format!("must be at most {MAX_LIMITERS} limiters: limiters={}", members.len())));
        }
        let mut limiters = BTreeMap::new();
        for (name, place) in members {
            if name.is_empty() || name.len() > MAX_NAME {
                return Err(place.fault(format!("the name must have 1 to {MAX_NAME} bytes: bytes={}", name.len())));
            }
            if let Some(prefix) = PREFIXES.into_iter().find(|prefix| name.starts_with(prefix)) {
                return Err(place.fault(format!(
                    "the name begins with {prefix:?}, which is kept for other formats; choose another"
                )));
            }
            limiters.insert(name.to_owned(), Limiter::read(&place)?);
        }
        Ok(Self { schema, limiters })
    }

    /// Returns all limiters, sorted by name.
    pub fn definitions(&self) -> Result<Vec<Definition>> {
        let define = |(name, limiter): (&String, &Limiter)| limiter.definition(name);
        self.limiters.iter().map(define).collect()
    }

    /// Returns the JSON Schema of the format, identical to `limits.schema.json`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::formats::native::Limits;
    /// assert!(Limits::json_schema()?.contains(r#""title": "Paddlegate limits""#));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[cfg(feature = "schema")]
    pub fn json_schema() -> Result<String> {
        let schema = schemars::schema_for!(Limits);
        serde_json::to_string_pretty(&schema)
            .map(|text| text + "\n")
            .map_err(|error| crate::base::error::Error::internal(format!("the schema cannot be written: {error}")))
    }
}

/// Adds the member that only the server reads, whose reference describes it.
#[cfg(feature = "schema")]
fn with_server(schema: &mut schemars::Schema) {
    let server = serde_json::json!({"description": "What `paddlegate serve` alone reads, such as `envoy`; ignored otherwise.", "type": "object"});
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("server".to_owned(), server);
    }
}
