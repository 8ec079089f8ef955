//! Charts as SVG, and the same in words.

use paddlegate::HistoryEntry;

use super::show;

/// The width and the height of a chart.
const WIDTH: u64 = 480;
const HEIGHT: u64 = 100;

/// A chart of granted and refused calls, with its numbers.
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) label: String,
    pub(super) bars: Vec<Bar>,
    pub(super) entries: Vec<Entry>,
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
    pub(super) granted: u64,
    pub(super) refused: u64,
    pub(super) waited: u64,
    pub(super) units: u64,
}

impl Chart {
    /// Draws a bar for each entry: granted calls below, refused ones above them.
    pub(super) fn new(title: &'static str, entries: &[HistoryEntry]) -> Self {
        let most = entries.iter().map(|entry| entry.granted.saturating_add(entry.refused)).max().unwrap_or(0).max(1);
        let step = WIDTH / (entries.len() as u64).max(1);
        let scaled =
            |count: u64| u64::try_from(u128::from(count) * u128::from(HEIGHT) / u128::from(most)).unwrap_or(HEIGHT);
        let bars = entries.iter().zip(0_u64..).flat_map(|(entry, i)| {
            let (granted, refused) = (scaled(entry.granted), scaled(entry.refused));
            let (x, width) = (i * step, step.saturating_sub(1).max(1));
            [
                Bar { class: "granted", x, y: HEIGHT - granted, width, height: granted },
                Bar { class: "refused", x, y: (HEIGHT - granted).saturating_sub(refused), width, height: refused },
            ]
        });
        let shown = |entry: &HistoryEntry| Entry {
            start: show::clock(entry.start.0 / 1_000_000),
            granted: entry.granted,
            refused: entry.refused,
            waited: entry.waited,
            units: entry.units,
        };
        let bars = bars.filter(|bar| bar.height > 0).collect();
        Self { title, label: spoken(entries, title), bars, entries: entries.iter().rev().map(shown).collect() }
    }
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
    let sum = |count: fn(&HistoryEntry) -> u64| entries.iter().map(count).fold(0, u64::saturating_add);
    format!("{of}: {} granted, {} refused", sum(|entry| entry.granted), sum(|entry| entry.refused))
}
