//! `pg_limit`: one limit of a policy.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::{
    Error as CoreError, Kind as CoreKind, Limit as CoreLimit, MAX_LABELS, MAX_LIMITS, Micros, Result,
};

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::names;
use crate::request::not_negative;
use crate::text;

// The arrays of runtime states and of the list have this length.
const _: () = assert!(MAX_LABELS == 32);

/// The kind of a limit. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// No kind, in an unused element of an array.
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
}

impl From<CoreKind> for Kind {
    fn from(kind: CoreKind) -> Self {
        match kind {
            CoreKind::Bucket => Self::Bucket,
            CoreKind::Window => Self::Window,
            CoreKind::Leaky => Self::Leaky,
            CoreKind::Points => Self::Points,
            CoreKind::Throttle => Self::Throttle,
            CoreKind::Unlimited => Self::Unlimited,
            CoreKind::Paused => Self::Paused,
            CoreKind::Concurrency => Self::Concurrency,
        }
    }
}

/// One limit of a policy, as a caller writes it: an amount of units and an interval. A field that
/// the kind does not use is ignored.
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
    /// The label, by which overrides, reports and decisions name the limit; NULL for the name of the
    /// kind. 1 to 32 characters: a to z first, then also digits, _ and -. The labels of a policy
    /// differ, so a second limit of a kind needs its own.
    pub label: *const c_char,
}

impl Limit {
    /// The caller keeps the text of the label alive.
    pub(crate) unsafe fn core(&self) -> Result<CoreLimit> {
        let kind = CoreKind::ALL
            .into_iter()
            .find(|kind| Kind::from(*kind) as i32 == self.kind)
            .ok_or_else(|| CoreError::invalid("kind", format!("is not a kind of limit: kind={}", self.kind)))?;
        let make = |amount, interval, offset| CoreLimit::of_kind(kind, amount, Micros(interval), Micros(offset));
        let units = if kind == CoreKind::Throttle && self.amount == 0 { 1 } else { self.amount };
        let limit = make(
            amount(units, || make(u64::MAX, 1, 0))?,
            amount(self.interval_us, || make(1, 0, 0))?,
            amount(self.offset_us, || make(1, 1, 1))?,
        )?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        match unsafe { text::read_some("label", self.label) }? {
            Some(label) => limit.labelled(label),
            None => Ok(limit),
        }
    }
}

/// Reads an array of `count` limits.
pub(crate) unsafe fn read_limits(limits: *const Limit, count: usize) -> Result<Vec<CoreLimit>> {
    let limits = match count {
        _ if limits.is_null() => return Err(CoreError::invalid("limits", "is NULL")),
        // SAFETY: not NULL, so the caller's array of `count` limits.
        0..=MAX_LIMITS => unsafe { slice::from_raw_parts(limits, count) },
        // The array is not read: it may be shorter than `count`.
        _ => return Err(CoreError::invalid("limits", format!("are more than {MAX_LIMITS}: limits={count}"))),
    };
    // SAFETY: the caller passes labels that are NULL or texts that end with a zero byte.
    limits.iter().map(|limit| unsafe { limit.core() }).collect()
}

/// One limit, as the library writes it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LabelledLimit {
    /// The kind, a pg_kind.
    pub kind: i32,
    /// The limit or the capacity, in units; the starts per interval of a throttle.
    pub amount: i64,
    /// The interval, the time to drain or refill fully, or the duration of a lease.
    pub interval_us: i64,
    /// How much earlier the intervals of a bucket start.
    pub offset_us: i64,
    /// The label.
    pub label: [c_char; 33],
}

impl LabelledLimit {
    pub(crate) const NONE: Self =
        Self { kind: Kind::None as i32, amount: 0, interval_us: 0, offset_us: 0, label: [0; 33] };

    /// Writes limits into an array of `N`, and how many there are.
    pub(crate) fn array<const N: usize>(limits: &[CoreLimit]) -> ([Self; N], usize) {
        let mut array = [Self::NONE; N];
        for (slot, limit) in array.iter_mut().zip(limits) {
            *slot = limit.into();
        }
        (array, limits.len().min(N))
    }
}

impl From<&CoreLimit> for LabelledLimit {
    fn from(core: &CoreLimit) -> Self {
        Self {
            kind: Kind::from(core.kind()) as i32,
            amount: number(Some(core.amount())),
            interval_us: number(Some(core.interval().0)),
            offset_us: number(Some(core.offset().0)),
            label: text::write(core.label()),
        }
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
