//! `Fields`: a scenario as paths and values, so that every host parses it the same way.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::base::decimal;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::model::label::Label;

/// The value at a path of a scenario, such as `policies[0].limits[1].interval`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A non-negative integer.
    Whole(u64),
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A fractional or negative number, as text.
    Other(String),
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// All values, and whether each was read.
pub(super) struct Fields {
    values: BTreeMap<String, (Scalar, Cell<bool>)>,
}

/// A path that may have a value.
pub(super) struct Field<'a> {
    fields: &'a Fields,
    path: String,
}

impl Fields {
    pub(super) fn new<P: Into<String>>(values: impl IntoIterator<Item = (P, Scalar)>) -> Self {
        Self { values: values.into_iter().map(|(path, value)| (path.into(), (value, Cell::new(false)))).collect() }
    }

    pub(super) fn get(&self, name: &str) -> Field<'_> {
        Field { fields: self, path: name.to_owned() }
    }

    /// Returns an error for values that nothing has read, such as misspelt names.
    pub(super) fn check_known(&self) -> Result<()> {
        match self.values.iter().find(|(_, (_, is_read))| !is_read.get()) {
            Some((path, _)) => Err(fault(path, "has no meaning here; remove it or correct its name")),
            None => Ok(()),
        }
    }
}

impl Field<'_> {
    pub(super) fn get(&self, name: &str) -> Self {
        Self { fields: self.fields, path: format!("{}.{name}", self.path) }
    }

    /// Returns the elements of a list; an error above `most`.
    pub(super) fn items(&self, most: usize) -> Result<Vec<Self>> {
        let items = (0..=most).map(|i| Self { fields: self.fields, path: format!("{}[{i}]", self.path) });
        let items: Vec<Self> = items.take_while(Self::is_given).collect();
        if items.len() > most {
            return Err(self.fault(&format!("must have at most {most} members")));
        }
        Ok(items)
    }

    /// Returns the members with their names, in the order of the names.
    pub(super) fn members(&self) -> Vec<(&str, Self)> {
        let prefix = format!("{}.", self.path);
        let within = self.fields.values.range(prefix.clone()..).map_while(|(path, _)| path.strip_prefix(&prefix));
        let names: BTreeSet<&str> = within.filter_map(|rest| rest.split(['.', '[']).next()).collect();
        names.into_iter().map(|name| (name, self.get(name))).collect()
    }

    /// Returns whether there is a value or a member.
    pub(super) fn is_given(&self) -> bool {
        let members = |mark: char| {
            let prefix = format!("{}{mark}", self.path);
            let next = self.fields.values.range(prefix.clone()..).next();
            next.is_some_and(|(path, _)| path.starts_with(&prefix))
        };
        self.fields.values.contains_key(&self.path) || members('.') || members('[')
    }

    pub(super) fn text(&self) -> Result<Option<&str>> {
        match self.value() {
            None => Ok(None),
            Some(Scalar::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.fault(&format!("must be a text: value={}", shown(other)))),
        }
    }

    /// Reads the label of a limit.
    pub(super) fn label(&self) -> Result<Option<Label>> {
        let text = self.text()?;
        text.map(|text| Label::new(text).map_err(|error| self.fault(error.message()))).transpose()
    }

    /// Reads an integer in a range.
    pub(super) fn whole(&self, least: u64, most: u64) -> Result<Option<u64>> {
        match self.value() {
            None => Ok(None),
            Some(Scalar::Whole(whole)) if (least..=most).contains(whole) => Ok(Some(*whole)),
            Some(other) => {
                Err(self.fault(&format!("must be a whole number from {least} to {most}: value={}", shown(other))))
            }
        }
    }

    pub(super) fn flag(&self) -> Result<Option<bool>> {
        match self.value() {
            None => Ok(None),
            Some(Scalar::Flag(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.fault(&format!("must be true or false: value={}", shown(other)))),
        }
    }

    /// Reads a duration, which may be zero.
    pub(super) fn span(&self) -> Result<Option<Micros>> {
        let Some(text) = self.text()? else { return Ok(None) };
        let micros = decimal::with_unit(text).map(Micros).or_else(|| Micros::parse("span", text).ok());
        match micros.filter(|micros| *micros <= MAX_SPAN) {
            Some(micros) => Ok(Some(micros)),
            None => Err(self.fault(&format!(
                "must be a span of at most ten years such as 500ms, 10s, 5m, 1h, 1d or PT0.1S: value={}",
                shown(&Scalar::from(text))
            ))),
        }
    }

    /// Reads a duration above zero.
    pub(super) fn length(&self) -> Result<Option<Micros>> {
        match self.span()? {
            Some(Micros(0)) => Err(self.fault("must be above zero")),
            span => Ok(span),
        }
    }

    /// Returns the value, or the error that it is missing.
    pub(super) fn required<T>(&self, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.fault("is missing"))
    }

    /// Reads one of several words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], default: Option<T>) -> Result<T> {
        let text = self.text()?;
        let Some(text) = text else { return self.required(default) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let value = shown(&Scalar::from(text));
        Err(self.fault(&format!("must be one of {}: value={value}", known.join(", "))))
    }

    pub(super) fn fault(&self, message: &str) -> Error {
        fault(&self.path, message)
    }

    /// Converts an error of an object that was built from these values.
    pub(super) fn caused(&self, error: &Error) -> Error {
        match error.argument() {
            Some(argument) if self.get(argument).is_given() => self.get(argument).fault(error.message()),
            _ => self.fault(error.message()),
        }
    }

    fn value(&self) -> Option<&Scalar> {
        let (value, is_read) = self.fields.values.get(&self.path)?;
        is_read.set(true);
        Some(value)
    }
}

pub(super) fn fault(path: &str, message: &str) -> Error {
    Error::invalid("scenario", format!("at $.{path}: {message}"))
}

fn shown(value: &Scalar) -> String {
    match value {
        Scalar::Whole(whole) => whole.to_string(),
        Scalar::Flag(flag) => flag.to_string(),
        Scalar::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        Scalar::Other(text) => text.chars().take(40).collect(),
    }
}
