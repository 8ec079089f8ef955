//! Conversion of costs, and of the place of a call in the queue. Which labels a cost must name, and how much it may be, are
//! rules of the core.

use paddlegate::{Cost, Error, LimiterUnits, Micros, Request};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::argument::{OptionalArg, mapping, refused, shown, span, text, whole};
use crate::error::Result;

/// A cost as its caller gave it: a whole number, or a mapping from labels and names of limiters to whole numbers, in which
/// a limiter may have a mapping of its own.
pub(crate) enum Units {
    Number(u64),
    ByLabel(Vec<(String, u64)>),
    ByLimiter(Vec<UnitsOfLimiter>),
}

/// What `LimiterUnits` borrows.
pub(crate) struct UnitsOfLimiter {
    limiter: Option<String>,
    label: Option<String>,
    units: u64,
}

/// The cost or the estimate of a call, and its order in the queue.
pub(crate) struct RequestUnits {
    cost: Option<Units>,
    estimate: Option<Units>,
    settle_within: Option<Micros>,
    order: Order,
}

#[derive(Default)]
struct Order {
    priority: Option<u64>,
    share: Option<String>,
    weight: Option<u64>,
}

/// The arguments `estimate` and `settle_within` of a call.
pub(crate) type EstimateArgs<'a, 'py> = (OptionalArg<'a, 'py>, OptionalArg<'a, 'py>);

/// The arguments `priority`, `share` and `weight` of a call that may queue.
type OrderArgs<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

impl Units {
    fn new(argument: &'static str, value: &Bound<'_, PyAny>) -> Result<Self> {
        match mapping(value) {
            Some(units) => by_key(argument, units),
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
            Self::ByLimiter(units) => {
                let units: Vec<LimiterUnits<'_>> = units.iter().map(UnitsOfLimiter::borrowed).collect();
                run(Cost::ByLimiter(&units))
            }
        }
    }
}

impl UnitsOfLimiter {
    fn borrowed(&self) -> LimiterUnits<'_> {
        LimiterUnits { limiter: self.limiter.as_deref(), label: self.label.as_deref(), units: self.units }
    }
}

impl Order {
    /// Reads a tuple of the arguments; `None` where none of them is given.
    fn new(args: OptionalArg) -> Result<Self> {
        let Some(args) = args else { return Ok(Self::default()) };
        let (priority, share, weight): OrderArgs<'_> = args.extract()?;
        let order = Self {
            priority: priority.map(|priority| whole("priority", &priority)).transpose()?,
            share: share.map(|share| text("share", &share).map(str::to_owned)).transpose()?,
            weight: weight.map(|weight| whole("weight", &weight)).transpose()?,
        };
        // A call that waits tells it before it joins anything.
        order.of(Request::default())?;
        Ok(order)
    }

    fn of<'a>(&'a self, request: Request<'a>) -> Result<Request<'a>> {
        Ok(request.in_queue(self.priority, self.share.as_deref(), self.weight)?)
    }
}

impl RequestUnits {
    pub(crate) fn new(cost: OptionalArg, (estimate, settle_within): EstimateArgs, order: OptionalArg) -> Result<Self> {
        Ok(Self {
            cost: cost.map(|cost| Units::new("cost", cost)).transpose()?,
            estimate: estimate.map(|estimate| Units::new("estimate", estimate)).transpose()?,
            settle_within: settle_within.map(|time| span("settle_within", time)).transpose()?,
            order: Order::new(order)?,
        })
    }

    /// Passes the request to `run`.
    pub(crate) fn with<T>(&self, run: impl FnOnce(Request<'_>) -> Result<T>) -> Result<T> {
        with_optional(self.cost.as_ref(), |cost| {
            with_optional(self.estimate.as_ref(), |estimate| {
                let settle_within = self.settle_within;
                run(self.order.of(Request { cost, estimate, settle_within, ..Request::default() })?)
            })
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
    estimate: EstimateArgs,
    run: impl FnOnce(Request<'_>) -> Result<T>,
) -> Result<T> {
    with_ordered(cost, estimate, None, run)
}

/// Reads the request of a call that may queue and passes it to `run`.
pub(crate) fn with_ordered<T>(
    cost: OptionalArg,
    estimate: EstimateArgs,
    order: OptionalArg,
    run: impl FnOnce(Request<'_>) -> Result<T>,
) -> Result<T> {
    RequestUnits::new(cost, estimate, order)?.with(run)
}

fn with_optional<T>(units: Option<&Units>, run: impl FnOnce(Option<Cost<'_>>) -> T) -> T {
    match units {
        Some(units) => units.with(|cost| run(Some(cost))),
        None => run(None),
    }
}

fn by_key(argument: &'static str, given: &Bound<'_, PyMapping>) -> Result<Units> {
    let mut flat = Vec::new();
    let mut nested = Vec::new();
    let mut is_nested = false;
    for item in given.items()? {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let key = key_text(argument, &key)?;
        let Some(labels) = mapping(&value) else {
            let units = units(argument, &key, &value)?;
            flat.push((key, units));
            continue;
        };
        is_nested = true;
        for item in labels.items()? {
            let (label, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let label = key_text(argument, &label)?;
            let units = units(argument, &label, &value)?;
            nested.push(UnitsOfLimiter { limiter: Some(key.clone()), label: Some(label), units });
        }
    }
    if !is_nested {
        return Ok(Units::ByLabel(flat));
    }
    // The core knows which of these keys are names of limiters.
    nested.extend(flat.into_iter().map(|(key, units)| UnitsOfLimiter { limiter: None, label: Some(key), units }));
    Ok(Units::ByLimiter(nested))
}

fn key_text(argument: &'static str, key: &Bound<'_, PyAny>) -> Result<String> {
    let text = text(argument, key).map(str::to_owned);
    text.map_err(|_| refused(argument, "must have labels that are text", key))
}

fn units(argument: &'static str, key: &str, value: &Bound<'_, PyAny>) -> Result<u64> {
    whole(argument, value).map_err(|_| {
        let rule = "must have whole numbers that are not negative or huge";
        Error::invalid(argument, format!("{rule}: label={key:.40} {argument}={}", shown(value))).into()
    })
}
