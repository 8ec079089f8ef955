//! `Units`: the units of a call that a test makes, for every limit or by label.

use paddlegate::{Cost, LimiterUnits, MAX_UNITS};
use serde_json::Value;

/// The units of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Units {
    All(u64),
    ByLabel(Vec<(String, u64)>),
    /// A key with its units, or with those of each label.
    ByLimiter(Vec<(String, Units)>),
}

impl Units {
    /// Reads a number or a map of a vector; `None` for another value.
    pub fn read(value: &Value) -> Option<Self> {
        let number = |value: &Value| match value {
            Value::String(text) if text == "$2^53" => Some(1 << 53),
            value => value.as_u64(),
        };
        match value {
            Value::Object(map) if map.values().any(Value::is_object) => map
                .iter()
                .map(|(key, units)| Some((key.clone(), Self::read(units)?)))
                .collect::<Option<_>>()
                .map(Self::ByLimiter),
            Value::Object(map) => {
                let each = map.iter().map(|(label, units)| Some((label.clone(), number(units)?)));
                each.collect::<Option<_>>().map(Self::ByLabel)
            }
            value => number(value).map(Self::All),
        }
    }

    /// Returns the largest of the numbers.
    pub fn largest(&self) -> u64 {
        match self {
            Self::All(units) => *units,
            Self::ByLabel(units) => units.iter().map(|(_, units)| *units).max().unwrap_or(1),
            Self::ByLimiter(units) => units.iter().map(|(_, units)| units.largest()).max().unwrap_or(1),
        }
    }

    /// Calls `run` with these units as a cost.
    pub fn with<T>(&self, run: impl FnOnce(Cost<'_>) -> T) -> T {
        match self {
            Self::All(units) => run(Cost::Units(*units)),
            Self::ByLabel(units) => {
                let units: Vec<(&str, u64)> = units.iter().map(|(label, units)| (label.as_str(), *units)).collect();
                run(Cost::ByLabel(&units))
            }
            Self::ByLimiter(units) => {
                let mut each = Vec::new();
                for (key, units) in units {
                    match units {
                        Self::All(units) => each.push(LimiterUnits { limiter: None, label: Some(key), units: *units }),
                        Self::ByLabel(labels) => each.extend(labels.iter().map(|(label, units)| LimiterUnits {
                            limiter: Some(key),
                            label: Some(label),
                            units: *units,
                        })),
                        Self::ByLimiter(_) => panic!("a cost has at most two levels"),
                    }
                }
                run(Cost::ByLimiter(&each))
            }
        }
    }

    #[must_use]
    pub fn times(self, factor: u64) -> Self {
        let of = |units: u64| (units * factor).min(MAX_UNITS);
        match self {
            Self::All(units) => Self::All(of(units)),
            Self::ByLabel(units) => Self::ByLabel(units.into_iter().map(|(label, units)| (label, of(units))).collect()),
            Self::ByLimiter(_) => panic!("of one limiter"),
        }
    }

    /// Returns the units of a label: one where the map does not name it.
    pub fn of(&self, label: &str) -> u64 {
        match self {
            Self::All(units) => *units,
            Self::ByLabel(units) => units.iter().find(|(other, _)| other == label).map_or(1, |(_, units)| *units),
            Self::ByLimiter(_) => panic!("of one limiter"),
        }
    }
}
