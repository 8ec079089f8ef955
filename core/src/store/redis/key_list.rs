//! The keys of a keyed limiter that exist, found among all keys of a node, in pages.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::call::{Call, Chain, Expects};
use super::command::Command;
use super::config::Address;
use super::limiter_list::escaped;
use super::names::states_of_all_keys;
use super::reply::garbled;
use super::wire::{Value, command};
use crate::base::error::{Error, Result};
use crate::model::key_page::{KEYS_PER_PAGE, KeyPage};
use crate::model::operation::Answer;

/// A scan names no key, so no server would redirect it. In a script it has the slot of one.
const SCAN: &[u8] = b"return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])";

/// Approximate number of keys that one call examines; the server takes about 300 microseconds for them.
const SCANNED: &str = "1000";

/// The same for the first call to a node that may have been read.
const LOOKED_AT: &str = "10";

/// The number of calls after which a page ends, so that each page has a timeout of its own.
const CALLS: u16 = 32;

/// A page that is being read: a chain of calls, from one node to the next. Each node that has keys of the limiter is read once, for
/// all its hash tags.
#[derive(Clone, Debug)]
pub(crate) struct PartialKeys {
    /// The slot and the beginning of the states of each hash tag.
    parts: Arc<[(u16, String)]>,
    pattern: Arc<str>,
    /// The hash tag whose node is asked next.
    part: usize,
    /// Where the scan of that node goes on; 0 at its beginning.
    cursor: u64,
    /// Digests of the addresses of the nodes that were read, the last one in part while there is a cursor.
    nodes: Vec<u32>,
    /// The number of calls after which the page ends, whatever was found.
    calls_left: u16,
    found: Vec<String>,
}

impl PartialKeys {
    /// Starts at a cursor, which a page before had, or at the beginning.
    pub(crate) fn new(name: &str, group: Option<&str>, cursor: Option<&str>) -> Result<Self> {
        let parts: Arc<[_]> = states_of_all_keys(name, group).into();
        let (part, cursor, nodes) = match cursor {
            None => (0, 0, Vec::new()),
            Some(cursor) => parse(cursor).filter(|(part, ..)| *part < parts.len()).ok_or_else(|| {
                let shown: String = cursor.chars().take(40).collect();
                Error::invalid("cursor", format!("must be the cursor of a page: cursor={shown:?}"))
            })?,
        };
        let pattern = pattern(&parts).into();
        Ok(Self { parts, pattern, part, cursor, nodes, calls_left: CALLS, found: Vec::new() })
    }

    /// Adds the reply of a node to the call.
    fn add(&self, items: &[Value], node: &Address) -> Result<ControlFlow<KeyPage, Self>> {
        let [Value::Text(cursor), Value::Array(keys)] = items else { return Err(garbled()) };
        let cursor = std::str::from_utf8(cursor).ok().and_then(|cursor| cursor.parse().ok()).ok_or_else(garbled)?;
        let mut further = self.clone();
        let node = digest(node);
        let goes_on = self.cursor != 0 && self.nodes.last() == Some(&node);
        if self.cursor != 0 && !goes_on {
            // The cursor was that of another node, which no longer has the slot.
            further.nodes.pop();
            further.cursor = 0;
        } else if !goes_on && self.nodes.contains(&node) {
            further.part += 1;
        } else {
            if !goes_on {
                further.nodes.push(node);
            }
            further.found.extend(keys.iter().filter_map(|key| self.key(key)));
            further.cursor = cursor;
            further.part += usize::from(cursor == 0);
        }
        further.calls_left = self.calls_left.saturating_sub(1);
        let is_end = further.part == self.parts.len();
        if !is_end && further.found.len() < KEYS_PER_PAGE && further.calls_left > 0 {
            return Ok(ControlFlow::Continue(further));
        }
        let cursor = (!is_end).then(|| further.shown());
        Ok(ControlFlow::Break(KeyPage::new(further.found, cursor)))
    }

    /// Returns the key of the limiter whose state has this Redis key. The pattern matches no key of
    /// another limiter. `None` for a key that is not UTF-8, which no caller can have given.
    fn key(&self, state: &Value) -> Option<String> {
        let Value::Text(state) = state else { return None };
        let state = std::str::from_utf8(state).ok()?;
        self.parts.iter().find_map(|(_, beginning)| state.strip_prefix(beginning.as_str())).map(str::to_owned)
    }

    fn shown(&self) -> String {
        let start = format!("{}.{}", self.part, self.cursor);
        self.nodes.iter().fold(start, |text, node| format!("{text}.{node:08x}"))
    }
}

impl Chain for PartialKeys {
    fn next(&self, reply: &Value, node: &Address) -> Result<ControlFlow<Answer, Call>> {
        Ok(match self.add(reply.items()?, node)? {
            ControlFlow::Continue(further) => ControlFlow::Continue(Call::key_page(further)),
            ControlFlow::Break(page) => ControlFlow::Break(Answer::Keys(page)),
        })
    }
}

impl Call {
    /// Creates the next call for a page of the keys of a keyed limiter.
    pub(crate) fn key_page(page: PartialKeys) -> Self {
        let (slot, key) = page.parts.get(page.part).map_or((0, ""), |(slot, beginning)| (*slot, beginning.as_str()));
        let count = if page.cursor == 0 && !page.nodes.is_empty() { LOOKED_AT } else { SCANNED };
        let (cursor, mut bytes) = (page.cursor.to_string(), Vec::with_capacity(256));
        let arguments = [&cursor, &*page.pattern, count].map(str::as_bytes);
        command(&mut bytes, &[&[b"EVAL", SCAN, b"1", key.as_bytes()], &arguments[..]].concat());
        Self::with_slot(slot, Command::new(bytes), Expects::Chain(Box::new(page)))
    }
}

/// Returns the pattern of the states of all hash tags, which differ in their first digit.
fn pattern(parts: &[(u16, String)]) -> String {
    let beginning = parts.first().map_or("", |(_, beginning)| beginning.as_str());
    let pattern = escaped(beginning) + "*";
    if parts.len() == 1 {
        return pattern;
    }
    pattern.replacen("{0", "{?", 1)
}

fn parse(text: &str) -> Option<(usize, u64, Vec<u32>)> {
    let mut words = text.split('.');
    let (part, cursor) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let node = |word: &str| if word.len() == 8 { u32::from_str_radix(word, 16).ok() } else { None };
    Some((part, cursor, words.map(node).collect::<Option<_>>()?))
}

/// Returns a digest of an address, which a caller that gets the cursor need not know.
fn digest(node: &Address) -> u32 {
    let [a, b, c, d, ..] = sha1_smol::Sha1::from(node.to_string()).digest().bytes();
    u32::from_be_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(port: u16) -> Address {
        Address::Tcp("h".to_owned(), port)
    }

    fn reply(cursor: u64, keys: &[String]) -> Vec<Value> {
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        vec![text(&cursor.to_string()), Value::Array(keys.iter().map(|key| text(key)).collect())]
    }

    fn further(scanned: Result<ControlFlow<KeyPage, PartialKeys>>) -> PartialKeys {
        match scanned.unwrap() {
            ControlFlow::Continue(page) => page,
            ControlFlow::Break(page) => panic!("{page:?}"),
        }
    }

    #[test]
    fn each_node_is_read_once_and_from_its_beginning() {
        let mut page = PartialKeys::new("a*pi", None, None).unwrap();
        assert!(page.pattern.starts_with("pg2:{?") && page.pattern.ends_with("4:s:a\\*pi:*"), "{}", page.pattern);
        let key = |page: &PartialKeys, part: usize, key: &str| format!("{}{key}", page.parts[part].1);
        page = further(page.add(&reply(7, &[key(&page, 0, "x"), "other".to_owned()]), &node(1)));
        page = further(page.add(&reply(0, &[key(&page, 9, "y:z")]), &node(1)));
        page = further(page.add(&reply(5, &[key(&page, 9, "y:z")]), &node(1)));
        assert_eq!((page.part, page.cursor), (2, 0), "the node has been read");
        page = further(page.add(&reply(5, &[]), &node(2)));
        page = further(page.add(&reply(0, &[key(&page, 3, "late")]), &node(3)));
        assert_eq!((page.part, page.cursor, page.nodes.len()), (2, 0, 1), "the cursor was that of another node");
        let shown = page.shown();
        let mut page = PartialKeys { found: page.found, ..PartialKeys::new("a*pi", None, Some(&shown)).unwrap() };
        for _ in 2..15 {
            page = further(page.add(&reply(0, &[key(&page, 3, "late")]), &node(3)));
        }
        let ControlFlow::Break(page) = page.add(&reply(0, &[]), &node(1)).unwrap() else { panic!("not the end") };
        assert_eq!(page.keys, ["late", "x", "y:z"]);
        assert_eq!(page.cursor, None);
    }

    #[test]
    fn a_cursor_is_that_of_a_page() {
        for wrong in ["", "1", "16.0", "0.x", "0.1.12", "0.1.x2345678", "-1.0"] {
            let error = PartialKeys::new("api", None, Some(wrong)).unwrap_err();
            assert_eq!(error.argument(), Some("cursor"), "{wrong}");
        }
        assert_eq!(PartialKeys::new("api", Some("acme"), Some("1.0")).unwrap_err().argument(), Some("cursor"));
        assert!(PartialKeys::new("api", None, Some("15.0.12345678")).is_ok());
    }
}
