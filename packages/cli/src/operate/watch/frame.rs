//! `Frame`: the numbers of limiters at one moment.

use std::cmp::Reverse;
use std::time::Instant;

use paddlegate::{Inspection, Limiter, LimiterInfo, Mode, Page, Statistics};
use serde_json::{Value, json};

use crate::human::{count, share};
use crate::operate::json;
use crate::table::Table;

/// What was read at once.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) read_at: Option<Instant>,
    pub(super) rows: Vec<Row>,
}

/// One limiter. One with keys has no limits of its own.
#[derive(Debug)]
pub(super) struct Row {
    name: String,
    group: Option<String>,
    keyed: bool,
    statistics: Statistics,
    found: Option<Inspection>,
    is_unread: bool,
    /// Whether calls were refused in this minute or the last; only of the first frame.
    has_refused: bool,
}

/// What has happened since the frame before.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    granted: u64,
    refused: u64,
}

impl Row {
    /// Reads a limiter; the first time also what it has refused.
    pub(super) fn read(limiter: &Limiter, is_first: bool) -> paddlegate::Result<Self> {
        let found = if limiter.is_keyed() { None } else { Some(limiter.inspect(Page { offset: 0, count: 0 })?) };
        let group = limiter.group().map(str::to_owned);
        let keyed = limiter.is_keyed();
        let (name, statistics) = (limiter.name().to_owned(), limiter.statistics()?);
        let has_refused = is_first
            && statistics.refused > 0
            && limiter.history()?.minutes.iter().rev().take(2).any(|minute| minute.refused > 0);
        Ok(Self { name, group, keyed, statistics, found, is_unread: false, has_refused })
    }

    /// Returns the row of a limiter that cannot be read.
    pub(super) fn unread(info: &LimiterInfo) -> Self {
        let LimiterInfo { name, group, keyed, .. } = info.clone();
        let statistics = Statistics::default();
        Self { name, group, keyed, statistics, found: None, is_unread: true, has_refused: false }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.name, &self.group, self.keyed) == (&other.name, &other.group, other.keyed)
    }

    /// Returns the part of the fullest limit that is taken.
    fn fullest(&self) -> Option<(u64, u64)> {
        let limits = self.found.iter().flat_map(|found| &found.limits);
        let part = |taken: u64, limit: u64| u128::from(taken) * 1_000 / u128::from(limit.max(1));
        limits.map(|limit| (limit.taken, limit.limit)).max_by_key(|(taken, limit)| part(*taken, *limit))
    }

    fn marks(&self) -> String {
        let found = self.found.as_ref();
        let marks = [
            (self.is_unread, "unreadable"),
            (self.keyed, "keyed"),
            (found.is_some_and(|found| found.paused_for.is_some()), "paused"),
            (found.is_some_and(|found| found.blocked_for.is_some()), "blocked"),
            (found.is_some_and(|found| found.mode == Mode::Shadow), "shadow"),
            (found.is_some_and(Self::is_overridden), "override"),
        ];
        let marks = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark.to_owned());
        // The group is first, because the last marks may be cut: limiters of one name differ by it alone.
        let group = self.group.as_ref().map(|group| format!("group={group}"));
        group.into_iter().chain(marks).collect::<Vec<_>>().join(" ")
    }

    fn is_overridden(found: &Inspection) -> bool {
        found.limits.iter().any(|limit| limit.source == paddlegate::LimitSource::Override)
    }
}

impl Frame {
    /// Returns what has happened to a limiter since this frame; `None` if there is no frame yet.
    fn since(&self, row: &Row) -> Option<Since> {
        self.read_at?;
        // A limiter that is new has counted everything since then, and one that was reset as well.
        let old = self.rows.iter().find(|old| old.is_of(row)).map(|old| &old.statistics);
        let since = |new: u64, old: Option<u64>| old.and_then(|old| new.checked_sub(old)).unwrap_or(new);
        Some(Since {
            granted: since(row.statistics.granted, old.map(|old| old.granted)),
            refused: since(row.statistics.refused, old.map(|old| old.refused)),
        })
    }

    /// Formats the busiest limiters: those that refuse, then those where calls wait, then those that grant.
    pub(super) fn text(&self, before: &Self, top: usize) -> String {
        let mut rows: Vec<(&Row, Option<Since>)> = self.rows.iter().map(|row| (row, before.since(row))).collect();
        rows.sort_by_key(|(row, since)| {
            let Since { granted, refused } = since.unwrap_or_default();
            (Reverse(refused), Reverse(row.statistics.tickets), Reverse(granted), &row.name, &row.group)
        });
        let millis = self.millis_since(before);
        let rate = |number: Option<u64>| number.map_or("-".to_owned(), |number| per_second(number, millis));
        let mut table = Table::default().cut("NAME", 12).number("USED").number("LIMIT").number("FULL");
        table = table.number("GRANT/S").number("REFUSE/S").number("WAIT").number("LEASES").cut("MARKS", 14);
        for (row, since) in rows.iter().take(top) {
            let (taken, limit) = row.fullest().unzip();
            let shown = |number: Option<u64>| number.map_or("-".to_owned(), count);
            table.row([
                row.name.clone(),
                shown(taken),
                shown(limit),
                taken.zip(limit).map_or("-".to_owned(), |(taken, limit)| share(taken, limit)),
                rate(since.map(|since| since.granted)),
                rate(since.map(|since| since.refused)),
                count(row.statistics.tickets),
                count(row.statistics.leases),
                row.marks(),
            ]);
        }
        let [shown, all] = [rows.len().min(top), rows.len()].map(|number| count(number as u64));
        format!("Now: {}\n{}{shown} of {all} limiters\n", self.wrong(before), table.show())
    }

    /// Says what is wrong now: in how many limiters, and how many calls wait.
    fn wrong(&self, before: &Self) -> String {
        let number = |is_so: &dyn Fn(&Row) -> bool| self.rows.iter().filter(|row| is_so(row)).count() as u64;
        let found = |is_so: fn(&Inspection) -> bool| number(&|row: &Row| row.found.as_ref().is_some_and(is_so));
        let numbers = [
            (found(|found| found.paused_for.is_some()), "paused"),
            (found(|found| found.blocked_for.is_some()), "blocked"),
            (found(Row::is_overridden), "overridden"),
            (found(|found| found.mode == Mode::Shadow), "in shadow"),
            (number(&|row: &Row| row.fullest().is_some_and(|(taken, limit)| taken >= limit)), "full"),
            (number(&|row: &Row| before.since(row).map_or(row.has_refused, |since| since.refused > 0)), "refusing"),
            (self.rows.iter().map(|row| row.statistics.tickets).sum(), "waiting"),
            (number(&|row: &Row| row.is_unread), "unreadable"),
        ];
        let some: Vec<String> = numbers
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(number)))
            .collect();
        if some.is_empty() { "nothing is wrong".to_owned() } else { some.join(", ") }
    }

    /// Formats all limiters in one line of JSON.
    pub(super) fn json(&self, before: &Self) -> Value {
        let row = |row: &Row| {
            let since = before.since(row);
            let limit = |limit: &paddlegate::InspectedLimit| json!({ "label": limit.label.to_string(), "limit": limit.limit, "taken": limit.taken, "remaining": limit.remaining });
            let found = row.found.as_ref();
            json!({
                "name": row.name,
                "group": row.group,
                "keyed": row.keyed,
                "granted": since.map(|since| since.granted),
                "refused": since.map(|since| since.refused),
                "tickets": row.statistics.tickets,
                "leases": row.statistics.leases,
                "paused_for": found.and_then(|found| found.paused_for).map(json::seconds),
                "limits": found.map(|found| found.limits.iter().map(limit).collect::<Vec<_>>()),
            })
        };
        let after = before.read_at.map(|_| json::seconds(paddlegate::Micros(self.millis_since(before) * 1_000)));
        json!({ "after": after, "limiters": self.rows.iter().map(row).collect::<Vec<_>>() })
    }

    fn millis_since(&self, before: &Self) -> u64 {
        let time = self.read_at.zip(before.read_at).map(|(now, before)| now.duration_since(before).as_millis());
        time.and_then(|time| u64::try_from(time).ok()).unwrap_or(0).max(1)
    }
}

/// Formats a rate, with a tenth below ten.
fn per_second(number: u64, millis: u64) -> String {
    let tenths = u64::try_from(u128::from(number) * 10_000 / u128::from(millis)).unwrap_or(u64::MAX);
    if tenths >= 100 || tenths.is_multiple_of(10) {
        count(tenths / 10)
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(counts: &[(&str, u64, u64, u64)]) -> Frame {
        let row = |(name, granted, refused, tickets): &(&str, u64, u64, u64)| Row {
            name: (*name).to_owned(),
            group: None,
            keyed: false,
            statistics: Statistics { granted: *granted, refused: *refused, tickets: *tickets, ..Statistics::default() },
            found: None,
            is_unread: false,
            has_refused: *name == "a",
        };
        #[allow(clippy::disallowed_methods)]
        Frame { read_at: Some(Instant::now()), rows: counts.iter().map(row).collect() }
    }

    #[test]
    fn those_that_refuse_stand_first_then_those_where_calls_wait() {
        let before = frame(&[("a", 5, 90, 0), ("b", 5, 0, 0), ("c", 5, 0, 0), ("d", 50, 9, 0)]);
        // The last was reset.
        let after = frame(&[("a", 6, 90, 0), ("b", 900, 0, 0), ("c", 5, 0, 3), ("d", 1, 1, 0)]);
        let names = |text: String| text.lines().skip(2).map(|line| line.chars().next()).collect::<Vec<_>>();
        assert_eq!(names(after.text(&before, 4)), ['d', 'c', 'b', 'a', '4'].map(Some));
        assert_eq!(names(after.text(&Frame::default(), 2)), ['c', 'a', '2'].map(Some));
        assert_eq!(after.text(&before, 1).lines().next(), Some("Now: 1 refusing, 3 waiting"));
        assert_eq!(before.text(&Frame::default(), 1).lines().next(), Some("Now: 1 refusing"), "in the last minute");
        assert_eq!(before.text(&before, 1).lines().next(), Some("Now: nothing is wrong"));
        let told = after.json(&before);
        assert_eq!((&told["limiters"][1]["granted"], &told["limiters"][3]["granted"]), (&json!(895), &json!(1)));
    }

    #[test]
    fn rates_have_a_tenth_below_ten() {
        assert_eq!(
            [(0, 1_000), (1, 3_000), (5, 1_000), (99, 10_000), (12_345, 1_000)].map(|(n, ms)| per_second(n, ms)),
            ["0", "0.3", "5", "9.9", "12,345"]
        );
    }
}
