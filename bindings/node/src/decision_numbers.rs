//! The numbers of a decision that its fields have, from JavaScript.

use napi_derive::napi;
use paddlegate::{Decision, DecisionLimit, Kind, Label, Micros, Status};

use crate::convert::whole;

/// The numbers of a decision that its fields have, as JavaScript has them.
#[napi(object, object_to_js = false)]
pub struct DecisionNumbers {
    pub allowed: bool,
    pub limit: Option<f64>,
    pub remaining: Option<f64>,
    pub retry_after_us: Option<f64>,
    pub reset_after_us: Option<f64>,
    pub label: Option<String>,
    pub limiter: Option<String>,
    pub at_us: f64,
    pub limits: Vec<LimitNumbers>,
}

/// The same of one limit.
#[napi(object, object_to_js = false)]
pub struct LimitNumbers {
    pub limiter: Option<String>,
    pub label: String,
    pub kind: String,
    pub limit: f64,
    pub interval_ms: f64,
    pub remaining: f64,
    pub retry_after_us: Option<f64>,
    pub reset_after_us: Option<f64>,
}

fn micros(argument: &'static str, us: Option<f64>) -> paddlegate::Result<Option<Micros>> {
    us.map(|us| whole(argument, us).map(Micros)).transpose()
}

impl DecisionNumbers {
    pub(crate) fn core(&self) -> paddlegate::Result<Decision> {
        Ok(Decision {
            status: if self.allowed { Status::Granted } else { Status::Refused },
            limit: self.limit.map(|limit| whole("limit", limit)).transpose()?,
            remaining: self.remaining.map(|remaining| whole("remaining", remaining)).transpose()?,
            retry_after: micros("retry_after", self.retry_after_us)?,
            reset_after: micros("reset_after", self.reset_after_us)?,
            label: self.label.as_deref().map(Label::new).transpose()?,
            limiter: self.limiter.clone(),
            at: Micros(whole("at", self.at_us)?),
            limits: self.limits.iter().map(LimitNumbers::core).collect::<Result<_, _>>()?,
            ..Decision::default()
        })
    }
}

impl LimitNumbers {
    fn core(&self) -> paddlegate::Result<DecisionLimit> {
        Ok(DecisionLimit {
            limiter: self.limiter.clone(),
            label: Label::new(&self.label)?,
            kind: Kind::from_name(&self.kind)?,
            limit: whole("limit", self.limit)?,
            interval: Micros(whole("interval", (self.interval_ms * 1e3).round())?),
            remaining: whole("remaining", self.remaining)?,
            retry_after: micros("retry_after", self.retry_after_us)?,
            reset_after: micros("reset_after", self.reset_after_us)?,
        })
    }
}
