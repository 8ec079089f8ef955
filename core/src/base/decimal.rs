//! `scaled`: conversion of decimal text to integers without floating point.

/// Returns the number times `10^scale`, rounded up, and whether the result is exact.
///
/// Returns `None` for a negative number, a result of 2^64 or more, and text that is not a decimal number.
pub(crate) fn scaled(text: &str, scale: i64) -> Option<(u64, bool)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_start_matches('0');
    if kept.is_empty() {
        return Some((0, true));
    }
    let zeros = i64::try_from(digits.len() - kept.len()).ok()?;
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let point = point.checked_add(scale)?.checked_sub(zeros)?;
    let Ok(point) = usize::try_from(point) else {
        return Some((1, false));
    };
    // 2^64 has twenty digits.
    if point > 20 {
        return None;
    }
    let (units, rest) = kept.split_at_checked(point).unwrap_or((kept, ""));
    let units: u64 = if point == 0 { 0 } else { format!("{units:0<point$}").parse().ok()? };
    let exact = rest.bytes().all(|byte| byte == b'0');
    Some((units.checked_add(u64::from(!exact))?, exact))
}

/// Returns the microseconds of a number with a unit: `500ms`, `10s`, `1.5m`, `1h`, `1d`.
///
/// Returns `None` for any other text and for nonzero decimals after the sixth (after the third for `ms`).
pub(crate) fn with_unit(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let (scale, factor) = match unit {
        "ms" => (3, 1),
        "s" => (6, 1),
        "m" => (6, 60),
        "h" => (6, 3_600),
        "d" => (6, 86_400),
        _ => return None,
    };
    let (micros, exact) = scaled(number, scale)?;
    exact.then(|| micros.checked_mul(factor)).flatten()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_exact_and_rounded_up() {
        for (text, scale, result) in [
            ("0", 6, Some((0, true))),
            ("0.0", 6, Some((0, true))),
            ("0.1", 6, Some((100_000, true))),
            ("0.3", 6, Some((300_000, true))),
            ("30", 6, Some((30_000_000, true))),
            ("1e-7", 6, Some((1, false))),
            ("1e-999", 6, Some((1, false))),
            ("0.0000011", 6, Some((2, false))),
            ("1.50", 0, Some((2, false))),
            ("5.0", 0, Some((5, true))),
            ("1.5e3", 0, Some((1_500, true))),
            ("2E+2", 0, Some((200, true))),
            ("007", 0, Some((7, true))),
            ("18446744073709551615", 0, Some((u64::MAX, true))),
            ("18446744073709551615.5", 0, None),
            ("18446744073709551616", 0, None),
            ("1e300", 6, None),
            ("1e99999999999999999999", 0, None),
            ("1e9223372036854775807", 6, None),
            ("-1", 0, None),
            ("-0.0", 0, None),
            ("", 0, None),
            (".5", 0, None),
            ("1.", 0, None),
            ("1e", 0, None),
            ("NaN", 0, None),
        ] {
            assert_eq!(scaled(text, scale), result, "{text}");
        }
    }

    proptest! {
        #[test]
        fn millionths_come_back(micros in 0_u64..1 << 53) {
            let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            prop_assert_eq!(scaled(&text, 6), Some((micros, true)));
            let finer = format!("{text}0001");
            prop_assert_eq!(scaled(&finer, 6), Some((micros + 1, false)));
        }

        #[test]
        fn any_text_is_a_number_or_nothing(text in "[-+0-9.eE]{0,40}", scale in -7_i64..7) {
            let _ = scaled(&text, scale);
        }
    }
}
