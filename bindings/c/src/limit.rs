//! `pg_limit`: one limit of a policy.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{Error as CoreError, Kind as CoreKind, Limit as CoreLimit, Micros, Result};

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::names;
use crate::request::not_negative;
use crate::text;

/// The kind of a limit. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// No kind, as the reason of a grant.
    None = 0,
    /// A fixed number of units in each aligned interval.
    Bucket = 1,
    /// A fixed number of units in any interval.
    Window = 2,
    /// A burst of the capacity, then the rate at which it drains.
    Leaky = 3,
    /// A leaky meter whose cost is estimated first and corrected later.
    Points = 4,
    /// A number of starts per interval, evenly spaced, whatever their cost.
    Throttle = 5,
    /// No limit.
    Unlimited = 6,
    /// Every call is refused.
    Paused = 7,
    /// A fixed number of leases at once.
    Concurrency = 8,
    /// Not the kind of a limit, but the reason of a refusal while the store cannot decide.
    Unavailable = 9,
}

/// One limit of a policy: an amount of units and an interval. A field that the kind does not use is
/// ignored.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Limit {
    /// The kind, a pg_kind.
    pub kind: i32,
    /// The limit or the capacity, in units. For a throttle the starts per interval: at most one per
    /// microsecond and at most 10^12; 0 stands for 1.
    pub amount: i64,
    /// The interval, the time to drain or refill fully, or the duration of a lease.
    pub interval_us: i64,
    /// How much earlier the intervals of a bucket start; two hours for UTC+2.
    pub offset_us: i64,
}

impl Limit {
    pub(crate) const NONE: Self = Self { kind: Kind::None as i32, amount: 0, interval_us: 0, offset_us: 0 };

    pub(crate) fn of(kind: CoreKind, amount: u64, interval: Micros, offset: Micros) -> Self {
        Self {
            kind: Kind::from(kind) as i32,
            amount: number(Some(amount)),
            interval_us: number(Some(interval.0)),
            offset_us: number(Some(offset.0)),
        }
    }

    pub(crate) fn core(&self) -> Result<CoreLimit> {
        let kind = CoreKind::ALL
            .into_iter()
            .find(|kind| Kind::from(*kind) as i32 == self.kind)
            .ok_or_else(|| CoreError::invalid("kind", format!("is not a kind of limit: kind={}", self.kind)))?;
        let make = |amount, interval, offset| CoreLimit::of_kind(kind, amount, Micros(interval), Micros(offset));
        let units = if kind == CoreKind::Throttle && self.amount == 0 { 1 } else { self.amount };
        make(
            amount(units, || make(u64::MAX, 1, 0))?,
            amount(self.interval_us, || make(1, 0, 0))?,
            amount(self.offset_us, || make(1, 1, 1))?,
        )
    }
}

impl From<&CoreLimit> for Limit {
    fn from(core: &CoreLimit) -> Self {
        Self::of(core.kind(), core.amount(), core.interval(), core.offset())
    }
}

/// Refuses a negative number under the argument name with which the core refuses it.
fn amount<T>(value: i64, refusal: impl FnOnce() -> Result<T>) -> Result<u64> {
    if let Ok(value) = value.try_into() {
        return Ok(value);
    }
    match refusal().map_err(|error| error.argument()) {
        Err(Some(argument)) => not_negative(argument, value),
        // This kind does not use the number.
        Ok(_) | Err(None) => Ok(0),
    }
}

/// Returns the name of a kind, such as "bucket"; "?" for an unknown number. Do not free the text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_kind_name(kind: i32) -> *const c_char {
    names::of(kind, &names::KINDS)
}

/// Parses second, minute, hour, day or an ISO 8601 duration such as PT0.1S into microseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_parse_interval(
    text: *const c_char,
    interval_us: Option<&mut MaybeUninit<i64>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "interval_us",
        interval_us,
        || 0,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let interval = Micros::parse("interval", unsafe { text::read("interval", text) }?)?;
            Ok(interval.0.try_into().unwrap_or(i64::MAX))
        },
    )
}
