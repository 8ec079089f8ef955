//! Charts as SVG, and the same in words.

use paddlegate::{HistoryEntry, Label};

use super::show;
use crate::samples::Sample;

/// The width and the height of a chart.
const WIDTH: u64 = 480;
const HEIGHT: u64 = 100;

/// A chart of granted and refused calls, those of what was sampled meanwhile, and their numbers.
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) label: String,
    pub(super) bars: Vec<Bar>,
    /// What the full height is, and what its unit is.
    pub(super) most: String,
    pub(super) per: &'static str,
    /// The times of the first entry, of the one in the middle and of the last one.
    pub(super) times: [String; 3],
    /// The chart of tickets in the queue, and that of the remaining units of each limit.
    pub(super) figures: Vec<Figure>,
    /// The titles of the columns of each entry behind its counts.
    pub(super) sampled: Vec<String>,
    pub(super) entries: Vec<Entry>,
}

/// A chart of one number.
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) label: String,
    pub(super) bars: Vec<Bar>,
    /// What the full height is.
    pub(super) most: String,
}

/// One rectangle.
pub(super) struct Bar {
    pub(super) class: &'static str,
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) width: u64,
    pub(super) height: u64,
}

/// One row of the numbers.
pub(super) struct Entry {
    pub(super) start: String,
    pub(super) granted: String,
    pub(super) refused: String,
    pub(super) waited: String,
    pub(super) units: String,
    pub(super) sampled: Vec<String>,
}

impl Chart {
    /// Draws a bar for each entry: granted calls below, refused ones above them.
    pub(super) fn new((title, per): (&'static str, &'static str), entries: &[HistoryEntry]) -> Self {
        let most = entries.iter().map(|entry| entry.granted.saturating_add(entry.refused)).max().unwrap_or(0);
        let bars = entries.iter().zip(0_u64..).flat_map(|(entry, i)| {
            let (granted, refused) = (scaled(entry.granted, most), scaled(entry.refused, most));
            let bar = |class, y, height| Bar { y, height, ..Bar::at(class, i, entries.len()) };
            [
                bar("granted", HEIGHT - granted, granted),
                bar("refused", (HEIGHT - granted).saturating_sub(refused), refused),
            ]
        });
        // A day is named where a clock alone would name two.
        let show_time = if per == "hour" { show::day_and_clock } else { show::clock };
        let time = |entry: &HistoryEntry| {
            let mut time = show_time(entry.start.0 / 1_000_000);
            time.truncate(time.len() - ":00".len());
            time
        };
        let shown = |entry: &HistoryEntry| Entry {
            start: time(entry),
            granted: show::count(entry.granted),
            refused: show::count(entry.refused),
            waited: show::count(entry.waited),
            units: show::count(entry.units),
            sampled: Vec::new(),
        };
        let bars = bars.filter(|bar| bar.height > 0).collect();
        let place = |i: usize| entries.get(i).map(time).unwrap_or_default();
        let times = [place(0), place(entries.len() / 2), place(entries.len().saturating_sub(1))];
        let (label, entries) = (spoken(entries, title), entries.iter().rev().map(shown).collect());
        let most = show::count(most);
        Self { title, label, bars, most, per, times, figures: Vec::new(), sampled: Vec::new(), entries }
    }

    /// Adds what was sampled in each of its minutes or hours.
    pub(super) fn with_samples(mut self, limits: &[(Label, u64)], samples: &[Sample]) -> Self {
        let waiting: Vec<_> = samples.iter().map(|sample| sample.waiting).collect();
        self.add("waiting", "Waiting".to_owned(), waiting.iter().flatten().copied().max().unwrap_or(0), &waiting);
        for (i, (label, amount)) in limits.iter().enumerate() {
            let left: Vec<_> = samples.iter().map(|sample| sample.remaining[i]).collect();
            self.add("remaining", format!("Remaining of {}", &**label), *amount, &left);
        }
        self
    }

    /// Adds a number: where it is not known there is a gap, and where it is 0 a line.
    fn add(&mut self, class: &'static str, title: String, most: u64, values: &[Option<u64>]) {
        let bars = values.iter().zip(0_u64..).filter_map(|(value, i)| {
            let height = scaled((*value)?, most).max(1);
            Some(Bar { y: HEIGHT - height, height, ..Bar::at(class, i, values.len()) })
        });
        let known = values.iter().flatten();
        let of = self.title;
        let label = match (known.clone().min(), known.clone().max()) {
            (Some(least), Some(most)) => {
                format!("{title} in {of}: from {} to {}", show::count(*least), show::count(*most))
            }
            _ => format!("{title} in {of}: not known"),
        };
        self.figures.push(Figure { label, bars: bars.collect(), title: title.clone(), most: show::count(most) });
        self.sampled.push(title);
        for (entry, value) in self.entries.iter_mut().rev().zip(values) {
            entry.sampled.push(value.map_or_else(|| "-".to_owned(), show::count));
        }
    }
}

impl Bar {
    /// Returns the place of an entry among so many.
    fn at(class: &'static str, i: u64, count: usize) -> Self {
        let step = WIDTH / (count as u64).max(1);
        Self { class, x: i * step, y: HEIGHT, width: step.saturating_sub(1).max(1), height: 0 }
    }
}

fn scaled(count: u64, most: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(HEIGHT) / u128::from(most.max(1))).map_or(HEIGHT, |y| y.min(HEIGHT))
}

/// Returns the points of a line of granted calls, 120 by 24.
pub(super) fn spark(entries: &[HistoryEntry]) -> String {
    let most = entries.iter().map(|entry| entry.granted).max().unwrap_or(0).max(1);
    let y = |granted: u64| 23 - u64::try_from(u128::from(granted) * 22 / u128::from(most)).unwrap_or(22);
    let points = entries.iter().zip(0_u64..).map(|(entry, i)| format!("{},{}", i * 2, y(entry.granted)));
    points.collect::<Vec<_>>().join(" ")
}

/// Returns what a chart says to those who do not see it.
pub(super) fn spoken(entries: &[HistoryEntry], of: &str) -> String {
    let sum = |count: fn(&HistoryEntry) -> u64| show::count(entries.iter().map(count).fold(0, u64::saturating_add));
    format!("{of}: {} granted, {} refused", sum(|entry| entry.granted), sum(|entry| entry.refused))
}
