//! A log that all processes share: a capped stream of texts, apart from the limiters.

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::call::{Call, Expects};
use super::command::Command;
use super::names::TAGS;
use super::reply::garbled;
use super::route::slot;
use super::wire::{Value, command};
use crate::base::error::Result;
use crate::model::operation::Answer;

/// An entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its id, such as `1700000000000-0`: milliseconds since 1970 by the clock of Redis, and a number. Ids rise.
    pub id: String,
    /// The text.
    pub text: String,
}

/// The entries that a reply has.
#[derive(Clone, Default)]
pub(crate) struct LogReply(Arc<OnceBox<Vec<LogEntry>>>);

impl LogReply {
    /// Returns what was read.
    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.0.get().cloned().unwrap_or_default()
    }

    fn read(&self, reply: &Value) -> Result<Answer> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| garbled());
        let entries = match reply {
            Value::Text(id) => vec![LogEntry { id: text(id)?, text: String::new() }],
            Value::Array(items) => items
                .iter()
                .map(|item| {
                    let Value::Array(entry) = item else { return Err(garbled()) };
                    let [Value::Text(id), Value::Array(fields)] = entry.as_slice() else { return Err(garbled()) };
                    let [_, Value::Text(said)] = fields.as_slice() else { return Err(garbled()) };
                    Ok(LogEntry { id: text(id)?, text: text(said)? })
                })
                .collect::<Result<_>>()?,
            _ => return Err(garbled()),
        };
        let _ = self.0.set(entries.into());
        Ok(Answer::Reset)
    }
}

impl Call {
    /// Creates the call that appends a text; about `most` entries are kept.
    pub(crate) fn append_to_log(log: &str, text: &str, most: u64, reply: &LogReply) -> Self {
        let most = most.to_string();
        Self::on_log(log, b"XADD", &[b"MAXLEN", b"~", most.as_bytes(), b"*", b"t", text.as_bytes()], reply)
    }

    /// Creates the call that reads up to `count` entries after an id.
    pub(crate) fn read_log(log: &str, after: &str, count: usize, reply: &LogReply) -> Self {
        let (after, count) = (format!("({after}"), count.to_string());
        Self::on_log(log, b"XRANGE", &[after.as_bytes(), b"+", b"COUNT", count.as_bytes()], reply)
    }

    /// Creates the call that reads the newest entry.
    pub(crate) fn read_end_of_log(log: &str, reply: &LogReply) -> Self {
        Self::on_log(log, b"XREVRANGE", &[b"+", b"-", b"COUNT", b"1"], reply)
    }

    fn on_log(log: &str, name: &[u8], more: &[&[u8]], reply: &LogReply) -> Self {
        // One of the tags of limiters, so that the key is on a node that they use too.
        let tag = format!("{:02x}", log.bytes().fold(0, |sum: u16, byte| sum + u16::from(byte)) % TAGS);
        let key = format!("pg2:{{{tag}}}:log:{log}");
        let mut bytes = Vec::new();
        command(&mut bytes, &[&[name, key.as_bytes()], more].concat());
        let reply = reply.clone();
        let expects = Expects::Reply(Box::new(move |said| reply.read(said)));
        Self::with_slot(slot(tag.as_bytes()), Command::new(bytes), expects)
    }
}
