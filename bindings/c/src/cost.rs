//! `pg_units`: the cost of a call for one limit.

use std::ffi::c_char;
use std::slice;

use paddlegate_core::{Cost as CoreCost, Error as CoreError, MAX_LIMITS, Result};

use crate::request::not_negative;
use crate::text;

/// The units of a call for the limit with this label.
///
/// An array of them is a cost by label. A limit that it does not name counts one, the call; a limit
/// of points must be named. Concurrency and throttle count calls and may not be named.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Units {
    /// The label of a limit of the policy.
    pub label: *const c_char,
    /// The units, up to 10^12.
    pub units: u64,
}

/// A cost of the caller: one number, or units by label.
pub(crate) enum Cost<'a> {
    Units(u64),
    ByLabel(Vec<(&'a str, u64)>),
}

impl Cost<'_> {
    pub(crate) fn core(&self) -> CoreCost<'_> {
        match self {
            Self::Units(units) => CoreCost::Units(*units),
            Self::ByLabel(units) => CoreCost::ByLabel(units),
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

unsafe fn read_array<'a>(argument: &'static str, by_label: *const Units, count: usize) -> Result<Cost<'a>> {
    let by_label = match count {
        _ if by_label.is_null() => return Err(CoreError::invalid(argument, "is NULL")),
        // SAFETY: not NULL, so the caller's array of `count` elements.
        0..=MAX_LIMITS => unsafe { slice::from_raw_parts(by_label, count) },
        // The array is not read: it may be shorter than `count`.
        _ => {
            let message = format!("names more than {MAX_LIMITS} labels: count={count}");
            return Err(CoreError::invalid(argument, message));
        }
    };
    // SAFETY: the caller passes labels that are NULL or texts that end with a zero byte.
    let pair = |of: &Units| Ok((unsafe { text::read(argument, of.label) }?, of.units));
    by_label.iter().map(pair).collect::<Result<_>>().map(Cost::ByLabel)
}
