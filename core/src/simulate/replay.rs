//! `replay`: recorded decisions, decided anew by a policy.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::recorded_calls::{Ended, Extended, RecordedCall, calls_of, parts};
use super::totals::{Totals, Waits};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::base::test_clock::TestClock;
use crate::client::limiter::Limiter;
use crate::client::paddlegate::Paddlegate;
use crate::model::cost::Cost;
use crate::model::decision::{Decision, Status};
use crate::model::limit::Kind;
use crate::model::permit::{MAX_PERMIT_TIMEOUT, PERMIT_TIMEOUT};
use crate::model::policy::Policy;
use crate::model::recorded_decision::{RecordedDecision, RecordedVerb};
use crate::model::request::{QueuePosition, Request, Wait};

/// What a policy does with the calls of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The calls, in the order in which they came.
    pub calls: Vec<ReplayedCall>,
    /// How often calls asked.
    pub decisions: u64,
}

/// One call of a record, in the record and in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayedCall {
    /// The place of its first decision in the record.
    pub first: usize,
    /// When it came, by the clock of the record.
    pub at: Micros,
    /// Whether the record has it as granted; `None` for one that still waited when the record ended.
    pub was_granted: Option<bool>,
    /// How long it waited in the record.
    pub had_waited: Micros,
    /// Whether the replay grants it.
    pub granted: bool,
    /// How long it waits in the replay, also in vain.
    pub waited: Micros,
    /// The most units that it takes of a limit, after a correction; 0 when it is not granted.
    pub units: u64,
}

impl Replay {
    /// Returns the totals, without those that need every decision: utilisation, bursts and the end.
    pub fn totals(&self, name: &str) -> Totals {
        let granted = || self.calls.iter().filter(|call| call.granted);
        let count = |calls: usize| u64::try_from(calls).unwrap_or(u64::MAX);
        let gave_up = self.calls.iter().filter(|call| !call.granted && call.waited.0 > 0).count();
        let (arrived, passed) = (count(self.calls.len()), count(granted().count()));
        Totals {
            name: name.to_owned(),
            arrived,
            granted: passed,
            refused: arrived - passed - count(gave_up),
            gave_up: count(gave_up),
            decisions: self.decisions,
            waited: count(granted().filter(|call| call.waited.0 > 0).count()),
            wait: Waits::of(granted().map(|call| call.waited.0).collect()),
            units: granted().map(|call| call.units).fold(0, u64::saturating_add),
            ..Totals::default()
        }
    }
}

/// Decides recorded calls anew, each at its time: by this policy, from nothing taken.
///
/// `recorded` is the policy that ruled then. A call takes of each limit what was recorded under its label; of a limit that the record
/// does not know, what the call took of every other one, else one. Charges in any case (debits) are made again. A granted call is corrected,
/// extended and released as long after its grant as in the record; one that the record refused holds its lease for the mean of
/// the others. `wait` is how long calls wait for their turn; by default each as long as in the record.
///
/// `Invalid` when the record does not have the units of a `points` limit.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Limit, Policy};
/// let policy = Policy::new([Limit::window(5, Duration::from_secs(60))?])?;
/// assert!(paddlegate::simulate::replay(&policy, &policy, &[], None)?.calls.is_empty());
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn replay(
    policy: &Policy,
    recorded: &Policy,
    decisions: &[RecordedDecision],
    wait: Option<Micros>,
) -> Result<Replay> {
    let first = decisions.first().map_or(Micros(0), |decision| decision.at);
    let clock = TestClock::new(first)?;
    let limiter = Paddlegate::memory_with_clock(&clock).limiter("replayed", policy.clone())?;
    let calls = calls_of(decisions);
    let released = calls.iter().filter_map(|call| call.released);
    let (held, leases) =
        released.fold((0_u64, 0_u64), |(held, leases), end| (held.saturating_add(end.after), leases + 1));
    let mut run = Run {
        limiter,
        clock,
        recorded,
        replay: Replay { calls: Vec::with_capacity(calls.len()), decisions: 0 },
        states: vec![CallState::default(); calls.len()],
        calls,
        plan: BinaryHeap::new(),
        waiting: Vec::new(),
        wait,
        mean_hold: held / leases.max(1),
        now: first.0,
    };
    run.begin(decisions);
    while let Some(Reverse((at, _, step))) = run.plan.pop() {
        run.now = run.now.max(at);
        run.clock.set(Micros(run.now))?;
        run.step(step, decisions)?;
    }
    Ok(run.replay)
}

/// The next step. Steps at one time are in the order of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Arrive(usize),
    /// A debit or a refund.
    Charge(usize),
    Correct(usize),
    Extend(usize, usize),
    Renew(usize),
    Release(usize),
    /// A waiting call asks again.
    Ask(usize, u32),
}

#[derive(Clone, Debug, Default)]
struct CallState {
    /// The ids of the permit, first as it was granted: an extension adds one.
    permits: Vec<String>,
    ticket: Option<u64>,
    gives_up_at: Option<u64>,
    /// Incremented with each question, so that those planned earlier are skipped.
    turn: u32,
    lease: u64,
    released_at: Option<u64>,
}

struct Run<'a> {
    limiter: Limiter,
    clock: TestClock,
    recorded: &'a Policy,
    replay: Replay,
    calls: Vec<RecordedCall<'a>>,
    states: Vec<CallState>,
    /// With the time the place in the record.
    plan: BinaryHeap<Reverse<(u64, usize, Step)>>,
    /// The calls that wait, in the order in which they came.
    waiting: Vec<usize>,
    wait: Option<Micros>,
    mean_hold: u64,
    now: u64,
}

impl Run<'_> {
    fn begin(&mut self, decisions: &[RecordedDecision]) {
        for (number, call) in self.calls.iter().enumerate() {
            self.plan.push(Reverse((call.at, call.first, Step::Arrive(number))));
            self.replay.calls.push(ReplayedCall {
                first: call.first,
                at: Micros(call.at),
                was_granted: call.was_granted,
                had_waited: Micros(call.waited),
                ..ReplayedCall::default()
            });
        }
        let mut at = 0;
        for (place, decision) in decisions.iter().enumerate() {
            at = decision.at.0.max(at);
            if matches!(decision.verb, RecordedVerb::Debit | RecordedVerb::Refund) {
                self.plan.push(Reverse((at, place, Step::Charge(place))));
            }
        }
    }

    fn step(&mut self, step: Step, decisions: &[RecordedDecision]) -> Result<()> {
        match step {
            Step::Arrive(number) => return self.ask(number),
            Step::Ask(number, turn) if self.states[number].turn == turn => return self.ask(number),
            Step::Ask(..) => return Ok(()),
            Step::Charge(place) => {
                let units = self.units_of(&decisions[place].units)?;
                if units.iter().any(|(_, units)| *units > 0) {
                    let gives_back = decisions[place].verb == RecordedVerb::Refund;
                    let charge = if gives_back { Limiter::refund } else { Limiter::debit };
                    charge(&self.limiter, Cost::ByLabel(&borrowed(&units)))?;
                }
            }
            Step::Correct(number) => {
                let Some((_, actual)) = self.calls[number].corrected else { return Ok(()) };
                let units = self.units_of(actual)?;
                if let Some(permit) = self.states[number].permits.last() {
                    self.limiter.correct(permit, Cost::ByLabel(&borrowed(&units)))?;
                    self.replay.calls[number].units = most(&units);
                }
            }
            Step::Extend(number, which) => {
                let Extended { units, charged, .. } = self.calls[number].extended[which];
                let units: Vec<_> = self.units_of(units)?.into_iter().filter(|(_, units)| *units > 0).collect();
                let permits = &mut self.states[number].permits;
                let named = permits.iter().find(|permit| parts(permit).1 == charged).or(permits.last()).cloned();
                if let Some(permit) = named.filter(|_| !units.is_empty()) {
                    match self.limiter.extend(&permit, Cost::ByLabel(&borrowed(&units))) {
                        Ok(extension) => {
                            permits.extend(extension.decision().and_then(|decision| decision.permit.clone()));
                        }
                        // More than the limit ever has.
                        Err(error) if error.kind() == ErrorKind::Invalid => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Step::Renew(number) => {
                let CallState { permits, lease, released_at, .. } = &self.states[number];
                if let (Some(permit), Some(released_at)) = (permits.last(), *released_at) {
                    self.limiter.renew(permit)?;
                    let lease = *lease;
                    self.plan_renewal(number, lease, released_at);
                }
                return Ok(());
            }
            Step::Release(number) => {
                if let Some(permit) = self.states[number].permits.last() {
                    self.limiter.release(permit)?;
                }
            }
        }
        self.ask_waiting()
    }

    /// Lets those that wait ask, in the order of the queue, until one must go on waiting.
    fn ask_waiting(&mut self) -> Result<()> {
        while let Some(first) = self.waiting.first().copied() {
            self.ask(first)?;
            if self.waiting.first() == Some(&first) {
                break;
            }
        }
        Ok(())
    }

    fn ask(&mut self, number: usize) -> Result<()> {
        let call = &self.calls[number];
        let max_wait = self.wait.or(call.max_wait).filter(|wait| wait.0 > 0);
        let units = self.units_of(call.units)?;
        let (units, needs_permit) = (borrowed(&units), call.corrected.is_some() || !call.extended.is_empty());
        let cost = if units.is_empty() { Cost::Units(1) } else { Cost::ByLabel(&units) };
        let request = if needs_permit {
            let last = call
                .corrected
                .map_or(0, |(end, _)| end.after)
                .max(call.extended.iter().map(|extended| extended.end.after).max().unwrap_or(0));
            Request::estimate(cost)
                .settle_within(Micros(last.saturating_add(1_000_000)).clamp(PERMIT_TIMEOUT, MAX_PERMIT_TIMEOUT))
        } else {
            Request::cost(cost)
        };
        let (asked_at, id) = (call.at, format!("call {number}"));
        self.replay.decisions += 1;
        let state = &mut self.states[number];
        state.turn += 1;
        let gives_up_at = *state.gives_up_at.get_or_insert(asked_at.saturating_add(max_wait.map_or(0, |wait| wait.0)));
        let decided = match max_wait {
            Some(_) if self.now >= gives_up_at && state.ticket.is_some() => {
                self.limiter.cancel(&id)?;
                self.leave(number);
                return Ok(());
            }
            Some(_) => {
                let wait = Wait {
                    claim_timeout: MAX_SPAN,
                    position: state.ticket.map_or(QueuePosition::End, QueuePosition::Number),
                    ..Wait::up_to(Micros(gives_up_at.saturating_sub(self.now).max(1)))
                };
                self.limiter.acquire_with_id(request, &id, Some(wait))
            }
            None if needs_permit || self.limiter.policy().concurrency().is_some() => {
                self.limiter.acquire_with_id(request, &id, None)
            }
            None => self.limiter.try_acquire(request),
        };
        match decided {
            Ok(decision) if decision.status == Status::Granted => self.grant(number, &decision),
            Ok(decision) if decision.status == Status::Queued => {
                let state = &mut self.states[number];
                state.ticket = decision.ticket.map(|ticket| ticket.number);
                let after = decision.retry_after.map_or(1, |after| after.0.max(1));
                let at = self.now.saturating_add(after).min(gives_up_at);
                self.plan.push(Reverse((at, usize::MAX, Step::Ask(number, state.turn))));
                if !self.waiting.contains(&number) {
                    self.waiting.push(number);
                }
            }
            Ok(_) => self.leave(number),
            // The cost is above a limit.
            Err(error) if error.kind() == ErrorKind::Invalid => self.leave(number),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn grant(&mut self, number: usize, decision: &Decision) {
        let waited = self.now.saturating_sub(self.calls[number].at);
        self.waiting.retain(|waiting| *waiting != number);
        let call = &self.calls[number];
        let replayed = &mut self.replay.calls[number];
        (replayed.granted, replayed.waited) = (true, Micros(waited));
        replayed.units = call.units.iter().map(|(_, units)| *units).max().unwrap_or(1);
        let state = &mut self.states[number];
        state.lease = decision.lease.map_or(0, |lease| lease.0);
        state.permits.extend(decision.permit.clone());
        let at = |end: Ended| self.now.saturating_add(end.after);
        let mut steps: Vec<_> = call
            .extended
            .iter()
            .enumerate()
            .map(|(i, Extended { end, .. })| (at(*end), end.place, Step::Extend(number, i)))
            .collect();
        steps.extend(call.corrected.map(|(end, _)| (at(end), end.place, Step::Correct(number))));
        // One that the record refused has no end of its own.
        let unknown = Ended { after: self.mean_hold, place: usize::MAX, was_held: false };
        let released =
            call.released.or((call.was_granted != Some(true)).then_some(unknown)).filter(|_| state.lease > 0);
        steps.extend(released.map(|end| (at(end), end.place, Step::Release(number))));
        let lease = state.lease;
        state.released_at = released.filter(|end| end.was_held).map(at);
        let renewed_until = state.released_at;
        self.plan.extend(steps.into_iter().map(Reverse));
        if let Some(released_at) = renewed_until {
            self.plan_renewal(number, lease, released_at);
        }
    }

    /// A lease that was held for longer than it lasts was renewed.
    fn plan_renewal(&mut self, number: usize, lease: u64, released_at: u64) {
        if lease > 0 && self.now.saturating_add(lease) <= released_at {
            self.plan.push(Reverse((self.now + (lease / 2).max(1), usize::MAX, Step::Renew(number))));
        }
    }

    fn leave(&mut self, number: usize) {
        self.waiting.retain(|waiting| *waiting != number);
        self.replay.calls[number].waited = Micros(self.now.saturating_sub(self.calls[number].at));
    }

    /// Returns the units of each limit of the policy that counts units.
    fn units_of(&self, units: &[(Box<str>, u64)]) -> Result<Vec<(Box<str>, u64)>> {
        let by_label: HashMap<&str, u64> = units.iter().map(|(label, units)| (&**label, *units)).collect();
        let is_known = |label: &str| self.recorded.limits().iter().any(|limit| **limit.label() == *label);
        let all = units.first().map(|(_, first)| *first).filter(|first| units.iter().all(|(_, units)| units == first));
        let counts_units = |kind: Kind| kind.has_state() && !matches!(kind, Kind::Throttle | Kind::Concurrency);
        let limits = self.limiter.policy().limits().iter().filter(|limit| counts_units(limit.kind()));
        let units = limits.map(|limit| {
            let label = &**limit.label();
            let units = match (by_label.get(label), all) {
                (Some(units), _) => *units,
                // The program that made the call does not have this limit.
                (None, _) if is_known(label) => 0,
                (None, Some(units)) => units,
                (None, None) if limit.kind() == Kind::Points => {
                    let message = format!("has a points limit whose units the record does not have: label={label}");
                    return Err(Error::invalid("policy", message));
                }
                (None, None) => 1,
            };
            Ok((Box::from(label), units))
        });
        units.collect()
    }
}

fn borrowed(units: &[(Box<str>, u64)]) -> Vec<(&str, u64)> {
    units.iter().map(|(label, units)| (&**label, *units)).collect()
}

fn most(units: &[(Box<str>, u64)]) -> u64 {
    units.iter().map(|(_, units)| *units).max().unwrap_or(0)
}
