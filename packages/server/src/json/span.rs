//! `Span` and `Time`: times of a request, and `seconds` of a response.

use std::fmt;

use paddlegate::{Deadline, Error, MAX_TIME, Micros, period};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A span: a number of seconds, or a text such as `minute`, `500ms` or `PT0.1S`; at most ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Micros);

/// A time: seconds since 1970 by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Micros);

/// Returns the seconds of a time; exact to the microsecond below 2^53 of them.
#[allow(clippy::cast_precision_loss, reason = "times are below 2^53 microseconds")]
pub(crate) fn seconds(micros: Micros) -> f64 {
    micros.0 as f64 / 1e6
}

/// Returns the deadline of the members `expires_in` and `expires_at`.
pub(crate) fn deadline(span: Option<Span>, time: Option<Time>) -> Result<Option<Deadline>, Error> {
    Deadline::either(("expires_in", span.map(|Span(span)| span)), ("expires_at", time.map(|Time(time)| time)))
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spans;
        impl Visitor<'_> for Spans {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds or a duration such as minute, 500ms or PT0.1S")
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Span, E> {
                Micros::from_seconds("seconds", seconds).map(Span).map_err(|error| E::custom(error.message()))
            }

            #[allow(clippy::cast_precision_loss, reason = "a number so large is refused")]
            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Span, E> {
                self.visit_f64(seconds as f64)
            }

            #[allow(clippy::cast_precision_loss, reason = "a number below zero is refused")]
            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Span, E> {
                self.visit_f64(seconds as f64)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                period::period(text).map(Span).map_err(|error| E::custom(error.message()))
            }
        }
        deserializer.deserialize_any(Spans)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        let micros = (seconds * 1e6).round();
        #[allow(clippy::cast_precision_loss, reason = "2^52")]
        if seconds < 0.0 || !(0.0..MAX_TIME.0 as f64).contains(&micros) {
            return Err(de::Error::custom("must be seconds since 1970, below 2^52 microseconds"));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in this range")]
        Ok(Self(Micros(micros as u64)))
    }
}

impl PartialSchema for Span {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0.0)).maximum(Some(315_360_000.0));
        let text = ObjectBuilder::new().schema_type(Type::String).examples(["minute", "500ms", "PT0.1S"]);
        OneOfBuilder::new()
            .item(number)
            .item(text)
            .description(Some("A number of seconds, a word, a number with its unit or an ISO 8601 duration."))
            .into()
    }
}

impl ToSchema for Span {}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0.0))
            .maximum(Some(4_503_599_627.0))
            .description(Some("Seconds since 1970 by the clock of the store."))
            .into()
    }
}

impl ToSchema for Time {}
