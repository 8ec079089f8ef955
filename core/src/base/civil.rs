//! Dates of the Gregorian calendar as days since 1970. Handwritten because a library for them would enlarge the browser
//! module; time zones are the library's.

/// Returns the days since 1970-01-01 of a date, whose month is from 1 to 12.
///
/// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": `days_from_civil`.
pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns year, month and day of a day since 1970-01-01: `civil_from_days` of the same source.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Returns the number of days of a month, which is from 1 to 12.
pub(crate) fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && year % 100 != 0 || year % 400 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_has_its_date() {
        let (mut year, mut month, mut day) = (1_900, 1, 1);
        for days in days_since_1970(1_900, 1, 1)..=days_since_1970(2_300, 12, 31) {
            assert_eq!(date_of(days), (year, month, day));
            assert_eq!(days_since_1970(year, month, day), days);
            day += 1;
            if day > days_of_month(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2_301, 1, 1));
        assert_eq!([1_900, 2_000, 2_023, 2_024].map(|year| days_of_month(year, 2)), [28, 29, 28, 29]);
    }
}
