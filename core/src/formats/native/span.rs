//! `Span`: a duration, as a number of seconds or as text.

use serde::{Serialize, Serializer};

use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::base::period;
use crate::formats::field::Field;

/// A duration from zero to ten years, serialized as an ISO 8601 duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Micros);

impl Span {
    pub(super) fn read(place: &Field<'_>) -> Result<Self> {
        if place.is_text() { place.period(period::span) } else { place.seconds() }.map(Self)
    }

    pub(super) fn above_zero(place: &Field<'_>) -> Result<Self> {
        match Self::read(place)? {
            Self(Micros(0)) => Err(place.fault("must be above zero")),
            span => Ok(span),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&period::show(self.0))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A length of time of at most ten years: a number of seconds, a word, a number with its unit, or an ISO 8601 duration without months and years.",
            "examples": [20, 0.1, "minute", "500ms", "PT1H30M"],
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 315_360_000 },
                { "enum": ["second", "minute", "hour", "day"] },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$" },
                {
                    "type": "string",
                    "pattern": "^P(?=[0-9T])([0-9]+W)?([0-9]+D)?(T(?=[0-9])([0-9]+([.,][0-9]+)?H)?([0-9]+([.,][0-9]+)?M)?([0-9]+([.,][0-9]+)?S)?)?$"
                }
            ]
        })
    }
}
