//! The columns of the list, and the order of each.

use crate::index::Sort;

/// A column of the list.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// The address of the list in the order of this column; empty when it has none.
    pub(super) address: String,
    /// The order in which the rows are by this column; empty when they are not.
    pub(super) order: &'static str,
}

const COLUMNS: [(&str, Option<Sort>); 10] = [
    ("Name", Some(Sort::Name)),
    // On a telephone the first columns are all that is seen at once.
    ("State", None),
    ("Limits", None),
    ("Used", Some(Sort::Used)),
    ("Waiting", Some(Sort::Waiting)),
    ("Oldest wait", Some(Sort::OldestWait)),
    ("Next free", None),
    ("Granted a minute", Some(Sort::GrantedMinute)),
    ("Refused a minute", Some(Sort::RefusedMinute)),
    ("Last hour", None),
];

/// Returns the parameter of an address; empty for the usual order.
pub(super) fn parameter(sort: Sort) -> String {
    if sort == Sort::Name { String::new() } else { format!("&sort={}", sort.name()) }
}

/// Returns the columns of a list in this order, if it has one, with links to the list in the order of each.
pub(super) fn columns(sorted: Option<Sort>, address: &str) -> Vec<Column> {
    let column = |(title, sort): (&'static str, Option<Sort>)| Column {
        title,
        address: sort.map(|sort| format!("{address}{}", parameter(sort))).unwrap_or_default(),
        order: match sort {
            Some(Sort::Name) if sorted == sort => "ascending",
            Some(_) if sorted == sort => "descending",
            _ => "",
        },
    };
    COLUMNS.into_iter().map(column).collect()
}

/// Returns what the order is called.
pub(super) fn called(sort: Sort) -> String {
    match COLUMNS.iter().find(|(_, of)| *of == Some(sort)) {
        Some((title, _)) => title.to_lowercase(),
        None => sort.name().replace('_', " "),
    }
}
