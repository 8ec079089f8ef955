//! GitHub's points.

use super::query::{Field, Query, Selection, Size};

/// The number of requests per point.
const REQUESTS: u64 = 100;

/// Returns the requests that fill every connection, in hundreds, rounded half up.
pub(super) fn points(query: &Query) -> u64 {
    let mut known = vec![0; query.fragments.len()];
    for fragment in &query.order {
        known[*fragment] = requests(&query.fragments[*fragment], &known);
    }
    requests(&query.selections, &known).saturating_add(REQUESTS / 2) / REQUESTS
}

/// Returns the requests for one object with these selections; `known` holds the requests of the fragments.
fn requests(selections: &[Selection], known: &[u64]) -> u64 {
    selections.iter().fold(0, |sum: u64, selection| {
        sum.saturating_add(match selection {
            Selection::Field(field) => field_requests(field, known),
            Selection::Inline { selections, .. } => requests(selections, known),
            Selection::Spread { fragment, .. } => known[*fragment],
        })
    })
}

fn field_requests(field: &Field, known: &[u64]) -> u64 {
    let within = field.selections.as_deref().map_or(0, |selections| requests(selections, known));
    match field.size {
        Size::One => within,
        Size::List(size) => within.saturating_mul(size),
        Size::Page(size) => within.saturating_mul(size).saturating_add(1),
    }
}
