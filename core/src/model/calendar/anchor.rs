//! `Anchor`: where the periods of a calendar start, in local time.

use super::CalendarPeriod;
use crate::base::civil::{date_of, days_of_month, days_since_1970};
use crate::base::error::{Error, Result};

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The seconds of a day.
const DAY: i64 = 86_400;

/// The start of the periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    /// From Monday on.
    weekday: i64,
    /// Months from the first of a quarter or a year on.
    month: i64,
    /// The day of the month, from 1 on.
    day: i64,
    /// Seconds from midnight on.
    time: i64,
}

impl Anchor {
    /// The default: midnight of the first day.
    pub(super) const FIRST: Self = Self { weekday: 0, month: 0, day: 1, time: 0 };

    /// Parses the short form of the periods, or a date with or without a time.
    pub(super) fn parse(per: CalendarPeriod, text: &str) -> Result<Self> {
        Self::short(per, text).or_else(|| Self::dated(per, text)).ok_or_else(|| {
            let short = match per {
                CalendarPeriod::Day => "a time such as 06:00",
                CalendarPeriod::Week => "a day such as monday",
                CalendarPeriod::Month => "a day from 1 to 31",
                CalendarPeriod::Quarter | CalendarPeriod::Year => "month and day such as 04-06",
            };
            let shown: String = text.chars().take(40).collect();
            let message =
                format!("must be {short}, or a date such as 2025-01-31 or 2025-01-31T09:30: starts={shown:?}");
            Error::invalid("starts", message)
        })
    }

    fn short(per: CalendarPeriod, text: &str) -> Option<Self> {
        Some(match per {
            CalendarPeriod::Day => Self { time: time(text)?, ..Self::FIRST },
            CalendarPeriod::Week => {
                let weekday = WEEKDAYS.iter().position(|weekday| *weekday == text)?;
                Self { weekday: i64::try_from(weekday).ok()?, ..Self::FIRST }
            }
            CalendarPeriod::Month => {
                let day = number(text, if text.len() == 1 { 1 } else { 2 }, 1, 31)?;
                Self { day, ..Self::FIRST }
            }
            CalendarPeriod::Quarter | CalendarPeriod::Year => {
                let (month, day) = text.split_once('-')?;
                // Of a year that has a 29th of February.
                Self::of_date(per, (2_000, number(month, 2, 1, 12)?, number(day, 2, 1, 31)?))?
            }
        })
    }

    fn dated(per: CalendarPeriod, text: &str) -> Option<Self> {
        let (date, shown) = match text.split_once('T') {
            Some((date, shown)) => (date, Some(shown)),
            None => (text, None),
        };
        let mut parts = date.splitn(3, '-');
        let year = number(parts.next()?, 4, 1, 9_999)?;
        let (month, day) = (number(parts.next()?, 2, 1, 12)?, number(parts.next()?, 2, 1, 31)?);
        Some(Self { time: shown.map_or(Some(0), time)?, ..Self::of_date(per, (year, month, day))? })
    }

    fn of_date(per: CalendarPeriod, (year, month, day): (i64, i64, i64)) -> Option<Self> {
        if day > days_of_month(year, month) {
            return None;
        }
        Some(match per {
            CalendarPeriod::Day => Self::FIRST,
            // 1970-01-05 was a Monday.
            CalendarPeriod::Week => {
                Self { weekday: (days_since_1970(year, month, day) - 4).rem_euclid(7), ..Self::FIRST }
            }
            CalendarPeriod::Month => Self { day, ..Self::FIRST },
            CalendarPeriod::Quarter | CalendarPeriod::Year => {
                Self { month: (month - 1) % months(per), day, ..Self::FIRST }
            }
        })
    }

    /// Returns the shortest text from which the anchor is read.
    pub(super) fn text(&self, per: CalendarPeriod) -> String {
        let (hour, minute, second) = (self.time / 3_600, self.time / 60 % 60, self.time % 60);
        let time =
            if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") };
        let day = self.day;
        // A month that has the day.
        let month = if per == CalendarPeriod::Quarter && self.month == 1 && day > 29 { 5 } else { self.month + 1 };
        match per {
            CalendarPeriod::Day => time,
            CalendarPeriod::Week if self.time > 0 => format!("2001-01-{:02}T{time}", self.weekday + 1),
            CalendarPeriod::Week => {
                usize::try_from(self.weekday).ok().and_then(|day| WEEKDAYS.get(day)).copied().unwrap_or_default().into()
            }
            CalendarPeriod::Month if self.time > 0 => format!("2000-01-{day:02}T{time}"),
            CalendarPeriod::Month => day.to_string(),
            _ if self.time > 0 => format!("2000-{month:02}-{day:02}T{time}"),
            _ => format!("{month:02}-{day:02}"),
        }
    }

    /// Returns about the number of the period that contains a local time.
    pub(super) fn index(&self, per: CalendarPeriod, local: i64) -> i64 {
        let days = (local - self.time).div_euclid(DAY);
        match per {
            CalendarPeriod::Day => days,
            CalendarPeriod::Week => (days - 4 - self.weekday).div_euclid(7),
            _ => {
                let (year, month, _) = date_of(days);
                ((year - 1970) * 12 + month - 1 - self.month).div_euclid(months(per))
            }
        }
    }

    /// Returns the local time at which a period starts, in seconds since 1970.
    pub(super) fn local_seconds(&self, per: CalendarPeriod, index: i64) -> i64 {
        let days = match per {
            CalendarPeriod::Day => index,
            CalendarPeriod::Week => 7 * index + 4 + self.weekday,
            _ => {
                let month = index * months(per) + self.month;
                let (year, month) = (1970 + month.div_euclid(12), month.rem_euclid(12) + 1);
                days_since_1970(year, month, self.day.min(days_of_month(year, month)))
            }
        };
        days * DAY + self.time
    }
}

/// Returns the months of a period that has whole months.
const fn months(per: CalendarPeriod) -> i64 {
    match per {
        CalendarPeriod::Quarter => 3,
        CalendarPeriod::Year => 12,
        _ => 1,
    }
}

/// Parses `06:30` or `06:30:15`.
fn time(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?, 2, 0, 23)?, number(parts.next()?, 2, 0, 59)?);
    let second = parts.next().map_or(Some(0), |second| number(second, 2, 0, 59))?;
    Some(hour * 3_600 + minute * 60 + second)
}

fn number(text: &str, digits: usize, least: i64, most: i64) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten().filter(|number| (least..=most).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_anchor_is_read_again() {
        let texts: [(CalendarPeriod, &[(&str, &str)]); 5] = [
            (CalendarPeriod::Day, &[("00:00", "00:00"), ("06:30", "06:30"), ("2025-01-31T23:59:58", "23:59:58")]),
            (
                CalendarPeriod::Week,
                &[
                    ("monday", "monday"),
                    ("sunday", "sunday"),
                    ("2025-01-15", "wednesday"),
                    ("2025-01-15T09:00", "2001-01-03T09:00"),
                ],
            ),
            (CalendarPeriod::Month, &[("1", "1"), ("05", "5"), ("31", "31"), ("2024-02-29T00:01", "2000-01-29T00:01")]),
            (
                CalendarPeriod::Quarter,
                &[("01-01", "01-01"), ("11-30", "05-30"), ("2025-08-31T01:00", "2000-05-31T01:00")],
            ),
            (CalendarPeriod::Year, &[("04-06", "04-06"), ("02-29", "02-29"), ("2025-12-31T12:00", "2000-12-31T12:00")]),
        ];
        for (per, texts) in texts {
            for (text, canonical) in texts {
                let anchor = Anchor::parse(per, text).unwrap();
                assert_eq!(anchor.text(per), *canonical, "{text}");
                assert_eq!(Anchor::parse(per, canonical).unwrap(), anchor, "{text}");
            }
        }
    }
}
