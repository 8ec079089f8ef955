//! `pg_request`: the cost of one call, or its estimate.

use std::ffi::c_char;
use std::ptr::{self, NonNull};

use paddlegate_core::{Decision as CoreDecision, Error, Limiter, Micros, Request as CoreRequest, Result};

use crate::cost::{self, Cost, Units};
use crate::decision::Decision;
use crate::decision_limits::DecisionLimits;
use crate::text;

/// The value of cost in a pg_request for a cost of 0, which checks without taking, and of estimate for
/// an estimate of 0, which is a call.
pub const PG_COST_ZERO: i64 = -1;

/// The cost of one call, final or as an estimate that is corrected later.
///
/// A struct of zeros, or a NULL pointer instead of it, is a cost of 1. A limiter with points
/// requires a cost or an estimate. Each is a number, for every limit that counts units, or an array
/// of units by label, also by limiter for one of pg_together.
///
/// priority, share and weight order the calls that wait in a queue: calls of a higher priority come
/// first; among those of one priority the shares take turns by what their calls cost, whatever the
/// number of their calls; among those of one share the first comes first. A call that does not queue
/// has no use for them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Request {
    /// Units to take, up to 10^12; 0 when not given, PG_COST_ZERO for a cost of 0.
    pub cost: i64,
    /// Units to take until the actual cost is known, up to 10^12; 0 when not given, PG_COST_ZERO for an
    /// estimate of 0. The grant has a permit.
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
    /// The priority in the queue, from 0 to 9: higher first.
    pub priority: i64,
    /// Whose call this is, such as a tenant: 1 to 128 bytes without control characters; NULL for
    /// nobody's.
    pub share: *const c_char,
    /// How much the share gets beside others, from 1 to 1000; 0 for the default, 1. Only with a share.
    pub weight: i64,
    /// Where the call writes each limit of its decision, for the headers of a response or a dashboard;
    /// NULL when not asked for.
    pub limits: *mut DecisionLimits,
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
        priority: 0,
        share: ptr::null(),
        weight: 0,
        limits: ptr::null_mut(),
    };
}

/// The cost and the estimate of a caller, how long the estimate can be settled, and the place in the
/// queue.
pub(crate) struct Costs<'a> {
    cost: Option<Cost<'a>>,
    estimate: Option<Cost<'a>>,
    /// The request but for cost and estimate.
    other: CoreRequest<'a>,
    /// Where the limits of the decision go, if they were asked for.
    limits: Option<NonNull<DecisionLimits>>,
}

impl Costs<'_> {
    /// Reads a request. The caller keeps its arrays and their labels alive.
    pub(crate) unsafe fn read(request: Option<&Request>) -> Result<Self> {
        let request = request.unwrap_or(&Request::NONE);
        let limits = NonNull::new(request.limits);
        if let Some(limits) = limits {
            // SAFETY: the caller passes NULL or memory for the limits, which may be uninitialized.
            unsafe { limits.write(DecisionLimits::NONE) };
        }
        let (cost, estimate) = (units("cost", request.cost)?, units("estimate", request.estimate)?);
        let settle_within = match request.settle_within_us {
            0 => None,
            time => Some(Micros(not_negative("settle_within", time)?)),
        };
        let priority = not_negative("priority", request.priority)?;
        let weight = if request.weight == 0 { None } else { Some(not_negative("weight", request.weight)?) };
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let share = unsafe { text::read_some("share", request.share) }?;
        let other = CoreRequest { settle_within, limits: limits.is_some(), ..CoreRequest::default() };
        let other = other.in_queue(Some(priority), share, weight)?;
        // SAFETY: the caller passes arrays of as many elements as their counts state.
        Ok(unsafe {
            Self {
                cost: cost::read_some("cost", cost, request.cost_by_label, request.cost_count)?,
                estimate: {
                    let (by_label, count) = (request.estimate_by_label, request.estimate_count);
                    cost::read_some("estimate", estimate, by_label, count)?
                },
                other,
                limits,
            }
        })
    }

    /// Converts the decision on the request, after its limits were written where the caller wants them.
    pub(crate) fn decision(&self, limiter: &Limiter, decision: CoreDecision) -> Decision {
        self.write_limits(limiter, &decision);
        Decision::of(limiter, decision)
    }

    /// Writes the limits of the decision on the request.
    pub(crate) fn write_limits(&self, limiter: &Limiter, decision: &CoreDecision) {
        if let Some(limits) = self.limits {
            // SAFETY: `read` has written there.
            unsafe { limits.write(DecisionLimits::of(limiter, &decision.limits)) };
        }
    }

    pub(crate) fn request(&self) -> CoreRequest<'_> {
        CoreRequest {
            cost: self.cost.as_ref().map(Cost::core),
            estimate: self.estimate.as_ref().map(Cost::core),
            ..self.other
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
