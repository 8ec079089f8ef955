//! Durations as documents write them.

use jiff::fmt::temporal::SpanParser;

use crate::base::decimal;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};

/// Parses a duration above zero; at most ten years.
///
/// The text is a word (`second`, `minute`, `hour`, `day`), a short form (`500ms`, `10s`, `5m`, `1h`, `1d`) or an ISO
/// 8601 duration (`PT0.1S`, `P1DT12H`).
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, period::period};
/// assert_eq!(period("PT0.1S").unwrap(), Micros(100_000));
/// assert_eq!(period("minute").unwrap(), period("60s").unwrap());
/// assert!(period("P1M").is_err());
/// ```
pub fn period(text: &str) -> Result<Micros> {
    above_zero(text, span(text)?)
}

/// Parses an ISO 8601 duration above zero; at most ten years.
///
/// A day has 24 hours and a week seven days; months and years have no fixed length and are refused. The last number of
/// hours, minutes or seconds may have a fraction after a point or a comma, which is rounded up to whole microseconds.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, period};
/// assert_eq!(period::iso8601("PT1M30S")?, Micros(90_000_000));
/// assert!(period::iso8601("90s").is_err());
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn iso8601(text: &str) -> Result<Micros> {
    above_zero(text, iso8601_span(text)?)
}

/// Formats a span as an ISO 8601 duration in seconds.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, period};
/// assert_eq!(period::show(Micros(100_000)), "PT0.1S");
/// ```
pub fn show(length: Micros) -> String {
    let (seconds, micros) = (length.0 / 1_000_000, length.0 % 1_000_000);
    if micros == 0 {
        return format!("PT{seconds}S");
    }
    let fraction = format!("{micros:06}");
    format!("PT{seconds}.{}S", fraction.trim_end_matches('0'))
}

/// Parses a duration as [`period`] does, and accepts zero.
pub(crate) fn span(text: &str) -> Result<Micros> {
    match text {
        "second" => Ok(Micros(1_000_000)),
        "minute" => Ok(Micros(60_000_000)),
        "hour" => Ok(Micros(3_600_000_000)),
        "day" => Ok(Micros(86_400_000_000)),
        _ if text.starts_with(|first: char| first.is_ascii_digit()) => {
            bounded(text, decimal::with_unit(text).ok_or_else(|| fault(SHAPES, text))?.into())
        }
        _ if text.starts_with('P') => iso8601_span(text),
        _ => Err(fault(SHAPES, text)),
    }
}

const SHAPES: &str =
    "must be second, minute, hour, day, a number with ms, s, m, h or d, or an ISO 8601 duration such as PT1S";

const ISO8601: &str = "must be an ISO 8601 duration such as PT1S, PT0.5S, PT1H30M, P1D or P1W";

fn iso8601_span(text: &str) -> Result<Micros> {
    // `SpanParser` also accepts lower-case letters and signs, which the standard does not have.
    let plain = text.starts_with('P') && !text.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b'-');
    if !plain {
        return Err(fault(ISO8601, text));
    }
    let date = text.split_once('T').map_or(text, |(date, _)| date);
    if date.contains(['Y', 'M']) {
        return Err(fault("months and years have no fixed length; write days, such as P30D", text));
    }
    let span = SpanParser::new().parse_span(text).map_err(|_| fault(ISO8601, text))?;
    let hours = (i128::from(span.get_weeks()) * 7 + i128::from(span.get_days())) * 24 + i128::from(span.get_hours());
    let seconds = (hours * 60 + i128::from(span.get_minutes())) * 60 + i128::from(span.get_seconds());
    let micros = (seconds * 1_000 + i128::from(span.get_milliseconds())) * 1_000 + i128::from(span.get_microseconds());
    let finer = micros * 1_000 + i128::from(span.get_nanoseconds());
    bounded(text, u128::try_from(finer).map_err(|_| fault(ISO8601, text))?.div_ceil(1_000))
}

fn bounded(text: &str, micros: u128) -> Result<Micros> {
    match u64::try_from(micros) {
        Ok(micros) if micros <= MAX_SPAN.0 => Ok(Micros(micros)),
        _ => Err(fault("must be at most ten years", text)),
    }
}

fn above_zero(text: &str, length: Micros) -> Result<Micros> {
    if length.0 == 0 {
        return Err(fault("must be above zero", text));
    }
    Ok(length)
}

fn fault(message: &str, text: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    Error::invalid("period", format!("{message}: period={shown:?}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations() {
        for (text, micros) in [
            ("PT1S", 1_000_000),
            ("PT0.1S", 100_000),
            ("PT0,5S", 500_000),
            ("PT1M", 60_000_000),
            ("PT1H30M", 5_400_000_000),
            ("P1D", 86_400_000_000),
            ("P1DT12H", 129_600_000_000),
            ("P1W", 604_800_000_000),
        ] {
            assert_eq!(iso8601(text).unwrap(), Micros(micros), "{text}");
            assert_eq!(period(text).unwrap(), Micros(micros), "{text}");
        }
        for text in ["", "P", "PT", "1s", "PT-1S", "PT0S", "P1DT"] {
            assert_eq!(iso8601(text).unwrap_err().argument(), Some("period"), "{text}");
        }
        for text in ["P1M", "P1Y", "P1Y2M3DT4H"] {
            assert!(iso8601(text).unwrap_err().message().contains("no fixed length"), "{text}");
        }
    }

    #[test]
    fn words_and_short_forms() {
        for (text, micros) in [
            ("second", 1_000_000),
            ("minute", 60_000_000),
            ("hour", 3_600_000_000),
            ("day", 86_400_000_000),
            ("500ms", 500_000),
            ("0.5ms", 500),
            ("1s", 1_000_000),
            ("10s", 10_000_000),
            ("0.5s", 500_000),
            ("1m", 60_000_000),
            ("5m", 300_000_000),
            ("1h", 3_600_000_000),
            ("1d", 86_400_000_000),
        ] {
            assert_eq!(period(text).unwrap(), Micros(micros), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            " ",
            "1",
            "s",
            "1 s",
            "1s ",
            "-1s",
            "+1s",
            "1e3s",
            "1S",
            "1w",
            "1µs",
            "0s",
            "0.0s",
            "0.0001ms",
            "1.s",
            "seconds",
            "Minute",
            "pt1s",
            "Pt1s",
            "+PT1S",
            "-PT1S",
            "PT1S ",
            "P1DT-1H",
            "PT0.1H1S",
            "PT1S1M",
            "P3651D",
            "PT0.0000000001S",
            "9999999999999999999s",
            "99999999999999999999999999h",
            "P1D1D",
            "PT1é",
            "P\u{0}",
            "1é",
            "PT99999999999999999999S",
            "P2147483648W",
        ] {
            assert_eq!(period(text).unwrap_err().argument(), Some("period"), "{text}");
        }
    }

    #[test]
    fn finer_than_a_microsecond_is_rounded_up() {
        assert_eq!(period("PT0.000000001S").unwrap(), Micros(1));
        assert_eq!(period("PT1.0000001S").unwrap(), Micros(1_000_001));
        assert_eq!(span("PT0S").unwrap(), Micros(0));
        assert_eq!(period("P3650D").unwrap(), MAX_SPAN);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(micros in 1..=MAX_SPAN.0) {
            prop_assert_eq!(iso8601(&show(Micros(micros))).unwrap(), Micros(micros));
        }

        /// A text never means one duration in a document and another one in an argument.
        #[test]
        fn arguments_mean_the_same(text in "P([0-9]{1,3}[WD])?(T([0-9]{1,3}H)?([0-9]{1,3}M)?([0-9]{1,3}(\\.[0-9]{1,6})?S)?)?") {
            if let (Ok(document), Ok(argument)) = (span(&text), Micros::parse("interval", &text)) {
                prop_assert_eq!(document, argument);
            }
        }

        #[test]
        fn any_text_is_a_length_or_an_error(text in "\\PC{0,20}|[PTWDHMSY0-9.,ms+-]{0,20}") {
            if let Ok(length) = period(&text) {
                prop_assert!(length.0 > 0 && length <= MAX_SPAN);
            }
        }
    }
}
