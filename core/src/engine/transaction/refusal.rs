//! What a refusal becomes in shadow, and refusals that lead to a block. Twin of `refusal.lua`.

use crate::base::charge::Charge;
use crate::base::micros::MAX_TIME;
use crate::engine::overrides::Overrides;
use crate::engine::state::{Evaluation, State};
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::policy::Policy;

impl State {
    /// Returns the mode in force: an override's, else the caller's.
    pub(crate) fn mode(&self, own: &Policy, now: u64) -> Mode {
        self.overrides.as_ref().and_then(|overrides| overrides.mode(now)).unwrap_or(own.mode())
    }

    /// Returns the decision in the mode that rules, and whether a wait holds nobody up. In shadow the limits and a block that
    /// refusals set do not, but a pause and a block that a command set do.
    pub(crate) fn in_mode(&self, own: &Policy, now: u64, evaluation: Evaluation) -> (Evaluation, bool) {
        if evaluation.wait == 0 {
            return (evaluation, false);
        }
        let (paused, blocked, until) = self
            .overrides
            .as_ref()
            .map_or((0, 0, MAX_TIME.0), |overrides| (overrides.paused_until, overrides.blocked_until, overrides.until));
        let pause = paused.max(blocked).saturating_sub(now);
        match self.mode(own, now) {
            Mode::Shadow if pause == 0 => (evaluation, true),
            Mode::Shadow => {
                let index = own.limits().len() + usize::from(blocked > paused);
                (Evaluation { index, ..evaluation.closed(pause) }, false)
            }
            Mode::Enforce if own.mode() == Mode::Shadow && until < MAX_TIME.0 => {
                // The call passes in shadow when the override of the mode ends.
                let ends = (until - now).max(pause);
                let (wait, rate) = (evaluation.wait.min(ends), evaluation.rate.min(ends));
                (Evaluation { wait, rate, ..evaluation }, false)
            }
            Mode::Enforce => (evaluation, false),
        }
    }

    /// Counts a refusal, also one that only shadow lets pass, and returns whether it may lead to a block. Those by a limit
    /// do, but not during a block, so that it ends.
    pub(crate) fn count_refusal(
        &mut self,
        own: &Policy,
        now: u64,
        charge: &Charge,
        evaluation: &Evaluation,
        would_refuse: bool,
    ) -> bool {
        if would_refuse {
            self.counters.others().shadow_refused += 1;
        } else {
            self.counters.refuse(now, own.limits().get(evaluation.index).map(Limit::label));
        }
        let is_by_limit = charge.most() > 0 && evaluation.index < own.limits().len();
        let is_blocked = self.overrides.as_ref().is_some_and(|overrides| overrides.block() > now);
        let Some(rule) = own.block_after().filter(|_| is_by_limit && !is_blocked) else {
            return false;
        };
        let held = self.overrides.take().filter(|overrides| overrides.hold(now));
        let mut overrides = held.unwrap_or_else(|| Box::new(Overrides::default()));
        overrides.count_refusal(rule, now);
        self.overrides = Some(overrides);
        true
    }
}
