//! `pg_limit`: one limit of a policy.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use paddlegate_core::{
    Calendar, Error as CoreError, Kind as CoreKind, Limit as CoreLimit, MAX_LABELS, MAX_LIMITS, Micros, Refund, Result,
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
    /// A fixed number of units in each period of the calendar.
    Quota = 11,
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
            CoreKind::Quota => Self::Quota,
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
    /// The periods of a quota: "day", "week", "month", "quarter" or "year". Other kinds ignore it and
    /// the next two fields.
    pub per: *const c_char,
    /// The time zone of a quota: "UTC", an offset such as "+05:30", or a name such as
    /// "Europe/Berlin"; NULL for UTC.
    pub timezone: *const c_char,
    /// The start of the periods of a quota in local time, see pg_limiter_quota; NULL for midnight,
    /// Monday, or the first day.
    pub starts: *const c_char,
    /// What a correction to a lower cost gives back, for leaky and points: "full", the whole
    /// difference; or "undrained", at most what cannot have drained since the grant. NULL for "full".
    pub refund: *const c_char,
}

impl Limit {
    pub(crate) const NONE: Self = Self {
        kind: Kind::None as i32,
        amount: 0,
        interval_us: 0,
        offset_us: 0,
        label: ptr::null(),
        per: ptr::null(),
        timezone: ptr::null(),
        starts: ptr::null(),
        refund: ptr::null(),
    };

    /// The caller keeps the texts alive.
    pub(crate) unsafe fn core(&self) -> Result<CoreLimit> {
        let kind = CoreKind::ALL
            .into_iter()
            .find(|kind| Kind::from(*kind) as i32 == self.kind)
            .ok_or_else(|| CoreError::invalid("kind", format!("is not a kind of limit: kind={}", self.kind)))?;
        let limit = if kind == CoreKind::Quota {
            let limit = not_negative("limit", self.amount)?;
            // SAFETY: the caller passes NULL or texts that end with a zero byte.
            let calendar = unsafe {
                let (timezone, starts) =
                    (text::read_some("timezone", self.timezone)?, text::read_some("starts", self.starts)?);
                Calendar::parse(text::read("per", self.per)?, timezone, starts)?
            };
            CoreLimit::quota(limit, calendar)?
        } else {
            let make = |amount, interval, offset| CoreLimit::of_kind(kind, amount, Micros(interval), Micros(offset));
            let units = if kind == CoreKind::Throttle && self.amount == 0 { 1 } else { self.amount };
            make(
                amount(units, || make(u64::MAX, 1, 0))?,
                amount(self.interval_us, || make(1, 0, 0))?,
                amount(self.offset_us, || make(1, 1, 1))?,
            )?
        };
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let limit = match unsafe { text::read_some("refund", self.refund) }? {
            Some(refund) => limit.with_refund(Refund::from_name(refund)?)?,
            None => limit,
        };
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
    /// The interval, the time to drain or refill fully, or the duration of a lease; for a quota the
    /// longest of its periods, such as 31 days, and 0 for an override of a quota.
    pub interval_us: i64,
    /// How much earlier the intervals of a bucket start.
    pub offset_us: i64,
    /// The label.
    pub label: [c_char; 33],
    /// The periods of a quota, such as "month"; empty for other kinds and for an override, which
    /// changes the number alone. The same holds for the next two fields.
    pub per: [c_char; 8],
    /// The time zone of a quota, such as "UTC".
    pub timezone: [c_char; 65],
    /// The start of the periods of a quota, such as "1" for the first day of a month.
    pub starts: [c_char; 24],
}

impl LabelledLimit {
    pub(crate) const NONE: Self = Self {
        kind: Kind::None as i32,
        amount: 0,
        interval_us: 0,
        offset_us: 0,
        label: [0; 33],
        per: [0; 8],
        timezone: [0; 65],
        starts: [0; 24],
    };

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
        let calendar = core.calendar();
        Self {
            kind: Kind::from(core.kind()) as i32,
            amount: number(Some(core.amount())),
            interval_us: number(Some(core.interval().0)),
            offset_us: number(Some(core.offset().0)),
            label: text::write(core.label()),
            per: text::write(calendar.map_or("", |calendar| calendar.per().name())),
            timezone: text::write(calendar.map_or("", Calendar::timezone)),
            starts: calendar.map_or([0; 24], |calendar| text::write(&calendar.starts())),
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
