//! Numbers of the JVM, which has no unsigned ones.

use paddlegate_core::{Error, Micros, Result};

/// Reads a number that is not negative.
pub(crate) fn whole(argument: &'static str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::invalid(argument, format!("must not be negative: {argument}={value}")))
}

/// Reads microseconds that are not negative.
pub(crate) fn micros(argument: &'static str, value: i64) -> Result<Micros> {
    let negative = |_| Error::invalid(argument, format!("must not be negative: {argument}_us={value}"));
    u64::try_from(value).map(Micros).map_err(negative)
}

/// Reads an optional number.
pub(crate) fn some<T>(
    argument: &'static str,
    value: Option<i64>,
    read: impl FnOnce(&'static str, i64) -> Result<T>,
) -> Result<Option<T>> {
    value.map(|value| read(argument, value)).transpose()
}

/// Returns a number of the core, which is below 2^53.
pub(crate) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Returns microseconds.
pub(crate) fn us(time: Micros) -> i64 {
    number(time.0)
}

/// Returns optional microseconds.
pub(crate) fn some_us(time: Option<Micros>) -> Option<i64> {
    time.map(us)
}
