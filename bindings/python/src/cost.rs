//! Conversion of costs. Which labels a cost must name, and how much it may be, are rules of the core.

use paddlegate::{Cost, Error, Request};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::argument::{OptionalArg, mapping, refused, shown, text, whole};
use crate::error::Result;

/// A cost as its caller gave it: a whole number, or a mapping from labels to whole numbers.
pub(crate) enum Units {
    Number(u64),
    ByLabel(Vec<(String, u64)>),
}

/// The cost or the estimate of a call.
pub(crate) struct RequestUnits {
    cost: Option<Units>,
    estimate: Option<Units>,
}

impl Units {
    fn new(argument: &'static str, value: &Bound<'_, PyAny>) -> Result<Self> {
        match mapping(value) {
            Some(labels) => by_label(argument, labels),
            None => whole(argument, value).map(Self::Number),
        }
    }

    /// Passes the cost to `run`.
    pub(crate) fn with<T>(&self, run: impl FnOnce(Cost<'_>) -> T) -> T {
        match self {
            Self::Number(units) => run(Cost::Units(*units)),
            Self::ByLabel(units) => {
                let units: Vec<(&str, u64)> = units.iter().map(|(label, units)| (label.as_str(), *units)).collect();
                run(Cost::ByLabel(&units))
            }
        }
    }
}

impl RequestUnits {
    pub(crate) fn new(cost: OptionalArg, estimate: OptionalArg) -> Result<Self> {
        Ok(Self {
            cost: cost.map(|cost| Units::new("cost", cost)).transpose()?,
            estimate: estimate.map(|estimate| Units::new("estimate", estimate)).transpose()?,
        })
    }

    /// Passes the request to `run`.
    pub(crate) fn with<T>(&self, run: impl FnOnce(Request<'_>) -> T) -> T {
        with_optional(self.cost.as_ref(), |cost| {
            with_optional(self.estimate.as_ref(), |estimate| run(Request { cost, estimate }))
        })
    }
}

/// Reads a cost and passes it to `run`.
pub(crate) fn with_cost<T>(
    argument: &'static str,
    value: &Bound<'_, PyAny>,
    run: impl FnOnce(Cost<'_>) -> Result<T>,
) -> Result<T> {
    Units::new(argument, value)?.with(run)
}

/// Reads a cost or an estimate and passes the request to `run`.
pub(crate) fn with_request<T>(
    cost: OptionalArg,
    estimate: OptionalArg,
    run: impl FnOnce(Request<'_>) -> Result<T>,
) -> Result<T> {
    RequestUnits::new(cost, estimate)?.with(run)
}

fn with_optional<T>(units: Option<&Units>, run: impl FnOnce(Option<Cost<'_>>) -> T) -> T {
    match units {
        Some(units) => units.with(|cost| run(Some(cost))),
        None => run(None),
    }
}

fn by_label(argument: &'static str, labels: &Bound<'_, PyMapping>) -> Result<Units> {
    let mut units = Vec::new();
    for item in labels.items()? {
        let (label, of_label): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let label = match text(argument, &label) {
            Ok(label) => label.to_owned(),
            Err(_) => return Err(refused(argument, "must have labels that are text", &label)),
        };
        let Ok(of_label) = whole(argument, &of_label) else {
            let rule = "must have whole numbers that are not negative or huge";
            let message = format!("{rule}: label={label:.40} {argument}={}", shown(&of_label));
            return Err(Error::invalid(argument, message).into());
        };
        units.push((label, of_label));
    }
    Ok(Units::ByLabel(units))
}
