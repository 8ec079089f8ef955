//! `Command`: an encoded call, with the places of the instants of quotas, which depend on the time.

use std::sync::Arc;

use super::wire::word;
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
}

impl Command {
    /// Creates a command without quotas.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, quotas: Box::default() }
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
