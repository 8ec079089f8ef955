//! `Simulation`: one policy of a scenario, event by event.

mod ask;
mod call;
mod happen;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::candidate::Candidate;
use super::clients::Clients;
use super::event::What;
use super::headers::{Standing, headers};
use super::job::{Course, Job, Phase};
use super::scenario::{Scenario, Upstream};
use super::timeline::{Outcome, Row, Timeline};
use super::totals::{Totals, Waits, largest_burst, utilisation};
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::limiter::Limiter;
use crate::micros::Micros;
use crate::paddlegate::Paddlegate;

/// The most decisions of a simulation; what has not come to an end then stays pending.
pub const MAX_DECISIONS: u64 = 20_000_000;

/// The store's time at the start: 2026-01-01T00:00:00Z, so that days and hours begin with it.
const START: u64 = 1_767_225_600_000_000;

/// The index of a row that no limit of the policy has decided.
const NONE: usize = u8::MAX as usize;

/// How long a caller waits whom upstream refused without saying for how long.
const UNTOLD: u64 = 1_000_000;

/// One policy of a scenario on a virtual clock.
pub struct Simulation {
    candidate: Candidate,
    limiter: Limiter,
    upstream: Option<(Limiter, Upstream)>,
    seed: u64,
    until: Option<u64>,
    burst_interval: u64,
    jobs: Vec<Job>,
    courses: Vec<Course>,
    clients: Clients,
    events: Vec<What>,
    plan: BinaryHeap<Reverse<(u64, Step, u64)>>,
    planned: u64,
    /// How many jobs have come.
    come: usize,
    now: u64,
    under_way: u32,
    done: u64,
    records: bool,
    /// What was left of each limit before the decision, and after it.
    left: Vec<u64>,
    levels: Vec<u64>,
    timeline: Timeline,
    /// What is counted on the way.
    totals: Totals,
    /// How many have tickets.
    queued: u64,
    /// The time of all calls that were under way, together.
    held: u128,
}

/// What happens next; of what happens at one time the first of these comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A call has ended.
    End { job: usize, turn: u32 },
    /// What the scenario orders.
    Event(usize),
    /// A client is back.
    Back(usize),
    /// A call reaches upstream.
    Reach { job: usize, turn: u32 },
    /// A job asks again.
    Look { job: usize, turn: u32 },
}

impl Simulation {
    /// One of the policies, counted from 0, with its whole timeline.
    pub fn new(scenario: &Scenario, policy: usize) -> Result<Self> {
        let Some(candidate) = scenario.policies.get(policy).cloned() else {
            let count = scenario.policies.len();
            return Err(Error::invalid(
                "policy",
                format!("must be below the number of policies: policy={policy} policies={count}"),
            ));
        };
        let limiter = Paddlegate::memory().limiter("simulated", candidate.policy.clone())?;
        let upstream = scenario.upstream.clone().map(|upstream| {
            let limiter = Paddlegate::memory().limiter("upstream", upstream.policy.clone())?;
            Ok((limiter, upstream))
        });
        let jobs = Job::all(scenario);
        let mut simulation = Self {
            limiter,
            upstream: upstream.transpose()?,
            seed: scenario.seed,
            until: scenario.until.map(|until| until.0),
            burst_interval: scenario.burst_interval().0,
            courses: vec![Course::default(); jobs.len()],
            jobs,
            clients: Clients::new(scenario.clients, scenario.at_once),
            events: scenario.events.iter().map(|event| event.what).collect(),
            plan: BinaryHeap::new(),
            planned: 0,
            come: 0,
            now: 0,
            under_way: 0,
            done: 0,
            records: true,
            left: Vec::new(),
            levels: Vec::new(),
            timeline: Timeline { levels: vec![Vec::new(); candidate.policy.limits().len()], ..Timeline::default() },
            totals: Totals { name: candidate.name.clone(), ..Totals::default() },
            queued: 0,
            held: 0,
            candidate,
        };
        for (i, event) in scenario.events.iter().enumerate() {
            simulation.plan_at(event.at.0, Step::Event(i));
        }
        Ok(simulation)
    }

    /// The same without a timeline: only the totals.
    #[must_use]
    pub fn without_timeline(mut self) -> Self {
        self.records = false;
        self
    }

    /// Goes on until so many more decisions are made; whether there is more to do.
    ///
    /// `Invalid` when an event of the scenario cannot happen to this policy.
    pub fn run(&mut self, decisions: u64) -> Result<bool> {
        let most = self.totals.decisions.saturating_add(decisions).min(MAX_DECISIONS);
        while self.totals.decisions < most {
            if let Some((job, client)) = self.clients.call_next() {
                self.begin(job, client)?;
                continue;
            }
            let arrival = self.jobs.get(self.come).map(|job| job.at);
            let planned = self.plan.peek().map(|Reverse((at, ..))| *at);
            // Who has come before goes first.
            let (at, is_planned) = match (planned, arrival) {
                (Some(planned), arrival) if arrival.is_none_or(|arrival| planned <= arrival) => (planned, true),
                (_, Some(arrival)) => (arrival, false),
                _ => return Ok(false),
            };
            if self.until.is_some_and(|until| at >= until) {
                return Ok(false);
            }
            self.now = at;
            if is_planned {
                let Some(Reverse((_, step, _))) = self.plan.pop() else { return Ok(false) };
                self.step(step)?;
            } else {
                let job = self.come;
                self.come += 1;
                self.start(job)?;
            }
        }
        Ok(self.totals.decisions < MAX_DECISIONS)
    }

    /// About how much of it is done, from 0 to 1.
    #[allow(clippy::cast_precision_loss, reason = "it is shown to people")]
    pub fn progress(&self) -> f64 {
        let jobs = if self.jobs.is_empty() { 1.0 } else { self.done as f64 / self.jobs.len() as f64 };
        self.until.map_or(jobs, |until| jobs.max(self.now as f64 / until as f64))
    }

    /// What was decided so far.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What a caller would be told with a row of the timeline: names and values of headers.
    pub fn headers(&self, row: usize) -> Vec<(&'static str, String)> {
        let timeline = &self.timeline;
        let Some(outcome) = timeline.outcome.get(row) else { return Vec::new() };
        let known = |time: u64| (time < u64::MAX).then_some(time);
        let is_granted = *outcome == Outcome::Granted as u8;
        headers(
            &self.candidate.policy,
            &Standing {
                limit: usize::from(timeline.limit[row]),
                remaining: timeline.after[row],
                reset_after: known(timeline.reset_after[row]),
                retry_after: known(timeline.retry_after[row]).filter(|_| !is_granted),
            },
        )
    }

    /// What came of it so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { arrived: self.come as u64, ..self.totals.clone() };
        let (mut waits, mut grants) = (Vec::new(), Vec::new());
        for (job, course) in self.jobs.iter().zip(&self.courses).take(self.come) {
            if let Some(at) = course.granted_at {
                waits.push(at - job.at);
                grants.push((at, job.units()));
            } else if course.phase != Phase::Done {
                totals.pending += 1;
            }
        }
        grants.sort_unstable();
        totals.granted = grants.len() as u64;
        totals.waited = waits.iter().filter(|wait| **wait > 0).count() as u64;
        totals.wait = Waits::of(waits);
        totals.units = grants.iter().map(|(_, units)| units).sum();
        totals.burst_interval = self.burst_interval;
        totals.largest_burst = largest_burst(&grants, self.burst_interval);
        totals.ended_at = self.until.map_or(self.now, |until| until.max(self.now));
        let drained = grants.last().zip(self.jobs.first()).map(|((last, _), first)| last - first.at);
        totals.drained_after = drained.filter(|_| totals.pending == 0 && self.come == self.jobs.len());
        // Without an end in the scenario the last moment belongs to it.
        let span = totals.ended_at + u64::from(self.until.is_none());
        let (units, calls) = (totals.units, totals.granted);
        let limits = self.candidate.policy.limits().iter();
        let used = limits.map(|limit| utilisation(limit, span, units, calls, self.held));
        totals.utilisation_permille = used.max().unwrap_or(0);
        totals
    }

    fn step(&mut self, step: Step) -> Result<()> {
        match step {
            Step::End { job, turn } if self.courses[job].turn == turn => self.end(job),
            Step::Reach { job, turn } if self.courses[job].turn == turn => self.reach(job),
            Step::Look { job, turn } if self.courses[job].turn == turn => match self.courses[job].phase {
                Phase::Queued => self.ask(job),
                _ => self.start(job),
            },
            Step::Event(event) => self.happen(event),
            Step::Back(client) => {
                self.clients.revive(client);
                Ok(())
            }
            Step::End { .. } | Step::Reach { .. } | Step::Look { .. } => Ok(()),
        }
    }

    /// A job that comes again counts as a new one.
    fn id(&self, job: usize) -> String {
        format!("{job}.{}", self.courses[job].attempt)
    }

    fn plan_at(&mut self, at: u64, step: Step) {
        self.planned += 1;
        self.plan.push(Reverse((at, step, self.planned)));
    }

    fn record(&mut self, job: usize, outcome: Outcome, decision: &Decision) {
        if !self.records {
            return;
        }
        let queue = self.limiter.standing(Micros(START + self.now), &mut self.levels);
        let course = &self.courses[job];
        let of_limit = |levels: &[u64]| levels.get(decision.index).copied().unwrap_or(0);
        let row = Row {
            at: self.now,
            job: u32::try_from(job).unwrap_or(u32::MAX),
            client: u16::try_from(course.client).unwrap_or(u16::MAX),
            attempt: u16::try_from(course.attempt).unwrap_or(u16::MAX),
            outcome,
            cost: self.jobs[job].cost,
            wait: self.now - self.jobs[job].at,
            limit: u8::try_from(decision.index).unwrap_or(u8::MAX),
            retry_after: decision.retry_after.map(|retry| retry.0),
            reset_after: decision.reset_after.map(|reset| reset.0),
            before: of_limit(&self.left),
            after: of_limit(&self.levels),
            queue: u32::try_from(queue).unwrap_or(u32::MAX),
            held: self.under_way,
        };
        self.timeline.push(row, &self.levels);
    }
}

/// The refusal of what can never pass.
fn never() -> Decision {
    Decision::paused(0)
}
