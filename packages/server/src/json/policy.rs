//! `PolicyBody`: a limiter in the body of a request, as a limits file has it.

use paddlegate::{Definition, Document};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Ref, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::Problem;

/// A limiter in the body of a request, in the format of a limits file.
#[derive(Debug, Deserialize)]
pub(crate) struct PolicyBody(Box<RawValue>);

impl PolicyBody {
    /// Returns the text, by which equal policies are known.
    pub(crate) fn text(&self) -> &str {
        self.0.get()
    }

    /// Returns the definition of a limiter with this name.
    pub(crate) fn definition(&self, name: &str) -> Result<Definition, Problem> {
        let text = format!(r#"{{"limiters":{{"policy":{}}}}}"#, self.text());
        let definitions = Document::parse(&text).and_then(|document| document.definitions());
        let definition = definitions.map_err(|error| {
            let message = error.message().strip_prefix("at $.limiters.").unwrap_or(error.message());
            let (place, fault) = message.split_once(": ").unwrap_or(("policy", message));
            let place = if place.starts_with("policy") { place } else { "policy" };
            Problem::invalid(place, fault)
        })?;
        let definition = definition.into_iter().next();
        let definition = definition.ok_or_else(|| Problem::invalid("policy", "defines no limiter"))?;
        Ok(Definition { name: name.to_owned(), ..definition })
    }
}

impl PartialSchema for PolicyBody {
    fn schema() -> RefOr<Schema> {
        // The schema of the core, which `openapi` adds.
        RefOr::Ref(Ref::from_schema_name("Limiter"))
    }
}

impl ToSchema for PolicyBody {}
