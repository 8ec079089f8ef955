//! `Recording`: what a limiter has counted in each interval, in lines of JSON, and the arrivals that it stands for.

use std::fmt::Write;
use std::path::Path;

use paddlegate::Micros;
use serde_json::{Value, json};

use crate::decisions::{self, DecisionRecord};
use crate::failure::Failure;
use crate::source;

/// The version of the lines.
pub(crate) const VERSION: u64 = 1;

/// A record of either version.
#[derive(Debug)]
pub(crate) enum Record {
    /// Sums of intervals.
    Sums(Recording),
    /// Decisions one by one.
    Decisions(DecisionRecord),
}

impl Record {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let text = source::read(path)?;
        Self::read(&text).map_err(|message| Failure::Input(format!("{}: {message}", source::name(path))))
    }

    /// Reads a text; a fault names the line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(i, line)| {
            let value = serde_json::from_str::<Value>(line);
            (i + 1, value.map_err(|_| format!("line {}: not readable as JSON", i + 1)))
        });
        let (_, head) = lines.next().ok_or("is empty; write one by `paddlegate record`")?;
        let head = head?;
        match head["record"].as_u64() {
            Some(VERSION) => Recording::read(&head, lines).map(Self::Sums),
            Some(decisions::VERSION) => DecisionRecord::read(&head, lines).map(Self::Decisions),
            _ => Err("line 1: is not the beginning of a record; write one by `paddlegate record`".to_owned()),
        }
    }

    /// Returns the arrivals as CSV, as `simulate` reads them.
    pub(crate) fn arrivals(&self) -> Result<String, String> {
        match self {
            Self::Sums(record) => Ok(record.arrivals(None)),
            Self::Decisions(record) => record.arrivals(),
        }
    }
}

/// A record of sums.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The name of the limiter.
    pub(crate) limiter: String,
    /// The limits that ruled when the record began, as a scenario has them.
    pub(crate) limits: Value,
    /// The intervals, in their order.
    pub(crate) intervals: Vec<Interval>,
}

/// What was counted in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    /// When it began, by the clock of the store.
    pub(crate) at: Micros,
    /// How long it was.
    pub(crate) lasts: Micros,
    /// Granted calls.
    pub(crate) granted: u64,
    /// Refused calls, also those that only shadow let pass.
    pub(crate) refused: u64,
    /// Granted calls that had waited.
    pub(crate) waited: u64,
    /// Charged units.
    pub(crate) units: u64,
    /// How long the leases were held that ended.
    pub(crate) held: Micros,
    /// How many leases ended.
    pub(crate) released: u64,
}

impl Recording {
    /// Formats the first line of a record of this version.
    pub(crate) fn head(version: u64, limiter: &str, group: Option<&str>, limits: &Value) -> String {
        json!({ "record": version, "limiter": limiter, "group": group, "limits": limits }).to_string() + "\n"
    }

    /// Returns whether a text is a record.
    pub(crate) fn is_one(text: &str) -> bool {
        text.lines()
            .next()
            .is_some_and(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line.get("record").is_some()))
    }

    /// Reads the lines behind the first, with their numbers.
    fn read(head: &Value, lines: impl Iterator<Item = (usize, Result<Value, String>)>) -> Result<Self, String> {
        let limiter = head["limiter"].as_str().ok_or("line 1: limiter: must be a text")?.to_owned();
        let mut intervals: Vec<Interval> = Vec::new();
        for (number, line) in lines {
            let interval =
                line.and_then(|line| Interval::read(&line).map_err(|fault| format!("line {number}: {fault}")))?;
            if intervals.last().is_some_and(|last| last.at > interval.at) {
                return Err(format!("line {number}: at: is before the line above"));
            }
            intervals.push(interval);
        }
        Ok(Self { limiter, limits: head["limits"].clone(), intervals })
    }

    /// Returns the sum of a count.
    pub(crate) fn sum(&self, of: impl Fn(&Interval) -> u64) -> u64 {
        self.intervals.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Returns the arrivals as CSV, as `simulate` reads them: the calls of an interval evenly in it, each with the mean of
    /// its units and of how long leases were held. The units are those of a label, or of every limit.
    pub(crate) fn arrivals(&self, label: Option<&str>) -> String {
        let column = label.map_or("cost".to_owned(), |label| format!("cost.{label}"));
        let mut csv = format!("at,{column},work\n");
        let work = self.sum(|interval| interval.held.0) / self.sum(|interval| interval.released).max(1);
        let mut mean = self.sum(|interval| interval.units) / self.sum(|interval| interval.granted).max(1);
        for interval in &self.intervals {
            let calls = interval.granted.saturating_add(interval.refused);
            mean = interval.units.checked_div(interval.granted).unwrap_or(mean);
            let mut rest = interval.units.saturating_sub(mean.saturating_mul(interval.granted));
            let work = interval.held.0.checked_div(interval.released).unwrap_or(work);
            for call in 0..calls {
                let part = u128::from(interval.lasts.0) * (2 * u128::from(call) + 1) / (2 * u128::from(calls));
                let at = interval.at.0 + u64::try_from(part).unwrap_or(0);
                let cost = (mean + u64::from(rest > 0)).max(1);
                rest = rest.saturating_sub(1);
                // Writing to a `String` cannot fail.
                let _ = writeln!(
                    csv,
                    "{}.{:06},{cost},{}.{:06}",
                    at / 1_000_000,
                    at % 1_000_000,
                    work / 1_000_000,
                    work % 1_000_000
                );
            }
        }
        csv
    }
}

impl Interval {
    /// Formats a line.
    pub(crate) fn line(&self) -> String {
        let Self { at, lasts, granted, refused, waited, units, held, released } = self;
        let line = json!({
            "at_us": at.0, "for_us": lasts.0, "granted": granted, "refused": refused, "waited": waited,
            "units": units, "held_us": held.0, "released": released,
        });
        format!("{line}\n")
    }

    fn read(line: &Value) -> Result<Self, String> {
        let number = |name: &str| {
            // Times and counts of a store are below 2^53.
            let read = line[name].as_u64().filter(|number| *number < 1 << 53);
            read.ok_or_else(|| format!("{name}: must be a whole number from 0 to 2^53"))
        };
        Ok(Self {
            at: Micros(number("at_us")?),
            lasts: Micros(number("for_us")?),
            granted: number("granted")?,
            refused: number("refused")?,
            waited: number("waited")?,
            units: number("units")?,
            held: Micros(number("held_us")?),
            released: number("released")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let first = Interval {
            at: Micros(1_700_000_000_000_000),
            lasts: Micros(1_000_000),
            granted: 3,
            refused: 1,
            waited: 1,
            units: 10,
            held: Micros(4_000_000),
            released: 2,
        };
        let second =
            Interval { at: Micros(1_700_000_001_000_000), refused: 1, lasts: first.lasts, ..Interval::default() };
        let text = Recording::head(VERSION, "api", None, &json!([])) + &first.line() + &second.line();
        assert!(Recording::is_one(&text) && !Recording::is_one("at\n1\n") && !Recording::is_one(""));
        let Record::Sums(record) = Record::read(&text).unwrap() else { panic!("no sums") };
        assert_eq!((record.limiter.as_str(), &record.intervals[..]), ("api", &[first, second][..]));
        let csv = "at,cost.tpm,work\n1700000000.125000,4,2.000000\n1700000000.375000,3,2.000000\n\
            1700000000.625000,3,2.000000\n1700000000.875000,3,2.000000\n1700000001.500000,3,2.000000\n";
        assert_eq!(record.arrivals(Some("tpm")), csv);
    }

    #[test]
    fn a_bad_line_is_named() {
        let head = Recording::head(VERSION, "api", None, &json!([]));
        let line = Interval { at: Micros(5), ..Interval::default() }.line();
        for (text, fault) in [
            (String::new(), "is empty"),
            ("{}".to_owned(), "line 1: is not the beginning"),
            (r#"{"record": 3}"#.to_owned(), "line 1: is not the beginning"),
            (r#"{"record": 1}"#.to_owned(), "line 1: limiter"),
            (r#"{"record": 2}"#.to_owned(), "line 1: limiter"),
            (Recording::head(2, "api", None, &json!([])) + "{}", "line 2: verb: must be a text"),
            (format!("{head}\nx"), "line 3: not readable as JSON"),
            (format!("{head}{{}}"), "line 2: at_us: must be a whole"),
            (head.clone() + &line.replace("\"units\":0", "\"units\":-1"), "line 2: units: must be a whole"),
            (head.clone() + &line + &Interval::default().line(), "line 3: at: is before"),
        ] {
            assert!(Record::read(&text).unwrap_err().starts_with(fault), "{text} {:?}", Record::read(&text));
        }
    }
}
