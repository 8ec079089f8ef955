//! `Table`: aligned columns for a terminal.

use unicode_width::UnicodeWidthStr;

use crate::human::{cut, plain};

/// The width of a table whose reader is not a terminal.
const WIDTH: usize = 80;

/// A table with a title above each column.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Debug)]
struct Column {
    title: &'static str,
    is_number: bool,
    /// The width to which it may be cut when the table is too wide.
    least: Option<usize>,
}

impl Table {
    /// Adds a column of texts.
    pub(crate) fn text(self, title: &'static str) -> Self {
        self.with(title, false, None)
    }

    /// Adds a column of texts that may be cut, those on the right first.
    pub(crate) fn cut(self, title: &'static str, least: usize) -> Self {
        self.with(title, false, Some(least))
    }

    /// Adds a column of numbers, which end below each other.
    pub(crate) fn number(self, title: &'static str) -> Self {
        self.with(title, true, None)
    }

    fn with(mut self, title: &'static str, is_number: bool, least: Option<usize>) -> Self {
        self.columns.push(Column { title, is_number, least });
        self
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| plain(&cell)).collect());
    }

    /// Formats the table within the width of the terminal, otherwise within 80 cells.
    pub(crate) fn show(&self) -> String {
        self.within(console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns)))
    }

    pub(crate) fn within(&self, most: usize) -> String {
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.to_owned()).collect();
        let lines = || std::iter::once(&titles).chain(&self.rows);
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|at| lines().filter_map(|line| line.get(at)).map(|cell| cell.width()).max().unwrap_or(0))
            .collect();
        let mut over = (widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)).saturating_sub(most);
        for (width, column) in widths.iter_mut().zip(&self.columns).rev() {
            let spare = column.least.map_or(0, |least| width.saturating_sub(least)).min(over);
            *width -= spare;
            over -= spare;
        }
        lines().map(|line| self.line(line, &widths)).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), column) in cells.iter().zip(widths).zip(&self.columns) {
            let cell = cut(cell, *width);
            // `format!` counts characters, some of which are two cells wide.
            let space = " ".repeat(width - cell.width());
            let (before, after) = if column.is_number { (space, String::new()) } else { (String::new(), space) };
            line.extend([&before, &cell, &after, "  "]);
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, limits: &str) -> Table {
        let mut table = Table::default().cut("NAME", 6).cut("LIMITS", 8).number("USED");
        table.row([name.to_owned(), limits.to_owned(), "1,000".to_owned()]);
        table.row(["b".to_owned(), "x".to_owned(), "7".to_owned()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_cut_from_the_right() {
        let shown = table("alpha", "window 5/1m").within(80);
        assert_eq!(shown, "NAME   LIMITS        USED\nalpha  window 5/1m  1,000\nb      x                7\n");
        assert_eq!(table("alpha", "window 5/1m").within(24).lines().nth(1), Some("alpha  window 5/…  1,000"));
        let shown = table("a name of fifty", "window 5/1m").within(23);
        assert_eq!(shown.lines().nth(1), Some("a nam…  window …  1,000"));
        assert!(table("日本語日本語", "\u{1b}[2J").within(80).contains("日本語日本語  \u{fffd}[2J"));
    }
}
