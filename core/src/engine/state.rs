//! `State`: what one limiter remembers, and the one flow of every decision. Twin of `store/redis.lua`; its verbs are in
//! `verb.rs`.
//!
//! Read, decide, then write: a refusal returns before anything is changed.

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

/// The state of a limiter under the policies of one shape.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The time of the last change; the limiter's clock never shows less.
    pub(crate) last: u64,
    /// What is added to the store's clock since it ran backwards.
    pub(crate) skew: u64,
    levels: Vec<Level>,
    pub(crate) permits: Permits,
    /// What was written of the queue.
    pub(crate) queue_summary: QueueSummary,
    /// Made when the first ticket comes.
    pub(crate) queue: Option<Box<Queue>>,
    pub(crate) statistics: Statistics,
    /// Made by the first order.
    pub(crate) orders: Option<Box<Overrides>>,
}

#[derive(Clone, Debug)]
enum Level {
    Count { count: u64, held: u64 },
    Meter(Meter),
    Log(Log),
    Leases(Leases),
}

/// Per limit the level that a decision leads to.
pub(crate) type Levels = [u64; MAX_LIMITS];

/// What is asked of every limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand {
    /// How many calls stand before this one, and what they take.
    pub(crate) ahead: u64,
    pub(crate) before: u64,
    /// `None` asks only for the change.
    pub(crate) cost: Option<u64>,
    pub(crate) change: i64,
    /// Of a correction, the time of the grant.
    pub(crate) granted_at: u64,
}

/// What every limit together says.
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
    /// The state of a limiter that nobody has called yet.
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
            orders: None,
        }
    }

    /// Whether any call has changed it: in Redis there would be a state or statistics.
    pub(crate) fn is_used(&self) -> bool {
        let is_written =
            self.last > 0 || self.queue_summary.seen > 0 || self.queue_summary.tickets > 0 || self.orders.is_some();
        is_written || self.statistics != Statistics::default()
    }

    /// Whether forgetting this state changes no later decision.
    pub(crate) fn is_idle(&self, policy: &Policy, server: u64) -> bool {
        let now = self.clock(server).0;
        if self.orders.as_ref().is_some_and(|orders| orders.affects_decisions(self.last, now)) {
            return false;
        }
        let whole = |(i, limit)| self.check(limit, i, now, None, 0).reset == 0;
        policy.limits().iter().enumerate().all(whole)
            && self.permits.end() <= now
            && self.fence().is_none_or(|fence| fence == 0 || fence + PERMIT_TIMEOUT.0 <= now)
            && (self.queue_summary.tickets == 0 || self.queue_summary.until <= now)
    }

    /// The limiter's time, which never runs backwards, and its distance to the server's clock.
    #[inline]
    pub(crate) fn clock(&self, server: u64) -> (u64, u64) {
        let now = self.last.max(self.queue_summary.seen).max(server + self.skew);
        (now, now - server)
    }

    /// The policy that rules for who comes with `own`.
    #[inline]
    pub(crate) fn effective_policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        self.orders.as_ref().map_or(Cow::Borrowed(own), |orders| orders.policy(own, now))
    }

    /// Asks every limit; the one that takes longest refuses, else the one with the least left is described.
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
                // No release lets anybody in where nobody may be.
                wait = MAX_TIME.0;
            }
            let is_rate = !matches!(limit.rule, Rule::Concurrency(_)) || wait == MAX_TIME.0;
            if let Some(end) = self.orders.as_ref().and_then(|orders| orders.end(i, now)) {
                // An override ends before, and then other numbers rule.
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
        let pause = self.orders.as_ref().map_or(0, |orders| orders.pause.saturating_sub(now));
        if ask.cost.is_some() {
            outcome.rate = outcome.rate.max(pause);
            if pause > outcome.wait {
                outcome =
                    Evaluation { index: policy.limits().len(), wait: pause, remaining: 0, reset: pause, ..outcome };
            }
        }
        outcome
    }

    /// What is left of every limit, and how many wait.
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

    /// Takes the decided levels over; logs and leases are changed by the caller.
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

    /// Takes over that so many units are taken, and answers the marks of that; less than is known only when nothing can be on its way.
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

    /// The leases, when the policy has a concurrency limit.
    pub(crate) fn leases(&mut self) -> Option<&mut Leases> {
        self.levels.iter_mut().find_map(|level| match level {
            Level::Leases(leases) => Some(leases),
            _ => None,
        })
    }

    /// The log of a window, when that limit is one.
    #[inline]
    pub(crate) fn log(&mut self, i: usize) -> Option<&mut Log> {
        match &mut self.levels[i] {
            Level::Log(log) => Some(log),
            _ => None,
        }
    }

    fn fence(&self) -> Option<u64> {
        self.levels.iter().find_map(|level| match level {
            Level::Leases(leases) => Some(leases.fence),
            _ => None,
        })
    }

    pub(crate) fn open_permit(&mut self, permit: &Permit, now: u64) {
        self.permits.keep(permit.to_string(), (permit.granted_at + PERMIT_TIMEOUT.0) * 2);
        // In pieces, but often enough that they are never many more.
        if now / 10_000 != self.last / 10_000 {
            self.permits.forget(now);
        }
    }
}

/// Another level, which may fall only when that is known to be right.
fn replace(level: &mut u64, other: u64, may_fall: bool) -> u64 {
    if other < *level && !may_fall {
        return ReportOutcome::NOT_RAISED;
    }
    if std::mem::replace(level, other) == other { 0 } else { ReportOutcome::REMAINING }
}
