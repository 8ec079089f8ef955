//! One limit of a decision as an object for JavaScript.

use napi_derive::napi;

use crate::convert::number;

/// One limit, with times in microseconds.
#[napi(object, object_from_js = false)]
pub struct DecisionLimit {
    pub limiter: Option<String>,
    pub label: String,
    pub kind: &'static str,
    pub limit: f64,
    pub interval_us: f64,
    pub remaining: f64,
    pub retry_after_us: Option<f64>,
    pub reset_after_us: Option<f64>,
}

impl From<&paddlegate::DecisionLimit> for DecisionLimit {
    fn from(it: &paddlegate::DecisionLimit) -> Self {
        Self {
            limiter: it.limiter.clone(),
            label: it.label.to_string(),
            kind: it.kind.name(),
            limit: number(it.limit),
            interval_us: number(it.interval.0),
            remaining: number(it.remaining),
            retry_after_us: it.retry_after.map(|time| number(time.0)),
            reset_after_us: it.reset_after.map(|time| number(time.0)),
        }
    }
}
