//! `Signal`: a worker's report that an upstream refused a call.

use serde_json::Value;

use crate::base::error::Result;
use crate::base::json;
use crate::base::micros::Micros;
use crate::formats::field::Field;

/// The upstream limit in the error of a failed job. Without a time the caller chooses the length of the pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// The length of the pause from the failure on.
    pub retry_after: Option<Micros>,
    /// The end of the pause, since the Unix epoch.
    pub until: Option<Micros>,
}

impl Signal {
    /// Parses `{"error": {"type": "rate_limited", "retry_after": 30}}` or the error alone; `None` for any other error.
    ///
    /// The type is `rate_limited` or `RateLimitExceeded`. `retry_after` is in seconds, with decimals, at most ten
    /// years; `rate_limit_until` is an RFC 3339 time.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// # use paddlegate::formats::ojs::Signal;
    /// let signal = Signal::parse(r#"{ "error": { "type": "rate_limited", "retry_after": 30 } }"#)?.unwrap();
    /// assert_eq!(signal.end(Micros(1_000_000)), Some(Micros(31_000_000)));
    /// assert_eq!(Signal::parse(r#"{ "error": { "type": "timeout" } }"#)?, None);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Option<Self>> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Option<Self>> {
        let root = Field::root(value);
        let error = root.get("error").unwrap_or(root);
        let kind = error.get("type");
        // Other failures may have a `type` of any JSON type, so only these two texts count.
        if !kind.is_some_and(|kind| matches!(kind.text(), Ok("rate_limited" | "RateLimitExceeded"))) {
            return Ok(None);
        }
        Ok(Some(Self {
            retry_after: error.get("retry_after").map(|after| after.seconds()).transpose()?,
            until: error.get("rate_limit_until").map(|until| until.time()).transpose()?,
        }))
    }

    /// Returns the end of the pause for a failure at `now`: the later of both times, `None` without any.
    pub fn end(self, now: Micros) -> Option<Micros> {
        self.until.max(self.retry_after.map(|after| Micros(now.0.saturating_add(after.0))))
    }
}
