//! `Field`: a value of a document with its JSON path, so that every error contains the path of the fault.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::base::decimal;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};

/// A value and its JSON path.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Field<'a> {
    /// Returns the whole document, `$`.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { value, path: "$".to_owned() }
    }

    /// Returns an error for a value that is not an object, or has a member outside `allowed`.
    pub(crate) fn object(&self, allowed: &[&str]) -> Result<()> {
        match self.map()?.keys().find(|name| !allowed.contains(&name.as_str())) {
            Some(name) => {
                let message = format!("is not known here; known are {}", allowed.join(", "));
                Err(self.child(name, self.value).fault(message))
            }
            None => Ok(()),
        }
    }

    /// Returns an error for a value that is not an object.
    pub(crate) fn any_object(&self) -> Result<()> {
        self.map().map(|_| ())
    }

    /// Returns a member; `None` when it is missing or null.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(self.child(name, value))
    }

    /// Returns the member with either of two names; an error when both are present.
    pub(crate) fn either(&self, name: &str, other: &str) -> Result<Option<Self>> {
        match (self.get(name), self.get(other)) {
            (Some(_), Some(second)) => Err(second.fault(format!("is the same as {name}; give one of them"))),
            (found, second) => Ok(found.or(second)),
        }
    }

    /// Returns a member; an error when it is missing or null.
    pub(crate) fn need(&self, name: &str) -> Result<Self> {
        self.get(name).ok_or_else(|| {
            let message = if self.has(name) { "must not be null" } else { "is missing" };
            self.child(name, self.value).fault(message)
        })
    }

    /// Returns whether the member is present, even if it is null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    pub(crate) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    pub(crate) fn is_text(&self) -> bool {
        self.value.is_string()
    }

    pub(crate) fn members(&self) -> Result<impl ExactSizeIterator<Item = (&'a str, Self)> + '_> {
        Ok(self.map()?.iter().map(|(name, value)| (name.as_str(), self.child(name, value))))
    }

    pub(crate) fn list(&self) -> Result<Vec<Self>> {
        let Value::Array(elements) = self.value else {
            return Err(self.wrong("must be a list"));
        };
        let field = |(index, value)| Self { value, path: format!("{}[{index}]", self.path) };
        Ok(elements.iter().enumerate().map(field).collect())
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("must be a text"))
    }

    pub(crate) fn boolean(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("must be true or false"))
    }

    /// Reads an integer from zero; `5.0` is one, as in JSON Schema.
    pub(crate) fn integer(&self) -> Result<u64> {
        match self.value.as_number().and_then(|number| decimal::scaled(&number.to_string(), 0)) {
            Some((number, true)) => Ok(number),
            _ => Err(self.wrong("must be a whole number from 0")),
        }
    }

    /// Reads an integer; a negative one counts as zero.
    pub(crate) fn clamped(&self) -> Result<u64> {
        let text = self.value.as_number().map(ToString::to_string).unwrap_or_default();
        let (below, size) = text.strip_prefix('-').map_or((false, text.as_str()), |size| (true, size));
        match decimal::scaled(size, 0) {
            Some((number, true)) => Ok(if below { 0 } else { number }),
            _ => Err(self.wrong("must be a whole number")),
        }
    }

    /// Reads a number of seconds from zero to ten years, exact to the microsecond; finer fractions are rounded up.
    pub(crate) fn seconds(&self) -> Result<Micros> {
        let micros = self.value.as_number().and_then(|number| decimal::scaled(&number.to_string(), 6));
        match micros {
            Some((micros, _)) if micros <= MAX_SPAN.0 => Ok(Micros(micros)),
            _ => Err(self.wrong("must be a number of seconds from 0 to ten years")),
        }
    }

    /// Reads a duration given as text, with one of the parsers of [`crate::period`].
    pub(crate) fn period(&self, read: fn(&str) -> Result<Micros>) -> Result<Micros> {
        self.checked(read(self.text()?))
    }

    /// Reads an RFC 3339 time since 1970, in microseconds, rounded up.
    pub(crate) fn time(&self) -> Result<Micros> {
        let text = self.text()?;
        // The parser also accepts zone names in brackets, which RFC 3339 does not have.
        let time: Option<Timestamp> = if text.contains('[') { None } else { text.parse().ok() };
        let nanos = time.and_then(|time| u128::try_from(time.as_nanosecond()).ok());
        match nanos.and_then(|nanos| u64::try_from(nanos.div_ceil(1_000)).ok()) {
            Some(micros) if micros <= MAX_TIME.0 => Ok(Micros(micros)),
            _ => Err(self.wrong("must be a time of RFC 3339 up to the year 2112, such as 2030-01-31T12:00:00Z")),
        }
    }

    /// Adds the path to the error of a result.
    pub(crate) fn checked<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.fault(error.message()))
    }

    /// Returns an error with this path.
    pub(crate) fn fault(&self, message: impl AsRef<str>) -> Error {
        Error::invalid("document", format!("at {}: {}", self.path, message.as_ref()))
    }

    /// Returns an error with this path and the value.
    fn wrong(&self, message: &str) -> Error {
        let shown = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string().chars().take(40).collect(),
            Value::String(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        self.fault(format!("{message}: value={shown}"))
    }

    fn map(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong("must be an object"))
    }

    fn child(&self, name: &str, value: &'a Value) -> Self {
        let plain = name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let path = if plain && !name.is_empty() {
            format!("{}.{name}", self.path)
        } else {
            let shown: String = name.chars().take(40).collect();
            format!("{}[{shown:?}]", self.path)
        };
        Self { value, path }
    }
}
