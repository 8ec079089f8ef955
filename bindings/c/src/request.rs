//! `pg_request`: the cost of one call, or its estimate.

use std::ptr;

use paddlegate_core::{Error, Micros, Request as CoreRequest, Result};

use crate::cost::{self, Cost, Units};

/// The value of cost in a pg_request for a cost of 0, which checks without taking.
pub const PG_COST_ZERO: i64 = -1;

/// The cost of one call, final or as an estimate that is corrected later.
///
/// A struct of zeros, or a NULL pointer instead of it, is a cost of 1. A limiter with points
/// requires a cost or an estimate. Each is a number, for every limit that counts units, or an array
/// of units by label, also by limiter for one of pg_together.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Request {
    /// Units to take, up to 10^12; 0 when not given, PG_COST_ZERO for a cost of 0.
    pub cost: i64,
    /// Units to take until the actual cost is known; 0 when not given. The grant has a permit.
    pub estimate: i64,
    /// The cost by label; NULL when not given.
    pub cost_by_label: *const Units,
    /// The number of elements of cost_by_label, at most 32.
    pub cost_count: usize,
    /// The estimate by label; NULL when not given.
    pub estimate_by_label: *const Units,
    /// The number of elements of estimate_by_label, at most 32.
    pub estimate_count: usize,
    /// How long after its grant the estimate can be settled, from 5 minutes to 7 days; 0 for the
    /// default, 5 minutes. For calls that last for hours.
    pub settle_within_us: i64,
}

impl Request {
    const NONE: Self = Self {
        cost: 0,
        estimate: 0,
        cost_by_label: ptr::null(),
        cost_count: 0,
        estimate_by_label: ptr::null(),
        estimate_count: 0,
        settle_within_us: 0,
    };
}

/// The cost and the estimate of a caller, and how long the estimate can be settled.
pub(crate) struct Costs<'a> {
    cost: Option<Cost<'a>>,
    estimate: Option<Cost<'a>>,
    settle_within: Option<Micros>,
}

impl Costs<'_> {
    /// Reads a request. The caller keeps its arrays and their labels alive.
    pub(crate) unsafe fn read(request: Option<&Request>) -> Result<Self> {
        let request = request.unwrap_or(&Request::NONE);
        let (cost, estimate) = (units("cost", request.cost)?, units("estimate", request.estimate)?);
        let settle_within = match request.settle_within_us {
            0 => None,
            time => Some(Micros(not_negative("settle_within", time)?)),
        };
        // SAFETY: the caller passes arrays of as many elements as their counts state.
        Ok(unsafe {
            Self {
                cost: cost::read_some("cost", cost, request.cost_by_label, request.cost_count)?,
                estimate: {
                    let (by_label, count) = (request.estimate_by_label, request.estimate_count);
                    cost::read_some("estimate", estimate, by_label, count)?
                },
                settle_within,
            }
        })
    }

    pub(crate) fn request(&self) -> CoreRequest<'_> {
        CoreRequest {
            cost: self.cost.as_ref().map(Cost::core),
            estimate: self.estimate.as_ref().map(Cost::core),
            settle_within: self.settle_within,
        }
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
