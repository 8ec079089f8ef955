//! `window`: the times of the last grants, newest first. Twin of `window.lua`.
//!
//! The interval is half-open: an entry that is one interval old has expired.

use std::collections::VecDeque;

use super::check::LimitCheck;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) limit: u64,
    pub(crate) interval: u64,
    /// The limit of the caller's policy, in whose place this one may rule.
    pub(crate) own: u64,
    /// The largest of this, that and the learned limit.
    pub(crate) largest: u64,
}

impl Window {
    /// Counts the live entries at `now` and checks whether `cost` more fit. The caller changes the log itself.
    pub(crate) fn decide(&self, log: &Log, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        // Counts the live entries by a galloping search from the oldest one, which usually takes two probes.
        let (mut live, mut step) = (log.len(), 1);
        while live > 0 {
            let probe = live.saturating_sub(step);
            if log.at(probe) + self.interval > now {
                let mut low = probe + 1;
                while low < live {
                    let middle = u64::midpoint(low, live);
                    if log.at(middle) + self.interval > now {
                        low = middle + 1;
                    } else {
                        live = middle;
                    }
                }
                break;
            }
            (live, step) = (probe, step * 2);
        }
        let (mut wait, mut reset) = (0, 0);
        if let Some(cost) = cost.filter(|cost| live + cost > self.limit) {
            // The number of entries that must expire first: the live ones, then those that the calls ahead will add.
            let mut expired = live + cost - self.limit;
            if expired > live.max(self.limit) {
                wait = ((expired - 1) / self.limit).saturating_mul(self.interval);
                expired = (expired - 1) % self.limit + 1;
            }
            let first = if expired <= live { log.at(live - expired) + self.interval - now } else { self.interval };
            wait = first.saturating_add(wait);
        } else if change > 0 && live < 2 * self.largest {
            reset = self.interval;
        }
        if reset == 0 && live > 0 {
            reset = log.at(0) + self.interval - now;
        }
        let taken = live.saturating_add_signed(if wait == 0 { change } else { 0 });
        LimitCheck { level: live, wait, remaining: self.limit.saturating_sub(taken), reset }
    }
}

/// The maximum number of entries that a correction moves.
const MAX_MOVED: usize = 1_000;

/// The times of a window, newest first. In Redis a list with the same operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(VecDeque<u64>);

impl Log {
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the `i`-th newest time, counted from 0; 0 when there is none.
    pub(crate) fn at(&self, i: u64) -> u64 {
        usize::try_from(i).ok().and_then(|i| self.0.get(i)).copied().unwrap_or(0)
    }

    /// Adds `cost` entries at `now` and keeps only the `live` newest of the existing ones; no cost changes nothing.
    pub(crate) fn push(&mut self, now: u64, cost: u64, live: u64) {
        if cost == 0 {
            return;
        }
        self.0.truncate(usize::try_from(live).unwrap_or(usize::MAX));
        for _ in 0..cost {
            self.0.push_front(now);
        }
    }

    /// Removes the newest entries.
    pub(crate) fn give_back(&mut self, count: u64) {
        self.0.drain(..usize::try_from(count).unwrap_or(usize::MAX).min(self.0.len()));
    }

    /// Adds entries of the grant at `time`, or removes those that the log still contains. The grant may have had none.
    ///
    /// `live` is the number of live entries in the log. At most [`MAX_MOVED`] entries are moved.
    pub(crate) fn correct(&mut self, time: u64, change: i64, live: u64) {
        let first = self.0.partition_point(|entry| *entry > time);
        let run = self.0.partition_point(|entry| *entry >= time) - first;
        let count = usize::try_from(change.unsigned_abs()).unwrap_or(usize::MAX);
        if change > 0 {
            // Behind more newer entries than may be moved, the units get the time of a newer entry.
            let place = first.min(MAX_MOVED);
            let entry = if first > place { self.0[place] } else { time };
            let moved: Vec<u64> = self.0.drain(..place).collect();
            for time in std::iter::repeat_n(entry, count).chain(moved.into_iter().rev()) {
                self.0.push_front(time);
            }
            return;
        }
        let count = count.min(run);
        let older = self.0.len() - first - run;
        if first <= MAX_MOVED || older <= MAX_MOVED || count <= MAX_MOVED {
            self.0.drain(first..first + count);
        } else {
            // Removing these would move too many entries. The oldest live entries are removed instead, so that no unit
            // becomes available too early.
            self.0.truncate(usize::try_from(live).unwrap_or(usize::MAX) - count);
        }
    }
}
