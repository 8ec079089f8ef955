//! `Overrides`: the overrides, the learned limits and the pause in the state. Twin of `overrides.lua`.

use std::borrow::Cow;

use crate::base::micros::{MAX_TIME, Micros};
use crate::model::limit::{Kind, Limit};
use crate::model::overrides::{AdminCommand, LimitOverride, RuntimeState};
use crate::model::permit::PERMIT_TIMEOUT;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;

/// The stored overrides, learned limits and pause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) version: u64,
    /// The end of the pause.
    pub(crate) paused_until: u64,
    /// The end of the overrides in `overridden`.
    pub(crate) until: u64,
    /// The time of the call whose report was applied last.
    pub(crate) reported_at: u64,
    pub(crate) overridden: Vec<Option<Limit>>,
    pub(crate) learned: Vec<Option<Limit>>,
}

impl Overrides {
    pub(crate) fn new(policy: &Policy) -> Self {
        let none = vec![None; policy.limits().len()];
        Self { overridden: none.clone(), learned: none, ..Self::default() }
    }

    /// Returns `own` with active overrides and learned limits applied.
    pub(crate) fn policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        let overridden = |i: usize| self.overridden.get(i).and_then(Option::as_ref).filter(|_| self.until > now);
        let learned = |i: usize| self.learned.get(i).and_then(Option::as_ref);
        if (0..own.limits().len()).all(|i| overridden(i).is_none() && learned(i).is_none()) {
            return Cow::Borrowed(own);
        }
        Cow::Owned(own.with(|i, limit| {
            match (overridden(i), learned(i)) {
                // An overridden bucket keeps the interval boundaries of the upstream.
                (Some(overridden), Some(learned))
                    if overridden.kind() == Kind::Bucket && overridden.interval() == learned.interval() =>
                {
                    Limit::of_kind(Kind::Bucket, overridden.amount(), overridden.interval(), learned.offset())
                        .unwrap_or_else(|_| overridden.clone())
                }
                (overridden, learned) => overridden.or(learned).unwrap_or(limit).clone(),
            }
        }))
    }

    /// Returns the end of the override of one limit, if it is active and has an end.
    #[inline]
    pub(crate) fn end(&self, i: usize, now: u64) -> Option<u64> {
        let is_overridden =
            self.until > now && self.until < MAX_TIME.0 && self.overridden.get(i).is_some_and(Option::is_some);
        is_overridden.then_some(self.until)
    }

    /// Returns whether forgetting the overrides changes a decision, after a call at `last`.
    pub(crate) fn affects_decisions(&self, last: u64, now: u64) -> bool {
        let overridden = self.overridden.iter().any(Option::is_some) && self.until > now;
        let kept = last + DEFAULT_STATISTICS_TTL.0 > now && self.learned.iter().any(Option::is_some);
        self.paused_until > now
            || kept
            || overridden && (self.until < MAX_TIME.0 || last + DEFAULT_STATISTICS_TTL.0 > now)
    }

    /// Returns whether anything is in force or must be remembered.
    pub(crate) fn hold(&self, now: u64) -> bool {
        let overridden = self.until > now && self.overridden.iter().any(Option::is_some);
        overridden
            || self.paused_until > now
            || self.learned.iter().any(Option::is_some)
            || self.reported_at + PERMIT_TIMEOUT.0 > now
    }

    pub(crate) fn apply(&mut self, control: &AdminCommand<'_>, now: u64) {
        match control {
            AdminCommand::Get => return,
            AdminCommand::Pause(moment) => self.paused_until = self.paused_until.max(moment.on(now)),
            AdminCommand::Resume => self.paused_until = 0,
            AdminCommand::Override { changes, expires } => {
                if self.until <= now {
                    self.overridden.fill(None);
                }
                if changes.iter().any(|change| matches!(change, LimitOverride::Set(_))) {
                    self.until = expires.map_or(MAX_TIME.0, |moment| moment.on(now));
                }
                for (overridden, change) in self.overridden.iter_mut().zip(*changes) {
                    match change {
                        LimitOverride::Keep => {}
                        LimitOverride::Remove => *overridden = None,
                        LimitOverride::Set(limit) => *overridden = Some(limit.clone()),
                    }
                }
            }
        }
        self.changed(now);
    }

    pub(crate) fn changed(&mut self, now: u64) {
        self.version = now.max(self.version + 1);
    }

    pub(crate) fn runtime_state(&self, now: u64) -> RuntimeState {
        let span = |until: u64| (until > now).then(|| Micros(until - now));
        let overrides = if self.until > now { self.overridden.clone() } else { vec![None; self.overridden.len()] };
        let lasts = overrides.iter().any(Option::is_some) && self.until < MAX_TIME.0;
        RuntimeState {
            version: if self.hold(now) { self.version } else { 0 },
            in_use: false,
            paused_for: span(self.paused_until),
            expires_after: span(self.until).filter(|_| lasts),
            overrides,
            learned: self.learned.clone(),
        }
    }
}
