//! `Query`: the parts of one operation that affect its cost, with resolved sizes and without skipped selections.

use std::collections::HashMap;

use apollo_parser::cst;

use super::source::{Source, offset, text_of};
use super::variables::{Constant, Known, Variables};
use crate::base::error::{Error, Result};

pub(super) struct Query {
    pub(super) mutation: bool,
    pub(super) selections: Vec<Selection>,
    /// The fragments that the operation reaches.
    pub(super) fragments: Vec<Vec<Selection>>,
    /// The indices of the fragments, each after the fragments that it spreads.
    pub(super) order: Vec<usize>,
}

#[derive(Debug)]
pub(super) enum Selection {
    Field(Field),
    /// `on` is the required type; `None` if it always matches.
    Inline {
        on: Option<String>,
        selections: Vec<Selection>,
    },
    Spread {
        on: Option<String>,
        fragment: usize,
    },
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) role: Role,
    pub(super) size: Size,
    /// `None` for a scalar.
    pub(super) selections: Option<Vec<Selection>>,
}

/// The standard fields of a connection, Shopify's amounts of money, and all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Edges,
    Nodes,
    PageInfo,
    /// A set of amounts of money, or one of its amounts.
    Money,
    Other,
}

/// The number of objects that a field returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    One,
    /// The larger of `first` and `last`.
    Page(u64),
    /// The number of requested ids.
    List(u64),
}

impl Query {
    pub(super) fn read(
        source: &Source<'_>,
        operation: &cst::OperationDefinition,
        variables: &Variables,
    ) -> Result<Self> {
        let mut reader = Reader { source, variables, numbers: HashMap::new(), found: Vec::new(), spreads: Vec::new() };
        let selections = reader.selections(operation.selection_set().as_ref(), None)?;
        let mut fragments = Vec::new();
        let mut spreads = Vec::new();
        while let Some(definition) = reader.found.get(fragments.len()).cloned() {
            reader.spreads.clear();
            let on = condition(definition.type_condition());
            fragments.push(reader.selections(definition.selection_set().as_ref(), on.as_deref())?);
            spreads.push(std::mem::take(&mut reader.spreads));
        }
        let order = order(&spreads).map_err(|cyclic| {
            let index = reader.found.get(cyclic).map_or(0, offset);
            source.fault(index, "this fragment spreads itself, at once or through others; break the cycle")
        })?;
        let mutation = operation.operation_type().is_some_and(|kind| kind.mutation_token().is_some());
        Ok(Self { mutation, selections, fragments, order })
    }
}

struct Reader<'a> {
    source: &'a Source<'a>,
    variables: &'a Variables,
    numbers: HashMap<String, usize>,
    /// The reached fragments, by number.
    found: Vec<cst::FragmentDefinition>,
    /// The fragments spread by the selections that are being read.
    spreads: Vec<usize>,
}

impl Reader<'_> {
    /// Recursion is bounded by the bracket depth, which `Source` checks. `within` is the enclosing type, if known.
    fn selections(&mut self, set: Option<&cst::SelectionSet>, within: Option<&str>) -> Result<Vec<Selection>> {
        let mut selections = Vec::new();
        for selection in set.into_iter().flat_map(cst::SelectionSet::selections) {
            match selection {
                cst::Selection::Field(field) => {
                    if !self.is_skipped(field.directives().as_ref()) {
                        selections.push(Selection::Field(self.field(&field)?));
                    }
                }
                cst::Selection::InlineFragment(inline) => {
                    if !self.is_skipped(inline.directives().as_ref()) {
                        let on = condition(inline.type_condition());
                        let inner = self.selections(inline.selection_set().as_ref(), on.as_deref().or(within))?;
                        let on = on.filter(|on| within != Some(on));
                        selections.push(Selection::Inline { on, selections: inner });
                    }
                }
                cst::Selection::FragmentSpread(spread) => {
                    let (fragment, on) = self.spread(&spread)?;
                    if !self.is_skipped(spread.directives().as_ref()) {
                        let fragment = self.number(fragment);
                        self.spreads.push(fragment);
                        selections.push(Selection::Spread { on: on.filter(|on| within != Some(on)), fragment });
                    }
                }
            }
        }
        Ok(selections)
    }

    fn field(&mut self, field: &cst::Field) -> Result<Field> {
        let name = text_of(field.name()).unwrap_or_default();
        let Some(set) = field.selection_set() else {
            return Ok(Field { role: Role::Other, size: Size::One, selections: None });
        };
        let size = self.size(&name, field)?;
        let role = match name.as_str() {
            "edges" => Role::Edges,
            "nodes" => Role::Nodes,
            "pageInfo" => Role::PageInfo,
            "shopMoney" | "presentmentMoney" => Role::Money,
            name if name.ends_with("Set") => Role::Money,
            _ => Role::Other,
        };
        Ok(Field { role, size, selections: Some(self.selections(Some(&set), None)?) })
    }

    fn size(&self, name: &str, field: &cst::Field) -> Result<Size> {
        let mut page = None;
        let mut ids = None;
        let mut unknown = None;
        for argument in field.arguments().iter().flat_map(cst::Arguments::arguments) {
            let key = text_of(argument.name()).unwrap_or_default();
            let sizes = matches!(key.as_str(), "first" | "last");
            let counts = name == "nodes" && key == "ids";
            if !sizes && !counts {
                continue;
            }
            let value = argument.value().map_or(Known::Constant(Constant::Other), |value| self.variables.known(&value));
            match value {
                Known::Constant(Constant::Whole(size)) if sizes => page = page.max(Some(size)),
                // Servers treat absent and null alike, so the other argument may give the size.
                Known::Constant(Constant::Null) if sizes => unknown = unknown.or(Some(key)),
                Known::Constant(_) if sizes => return Err(self.wrong_size(&key, &argument)),
                Known::Constant(Constant::List(length)) => ids = Some(length),
                Known::Constant(_) => ids = Some(1),
                Known::Missing => unknown = unknown.or(Some(key)),
            }
        }
        match (page, ids, unknown) {
            (Some(size), _, _) => Ok(Size::Page(size)),
            (None, Some(length), _) => Ok(Size::List(length)),
            (None, None, None) => Ok(Size::One),
            (None, None, Some(name)) => Err(Error::invalid(
                "variables",
                format!("give the size of the list a value or a default: argument={name} {}", self.place(field)),
            )),
        }
    }

    fn wrong_size(&self, key: &str, argument: &cst::Argument) -> Error {
        let message = format!("{key} must be a whole number from 0");
        match argument.value() {
            Some(cst::Value::Variable(_)) => {
                Error::invalid("variables", format!("{message}: {}", self.source.place(offset(argument))))
            }
            _ => self.source.fault(offset(argument), &message),
        }
    }

    /// Returns whether a selection is certainly skipped.
    fn is_skipped(&self, directives: Option<&cst::Directives>) -> bool {
        directives.into_iter().flat_map(cst::Directives::directives).any(|directive| {
            let skipping = match text_of(directive.name()).as_deref() {
                Some("skip") => true,
                Some("include") => false,
                _ => return false,
            };
            let arguments = directive.arguments();
            let mut values = arguments.iter().flat_map(cst::Arguments::arguments);
            let value = values.find(|argument| text_of(argument.name()).as_deref() == Some("if"));
            let value = value.and_then(|argument| argument.value()).map(|value| self.variables.known(&value));
            value == Some(Known::Constant(Constant::Flag(skipping)))
        })
    }

    /// Returns name and type of a fragment in the query.
    fn spread(&self, spread: &cst::FragmentSpread) -> Result<(String, Option<String>)> {
        let name = spread.fragment_name().and_then(|name| text_of(name.name())).unwrap_or_default();
        let Some(definition) = self.source.fragment(&name) else {
            return Err(self.source.fault(offset(spread), "the query does not contain this fragment; add it"));
        };
        Ok((name, condition(definition.type_condition())))
    }

    fn number(&mut self, name: String) -> usize {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.found.len();
        self.found.extend(self.source.fragment(&name).cloned());
        self.numbers.insert(name, number);
        number
    }

    fn place(&self, field: &cst::Field) -> String {
        self.source.place(offset(field))
    }
}

fn condition(condition: Option<cst::TypeCondition>) -> Option<String> {
    text_of(condition?.named_type()?.name())
}

/// Returns the fragments, each after those that it spreads; or one that spreads itself. Iterative, since chains may be
/// long.
///
/// Every index in `spreads` must be below its length.
fn order(spreads: &[Vec<usize>]) -> std::result::Result<Vec<usize>, usize> {
    let mut waiting: Vec<usize> = spreads.iter().map(Vec::len).collect();
    let mut users = vec![Vec::new(); spreads.len()];
    for (user, used) in spreads.iter().enumerate() {
        for fragment in used {
            users[*fragment].push(user);
        }
    }
    let mut order: Vec<usize> = (0..spreads.len()).filter(|fragment| waiting[*fragment] == 0).collect();
    let mut next = 0;
    while let Some(done) = order.get(next).copied() {
        next += 1;
        for user in &users[done] {
            waiting[*user] -= 1;
            if waiting[*user] == 0 {
                order.push(*user);
            }
        }
    }
    if order.len() == spreads.len() {
        return Ok(order);
    }
    // Each remaining fragment spreads another remaining one: following them as often as there are fragments ends in a
    // cycle.
    let mut cyclic = waiting.iter().position(|left| *left > 0).unwrap_or(0);
    for _ in 0..spreads.len() {
        cyclic = spreads[cyclic].iter().copied().find(|used| waiting[*used] > 0).unwrap_or(cyclic);
    }
    Err(cyclic)
}
