//! `Members`: the members of a JSON object, read with checks that name them.

use serde_json::{Map, Value};

use crate::fault::Fault;

/// The members of an object in a request. A member that is null is as good as absent.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    members: &'a Map<String, Value>,
    path: &'static str,
}

impl<'a> Members<'a> {
    pub(crate) const fn of(members: &'a Map<String, Value>, path: &'static str) -> Self {
        Self { members, path }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        self.read(name, "a text", Value::as_str)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        self.read(name, "true or false", Value::as_bool)
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<&'a Vec<Value>>, Fault> {
        self.read(name, "a list", Value::as_array)
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<&'a Map<String, Value>>, Fault> {
        self.read(name, "an object", Value::as_object)
    }

    /// Fails for a member that is not among these names.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Fault> {
        match self.members.keys().find(|name| !names.contains(&name.as_str()) && self.get(name).is_some()) {
            Some(name) => Err(Fault::unsupported(&self.path_of(name), "is not supported")),
            None => Ok(()),
        }
    }

    /// Reads a whole number in a range.
    pub(crate) fn number(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>, Fault> {
        let number = self.read(name, "a whole number", Value::as_i64)?;
        match number {
            Some(number) if !(least..=most).contains(&number) => {
                Err(self.fault(name, &format!("must be from {least} to {most}: {name}={number}")))
            }
            number => Ok(number),
        }
    }

    fn read<T>(&self, name: &str, kind: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Result<Option<T>, Fault> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.fault(name, &format!("must be {kind}")))
    }

    fn fault(&self, name: &str, message: &str) -> Fault {
        Fault::invalid(&self.path_of(name), message)
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}
