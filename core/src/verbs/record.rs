//! `record`: starts, reads and ends a recording of the decisions. The script's part is in `engine/transaction/record.lua`.

use once_cell::race::OnceBox;

use super::prelude::*;
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

/// A command, and where the reply to it is put.
pub(crate) struct Record {
    words: Vec<String>,
    reply: Arc<OnceBox<RecordingState>>,
}

impl Record {
    /// Starts a recording of so long; about `most` decisions are kept.
    pub(crate) fn start(lasts: Micros, most: u64) -> Self {
        Self::new([String::new(), "start".to_owned(), lasts.0.to_string(), most.to_string()])
    }

    /// Ends the recording that was to end at a time.
    pub(crate) fn end(ends: Micros) -> Self {
        Self::new([String::new(), "end".to_owned(), ends.0.to_string()])
    }

    /// Reads up to `count` decisions after an entry.
    pub(crate) fn read(after: &str, count: u64) -> Self {
        Self::new([String::new(), "read".to_owned(), after.to_owned(), count.to_string()])
    }

    fn new<const N: usize>(words: [String; N]) -> Self {
        Self { words: words.into(), reply: Arc::default() }
    }

    /// Returns what the store replied.
    pub(crate) fn take(&self) -> Result<RecordingState> {
        self.reply.get().cloned().ok_or_else(garbled)
    }
}

fn text(bytes: &[u8]) -> Result<Box<str>> {
    String::from_utf8(bytes.to_vec()).map(Into::into).map_err(|_| garbled())
}

fn state(items: &[Value]) -> Result<RecordingState> {
    let number =
        |value: &Value| integer(value).and_then(|number| u64::try_from(number).ok()).map(Micros).ok_or_else(garbled);
    Ok(match items {
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
    })
}

impl Verb for Record {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Err(Error::invalid("limiter", "decides without the store, so there is nothing to record"))
    }

    fn in_memory(&self, _: &mut Held<'_>) -> Result<Answer> {
        Err(Error::invalid("store", "is in memory, where no other program decides; record in redis"))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        Words { more: self.words.clone(), ..Words::new("record", KeySet::WithId, []) }
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        let reply = self.reply.clone();
        Decoder::of(move |items| {
            let _ = reply.set(state(items)?.into());
            Ok(Answer::Reset)
        })
    }

    fn leaves_unknown(&self) -> bool {
        true
    }
}
