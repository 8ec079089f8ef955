//! `pg_units`: the cost of a call for one limit.

use std::ffi::c_char;
use std::slice;

use paddlegate_core::{Cost as CoreCost, Error as CoreError, LimiterUnits, MAX_LIMITS, MAX_TOGETHER, Result};

use crate::request::not_negative;
use crate::text;

/// The maximum length of an array of units: each limit of the limiters that decide together.
const MAX_COUNT: usize = MAX_LIMITS * MAX_TOGETHER;

// The fields for the lengths of arrays name it.
const _: () = assert!(MAX_COUNT == 32);

/// The units of a call for the limit with this label.
///
/// An array of them is a cost by label. A limit that it does not name counts one, the call; a limit
/// of points must be named. Concurrency and throttle count calls and may not be named.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Units {
    /// The label of a limit of the policy. For a limiter of pg_together NULL stands for every limit
    /// of the limiter that counts units, and without a limiter the label may be the name of one.
    pub label: *const c_char,
    /// The units, up to 10^12.
    pub units: u64,
    /// For a limiter of pg_together the name of the limiter, NULL for every limiter that has the
    /// label; otherwise NULL.
    pub limiter: *const c_char,
}

/// A cost of the caller: one number, units by label, or units by limiter and label.
pub(crate) enum Cost<'a> {
    Units(u64),
    ByLabel(Vec<(&'a str, u64)>),
    ByLimiter(Vec<LimiterUnits<'a>>),
}

impl Cost<'_> {
    pub(crate) fn core(&self) -> CoreCost<'_> {
        match self {
            Self::Units(units) => CoreCost::Units(*units),
            Self::ByLabel(units) => CoreCost::ByLabel(units),
            Self::ByLimiter(units) => CoreCost::ByLimiter(units),
        }
    }
}

/// Reads a cost that may be absent: a number, or an array that is not NULL.
pub(crate) unsafe fn read_some<'a>(
    argument: &'static str,
    number: Option<u64>,
    by_label: *const Units,
    count: usize,
) -> Result<Option<Cost<'a>>> {
    if by_label.is_null() && count == 0 {
        return Ok(number.map(Cost::Units));
    }
    if number.is_some() {
        return Err(CoreError::invalid(argument, "give a number or units by label, not both"));
    }
    // SAFETY: this function places the same requirements on its caller.
    unsafe { read_array(argument, by_label, count) }.map(Some)
}

/// Reads a cost. With an array, 0 is no number.
pub(crate) unsafe fn read<'a>(
    argument: &'static str,
    number: i64,
    by_label: *const Units,
    count: usize,
) -> Result<Cost<'a>> {
    let units = not_negative(argument, number)?;
    let given = (number != 0).then_some(units);
    // SAFETY: this function places the same requirements on its caller.
    Ok(unsafe { read_some(argument, given, by_label, count) }?.unwrap_or(Cost::Units(units)))
}

unsafe fn read_array<'a>(argument: &'static str, units: *const Units, count: usize) -> Result<Cost<'a>> {
    let units = match count {
        _ if units.is_null() => return Err(CoreError::invalid(argument, "is NULL")),
        // SAFETY: not NULL, so the caller's array of `count` elements.
        0..=MAX_COUNT => unsafe { slice::from_raw_parts(units, count) },
        // The array is not read: it may be shorter than `count`.
        _ => {
            let message = format!("names more than {MAX_COUNT} labels: count={count}");
            return Err(CoreError::invalid(argument, message));
        }
    };
    if units.iter().any(|of| !of.limiter.is_null()) {
        // SAFETY: this function places the same requirements on its caller.
        return unsafe { by_limiter(argument, units) };
    }
    // SAFETY: the caller passes labels that are NULL or texts that end with a zero byte.
    let pair = |of: &Units| Ok((unsafe { text::read(argument, of.label) }?, of.units));
    units.iter().map(pair).collect::<Result<_>>().map(Cost::ByLabel)
}

unsafe fn by_limiter<'a>(argument: &'static str, units: &[Units]) -> Result<Cost<'a>> {
    let read = |of: &Units| {
        // SAFETY: the caller passes texts that are NULL or end with a zero byte.
        let limiter = unsafe { text::read_some(argument, of.limiter) }?;
        // SAFETY: as above.
        let label = unsafe { text::read_some(argument, of.label) }?;
        match (limiter, label) {
            (None, None) => Err(CoreError::invalid(argument, "is NULL")),
            (limiter, label) => Ok(LimiterUnits { limiter, label, units: of.units }),
        }
    };
    units.iter().map(read).collect::<Result<_>>().map(Cost::ByLimiter)
}
