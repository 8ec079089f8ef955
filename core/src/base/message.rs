//! `decimal`: numbers in messages.

/// Returns the number with up to six decimals, a huge one with its power of ten.
///
/// The formatting of the standard library, which shows every digit, is a sixteenth of the browser's module.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is below 10^9 and not negative.
pub(crate) fn decimal(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let mut rest = number.abs();
    if rest.is_infinite() {
        return format!("{sign}inf");
    }
    let mut power = String::new();
    if rest >= 1e9 {
        let mut exponent = 0;
        while rest >= 10.0 {
            rest /= 10.0;
            exponent += 1;
        }
        power = format!("e{exponent}");
    }
    let micros = (rest * 1e6).round() as u64;
    let fraction = format!("{:06}", micros % 1_000_000);
    let kept = fraction.trim_end_matches('0');
    format!("{sign}{}.{}{power}", micros / 1_000_000, if kept.is_empty() { "0" } else { kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_up_to_six_decimals() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (-5.0, "-5.0"),
            (1.5, "1.5"),
            (-0.05, "-0.05"),
            (0.000_000_4, "0.0"),
            (0.999_999_9, "1.0"),
            (315_360_000.1, "315360000.1"),
            (1e9, "1.0e9"),
            (-1.25e30, "-1.25e30"),
            (f64::MAX, "1.797693e308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(decimal(number), text);
        }
    }
}
