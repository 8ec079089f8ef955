//! `CostBody`: the units of a call, as a request writes them.

use std::fmt;

use paddlegate::{Cost, LimiterUnits, Request};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::Span;
use crate::problem::Problem;

/// The maximum number of names in a map.
const MAX_NAMES: usize = 64;

/// A number for all limits, or for each label; of several limiters for each limiter too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CostBody {
    /// Units of every limit that counts units.
    Number(u64),
    /// Units by names.
    ByName(Vec<(String, CostBody)>),
}

/// The units of a [`CostBody`], which a [`Cost`] borrows.
pub(crate) enum Units<'a> {
    Number(u64),
    ByLabel(Vec<(&'a str, u64)>),
    ByLimiter(Vec<LimiterUnits<'a>>),
}

impl CostBody {
    /// Returns the units for one limiter.
    pub(crate) fn of_one(&self, argument: &'static str) -> Result<Units<'_>, Problem> {
        let Self::ByName(named) = self else { return Ok(self.number()) };
        let units = |(label, cost): &'_ (String, Self)| match cost {
            Self::Number(_) => Ok(()),
            Self::ByName(_) => {
                let detail =
                    format!("names limiters, but only one decides; give a number for each label: label={label:?}");
                Err(Problem::invalid(argument, detail))
            }
        };
        named.iter().try_for_each(units)?;
        let numbers = named.iter().filter_map(|(label, cost)| match cost {
            Self::Number(units) => Some((label.as_str(), *units)),
            Self::ByName(_) => None,
        });
        Ok(Units::ByLabel(numbers.collect()))
    }

    /// Returns the units for several limiters.
    pub(crate) fn of_several(&self) -> Units<'_> {
        let Self::ByName(named) = self else { return self.number() };
        let mut all = Vec::new();
        for (name, cost) in named {
            match cost {
                Self::Number(units) => {
                    all.push(LimiterUnits { limiter: None, label: Some(name), units: *units });
                }
                Self::ByName(labels) => all.extend(labels.iter().filter_map(|(label, cost)| match cost {
                    Self::Number(units) => {
                        Some(LimiterUnits { limiter: Some(name), label: Some(label), units: *units })
                    }
                    Self::ByName(_) => None,
                })),
            }
        }
        Units::ByLimiter(all)
    }

    const fn number(&self) -> Units<'static> {
        match self {
            Self::Number(units) => Units::Number(*units),
            Self::ByName(_) => Units::Number(0),
        }
    }
}

impl Units<'_> {
    pub(crate) fn cost(&self) -> Cost<'_> {
        match self {
            Units::Number(units) => Cost::Units(*units),
            Units::ByLabel(units) => Cost::ByLabel(units),
            Units::ByLimiter(units) => Cost::ByLimiter(units),
        }
    }
}

/// The units of a call, final or until they are corrected.
pub(crate) struct Amounts<'a> {
    cost: Option<Units<'a>>,
    estimate: Option<Units<'a>>,
}

impl<'a> Amounts<'a> {
    /// Reads those for one limiter.
    pub(crate) fn of_one(cost: Option<&'a CostBody>, estimate: Option<&'a CostBody>) -> Result<Self, Problem> {
        let cost = cost.map(|cost| cost.of_one("cost")).transpose()?;
        Ok(Self { cost, estimate: estimate.map(|estimate| estimate.of_one("estimate")).transpose()? })
    }

    /// Reads those for several limiters.
    pub(crate) fn of_several(cost: Option<&'a CostBody>, estimate: Option<&'a CostBody>) -> Self {
        Self { cost: cost.map(CostBody::of_several), estimate: estimate.map(CostBody::of_several) }
    }

    /// Returns a request for them.
    pub(crate) fn request(&self, settle_within: Option<Span>, limits: bool) -> Request<'_> {
        Request {
            cost: self.cost.as_ref().map(Units::cost),
            estimate: self.estimate.as_ref().map(Units::cost),
            settle_within: settle_within.map(|Span(span)| span),
            limits,
            ..Request::default()
        }
    }
}

impl<'de> Deserialize<'de> for CostBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Costs { depth: 0 })
    }
}

struct Costs {
    depth: u8,
}

impl<'de> Visitor<'de> for Costs {
    type Value = CostBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of units from 0 on, or a map of names to such numbers")
    }

    fn visit_u64<E: de::Error>(self, units: u64) -> Result<CostBody, E> {
        Ok(CostBody::Number(units))
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in this range")]
    fn visit_f64<E: de::Error>(self, units: f64) -> Result<CostBody, E> {
        // JSON has one kind of number: 3.0 is 3.
        if units.fract() == 0.0 && (0.0..=1e15).contains(&units) {
            return Ok(CostBody::Number(units as u64));
        }
        Err(E::invalid_value(de::Unexpected::Float(units), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CostBody, A::Error> {
        if self.depth > 1 {
            return Err(de::Error::custom("is nested too deep: limiters have labels, and labels have numbers"));
        }
        let mut named = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if named.len() == MAX_NAMES {
                return Err(de::Error::custom(format!("must be at most {MAX_NAMES} names")));
            }
            let cost = map.next_value_seed(Self { depth: self.depth + 1 })?;
            named.push((name, cost));
        }
        Ok(CostBody::ByName(named))
    }
}

impl<'de> de::DeserializeSeed<'de> for Costs {
    type Value = CostBody;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<CostBody, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl PartialSchema for CostBody {
    fn schema() -> RefOr<Schema> {
        let number = || {
            ObjectBuilder::new()
                .schema_type(Type::Integer)
                .minimum(Some(0.0))
                .maximum(Some(1_000_000_000_000.0))
                .build()
        };
        let by = |of: Schema| {
            ObjectBuilder::new()
                .schema_type(Type::Object)
                .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(of))))
                .build()
        };
        let labels = by(Schema::Object(number()));
        let either = OneOfBuilder::new().item(number()).item(labels).build();
        OneOfBuilder::new()
            .item(number())
            .item(by(Schema::OneOf(either)))
            .description(Some(
                "A number of units of every limit that counts units, or a number for each label; of several limiters also a map \
                 of labels for each limiter.",
            ))
            .into()
    }
}

impl ToSchema for CostBody {}
