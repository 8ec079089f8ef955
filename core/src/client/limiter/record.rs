//! Recording the decisions of a limiter, in Redis.

use super::Limiter;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::client::prepared::Prepared;
use crate::model::recorded_decision::RecordedDecision;
use crate::store::signal_handling::SignalHandling;
use crate::verbs::record::{Record, RecordingState};

/// The most decisions that Redis keeps of a recording.
pub const MAX_RECORDED: u64 = 1_000_000;

/// The most decisions of a page.
pub const MAX_RECORDED_PAGE: u64 = 1_000;

/// A recording that was started; [`Limiter::record`] returns it.
#[derive(Clone, Debug)]
pub struct Recording {
    limiter: Limiter,
    began: Micros,
    ends: Micros,
    /// The id of the last entry that was read.
    last: Box<str>,
}

/// Decisions that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPage {
    /// The time of the limiter.
    pub at: Micros,
    /// The decisions, in their order. None does not mean that the recording is over.
    pub decisions: Vec<RecordedDecision>,
    /// Whether decisions before these may be lost: the reader was slower than the programs by more than Redis keeps, or the limiter was
    /// reset.
    pub may_lack: bool,
    /// Whether the recording is over: its time has come, it was ended, or the limiter was reset. What was recorded before can still
    /// be read.
    pub is_over: bool,
}

impl Limiter {
    /// Starts to record the decisions of this limiter, by all programs in all languages, for so long by the clock of Redis; about
    /// `most` of them are kept until they are read, from 1 to [`MAX_RECORDED`].
    ///
    /// Redis then decides every call with the whole script and appends the decision to a stream, which costs each call some time;
    /// [`Recording::end`] ends it earlier, and [`reset`](Self::reset) removes what was recorded. Five minutes after the end Redis
    /// forgets it. A program whose user of Redis may not `XADD` is not recorded.
    ///
    /// `Invalid` in memory, for a keyed limiter without its key, and for one without limits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let error = api.record(Micros(60_000_000), 10_000).unwrap_err();
    /// assert_eq!(error.argument(), Some("store"), "a memory is that of one process");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn record(&self, lasts: Micros, most: u64) -> Result<Recording> {
        if lasts.0 == 0 || lasts > MAX_SPAN {
            return Err(Error::invalid(
                "lasts",
                format!("must be above zero and at most ten years: lasts_us={}", lasts.0),
            ));
        }
        if most == 0 || most > MAX_RECORDED {
            return Err(Error::invalid("most", format!("must be from 1 to {MAX_RECORDED}: most={most}")));
        }
        match self.send_recording(&Record::start(lasts, most))? {
            RecordingState::Started(began, ends, last) => Ok(Recording { limiter: self.clone(), began, ends, last }),
            other => Err(unexpected(&other)),
        }
    }

    fn send_recording(&self, record: &Record) -> Result<RecordingState> {
        if !self.inner.together.is_empty() {
            return Err(Error::invalid("limiter", "decides together with others; record each of them"));
        }
        if self.is_keyed() && self.key().is_none() {
            return Err(Error::invalid("key", "is missing; the keys of the limiter are recorded one by one"));
        }
        if let Prepared::Call(call) = self.start_verb(record)? {
            self.server()?.run(call, SignalHandling::Ignore, MAX_SPAN.duration())?;
        }
        record.take()
    }
}

impl Recording {
    /// Returns the time of its beginning, by the limiter's clock.
    pub const fn began(&self) -> Micros {
        self.began
    }

    /// Returns the time of its end, by the limiter's clock.
    pub const fn ends(&self) -> Micros {
        self.ends
    }

    /// Reads up to `count` of the decisions that follow those which were read before, from 1 to [`MAX_RECORDED_PAGE`]. Fewer mean that
    /// there are no more yet.
    ///
    /// After an error the same decisions are read again.
    pub fn read(&mut self, count: u64) -> Result<RecordedPage> {
        if count == 0 || count > MAX_RECORDED_PAGE {
            return Err(Error::invalid("count", format!("must be from 1 to {MAX_RECORDED_PAGE}: count={count}")));
        }
        let last = self.last.clone();
        match self.limiter.send_recording(&Record::read(&last, count))? {
            RecordingState::Page(page) => {
                self.last = page.last.unwrap_or(last);
                let is_over = page.lasts == Micros(0) || page.at >= self.ends.min(MAX_TIME);
                Ok(RecordedPage { at: page.at, decisions: page.decisions, may_lack: !page.is_whole, is_over })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the recording, unless it has ended or another one of this limiter has begun since, which goes on.
    pub fn end(&self) -> Result<()> {
        self.limiter.send_recording(&Record::end(self.ends)).map(drop)
    }
}

fn unexpected(state: &RecordingState) -> Error {
    Error::internal(format!("unexpected reply about a recording: {state:?}"))
}
