//! `pg_decision_limits`: each limit of a decision.

use std::ffi::c_char;

use paddlegate_core::{DecisionLimit as CoreLimit, Limiter, MAX_LIMITS, MAX_TOGETHER, Micros};

use crate::decision::number;
use crate::limit::Kind;
use crate::text;

/// The maximum number of limits of a decision.
const MOST: usize = 32;

const _: () = assert!(MOST >= MAX_LIMITS * MAX_TOGETHER);

/// One limit after a decision, by itself: a pause, and the calls ahead in the queue, do not count.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DecisionLimit {
    /// The label.
    pub label: [c_char; 33],
    /// For a limiter of pg_together, the index of the limiter that has the limit, as they were given;
    /// -1 for a single limiter.
    pub limiter: i32,
    /// The kind, a pg_kind.
    pub kind: i32,
    /// The limit or the capacity in units, 1 for a throttle.
    pub limit: i64,
    /// The interval, the time to drain or refill fully, how long a lease lasts, or the longest period of
    /// a quota.
    pub interval_us: i64,
    /// The units that can be taken right after the decision.
    pub remaining: i64,
    /// How long this limit holds the call up; 0 when it does not, as after a grant, -1 when no time is
    /// known.
    pub retry_after_us: i64,
    /// Time until all units of the limit are available again, if no call is made; -1 when no time is
    /// known.
    pub reset_after_us: i64,
}

/// Each limit of a decision, in the order of the policy.
#[repr(C)]
pub struct DecisionLimits {
    /// The number of limits; 0 after an error, and where no store decided.
    pub count: usize,
    /// The limits; those behind count are empty.
    pub each: [DecisionLimit; 32],
}

impl DecisionLimit {
    const NONE: Self = Self {
        label: [0; 33],
        limiter: -1,
        kind: Kind::None as i32,
        limit: -1,
        interval_us: -1,
        remaining: -1,
        retry_after_us: -1,
        reset_after_us: -1,
    };

    fn of(limiter: &Limiter, limit: &CoreLimit) -> Self {
        let of_several = |name: &String| limiter.limiters().iter().position(|limiter| limiter.name() == name);
        let time = |time: Option<Micros>| number(time.map(|Micros(micros)| micros));
        Self {
            label: text::write(&limit.label),
            limiter: limit.limiter.as_ref().and_then(of_several).and_then(|at| at.try_into().ok()).unwrap_or(-1),
            kind: Kind::from(limit.kind) as i32,
            limit: number(Some(limit.limit)),
            interval_us: time(Some(limit.interval)),
            remaining: number(Some(limit.remaining)),
            retry_after_us: time(limit.retry_after),
            reset_after_us: time(limit.reset_after),
        }
    }
}

impl DecisionLimits {
    /// The limits after an error.
    pub(crate) const NONE: Self = Self { count: 0, each: [DecisionLimit::NONE; MOST] };

    pub(crate) fn of(limiter: &Limiter, limits: &[CoreLimit]) -> Self {
        let mut all = Self::NONE;
        for (place, limit) in all.each.iter_mut().zip(limits) {
            *place = DecisionLimit::of(limiter, limit);
            all.count += 1;
        }
        all
    }
}
