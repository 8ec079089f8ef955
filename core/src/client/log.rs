//! A log that all processes on one Redis share.

use super::paddlegate::Paddlegate;
use crate::base::error::{Error, Result};
use crate::client::store::Backend;
use crate::store::redis::{Call, LogEntry, LogReply};

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 64;

/// The maximum length of a text in bytes.
const MAX_TEXT: usize = 8_192;

impl Paddlegate {
    /// Appends a text to a log that all processes on this Redis share, and returns its id. About `most` entries are kept.
    ///
    /// The name has 1 to 64 letters, digits and `-`, the text at most 8,192 bytes. `Invalid` for others, and for a store in
    /// memory. When the connection breaks the entry may have been appended.
    pub async fn append_to_log(&self, log: &str, text: &str, most: u64) -> Result<String> {
        if text.len() > MAX_TEXT {
            return Err(Error::invalid("text", format!("must have at most {MAX_TEXT} bytes: length={}", text.len())));
        }
        let entries = self.on_log(log, |reply| Call::append_to_log(log, text, most, reply)).await?;
        entries.into_iter().next().map(|entry| entry.id).ok_or_else(|| Error::internal("the new entry has no id"))
    }

    /// Reads up to `count` entries of a log after an id, the oldest first; after `0` from the beginning.
    ///
    /// `Invalid` when the id is not one of [`append_to_log`](Self::append_to_log), and for a store in memory.
    pub async fn read_log(&self, log: &str, after: &str, count: usize) -> Result<Vec<LogEntry>> {
        let is_number = |text: &str| (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let (time, number) = after.split_once('-').unwrap_or((after, "0"));
        if !is_number(time) || !is_number(number) {
            return Err(Error::invalid("after", "must be the id of an entry, or 0"));
        }
        self.on_log(log, |reply| Call::read_log(log, after, count, reply)).await
    }

    /// Returns the id of the newest entry of a log; `0` of an empty one.
    pub async fn end_of_log(&self, log: &str) -> Result<String> {
        let entries = self.on_log(log, |reply| Call::read_end_of_log(log, reply)).await?;
        Ok(entries.into_iter().next().map_or_else(|| "0".to_owned(), |entry| entry.id))
    }

    async fn on_log(&self, log: &str, call: impl FnOnce(&LogReply) -> Call) -> Result<Vec<LogEntry>> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if log.is_empty() || log.len() > MAX_NAME || !log.bytes().all(is_name) {
            return Err(Error::invalid("log", "must have 1 to 64 letters, digits and -"));
        }
        let Backend::Redis(redis) = self.backend() else {
            return Err(Error::invalid("log", "a store in memory has none; open one in redis"));
        };
        let reply = LogReply::default();
        redis.run_async(call(&reply)).await?;
        Ok(reply.entries())
    }
}
