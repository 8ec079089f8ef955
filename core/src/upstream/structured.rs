//! Structured fields (RFC 9651) for the `RateLimit` fields: lists of items with parameters, dictionaries.

use std::convert::Infallible;

use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor, ParameterVisitor,
};
use sfv::{BareItemFromInput, KeyRef, Parser};

/// The value of a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A string or a token.
    Text(String),
    /// An integer from 0.
    Number(u64),
    /// A type that the `RateLimit` fields do not use.
    Other,
}

/// A list item with the parameters of the drafts. A parameter of a wrong type counts as absent.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) value: Value,
    /// `q`: the quota.
    pub(super) quota: Option<u64>,
    /// `qu`: the unit.
    pub(super) unit: Option<String>,
    /// `w`: the window in seconds.
    pub(super) window: Option<u64>,
    /// `r`: the remaining units.
    pub(super) remaining: Option<u64>,
    /// `t`: seconds until the reset.
    pub(super) reset: Option<u64>,
}

/// Parses a list of items; skips inner lists. `None` if malformed.
pub(super) fn list(text: &str) -> Option<Vec<Item>> {
    Parser::new(text).parse_list_with_visitor(Items(Vec::new())).ok()
}

/// Parses three non-negative integers of a dictionary by name. `None` if malformed.
pub(super) fn dictionary(text: &str, names: [&'static str; 3]) -> Option<[Option<u64>; 3]> {
    Parser::new(text).parse_dictionary_with_visitor(Members { names, numbers: [None; 3] }).ok()
}

fn number(value: &BareItemFromInput<'_>) -> Option<u64> {
    match value {
        BareItemFromInput::Integer(number) => u64::try_from(i64::from(*number)).ok(),
        _ => None,
    }
}

fn text(value: &BareItemFromInput<'_>) -> Option<String> {
    match value {
        BareItemFromInput::String(text) => Some(text.as_str().to_owned()),
        BareItemFromInput::Token(token) => Some(token.as_str().to_owned()),
        _ => None,
    }
}

struct Items(Vec<Item>);

impl<'de> ListVisitor<'de> for Items {
    type Out = Vec<Item>;
    type Error = Infallible;

    fn entry(&mut self) -> Result<impl EntryVisitor<'de>, Infallible> {
        Ok(Entry(&mut self.0))
    }

    fn finish(self) -> Result<Vec<Item>, Infallible> {
        Ok(self.0)
    }
}

struct Entry<'l>(&'l mut Vec<Item>);

impl<'de> EntryVisitor<'de> for Entry<'_> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        Ok(Ignored)
    }
}

impl<'de> ItemVisitor<'de> for Entry<'_> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = Self::Out>, Infallible> {
        let value = number(&item).map(Value::Number).or_else(|| text(&item).map(Value::Text)).unwrap_or(Value::Other);
        let item = Item { value, quota: None, unit: None, window: None, remaining: None, reset: None };
        Ok(Parameters { list: self.0, item })
    }
}

struct Parameters<'l> {
    list: &'l mut Vec<Item>,
    item: Item,
}

impl<'de> ParameterVisitor<'de> for Parameters<'_> {
    type Out = ();
    type Error = Infallible;

    fn parameter(&mut self, key: &'de KeyRef, value: BareItemFromInput<'de>) -> Result<(), Infallible> {
        match key.as_str() {
            "q" => self.item.quota = number(&value),
            "qu" => self.item.unit = text(&value),
            "w" => self.item.window = number(&value),
            "r" => self.item.remaining = number(&value),
            "t" => self.item.reset = number(&value),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        self.list.push(self.item);
        Ok(())
    }
}

struct Members {
    names: [&'static str; 3],
    numbers: [Option<u64>; 3],
}

impl<'de> DictionaryVisitor<'de> for Members {
    type Out = [Option<u64>; 3];
    type Error = Infallible;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Infallible> {
        let slot = self.names.iter().zip(&mut self.numbers).find(|(name, _)| **name == key.as_str());
        Ok(slot.map(|(_, slot)| Member(slot)))
    }

    fn finish(self) -> Result<Self::Out, Infallible> {
        Ok(self.numbers)
    }
}

struct Member<'l>(&'l mut Option<u64>);

impl<'de> EntryVisitor<'de> for Member<'_> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        *self.0 = None;
        Ok(Ignored)
    }
}

impl<'de> ItemVisitor<'de> for Member<'_> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = Self::Out>, Infallible> {
        *self.0 = number(&item);
        Ok(Ignored)
    }
}
