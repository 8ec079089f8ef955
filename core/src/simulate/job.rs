//! `Job`: one arrival, and where it is.

use super::draw::{Rng, Stream};
use super::scenario::Scenario;

/// One arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Microseconds from the start.
    pub(super) at: u64,
    /// What it takes of the limits; an estimate when there is an actual cost.
    pub(super) cost: u64,
    pub(super) actual: Option<u64>,
    /// How long it takes in microseconds.
    pub(super) work: u64,
}

/// Where a job is with one of the policies.
#[derive(Clone, Debug, Default)]
pub(super) struct JobState {
    pub(super) phase: Phase,
    /// Rises with every change, so that what was planned before is not done.
    pub(super) turn: u32,
    /// How often it was refused or throttled, and came again.
    pub(super) attempt: u32,
    pub(super) client: usize,
    /// When it first asked for its place in the queue.
    pub(super) asked_at: Option<u64>,
    /// The number of its ticket.
    pub(super) ticket: Option<u64>,
    pub(super) permit: Option<String>,
    /// When it went ahead, unless upstream has refused it.
    pub(super) granted_at: Option<u64>,
    /// When its lease ends by itself.
    pub(super) lease_end: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not come, or waits for a client.
    #[default]
    Before,
    /// It has a ticket.
    Queued,
    /// It comes again later.
    Away,
    UnderWay,
    Done,
    /// Its client has died.
    Lost,
}

impl Phase {
    /// Whether nothing more happens to it.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Lost)
    }
}

impl Job {
    /// All jobs of a scenario in the order of their arrival: the same for every policy.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let mut costs = Rng::new(scenario.seed, Stream::Costs);
        let mut actuals = Rng::new(scenario.seed, Stream::Actuals);
        let mut work = Rng::new(scenario.seed, Stream::Work);
        let mut jobs: Vec<Self> = (scenario.arrivals.times(scenario.seed).into_iter())
            .map(|at| Self {
                at,
                cost: scenario.cost.draw(&mut costs),
                actual: scenario.actual.map(|actual| actual.draw(&mut actuals)),
                work: scenario.work.draw(&mut work),
            })
            .collect();
        for (job, traced) in jobs.iter_mut().zip(scenario.arrivals.traced().unwrap_or_default()) {
            job.cost = traced.cost.unwrap_or(job.cost);
            job.actual = traced.actual.or(job.actual);
            job.work = traced.work.unwrap_or(job.work);
        }
        jobs
    }

    /// What it takes in the end.
    pub(super) fn units(&self) -> u64 {
        self.actual.unwrap_or(self.cost)
    }
}
