//! `Value`: a reply of the script.

use crate::base::error::{Error, Result};

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Nil,
    Integer(i64),
    /// A simple or bulk string, as bytes.
    Text(Vec<u8>),
    /// An error reply: its first word is the code.
    Error(String),
    Array(Vec<Self>),
}

impl Value {
    /// Returns the items of a list.
    pub(crate) fn items(&self) -> Result<&[Self]> {
        match self {
            Self::Array(items) => Ok(items),
            _ => Err(garbled()),
        }
    }
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    }
}

/// Returns the leading items that are non-negative integers.
pub(crate) fn parse_u64s(items: &[Value]) -> Vec<u64> {
    items.iter().map_while(integer).map_while(|number| u64::try_from(number).ok()).collect()
}

pub(crate) fn garbled() -> Error {
    Error::data("unexpected reply to the script of this library; check that the server is redis or valkey")
}
