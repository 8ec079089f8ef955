//! `Sort`: the order of the rows of a page of the list.

use std::cmp::Reverse;

use serde::Deserialize;

use super::row::Row;

/// The order of the rows. All pages together are in no order but that of the store: to sort them, all limiters would be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sort {
    #[default]
    Name,
    /// The share of the limit that is taken, the fullest first.
    Used,
    /// The number of waiting calls, the most first.
    Waiting,
    /// The calls of the last full minute, the most first.
    Granted,
    Refused,
}

/// A column of the list.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// The address of the list in the order of this column; empty when it has none.
    pub(super) address: String,
    /// The order in which the rows are by this column; empty when they are not.
    pub(super) order: &'static str,
}

const COLUMNS: [(&str, Option<Sort>); 9] = [
    ("Name", Some(Sort::Name)),
    ("Kind", None),
    ("Used", Some(Sort::Used)),
    ("Waiting", Some(Sort::Waiting)),
    ("Next free", None),
    ("Granted a minute", Some(Sort::Granted)),
    ("Refused a minute", Some(Sort::Refused)),
    ("Last hour", None),
    ("State", None),
];

impl Sort {
    /// Sorts rows that are sorted by name.
    pub(super) fn apply(self, rows: &mut [Row]) {
        match self {
            Self::Name => {}
            Self::Used => rows.sort_by(|a, b| {
                let part = |x: &Row, y: &Row| u128::from(x.taken) * u128::from(y.limit.max(1));
                part(b, a).cmp(&part(a, b))
            }),
            Self::Waiting => rows.sort_by_key(|row| Reverse(row.waiting_count)),
            Self::Granted => rows.sort_by_key(|row| Reverse(row.granted)),
            Self::Refused => rows.sort_by_key(|row| Reverse(row.refused)),
        }
    }

    /// Returns the parameter of an address; empty for the usual order.
    pub(super) const fn parameter(self) -> &'static str {
        match self {
            Self::Name => "",
            Self::Used => "&sort=used",
            Self::Waiting => "&sort=waiting",
            Self::Granted => "&sort=granted",
            Self::Refused => "&sort=refused",
        }
    }

    /// Returns the columns, with links to the list in the order of each.
    pub(super) fn columns(self, address: &str) -> Vec<Column> {
        let column = |(title, sort): (&'static str, Option<Self>)| Column {
            title,
            address: sort.map(|sort| format!("{address}{}", sort.parameter())).unwrap_or_default(),
            order: match sort {
                Some(sort) if sort == self && sort == Self::Name => "ascending",
                Some(sort) if sort == self => "descending",
                _ => "",
            },
        };
        COLUMNS.into_iter().map(column).collect()
    }

    /// Returns what the table has.
    pub(super) fn caption(self, count: usize) -> String {
        let limiters = if count == 1 { "limiter" } else { "limiters" };
        let by = COLUMNS.iter().find(|(_, sort)| *sort == Some(self)).map_or("", |(title, _)| title).to_lowercase();
        format!("{count} {limiters} on this page, by {by}")
    }
}
