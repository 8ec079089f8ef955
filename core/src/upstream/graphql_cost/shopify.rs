//! Shopify's points.

use std::collections::BTreeMap;

use super::query::{Field, Query, Role, Selection, Size};

const OBJECT: u64 = 1;
const CONNECTION: u64 = 2;
const MUTATION: u64 = 10;

/// Interfaces of many types, so a fragment on one of them does not exclude fragments on other types.
const COMMON: [&str; 5] = ["LegacyInteroperability", "Navigable", "Node", "OnlineStorePreviewable", "Publishable"];

/// Returns the highest cost of the operation.
pub(super) fn points(query: &Query) -> u64 {
    let mut known = Fragments(vec![[Cost::default(); PLACES.len()]; query.fragments.len()]);
    for fragment in &query.order {
        known.0[*fragment] = PLACES.map(|place| known.selections(&query.fragments[*fragment], place));
    }
    known.selections(&query.selections, if query.mutation { Place::Mutation } else { Place::Root }).element
}

/// The parent of a selection set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Place {
    Root = 0,
    Mutation = 1,
    Object = 2,
    Connection = 3,
}

const PLACES: [Place; 4] = [Place::Root, Place::Mutation, Place::Object, Place::Connection];

/// The cost of selections. The two values differ only below a field with a size, since without the schema the field may
/// return elements or a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    /// Cost if the selections are on an element; also used everywhere else.
    element: u64,
    /// Cost if the selections are on a connection, whose elements are its nodes.
    connection: u64,
}

impl Cost {
    const fn both(cost: u64) -> Self {
        Self { element: cost, connection: cost }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            element: self.element.saturating_add(other.element),
            connection: self.connection.saturating_add(other.connection),
        }
    }

    fn max(self, other: Self) -> Self {
        Self { element: self.element.max(other.element), connection: self.connection.max(other.connection) }
    }
}

/// The cost of each fragment under each parent.
struct Fragments(Vec<[Cost; PLACES.len()]>);

impl Fragments {
    fn selections(&self, selections: &[Selection], place: Place) -> Cost {
        let mut sum = Cost::default();
        let mut alternatives: BTreeMap<&str, Cost> = BTreeMap::new();
        for selection in selections {
            let (on, cost) = match selection {
                Selection::Field(field) => (None, self.field(field, place)),
                Selection::Inline { on, selections } => (on.as_deref(), self.selections(selections, place)),
                Selection::Spread { on, fragment } => (on.as_deref(), self.0[*fragment][place as usize]),
            };
            // A root or a connection has one type, which every fragment in it must match.
            match on.filter(|on| place == Place::Object && !is_common(on)) {
                Some(on) => {
                    let alternative = alternatives.entry(on).or_default();
                    *alternative = alternative.plus(cost);
                }
                None => sum = sum.plus(cost),
            }
        }
        sum.plus(alternatives.into_values().fold(Cost::default(), Cost::max))
    }

    fn field(&self, field: &Field, place: Place) -> Cost {
        let within = |place| field.selections.as_deref().map_or(Cost::default(), |set| self.selections(set, place));
        let own = if field.selections.is_some() && field.role != Role::Money { OBJECT } else { 0 };
        let cost = match field.size {
            Size::One if place == Place::Mutation => within(Place::Object).element,
            Size::One => own.saturating_add(within(Place::Object).element),
            Size::List(size) => own.saturating_add(within(Place::Object).element).saturating_mul(size),
            Size::Page(size) => {
                let within = within(Place::Connection);
                let each = within.connection.max(within.element.saturating_add(OBJECT));
                each.saturating_mul(charged_nodes(size)).saturating_add(CONNECTION)
            }
        };
        match (place, field.role, field.size) {
            (Place::Mutation, _, _) => Cost::both(cost.saturating_add(MUTATION)),
            (Place::Connection, Role::Edges | Role::PageInfo, Size::One) => {
                Cost { element: 0, connection: cost.saturating_sub(own) }
            }
            (Place::Connection, Role::Nodes, Size::One) => Cost { element: 0, connection: cost },
            _ => Cost::both(cost),
        }
    }
}

/// Returns how often the cost of a node counts in a page of this size: the natural logarithm of the size twice, rounded down.
///
/// Fitted to costs that Shopify reported. A page of one node costs that node, as in Shopify's own example.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // From 0 to 89.
fn charged_nodes(size: u64) -> u64 {
    if size == 0 { 0 } else { (2.0 * (size as f64).ln()).max(1.0) as u64 }
}

fn is_common(interface: &str) -> bool {
    interface.starts_with("Has") || COMMON.contains(&interface)
}
