//! The list of limiters: one sorted set for each hash tag, read in pages.

use super::names::{TAGS, list};
use super::reply::garbled;
use super::route::slot;
use super::wire::{Value, command};
use crate::base::error::{Error, Result};
use crate::model::limiter_info::{LIMITERS_PER_PAGE, LimiterInfo, LimiterPage, ListPage};

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

/// The result of one reply.
pub(super) enum Found {
    Further(PartialPage),
    Enough(LimiterPage),
}

impl PartialPage {
    /// Starts at a cursor, which a page before had, or at the beginning.
    pub(crate) fn new(prefix: &str, cursor: Option<&str>) -> Result<Self> {
        let (tag, cursor) = cursor.map_or(Ok((0, 0)), parse)?;
        Ok(Self { prefix: prefix.into(), tag, cursor, calls_left: CALLS, listed: Vec::new() })
    }

    /// Returns the tag whose list the next call reads.
    pub(super) const fn tag(&self) -> u16 {
        self.tag
    }

    /// Returns the slot and the command of the next call.
    pub(super) fn next(&self) -> (u16, Vec<u8>) {
        scan(self.tag, self.cursor, &self.prefix)
    }

    /// Adds the reply to that call.
    pub(super) fn add(&self, items: &[Value]) -> Result<Found> {
        let ListPage { listed, cursor } = page(items, &self.prefix)?;
        let mut further = self.clone();
        further.listed.extend(listed);
        (further.tag, further.cursor) = if cursor == 0 { (self.tag + 1, 0) } else { (self.tag, cursor) };
        further.calls_left = self.calls_left.saturating_sub(1);
        let is_end = further.tag == TAGS;
        if !is_end && further.listed.len() < LIMITERS_PER_PAGE && further.calls_left > 0 {
            return Ok(Found::Further(further));
        }
        let cursor = (!is_end).then(|| format!("{}.{}", further.tag, further.cursor));
        Ok(Found::Enough(LimiterPage { limiters: LimiterInfo::sorted(further.listed), cursor }))
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

/// Returns the slot and the command that read a page of the list of a hash tag. A scan returns every entry that exists
/// throughout, whatever is added or removed meanwhile.
pub(super) fn scan(tag: u16, cursor: u64, prefix: &str) -> (u16, Vec<u8>) {
    let tag = format!("{tag:02x}");
    let (key, cursor, pattern) = (list(&tag), cursor.to_string(), pattern(prefix));
    let mut words: Vec<&[u8]> = vec![b"ZSCAN", key.as_bytes(), cursor.as_bytes(), b"COUNT", SCANNED];
    if !prefix.is_empty() {
        words.extend([b"MATCH".as_slice(), pattern.as_bytes()]);
    }
    let mut bytes = Vec::with_capacity(64 + pattern.len());
    command(&mut bytes, &words);
    (slot(tag.as_bytes()), bytes)
}

/// Returns the error for a list in whose place another program has a value.
pub(super) fn foreign(tag: u16) -> Error {
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
pub(super) fn page(items: &[Value], prefix: &str) -> Result<ListPage> {
    let [Value::Text(cursor), Value::Array(entries)] = items else { return Err(garbled()) };
    let cursor = std::str::from_utf8(cursor).ok().and_then(|cursor| cursor.parse().ok()).ok_or_else(garbled)?;
    let pairs = entries.chunks_exact(2).filter_map(|pair| match pair {
        [Value::Text(entry), Value::Text(score)] => {
            LimiterInfo::parse(std::str::from_utf8(entry).ok()?, std::str::from_utf8(score).ok()?.parse().ok()?)
        }
        _ => None,
    });
    Ok(ListPage { listed: pairs.filter(|info| info.name.starts_with(prefix)).collect(), cursor })
}
