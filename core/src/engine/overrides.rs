//! `Overrides`: the overrides, the learned limits and the pause in the state. Twin of `overrides.lua`.

use std::borrow::Cow;

use crate::base::error::Result;
use crate::base::micros::{MAX_TIME, Micros};
use crate::model::block_after::BlockAfter;
use crate::model::inspection::LimitSource;
use crate::model::label::{Label, MAX_LABELS, too_many_labels};
use crate::model::limit::{Kind, Limit};
use crate::model::mode::Mode;
use crate::model::overrides::{AdminCommand, LimitOverride, RuntimeState};
use crate::model::permit::PERMIT_TIMEOUT;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;

/// The stored overrides, learned limits and pause of a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) version: u64,
    /// The end of the pause.
    pub(crate) paused_until: u64,
    /// The end of the overrides in `overridden`.
    pub(crate) until: u64,
    /// The time of the call whose report was applied last.
    pub(crate) reported_at: u64,
    overridden: Vec<Limit>,
    /// The overriding mode, which ends with the overrides.
    mode: Option<Mode>,
    /// The end of the block by a command.
    pub(crate) blocked_until: u64,
    /// The end of the block by refusals.
    barred_until: u64,
    /// The end of the time in which refusals are counted, and their number.
    counted_until: u64,
    refusals: u64,
    pub(crate) learned: Vec<Limit>,
}

impl Overrides {
    /// Returns `own` with active overrides and learned limits applied.
    pub(crate) fn policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        if own.limits().iter().all(|limit| self.overridden(limit, now).is_none() && self.learned(limit).is_none()) {
            return Cow::Borrowed(own);
        }
        Cow::Owned(own.with(|_, limit| {
            let ruling = match (self.overridden(limit, now), self.learned(limit)) {
                // An overridden bucket keeps the interval boundaries of the upstream.
                (Some(overridden), Some(learned))
                    if overridden.kind() == Kind::Bucket && overridden.interval() == learned.interval() =>
                {
                    overridden
                        .with_numbers(overridden.amount(), overridden.interval(), learned.offset())
                        .unwrap_or_else(|_| overridden.clone())
                }
                // Only the number of a quota changes.
                (overridden, learned) if limit.kind() == Kind::Quota => {
                    let amount = overridden.or(learned).unwrap_or(limit).amount();
                    limit.with_numbers(amount, limit.interval(), limit.offset()).unwrap_or_else(|_| limit.clone())
                }
                (overridden, learned) => overridden.or(learned).unwrap_or(limit).clone(),
            };
            ruling.in_place_of(limit, self.learned(limit))
        }))
    }

    /// Returns the active override of a limit.
    fn overridden(&self, limit: &Limit, now: u64) -> Option<&Limit> {
        self.overridden.iter().find(|other| other.is_same(limit)).filter(|_| self.until > now)
    }

    /// Returns the active override of the mode.
    #[inline]
    pub(crate) fn mode(&self, now: u64) -> Option<Mode> {
        self.mode.filter(|_| self.until > now)
    }

    /// Returns the end of the block, by a command or by refusals.
    #[inline]
    pub(crate) fn block(&self) -> u64 {
        self.blocked_until.max(self.barred_until)
    }

    /// Counts a refusal by a limit.
    pub(crate) fn count_refusal(&mut self, rule: &BlockAfter, now: u64) {
        if self.counted_until <= now {
            (self.counted_until, self.refusals) = ((now + rule.within().0).min(MAX_TIME.0), 0);
        }
        self.refusals += 1;
        if self.refusals >= rule.refusals() {
            (self.counted_until, self.refusals) = (0, 0);
            self.barred_until = self.barred_until.max((now + rule.lasts().0).min(MAX_TIME.0));
            self.changed(now);
        }
    }

    /// Returns the learned numbers of a limit.
    pub(crate) fn learned(&self, limit: &Limit) -> Option<&Limit> {
        self.learned.iter().find(|other| other.is_same(limit))
    }

    /// Returns whose numbers of a limit rule.
    pub(crate) fn source(&self, limit: &Limit, now: u64) -> LimitSource {
        match (self.overridden(limit, now), self.learned(limit)) {
            (Some(_), _) => LimitSource::Override,
            (None, Some(_)) => LimitSource::Learned,
            (None, None) => LimitSource::Policy,
        }
    }

    /// Stores the learned numbers of a limit.
    pub(crate) fn learn(&mut self, limit: Limit) {
        put(&mut self.learned, limit);
    }

    /// Returns an error when these and the limits of `policy` have more labels than a name may have.
    pub(crate) fn check_labels(&self, policy: &Policy) -> Result<()> {
        let mut limits: Vec<&Limit> = self.overridden.iter().collect();
        for limit in self.learned.iter().chain(policy.limits()) {
            if !limits.iter().any(|other| other.is_same(limit)) {
                limits.push(limit);
            }
        }
        if limits.len() > MAX_LABELS { Err(too_many_labels()) } else { Ok(()) }
    }

    /// Returns the end of the override of one limit, if it is active and has an end.
    #[inline]
    pub(crate) fn end(&self, limit: &Limit, now: u64) -> Option<u64> {
        (self.until < MAX_TIME.0 && self.overridden(limit, now).is_some()).then_some(self.until)
    }

    /// Returns whether forgetting the overrides changes a decision, after a call at `last`.
    pub(crate) fn affects_decisions(&self, last: u64, now: u64) -> bool {
        let overridden = (!self.overridden.is_empty() || self.mode.is_some()) && self.until > now;
        // What was taken under an override counts again under the policy, by other times than the record's.
        let counts_again = !self.overridden.is_empty() && last < self.until;
        let kept = last + DEFAULT_STATISTICS_TTL.0 > now && (!self.learned.is_empty() || counts_again);
        self.paused_until.max(self.block()).max(self.counted_until) > now
            || kept
            || overridden && (self.until < MAX_TIME.0 || last + DEFAULT_STATISTICS_TTL.0 > now)
    }

    /// Returns whether anything is in force or must be remembered.
    pub(crate) fn hold(&self, now: u64) -> bool {
        let overridden = self.until > now && (!self.overridden.is_empty() || self.mode.is_some());
        let is_closed = self.paused_until.max(self.block()).max(self.counted_until) > now;
        overridden || is_closed || !self.learned.is_empty() || self.reported_at + PERMIT_TIMEOUT.0 > now
    }

    pub(crate) fn apply(&mut self, control: &AdminCommand<'_>, now: u64) {
        match control {
            AdminCommand::Get => return,
            AdminCommand::Pause(moment) => self.paused_until = self.paused_until.max(moment.on(now)),
            AdminCommand::Block(moment) => self.blocked_until = self.blocked_until.max(moment.on(now)),
            AdminCommand::Resume => {
                (self.paused_until, self.blocked_until, self.barred_until) = (0, 0, 0);
                (self.counted_until, self.refusals) = (0, 0);
            }
            AdminCommand::Override { changes, expires } => {
                if self.until <= now {
                    (self.overridden, self.mode) = (Vec::new(), None);
                }
                if changes.iter().any(LimitOverride::sets) {
                    self.until = expires.map_or(MAX_TIME.0, |moment| moment.on(now));
                }
                for change in *changes {
                    match change {
                        LimitOverride::Set(limit) => {
                            self.remove(limit.label());
                            self.overridden.push(limit.stored());
                        }
                        LimitOverride::Remove(label) => self.remove(label),
                        LimitOverride::RemoveAll => (self.overridden, self.mode) = (Vec::new(), None),
                        LimitOverride::Mode(mode) => self.mode = Some(*mode),
                        LimitOverride::RemoveMode => self.mode = None,
                    }
                }
            }
        }
        self.changed(now);
    }

    fn remove(&mut self, label: &Label) {
        self.overridden.retain(|limit| limit.label() != label);
    }

    pub(crate) fn changed(&mut self, now: u64) {
        self.version = now.max(self.version + 1);
    }

    pub(crate) fn runtime_state(&self, now: u64) -> RuntimeState {
        let span = |until: u64| (until > now).then(|| Micros(until - now));
        let overrides = if self.until > now { self.overridden.clone() } else { Vec::new() };
        let mode = self.mode(now);
        let lasts = (!overrides.is_empty() || mode.is_some()) && self.until < MAX_TIME.0;
        RuntimeState {
            version: if self.hold(now) { self.version } else { 0 },
            in_use: false,
            paused_for: span(self.paused_until),
            blocked_for: span(self.block()),
            mode,
            expires_after: span(self.until).filter(|_| lasts),
            overrides,
            learned: self.learned.iter().map(Limit::stored).collect(),
        }
        .sorted()
    }
}

/// Adds a limit, or replaces the one with its label and kind.
fn put(limits: &mut Vec<Limit>, limit: Limit) {
    match limits.iter_mut().find(|other| other.is_same(&limit)) {
        Some(other) => *other = limit,
        None => limits.push(limit),
    }
}
