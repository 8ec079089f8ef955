//! `parse`: strict parsing of JSON text.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::base::error::{Error, Result};

/// The maximum size of a document, in bytes.
pub(crate) const MAX_DOCUMENT: usize = 1 << 20;

/// Parses JSON text of at most 1 MiB. A duplicate member of an object is an error.
pub(crate) fn parse(text: &str) -> Result<Value> {
    if text.len() > MAX_DOCUMENT {
        return Err(fault(&format!("must have at most {MAX_DOCUMENT} bytes: bytes={}", text.len())));
    }
    unbounded(text)
}

/// Parses JSON text of any length, as [`parse`] does.
pub(crate) fn unbounded(text: &str) -> Result<Value> {
    // A separate pass, because a `Value` does not show whether a member was duplicated.
    let unreadable = |error| fault(&format!("not readable as JSON: {error}"));
    serde_json::from_str::<Unique>(text).map_err(unreadable)?;
    serde_json::from_str(text).map_err(unreadable)
}

fn fault(message: &str) -> Error {
    Error::invalid("document", format!("at $: {message}"))
}

/// Any JSON without duplicate members. `serde_json` limits its nesting depth.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                let shown: String = name.chars().take(40).collect();
                return Err(A::Error::custom(format_args!("duplicate member; keep one: member={shown:?}")));
            }
            names.insert(name);
            map.next_value::<Self>()?;
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(self)
    }
}
