//! How numbers, times and names are shown.

use paddlegate::Micros;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Returns a span in the two largest units that it has.
pub(super) fn span(micros: Micros) -> String {
    let seconds = micros.0 / 1_000_000;
    match seconds {
        0 if micros.0 == 0 => "0 s".to_owned(),
        0 => format!("{} ms", micros.0.div_ceil(1_000)),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
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

/// Returns the time of day in UTC of seconds since 1970 with a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
pub(super) fn clock_of(seconds: f64) -> String {
    clock(seconds as u64)
}
