//! What a server tells its callers: the fields of a decision, and the key of a caller.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use paddlegate::{CallerOptions, HeaderFields, IPV6_PREFIX};

use crate::calls::picked;
use crate::convert::{Code, ListedLimit, thrown, whole};
use crate::decision_numbers::DecisionNumbers;

/// Returns the fields of a response that tell its caller what a decision left, as pairs of name and value.
// napi passes objects by value.
#[allow(clippy::needless_pass_by_value)]
#[napi(catch_unwind)]
pub fn decision_headers(decision: DecisionNumbers, fields: Option<String>) -> napi::Result<Vec<Vec<String>>, Code> {
    let fields = fields.as_deref().map_or_else(|| Ok(HeaderFields::default()), HeaderFields::from_name);
    let headers = fields.and_then(|fields| Ok(decision.core()?.headers(fields))).map_err(|error| thrown(&error))?;
    Ok(headers.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect())
}

/// Returns the limits of the limiter that was picked.
#[napi(catch_unwind)]
pub fn picked_limits() -> Vec<ListedLimit> {
    picked().iter().flat_map(|limiter| limiter.limits().map(ListedLimit::from).collect::<Vec<_>>()).collect()
}

/// Returns the key of a caller by the address of its connection.
#[allow(clippy::needless_pass_by_value)]
#[napi(catch_unwind)]
pub fn caller_key(
    address: Uint8Array,
    forwarded_for: Option<Uint8Array>,
    trusted_proxies: Vec<String>,
    ipv6_prefix: Option<f64>,
) -> napi::Result<String, Code> {
    let proxies: Vec<&str> = trusted_proxies.iter().map(String::as_str).collect();
    let prefix = ipv6_prefix.map_or(Ok(IPV6_PREFIX), |prefix| whole("ipv6_prefix", prefix));
    let key = prefix.and_then(|ipv6_prefix| {
        let forwarded_for = forwarded_for.as_deref();
        paddlegate::caller_key(&address, &CallerOptions { forwarded_for, trusted_proxies: &proxies, ipv6_prefix })
    });
    key.map_err(|error| thrown(&error))
}

/// Returns a key for a text of a stranger.
#[allow(clippy::needless_pass_by_value)]
#[napi(catch_unwind)]
pub fn plain_key(text: Uint8Array) -> String {
    paddlegate::plain_key(&text)
}
