//! `report`: the human-readable totals, policies side by side.

use paddlegate::simulate::Totals;
use unicode_width::UnicodeWidthStr;

use crate::human::{count, cut, permille, plain, share, span};

/// Longer names are cut, so that four columns fit side by side.
const MAX_WIDTH: usize = 24;

/// A row of the table.
struct Row {
    name: String,
    /// Whether the row is omitted when it is zero for every policy.
    is_rare: bool,
    value: fn(&Totals) -> u64,
    shown: fn(&Totals) -> String,
}

impl Row {
    fn new(name: &str, value: fn(&Totals) -> u64, shown: fn(&Totals) -> String) -> Self {
        Self { name: name.to_owned(), is_rare: false, value, shown }
    }

    fn rare(name: &str, value: fn(&Totals) -> u64, shown: fn(&Totals) -> String) -> Self {
        Self { is_rare: true, ..Self::new(name, value, shown) }
    }
}

/// Formats a table, and a sentence for each policy.
pub(crate) fn report(totals: &[Totals], seed: u64) -> String {
    let mut lines = table(totals);
    lines.push(String::new());
    lines.extend(totals.iter().map(sentence));
    lines.push(format!("seed {seed}"));
    lines.join("\n") + "\n"
}

fn rows(totals: &[Totals]) -> Vec<Row> {
    // All policies use the same interval.
    let burst = totals.first().map_or(0, |first| first.burst_interval);
    let burst = format!("largest burst in {}", span(burst));
    let mut rows = vec![
        Row::new("arrived", |t| t.arrived, |t| count(t.arrived)),
        Row::new("granted", |t| t.granted, |t| count(t.granted)),
        Row::new("refused", |t| t.refused, |t| count(t.refused)),
        Row::rare("gave up", |t| t.gave_up, |t| count(t.gave_up)),
        Row::rare("lost", |t| t.lost, |t| count(t.lost)),
        Row::rare("pending", |t| t.pending, |t| count(t.pending)),
        Row::rare("throttled upstream", |t| t.throttled, |t| count(t.throttled)),
        Row::new("decisions", |t| t.decisions, |t| count(t.decisions)),
        Row::rare("waited", |t| t.waited, |t| count(t.waited)),
        Row::rare("wait, mean", |t| t.wait.max, |t| span(t.wait.mean)),
        Row::rare("wait, median", |t| t.wait.max, |t| span(t.wait.p50)),
        Row::rare("wait, 95 of 100", |t| t.wait.max, |t| span(t.wait.p95)),
        Row::rare("wait, longest", |t| t.wait.max, |t| span(t.wait.max)),
        Row::new("units", |t| t.units, |t| count(t.units)),
        Row::new("utilisation", |t| t.utilisation_permille, |t| permille(t.utilisation_permille)),
        Row::new(&burst, |t| t.largest_burst, |t| count(t.largest_burst)),
        Row::new("drained after", |t| t.drained_after.unwrap_or(0), |t| t.drained_after.map_or("-".to_owned(), span)),
        Row::new("looked at", |t| t.ended_at, |t| span(t.ended_at)),
    ];
    rows.retain(|row| !row.is_rare || totals.iter().any(|totals| (row.value)(totals) > 0));
    rows
}

/// Formats the totals side by side.
pub(crate) fn table(totals: &[Totals]) -> Vec<String> {
    table_with(&rows(totals), totals)
}

fn table_with(rows: &[Row], totals: &[Totals]) -> Vec<String> {
    let first = rows.iter().map(|row| row.name.width()).max().unwrap_or(0);
    let mut lines = vec![" ".repeat(first)];
    lines.extend(rows.iter().map(|row| format!("{:<first$}", row.name)));
    for totals in totals {
        let mut cells = vec![cut(&plain(&totals.name), MAX_WIDTH)];
        cells.extend(rows.iter().map(|row| (row.shown)(totals)));
        let width = cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(cells) {
            // `format!` counts characters, some of which are two cells wide.
            let space = " ".repeat(2 + width - cell.width());
            line.push_str(&space);
            line.push_str(&cell);
        }
    }
    lines
}

/// Formats what a replay knows of each policy side by side.
pub(crate) fn table_of_replay(totals: &[Totals]) -> Vec<String> {
    let is_unknown =
        |name: &str| ["utilisation", "drained after", "looked at"].contains(&name) || name.starts_with("largest burst");
    let mut rows = rows(totals);
    rows.retain(|row| !is_unknown(&row.name));
    table_with(&rows, totals)
}

/// Summarises a policy's totals in one sentence.
fn sentence(totals: &Totals) -> String {
    let Totals { arrived, granted, wait, largest_burst, .. } = totals;
    let name = cut(&plain(&totals.name), MAX_WIDTH);
    if *arrived == 0 {
        return format!("{name}: no arrivals.");
    }
    let percent = share(*granted, *arrived);
    let mut parts = vec![format!("{} of {} went ahead ({percent})", count(*granted), count(*arrived))];
    let ends = [
        (totals.refused, "refused"),
        (totals.gave_up, "gave up"),
        (totals.lost, "lost with their clients"),
        (totals.pending, "still pending"),
    ];
    parts
        .extend(ends.iter().filter(|(number, _)| *number > 0).map(|(number, end)| format!("{} {end}", count(*number))));
    let mut clauses = vec![format!("{name}: {}", parts.join(", "))];
    if *granted > 0 {
        clauses.push(match totals.waited {
            0 => "none of them waited".to_owned(),
            waited => {
                let (p95, longest) = (span(wait.p95), span(wait.max));
                format!("{} of them waited (95% of all at most {p95}, the longest {longest})", count(waited))
            }
        });
        clauses.push(format!("at most {} units within {}", count(*largest_burst), span(totals.burst_interval)));
    }
    if let Some(drained) = totals.drained_after.filter(|drained| *drained > 0) {
        clauses.push(format!("the last went ahead {} after the first came", span(drained)));
    }
    if totals.cut_off {
        clauses.push(format!("stopped after {} decisions, before the end", count(totals.decisions)));
    }
    if totals.unrecorded > 0 {
        clauses.push(format!("the timeline lacks the last {} rows", count(totals.unrecorded)));
    }
    clauses.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_is_missing() {
        let totals = Totals { name: "p".to_owned(), arrived: 8, decisions: 5_000, ..Totals::default() };
        assert_eq!(sentence(&totals), "p: 0 of 8 went ahead (0%).");
        let totals = Totals { cut_off: true, unrecorded: 1_234, ..totals };
        let missing = "stopped after 5,000 decisions, before the end; the timeline lacks the last 1,234 rows";
        assert_eq!(sentence(&totals), format!("p: 0 of 8 went ahead (0%); {missing}."));
    }
}
