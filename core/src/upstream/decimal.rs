//! Exact conversion of decimal numbers from their text.

use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};

/// Parses a count, rounded down.
pub(super) fn units_down(text: &str) -> Option<u64> {
    scaled(text, 0).map(|(units, _)| units)
}

/// Parses a cost, rounded up.
pub(super) fn units_up(text: &str) -> Option<u64> {
    scaled_up(text, 0)
}

/// Parses seconds, rounded up to the microsecond.
pub(super) fn seconds(text: &str) -> Option<Micros> {
    scaled_up(text, 6).map(Micros)
}

/// Parses milliseconds, rounded up to the microsecond.
pub(super) fn milliseconds(text: &str) -> Option<Micros> {
    scaled_up(text, 3).map(Micros)
}

/// Parses a duration in Go's notation (`1s`, `6m0s`, `17ms`, `1h2m3.5s`), with units as words (`5minutes`), or plain seconds,
/// rounded up to the microsecond.
pub(super) fn go_duration(text: &str) -> Option<Micros> {
    const UNITS: [(&str, u128); 22] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
        ("millisecond", 1_000_000),
        ("milliseconds", 1_000_000),
        ("sec", 1_000_000_000),
        ("secs", 1_000_000_000),
        ("second", 1_000_000_000),
        ("seconds", 1_000_000_000),
        ("min", 60_000_000_000),
        ("minute", 60_000_000_000),
        ("minutes", 60_000_000_000),
        ("hour", 3_600_000_000_000),
        ("hours", 3_600_000_000_000),
        ("day", 86_400_000_000_000),
        ("days", 86_400_000_000_000),
    ];
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return seconds(text);
    }
    let (mut rest, mut nanos) = (text, 0_u128);
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (name, after) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let (_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
        // Nine decimal places, so that the sum is exact to a billionth of the unit.
        let (billionths, inexact) = scaled(number, 9)?;
        let billionths = u128::from(billionths) + u128::from(inexact);
        nanos = nanos.checked_add(billionths.checked_mul(*unit)?.div_ceil(1_000_000_000))?;
        rest = after;
    }
    u64::try_from(nanos.div_ceil(1_000)).ok().map(Micros)
}

/// Parses a duration as `go_duration` does, with spaces between numbers and units too: `20 seconds`.
pub(super) fn duration(text: &str) -> Option<Micros> {
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    go_duration(&text.to_ascii_lowercase())
}

/// Parses units in a time, `1 per 5 second` or `100/hour`.
pub(super) fn rate(text: &str) -> Option<(u64, Micros)> {
    let (units, time) = text.split_once(" per ").or_else(|| text.split_once('/'))?;
    let time = time.trim();
    let interval = duration(time).filter(|_| time.starts_with(|c: char| c.is_ascii_digit()));
    let interval = interval.or_else(|| duration(&format!("1{time}")))?;
    (interval.0 > 0 && interval <= MAX_SPAN).then_some((units_down(units.trim())?, interval))
}

/// Finds the wait that a message names in words: `Please try again in 13.54s.`
pub(super) fn wait_in(message: &str) -> Option<Micros> {
    const BEFORE: [&str; 4] = ["try again in ", "retry in ", "retry after ", "try again after "];
    let message = message.to_ascii_lowercase();
    let at = BEFORE.iter().find_map(|words| message.find(words).map(|at| at + words.len()))?;
    let mut parts = message[at..].split(' ');
    let first = parts.next()?.trim_end_matches(['.', ',', ';', ')']);
    match parts.next().map(|unit| unit.trim_end_matches(['.', ',', ';', ')'])) {
        Some(unit) if seconds(first).is_some() => go_duration(&format!("{first}{unit}")).or_else(|| seconds(first)),
        _ => go_duration(first),
    }
}

/// Parses a time since 1970: RFC 3339, also with `UTC` or a numeric offset behind a space, or an HTTP date.
pub(super) fn time(text: &str) -> Option<Micros> {
    let with_zone = |text: &str| {
        let utc = text.strip_suffix("UTC").map(|time| format!("{}Z", time.trim_end()));
        utc.unwrap_or_else(|| text.replace(" +", "+").replace(" -", "-"))
    };
    rfc3339(text).or_else(|| http_date(text)).or_else(|| rfc3339(&with_zone(text)))
}

/// Returns the time a meter takes from empty to full, rounded up; `None` if longer than ten years.
pub(super) fn refill(capacity: &str, per_second: &str) -> Option<Micros> {
    let (capacity, _) = scaled(capacity, 6)?;
    let (rate, _) = scaled(per_second, 6)?;
    let micros = (u128::from(capacity) * 1_000_000).checked_div(u128::from(rate))?;
    let exact = micros * u128::from(rate) == u128::from(capacity) * 1_000_000;
    let micros = u64::try_from(micros).ok()?.checked_add(u64::from(!exact))?;
    Some(Micros(micros)).filter(|span| span.0 > 0 && *span <= MAX_SPAN)
}

/// Parses an RFC 3339 time since 1970, rounded up to the microsecond.
pub(super) fn rfc3339(text: &str) -> Option<Micros> {
    let nanos = text.parse::<jiff::Timestamp>().ok()?.as_nanosecond();
    let micros = u64::try_from(nanos).ok()?.div_ceil(1_000);
    Some(Micros(micros)).filter(|time| *time <= MAX_TIME)
}

/// Parses an HTTP date since 1970.
pub(super) fn http_date(text: &str) -> Option<Micros> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    since.as_secs().checked_mul(1_000_000).map(Micros)
}

fn scaled_up(text: &str, places: i64) -> Option<u64> {
    let (number, inexact) = scaled(text, places)?;
    number.checked_add(u64::from(inexact))
}

/// Returns a number times ten to the power of `places`, rounded down, and whether digits were cut off.
///
/// `None` for anything but a number from 0 to 2^64, in the grammar of JSON or with leading zeros.
fn scaled(text: &str, places: i64) -> Option<(u64, bool)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, self::exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (mantissa, ""),
    };
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut point = i64::try_from(whole.len()).ok()? + exponent + places;
    let (mut number, mut inexact) = (0_u64, false);
    for digit in whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0') {
        if point > 0 {
            number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
        } else {
            inexact |= digit != 0;
        }
        point -= 1;
    }
    while point > 0 && number > 0 {
        number = number.checked_mul(10)?;
        point -= 1;
    }
    Some((number, inexact))
}

fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let fits = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = fits.then(|| digits.parse().ok()).flatten()?;
    Some(if text.starts_with('-') { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_round_to_the_safe_side() {
        for (text, down, up) in [
            ("0", 0, 0),
            ("1000.0", 1000, 1000),
            ("64.57", 64, 65),
            ("0.0000000000000000000000000001", 0, 1),
            ("1e3", 1000, 1000),
            ("12.5E+1", 125, 125),
            ("125e-1", 12, 13),
            ("007", 7, 7),
            ("18446744073709551615", u64::MAX, u64::MAX),
            ("0e999999", 0, 0),
            ("1e-999999", 0, 1),
        ] {
            assert_eq!((units_down(text), units_up(text)), (Some(down), Some(up)), "{text}");
        }
        assert_eq!(seconds("64.57"), Some(Micros(64_570_000)));
        assert_eq!(seconds("0.1"), Some(Micros(100_000)));
        assert_eq!(seconds("0.0000001"), Some(Micros(1)));
        assert_eq!(seconds("1.0000000"), Some(Micros(1_000_000)));
        assert_eq!(milliseconds("0.5"), Some(Micros(500)));
    }

    #[test]
    fn anything_else_is_no_number() {
        for text in [
            "",
            "-1",
            "-0",
            "+1",
            ".5",
            "5.",
            "NaN",
            "inf",
            "1e",
            "1e+",
            "1e9999999",
            "1e400",
            "0x10",
            "1_000",
            "1 ",
            "18446744073709551616",
            "1.2.3",
            "1,5",
            "\u{661}",
        ] {
            assert_eq!((units_down(text), seconds(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn go_durations_are_read() {
        for (text, micros) in [
            ("1s", 1_000_000),
            ("6m0s", 360_000_000),
            ("17ms", 17_000),
            ("1h2m3.5s", 3_723_500_000),
            ("59.999999999s", 60_000_000),
            ("1ns", 1),
            ("500\u{b5}s", 500),
            ("7.66s", 7_660_000),
            ("2m59.56s", 179_560_000),
            ("0s", 0),
            ("0", 0),
            ("12", 12_000_000),
        ] {
            assert_eq!(go_duration(text), Some(Micros(micros)), "{text}");
        }
        for text in ["", "s", "1x", "-1s", "1s2", "1s ", "1.s", "9999999999999999999h", "1é"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_read_as_people_send_them() {
        let micros = |seconds: u64| Some(Micros(seconds * 1_000_000));
        for (text, wait) in
            [("60s", micros(60)), ("20 seconds", micros(20)), ("1 Minute", micros(60)), ("x", None), ("", micros(0))]
        {
            assert_eq!(duration(text), if text.is_empty() { None } else { wait }, "{text}");
        }
        for (text, expected) in [
            ("1 per 5 second", Some((1, 5))),
            ("100 per hour", Some((100, 3_600))),
            ("5000/1h", Some((5_000, 3_600))),
            ("100/day", Some((100, 86_400))),
            ("40/80", Some((40, 80))),
            ("1 per 0 second", None),
            ("many per hour", None),
            ("100", None),
        ] {
            assert_eq!(rate(text).map(|(units, time)| (units, time.0 / 1_000_000)), expected, "{text}");
        }
        for (text, wait) in [
            (
                "Rate limit reached for x in y on tokens: Limit 1, Used 2. Please try again in 13.54s. Visit",
                Some(13_540_000),
            ),
            ("Please try again in 6m0s.", Some(360_000_000)),
            ("Please try again in 820ms.", Some(820_000)),
            ("Please retry in 17.5s", Some(17_500_000)),
            ("Try again in 20 seconds.", Some(20_000_000)),
            ("retry after 5", Some(5_000_000)),
            ("Please wait a few minutes before you try again in peace", None),
            ("", None),
        ] {
            assert_eq!(wait_in(text).map(|wait| wait.0), wait, "{text}");
        }
        let at = Some(Micros(1_372_700_873_000_000));
        for text in [
            "2013-07-01T17:47:53Z",
            "2013-07-01T17:47:53+0000",
            "2013-07-01T17:47:53+00:00",
            "2013-07-01 17:47:53 UTC",
            "2013-07-01 17:47:53 +0000",
            "2013-07-01T17:47:53UTC",
            "2013-07-01T19:47:53+02:00",
            "Mon, 01 Jul 2013 17:47:53 GMT",
        ] {
            assert_eq!(time(text), at, "{text}");
        }
        assert_eq!((time("soon"), time("2013-07-01")), (None, None));
    }

    #[test]
    fn a_refill_is_capacity_over_rate() {
        assert_eq!(refill("2000.0", "100"), Some(Micros(20_000_000)));
        assert_eq!(refill("1000", "3"), Some(Micros(333_333_334)));
        for (capacity, rate) in [("1000", "0"), ("0", "50"), ("1000", "-1"), ("1e12", "0.000001"), ("x", "1")] {
            assert_eq!(refill(capacity, rate), None, "{capacity}/{rate}");
        }
    }
}
