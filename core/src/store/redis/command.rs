//! `Command`: an encoded call, with the places of the instants of quotas, which depend on the time.

use std::sync::Arc;

use super::wire::word;
#[cfg(feature = "redis-rs")]
use super::wire::{Decoder, Value, header};
#[cfg(feature = "redis-rs")]
use crate::base::error::{Error, Result};
use crate::engine::script::Script;
use crate::model::calendar::{Calendar, INSTANTS};

/// The bytes of the instants of a quota: 16 digits each, with `/` between. All times to 2^53 have at most as many.
pub(super) const INSTANTS_LENGTH: usize = 17 * INSTANTS - 1;

/// The place of the instants of a quota in encoded arguments.
#[derive(Clone, Debug)]
pub(super) struct QuotaAt {
    pub(super) at: usize,
    /// The number of the limiter in a call to several, from 1 on.
    pub(super) limiter: usize,
    pub(super) calendar: Arc<Calendar>,
}

/// A command with the digest of a script, or with the script.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) bytes: Vec<u8>,
    quotas: Box<[QuotaAt]>,
    /// The place of the units from the end on: where their word begins, and where it ends.
    pub(super) units: (usize, usize),
}

impl Command {
    /// Creates a command without quotas.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, quotas: Box::default(), units: (0, 0) }
    }

    /// Notes the quotas of a limiter, whose places in its arguments are moved to those in the command.
    pub(super) fn note(&mut self, limiter: usize, quotas: &[QuotaAt], moved: impl Fn(usize) -> usize) {
        if !quotas.is_empty() {
            let moved = quotas.iter().map(|quota| QuotaAt { at: moved(quota.at), limiter, ..quota.clone() });
            self.quotas = std::mem::take(&mut self.quotas).into_iter().chain(moved).collect();
        }
    }

    /// Writes the instants of each quota by a clock that shows `now`.
    pub(super) fn set_time(&mut self, now: impl Fn() -> u64) {
        if !self.quotas.is_empty() {
            self.set_times(now(), |_| true);
        }
    }

    /// Writes the instants of the quotas that a limiter has, whose time the error `PGTIME` says. The limiters of a call may
    /// have different times. Returns whether the error says a time.
    pub(super) fn correct_time(&mut self, error: &str) -> bool {
        let mut words = error.split(' ').skip(1).map(|word| word.parse::<u64>().ok());
        let Some(time) = words.next().flatten() else { return false };
        let limiter = words.next().flatten().and_then(|number| usize::try_from(number).ok()).unwrap_or(1);
        self.set_times(time, |quota| quota.limiter == limiter);
        true
    }

    fn set_times(&mut self, now: u64, of: impl Fn(&QuotaAt) -> bool) {
        for QuotaAt { at, calendar, .. } in self.quotas.iter().filter(|quota| of(quota)) {
            let digits = &mut self.bytes[*at..*at + INSTANTS_LENGTH];
            for (mut instant, digits) in calendar.instants(now).into_iter().zip(digits.chunks_mut(17)) {
                for digit in digits[..16].iter_mut().rev() {
                    *digit = b'0' + u8::try_from(instant % 10).unwrap_or_default();
                    instant /= 10;
                }
            }
        }
    }

    /// Returns the command of a script around this one's: its digest, and keys and arguments before this command's.
    #[cfg(feature = "redis-rs")]
    pub(super) fn guarded(self, script: &Script, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Self> {
        let mut decoder = Decoder::default();
        decoder.feed(&self.bytes);
        let Some(Value::Array(words)) = decoder.next()? else {
            return Err(Error::internal("a call is not a list of words"));
        };
        let text = |word: &Value| match word {
            Value::Text(text) => text.clone(),
            _ => Vec::new(),
        };
        let words: Vec<Vec<u8>> = words.iter().map(text).collect();
        let [name, _, count, rest @ ..] = &words[..] else {
            return Err(Error::internal("a call has no script"));
        };
        let own_count: usize = str::from_utf8(count).ok().and_then(|count| count.parse().ok()).unwrap_or_default();
        let (own_keys, own_arguments) = rest.split_at(own_count.min(rest.len()));
        let mut bytes = Vec::with_capacity(self.bytes.len() + 256);
        header(&mut bytes, 5 + keys.len() + arguments.len() + rest.len());
        word(&mut bytes, name);
        word(&mut bytes, script.digest.as_bytes());
        word(&mut bytes, (keys.len() + own_keys.len()).to_string().as_bytes());
        for key in keys.iter().copied().chain(own_keys.iter().map(Vec::as_slice)) {
            word(&mut bytes, key);
        }
        word(&mut bytes, keys.len().to_string().as_bytes());
        word(&mut bytes, arguments.len().to_string().as_bytes());
        for argument in arguments.iter().copied().chain(own_arguments.iter().map(Vec::as_slice)) {
            word(&mut bytes, argument);
        }
        // All quotas are in this command's arguments, which stay the last words.
        let moved = bytes.len() - self.bytes.len();
        let quotas = self.quotas.iter().map(|quota| QuotaAt { at: quota.at + moved, ..quota.clone() }).collect();
        Ok(Self { bytes, quotas, units: self.units })
    }

    /// Replaces the units at a place from the end on. Returns where their word begins from then on.
    pub(super) fn set_units(&mut self, (start, end): (usize, usize), units: &str) -> usize {
        let (begin, stop) = (self.bytes.len() - start, self.bytes.len() - end);
        let mut words = Vec::new();
        word(&mut words, units.as_bytes());
        for quota in self.quotas.iter_mut().filter(|quota| quota.at >= stop) {
            quota.at = quota.at + words.len() - (stop - begin);
        }
        let start = end + words.len();
        self.bytes.splice(begin..stop, words);
        start
    }

    /// Replaces the last word of one byte by an empty one.
    pub(super) fn end_with_nothing(&mut self) {
        if self.bytes.ends_with(b"\r\n$1\r\n1\r\n") {
            self.bytes.truncate(self.bytes.len() - b"$1\r\n1\r\n".len());
            word(&mut self.bytes, b"");
        }
    }

    /// Replaces `EVALSHA digest` by `EVAL script`; the server then caches the script.
    pub(super) fn send_script(&mut self, script: &Script) {
        let start = self.bytes.windows(7).position(|window| window == b"EVALSHA");
        let Some(start) = start.map(|at| at - "$7\r\n".len()) else {
            return;
        };
        let end = start + "$7\r\nEVALSHA\r\n$40\r\n".len() + 40 + "\r\n".len();
        let mut words = Vec::with_capacity(script.text.len() + 64);
        word(&mut words, b"EVAL");
        word(&mut words, script.text.as_bytes());
        for quota in &mut self.quotas {
            quota.at += words.len() - (end - start);
        }
        self.bytes.splice(start..end, words);
    }
}

#[cfg(all(test, feature = "redis-rs"))]
mod tests {
    use super::super::wire::header;
    use super::*;
    use crate::model::calendar::CalendarPeriod;

    #[test]
    fn a_guard_moves_the_places_of_the_instants() {
        let mut bytes = Vec::new();
        header(&mut bytes, 5);
        for text in [&b"EVALSHA"[..], &[b'0'; 40], b"1", b"key"] {
            word(&mut bytes, text);
        }
        let at = bytes.len() + format!("${INSTANTS_LENGTH}\r\n").len();
        word(&mut bytes, &[b'/'; INSTANTS_LENGTH]);
        let calendar = Arc::new(Calendar::new(CalendarPeriod::Month));
        let mut command = Command::new(bytes);
        command.note(1, &[QuotaAt { at, limiter: 1, calendar }], |at| at);
        let mut guarded = command.guarded(Script::of_one(), &[b"a", b"bc"], &[b"7".as_slice(); 9]).unwrap();
        guarded.set_time(|| 1_700_000_000_000_000);
        let text = String::from_utf8(guarded.bytes).unwrap();
        let instants = text.rsplit("\r\n").nth(1).unwrap();
        assert!(instants.split('/').all(|instant| instant.len() == 16 && instant.starts_with('1')), "{text}");
        assert!(text.starts_with("*18\r\n$7\r\nEVALSHA"), "{text}");
    }
}
