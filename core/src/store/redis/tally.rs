//! `Tally`: what a process has counted of a limiter's plain calls and not yet sent to the statistics.
//!
//! A call of a limiter that was not used for a second is counted by the script that decides it. Those that follow are counted
//! here, and sent with the first call of the store a second later, before statistics are read, and when the store is closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use std::{fmt, mem};

use super::names::refused_keys;
use super::wire::{Value, command};
use crate::base::clock::monotonic;
use crate::base::micros::Micros;
use crate::base::process_id::process_id;
use crate::model::durations::Durations;
use crate::model::history::RecentSums;
use crate::store::fork_safe::ForkSafe;
use crate::store::refused_keys::{OfHour, RefusedKeys};

/// The most minutes whose counts wait for a server that takes no writes: as many as the history has.
const MAX_MINUTES: usize = 60;

/// How long counts stay in the process while it makes calls.
const PERIOD: Duration = Duration::from_secs(1);

/// The maximum number of limiters whose counts are sent at once.
pub(super) const MAX_AT_ONCE: usize = 64;

/// The maximum number of limiters with counts while the store does not answer.
const MAX_WAITING: usize = 10_000;

/// Sent as text, since a process sends it seldom and may be the first.
const SCRIPT: &str = include_str!("tally.lua");

/// How long statistics are kept that nobody has registered, in milliseconds, as in `engine/state.lua`.
const EXPIRY: &str = "120000";

/// The counts of one limiter in this process.
pub(crate) struct Tally {
    slot: u16,
    /// The key of the statistics.
    key: String,
    counts: ForkSafe<Counts>,
    all: Arc<Tallies>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// The process that counted: a fork inherits what its parent sends.
    pid: u32,
    /// The last is the current one.
    minutes: Vec<CountsOfMinute>,
    /// For how long released leases were held, and how many for how long.
    held: u64,
    holds: Durations,
    /// The grants that were near a limit.
    near_limit: u64,
    /// Of a keyed limiter.
    refused_keys: RefusedKeys,
    /// The calls that this process decided without the store, and the time of the last.
    degraded: u64,
    degraded_at: u64,
    /// The calls that failed because the store was unavailable.
    errors: u64,
    used_at: Option<Instant>,
}

/// The counts of decisions in one minute of the store's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CountsOfMinute {
    minute: u64,
    granted: u64,
    units: u64,
    /// By the tag of the limit that refused.
    refused: Vec<(Box<str>, u64)>,
}

/// The tallies of a store that have counts.
pub(crate) struct Tallies {
    waiting: ForkSafe<Waiting>,
    /// Whether there may be one, which is read without a lock.
    has_some: AtomicBool,
    /// Whether the slots are on several nodes, so that a call takes only the counts of its own slot along.
    is_cluster: AtomicBool,
    /// Whether the store did not answer the last call that should have been decided: what a call took along might be lost.
    is_away: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    pid: u32,
    /// Whether the store is gone.
    is_over: bool,
    /// By slot in a cluster, else all as one.
    slots: HashMap<u16, OfSlot>,
    /// The number of tallies.
    count: usize,
}

/// The tallies of a slot.
struct OfSlot {
    /// When a call to the slot takes them along: a second after the first had counts.
    due_at: Instant,
    tallies: Vec<Arc<Tally>>,
}

/// Counts on their way to the server. Unless they arrived, or may have, they return to their tally.
pub(crate) struct Report {
    tally: Arc<Tally>,
    counts: Counts,
    is_sent: bool,
}

impl Tally {
    pub(crate) fn new(slot: u16, key: String, all: &Arc<Tallies>) -> Self {
        Self { slot, key, counts: ForkSafe::new(Counts::default()), all: all.clone() }
    }

    /// Returns whether the limiter was used within a second, so that this process counts its plain calls.
    pub(super) fn counts_here(&self) -> bool {
        let now = monotonic();
        let before = self.locked().used_at.replace(now);
        before.is_some_and(|before| now.duration_since(before) < PERIOD)
    }

    /// Counts one decision: when, how many units, and which limit refused it, if any; a refusal also for its key, and
    /// a grant whether it was near a limit.
    pub(super) fn count(
        self: &Arc<Self>,
        at: Micros,
        refused_by: Option<&str>,
        units: u64,
        is_near: bool,
        key: Option<&str>,
    ) {
        self.change(|counts| {
            if refused_by.is_some()
                && let Some(key) = key
            {
                counts.refused_keys.count(at.0, key);
            }
            counts.near_limit += u64::from(is_near);
            let counts = counts.of_minute(RecentSums::minute_at(at.0));
            if let Some(tag) = refused_by {
                counts.refuse(tag, 1);
            } else {
                counts.granted += 1;
                counts.units += units;
            }
        });
    }

    /// Counts for its key alone a refusal that the script has counted.
    pub(super) fn count_refused_key(self: &Arc<Self>, at: Micros, key: &str) {
        self.change(|counts| counts.refused_keys.count(at.0, key));
    }

    /// Counts a call that the store did not decide: with a time, one that this process decided then instead.
    pub(super) fn count_undecided(self: &Arc<Self>, degraded_at: Option<Micros>) {
        self.all.is_away.store(true, Ordering::Relaxed);
        // Limiters that are made for one call each must not fill the memory while nothing can be sent.
        if self.locked().is_empty() && self.all.locked().count >= MAX_WAITING {
            return;
        }
        self.change(|counts| match degraded_at {
            Some(at) => {
                counts.degraded += 1;
                counts.degraded_at = counts.degraded_at.max(at.0);
            }
            None => counts.errors += 1,
        });
    }

    /// Counts for how long a released lease was held.
    pub(super) fn count_held(self: &Arc<Self>, held: u64) {
        self.change(|counts| {
            counts.held += held;
            counts.holds.add(Durations::bucket(held), 1);
        });
    }

    fn add(self: &Arc<Self>, more: &Counts) {
        self.change(|counts| {
            counts.held += more.held;
            counts.holds += &more.holds;
            counts.near_limit += more.near_limit;
            counts.refused_keys.add(&more.refused_keys);
            counts.degraded += more.degraded;
            counts.degraded_at = counts.degraded_at.max(more.degraded_at);
            counts.errors += more.errors;
            for more in &more.minutes {
                let counts = counts.of_minute(more.minute);
                counts.granted += more.granted;
                counts.units += more.units;
                more.refused.iter().for_each(|(tag, refused)| counts.refuse(tag, *refused));
            }
        });
    }

    fn change(self: &Arc<Self>, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.locked();
        let was_empty = counts.is_empty();
        change(&mut counts);
        drop(counts);
        if was_empty {
            self.all.push(self.clone());
        }
    }

    fn locked(&self) -> MutexGuard<'_, Counts> {
        let mut counts = self.counts.lock(Counts::default);
        if counts.pid != process_id() {
            *counts = Counts { pid: process_id(), ..Counts::default() };
        }
        counts
    }
}

impl Counts {
    fn is_empty(&self) -> bool {
        let Self { minutes, holds, near_limit, refused_keys, degraded, errors, .. } = self;
        let is_nothing_else = minutes.is_empty() && holds.is_empty() && refused_keys.is_empty();
        is_nothing_else && *near_limit == 0 && *degraded == 0 && *errors == 0
    }

    fn of_minute(&mut self, minute: u64) -> &mut CountsOfMinute {
        let at = self.minutes.iter().rposition(|counts| counts.minute == minute).unwrap_or_else(|| {
            if self.minutes.len() >= MAX_MINUTES {
                self.join_oldest();
            }
            self.minutes.push(CountsOfMinute { minute, ..CountsOfMinute::default() });
            self.minutes.len() - 1
        });
        &mut self.minutes[at]
    }

    /// Adds the oldest minute to the one behind it. No count is lost, and the history has no older minutes.
    fn join_oldest(&mut self) {
        self.minutes.sort_unstable_by_key(|counts| counts.minute);
        let CountsOfMinute { granted, units, refused, .. } = self.minutes.remove(0);
        let next = &mut self.minutes[0];
        next.granted += granted;
        next.units += units;
        for (tag, count) in refused {
            next.refuse(&tag, count);
        }
    }
}

impl CountsOfMinute {
    /// Returns the fields of the statistics with their numbers, see `engine/register.lua`.
    fn fields(&self) -> impl Iterator<Item = (String, i128)> {
        let Self { minute, granted, units, refused } = self;
        let granted = i128::from(*granted);
        // Units are stored as what exceeds one for each grant.
        let sums = [(format!("g{minute}"), granted), (format!("u{minute}"), i128::from(*units) - granted)];
        let refused = refused.iter().map(move |(tag, count)| (format!("r{minute}:{tag}"), i128::from(*count)));
        sums.into_iter().chain(refused)
    }

    fn refuse(&mut self, tag: &str, count: u64) {
        match self.refused.iter_mut().find(|(other, _)| **other == *tag) {
            Some((_, sum)) => *sum += count,
            None => self.refused.push((tag.into(), count)),
        }
    }
}

impl Default for Tallies {
    fn default() -> Self {
        let waiting = ForkSafe::new(Waiting::default());
        let [has_some, is_cluster, is_away] = [(); 3].map(|()| AtomicBool::new(false));
        Self { waiting, has_some, is_cluster, is_away }
    }
}

impl fmt::Debug for Tallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tallies").finish_non_exhaustive()
    }
}

impl Tallies {
    /// Returns what a call to a slot must take along by now.
    #[inline]
    pub(crate) fn due(&self, slot: u16) -> Vec<Report> {
        if !self.has_some.load(Ordering::Relaxed) || self.is_away.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut waiting = self.locked();
        let is_due = waiting.slots.get(&self.filed_at(slot)).is_some_and(|of| of.due_at <= monotonic());
        if is_due { self.take(&mut waiting, Some(slot)) } else { Vec::new() }
    }

    /// Returns the counts that a call to a slot takes along before it reads statistics; without a slot all.
    pub(crate) fn all(&self, slot: Option<u16>) -> Vec<Report> {
        let mut waiting = self.locked();
        let mut reports = Vec::new();
        loop {
            let more = self.take(&mut waiting, slot);
            if more.is_empty() {
                return reports;
            }
            reports.extend(more);
        }
    }

    /// Notes that the store has answered, so that calls take counts along again.
    #[inline]
    pub(crate) fn is_back(&self) {
        if self.is_away.load(Ordering::Relaxed) {
            self.is_away.store(false, Ordering::Relaxed);
        }
    }

    /// Returns whether anything is counted and not yet sent.
    pub(super) fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Relaxed)
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.is_cluster.load(Ordering::Relaxed)
    }

    fn take(&self, waiting: &mut Waiting, slot: Option<u16>) -> Vec<Report> {
        let slot = match slot {
            Some(slot) => Some(self.filed_at(slot)),
            None => waiting.slots.keys().next().copied(),
        };
        let taken = slot.map(|slot| waiting.take(slot)).unwrap_or_default();
        self.has_some.store(waiting.count > 0, Ordering::Relaxed);
        taken.into_iter().map(Report::new).collect()
    }

    /// Forgets what the server did not take.
    pub(super) fn forget(&self) {
        self.all(None).iter_mut().for_each(Report::is_sent);
    }

    /// Forgets what could not be sent: the store is gone, and a tally that waits here would keep all of them for ever.
    pub(super) fn end(&self) {
        let mut waiting = self.locked();
        *waiting = Waiting { pid: waiting.pid, is_over: true, ..Waiting::default() };
        self.has_some.store(false, Ordering::Relaxed);
    }

    fn push(&self, tally: Arc<Tally>) {
        let mut waiting = self.locked();
        if waiting.is_over {
            return;
        }
        let slot = self.filed_at(tally.slot);
        waiting.push(slot, tally);
        self.has_some.store(true, Ordering::Relaxed);
    }

    fn file_by_slot(&self) {
        let mut waiting = self.locked();
        if !self.is_cluster.swap(true, Ordering::Relaxed) {
            let filed = mem::take(&mut waiting.slots);
            waiting.count = 0;
            filed.into_values().flat_map(|of| of.tallies).for_each(|tally| waiting.push(tally.slot, tally));
        }
    }

    /// Returns where the tallies of a slot wait.
    fn filed_at(&self, slot: u16) -> u16 {
        if self.is_cluster() { slot } else { 0 }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        let mut waiting = self.waiting.lock(Waiting::default);
        if waiting.pid != process_id() {
            *waiting = Waiting { pid: process_id(), ..Waiting::default() };
        }
        waiting
    }
}

impl Waiting {
    /// Adds a tally, whose slot is due in a second unless it waits already.
    fn push(&mut self, slot: u16, tally: Arc<Tally>) {
        let of_slot = self.slots.entry(slot);
        let of_slot = of_slot.or_insert_with(|| OfSlot { due_at: monotonic() + PERIOD, tallies: Vec::new() });
        of_slot.tallies.push(tally);
        self.count += 1;
    }

    /// Takes the tallies of a slot, at most `MAX_AT_ONCE`. The others stay due.
    fn take(&mut self, slot: u16) -> Vec<Arc<Tally>> {
        let Some(OfSlot { tallies, .. }) = self.slots.get_mut(&slot) else { return Vec::new() };
        let taken: Vec<_> = tallies.drain(..tallies.len().min(MAX_AT_ONCE)).collect();
        if tallies.is_empty() {
            self.slots.remove(&slot);
        }
        self.count -= taken.len();
        taken
    }
}

impl Report {
    fn new(tally: Arc<Tally>) -> Self {
        let mut counts = tally.locked();
        let none = Counts { pid: counts.pid, used_at: counts.used_at, ..Counts::default() };
        let taken = mem::replace(&mut *counts, none);
        drop(counts);
        Self { tally, counts: taken, is_sent: false }
    }

    pub(super) fn slot(&self) -> u16 {
        self.tally.slot
    }

    /// Returns the command that adds the counts to the statistics.
    pub(super) fn command(&self) -> Vec<u8> {
        let mut fields: Vec<_> = self.counts.minutes.iter().flat_map(CountsOfMinute::fields).collect();
        let Counts { held, near_limit, degraded, degraded_at, errors, .. } = self.counts;
        let decisions = [("near_limit", near_limit), ("degraded", degraded), ("errors", errors)];
        let others = decisions.into_iter().chain([("held", held), ("degraded_at", degraded_at)]);
        fields.extend(others.map(|(field, number)| (field.to_owned(), i128::from(number))));
        let holds = self.counts.holds.counts().into_iter().enumerate();
        fields.extend(holds.map(|(bucket, count)| (format!("l{bucket}"), i128::from(count))));
        fields.retain(|(_, number)| *number != 0);
        let hours = self.counts.refused_keys.hours();
        let mut words =
            vec!["EVAL".to_owned(), SCRIPT.to_owned(), (1 + hours.len()).to_string(), self.tally.key.clone()];
        words.extend(hours.iter().map(|of| refused_keys(&self.tally.key, of.hour)));
        words.extend([EXPIRY.to_owned(), fields.len().to_string()]);
        words.extend(fields.into_iter().flat_map(|(field, number)| [field, number.to_string()]));
        for OfHour { counts, .. } in hours {
            words.push(counts.len().to_string());
            words.extend(counts.iter().flat_map(|(key, refused)| [key.to_string(), refused.to_string()]));
        }
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let mut bytes = Vec::new();
        command(&mut bytes, &words);
        bytes
    }

    /// Notes that the server has added the counts, or may have.
    pub(super) fn is_sent(&mut self) {
        self.is_sent = true;
    }

    /// Notes that the server has not added the counts.
    pub(super) fn was_refused(&mut self) {
        self.is_sent = false;
    }

    /// Notes what the server said: an error adds nothing, and may name another node for the slot of the statistics.
    pub(super) fn answered(&mut self, reply: &Value) {
        let Value::Error(error) = reply else { return self.is_sent() };
        self.was_refused();
        if error.starts_with("MOVED ") {
            self.tally.all.file_by_slot();
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // A fork has only the copy of what its parent sends.
        if !self.is_sent && !self.counts.is_empty() && self.counts.pid == process_id() {
            self.tally.add(&self.counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros(1_700_000_000_000_000);

    fn counted(reports: &[Report]) -> Vec<(u64, u64, u64)> {
        let of_minute = |CountsOfMinute { granted, units, refused, .. }: &CountsOfMinute| {
            (*granted, refused.iter().map(|(_, count)| count).sum(), *units)
        };
        reports.iter().flat_map(|report| report.counts.minutes.iter().map(of_minute)).collect()
    }

    #[test]
    fn counts_that_wait_for_long_have_a_bounded_number_of_minutes() {
        let all: Arc<Tallies> = Arc::default();
        let tally = Arc::new(Tally::new(1, "key".to_owned(), &all));
        for minute in 0..1_000 {
            let at = Micros(NOW.0 + minute * 60_000_000);
            tally.count(at, None, 3, false, None);
            tally.count(at, Some("w"), 1, false, None);
            // They return when they are refused.
            drop(all.all(None));
        }
        let reports = all.all(None);
        let counts = counted(&reports);
        assert_eq!(counts.len(), MAX_MINUTES);
        assert_eq!(counts[1..], [(1, 1, 3)].repeat(MAX_MINUTES - 1));
        let most = 1_001 - MAX_MINUTES as u64;
        assert_eq!(counts[0], (most, most, 3 * most), "the oldest has all before it");
    }

    /// Makes all due that waits.
    fn pass_a_second(all: &Tallies) {
        all.locked().slots.values_mut().for_each(|of| of.due_at = monotonic());
    }

    fn tally(slot: u16, all: &Arc<Tallies>) -> Arc<Tally> {
        Arc::new(Tally::new(slot, "key".to_owned(), all))
    }

    #[test]
    fn counts_that_did_not_arrive_are_sent_again_and_others_are_not() {
        let all = Arc::default();
        let tally = tally(1, &all);
        let before = monotonic();
        tally.count(NOW, None, 5, false, None);
        tally.count(NOW, Some("w"), 7, false, None);
        let mut waiting = all.locked();
        assert!(waiting.slots[&0].due_at >= before + PERIOD);
        waiting.slots.values_mut().for_each(|of| of.due_at = before + 3600 * PERIOD);
        drop(waiting);
        assert!(all.due(1).is_empty(), "they are not due");
        let reports = all.all(None);
        assert_eq!(counted(&reports), [(1, 1, 5)]);
        tally.count(NOW, None, 2, false, None);
        tally.count(Micros(NOW.0 + 60_000_000), None, 3, false, None);
        drop(reports);
        let mut reports = all.all(None);
        assert_eq!(counted(&reports), [(2, 1, 7), (1, 0, 3)]);
        reports[0].is_sent();
        drop(reports);
        assert!(all.all(None).is_empty());
    }

    #[test]
    fn a_fork_does_not_send_what_its_parent_has_counted() {
        let all: Arc<Tallies> = Arc::default();
        let tally = tally(1, &all);
        tally.count(NOW, None, 5, false, None);
        // As in a child: what the parent left has another process id.
        tally.counts.lock(Counts::default).pid = u32::MAX;
        all.waiting.lock(Waiting::default).pid = u32::MAX;
        assert!(all.all(None).is_empty());
        tally.count(NOW, Some("w"), 1, false, None);
        assert_eq!(counted(&all.all(None)), [(0, 1, 0)]);
    }

    #[test]
    fn while_the_store_is_away_nothing_is_taken_along_and_few_limiters_wait() {
        let all = Arc::default();
        let one = tally(1, &all);
        one.count(NOW, None, 1, false, None);
        one.count_undecided(Some(NOW));
        one.count_undecided(None);
        pass_a_second(&all);
        assert!(all.due(1).is_empty());
        all.is_back();
        let reports = all.due(1);
        assert_eq!(reports.len(), 1);
        assert_eq!((reports[0].counts.degraded, reports[0].counts.errors), (1, 1));
        drop(reports);
        for _ in 0..MAX_WAITING + 5 {
            tally(2, &all).count_undecided(None);
        }
        one.count_undecided(Some(NOW));
        assert_eq!(all.locked().count, MAX_WAITING);
        assert_eq!(one.counts.lock(Counts::default).degraded, 2, "one that waits already");
    }

    fn moved() -> Value {
        Value::Error("MOVED 3 127.0.0.1:7001".to_owned())
    }

    #[test]
    fn in_a_cluster_a_call_takes_along_what_belongs_to_its_slot() {
        let all = Arc::default();
        let (one, other) = (tally(1, &all), tally(2, &all));
        one.count(NOW, None, 1, false, None);
        other.count(NOW, None, 2, false, None);
        Report::new(tally(3, &all)).answered(&moved());
        assert_eq!(counted(&all.all(Some(2))), [(1, 0, 2)]);
        assert_eq!(all.all(None).len(), 2, "also those that were dropped");
    }

    #[test]
    fn in_a_cluster_each_slot_is_due_a_second_after_it_had_counts() {
        let all = Arc::default();
        let tallies = [1, 2].map(|slot| tally(slot, &all));
        tallies[0].count(NOW, None, 1, false, None);
        Report::new(tally(3, &all)).answered(&moved());
        tallies[1].count(NOW, None, 1, false, None);
        pass_a_second(&all);
        assert!(all.due(3).is_empty(), "it has none");
        for slot in [1, 2] {
            let mut reports = all.due(slot);
            assert_eq!(counted(&reports), [(1, 0, 1)], "{slot}");
            reports[0].is_sent();
        }
        assert!(!all.has_some());
        let before = monotonic();
        tallies[1].count(NOW, None, 1, false, None);
        assert!(all.locked().slots[&2].due_at >= before + PERIOD);
    }

    fn taken_along(slots: impl Iterator<Item = u16>, calls: usize) -> Vec<usize> {
        let all = Arc::default();
        let tallies: Vec<_> = slots.map(|slot| tally(slot, &all)).collect();
        for tally in &tallies {
            tally.count(NOW, None, 1, false, None);
        }
        pass_a_second(&all);
        let sent = |mut reports: Vec<Report>| {
            reports.iter_mut().for_each(Report::is_sent);
            reports.len()
        };
        (0..calls).map(|_| sent(all.due(0))).collect()
    }

    #[test]
    fn a_call_takes_along_the_counts_of_64_limiters_at_most() {
        assert_eq!(taken_along(0..200, 5), [64, 64, 64, 8, 0]);
        assert_eq!(taken_along([7; 100].into_iter(), 3), [64, 36, 0]);
    }
}
