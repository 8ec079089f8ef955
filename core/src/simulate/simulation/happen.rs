//! Events of the scenario, and wake-ups of waiters.

use super::record::undecided;
use super::{Simulation, Step};
use crate::base::bounds::CLAIM_TIMEOUT;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::label::Label;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::{AdminCommand, Deadline};
use crate::simulate::event::EventKind;
use crate::simulate::job::{JobState, Phase};
use crate::simulate::timeline::JobOutcome;
use crate::store::signal_handling::SignalHandling;

impl Simulation {
    pub(super) fn happen(&mut self, event: usize) -> Result<()> {
        let changes;
        let command = match self.events[event] {
            EventKind::Crash { client, lasts } => {
                self.crash(client, lasts);
                return Ok(());
            }
            EventKind::Pause(lasts) => AdminCommand::Pause(Deadline::After(lasts)),
            EventKind::Resume => AdminCommand::Resume,
            // An override of a limit that the policy does not have has no effect.
            EventKind::Override { ref label, .. } if !self.has(label.as_ref()) => return Ok(()),
            EventKind::Override { ref label, amount, interval, lasts } => {
                let made = self.limiter.override_changes(label.as_deref(), amount, interval);
                changes = made.map_err(|error| caused(event, &error))?;
                AdminCommand::Override { changes: &changes, expires: lasts.map(Deadline::After) }
            }
        };
        let done = self.limiter.run(Operation::Admin { command }, SignalHandling::Ignore);
        if let Answer::RuntimeState(runtime_state) = done.map_err(|error| caused(event, &error))? {
            self.limit_history.change(self.now, &self.candidate.policy, &runtime_state);
            if let Some(lasts) = runtime_state.expires_after {
                self.plan_at(self.now + lasts.0, Step::Rouse);
            }
        }
        self.rouse();
        self.receive_wakeups();
        Ok(())
    }

    /// Returns whether the policy has the limit of an override, without a label any limit.
    fn has(&self, label: Option<&Label>) -> bool {
        let policy = &self.candidate.policy;
        label.map_or(!policy.limits().is_empty(), |label| policy.position(label).is_some())
    }

    /// Leases of the client's jobs stay until they expire.
    pub(super) fn crash(&mut self, client: usize, lasts: Option<Micros>) {
        let until = lasts.map_or(u64::MAX, |lasts| self.now + lasts.0);
        self.clients.crash(client, until);
        // Only waiting and running jobs have a known client.
        let is_here =
            |state: &JobState| state.client == client && matches!(state.phase, Phase::Queued | Phase::UnderWay);
        let jobs: Vec<usize> = (0..self.come).filter(|job| is_here(&self.job_states[*job])).collect();
        for job in jobs {
            if self.job_states[job].phase == Phase::UnderWay {
                self.under_way -= 1;
            } else {
                self.queued -= 1;
                self.done += 1;
                self.plan_at(self.next_look(job) + CLAIM_TIMEOUT.0, Step::Lapse { job });
            }
            self.totals.lost += 1;
            self.record(job, JobOutcome::Lost, &undecided());
            let state = &mut self.job_states[job];
            state.phase = Phase::Lost;
            state.turn += 1;
        }
        if lasts.is_some() {
            self.plan_at(until, Step::Back(client));
        }
    }

    /// Plans a request for each waiter that received a wake-up.
    pub(super) fn receive_wakeups(&mut self) {
        if self.queued == 0 {
            return;
        }
        let mut received = Vec::new();
        for hints in self.clients.all_hints() {
            received.extend(hints.receive().unwrap_or_default());
        }
        for hint in received {
            let Some(job) = hint.id.split_once('.').and_then(|(job, _)| job.parse::<usize>().ok()) else { continue };
            if self.job_states[job].phase == Phase::Queued && self.id(job) == hint.id {
                self.job_states[job].turn += 1;
                let turn = self.job_states[job].turn;
                let ends = self.gives_up_at(job).unwrap_or(u64::MAX);
                self.plan_at((self.now + hint.delay.0).min(ends), Step::Retry { job, turn });
            }
        }
    }
}

fn caused(event: usize, error: &Error) -> Error {
    let member = if error.argument() == Some("label") { ".label" } else { "" };
    Error::invalid("scenario", format!("at $.events[{event}]{member}: {}", error.message()))
}
