//! How numbers, times and names are shown.

use paddlegate::{Kind, Limit, Micros};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Returns a span in the two largest units that it has.
pub(super) fn span(micros: Micros) -> String {
    let two = |seconds: u64, unit: u64, name: &str, finer: u64, finer_name: &str| {
        let (whole, rest) = (seconds / unit, seconds % unit / finer);
        if rest == 0 { format!("{whole} {name}") } else { format!("{whole} {name} {rest} {finer_name}") }
    };
    let seconds = micros.0 / 1_000_000;
    match seconds {
        0 if micros.0 == 0 => "0 s".to_owned(),
        0 => format!("{} ms", micros.0.div_ceil(1_000)),
        1..60 => format!("{seconds} s"),
        60..3_600 => two(seconds, 60, "min", 1, "s"),
        3_600..86_400 => two(seconds, 3_600, "h", 60, "min"),
        _ => two(seconds, 86_400, "d", 3_600, "h"),
    }
}

/// Returns a number with a comma before every three digits.
pub(super) fn count(number: u64) -> String {
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

/// Returns a limit as its policy says it: `window 100 per 1 min`.
pub(super) fn limit(limit: &Limit) -> String {
    let (kind, amount) = (limit.kind(), count(limit.amount()));
    let name = kind.name();
    let label = if **limit.label() == *name { String::new() } else { format!("{} ", limit.label()) };
    let per = match (limit.calendar(), kind) {
        (Some(calendar), _) => format!(" {amount} per {}", calendar.per().name()),
        (None, Kind::Unlimited | Kind::Paused) => String::new(),
        (None, Kind::Concurrency | Kind::Quota) => format!(" {amount}"),
        (None, _) => {
            let interval = span(limit.interval());
            let is_one = |rest: &&str| !rest.contains(' ');
            format!(" {amount} per {}", interval.strip_prefix("1 ").filter(is_one).unwrap_or(&interval))
        }
    };
    format!("{label}{name}{per}")
}

/// Returns a span of whole minutes: `hour` or `10 minutes`.
pub(super) fn whole_span(micros: Micros) -> String {
    match micros.0 / 60_000_000 {
        60 => "hour".to_owned(),
        1 => "minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

/// Returns a text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Returns the address of the page of a limiter.
pub(super) fn address(name: &str) -> String {
    format!("/ui/limiters/{}", encoded(name))
}

/// Returns the query of an address for a group and a key.
pub(super) fn query(group: Option<&str>, key: Option<&str>) -> String {
    let group = group.filter(|group| !group.is_empty()).map(|group| format!("group={}", encoded(group)));
    let key = key.map(|key| format!("key={}", encoded(key)));
    let both = [group, key].into_iter().flatten().collect::<Vec<_>>().join("&");
    if both.is_empty() { both } else { format!("?{both}") }
}

/// Returns the time of day in UTC of seconds since 1970.
pub(super) fn clock(seconds: u64) -> String {
    let day = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", day / 3_600, day / 60 % 60, day % 60)
}

/// Returns the day and the time of day in UTC of seconds since 1970.
pub(super) fn day_and_clock(seconds: u64) -> String {
    // Years begin in March here, so that the leap day is the last one of its year.
    let day = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02} {}", clock(seconds))
}

/// Returns the time of day in UTC of seconds since 1970 with a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
pub(super) fn clock_of(seconds: f64) -> String {
    clock(seconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_times_their_day() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let times = [0, 951_782_399, 951_782_400, 1_798_761_599, 4_107_542_400];
        assert_eq!(
            times.map(day_and_clock),
            [
                "1970-01-01 00:00:00",
                "2000-02-28 23:59:59",
                "2000-02-29 00:00:00",
                "2026-12-31 23:59:59",
                "2100-03-01 00:00:00"
            ]
        );
    }
}
