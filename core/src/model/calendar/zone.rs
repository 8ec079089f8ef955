//! `Zone`: the time zone of a calendar.

use crate::base::error::{Error, Result};

/// A fixed offset from UTC, or a zone of the time zone database.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    name: Box<str>,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum Rules {
    /// Seconds east of UTC.
    Offset(i64),
    #[cfg(feature = "zones")]
    Named(jiff::tz::TimeZone),
}

impl Zone {
    pub(super) fn utc() -> Self {
        Self { name: "UTC".into(), rules: Rules::Offset(0) }
    }

    /// Parses `UTC`, an offset or a name.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text == "UTC" {
            return Ok(Self::utc());
        }
        if text.starts_with(['+', '-']) {
            let offset = offset(text).ok_or_else(|| unknown(text))?;
            // One zone has one name.
            return Ok(if offset == 0 {
                Self::utc()
            } else {
                Self { name: text.into(), rules: Rules::Offset(offset) }
            });
        }
        named(text).ok_or_else(|| unknown(text))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the seconds since 1970 that the clocks show at a time.
    pub(super) fn local_seconds(&self, seconds: i64) -> i64 {
        match &self.rules {
            Rules::Offset(offset) => seconds + offset,
            #[cfg(feature = "zones")]
            Rules::Named(zone) => {
                let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
                seconds + i64::from(zone.to_offset(at).seconds())
            }
        }
    }

    /// Returns the time at which the clocks show this number of seconds since 1970: the first such time, or when the clocks skip
    /// it, the time that is as long after the change.
    pub(super) fn seconds(&self, local: i64) -> i64 {
        match &self.rules {
            Rules::Offset(offset) => local - offset,
            #[cfg(feature = "zones")]
            Rules::Named(zone) => {
                let shown = jiff::tz::Offset::UTC.to_datetime(jiff::Timestamp::from_second(local).unwrap_or_default());
                zone.to_ambiguous_timestamp(shown).compatible().map_or(local, jiff::Timestamp::as_second)
            }
        }
    }
}

/// Parses `+05:30`, up to 23:59 from UTC.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = text.split_at_checked(1)?;
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str, most: i64| {
        let plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<i64>().ok()).flatten().filter(|number| *number <= most)
    };
    let seconds = number(hours, 23)? * 3_600 + number(minutes, 59)? * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

#[cfg(feature = "zones")]
fn named(text: &str) -> Option<Zone> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/');
    if text.is_empty() || text.len() > 64 || !text.bytes().all(is_part) {
        return None;
    }
    let zone = jiff::tz::TimeZone::get(text).ok().filter(|zone| !zone.is_unknown())?;
    // Letters of another case find the same zone.
    let name = zone.iana_name().unwrap_or(text).into();
    Some(Zone { name, rules: Rules::Named(zone) })
}

#[cfg(not(feature = "zones"))]
fn named(_: &str) -> Option<Zone> {
    None
}

fn unknown(text: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    let rule = if cfg!(feature = "zones") {
        "must be UTC, an offset such as +05:30 or a name such as Europe/Berlin"
    } else {
        "must be UTC or an offset such as +05:30; this module has no names of zones"
    };
    Error::invalid("timezone", format!("{rule}: timezone={shown:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_and_offsets_are_read_and_others_are_refused_by_name() {
        assert_eq!(Zone::parse("-05:30").unwrap().local_seconds(0), -19_800);
        assert_eq!(Zone::parse("+23:59").unwrap().seconds(0), -86_340);
        assert_eq!(Zone::parse("+00:00").unwrap().name(), "UTC");
        for text in [
            "",
            "+",
            "+5",
            "+05",
            "+0530",
            "+05:3",
            "+24:00",
            "+05:60",
            "+\u{e4}:00",
            "utc+1",
            "Mars/Phobos",
            "a b",
            "é",
        ] {
            let error = Zone::parse(text).err().unwrap_or_else(|| panic!("{text:?} is a zone"));
            assert_eq!(error.argument(), Some("timezone"), "{text:?}");
        }
    }

    #[cfg(feature = "zones")]
    #[test]
    fn a_name_has_the_letters_of_the_database() {
        assert_eq!(Zone::parse("europe/berlin").unwrap().name(), "Europe/Berlin");
        assert!(Zone::parse("Etc/Unknown").is_err());
    }
}
