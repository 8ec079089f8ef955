//! `Simulation`: one policy of a scenario, event by event.

mod ask;
mod call;
mod happen;
mod record;
mod sum;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::candidate::PolicyUnderTest;
use super::clients::Clients;
use super::event::EventKind;
use super::job::{Job, JobState, Phase};
use super::limit_history::LimitHistory;
use super::scenario::{Scenario, Upstream};
use super::timeline::{MAX_ROWS, Timeline};
use super::totals::Totals;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::base::test_clock::TestClock;
use crate::client::limiter::Limiter;
use crate::client::paddlegate::Paddlegate;
use crate::model::operation::Operation;
use crate::store::signal_handling::SignalHandling;

/// The maximum number of decisions in a simulation; jobs that are incomplete then stay pending.
pub const MAX_DECISIONS: u64 = 20_000_000;

/// The store's time at the start: 2026-01-01T00:00:00Z, the start of a day and an hour.
const START: u64 = 1_767_225_600_000_000;

/// The retry delay after an upstream refusal without one.
const DEFAULT_RETRY: u64 = 1_000_000;

/// One policy of a scenario on a virtual clock.
///
/// # Examples
///
/// ```
/// # use paddlegate::simulate::{JobOutcome, Scalar, Scenario, Simulation};
/// # let scenario = Scenario::read([
/// #     ("policies[0].limits[0].kind", Scalar::from("window")),
/// #     ("policies[0].limits[0].limit", Scalar::Whole(1)),
/// #     ("policies[0].limits[0].interval", Scalar::from("1s")),
/// #     ("arrivals.kind", Scalar::from("jobs")),
/// #     ("arrivals.count", Scalar::Whole(2)),
/// # ])?;
/// let mut simulation = Simulation::new(&scenario, 0)?; // one unit a second, and two jobs at once
/// assert!(simulation.run(1)?, "a decision at a time, to show the progress");
/// assert!(!simulation.run(1_000)?);
/// let timeline = simulation.timeline();
/// assert_eq!(timeline.outcome, [JobOutcome::Granted as u8, JobOutcome::Refused as u8]);
/// assert_eq!(simulation.headers(1)[2], ("Retry-After", "1".to_owned()));
/// let mut row = String::new();
/// timeline.write_row(0, &mut row);
/// assert_eq!(row, "0,0,0,0,granted,1,0,0,0,1,0,0,1\n");
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub struct Simulation {
    candidate: PolicyUnderTest,
    limiter: Limiter,
    upstream: Option<(Limiter, Upstream)>,
    seed: u64,
    until: Option<u64>,
    burst_interval: u64,
    jobs: Vec<Job>,
    job_states: Vec<JobState>,
    clients: Clients,
    events: Vec<EventKind>,
    plan: BinaryHeap<Reverse<(u64, Step, u64)>>,
    planned: u64,
    /// The number of jobs that have arrived.
    come: usize,
    now: u64,
    /// The clock of the limiters.
    clock: TestClock,
    under_way: u32,
    done: u64,
    records: bool,
    most_decisions: u64,
    most_rows: u64,
    /// The number of rows, including rows that are not kept.
    rows: u64,
    /// The remaining units of each limit before the decision, and after it.
    left: Vec<u64>,
    levels: Vec<u64>,
    timeline: Timeline,
    /// The counters of the run so far.
    totals: Totals,
    /// The number of waiters.
    queued: u64,
    /// The waiters that do not look every few seconds, with the turn in which they began to sleep.
    asleep: Vec<(usize, u32)>,
    /// The limits in force over time.
    limit_history: LimitHistory,
    /// The number of calls that started, including those that the upstream refused.
    starts: u64,
    /// The total time of all released leases.
    held: u128,
}

/// The next step. Steps at the same time run in the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A call has ended.
    End { job: usize, turn: u32 },
    /// An event of the scenario.
    Event(usize),
    /// A client recovers.
    Back(usize),
    /// An override has ended.
    Rouse,
    /// The ticket of a job whose client has crashed is no longer waited for.
    Lapse { job: usize },
    /// A call reaches the upstream.
    Reach { job: usize, turn: u32 },
    /// A job asks the limiter again.
    Retry { job: usize, turn: u32 },
}

impl Simulation {
    /// Creates a simulation of one policy, counted from 0, with its whole timeline.
    pub fn new(scenario: &Scenario, policy: usize) -> Result<Self> {
        let Some(candidate) = scenario.policies.get(policy).cloned() else {
            let count = scenario.policies.len();
            return Err(Error::invalid(
                "policy",
                format!("must be below the number of policies: policy={policy} policies={count}"),
            ));
        };
        let clock = TestClock::new(Micros(START))?;
        let limiter = Paddlegate::memory_with_clock(&clock).limiter("simulated", candidate.policy.clone())?;
        let upstream = scenario.upstream.clone().map(|upstream| {
            let limiter = Paddlegate::memory_with_clock(&clock).limiter("upstream", upstream.policy.clone())?;
            Ok((limiter, upstream))
        });
        let jobs = Job::all(scenario);
        let mut simulation = Self {
            limiter,
            upstream: upstream.transpose()?,
            seed: scenario.seed,
            until: scenario.until.map(|until| until.0),
            burst_interval: scenario.burst_interval().0,
            job_states: vec![JobState::default(); jobs.len()],
            jobs,
            clients: Clients::new(scenario.clients, scenario.at_once),
            events: scenario.events.iter().map(|event| event.what.clone()).collect(),
            plan: BinaryHeap::new(),
            planned: 0,
            come: 0,
            now: 0,
            clock,
            under_way: 0,
            done: 0,
            records: true,
            most_decisions: MAX_DECISIONS,
            most_rows: MAX_ROWS as u64,
            rows: 0,
            left: Vec::new(),
            levels: Vec::new(),
            timeline: Timeline::new(candidate.policy.limits().len()),
            totals: Totals { name: candidate.name.clone(), ..Totals::default() },
            queued: 0,
            asleep: Vec::new(),
            limit_history: LimitHistory::new(&candidate.policy, START),
            starts: 0,
            held: 0,
            candidate,
        };
        for (i, event) in scenario.events.iter().enumerate() {
            simulation.plan_at(event.at.0, Step::Event(i));
        }
        Ok(simulation)
    }

    /// Returns the simulation without a timeline: totals only.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::simulate::{Scalar, Scenario, Simulation};
    /// # let scenario = Scenario::read([
    /// #     ("policies[0].limits[0].kind", Scalar::from("unlimited")),
    /// #     ("arrivals.kind", Scalar::from("jobs")),
    /// #     ("arrivals.count", Scalar::Whole(2)),
    /// # ])?;
    /// let mut simulation = Simulation::new(&scenario, 0)?.without_timeline();
    /// while simulation.run(1_000)? {}
    /// assert_eq!((simulation.totals().granted, simulation.timeline().len()), (2, 0));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn without_timeline(mut self) -> Self {
        self.records = false;
        self
    }

    /// Runs until `decisions` more decisions are made. Returns whether steps remain.
    ///
    /// `Invalid` when an event of the scenario does not apply to this policy.
    pub fn run(&mut self, decisions: u64) -> Result<bool> {
        let most = self.totals.decisions.saturating_add(decisions).min(self.most_decisions);
        while self.totals.decisions < most {
            if let Some((job, client)) = self.clients.call_next() {
                self.begin(job, client)?;
                continue;
            }
            let Some((at, is_planned)) = self.next() else { break };
            self.advance(at)?;
            if is_planned {
                let Some(Reverse((_, step, _))) = self.plan.pop() else { break };
                self.step(step)?;
            } else {
                let job = self.come;
                self.come += 1;
                self.start(job)?;
            }
        }
        let is_more = self.clients.may_call() || self.next().is_some();
        self.totals.cut_off = is_more && self.totals.decisions >= self.most_decisions;
        if !is_more {
            self.advance(self.until.unwrap_or(self.now))?;
            self.note_levels();
        }
        Ok(is_more && !self.totals.cut_off)
    }

    /// Returns the time of the next step, and whether the step was planned or is an arrival.
    fn next(&mut self) -> Option<(u64, bool)> {
        // Cancelled steps must not advance the clock.
        while self.plan.peek().is_some_and(|Reverse((at, step, _))| self.is_off(*at, *step)) {
            self.plan.pop();
        }
        let arrival = self.jobs.get(self.come).map(|job| job.at);
        let planned = self.plan.peek().map(|Reverse((at, ..))| *at);
        // Earlier jobs go first.
        let next = match (planned, arrival) {
            (Some(planned), arrival) if arrival.is_none_or(|arrival| planned <= arrival) => (planned, true),
            (_, arrival) => (arrival?, false),
        };
        Some(next).filter(|(at, _)| self.until.is_none_or(|until| *at < until))
    }

    fn is_off(&self, at: u64, step: Step) -> bool {
        match step {
            Step::End { job, turn } | Step::Reach { job, turn } | Step::Retry { job, turn } => {
                self.job_states[job].turn != turn
            }
            Step::Back(client) => self.clients.is_dead_beyond(client, at),
            Step::Event(_) => false,
            // Nobody asks any more.
            Step::Lapse { .. } | Step::Rouse => self.done == self.jobs.len() as u64 && self.under_way == 0,
        }
    }

    /// Returns the approximate progress, from 0 to 1.
    #[allow(clippy::cast_precision_loss, reason = "it is shown to people")]
    pub fn progress(&self) -> f64 {
        let jobs = if self.jobs.is_empty() { 1.0 } else { self.done as f64 / self.jobs.len() as f64 };
        self.until.map_or(jobs, |until| jobs.max(self.now as f64 / until as f64))
    }

    fn step(&mut self, step: Step) -> Result<()> {
        match step {
            Step::End { job, .. } => self.end(job),
            Step::Reach { job, .. } => self.reach(job),
            Step::Retry { job, .. } if self.job_states[job].phase == Phase::Queued => self.ask(job),
            Step::Retry { job, .. } => self.start(job),
            Step::Event(event) => self.happen(event),
            Step::Back(client) => {
                self.clients.revive(client);
                Ok(())
            }
            Step::Rouse => {
                self.rouse();
                Ok(())
            }
            Step::Lapse { job } => {
                let id = self.id(job);
                self.limiter.run(Operation::Cancel { id: &id, gave_up: false }, SignalHandling::Ignore)?;
                self.rouse();
                self.receive_wakeups();
                Ok(())
            }
        }
    }

    /// A retry gets a new id, so it counts as a new request.
    fn id(&self, job: usize) -> String {
        format!("{job}.{}", self.job_states[job].attempt)
    }

    fn plan_at(&mut self, at: u64, step: Step) {
        self.planned += 1;
        self.plan.push(Reverse((at, step, self.planned)));
    }
}
