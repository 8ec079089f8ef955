//! `Micros`: the only unit of time in the core.

use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::message;

/// A time or a span in whole microseconds. Times count from the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

/// The maximum span of a limit or a timeout: ten years of 365 days.
pub const MAX_SPAN: Micros = Micros(3650 * 86_400 * 1_000_000);

/// The maximum time: 2^52 microseconds, in the year 2112. Twice this value is still exact in a Lua number.
pub const MAX_TIME: Micros = Micros(1 << 52);

impl Micros {
    /// Converts seconds, as scripting languages give them, to the nearest microsecond.
    ///
    /// `Invalid` for NaN and for a span below zero or above ten years; the error names `argument`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// assert_eq!(Micros::from_seconds("interval", 0.1).unwrap(), Micros(100_000));
    /// assert!(Micros::from_seconds("interval", f64::NAN).is_err());
    /// ```
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_seconds(argument: &'static str, seconds: f64) -> Result<Self> {
        let micros = (seconds * 1e6).round();
        if micros.is_nan() || micros < 0.0 || micros > MAX_SPAN.0 as f64 {
            return Err(Error::invalid(
                argument,
                format!("must be a number of seconds from 0 to ten years: {argument}={}", message::decimal(seconds)),
            ));
        }
        Ok(Self(micros as u64))
    }

    /// Returns the time in which `rate` units per second add up to `amount`, to the nearest microsecond.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// assert_eq!(Micros::of_rate("rate", 1_000, 50.0)?, Micros(20_000_000));
    /// assert_eq!(Micros::of_rate("rate", 1_000, 0.0).unwrap_err().argument(), Some("rate"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[allow(clippy::cast_precision_loss)] // An amount is at most 10^12.
    pub fn of_rate(argument: &'static str, amount: u64, rate: f64) -> Result<Self> {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Error::invalid(
                argument,
                format!("must be units per second above zero: {argument}={}", message::decimal(rate)),
            ));
        }
        Self::from_seconds(argument, amount as f64 / rate)
    }

    /// Parses a word (`second`, `minute`, `hour`, `day`) or an ISO 8601 duration (`PT0.1S`, `P1D`).
    ///
    /// A day has 24 hours and a week seven days; months and years have no fixed length and are refused. The maximum is
    /// ten years.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// assert_eq!(Micros::parse("interval", "minute")?, Micros(60_000_000));
    /// assert_eq!(Micros::parse("interval", "PT0.1S")?, Micros(100_000));
    /// assert_eq!(Micros::parse("interval", "P1M").unwrap_err().argument(), Some("interval"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(argument: &'static str, text: &str) -> Result<Self> {
        let seconds = match text {
            "second" => 1,
            "minute" => 60,
            "hour" => 3_600,
            "day" => 86_400,
            _ => return Self::parse_iso8601(argument, text),
        };
        Ok(Self(seconds * 1_000_000))
    }

    fn parse_iso8601(argument: &'static str, text: &str) -> Result<Self> {
        iso8601(text).filter(|micros| *micros <= MAX_SPAN.0).map(Self).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::invalid(
                argument,
                format!(
                    "must be second, minute, hour, day or an ISO 8601 duration such as PT0.1S or P1D, at most ten years, \
                     no months or years, which have no fixed length: {argument}={shown:?}"
                ),
            )
        })
    }

    /// Converts a [`Duration`]; a fraction of a microsecond is cut off. `Invalid` above ten years.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Micros;
    /// assert_eq!(Micros::from_duration("timeout", Duration::from_millis(250))?, Micros(250_000));
    /// assert!(Micros::from_duration("timeout", Duration::MAX).is_err());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn from_duration(argument: &'static str, duration: Duration) -> Result<Self> {
        match u64::try_from(duration.as_micros()) {
            Ok(micros) if micros <= MAX_SPAN.0 => Ok(Self(micros)),
            _ => {
                Err(Error::invalid(argument, format!("must be at most ten years: {argument}_s={}", duration.as_secs())))
            }
        }
    }

    /// Returns the span as a [`Duration`].
    pub const fn duration(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

/// Parses `P[n]W` or `P[n]DT[n]H[n]M[n]S`; the last number may have a fraction down to the microsecond.
///
/// Handwritten because a library for this would make up half of the browser module.
fn iso8601(text: &str) -> Option<u64> {
    let (date, time) = match text.strip_prefix('P')?.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text.strip_prefix('P')?, None),
    };
    if time == Some("") || (date.is_empty() && time.is_none()) {
        return None;
    }
    let weeks = date.ends_with('W');
    let (days, whole) = components(date, if weeks { &[('W', 604_800)] } else { &[('D', 86_400)] })?;
    let (rest, _) = components(time.unwrap_or_default(), &[('H', 3_600), ('M', 60), ('S', 1)])?;
    if time.is_some() && (weeks || !whole) {
        return None;
    }
    days.checked_add(rest)
}

/// Returns the sum in microseconds, and whether all numbers are whole. The units must come in the given order.
fn components(mut text: &str, units: &[(char, u64)]) -> Option<(u64, bool)> {
    let (mut sum, mut whole, mut units) = (0_u64, true, units.iter());
    while !text.is_empty() {
        if !whole {
            return None;
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')?;
        let unit = text[end..].chars().next()?;
        let (_, seconds) = units.find(|(name, _)| *name == unit)?;
        let (number, fraction) = text[..end].split_once(['.', ',']).unwrap_or((&text[..end], "0"));
        whole = number.len() == end;
        let micros = digits(number)?.checked_mul(1_000_000)?.checked_add(millionths(fraction)?)?;
        sum = sum.checked_add(micros.checked_mul(*seconds)?)?;
        text = &text[end + unit.len_utf8()..];
    }
    Some((sum, whole))
}

fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Returns the digits of a fraction as millionths; digits after the sixth must be zeros.
fn millionths(fraction: &str) -> Option<u64> {
    let (kept, rest) = fraction.split_at_checked(6).unwrap_or((fraction, ""));
    let fits = rest.bytes().all(|byte| byte == b'0');
    fits.then(|| digits(&format!("{kept:0<6}"))).flatten().filter(|_| !fraction.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_iso_8601_are_read() {
        for (text, micros) in [
            ("second", 1_000_000),
            ("day", 86_400_000_000),
            ("PT1S", 1_000_000),
            ("PT0.1S", 100_000),
            ("PT0,5S", 500_000),
            ("PT1M", 60_000_000),
            ("PT1H30M", 5_400_000_000),
            ("P1D", 86_400_000_000),
            ("P1DT12H", 129_600_000_000),
            ("P1W", 604_800_000_000),
            ("PT0.000001S", 1),
            ("PT0.0000010S", 1),
            ("PT1.5M", 90_000_000),
            ("P0.5D", 43_200_000_000),
            ("PT36H", 129_600_000_000),
            ("PT0S", 0),
        ] {
            assert_eq!(Micros::parse("interval", text).unwrap(), Micros(micros), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for text in [
            "",
            "P",
            "PT",
            "1s",
            "PT-1S",
            "-PT1S",
            "P1DT",
            "P1M",
            "P1Y",
            "seconds",
            "pt1s",
            "1",
            "P1W ",
            "PT0.0000001S",
            "PT0.5H1M",
            "P0.5DT1H",
            "P1WT1H",
            "P1W1D",
            "PT1S1M",
            "PT1M1M",
            "PT.S",
            "PT1.S",
            "PT.5S",
            "PT1..5S",
            "PT1é",
            "P1.5",
            "P99999999W",
            "PT9999999999999999999S",
        ] {
            let error = Micros::parse("interval", text).unwrap_err();
            assert_eq!(error.argument(), Some("interval"), "{text}");
        }
    }

    #[test]
    fn seconds_are_rounded_to_the_microsecond() {
        assert_eq!(Micros::from_seconds("x", 0.000_000_6).unwrap(), Micros(1));
        assert_eq!(Micros::from_seconds("x", 20.0).unwrap(), Micros(20_000_000));
        for bad in [f64::NAN, f64::INFINITY, -1.0, -0.1, 1e30] {
            assert!(Micros::from_seconds("x", bad).is_err(), "{bad}");
        }
    }
}
