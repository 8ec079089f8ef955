//! Conversion of JavaScript arguments: numbers, costs, times, intervals and names.

use paddlegate::{
    BlockAfter, Calendar, Cost, Deadline, Decision, Error, Kind, LOCK_TIMEOUT, Limit, LimiterUnits, Micros, Refund,
    Request, Result,
};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Returns the members of a list.
    #[wasm_bindgen(js_namespace = Array, js_name = from)]
    pub(crate) fn members(list: &JsValue) -> Vec<JsValue>;

    /// Returns a value as JavaScript shows it. The formatting of floats in Rust would be a tenth of the module.
    #[wasm_bindgen(js_name = String)]
    pub(crate) fn shown(value: &JsValue) -> String;
}

/// The first integer that a JavaScript number cannot distinguish from its neighbour.
const INEXACT: f64 = 9_007_199_254_740_992.0;

/// Reads an integer that is exact in JavaScript.
pub(crate) fn whole(argument: &'static str, value: &JsValue) -> Result<u64> {
    whole_of(argument, argument, value)
}

/// As [`whole`], of a part of an argument: messages show `name`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked first
fn whole_of(argument: &'static str, name: &str, value: &JsValue) -> Result<u64> {
    match value.as_f64() {
        Some(number) if (0.0..INEXACT).contains(&number) && number.fract() == 0.0 => Ok(number as u64),
        Some(_) => Err(Error::invalid(argument, format!("must be a whole number: {name}={}", shown(value)))),
        None => Err(wrong_type_of(argument, name, "a whole number", value)),
    }
}

/// The units of a call as JavaScript gives them: a number, or a list of keys and units alternately. The key of a limiter has
/// such a list in the place of units.
pub(crate) enum Units {
    All(u64),
    Each(Vec<Leaf>),
}

/// The units of a label, maybe of one limiter.
pub(crate) struct Leaf {
    limiter: Option<String>,
    label: String,
    units: u64,
}

impl Units {
    pub(crate) fn read(argument: &'static str, value: &JsValue) -> Result<Self> {
        if !value.is_array() {
            return whole(argument, value).map(Self::All);
        }
        let mut each = Vec::new();
        for [key, units] in members(value).as_chunks().0 {
            if units.is_array() {
                for [label, units] in members(units).as_chunks().0 {
                    each.push(Leaf::read(argument, Some(key), label, units)?);
                }
            } else {
                each.push(Leaf::read(argument, None, key, units)?);
            }
        }
        Ok(Self::Each(each))
    }

    pub(crate) fn borrowed(&self) -> Borrowed<'_> {
        match self {
            Self::All(units) => Borrowed::All(*units),
            Self::Each(each) if each.iter().all(|leaf| leaf.limiter.is_none()) => {
                Borrowed::ByLabel(each.iter().map(|leaf| (leaf.label.as_str(), leaf.units)).collect())
            }
            Self::Each(each) => Borrowed::ByLimiter(each.iter().map(Leaf::borrowed).collect()),
        }
    }
}

impl Leaf {
    fn read(argument: &'static str, limiter: Option<&JsValue>, label: &JsValue, units: &JsValue) -> Result<Self> {
        let limiter = limiter.map(|limiter| text(argument, limiter)).transpose()?;
        let label = text(argument, label)?;
        let units = whole_of(argument, &label, units)?;
        Ok(Self { limiter, label, units })
    }

    fn borrowed(&self) -> LimiterUnits<'_> {
        LimiterUnits { limiter: self.limiter.as_deref(), label: Some(&self.label), units: self.units }
    }
}

/// [`Units`] in the form of core.
pub(crate) enum Borrowed<'a> {
    All(u64),
    ByLabel(Vec<(&'a str, u64)>),
    ByLimiter(Vec<LimiterUnits<'a>>),
}

impl Borrowed<'_> {
    pub(crate) fn cost(&self) -> Cost<'_> {
        match self {
            Self::All(units) => Cost::Units(*units),
            Self::ByLabel(units) => Cost::ByLabel(units),
            Self::ByLimiter(units) => Cost::ByLimiter(units),
        }
    }
}

/// Reads the cost of a call, its estimate, how long that can be settled, and its place in the queue as a list of priority, share
/// and weight, and whether its decision has each limit, and calls `run` with them. Not generic, which would be larger.
pub(crate) fn with_request(
    cost: &JsValue,
    estimate: &JsValue,
    settle_within: &JsValue,
    place: &JsValue,
    run: &mut dyn FnMut(Request<'_>) -> Result<Decision>,
) -> Result<Decision> {
    let cost = optional(cost, |value| Units::read("cost", value))?;
    let estimate = optional(estimate, |value| Units::read("estimate", value))?;
    let (cost, estimate) = (cost.as_ref().map(Units::borrowed), estimate.as_ref().map(Units::borrowed));
    let settle_within = optional(settle_within, |value| millis("settle_within", value))?;
    let request = Request {
        cost: cost.as_ref().map(Borrowed::cost),
        estimate: estimate.as_ref().map(Borrowed::cost),
        settle_within,
        ..Request::default()
    };
    // Most calls have none.
    if place.is_undefined() {
        return run(request);
    }
    let place = members(place);
    let [priority, share, weight, limits] = place.as_slice() else {
        return Err(Error::internal("a place has four values"));
    };
    let priority = optional(priority, |value| whole("priority", value))?;
    let share = optional(share, |value| text("share", value))?;
    let weight = optional(weight, |value| whole("weight", value))?;
    let request = Request { limits: limits.is_truthy(), ..request };
    run(request.in_queue(priority, share.as_deref(), weight)?)
}

/// Reads an optional argument; `undefined` and `null` count as absent.
pub(crate) fn optional<T>(value: &JsValue, read: impl FnOnce(&JsValue) -> Result<T>) -> Result<Option<T>> {
    if value.is_undefined() || value.is_null() { Ok(None) } else { read(value).map(Some) }
}

/// Reads seconds, a word or an ISO 8601 duration.
pub(crate) fn interval(argument: &'static str, value: &JsValue) -> Result<Micros> {
    if let Some(seconds) = value.as_f64() {
        return Micros::from_seconds(argument, seconds);
    }
    match value.as_string() {
        Some(text) => Micros::parse(argument, &text),
        None => Err(wrong_type(argument, "a number of seconds or a text", value)),
    }
}

/// Reads a number of milliseconds.
pub(crate) fn millis(argument: &'static str, value: &JsValue) -> Result<Micros> {
    match value.as_f64() {
        Some(millis) => Micros::from_seconds(argument, millis / 1e3),
        None => Err(wrong_type(argument, "a number of milliseconds", value)),
    }
}

pub(crate) fn number(argument: &'static str, value: &JsValue) -> Result<f64> {
    value.as_f64().ok_or_else(|| wrong_type(argument, "a number", value))
}

/// An argument and its name in core.
type Named<'a> = (&'static str, &'a JsValue);

/// Reads an optional deadline in milliseconds from now or since 1970.
pub(crate) fn deadline(after: Named<'_>, until: Named<'_>) -> Result<Option<Deadline>> {
    let (span, time) = span_and_time(after, until)?;
    Deadline::either((after.0, span), (until.0, time))
}

/// As [`deadline`], but one of both must be given.
pub(crate) fn one_deadline(after: Named<'_>, until: Named<'_>) -> Result<Deadline> {
    let (span, time) = span_and_time(after, until)?;
    Deadline::one_of((after.0, span), (until.0, time))
}

fn span_and_time(after: Named<'_>, until: Named<'_>) -> Result<(Option<Micros>, Option<Micros>)> {
    let span = optional(after.1, |span| millis(after.0, span))?;
    let time = optional(until.1, |time| {
        // To the nearest microsecond; NaN stays NaN.
        whole(until.0, &JsValue::from((number(until.0, time)? * 1e3).round())).map(Micros)
    })?;
    Ok((span, time))
}

/// Reads a string that is valid Unicode: lone surrogates are lost in the conversion to UTF-8.
pub(crate) fn text(argument: &'static str, value: &JsValue) -> Result<String> {
    let text = value.as_string().ok_or_else(|| wrong_type(argument, "a string", value))?;
    if JsValue::from_str(&text) != *value {
        return Err(Error::invalid(argument, "must be valid Unicode, without lone surrogates"));
    }
    Ok(text)
}

/// Reads a list of limits, each a list of its kind, its values and its label.
pub(crate) fn limits(list: &JsValue) -> Result<Vec<Limit>> {
    let limit = |each: &JsValue| match members(each).as_slice() {
        [kind, numbers, label] => limit(kind, &members(numbers), label),
        _ => Err(Error::internal("a limit has a kind, values and a label")),
    };
    members(list).iter().map(limit).collect()
}

/// Reads a rule for blocks, a list of its three numbers.
pub(crate) fn block_after(rule: &JsValue) -> Result<BlockAfter> {
    let rule = members(rule);
    let [refusals, within, lasts] = rule.as_slice() else { return Err(Error::internal("a rule has three numbers")) };
    // Core refuses times that are out of range, and so what saturates here.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let micros = |value| Ok(Micros((number("block_after", value)? * 1e3).round() as u64));
    BlockAfter::of_micros(whole("block_after", refusals)?, micros(within)?, micros(lasts)?)
}

/// Reads a limit from its kind and values, in the order of the factories' arguments. Without a label it has the name of its
/// kind.
fn limit(kind: &JsValue, numbers: &[JsValue], label: &JsValue) -> Result<Limit> {
    let kind = Kind::from_name(&text("kind", kind)?)?;
    let (amount, span) = kind.arguments();
    let (count, mut numbers, absent) = (numbers.len(), numbers.iter(), JsValue::UNDEFINED);
    let mut next = || numbers.next().unwrap_or(&absent);
    let amount = match amount {
        // A throttle of one start has its interval alone.
        Some(_) if kind == Kind::Throttle && count < 2 => 1,
        Some(name) => whole(name, next())?,
        None => 0,
    };
    let span = match span {
        Some(name) if kind == Kind::Concurrency => {
            optional(next(), |value| interval(name, value))?.unwrap_or(LOCK_TIMEOUT)
        }
        Some(name) => interval(name, next())?,
        None => Micros(0),
    };
    let offset = match kind {
        Kind::Bucket => optional(next(), |value| interval("offset", value))?.unwrap_or_default(),
        _ => Micros(0),
    };
    let limit = match kind {
        Kind::Quota => {
            let per = text("per", next())?;
            let timezone = optional(next(), |value| text("timezone", value))?;
            let starts = optional(next(), |value| text("starts", value))?;
            Limit::quota(amount, Calendar::parse(&per, timezone.as_deref(), starts.as_deref())?)?
        }
        _ => Limit::of_kind(kind, amount, span, offset)?,
    };
    let refund = match kind {
        Kind::Leaky | Kind::Points => optional(next(), |value| Refund::from_name(&text("refund", value)?))?,
        _ => None,
    };
    if numbers.next().is_some() {
        return Err(Error::invalid("limits", format!("has too many numbers: kind={}", kind.name())));
    }
    let limit = limit.with_refund(refund.unwrap_or_default())?;
    match optional(label, |label| text("label", label))? {
        Some(label) => limit.labelled(&label),
        None => Ok(limit),
    }
}

fn wrong_type(argument: &'static str, wanted: &str, value: &JsValue) -> Error {
    wrong_type_of(argument, argument, wanted, value)
}

fn wrong_type_of(argument: &'static str, name: &str, wanted: &str, value: &JsValue) -> Error {
    let found = value.js_typeof().as_string().unwrap_or_default();
    Error::invalid(argument, format!("must be {wanted}: {name} is of type {found}"))
}
