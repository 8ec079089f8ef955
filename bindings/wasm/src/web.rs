//! What a server tells its callers: the fields of a decision, and the key of a caller.

#[cfg(feature = "full")]
use paddlegate::{CallerOptions, IPV6_PREFIX};
use paddlegate::{Decision, DecisionLimit, Error, HeaderFields, Kind, Label, Micros, Result, Status};
use wasm_bindgen::prelude::*;

#[cfg(feature = "full")]
use crate::argument::whole;
use crate::argument::{optional, text};
use crate::host::{Host, Thrown};

/// Returns the fields of a response that tell its caller what a decision left, names and values alternately. `numbers`: of the
/// decision and of each of its limits the amount, the interval, what remains, the wait, the reset, -1 for unknown, and the place
/// of its kind; the decision has its time in the place of the interval. `texts`: the label and the limiter of each.
#[wasm_bindgen(js_name = decisionHeaders)]
#[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes it by value
pub fn decision_headers(
    host: Host,
    allowed: bool,
    numbers: &[f64],
    texts: Vec<String>,
    fields: &JsValue,
) -> Thrown<Vec<String>> {
    let headers = || {
        let fields = optional(fields, |name| HeaderFields::from_name(&text("fields", name)?))?.unwrap_or_default();
        Ok(decided(allowed, numbers, &texts)?.headers(fields))
    };
    let headers = headers().map_err(|error| host.error(error))?;
    Ok(headers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect())
}

fn decided(allowed: bool, numbers: &[f64], texts: &[String]) -> Result<Decision> {
    let mut rows = numbers.as_chunks().0.iter().zip(texts.as_chunks().0);
    let Some(([limit, at, remaining, retry, reset, _], [label, limiter])) = rows.next() else {
        return Err(Error::internal("a decision has no numbers"));
    };
    Ok(Decision {
        status: if allowed { Status::Granted } else { Status::Refused },
        limit: known(*limit),
        remaining: known(*remaining),
        retry_after: known(*retry).map(Micros),
        reset_after: known(*reset).map(Micros),
        label: unless_empty(label).map(|label| Label::new(&label)).transpose()?,
        limiter: unless_empty(limiter),
        at: Micros(known(*at).unwrap_or(0)),
        limits: rows.map(of_limit).collect::<Result<_>>()?,
        ..Decision::default()
    })
}

fn of_limit((numbers, [label, limiter]): (&[f64; 6], &[String; 2])) -> Result<DecisionLimit> {
    let [limit, interval, remaining, retry, reset, kind] = numbers.map(known);
    let kind = kind.and_then(|place| Kind::ALL.get(usize::try_from(place).ok()?).copied());
    Ok(DecisionLimit {
        limiter: unless_empty(limiter),
        label: Label::new(label)?,
        kind: kind.ok_or_else(|| Error::internal("a limit has no kind"))?,
        limit: limit.unwrap_or(0),
        interval: Micros(interval.unwrap_or(0)),
        remaining: remaining.unwrap_or(0),
        retry_after: retry.map(Micros),
        reset_after: reset.map(Micros),
    })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // -1 is none, and others are whole
fn known(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}

fn unless_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the key of a caller by the address of its connection.
#[cfg(feature = "full")]
#[wasm_bindgen(js_name = callerKey)]
#[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes them by value
pub fn caller_key(
    host: Host,
    address: &[u8],
    forwarded_for: Option<Vec<u8>>,
    trusted_proxies: Vec<String>,
    ipv6_prefix: &JsValue,
) -> Thrown<String> {
    let proxies: Vec<&str> = trusted_proxies.iter().map(String::as_str).collect();
    let prefix = optional(ipv6_prefix, |prefix| whole("ipv6_prefix", prefix));
    let key = prefix.and_then(|prefix| {
        let (forwarded_for, ipv6_prefix) = (forwarded_for.as_deref(), prefix.unwrap_or(IPV6_PREFIX));
        paddlegate::caller_key(address, &CallerOptions { forwarded_for, trusted_proxies: &proxies, ipv6_prefix })
    });
    key.map_err(|error| host.error(error))
}

/// Returns a key for a text of a stranger.
#[cfg(feature = "full")]
#[wasm_bindgen(js_name = plainKey)]
pub fn plain_key(text: &[u8]) -> String {
    paddlegate::plain_key(text)
}
