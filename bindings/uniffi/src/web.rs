//! What a server tells its callers: the fields of a decision, and the key of a caller.

use paddlegate_core::{CallerOptions, Decision, DecisionLimit, HeaderFields, IPV6_PREFIX, Kind, Label, Status};

use crate::decision::{NativeDecision, NativeDecisionLimit};
use crate::error::Result;
use crate::number::{micros, some, whole};

/// Returns the fields of a response that tell its caller what a decision left, as pairs of name and value.
#[uniffi::export]
pub fn decision_headers(decision: NativeDecision, fields: String) -> Result<Vec<Vec<String>>> {
    let fields = HeaderFields::from_name(&fields)?;
    let headers = decision.core()?.headers(fields);
    Ok(headers.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect())
}

/// Returns the key of a caller by the address of its connection.
#[uniffi::export]
pub fn caller_key(
    address: Vec<u8>,
    forwarded_for: Option<Vec<u8>>,
    trusted_proxies: Vec<String>,
    ipv6_prefix: Option<i64>,
) -> Result<String> {
    let proxies: Vec<&str> = trusted_proxies.iter().map(String::as_str).collect();
    let options = CallerOptions {
        forwarded_for: forwarded_for.as_deref(),
        trusted_proxies: &proxies,
        ipv6_prefix: some("ipv6_prefix", ipv6_prefix, whole)?.unwrap_or(IPV6_PREFIX),
    };
    Ok(paddlegate_core::caller_key(&address, &options)?)
}

/// Returns a key for a text of a stranger.
#[uniffi::export]
pub fn plain_key(text: Vec<u8>) -> String {
    paddlegate_core::plain_key(&text)
}

impl NativeDecision {
    fn core(self) -> paddlegate_core::Result<Decision> {
        let status = if self.status == Status::Granted.name() { Status::Granted } else { Status::Refused };
        Ok(Decision {
            status,
            limit: some("limit", self.limit, whole)?,
            remaining: some("remaining", self.remaining, whole)?,
            retry_after: some("retry_after", self.retry_after_us, micros)?,
            reset_after: some("reset_after", self.reset_after_us, micros)?,
            label: self.label.as_deref().map(Label::new).transpose()?,
            limiter: self.limiter,
            at: micros("at", self.at_us)?,
            limits: self.limits.into_iter().map(NativeDecisionLimit::core).collect::<paddlegate_core::Result<_>>()?,
            ..Decision::default()
        })
    }
}

impl NativeDecisionLimit {
    fn core(self) -> paddlegate_core::Result<DecisionLimit> {
        Ok(DecisionLimit {
            limiter: self.limiter,
            label: Label::new(&self.label)?,
            kind: Kind::from_name(&self.kind)?,
            limit: whole("limit", self.limit)?,
            interval: micros("interval", self.interval_us)?,
            remaining: whole("remaining", self.remaining)?,
            retry_after: some("retry_after", self.retry_after_us, micros)?,
            reset_after: some("reset_after", self.reset_after_us, micros)?,
        })
    }
}
