//! The statistics of a limiter as an object for JavaScript. Times in milliseconds.

use std::collections::BTreeMap;

use napi_derive::napi;

use crate::convert::{number, to_millis};

#[napi(object, object_from_js = false)]
pub struct Statistics {
    pub granted: f64,
    pub refused: f64,
    pub waited: f64,
    pub wait_time_ms: f64,
    pub units: f64,
    pub corrections: f64,
    pub held_time_ms: f64,
    pub overages: f64,
    pub reclaimed: f64,
    pub lapsed: f64,
    pub leases: f64,
    pub tickets: f64,
    pub shadow_refused: f64,
    pub refused_by: BTreeMap<String, f64>,
    pub waits: Vec<f64>,
    pub degraded: f64,
    pub errors: f64,
    pub near_limit: f64,
    pub estimated_units: f64,
    pub holds: Vec<f64>,
}

impl From<&paddlegate::Statistics> for Statistics {
    fn from(it: &paddlegate::Statistics) -> Self {
        Self {
            granted: number(it.granted),
            refused: number(it.refused),
            waited: number(it.waited),
            wait_time_ms: to_millis(it.wait_time),
            units: number(it.units),
            corrections: number(it.corrections),
            held_time_ms: to_millis(it.held_time),
            overages: number(it.overages),
            reclaimed: number(it.reclaimed),
            lapsed: number(it.lapsed),
            leases: number(it.leases),
            tickets: number(it.tickets),
            shadow_refused: number(it.shadow_refused),
            refused_by: it.refused_by.iter().map(|(label, count)| (label.to_string(), number(*count))).collect(),
            waits: it.waits.counts().map(number).to_vec(),
            degraded: number(it.degraded),
            errors: number(it.errors),
            near_limit: number(it.near_limit),
            estimated_units: number(it.estimated_units),
            holds: it.holds.counts().map(number).to_vec(),
        }
    }
}
