//! `State`: the state of one limiter, and the evaluation of its limits for every call. Twin of `state.lua` and
//! `limits.lua`; the operations are in `transaction`.
//!
//! Read, decide, then write: a refusal charges nothing.

use std::borrow::Cow;

use crate::base::micros::MAX_TIME;
use crate::engine::budget::ReportOutcome;
use crate::engine::overrides::Overrides;
use crate::engine::permits::Permits;
use crate::engine::queue::{Queue, QueueSummary};
use crate::limits::check::LimitCheck;
use crate::limits::concurrency::Leases;
use crate::limits::leaky::Meter;
use crate::limits::window::Log;
use crate::model::limit::{Limit, Rule};
use crate::model::permit::{PERMIT_TIMEOUT, Permit};
use crate::model::policy::{MAX_LIMITS, Policy};
use crate::model::statistics::Statistics;

/// The state of a limiter for the policies of one shape.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The time of the last change; the limiter's clock never returns an earlier time.
    pub(crate) last: u64,
    /// The correction that is added to the store's clock since it ran backwards.
    pub(crate) skew: u64,
    levels: Vec<Level>,
    pub(crate) permits: Permits,
    /// The last written summary of the queue.
    pub(crate) queue_summary: QueueSummary,
    /// Created with the first ticket.
    pub(crate) queue: Option<Box<Queue>>,
    pub(crate) statistics: Statistics,
    /// Created by the first admin command or report of the upstream.
    pub(crate) overrides: Option<Box<Overrides>>,
}

#[derive(Clone, Debug)]
enum Level {
    Count { count: u64, held: u64 },
    Meter(Meter),
    Log(Log),
    Leases(Leases),
}

/// The level of each limit after a decision.
pub(crate) type Levels = [u64; MAX_LIMITS];

/// The demand of a call on every limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand {
    /// The number of calls ahead of this one, and the units that they take.
    pub(crate) ahead: u64,
    pub(crate) before: u64,
    /// `None` only applies the change.
    pub(crate) cost: Option<u64>,
    pub(crate) change: i64,
    /// For a correction, the time of the grant.
    pub(crate) granted_at: u64,
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
    pub(crate) levels: Levels,
}

impl State {
    /// Returns the state of a limiter before its first call.
    pub(crate) fn new(policy: &Policy) -> Self {
        let levels = policy.limits().iter().map(|limit| match limit.rule {
            Rule::Bucket(bucket) => Level::Count { count: 0, held: bucket.limit },
            Rule::Leaky(leaky) => Level::Meter(Meter { level: 0, capacity: leaky.capacity, scale: leaky.scale }),
            Rule::Concurrency(_) => Level::Leases(Leases::default()),
            Rule::Window(_) | Rule::Unlimited | Rule::Paused => Level::Log(Log::default()),
        });
        Self {
            last: 0,
            skew: 0,
            levels: levels.collect(),
            permits: Permits::default(),
            queue_summary: QueueSummary::default(),
            queue: None,
            statistics: Statistics::default(),
            overrides: None,
        }
    }

    /// Returns whether any call has changed the state: Redis would contain a state or statistics.
    pub(crate) fn is_used(&self) -> bool {
        let is_written = self.last > 0
            || self.queue_summary.written_at > 0
            || self.queue_summary.tickets > 0
            || self.overrides.is_some();
        is_written || self.statistics != Statistics::default()
    }

    /// Returns whether forgetting this state changes no later decision.
    pub(crate) fn is_idle(&self, policy: &Policy, server: u64) -> bool {
        let now = self.clock(server).0;
        if self.overrides.as_ref().is_some_and(|overrides| overrides.affects_decisions(self.last, now)) {
            return false;
        }
        let whole = |(i, limit)| self.check(limit, i, now, None, 0).reset == 0;
        policy.limits().iter().enumerate().all(whole)
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

    /// Returns `own` with active overrides and learned limits applied.
    #[inline]
    pub(crate) fn effective_policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        self.overrides.as_ref().map_or(Cow::Borrowed(own), |overrides| overrides.policy(own, now))
    }

    /// Evaluates every limit and describes the one with the longest wait, or without a wait the one with the fewest
    /// remaining units.
    #[inline]
    pub(crate) fn decide(&self, policy: &Policy, now: u64, ask: Demand) -> Evaluation {
        let mut outcome = Evaluation::default();
        let mut least = u64::MAX;
        for (i, limit) in policy.limits().iter().enumerate() {
            let (mut cost, mut change) = (ask.cost.map(|cost| ask.before + cost), ask.change);
            if limit.counts_starts() {
                cost = ask.cost.map(|cost| ask.ahead + cost.min(1));
                change = ask.cost.map_or(0, |_| change.min(1));
            } else if ask.cost.is_none() {
                // A debt is at most one whole limit.
                let most = 2 * limit.amount().cast_signed();
                change = change.clamp(-most, most);
            }
            match limit.rule {
                Rule::Bucket(bucket) if ask.cost.is_none() && now - ask.granted_at > bucket.elapsed(now) => change = 0,
                Rule::Leaky(leaky) if ask.ahead > 0 => cost = cost.map(|cost| cost.min(MAX_TIME.0 / leaky.scale)),
                _ => {}
            }
            let check = self.check(limit, i, now, cost, change);
            outcome.levels[i] = check.level;
            let mut wait = check.wait.min(MAX_TIME.0);
            if wait > 0 && limit.amount() == 0 {
                // With a limit of 0 no release makes room.
                wait = MAX_TIME.0;
            }
            let is_rate = !matches!(limit.rule, Rule::Concurrency(_)) || wait == MAX_TIME.0;
            if let Some(end) = self.overrides.as_ref().and_then(|overrides| overrides.end(i, now)) {
                // The override ends earlier, and another limit applies then.
                wait = wait.min(end - now);
            }
            if wait > outcome.wait || outcome.wait == 0 && check.remaining < least {
                (outcome.index, outcome.wait) = (i, wait);
                (outcome.remaining, outcome.reset) = (check.remaining, check.reset);
                least = check.remaining;
            }
            if is_rate {
                outcome.rate = outcome.rate.max(wait);
            }
        }
        let pause = self.overrides.as_ref().map_or(0, |overrides| overrides.paused_until.saturating_sub(now));
        if ask.cost.is_some() {
            outcome.rate = outcome.rate.max(pause);
            if pause > outcome.wait {
                outcome =
                    Evaluation { index: policy.limits().len(), wait: pause, remaining: 0, reset: pause, ..outcome };
            }
        }
        outcome
    }

    /// Appends the remaining units of every limit to `left` and returns the queue length.
    #[cfg(feature = "simulate")]
    pub(crate) fn standing(&self, own: &Policy, server: u64, left: &mut Vec<u64>) -> u64 {
        let now = self.clock(server).0;
        let policy = self.effective_policy(own, now);
        left.extend(policy.limits().iter().enumerate().map(|(i, limit)| self.check(limit, i, now, None, 0).remaining));
        self.queue_summary.tickets
    }

    #[inline]
    fn check(&self, limit: &Limit, i: usize, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        match (limit.rule, &self.levels[i]) {
            (Rule::Bucket(bucket), Level::Count { count, held }) => {
                bucket.decide(*count, *held, self.last, now, cost, change)
            }
            (Rule::Leaky(leaky), Level::Meter(meter)) => leaky.decide(*meter, self.last, now, cost, change),
            (Rule::Window(window), Level::Log(log)) => window.decide(log, now, cost, change),
            (Rule::Concurrency(concurrency), Level::Leases(leases)) => {
                concurrency.decide(leases, now, cost, change.unsigned_abs())
            }
            _ => LimitCheck::default(),
        }
    }

    /// Stores the decided levels. The caller changes logs and leases.
    #[inline]
    pub(crate) fn settle(&mut self, policy: &Policy, levels: &Levels, now: u64, skew: u64) {
        (self.last, self.skew) = (now, skew);
        for (i, limit) in policy.limits().iter().enumerate() {
            match (limit.rule, &mut self.levels[i]) {
                (Rule::Bucket(bucket), Level::Count { count, held }) => {
                    (*count, *held) = (levels[i], bucket.limit);
                }
                (Rule::Leaky(leaky), Level::Meter(meter)) => {
                    *meter = Meter { level: levels[i], capacity: leaky.capacity, scale: leaky.scale };
                }
                _ => {}
            }
        }
    }

    /// Sets the taken units of a limit to `taken` and returns the marks of the change.
    ///
    /// Fewer units than before are set only when `is_known`: no call can be in flight.
    pub(crate) fn take_over(&mut self, limit: &Limit, i: usize, taken: u64, is_known: bool, now: u64) -> u64 {
        let live = self.check(limit, i, now, None, 0).level;
        match (limit.rule, &mut self.levels[i]) {
            (Rule::Bucket(_), Level::Count { count, .. }) => replace(count, taken, is_known),
            (Rule::Leaky(leaky), Level::Meter(meter)) => replace(&mut meter.level, taken * leaky.scale, is_known),
            (Rule::Window(_), Level::Log(log)) if taken > live => {
                log.push(now, taken - live, live);
                ReportOutcome::REMAINING
            }
            (Rule::Window(_), Level::Log(_)) if taken < live => ReportOutcome::NOT_RAISED,
            _ => 0,
        }
    }

    /// Returns the leases, if the policy has a concurrency limit.
    pub(crate) fn leases(&mut self) -> Option<&mut Leases> {
        self.levels.iter_mut().find_map(|level| match level {
            Level::Leases(leases) => Some(leases),
            _ => None,
        })
    }

    /// Returns the log of a limit, if it is a window.
    #[inline]
    pub(crate) fn log(&mut self, i: usize) -> Option<&mut Log> {
        match &mut self.levels[i] {
            Level::Log(log) => Some(log),
            _ => None,
        }
    }

    fn fencing_token(&self) -> Option<u64> {
        self.levels.iter().find_map(|level| match level {
            Level::Leases(leases) => Some(leases.fencing_token),
            _ => None,
        })
    }

    pub(crate) fn open_permit(&mut self, permit: &Permit, now: u64) {
        self.permits.keep(permit.to_string(), (permit.granted_at + PERMIT_TIMEOUT.0) * 2);
        // Each removal is bounded, but happens often enough that ended permits do not pile up.
        if now / 10_000 != self.last / 10_000 {
            self.permits.forget(now);
        }
    }
}

/// Replaces a level; lowers it only when `may_fall`.
fn replace(level: &mut u64, other: u64, may_fall: bool) -> u64 {
    if other < *level && !may_fall {
        return ReportOutcome::NOT_RAISED;
    }
    if std::mem::replace(level, other) == other { 0 } else { ReportOutcome::REMAINING }
}
