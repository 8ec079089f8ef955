//! Requests of jobs to the limiter, and the effects of its decisions.

use std::mem;

use super::record::undecided;
use super::{Simulation, Step};
use crate::base::bounds::CLAIM_TIMEOUT;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::micros::Micros;
use crate::client::admission::Admission;
use crate::client::reschedule::{Reschedule, backoff};
use crate::engine::queue::RECHECK;
use crate::model::decision::{Decision, Status, Ticket};
use crate::model::on_limit::OnLimit;
use crate::model::request::{QueuePosition, Request, Wait};
use crate::simulate::candidate::Retry;
use crate::simulate::draw::Rng;
use crate::simulate::job::{Job, Phase};
use crate::simulate::timeline::JobOutcome;

/// The number of positions in the queue behind which callers look less often where their time is not known.
const NEAR: u64 = 256;

impl Simulation {
    /// Gives a job to a client, or lets it wait for one.
    pub(super) fn start(&mut self, job: usize) -> Result<()> {
        self.job_states[job].phase = Phase::Before;
        match self.clients.take(job) {
            Some(client) => self.begin(job, client),
            None => Ok(()),
        }
    }

    pub(super) fn begin(&mut self, job: usize, client: usize) -> Result<()> {
        self.job_states[job].client = client;
        self.job_states[job].asked_at.get_or_insert(self.now);
        self.ask(job)
    }

    /// Asks the limiter, as the packages do.
    pub(super) fn ask(&mut self, job: usize) -> Result<()> {
        self.job_states[job].turn += 1;
        self.job_states[job].looked_at = self.now;
        self.totals.decisions += 1;
        if self.keeps() {
            self.limiter.standing(&mut self.left);
        }
        if self.job_states[job].phase == Phase::Queued {
            self.queued -= 1;
        }
        let decision = match self.decide(job) {
            Ok(decision) => decision,
            // The cost exceeds the capacity of a limit of the policy.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                let policy = &self.candidate.policy;
                let charge = self.jobs[job].cost.charge(policy);
                let exceeded = self.limit_history.limit_exceeded_by(self.now, policy, &charge);
                let label = exceeded.map(|exceeded| policy.limits()[exceeded].label().clone());
                self.leave(job, JobOutcome::Refused, &Decision { label, ..undecided() });
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        match decision.status {
            Status::Granted => self.grant(job, &decision),
            Status::Queued => self.queue(job, &decision)?,
            Status::Refused | Status::NoTicket => self.refuse(job, &decision),
        }
        self.receive_wakeups();
        Ok(())
    }

    pub(super) fn decide(&mut self, job: usize) -> Result<Decision> {
        let Job { cost, actual, .. } = &self.jobs[job];
        let corrects = actual.is_some() && self.candidate.corrects;
        let cost = cost.of(&self.candidate.policy);
        let request = if corrects { Request::estimate(cost.cost()) } else { Request::cost(cost.cost()) };
        let ends = self.gives_up_at(job);
        let patience = Micros(ends.map_or(0, |ends| ends - self.now));
        let state = &self.job_states[job];
        match self.candidate.retry {
            Retry::Wait { .. } => {}
            Retry::Ticket { .. } => {
                let wait = Admission::wait(OnLimit::Reschedule, None).map(|wait| Wait { max_wait: patience, ..wait });
                return self.limiter.acquire_with_id(request, &self.id(job), wait);
            }
            _ if corrects || self.candidate.policy.concurrency().is_some() => {
                return self.limiter.acquire_with_id(request, &self.id(job), None);
            }
            _ => return self.limiter.try_acquire(request),
        }
        let client = state.client;
        if self.clients.hints(client).is_none() && self.limiter.notification_node().is_some() {
            self.clients.listen(client, self.limiter.listen()?);
        }
        let wait = Wait {
            max_wait: patience,
            // It is alive, though it does not look as often as in production; see `rouse`.
            claim_timeout: patience.max(CLAIM_TIMEOUT),
            keep: Micros(0),
            channel: self.clients.hints(client).map_or("", |hints| hints.channel()),
            position: state.ticket.map_or(QueuePosition::End, QueuePosition::Number),
            is_run: false,
        };
        self.limiter.acquire_with_id(request, &self.id(job), Some(wait))
    }

    pub(super) fn grant(&mut self, job: usize, decision: &Decision) {
        let state = &mut self.job_states[job];
        (state.phase, state.permit) = (Phase::UnderWay, decision.permit.clone());
        state.granted_at = Some(self.now);
        state.lease_end = decision.lease.map_or(0, |lease| self.now + lease.0);
        let turn = state.turn;
        self.under_way += 1;
        self.done += 1;
        // A call without cost is not a start.
        self.starts += self.jobs[job].cost.charge(&self.candidate.policy).most().min(1);
        self.record(job, JobOutcome::Granted, decision);
        match &self.upstream {
            Some((_, upstream)) => self.plan_at(self.now + upstream.latency.0, Step::Reach { job, turn }),
            None => self.plan_end(job),
        }
    }

    pub(super) fn queue(&mut self, job: usize, decision: &Decision) -> Result<()> {
        let Some(ends) = self.gives_up_at(job) else {
            return Err(Error::internal("unexpected ticket for a job that does not wait"));
        };
        if self.job_states[job].ticket.is_none() {
            self.record(job, JobOutcome::Queued, decision);
        }
        let state = &mut self.job_states[job];
        state.ticket = decision.ticket.map(|ticket| ticket.number);
        let (client, turn) = (state.client, state.turn);
        let after = if self.stands() {
            (self.job_states[job].phase, self.queued) = (Phase::Queued, self.queued + 1);
            let look = decision.retry_after.unwrap_or_default();
            // Of several limits the time is an estimate, which may be much too long.
            let is_exact = self.candidate.policy.limits().len() == 1;
            let sleep = match decision.ticket {
                Some(Ticket { ready_after: Some(ready), .. }) if is_exact => ready.max(look),
                Some(Ticket { position, .. }) => Micros(look.0 * (1 + position / NEAR)),
                None => look,
            };
            if sleep > look {
                self.asleep.push((job, turn));
            }
            Some(sleep)
        } else {
            self.job_states[job].phase = Phase::Away;
            self.clients.give(client);
            Admission::of(decision.clone(), OnLimit::Reschedule).after
        };
        self.plan_at((self.now + after.unwrap_or_default().0).min(ends), Step::Retry { job, turn });
        Ok(())
    }

    /// Lets the waiting callers look, because their turns may come earlier than they know. In production each looks every few
    /// seconds; here only those look to whom something new may have happened, or long queues would take the square of their time.
    pub(super) fn rouse(&mut self) {
        for (job, turn) in mem::take(&mut self.asleep) {
            if self.job_states[job].turn == turn {
                self.plan_at(self.next_look(job), Step::Retry { job, turn });
            }
        }
    }

    /// Returns when a waiting caller would look next.
    pub(super) fn next_look(&self, job: usize) -> u64 {
        let from = self.job_states[job].looked_at;
        from + ((self.now - from) / RECHECK.0 + 1) * RECHECK.0
    }

    /// Returns whether jobs with a ticket wait in the queue, keeping their client.
    pub(super) fn stands(&self) -> bool {
        matches!(self.candidate.retry, Retry::Wait { .. })
    }

    /// Returns the time at which a job gives up waiting in the queue.
    pub(super) fn gives_up_at(&self, job: usize) -> Option<u64> {
        let (Retry::Wait { wait } | Retry::Ticket { wait }) = self.candidate.retry else { return None };
        // A job that has waited longer than that for a client asks once.
        Some(self.job_states[job].asked_at.unwrap_or(self.now).saturating_add(wait.0).max(self.now))
    }

    /// Retries the job if its policy's retry behaviour permits; otherwise ends it.
    pub(super) fn refuse(&mut self, job: usize, decision: &Decision) {
        match (self.candidate.retry, self.delay(job)) {
            (_, Some(delay)) => self.put_off(job, delay, JobOutcome::Retries, decision),
            (Retry::Never, None) => self.leave(job, JobOutcome::Refused, decision),
            _ => self.leave(job, JobOutcome::GaveUp, decision),
        }
    }

    /// Returns the delay until a refused job retries; `None` when it does not.
    pub(super) fn delay(&self, job: usize) -> Option<u64> {
        let attempt = self.job_states[job].attempt;
        let mut draw = Rng::of_try(self.seed, job, attempt);
        match self.candidate.retry {
            Retry::Never | Retry::Wait { .. } | Retry::Ticket { .. } => None,
            Retry::Linear { attempts } => {
                let overrated = Reschedule { cap: attempts }.next(attempt)?;
                let drawn = u32::try_from(draw.below(300)).unwrap_or(0);
                Some(backoff(overrated, drawn).0)
            }
            Retry::Exponential { attempts, base, cap } => {
                let most = 1_u64.checked_shl(attempt).map_or(cap.0, |factor| base.0.saturating_mul(factor).min(cap.0));
                (attempt < attempts).then(|| 1 + draw.below(most))
            }
        }
    }

    /// Frees the client and plans a retry.
    pub(super) fn put_off(&mut self, job: usize, delay: u64, outcome: JobOutcome, decision: &Decision) {
        self.record(job, outcome, decision);
        let state = &mut self.job_states[job];
        state.attempt += 1;
        state.turn += 1;
        (state.phase, state.ticket) = (Phase::Away, None);
        let (client, turn) = (state.client, state.turn);
        self.plan_at(self.now + delay, Step::Retry { job, turn });
        self.clients.give(client);
    }

    /// Ends a job that was not granted.
    pub(super) fn leave(&mut self, job: usize, outcome: JobOutcome, decision: &Decision) {
        match outcome {
            JobOutcome::GaveUp => {
                self.totals.gave_up += 1;
                self.rouse();
            }
            _ => self.totals.refused += 1,
        }
        self.record(job, outcome, decision);
        self.done += 1;
        self.finish(job);
    }

    /// Ends a job and frees its client.
    pub(super) fn finish(&mut self, job: usize) {
        let state = &mut self.job_states[job];
        state.phase = Phase::Done;
        state.turn += 1;
        self.clients.give(state.client);
    }
}
