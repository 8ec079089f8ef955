//! The list of limiters: one sorted set for each hash tag, read in pages.

use std::ops::ControlFlow;

use super::call::{Call, Chain, Expects};
use super::command::Command;
use super::config::Address;
use super::names::{TAGS, list};
use super::reply::garbled;
use super::route::slot;
use super::wire::{Value, command};
use crate::base::error::{Error, Result};
use crate::model::limiter_info::{LIMITERS_PER_PAGE, LimiterInfo, LimiterPage, ListPage};
use crate::model::operation::Answer;

/// Approximate number of entries that one call examines; the server takes about 50 microseconds for them.
const SCANNED: &[u8] = b"200";

/// The number of calls after which a page ends, so that each page has a timeout of its own.
const CALLS: u16 = 16;

/// A page of the whole list that is being read: a chain of calls, from one hash tag to the next.
#[derive(Clone, Debug)]
pub(crate) struct PartialPage {
    prefix: Box<str>,
    tag: u16,
    cursor: u64,
    /// The number of calls after which the page ends, whatever was found.
    calls_left: u16,
    listed: Vec<LimiterInfo>,
}

impl PartialPage {
    /// Starts at a cursor, which a page before had, or at the beginning.
    pub(crate) fn new(prefix: &str, cursor: Option<&str>) -> Result<Self> {
        let (tag, cursor) = cursor.map_or(Ok((0, 0)), parse)?;
        Ok(Self { prefix: prefix.into(), tag, cursor, calls_left: CALLS, listed: Vec::new() })
    }
}

impl Chain for PartialPage {
    fn next(&self, reply: &Value, _: &Address) -> Result<ControlFlow<Answer, Call>> {
        let ListPage { listed, cursor } = page(reply, &self.prefix)?;
        let mut further = self.clone();
        further.listed.extend(listed);
        (further.tag, further.cursor) = if cursor == 0 { (self.tag + 1, 0) } else { (self.tag, cursor) };
        further.calls_left = self.calls_left.saturating_sub(1);
        let is_end = further.tag == TAGS;
        if !is_end && further.listed.len() < LIMITERS_PER_PAGE && further.calls_left > 0 {
            return Ok(ControlFlow::Continue(Call::limiter_page(further)));
        }
        let cursor = (!is_end).then(|| format!("{}.{}", further.tag, further.cursor));
        let page = LimiterPage { limiters: LimiterInfo::sorted(further.listed), cursor };
        Ok(ControlFlow::Break(Answer::Page(page)))
    }

    fn foreign(&self) -> Option<Error> {
        Some(foreign(self.tag))
    }
}

/// A page of the list of one hash tag: the limiters whose names begin with this.
struct PageOfTag(u16, Box<str>);

impl Chain for PageOfTag {
    fn next(&self, reply: &Value, _: &Address) -> Result<ControlFlow<Answer, Call>> {
        page(reply, &self.1).map(|page| ControlFlow::Break(Answer::List(page)))
    }

    fn foreign(&self) -> Option<Error> {
        Some(foreign(self.0))
    }
}

impl Call {
    /// Creates a call that reads one page of the list of limiters of a tag.
    pub(crate) fn list(tag: u16, cursor: u64, prefix: &str) -> Self {
        scan((tag, cursor, prefix), Box::new(PageOfTag(tag, prefix.into())))
    }

    /// Creates the next call for a page of the whole list.
    pub(crate) fn limiter_page(page: PartialPage) -> Self {
        let prefix = page.prefix.clone();
        scan((page.tag, page.cursor, &prefix), Box::new(page))
    }
}

fn parse(cursor: &str) -> Result<(u16, u64)> {
    let parts = cursor.split_once('.').and_then(|(tag, cursor)| Some((tag.parse().ok()?, cursor.parse().ok()?)));
    let is_ours = |(tag, position): &(u16, u64)| *tag < TAGS && format!("{tag}.{position}") == cursor;
    parts.filter(is_ours).ok_or_else(|| {
        let shown: String = cursor.chars().take(40).collect();
        Error::invalid("cursor", format!("must be the cursor of a page: cursor={shown:?}"))
    })
}

/// Creates the call that reads a page of the list of a hash tag. A scan returns every entry that exists
/// throughout, whatever is added or removed meanwhile.
fn scan((tag, cursor, prefix): (u16, u64, &str), chain: Box<dyn Chain>) -> Call {
    let tag = format!("{tag:02x}");
    let (key, cursor, pattern) = (list(&tag), cursor.to_string(), pattern(prefix));
    let mut words: Vec<&[u8]> = vec![b"ZSCAN", key.as_bytes(), cursor.as_bytes(), b"COUNT", SCANNED];
    if !prefix.is_empty() {
        words.extend([b"MATCH".as_slice(), pattern.as_bytes()]);
    }
    let mut bytes = Vec::with_capacity(64 + pattern.len());
    command(&mut bytes, &words);
    Call::with_slot(slot(tag.as_bytes()), Command::new(bytes), Expects::Chain(chain))
}

/// Returns the error for a list in whose place another program has a value.
fn foreign(tag: u16) -> Error {
    let key = list(&format!("{tag:02x}"));
    Error::data(format!(
        "the list of limiters has a key with a value of another program; `paddlegate doctor --repair` deletes it: key={key:?}"
    ))
}

/// Returns a pattern of the entries whose name begins with `prefix`; it also matches some others, since the group of a limiter
/// stands before its name.
fn pattern(prefix: &str) -> String {
    format!("*|*|*{}*", escaped(prefix))
}

/// Returns a pattern that matches this text alone.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '^' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Decodes a page of the list of a hash tag: the limiters whose names begin with `prefix`, with their expiry times. Skips entries
/// of other programs.
fn page(reply: &Value, prefix: &str) -> Result<ListPage> {
    let [Value::Text(cursor), Value::Array(entries)] = reply.items()? else { return Err(garbled()) };
    let cursor = std::str::from_utf8(cursor).ok().and_then(|cursor| cursor.parse().ok()).ok_or_else(garbled)?;
    let pairs = entries.chunks_exact(2).filter_map(|pair| match pair {
        [Value::Text(entry), Value::Text(score)] => {
            LimiterInfo::parse(std::str::from_utf8(entry).ok()?, std::str::from_utf8(score).ok()?.parse().ok()?)
        }
        _ => None,
    });
    Ok(ListPage { listed: pairs.filter(|info| info.name.starts_with(prefix)).collect(), cursor })
}
