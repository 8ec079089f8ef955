//! A granted call: upstream, end and settlement.

use super::record::undecided;
use super::{DEFAULT_RETRY, Simulation, Step};
use crate::base::error::{ErrorKind, Result};
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::operation::Operation;
use crate::model::overrides::{AdminCommand, Deadline};
use crate::model::request::Request;
use crate::simulate::candidate::Retry;
use crate::simulate::job::JobState;
use crate::simulate::timeline::JobOutcome;
use crate::store::signal_handling::SignalHandling;

impl Simulation {
    /// Ends a granted call.
    pub(super) fn end(&mut self, job: usize) -> Result<()> {
        self.settle(job, false)?;
        self.finish(job);
        self.receive_wakeups();
        Ok(())
    }

    /// Reports the actual cost of a call, or that it cost nothing, and releases its lease.
    pub(super) fn settle(&mut self, job: usize, cost_nothing: bool) -> Result<()> {
        self.under_way -= 1;
        self.held += self.held_by(job, self.now);
        let Some(permit) = self.job_states[job].permit.take() else { return Ok(()) };
        if let Some(actual) = self.jobs[job].actual.as_ref().filter(|_| self.candidate.corrects) {
            let actual = actual.of(&self.candidate.policy);
            let actual = if cost_nothing { Cost::Units(0) } else { actual.cost() };
            self.limiter.run(Operation::Correct { permit: &permit, actual }, SignalHandling::Ignore)?;
            self.rouse();
        }
        if self.candidate.policy.concurrency().is_some() {
            self.limiter.run(Operation::Release { permit: &permit }, SignalHandling::Ignore)?;
        }
        Ok(())
    }

    /// Handles a call that reaches the upstream, which has its own limits.
    pub(super) fn reach(&mut self, job: usize) -> Result<()> {
        let Some((limiter, upstream)) = &self.upstream else { return Ok(()) };
        let learns = upstream.learns;
        let units = self.jobs[job].units().of(&upstream.policy);
        let decision = match limiter.try_acquire(Request::cost(units.cost())) {
            Ok(decision) if decision.allowed() => {
                self.plan_end(job);
                return Ok(());
            }
            // The decision is not one of the policy.
            Ok(decision) => Decision { label: None, reason: None, ..decision },
            // The cost exceeds the capacity of an upstream limit.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.undo(job)?;
                self.leave(job, JobOutcome::Throttled, &undecided());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // A limiter without limits ignores a pause.
        let learns = learns && self.limiter.notification_node().is_some();
        if let (true, Some(retry)) = (learns, decision.retry_after) {
            let command = AdminCommand::Pause(Deadline::After(retry));
            self.limiter.run(Operation::Admin { command }, SignalHandling::Ignore)?;
        }
        self.undo(job)?;
        let retry_after = decision.retry_after.map_or(DEFAULT_RETRY, |retry| retry.0.max(1));
        let delay = match self.gives_up_at(job) {
            Some(ends) => (self.now + retry_after < ends).then_some(retry_after),
            None => self.delay(job),
        };
        match delay {
            Some(delay) => self.put_off(job, delay, JobOutcome::Throttled, &decision),
            None if self.candidate.retry == Retry::Never => self.leave(job, JobOutcome::Throttled, &decision),
            None => self.leave(job, JobOutcome::GaveUp, &decision),
        }
        Ok(())
    }

    /// Refunds a call that the upstream refused.
    fn undo(&mut self, job: usize) -> Result<()> {
        self.totals.throttled += 1;
        self.settle(job, true)?;
        self.job_states[job].granted_at = None;
        self.done -= 1;
        self.receive_wakeups();
        Ok(())
    }

    pub(super) fn plan_end(&mut self, job: usize) {
        let (turn, work) = (self.job_states[job].turn, self.jobs[job].work);
        self.plan_at(self.now + work, Step::End { job, turn });
    }

    /// Returns how long a granted call has had its lease at a time.
    pub(super) fn held_by(&self, job: usize, at: u64) -> u128 {
        let JobState { granted_at, lease_end, .. } = self.job_states[job];
        u128::from(at.min(lease_end).saturating_sub(granted_at.unwrap_or(at)))
    }
}
