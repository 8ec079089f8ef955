//! `caller_key` and `plain_key`: the key of a caller, whatever it sends.

use std::borrow::Cow;

use paddlegate::{CallerOptions, IPV6_PREFIX};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use crate::argument::{OptionalArg, refused, texts, whole};
use crate::error::Result;

/// Return the key of a caller by the address of its connection, for a keyed limiter.
///
/// An IPv4 address is itself, also in IPv6 form. The key of an IPv6 caller is its network,
/// `2001:db8:1:2::/64`: `ipv6_prefix` is the length, from 1 to 128. Ports, brackets and zones are
/// cut. What is no address is as in `plain_key`; a Unix socket has the address "" or None.
///
/// `trusted_proxies` are the proxies in front of this process: addresses, networks such as
/// "10.0.0.0/8", and "unix" for one that connects by a Unix socket. Behind one of them the caller
/// is the last entry of `forwarded_for`, the value of `X-Forwarded-For`, that is no trusted proxy.
///
/// Raises `InvalidError`, argument `trusted_proxies` or `ipv6_prefix`; every address gives a key.
#[pyfunction]
#[pyo3(
    signature = (address, forwarded_for=None, trusted_proxies=None, *, ipv6_prefix=None),
    text_signature = "(address, forwarded_for=None, trusted_proxies=(), *, ipv6_prefix=64)"
)]
#[allow(clippy::doc_markdown)] // Python shows this text as it is.
pub(crate) fn caller_key(
    address: OptionalArg,
    forwarded_for: OptionalArg,
    trusted_proxies: OptionalArg,
    ipv6_prefix: OptionalArg,
) -> Result<String> {
    let given = |name, value: Option<_>| value.map(|value| bytes(name, value)).transpose();
    let (address, forwarded_for) = (given("address", address)?, given("forwarded_for", forwarded_for)?);
    let proxies = trusted_proxies.map_or_else(|| Ok(Vec::new()), |proxies| texts("trusted_proxies", proxies))?;
    let options = CallerOptions {
        forwarded_for: forwarded_for.as_deref(),
        trusted_proxies: &proxies.iter().map(String::as_str).collect::<Vec<_>>(),
        ipv6_prefix: ipv6_prefix.map_or(Ok(IPV6_PREFIX), |prefix| whole("ipv6_prefix", prefix))?,
    };
    Ok(paddlegate::caller_key(address.as_deref().unwrap_or_default(), &options)?)
}

/// Return the key for a text of a stranger, such as a header.
///
/// It is the text itself if it is a key, which has 1 to 512 bytes of UTF-8 without a zero byte,
/// otherwise "sha256:" and its digest in hexadecimal.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn plain_key(text: &Bound<'_, PyAny>) -> Result<String> {
    Ok(paddlegate::plain_key(&bytes("text", text)?))
}

/// Reads text or bytes; text that is not valid Unicode becomes bytes that are not valid UTF-8.
fn bytes<'a>(argument: &'static str, value: &'a Bound<'_, PyAny>) -> Result<Cow<'a, [u8]>> {
    if let Ok(text) = value.cast::<PyString>() {
        if let Ok(text) = text.to_str() {
            return Ok(text.as_bytes().into());
        }
        let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
        return Ok(bytes.extract::<Vec<u8>>()?.into());
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().into());
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        return Ok(value.py().get_type::<PyBytes>().call1((value,))?.extract::<Vec<u8>>()?.into());
    }
    Err(refused(argument, "must be text or bytes", value))
}
