//! Times as Open Job Spec writes them.

use std::fmt::Write;

use jiff::Timestamp;
use paddlegate::Micros;

use crate::fault::Fault;

/// Returns a time in RFC 3339, to the millisecond.
pub(crate) fn rfc3339(micros: u64) -> String {
    let time = i64::try_from(micros).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok());
    time.map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// Reads a time in RFC 3339.
pub(crate) fn parse(name: &str, text: &str) -> Result<u64, Fault> {
    let time = text.parse::<Timestamp>().ok().and_then(|time| u64::try_from(time.as_microsecond()).ok());
    time.ok_or_else(|| Fault::invalid(name, "must be a time as 2026-01-31T12:00:00Z, from 1970 on"))
}

/// Returns a duration in ISO 8601: `PT1M`, `PT0.1S`, `P1DT12H`.
pub(crate) fn iso8601(length: Micros) -> String {
    let (mut seconds, micros) = (length.0 / 1_000_000, length.0 % 1_000_000);
    let mut text = String::from("P");
    for (unit, letter) in [(86_400, "D"), (3_600, "H"), (60, "M")] {
        if letter == "H" && seconds + micros > 0 {
            text.push('T');
        }
        if seconds >= unit {
            let _ = write!(text, "{}{letter}", seconds / unit);
            seconds %= unit;
        }
    }
    if micros > 0 {
        let fraction = format!("{micros:06}");
        let _ = write!(text, "{seconds}.{}S", fraction.trim_end_matches('0'));
    } else if seconds > 0 {
        let _ = write!(text, "{seconds}S");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_in_the_largest_units() {
        let shown = [
            (60_000_000, "PT1M"),
            (100_000, "PT0.1S"),
            (1_000_000, "PT1S"),
            (3_600_000_000, "PT1H"),
            (86_400_000_000, "P1D"),
            (129_600_000_000, "P1DT12H"),
            (90_500_000, "PT1M30.5S"),
        ];
        for (length, text) in shown {
            assert_eq!(iso8601(Micros(length)), text);
        }
    }

    #[test]
    fn times_are_read_and_written() {
        assert_eq!(rfc3339(1_795_262_400_000_000), "2026-11-21T12:00:00.000Z");
        assert_eq!(parse("at", "2026-11-21T13:00:00+01:00"), Ok(1_795_262_400_000_000));
        assert!(parse("at", "soon").is_err() && parse("at", "1969-12-31T23:59:59Z").is_err());
    }
}
