//! Human-readable numbers and names.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Formats a number with a comma before every three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats microseconds in their two largest units, truncated: `1h 2m`, `1.25s`, `12.3ms`.
pub(crate) fn span(micros: u64) -> String {
    let two = |unit: u64, name: char, finer: u64, finer_name: char| {
        let (whole, rest) = (count(micros / unit), micros % unit / finer);
        if rest == 0 { format!("{whole}{name}") } else { format!("{whole}{name} {rest}{finer_name}") }
    };
    match micros {
        0 => "0s".to_owned(),
        DAY.. => two(DAY, 'd', HOUR, 'h'),
        HOUR.. => two(HOUR, 'h', MINUTE, 'm'),
        MINUTE.. => two(MINUTE, 'm', SECOND, 's'),
        SECOND.. => format!("{}s", hundredths(micros / (SECOND / 100))),
        1_000.. => format!("{}ms", hundredths(micros / 10)),
        _ => format!("0.{micros:03}ms"),
    }
}

/// Formats thousandths as a percentage: `90%`, `33.3%`.
pub(crate) fn permille(permille: u64) -> String {
    match permille % 10 {
        0 => format!("{}%", count(permille / 10)),
        tenth => format!("{}.{tenth}%", count(permille / 10)),
    }
}

/// Formats a part as a percentage of the whole, truncated.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let share = (u128::from(part) * 1_000).checked_div(u128::from(whole)).unwrap_or(0);
    permille(u64::try_from(share).unwrap_or(u64::MAX))
}

/// Replaces control characters, which would move the cursor or colour the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

/// Cuts a text that is wider than so many cells of a terminal.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let (mut shown, mut width) = (String::new(), 1);
    for char in text.chars() {
        width += char.width().unwrap_or(0);
        if width > most {
            break;
        }
        shown.push(char);
    }
    shown + "…"
}

fn hundredths(number: u64) -> String {
    let text = format!("{}.{:02}", number / 100, number % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units() {
        for (micros, shown) in [
            (0, "0s"),
            (7, "0.007ms"),
            (1_000, "1ms"),
            (12_345, "12.34ms"),
            (999_999, "999.99ms"),
            (SECOND, "1s"),
            (1_250_000, "1.25s"),
            (59_999_999, "59.99s"),
            (MINUTE, "1m"),
            (61 * SECOND, "1m 1s"),
            (HOUR + 2 * MINUTE + 3, "1h 2m"),
            (HOUR + 59, "1h"),
            (DAY + HOUR, "1d 1h"),
            (3_650 * DAY, "3,650d"),
        ] {
            assert_eq!(span(micros), shown);
        }
    }

    #[test]
    fn numbers_have_commas_and_shares_are_percentages() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 5, 900, 1_001, 12_340].map(permille), ["0%", "0.5%", "90%", "100.1%", "1,234%"]);
        assert_eq!(share(1, 3), "33.3%");
        assert_eq!(share(0, 0), "0%");
        assert_eq!(share(u64::MAX, u64::MAX), "100%");
        assert_eq!(plain("a\u{1b}[31m\nb"), "a\u{fffd}[31m\u{fffd}b");
    }
}
