//! `Template`: a text with `${workflow...}` variables.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::base::error::{Error, Result};

/// A text with workflow variables, such as `${workflow.input.customer.id}-${workflow.version}`.
///
/// A variable is a path of names and indices (`orders[0]`) that starts at `workflow`, an object with `input`,
/// `correlationId`, `version` and any other members from the host. A `$` that starts no variable is literal, and `$${`
/// is a literal `${`.
///
/// # Examples
///
/// ```
/// # use paddlegate::formats::conductor::Template;
/// # use serde_json::json;
/// let key: Template = "${workflow.input.orders[0].id}-$${x}".parse()?;
/// assert_eq!(key.resolve(&json!({ "input": { "orders": [{ "id": 7 }] } }))?.as_deref(), Some("7-${x}"));
/// assert_eq!(key.resolve(&json!({ "input": {} }))?, None);
/// assert!("${workflow.input".parse::<Template>().is_err());
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(Vec<Step>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

impl FromStr for Template {
    type Err = Error;

    /// Returns an error for a variable that is unclosed, nested or not a path.
    fn from_str(text: &str) -> Result<Self> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            plain.push_str(before);
            if let Some(escaped) = after.strip_prefix("${") {
                plain.push_str("${");
                rest = escaped;
            } else if let Some(variable) = after.strip_prefix('{') {
                let (path, after) =
                    variable.split_once('}').ok_or_else(|| wrong("is not closed; add a }", variable))?;
                if path.contains('{') {
                    return Err(wrong("contains another variable; write one at a time", path));
                }
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Variable(steps(path)?));
                rest = after;
            } else {
                plain.push('$');
                rest = after;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }
}

impl Template {
    /// Returns the text with the values of a workflow; `None` when a variable is unknown or null, or when the text is
    /// empty.
    ///
    /// Values are texts, numbers and booleans; an object or array is an error.
    pub fn resolve(&self, workflow: &Value) -> Result<Option<String>> {
        let mut resolved = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => resolved.push_str(text),
                Part::Variable(steps) => match find(workflow, steps) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(Value::String(text)) => resolved.push_str(text),
                    Some(scalar @ (Value::Number(_) | Value::Bool(_))) => resolved.push_str(&scalar.to_string()),
                    Some(Value::Array(_) | Value::Object(_)) => {
                        return Err(Error::invalid(
                            "workflow",
                            "a variable of the key is an object or an array; name a text, a number or a boolean in it",
                        ));
                    }
                },
            }
        }
        Ok(Some(resolved).filter(|resolved| !resolved.is_empty()))
    }
}

impl Template {
    /// Returns the text of a template without variables; `None` when it is empty.
    pub(super) fn text(&self) -> Result<Option<String>> {
        if self.parts.iter().any(|part| matches!(part, Part::Variable(_))) {
            return Err(Error::invalid(
                "rate_limit_key",
                "at $.rateLimitConfig.rateLimitKey: has variables, whose values come from a run; create the limiter \
                 with workflow, which takes the definition and a run",
            ));
        }
        self.resolve(&Value::Null)
    }
}

/// Parses the steps of `workflow.input.orders[0].id`.
fn steps(path: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for segment in path.trim().split('.') {
        let (name, mut indices) = match segment.find('[') {
            Some(at) => segment.split_at_checked(at).unwrap_or((segment, "")),
            None => (segment, ""),
        };
        if name.is_empty() {
            return Err(wrong("is not a path; write one such as ${workflow.input.id}", path));
        }
        steps.push(Step::Name(name.to_owned()));
        while !indices.is_empty() {
            let index = indices.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let step = index.and_then(|(digits, rest)| {
                let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                plain.then(|| digits.parse().ok()).flatten().map(|index| (Step::Index(index), rest))
            });
            let Some((step, rest)) = step else {
                return Err(wrong(
                    "has an index that is not a number; write one such as ${workflow.input.ids[0]}",
                    path,
                ));
            };
            steps.push(step);
            indices = rest;
        }
    }
    Ok(steps)
}

/// Returns the value at a path; the first step is `workflow` itself.
fn find<'a>(workflow: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    let (first, rest) = steps.split_first()?;
    if *first != Step::Name("workflow".to_owned()) {
        return None;
    }
    let Some((Step::Name(name), rest)) = rest.split_first() else { return Some(workflow) };
    let member = member(workflow.as_object()?, name)?;
    rest.iter().try_fold(member, |value, step| match step {
        Step::Name(name) => value.as_object()?.get(name),
        Step::Index(index) => value.as_array()?.get(*index),
    })
}

/// Returns a member of a run, which may be in snake case, as conductor-python writes it. The version has a longer name in
/// the answers of the server.
fn member<'a>(run: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let named = |name: &str| run.get(name).or_else(|| run.get(&snake_case(name)));
    named(name).or_else(|| if name == "version" { named("workflowVersion") } else { None })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn wrong(message: &str, variable: &str) -> Error {
    let shown: String = variable.chars().take(40).collect();
    Error::invalid("rate_limit_key", format!("a variable of the key {message}: variable={shown:?}"))
}
