//! `pg_request`: the cost of one call, or its estimate.

use paddlegate_core::{Error, Request as CoreRequest, Result};

/// The value of cost in a pg_request for a cost of 0, which checks without taking.
pub const PG_COST_ZERO: i64 = -1;

/// The cost of one call, final or as an estimate that is corrected later.
///
/// A struct of zeros, or a NULL pointer instead of it, is a cost of 1. A limiter with points
/// requires a cost or an estimate.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Request {
    /// Units to take, up to 10^12; 0 when not given, PG_COST_ZERO for a cost of 0.
    pub cost: i64,
    /// Units to take until the actual cost is known; 0 when not given. The grant has a permit.
    pub estimate: i64,
}

impl Request {
    pub(crate) fn core(&self) -> Result<CoreRequest> {
        Ok(CoreRequest { cost: units("cost", self.cost)?, estimate: units("estimate", self.estimate)? })
    }
}

pub(crate) fn not_negative(argument: &'static str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::invalid(argument, format!("must not be negative: {argument}={value}")))
}

fn units(argument: &'static str, value: i64) -> Result<Option<u64>> {
    match value {
        0 => Ok(None),
        PG_COST_ZERO => Ok(Some(0)),
        units => not_negative(argument, units).map(Some),
    }
}
