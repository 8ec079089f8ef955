//! The periods of quotas, found by asking of every day around a time whether one starts on it.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::super::sequence::CALENDARS;

/// Returns start and end of the period of a calendar that contains a time, in microseconds.
pub fn period(calendar: i128, time: i128) -> (i128, i128) {
    type Periods = HashMap<i128, Vec<(i128, i128)>>;
    thread_local!(static FOUND: RefCell<Periods> = RefCell::default());
    FOUND.with_borrow_mut(|found| {
        let periods = found.entry(calendar).or_default();
        let known = periods.iter().rfind(|(start, end)| (*start..*end).contains(&time)).copied();
        known.unwrap_or_else(|| {
            periods.push(search(calendar, time));
            periods[periods.len() - 1]
        })
    })
}

fn search(calendar: i128, time: i128) -> (i128, i128) {
    let (per, zone, starts, _) = CALENDARS[usize::try_from(calendar).expect("an index")];
    let zone = match zone.strip_prefix('+') {
        // The sign of POSIX is that of UTC seen from there.
        Some(offset) => TimeZone::posix(&format!("<there>-{offset}")).expect("an offset"),
        None => TimeZone::get(zone).expect("a zone"),
    };
    let around: i32 = match per {
        "day" => 3,
        "week" => 9,
        "month" => 34,
        "quarter" => 96,
        _ => 368,
    };
    let now = Timestamp::from_microsecond(i64::try_from(time).expect("a time")).expect("a time");
    let today = now.to_zoned(zone.clone()).date();
    let days = (-around..=around).map(|days| today.checked_add(days.days()).expect("a date"));
    let clock = if per == "day" { starts.parse().expect("a time of day") } else { jiff::civil::Time::midnight() };
    let starting: Vec<i128> = days
        .filter(|date| begins(per, starts, *date))
        .map(|date| {
            date.to_datetime(clock).to_zoned(zone.clone()).expect("a moment").timestamp().as_microsecond().into()
        })
        .collect();
    let start = starting.iter().filter(|start| **start <= time).max().expect("a start");
    let end = starting.iter().filter(|start| **start > time).min().expect("an end");
    ((*start).max(0), *end)
}

/// Returns whether a period begins on a date.
fn begins(per: &str, starts: &str, date: Date) -> bool {
    let is_day = |day: i8| date.day() == day.min(date.days_in_month());
    match per {
        "day" => true,
        "week" => starts == "sunday" && date.weekday() == Weekday::Sunday,
        "month" => is_day(starts.parse().expect("a day")),
        _ => {
            let (month, day) = starts.split_once('-').expect("month and day");
            let month: i8 = month.parse().expect("a month");
            let is_month = if per == "year" { date.month() == month } else { (date.month() - month) % 3 == 0 };
            is_month && is_day(day.parse().expect("a day"))
        }
    }
}
