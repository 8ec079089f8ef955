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
    pub(crate) pause: u64,
    /// The end of the overrides in `told`.
    pub(crate) until: u64,
    /// The time of the call whose report was applied last.
    pub(crate) synced: u64,
    pub(crate) told: Vec<Option<Limit>>,
    pub(crate) learned: Vec<Option<Limit>>,
}

impl Overrides {
    pub(crate) fn new(policy: &Policy) -> Self {
        let none = vec![None; policy.limits().len()];
        Self { told: none.clone(), learned: none, ..Self::default() }
    }

    /// Returns `own` with active overrides and learned limits applied.
    pub(crate) fn policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        let told = |i: usize| self.told.get(i).and_then(Option::as_ref).filter(|_| self.until > now);
        let learned = |i: usize| self.learned.get(i).and_then(Option::as_ref);
        if (0..own.limits().len()).all(|i| told(i).is_none() && learned(i).is_none()) {
            return Cow::Borrowed(own);
        }
        Cow::Owned(own.with(|i, limit| {
            match (told(i), learned(i)) {
                // An overridden bucket keeps the interval boundaries of the upstream.
                (Some(told), Some(learned)) if told.kind() == Kind::Bucket && told.interval() == learned.interval() => {
                    Limit::of_kind(Kind::Bucket, told.amount(), told.interval(), learned.offset())
                        .unwrap_or_else(|_| told.clone())
                }
                (told, learned) => told.or(learned).unwrap_or(limit).clone(),
            }
        }))
    }

    /// Returns the end of the override of one limit, if it is active and has an end.
    #[inline]
    pub(crate) fn end(&self, i: usize, now: u64) -> Option<u64> {
        let is_told = self.until > now && self.until < MAX_TIME.0 && self.told.get(i).is_some_and(Option::is_some);
        is_told.then_some(self.until)
    }

    /// Returns whether forgetting the overrides changes a decision, after a call at `last`.
    pub(crate) fn affects_decisions(&self, last: u64, now: u64) -> bool {
        let told = self.told.iter().any(Option::is_some) && self.until > now;
        let kept = last + DEFAULT_STATISTICS_TTL.0 > now && self.learned.iter().any(Option::is_some);
        self.pause > now || kept || told && (self.until < MAX_TIME.0 || last + DEFAULT_STATISTICS_TTL.0 > now)
    }

    /// Returns whether anything is in force or must be remembered.
    pub(crate) fn hold(&self, now: u64) -> bool {
        let told = self.until > now && self.told.iter().any(Option::is_some);
        told || self.pause > now || self.learned.iter().any(Option::is_some) || self.synced + PERMIT_TIMEOUT.0 > now
    }

    pub(crate) fn apply(&mut self, control: &AdminCommand<'_>, now: u64) {
        match control {
            AdminCommand::Get => return,
            AdminCommand::Pause(moment) => self.pause = self.pause.max(moment.on(now)),
            AdminCommand::Resume => self.pause = 0,
            AdminCommand::Override { changes, expires } => {
                if self.until <= now {
                    self.told.fill(None);
                }
                if changes.iter().any(|change| matches!(change, LimitOverride::Set(_))) {
                    self.until = expires.map_or(MAX_TIME.0, |moment| moment.on(now));
                }
                for (told, change) in self.told.iter_mut().zip(*changes) {
                    match change {
                        LimitOverride::Keep => {}
                        LimitOverride::Remove => *told = None,
                        LimitOverride::Set(limit) => *told = Some(limit.clone()),
                    }
                }
            }
        }
        self.changed(now);
    }

    pub(crate) fn changed(&mut self, now: u64) {
        self.version = now.max(self.version + 1);
    }

    pub(crate) fn controls(&self, now: u64) -> RuntimeState {
        let span = |until: u64| (until > now).then(|| Micros(until - now));
        let overrides = if self.until > now { self.told.clone() } else { vec![None; self.told.len()] };
        let lasts = overrides.iter().any(Option::is_some) && self.until < MAX_TIME.0;
        RuntimeState {
            version: if self.hold(now) { self.version } else { 0 },
            in_use: false,
            paused_for: span(self.pause),
            expires_after: span(self.until).filter(|_| lasts),
            overrides,
            learned: self.learned.clone(),
        }
    }
}
