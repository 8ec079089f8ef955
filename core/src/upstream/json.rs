//! Extracts members of a JSON text without building a tree: a member of a wrong type does not affect the others.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The text of one JSON value, not yet parsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json<'a>(pub(super) &'a str);

impl<'a> Json<'a> {
    /// Returns the named members, in one pass. All are `None` if this is not a well-formed object; of duplicate names
    /// the last counts.
    pub(super) fn pick<const N: usize>(self, names: [&str; N]) -> [Option<Json<'a>>; N] {
        if !self.0.trim_start().starts_with('{') {
            return [None; N];
        }
        let mut reader = serde_json::Deserializer::from_str(self.0);
        let picked = reader.deserialize_map(Picked(names));
        picked.ok().filter(|_| reader.end().is_ok()).unwrap_or([None; N])
    }

    /// Returns one member of an object.
    pub(super) fn get(self, name: &str) -> Option<Json<'a>> {
        let [member] = self.pick([name]);
        member
    }

    /// Returns the first `most` elements of an array; none if this is not an array.
    pub(super) fn elements(self, most: usize) -> Vec<Json<'a>> {
        if !self.0.trim_start().starts_with('[') {
            return Vec::new();
        }
        let mut reader = serde_json::Deserializer::from_str(self.0);
        let elements = reader.deserialize_seq(Elements(most));
        elements.ok().filter(|_| reader.end().is_ok()).unwrap_or_default()
    }

    /// Returns the text of a number as it was sent.
    pub(super) fn number(self) -> Option<&'a str> {
        self.0.starts_with(|c: char| c.is_ascii_digit() || c == '-').then_some(self.0)
    }

    /// Returns the value of a string.
    pub(super) fn text(self) -> Option<String> {
        serde_json::from_str(self.0).ok()
    }

    pub(super) fn is_true(self) -> bool {
        self.0 == "true"
    }

    pub(super) fn is_null(self) -> bool {
        self.0 == "null"
    }
}

struct Picked<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Picked<'_, N> {
    type Value = [Option<Json<'de>>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = [None; N];
        while let Some(index) = map.next_key_seed(Key(&self.0))? {
            match index.and_then(|index| picked.get_mut(index)) {
                Some(slot) => *slot = Some(Json(map.next_value::<&RawValue>()?.get())),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(picked)
    }
}

/// Matches a key against the names and returns its index.
struct Key<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

struct Elements(usize);

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<Json<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while elements.len() < self.0 {
            let Some(element) = sequence.next_element::<&RawValue>()? else { return Ok(elements) };
            elements.push(Json(element.get()));
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_type_loses_only_itself() {
        let json = Json(r#" {"a": {"x": [1]}, "b": "text", "b\u0063": 1.50, "a": 7, "n": null, "t": true} "#);
        let [a, b, bc, missing] = json.pick(["a", "b", "bc", "missing"]);
        assert_eq!(a.and_then(Json::number), Some("7"));
        assert_eq!(b.and_then(Json::text).as_deref(), Some("text"));
        assert_eq!(b.and_then(Json::number), None);
        assert_eq!(bc.and_then(Json::number), Some("1.50"));
        assert!(missing.is_none());
        assert!(json.get("n").unwrap().is_null());
        assert!(json.get("t").unwrap().is_true());
        assert_eq!(Json("[1, {}, 3]").elements(2).len(), 2);
    }

    #[test]
    fn what_is_not_json_says_nothing() {
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        for text in ["", "{", "null", "[]", "{\"a\":1} x", "{\"a\":1,}", "{1:2}", "\u{0}", "{\"a\":1", deep.as_str()] {
            assert!(Json(text).get("a").is_none(), "{text:.20}");
            assert!(Json(text).elements(5).is_empty(), "{text:.20}");
        }
        let closed = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Json(&closed).get("a").map(|a| a.elements(1).len()), Some(1));
    }
}
