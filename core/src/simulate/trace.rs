//! `trace`: recorded arrivals, one per line or as CSV.

use super::arrivals::MAX_ARRIVALS;
use super::units::Units;
use crate::base::civil::{days_of_month, days_since_1970};
use crate::base::decimal;
use crate::base::micros::{MAX_SPAN, MAX_TIME};
use crate::model::label::Label;
use crate::model::limit::MAX_UNITS;

/// One arrival; missing values come from the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traced {
    /// Microseconds from the start.
    pub(super) at: u64,
    pub(super) cost: Option<Units>,
    pub(super) actual: Option<Units>,
    /// Microseconds.
    pub(super) work: Option<u64>,
}

impl Traced {
    /// Replaces the costs of the scenario; where both are by label, only the labels that this has.
    pub(super) fn replace(&self, cost: &mut Units, actual: &mut Option<Units>) {
        if let Some(own) = &self.cost {
            *cost = own.or(cost);
        }
        if let Some(own) = &self.actual {
            *actual = Some(actual.as_ref().map_or_else(|| own.clone(), |actual| own.or(actual)));
        }
    }

    /// Returns whether it has a cost by label.
    pub(super) fn has_labels(&self) -> bool {
        let mut costs = self.cost.iter().chain(&self.actual);
        costs.any(|units| matches!(units, Units::ByLabel(_)))
    }

    /// Returns the labels of the cost and of the actual cost.
    pub(super) fn labels(&self) -> [Vec<&Label>; 2] {
        [&self.cost, &self.actual].map(|units| units.iter().flat_map(Units::labels).collect())
    }
}

#[derive(Clone, PartialEq, Eq)]
enum Column {
    At,
    /// Of one label, or of every limit that counts units.
    Cost(Option<Label>),
    Actual(Option<Label>),
    Work,
    Count,
}

/// The units in the columns of a row.
#[derive(Default)]
struct Given {
    all: Option<u64>,
    by_label: Vec<(Label, u64)>,
}

impl Given {
    fn add(&mut self, label: Option<&Label>, units: u64) {
        match label {
            Some(label) => self.by_label.push((label.clone(), units)),
            None => self.all = Some(units),
        }
    }

    fn units(self) -> Option<Units> {
        let by_label = (!self.by_label.is_empty()).then(|| Units::ByLabel(self.by_label.into()));
        by_label.or(self.all.map(Units::All))
    }
}

/// Reads lines of times, or CSV whose first line names its columns: `at`, and any of `cost`, `actual`, `work`, `count`.
///
/// Costs by label have a column for each label, such as `cost.tpm`; an empty cell means the cost of the scenario.
///
/// Times are either all seconds from the start or all absolute: RFC 3339, or seconds since 1970 above a thousand
/// million. Absolute times start at midnight of the first one's day, so that intervals stay aligned. Errors contain the
/// line number.
pub(super) fn read(text: &str) -> Result<Vec<Traced>, String> {
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty());
    let mut peeked = lines.clone();
    let columns = match peeked.next() {
        None => return Err("has no arrival; write one time a line".to_owned()),
        Some((number, line)) if line.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            lines.next();
            header(line).map_err(|message| format!("line {number}: {message}"))?
        }
        Some(_) => vec![Column::At],
    };
    let (mut arrivals, mut moments) = (Vec::new(), 0);
    for (number, line) in lines {
        let (traced, count, is_moment) = row(line, &columns).map_err(|message| format!("line {number}: {message}"))?;
        if arrivals.len() + count > MAX_ARRIVALS {
            return Err(format!("line {number}: there are too many arrivals: arrivals_max={MAX_ARRIVALS}"));
        }
        moments += if is_moment { count } else { 0 };
        arrivals.extend(std::iter::repeat_n(traced, count));
    }
    if arrivals.is_empty() {
        return Err("has no arrival; write one time a line".to_owned());
    }
    if moments > 0 && moments < arrivals.len() {
        return Err("mixes seconds from the start with dates; write all times in one way".to_owned());
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    if moments > 0 {
        let day = arrivals.first().map_or(0, |first| first.at / 86_400_000_000 * 86_400_000_000);
        for arrival in &mut arrivals {
            arrival.at -= day;
        }
    }
    if arrivals.last().is_some_and(|last| last.at > MAX_SPAN.0) {
        return Err("has times that lie more than ten years apart".to_owned());
    }
    Ok(arrivals)
}

fn header(line: &str) -> Result<Vec<Column>, String> {
    let mut columns = Vec::new();
    for name in line.split(',').map(str::trim) {
        let shown: String = name.chars().take(40).collect();
        let Some(column) = column(name) else {
            let known = "at, cost, actual, work and count, or cost.LABEL and actual.LABEL";
            return Err(format!("columns are {known}: column={shown:?}"));
        };
        if columns.contains(&column) {
            return Err(format!("duplicate column; keep one: column={shown}"));
        }
        columns.push(column);
    }
    let is_mixed = |is_own: fn(&Column) -> Option<bool>| {
        let is_labelled = |labelled| columns.iter().filter_map(is_own).any(|own| own == labelled);
        is_labelled(true) && is_labelled(false)
    };
    let cost = |column: &Column| if let Column::Cost(label) = column { Some(label.is_some()) } else { None };
    let actual = |column: &Column| if let Column::Actual(label) = column { Some(label.is_some()) } else { None };
    if is_mixed(cost) || is_mixed(actual) {
        return Err("has a cost both with and without labels; keep one".to_owned());
    }
    if columns.contains(&Column::At) { Ok(columns) } else { Err("needs a column named at".to_owned()) }
}

fn column(name: &str) -> Option<Column> {
    let label = |prefix: &str| name.strip_prefix(prefix).and_then(|label| Label::new(label).ok());
    match name {
        "at" => Some(Column::At),
        "cost" => Some(Column::Cost(None)),
        "actual" => Some(Column::Actual(None)),
        "work" => Some(Column::Work),
        "count" => Some(Column::Count),
        _ => {
            let cost = label("cost.").map(|label| Column::Cost(Some(label)));
            cost.or_else(|| label("actual.").map(|label| Column::Actual(Some(label))))
        }
    }
}

/// Returns the arrival of a line, its count, and whether its time is absolute.
fn row(line: &str, columns: &[Column]) -> Result<(Traced, usize, bool), String> {
    let values: Vec<&str> = line.split(',').map(str::trim).collect();
    if values.len() > columns.len() {
        return Err(format!("has more values than columns: values={} columns={}", values.len(), columns.len()));
    }
    let (mut traced, mut count, mut is_moment) = (Traced::default(), 1, false);
    let (mut cost, mut actual) = (Given::default(), Given::default());
    let mut has_time = false;
    for (column, value) in columns.iter().zip(values).filter(|(_, value)| !value.is_empty()) {
        match column {
            Column::At => {
                (traced.at, is_moment) = time(value)?;
                has_time = true;
            }
            Column::Cost(label) => cost.add(label.as_ref(), whole("cost", value, MAX_UNITS)?),
            Column::Actual(label) => actual.add(label.as_ref(), whole("actual", value, MAX_UNITS)?),
            Column::Work => {
                let work = decimal::scaled(value, 6).map(|(micros, _)| micros).filter(|micros| *micros <= MAX_SPAN.0);
                traced.work = Some(work.ok_or_else(|| wrong("work must be a number of seconds", value))?);
            }
            Column::Count => {
                count = usize::try_from(whole("count", value, MAX_ARRIVALS as u64)?).unwrap_or(MAX_ARRIVALS);
            }
        }
    }
    (traced.cost, traced.actual) = (cost.units(), actual.units());
    if has_time { Ok((traced, count, is_moment)) } else { Err("has no time".to_owned()) }
}

fn whole(name: &str, value: &str, most: u64) -> Result<u64, String> {
    let parsed = decimal::scaled(value, 0).filter(|(number, exact)| *exact && *number <= most);
    parsed
        .map(|(number, _)| number)
        .ok_or_else(|| wrong(&format!("{name} must be a whole number from 0 to {most}"), value))
}

fn time(value: &str) -> Result<(u64, bool), String> {
    let seconds = decimal::scaled(value, 6).map(|(micros, _)| micros);
    match seconds.or_else(|| moment(value)).filter(|micros| *micros <= MAX_TIME.0) {
        Some(micros) => Ok((micros, seconds.is_none() || micros >= 1_000_000_000_000_000)),
        None => Err(wrong("must be a number of seconds or a time such as 2026-01-31T12:00:00Z", value)),
    }
}

/// Returns the microseconds since 1970 of an RFC 3339 time.
fn moment(text: &str) -> Option<u64> {
    let digits = |range: std::ops::Range<usize>| {
        let part = text.get(range)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok()).flatten()
    };
    let mark = |at: usize, marks: &str| text.get(at..=at).is_some_and(|mark| marks.contains(mark));
    if !(mark(4, "-") && mark(7, "-") && mark(10, "Tt ") && mark(13, ":") && mark(16, ":")) {
        return None;
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let rest = text.get(19..)?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone);
    let fraction = if fraction.is_empty() { 0 } else { decimal::scaled(&format!("0{fraction}"), 6)?.0 };
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (sign, at) = (if zone.starts_with('-') { -1 } else { 1 }, text.len() - zone.len());
            if zone.len() != 6 || !mark(at + 3, ":") {
                return None;
            }
            let (hours, minutes) = (digits(at + 1..at + 3)?, digits(at + 4..at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            sign * (hours * 60 + minutes)
        }
    };
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_of_month(year, month)
        || hour > 23
        || minute > 59
        || second > 60
        || fraction >= 1_000_000
    {
        return None;
    }
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second.min(59);
    u64::try_from(seconds).ok()?.checked_mul(1_000_000)?.checked_add(fraction)
}

fn wrong(message: &str, value: &str) -> String {
    let shown: String = value.chars().take(40).collect();
    format!("{message}: value={shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_csv_are_read() {
        let times = |text| read(text).unwrap().iter().map(|traced| traced.at).collect::<Vec<_>>();
        assert_eq!(times("12.25\n\n0\r\n 0.5 \n"), [0, 500_000, 12_250_000]);
        assert_eq!(times("at,count\n1,3\n0,\n"), [0, 1_000_000, 1_000_000, 1_000_000]);
        let all = read("at, cost, actual, work\n0, 10, 4, 0.25\n1,,,\n").unwrap();
        assert_eq!(
            all[0],
            Traced { at: 0, cost: Some(Units::All(10)), actual: Some(Units::All(4)), work: Some(250_000) }
        );
        assert_eq!(all[1], Traced { at: 1_000_000, ..Traced::default() });
        let by_label = read("at,cost.tpm,cost.rpm,actual.tpm\n0,900,2,500\n1,,3,\n2\n").unwrap();
        let units = |units: &[(&str, u64)]| {
            Some(Units::ByLabel(units.iter().map(|(label, units)| (Label::new(label).unwrap(), *units)).collect()))
        };
        assert_eq!(
            (&by_label[0].cost, &by_label[0].actual),
            (&units(&[("tpm", 900), ("rpm", 2)]), &units(&[("tpm", 500)]))
        );
        assert_eq!((&by_label[1].cost, &by_label[1].actual), (&units(&[("rpm", 3)]), &None));
        assert_eq!(by_label[2], Traced { at: 2_000_000, ..Traced::default() });
        // Of moments the day begins at zero.
        let (hour, second) = (3_600_000_000, 1_000_000);
        assert_eq!(times("2026-02-28T23:59:59.5Z\n2026-03-01T01:00:00+01:00"), [24 * hour - second / 2, 24 * hour]);
        assert_eq!(times("1767225600\n1767229200.5"), [0, hour + second / 2]);
    }

    #[test]
    fn the_calendar_is_that_of_jiff() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:34:56Z", 951_827_696),
            ("2026-01-01T00:00:00+00:00", 1_767_225_600),
            ("2100-03-01 00:00:00-02:30", 4_107_551_400),
        ] {
            assert_eq!(moment(text), Some(seconds * 1_000_000), "{text}");
        }
        for text in ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00", "é"]
        {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("0\nx\n", "line 2: must be"),
            ("0\n-1\n", "line 2: must be"),
            ("0\n1,2\n", "line 2: has more values"),
            ("at,price\n", "line 1: columns are"),
            ("at,at\n", "line 1: duplicate column"),
            ("at,cost.\n", "line 1: columns are"),
            ("at,cost.TPM\n", "line 1: columns are"),
            ("at,cost.tpm,cost.tpm\n", "line 1: duplicate column"),
            ("at,cost,cost.tpm\n", "line 1: has a cost both"),
            ("at,actual.tpm,actual\n", "line 1: has a cost both"),
            ("at,cost.tpm\n1,-1\n", "line 2: cost must be a whole"),
            ("cost\n1\n", "line 1: needs a column named at"),
            ("at,cost\n1,1.5\n", "line 2: cost must be a whole"),
            ("at,cost\n,1\n", "line 2: has no time"),
            ("at,count\n1,1000001\n", "line 2: count must be"),
            ("at,count\n1,1000000\n2,1\n", "line 3: there are too many"),
            ("0\n2026-01-31T12:00:00Z\n", "mixes seconds from the start with dates"),
            ("", "has no arrival"),
            ("at\n", "has no arrival"),
        ] {
            assert!(read(text).unwrap_err().starts_with(line), "{text:?} {:?}", read(text));
        }
    }
}
