//! The recording of decisions: starts, reads and ends it; `engine/recording.lua` defines what is stored.

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::call::{Call, Expects};
use super::keys::Keys;
use super::reply::{garbled, integer};
use super::wire::Value;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::model::operation::Answer;
use crate::model::recorded_decision::RecordedDecision;

/// What the store replied about a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordingState {
    /// It has begun at a time, ends at another one, and the first entry of its stream has this id.
    Started(Micros, Micros, Box<str>),
    /// It has ended, if it was on.
    Ended,
    Page(RecordingPage),
}

/// A page of what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordingPage {
    pub(crate) at: Micros,
    /// How long the recording goes on.
    pub(crate) lasts: Micros,
    /// Whether the entry is still there after which the page begins.
    pub(crate) is_whole: bool,
    pub(crate) decisions: Vec<RecordedDecision>,
    /// The id of the last entry, `None` of an empty page.
    pub(crate) last: Option<Box<str>>,
}

/// Where a reply is put.
#[derive(Clone, Default)]
pub(crate) struct RecordingReply(Arc<OnceBox<RecordingState>>);

impl RecordingReply {
    /// Returns what the store replied.
    pub(crate) fn take(&self) -> Result<RecordingState> {
        self.0.get().cloned().ok_or_else(garbled)
    }

    pub(super) fn read(&self, items: &[Value]) -> Result<Answer> {
        let number = |value: &Value| {
            integer(value).and_then(|number| u64::try_from(number).ok()).map(Micros).ok_or_else(garbled)
        };
        let state = match items {
            [_] => RecordingState::Ended,
            [at, ends, Value::Text(first)] => RecordingState::Started(number(at)?, number(ends)?, text(first)?),
            [at, lasts, is_whole, Value::Array(entries)] => {
                let (mut decisions, mut last) = (Vec::new(), None);
                for entry in entries.chunks(2) {
                    let [Value::Text(id), Value::Text(said)] = entry else { return Err(garbled()) };
                    // Another recording begins with an entry that has the time alone.
                    decisions.extend(RecordedDecision::parse(&text(said)?));
                    last = Some(text(id)?);
                }
                let (at, lasts, is_whole) = (number(at)?, number(lasts)?, number(is_whole)? == Micros(1));
                RecordingState::Page(RecordingPage { at, lasts, is_whole, decisions, last })
            }
            _ => return Err(garbled()),
        };
        let _ = self.0.set(state.into());
        Ok(Answer::Reset)
    }
}

fn text(bytes: &[u8]) -> Result<Box<str>> {
    String::from_utf8(bytes.to_vec()).map(Into::into).map_err(|_| garbled())
}

impl Call {
    /// Starts a recording of so long; about `most` decisions are kept.
    pub(crate) fn start_recording(
        keys: &Keys,
        lasts: Micros,
        most: u64,
        at: Option<Micros>,
        reply: &RecordingReply,
    ) -> Self {
        Self::recording(keys, &["start", &lasts.0.to_string(), &most.to_string()], at, reply)
    }

    /// Ends the recording that was to end at a time.
    pub(crate) fn end_recording(keys: &Keys, ends: Micros, at: Option<Micros>, reply: &RecordingReply) -> Self {
        Self::recording(keys, &["end", &ends.0.to_string()], at, reply)
    }

    /// Reads up to `count` decisions after an entry.
    pub(crate) fn read_recording(
        keys: &Keys,
        after: &str,
        count: u64,
        at: Option<Micros>,
        reply: &RecordingReply,
    ) -> Self {
        Self::recording(keys, &["read", after, &count.to_string()], at, reply)
    }

    fn recording(keys: &Keys, words: &[&str], at: Option<Micros>, reply: &RecordingReply) -> Self {
        Self::verb(keys, b"record", at, &[&[""], words].concat(), Expects::Recording(reply.clone()))
    }
}
