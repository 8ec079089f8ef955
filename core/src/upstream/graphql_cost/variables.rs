//! `Variables`: the known values in a query.

use std::collections::HashMap;

use apollo_parser::cst::{OperationDefinition, Value as Literal, VariableDefinitions};
use serde_json::Value;

use super::source::text_of;
use crate::base::error::{Error, Result};
use crate::model::limit::MAX_UNITS;

/// The properties of a value that can affect the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Constant {
    /// An integer from 0, capped at the maximum number of units.
    Whole(u64),
    Flag(bool),
    Null,
    /// The length of a list.
    List(u64),
    Other,
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Constant(Constant),
    /// A variable without a value.
    Missing,
}

pub(super) struct Variables {
    values: HashMap<String, Constant>,
}

impl Variables {
    /// Parses the sent values, and the operation's defaults for the others.
    pub(super) fn parse(text: &str, operation: &OperationDefinition) -> Result<Self> {
        let mut values = HashMap::new();
        for definition in operation.variable_definitions().iter().flat_map(VariableDefinitions::variable_definitions) {
            let name = definition.variable().and_then(|variable| text_of(variable.name()));
            let value = definition.default_value().and_then(|default| default.value());
            if let (Some(name), Some(value)) = (name, value) {
                values.insert(name, of_literal(&value));
            }
        }
        if !text.trim().is_empty() {
            values.extend(sent(text)?);
        }
        Ok(Self { values })
    }

    /// Returns the value of an argument.
    pub(super) fn known(&self, literal: &Literal) -> Known {
        let Literal::Variable(variable) = literal else {
            return Known::Constant(of_literal(literal));
        };
        let name = text_of(variable.name()).unwrap_or_default();
        self.values.get(&name).map_or(Known::Missing, |constant| Known::Constant(*constant))
    }
}

fn sent(text: &str) -> Result<Vec<(String, Constant)>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object.iter().map(|(name, value)| (name.clone(), of_json(value))).collect()),
        Ok(Value::Null) => Ok(Vec::new()),
        Ok(_) => Err(Error::invalid("variables", "must be a JSON object, as it is sent with the query")),
        // The error's text may quote a value; its position does not.
        Err(error) => Err(Error::invalid(
            "variables",
            format!("must be JSON, as it is sent with the query: line={} column={}", error.line(), error.column()),
        )),
    }
}

fn of_json(value: &Value) -> Constant {
    match value {
        Value::Null => Constant::Null,
        Value::Bool(flag) => Constant::Flag(*flag),
        Value::Number(number) => number.as_u64().map_or(Constant::Other, whole),
        Value::Array(list) => Constant::List(length(list.len())),
        Value::String(_) | Value::Object(_) => Constant::Other,
    }
}

fn of_literal(value: &Literal) -> Constant {
    match value {
        Literal::NullValue(_) => Constant::Null,
        Literal::BooleanValue(flag) => Constant::Flag(flag.true_token().is_some()),
        Literal::IntValue(number) => number.int_token().map_or(Constant::Other, |token| digits(token.text())),
        Literal::ListValue(list) => Constant::List(length(list.values().count())),
        _ => Constant::Other,
    }
}

/// Parses an integer in GraphQL's grammar: no plus sign, no leading zero.
fn digits(text: &str) -> Constant {
    if text.starts_with('-') {
        return Constant::Other;
    }
    // A text of digits that does not fit into u64 exceeds the maximum.
    whole(text.parse().unwrap_or(MAX_UNITS))
}

fn whole(number: u64) -> Constant {
    Constant::Whole(number.min(MAX_UNITS))
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(MAX_UNITS)
}
