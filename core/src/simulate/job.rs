//! `Job`: one arrival, and its state.

use super::draw::{Rng, Stream};
use super::scenario::Scenario;
use super::units::Units;

/// One arrival.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Microseconds from the start.
    pub(super) at: u64,
    /// The requested cost; an estimate when there is an actual cost.
    pub(super) cost: Units,
    pub(super) actual: Option<Units>,
    /// The duration of the call in microseconds.
    pub(super) work: u64,
}

/// The state of a job under one policy.
#[derive(Clone, Debug, Default)]
pub(super) struct JobState {
    pub(super) phase: Phase,
    /// Incremented with every change, so that steps planned earlier are skipped.
    pub(super) turn: u32,
    /// The number of earlier attempts.
    pub(super) attempt: u32,
    pub(super) client: usize,
    /// The time at which it first asked for a position in the queue.
    pub(super) asked_at: Option<u64>,
    /// The time at which it last asked.
    pub(super) looked_at: u64,
    /// The number of its ticket.
    pub(super) ticket: Option<u64>,
    pub(super) permit: Option<String>,
    /// The time at which it was granted, unless the upstream refused it.
    pub(super) granted_at: Option<u64>,
    /// The time at which its lease expires.
    pub(super) lease_end: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not arrived, or waits for a client.
    #[default]
    Before,
    /// It has a ticket.
    Queued,
    /// It will return later.
    Away,
    UnderWay,
    Done,
    /// Its client has crashed.
    Lost,
}

impl Phase {
    /// Returns whether the job is complete.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Lost)
    }
}

impl Job {
    /// Returns all jobs of a scenario in the order of arrival, identical for every policy.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let mut costs = Rng::new(scenario.seed, Stream::Costs);
        let mut actuals = Rng::new(scenario.seed, Stream::Actuals);
        let mut work = Rng::new(scenario.seed, Stream::Work);
        let mut jobs: Vec<Self> = (scenario.arrivals.times(scenario.seed).into_iter())
            .map(|at| Self {
                at,
                cost: scenario.cost.draw(&mut costs),
                actual: scenario.actual.as_ref().map(|actual| actual.draw(&mut actuals)),
                work: scenario.work.draw(&mut work),
            })
            .collect();
        for (job, traced) in jobs.iter_mut().zip(scenario.arrivals.traced().unwrap_or_default()) {
            traced.replace(&mut job.cost, &mut job.actual);
            job.work = traced.work.unwrap_or(job.work);
        }
        jobs
    }

    /// Returns the final cost.
    pub(super) fn units(&self) -> &Units {
        self.actual.as_ref().unwrap_or(&self.cost)
    }
}
