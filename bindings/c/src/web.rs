//! What a server tells its callers: the fields of a decision, and the key of a caller.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::{
    CallerOptions, Decision as CoreDecision, DecisionLimit as CoreLimit, Error as CoreError, HeaderFields, IPV6_PREFIX,
    Kind as CoreKind, Label, MAX_KEY, Micros, Result, Status as CoreStatus,
};

use crate::decision::{Decision, Status};
use crate::decision_limits::{DecisionLimit, DecisionLimits};
use crate::error::{Code, Error};
use crate::guard::guard;
use crate::limit::{Kind, LabelledLimit};
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::not_negative;
use crate::text;

// The room that the header promises to be enough for a key.
const _: () = assert!(MAX_KEY < 520);

/// Writes the header fields that tell the caller of a server what a decision left: a line "Name: value"
/// for each, with a line feed between the lines. A room of 4096 is always enough for a single limiter,
/// and one of 131072 for a decision of pg_together.
///
/// fields is "draft" or NULL: RateLimit-Policy and RateLimit of the newest draft of the IETF;
/// "draft-6": RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset and RateLimit-Policy of the sixth
/// draft; or "x": X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, in seconds since 1970.
/// A refusal has Retry-After in whole seconds, if the time is known. limits are the limits of the
/// decision if its request asked for them, otherwise NULL: then the fields describe the tightest limit.
/// limiters are the names that pg_together was given, in that order; NULL for a single limiter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_decision_headers(
    decision: Option<&Decision>,
    limits: Option<&DecisionLimits>,
    limiters: *const *const c_char,
    limiter_count: usize,
    fields: *const c_char,
    headers: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let fields = HeaderFields::from_name(unsafe { text::read_or("fields", fields, "draft") }?)?;
        let decision = decision.ok_or_else(|| CoreError::invalid("decision", "is NULL"))?;
        // SAFETY: the caller passes NULL or as many texts as it states.
        let names = unsafe { texts("limiters", limiters, limiter_count) }?;
        let lines = core(decision, limits, &names)?.headers(fields);
        let lines: Vec<String> = lines.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        // SAFETY: the caller passes NULL or a buffer with as much room as it states.
        unsafe { text::fill("headers", headers, room, &lines.join("\n")) }
    })
}

/// Writes the limits of the policy into limits; for pg_together, the limits of each limiter in turn.
/// limits has space for room of them, and count gets their number. A room of 32 is always enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_limiter_limits(
    limiter: *const LimiterHandle,
    limits: *mut LabelledLimit,
    room: usize,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        let count = count.ok_or_else(|| CoreError::invalid("count", "is NULL"))?;
        count.write(0);
        LIMITERS.with(limiter, |limiter| {
            let all: Vec<LabelledLimit> = limiter.limits().map(LabelledLimit::from).collect();
            if room < all.len() {
                return Err(CoreError::invalid("room", format!("is too small: needed={} room={room}", all.len())));
            }
            if limits.is_null() && !all.is_empty() {
                return Err(CoreError::invalid("limits", "is NULL"));
            }
            for (at, limit) in all.iter().enumerate() {
                // SAFETY: not NULL, so the caller's array with room for more than `at` limits, as compared above.
                unsafe { limits.add(at).write(*limit) };
            }
            count.write(all.len());
            Ok(())
        })
    })
}

/// Writes the key of a caller by the address of its connection into key, which has room for that many
/// bytes. A room of 520 is always enough.
///
/// An IPv4 address is itself, also in IPv6 form; of an IPv6 address it is the network of ipv6_prefix
/// bits, -1 for 64. Ports, brackets and zones are cut. What is no address is as in pg_plain_key. A Unix
/// socket has an address of no bytes. forwarded_for is the value of X-Forwarded-For, with a comma
/// between several fields: behind a trusted proxy the caller is its last entry that is no trusted
/// proxy. Both may be NULL when their lengths are 0. trusted_proxies has
/// proxy_count addresses, networks such as "10.0.0.0/8", and "unix" for a proxy that connects by a Unix
/// socket; any other text is PG_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_caller_key(
    address: *const c_char,
    address_length: usize,
    forwarded_for: *const c_char,
    forwarded_length: usize,
    trusted_proxies: *const *const c_char,
    proxy_count: usize,
    ipv6_prefix: i64,
    key: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        // SAFETY: the caller passes NULL or as many bytes as it states.
        let address = unsafe { text::bytes("address", address, address_length) }?;
        // SAFETY: the caller passes NULL or as many bytes as it states.
        let forwarded_for = Some(unsafe { text::bytes("forwarded_for", forwarded_for, forwarded_length) }?);
        // SAFETY: the caller passes NULL or as many texts as it states.
        let proxies = unsafe { texts("trusted_proxies", trusted_proxies, proxy_count) }?;
        let ipv6_prefix = if ipv6_prefix == -1 { IPV6_PREFIX } else { not_negative("ipv6_prefix", ipv6_prefix)? };
        let options = CallerOptions { forwarded_for, trusted_proxies: &proxies, ipv6_prefix };
        let found = paddlegate_core::caller_key(address, &options)?;
        // SAFETY: the caller passes NULL or a buffer with as much room as it states.
        unsafe { text::fill("key", key, room, &found) }
    })
}

/// Writes a key for a text of a stranger, such as a header, into key, which has room for that many
/// bytes: the text itself if it is a key, which has 1 to 512 bytes of UTF-8 without zero bytes,
/// otherwise "sha256:" and its digest in hexadecimal. A room of 520 is always enough. text may be NULL
/// when length is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_plain_key(
    text: *const c_char,
    length: usize,
    key: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        // SAFETY: the caller passes NULL or as many bytes as `length` states.
        let found = paddlegate_core::plain_key(unsafe { text::bytes("text", text, length) }?);
        // SAFETY: the caller passes NULL or a buffer with as much room as it states.
        unsafe { text::fill("key", key, room, &found) }
    })
}

/// Returns the texts of an array of the caller.
unsafe fn texts<'a>(argument: &'static str, start: *const *const c_char, count: usize) -> Result<Vec<&'a str>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if start.is_null() {
        return Err(CoreError::invalid(argument, "is NULL"));
    }
    // SAFETY: not NULL, so the caller's array of `count` pointers.
    let words = unsafe { slice::from_raw_parts(start, count) };
    // SAFETY: each is NULL or a text of the caller that ends with a zero byte.
    words.iter().map(|word| unsafe { text::read(argument, *word) }).collect()
}

fn core(decision: &Decision, limits: Option<&DecisionLimits>, names: &[&str]) -> Result<CoreDecision> {
    let limits = limits.map_or(&[][..], |limits| &limits.each[..limits.count.min(limits.each.len())]);
    Ok(CoreDecision {
        status: if decision.status == Status::Granted { CoreStatus::Granted } else { CoreStatus::Refused },
        limit: known(decision.limit),
        remaining: known(decision.remaining),
        retry_after: known(decision.retry_after_us).map(Micros),
        reset_after: known(decision.reset_after_us).map(Micros),
        label: Some(label(&decision.label)?).filter(|label| !label.is_empty()).map(Label::new).transpose()?,
        limiter: name(decision.limiter, names)?,
        at: Micros(known(decision.at_us).unwrap_or(0)),
        limits: limits.iter().map(|limit| core_limit(limit, names)).collect::<Result<_>>()?,
        ..CoreDecision::default()
    })
}

fn core_limit(limit: &DecisionLimit, names: &[&str]) -> Result<CoreLimit> {
    let kind = CoreKind::ALL.into_iter().find(|kind| Kind::from(*kind) as i32 == limit.kind);
    Ok(CoreLimit {
        limiter: name(limit.limiter, names)?,
        label: Label::new(label(&limit.label)?)?,
        kind: kind.ok_or_else(|| CoreError::invalid("kind", "is not a kind of limit"))?,
        limit: known(limit.limit).unwrap_or(0),
        interval: Micros(known(limit.interval_us).unwrap_or(0)),
        remaining: known(limit.remaining).unwrap_or(0),
        retry_after: known(limit.retry_after_us).map(Micros),
        reset_after: known(limit.reset_after_us).map(Micros),
    })
}

/// Returns a number of a decision; it has -1 for none.
fn known(number: i64) -> Option<u64> {
    number.try_into().ok()
}

fn name(index: i32, names: &[&str]) -> Result<Option<String>> {
    let Ok(index) = usize::try_from(index) else { return Ok(None) };
    let name = names.get(index).ok_or_else(|| CoreError::invalid("limiters", "lacks a limiter of the decision"))?;
    Ok(Some((*name).to_owned()))
}

fn label(label: &[c_char; 33]) -> Result<&str> {
    // SAFETY: as many bytes as characters of C.
    let bytes = unsafe { slice::from_raw_parts(label.as_ptr().cast::<u8>(), label.len()) };
    let invalid = || CoreError::invalid("label", "is no label");
    CStr::from_bytes_until_nul(bytes).ok().and_then(|label| label.to_str().ok()).ok_or_else(invalid)
}
