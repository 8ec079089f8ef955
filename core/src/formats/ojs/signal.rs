//! `Signal`: a worker says that an upstream refused it.

use serde_json::Value;

use crate::base::error::Result;
use crate::base::json;
use crate::base::micros::Micros;
use crate::formats::field::Field;

/// What the error of a failed job says about the upstream's limit. Without a time the caller chooses one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// How long to pause after the failure.
    pub retry_after: Option<Micros>,
    /// Until when to pause, since the Unix epoch.
    pub until: Option<Micros>,
}

impl Signal {
    /// Reads `{"error": {"type": "rate_limited", "retry_after": 30}}` or the error alone; `None` for any other error.
    ///
    /// The type is `rate_limited` or `RateLimitExceeded`. `retry_after` is in seconds, with decimals, at most ten years;
    /// `rate_limit_until` is a time of RFC 3339.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Option<Self>> {
        let root = Field::root(value);
        let error = root.get("error").unwrap_or(root);
        let kind = error.get("type");
        // Another failure may call itself what it likes, so only the text of these two counts.
        if !kind.is_some_and(|kind| matches!(kind.text(), Ok("rate_limited" | "RateLimitExceeded"))) {
            return Ok(None);
        }
        Ok(Some(Self {
            retry_after: error.get("retry_after").map(|after| after.seconds()).transpose()?,
            until: error.get("rate_limit_until").map(|until| until.time()).transpose()?,
        }))
    }

    /// When the pause ends, for a failure at `now`: the later of both times, `None` without any.
    pub fn end(self, now: Micros) -> Option<Micros> {
        self.until.max(self.retry_after.map(|after| Micros(now.0.saturating_add(after.0))))
    }
}
