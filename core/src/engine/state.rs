//! `State`: the state of one limiter, and the evaluation of its limits for every call. Twin of `state.lua` and
//! `limits.lua`; the operations are in `transaction`.
//!
//! Read, decide, then write: a refusal charges nothing.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::base::short_list::ShortList;
use crate::engine::budget::ReportOutcome;
use crate::engine::counters::Counters;
use crate::engine::overrides::Overrides;
use crate::engine::permits::{self, Permits};
use crate::engine::queue::{Queue, QueueSummary};
use crate::limits::check::LimitCheck;
use crate::limits::concurrency::Leases;
use crate::limits::leaky::Meter;
use crate::limits::window::Log;
use crate::model::label::{MAX_LABELS, too_many_labels};
use crate::model::limit::{Limit, Rule};
use crate::model::permit::{PERMIT_TIMEOUT, Permit};
use crate::model::policy::{MAX_LIMITS, Policy, Tags, is_exceeded};

/// The state of a name. Policies of one name share what they have in common: limits with the same label and kind, leases,
/// tickets, the pause and the overrides.
/// The fields are in this order also in memory: what a plain call reads is side by side.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct State {
    /// The time of the last change; the limiter's clock never returns an earlier time.
    pub(crate) last: u64,
    /// The correction that is added to the store's clock since it ran backwards.
    pub(crate) skew: u64,
    pub(super) records: ShortList<Record>,
    /// The tags of a policy whose limits have their records at their own positions.
    pub(super) adopted: Option<Arc<Tags>>,
    /// Created by the first admin command or report of the upstream.
    pub(crate) overrides: Option<Box<Overrides>>,
    /// The last written summary of the queue.
    pub(crate) queue_summary: QueueSummary,
    pub(crate) counters: Counters,
    /// Created with the first ticket.
    pub(crate) queue: Option<Box<Queue>>,
    pub(crate) permits: Permits,
}

/// What was taken of one limit.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// As in the policy, but `c` for leases, which are of the name.
    tag: Box<str>,
    /// The limit under which the level was stored.
    pub(super) rule: Rule,
    /// The time at which it was stored.
    pub(super) at: u64,
    pub(super) level: Level,
}

#[derive(Clone, Debug)]
pub(super) enum Level {
    /// The count of a bucket, or the level of a meter.
    Number(u64),
    Log(Log),
    /// Boxed, so that the records of the other kinds stay small.
    Leases(Box<Leases>),
}

/// The level of each limit after a decision.
pub(crate) type Levels = [u64; MAX_LIMITS];

/// The level of a limit whose record stays as it is.
const UNCHANGED: u64 = u64::MAX;

/// A number for each limit.
pub(crate) type Units = [u64; MAX_LIMITS];

/// The demand of a call on every limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand<'a> {
    /// `None` only applies the change.
    pub(crate) cost: Option<&'a Charge>,
    /// The units that the tickets ahead of the call take of each limit.
    pub(crate) ahead: Option<&'a Units>,
    pub(crate) change: Change<'a>,
    /// Whether the call has a limit; `None` for all.
    pub(crate) has: Option<&'a [bool; MAX_LIMITS]>,
    /// For a correction, the time of the grant.
    pub(crate) granted_at: u64,
}

/// The change of what was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Change<'a> {
    #[default]
    Nothing,
    /// Takes the cost, if it fits.
    Cost,
    /// The difference of two charges.
    By { new: &'a Charge, old: &'a Charge },
}

impl Change<'_> {
    #[inline]
    pub(crate) fn of(&self, i: usize, cost: u64) -> i64 {
        match self {
            Self::Nothing => 0,
            Self::Cost => cost.cast_signed(),
            Self::By { new, old } => new.of(i).cast_signed() - old.of(i).cast_signed(),
        }
    }
}

/// The combined result of all limits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evaluation {
    pub(crate) index: usize,
    pub(crate) wait: u64,
    pub(crate) remaining: u64,
    pub(crate) reset: u64,
    /// The longest wait that no release can shorten.
    pub(crate) rate: u64,
    /// Whether the cost is above a limit, as far as is known for ever.
    pub(crate) is_too_large: bool,
    pub(crate) levels: Levels,
}

impl Evaluation {
    /// Returns the evaluation under a pause or a block of so long.
    pub(crate) const fn closed(self, wait: u64) -> Self {
        Self { wait, remaining: 0, reset: wait, ..self }
    }
}

impl State {
    /// Adds a record for each limit of the policy that has none.
    ///
    /// `Invalid` when the name has too many limits in use.
    #[inline]
    pub(crate) fn adopt(&mut self, policy: &Policy, server: u64) -> Result<()> {
        if self.has_adopted(policy.tag_list()) { Ok(()) } else { self.adopt_anew(policy, server) }
    }

    /// Returns whether each limit of a policy with these tags has its record at its own position.
    #[inline]
    pub(super) fn has_adopted(&self, tags: &Arc<Tags>) -> bool {
        self.adopted.as_ref().is_some_and(|adopted| Tags::is_same(adopted, tags))
    }

    fn adopt_anew(&mut self, policy: &Policy, server: u64) -> Result<()> {
        let limits = policy.limits().len();
        for i in 0..limits {
            if self.find(policy, i).is_none() {
                self.add(policy, i, server)?;
            }
        }
        if limits > 0 && (0..limits).all(|i| self.find(policy, i) == Some(i)) {
            self.adopted = Some(policy.tag_list().clone());
        }
        Ok(())
    }

    #[cold]
    fn add(&mut self, policy: &Policy, i: usize, server: u64) -> Result<()> {
        if self.records.len() >= MAX_LABELS {
            let (now, _) = self.clock(server);
            self.adopted = None;
            let is_used = |record: &Record| policy.tags().split(',').any(|tag| tag == &*record.tag);
            self.records.retain(|record| is_used(record) || !record.is_whole(now));
            if self.records.len() >= MAX_LABELS {
                return Err(too_many_labels());
            }
        }
        self.records.push(Record::new(policy, i, self.last));
        Ok(())
    }

    /// Returns the position of the record of a limit, which usually is the position of the limit in its policy.
    #[inline]
    fn find(&self, policy: &Policy, i: usize) -> Option<usize> {
        let is_adopted = self.adopted.as_ref().is_some_and(|adopted| Arc::ptr_eq(adopted, policy.tag_list()));
        if is_adopted { Some(i) } else { self.search(policy, i) }
    }

    #[inline(never)]
    fn search(&self, policy: &Policy, i: usize) -> Option<usize> {
        let tag = policy.record_tag(i);
        match self.records.get(i) {
            Some(record) if *record.tag == *tag => Some(i),
            _ => self.records.iter().position(|record| *record.tag == *tag),
        }
    }

    #[inline]
    fn record_mut(&mut self, policy: &Policy, i: usize) -> Option<&mut Record> {
        let at = self.find(policy, i)?;
        self.records.get_mut(at)
    }

    /// Returns whether any call has changed the state: Redis would contain a state or statistics.
    pub(crate) fn is_used(&self) -> bool {
        let is_written = self.last > 0
            || self.queue_summary.written_at > 0
            || self.queue_summary.tickets > 0
            || self.overrides.is_some();
        is_written || !self.counters.is_empty()
    }

    /// Returns whether forgetting this state changes no later decision.
    pub(crate) fn is_idle(&self, server: u64) -> bool {
        let now = self.clock(server).0;
        if self.overrides.as_ref().is_some_and(|overrides| overrides.affects_decisions(self.last, now)) {
            return false;
        }
        self.records.iter().all(|record| record.is_whole(now))
            && self.permits.end() <= now
            && self
                .fencing_token()
                .is_none_or(|fencing_token| fencing_token == 0 || fencing_token + PERMIT_TIMEOUT.0 <= now)
            && (self.queue_summary.tickets == 0 || self.queue_summary.until <= now)
    }

    /// Returns the limiter's time, which never runs backwards, and its offset from the server's clock.
    #[inline]
    pub(crate) fn clock(&self, server: u64) -> (u64, u64) {
        let now = self.last.max(self.queue_summary.written_at).max(server + self.skew);
        (now, now - server)
    }

    /// Returns the last time of the limiter and the correction of the store's clock.
    #[inline]
    pub(crate) fn last_time(&self) -> (u64, u64) {
        (self.last.max(self.queue_summary.written_at), self.skew)
    }

    /// Returns `own` with active overrides and learned limits applied.
    #[inline]
    pub(crate) fn effective_policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        self.overrides.as_ref().map_or(Cow::Borrowed(own), |overrides| overrides.policy(own, now))
    }

    /// Evaluates every limit and describes the one with the longest wait, or without a wait the one with the fewest
    /// remaining units.
    #[inline]
    pub(crate) fn decide(&self, policy: &Policy, now: u64, ask: Demand<'_>) -> Evaluation {
        let mut outcome = Evaluation::default();
        let mut least = u64::MAX;
        let is_call = ask.cost.is_some_and(Charge::is_call);
        for (i, limit) in policy.limits().iter().enumerate() {
            if ask.has.is_some_and(|has| !has[i]) {
                continue;
            }
            let units = ask.cost.map(|cost| cost.of(i));
            let units = if limit.counts_starts() { units.map(|units| units.min(1)) } else { units };
            let mut change = ask.change.of(i, units.unwrap_or(0));
            if units.is_none() && limit.counts_starts() {
                change = 0;
            } else if units.is_none() {
                // A debt is at most one whole limit.
                let most = limit.most().cast_signed();
                change = change.clamp(-most, most);
            }
            // A limit from which a call takes nothing does not delay the call.
            let waits = units.filter(|units| *units > 0 || !is_call);
            let mut cost = waits.map(|units| units + ask.ahead.map_or(0, |ahead| ahead[i]));
            match limit.rule {
                Rule::Bucket(bucket) if units.is_none() && now - ask.granted_at > bucket.elapsed(now) => change = 0,
                Rule::Quota(_) if units.is_none() && ask.granted_at < limit.periods(now).start => change = 0,
                Rule::Leaky(leaky) => cost = cost.map(|cost| cost.min(MAX_TIME.0 / leaky.scale)),
                _ => {}
            }
            let check = self.check(policy, i, now, cost, change);
            outcome.levels[i] = check.level;
            if change == 0 && !matches!(ask.change, Change::Nothing) && self.is_early(policy, i, now) {
                outcome.levels[i] = UNCHANGED;
            }
            let is_too_large = units.is_some_and(|units| is_exceeded(limit, units));
            let is_closed = limit.amount() == 0 || is_too_large;
            let is_rate =
                !matches!(limit.rule, Rule::Concurrency(_)) || check.wait > 0 && is_closed || check.wait >= MAX_TIME.0;
            let wait = self.wait_at(limit, check.wait, is_too_large, now);
            outcome.is_too_large |= is_too_large && wait == MAX_TIME.0;
            // A debit describes a limit that it charges.
            let is_described = ask.cost.is_some() || !limit.counts_starts();
            if wait > outcome.wait || outcome.wait == 0 && check.remaining < least && is_described {
                (outcome.index, outcome.wait) = (i, wait);
                (outcome.remaining, outcome.reset) = (check.remaining, check.reset);
                least = check.remaining;
            }
            if is_rate {
                outcome.rate = outcome.rate.max(wait);
            }
        }
        if let Some(overrides) = self.overrides.as_ref().filter(|_| ask.cost.is_some()) {
            for (after, until) in [overrides.paused_until, overrides.block()].into_iter().enumerate() {
                let wait = until.saturating_sub(now);
                outcome.rate = outcome.rate.max(wait);
                if wait > outcome.wait {
                    outcome = Evaluation { index: policy.limits().len() + after, ..outcome.closed(wait) };
                }
            }
        }
        outcome
    }

    /// Appends the remaining units of every limit to `left` and returns the queue length.
    #[cfg(feature = "simulate")]
    pub(crate) fn standing(&self, own: &Policy, server: u64, left: &mut Vec<u64>) -> u64 {
        let now = self.clock(server).0;
        let policy = self.effective_policy(own, now);
        left.extend((0..policy.limits().len()).map(|i| self.check(&policy, i, now, None, 0).remaining));
        self.queue_summary.tickets
    }

    #[inline]
    pub(super) fn check(&self, policy: &Policy, i: usize, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        let limit = &policy.limits()[i];
        match self.find(policy, i).and_then(|at| self.records.get(at)) {
            Some(record) => record.check(limit, now, cost, change),
            None => Record::new(policy, i, now).check(limit, now, cost, change),
        }
    }

    /// Returns whether a throttle has become free within this microsecond: of what takes no start the record must not have the
    /// time, because the fraction counts for a start in the same microsecond.
    fn is_early(&self, policy: &Policy, i: usize, now: u64) -> bool {
        let limit = &policy.limits()[i];
        let record = self.find(policy, i).and_then(|at| self.records.get(at)).filter(|_| limit.counts_starts());
        match (limit.rule, record.map(|record| (record.rule, &record.level, record.at))) {
            (Rule::Leaky(leaky), Some((Rule::Leaky(held), Level::Number(level), at))) => {
                leaky.scale == held.scale && leaky.early(*level, now - at) > 0
            }
            _ => false,
        }
    }

    /// Stores the decided levels. The caller changes logs and leases.
    #[inline]
    pub(crate) fn settle(&mut self, policy: &Policy, levels: &Levels, now: u64, skew: u64) {
        (self.last, self.skew) = (now, skew);
        for (i, limit) in policy.limits().iter().enumerate().filter(|(i, _)| levels[*i] != UNCHANGED) {
            if let Some(record) = self.record_mut(policy, i) {
                (record.rule, record.at) = (limit.rule_at(now), now);
                if let Level::Number(level) = &mut record.level {
                    *level = levels[i];
                }
            }
        }
    }

    /// Sets the taken units of a limit to `taken` and returns the marks of the change.
    ///
    /// Fewer units than before are set only when `is_known`: no call can be in flight.
    pub(crate) fn take_over(&mut self, policy: &Policy, i: usize, taken: u64, is_known: bool, now: u64) -> u64 {
        let (rule, live) = (policy.limits()[i].rule, self.check(policy, i, now, None, 0).level);
        let Some(record) = self.record_mut(policy, i) else { return 0 };
        match (rule, &mut record.level) {
            (Rule::Bucket(_) | Rule::Quota(_), Level::Number(count)) => replace(count, taken, 1, is_known),
            (Rule::Leaky(leaky), Level::Number(level)) => replace(level, taken, leaky.scale, is_known),
            (Rule::Window(_), Level::Log(log)) if taken > live => {
                log.push(now, taken - live, live);
                ReportOutcome::REMAINING
            }
            (Rule::Window(_), Level::Log(_)) if taken < live => ReportOutcome::NOT_RAISED,
            _ => 0,
        }
    }

    /// Returns the leases of the name, if a policy with a concurrency limit has used it.
    pub(crate) fn leases(&mut self) -> Option<&mut Leases> {
        self.records.iter_mut().find_map(|record| match &mut record.level {
            Level::Leases(leases) => Some(&mut **leases),
            _ => None,
        })
    }

    /// As [`leases`](Self::leases), to read them.
    pub(super) fn held_leases(&self) -> Option<&Leases> {
        self.records.iter().find_map(|record| match &record.level {
            Level::Leases(leases) => Some(&**leases),
            _ => None,
        })
    }

    /// Returns the log of a limit, if it is a window.
    #[inline]
    pub(crate) fn log(&mut self, policy: &Policy, i: usize) -> Option<&mut Log> {
        match &mut self.record_mut(policy, i)?.level {
            Level::Log(log) => Some(log),
            _ => None,
        }
    }

    fn fencing_token(&self) -> Option<u64> {
        self.held_leases().map(|leases| leases.fencing_token)
    }

    pub(crate) fn open_permit(&mut self, policy: &Policy, permit: &Permit<'_>, deadline: u64, max_removals: usize) {
        let now = permit.granted_at;
        self.permits.keep(permits::key(policy, permit), deadline * 2);
        // Each removal is bounded, but happens often enough that ended permits do not pile up.
        if now / 10_000 != self.last / 10_000 {
            self.permits.forget(now, max_removals);
        }
    }
}

impl Record {
    fn new(policy: &Policy, i: usize, at: u64) -> Self {
        let rule = policy.limits()[i].rule;
        let level = match rule {
            Rule::Bucket(_) | Rule::Leaky(_) | Rule::Quota(_) => Level::Number(0),
            Rule::Concurrency(_) => Level::Leases(Box::default()),
            Rule::Window(_) | Rule::Unlimited | Rule::Paused => Level::Log(Log::default()),
        };
        Self { tag: policy.record_tag(i).into(), rule, at, level }
    }

    fn check(&self, limit: &Limit, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        match (limit.rule, self.rule, &self.level) {
            (Rule::Quota(quota), Rule::Quota(held), Level::Number(count)) => {
                quota.decide(&limit.periods(now), (*count, held.own), (self.at, now), cost, change)
            }
            (rule, ..) => self.check_inlined(rule, now, cost, change),
        }
    }

    /// Checks a limit that needs no calendar, for a caller that may need only a part: what is not read is then not computed,
    /// and the rest needs up to three divisions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn check_inlined(&self, rule: Rule, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        match (rule, self.rule, &self.level) {
            (Rule::Bucket(bucket), Rule::Bucket(held), Level::Number(count)) => {
                bucket.decide(*count, held.own, self.at, now, cost, change)
            }
            (Rule::Leaky(leaky), Rule::Leaky(held), Level::Number(level)) => {
                let meter = Meter { level: *level, capacity: held.own, scale: held.scale };
                leaky.decide(meter, self.at, now, cost, change)
            }
            (Rule::Window(window), _, Level::Log(log)) => window.decide(log, now, cost, change),
            (Rule::Concurrency(concurrency), _, Level::Leases(leases)) => {
                concurrency.decide(leases, now, cost, change.unsigned_abs())
            }
            _ => LimitCheck::default(),
        }
    }

    fn is_whole(&self, now: u64) -> bool {
        match (self.rule, &self.level) {
            (Rule::Quota(held), Level::Number(count)) => *count == 0 || held.end <= now,
            _ => self.check_inlined(self.rule, now, None, 0).reset == 0,
        }
    }
}

/// Returns whether a list of tags has this one.
pub(crate) fn has_tag(tags: &str, tag: &str) -> bool {
    tags.split(',').any(|other| other == tag)
}

/// Replaces a level by the level of its whole units; lowers it only when `may_fall`.
fn replace(level: &mut u64, taken: u64, scale: u64, may_fall: bool) -> u64 {
    let (before, other) = (*level, taken * scale);
    if other < before && !may_fall {
        return ReportOutcome::NOT_RAISED;
    }
    *level = other;
    // A part of a unit is no change.
    if before.div_ceil(scale) == taken { 0 } else { ReportOutcome::REMAINING }
}
