//! `GateCheck`: the steps of one request through a gate.

use super::control::Pick;
use super::element::RequestAttributes;
use super::gate::{Gate, GateDecision};
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::multi_step::{MultiStep, decided};
use crate::model::decision::Decision;
use crate::model::operation::{Answer, Operation};
use crate::model::request::Request;

/// The steps of one request through a [`Gate`]: the clock if the result depends on the time, then the levels that fail,
/// then each level that only delays. After a refusal the levels with a longer delay are only peeked: the longest delay of
/// all that overflow applies.
///
/// # Examples
///
/// ```
/// # use paddlegate::formats::invantive::RequestAttributes;
/// # use paddlegate::{MultiStep, Paddlegate, SignalHandling};
/// # let document = r#"{
/// #     "RateLimitControlList": [{ "Url": "https://example.com/*", "SlotName": "web" }],
/// #     "RateLimitControlSlotList": [{ "Name": "web", "ActionsPerSecond": 2 }]
/// # }"#;
/// let gate = Paddlegate::memory().invantive_gate(document)?;
/// let request = RequestAttributes { url: Some("https://example.com/a"), ..RequestAttributes::default() };
/// let mut check = gate.start(&request)?;
/// while let Some((limiter, operation)) = check.step() {
///     let reply = limiter.run(operation, SignalHandling::Ignore); // or the I/O of the host
///     check.on_reply(reply);
/// }
/// assert_eq!(check.outcome()?.slot.as_deref(), Some("web"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GateCheck {
    gate: Gate,
    stage: Stage,
    decision: Result<GateDecision>,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Reads the clock; holds the request's attributes meanwhile.
    Clock(Box<[Option<String>; 5]>),
    /// Checks the levels that fail, of the slot with this index.
    Hard(usize),
    /// Counts the levels that only delay: index of the slot, and number of levels counted.
    Soft(usize, usize),
    /// After a refusal, peeks the levels that fail, of the slot with this index.
    HardDelay(usize),
    /// After a refusal, peeks a level that only delays: index of the slot, and of the level.
    SoftDelay(usize, usize),
    Over,
}

impl GateCheck {
    pub(super) fn new(gate: &Gate, facts: &RequestAttributes<'_>) -> Result<Self> {
        let pick = gate.control().pick(facts, None)?;
        let mut check = Self { gate: gate.clone(), stage: Stage::Over, decision: Ok(GateDecision::allowed(None)) };
        match pick {
            Pick::Unknown => check.stage = Stage::Clock(Box::new(kept(facts))),
            pick => check.enter(pick),
        }
        Ok(check)
    }

    /// Starts counting in the chosen slot.
    fn enter(&mut self, pick: Pick) {
        self.stage = Stage::Over;
        if let Pick::Slot(index) = pick
            && let Some((slot, limiters)) = self.gate.slot(index)
        {
            self.decision = Ok(GateDecision::allowed(slot.name()));
            self.stage = if limiters.hard.is_some() { Stage::Hard(index) } else { Stage::Soft(index, 0) };
        }
    }

    fn take(&mut self, decision: &Decision) -> Result<()> {
        match &self.stage {
            Stage::Clock(facts) => {
                let pick = self.gate.control().pick(&lent(facts), Some(decision.at))?;
                self.enter(pick);
            }
            &Stage::Hard(index) if decision.allowed() => self.stage = Stage::Soft(index, 0),
            &Stage::Hard(index) => {
                let (slot, _) = self.gate.slot(index).ok_or_else(over)?;
                let level = decision.label.as_ref().and_then(|label| slot.hard_level(label));
                let full = slot.hard_levels().filter(|(each, is_closed)| *is_closed || Some(*each) == level);
                self.decision = Ok(GateDecision {
                    allowed: false,
                    delay: full.map(|(level, _)| slot.delay_of(level)).max().unwrap_or_default(),
                    level,
                    retry_after: decision.retry_after,
                    reason: decision.reason,
                    ..GateDecision::allowed(slot.name())
                });
                let is_longer = slot.hard_levels().any(|(level, _)| self.is_shorter_than(slot.delay_of(level)));
                self.stage = if is_longer { Stage::HardDelay(index) } else { self.soft_delay(index, 0) };
            }
            &Stage::HardDelay(index) => {
                let (slot, _) = self.gate.slot(index).ok_or_else(over)?;
                let full = decision.limits.iter().filter(|limit| limit.remaining == 0);
                let delays = full.filter_map(|limit| slot.hard_level(&limit.label)).map(|level| slot.delay_of(level));
                let longest = delays.max();
                self.delay_at_least(longest.unwrap_or_default());
                self.stage = self.soft_delay(index, 0);
            }
            &Stage::SoftDelay(index, seen) => {
                let (slot, limiters) = self.gate.slot(index).ok_or_else(over)?;
                let &(level, _) = limiters.soft.get(seen).ok_or_else(over)?;
                let delay = slot.delay_of(level);
                if !decision.allowed() {
                    self.delay_at_least(delay);
                }
                self.stage = self.soft_delay(index, seen + 1);
            }
            &Stage::Soft(index, counted) => {
                let (slot, limiters) = self.gate.slot(index).ok_or_else(over)?;
                let &(level, _) = limiters.soft.get(counted).ok_or_else(over)?;
                let delay = slot.delay_of(level);
                if let Ok(gate_decision) = &mut self.decision
                    && !decision.allowed()
                    && (gate_decision.level.is_none() || delay > gate_decision.delay)
                {
                    (gate_decision.level, gate_decision.delay) = (Some(level), delay);
                }
                self.stage = Stage::Soft(index, counted + 1);
            }
            Stage::Over => return Err(over()),
        }
        Ok(())
    }

    /// Returns the stage that peeks the next level that only delays, and longer than is known so far.
    fn soft_delay(&self, index: usize, from: usize) -> Stage {
        let Some((slot, limiters)) = self.gate.slot(index) else { return Stage::Over };
        let mut rest = limiters.soft.iter().enumerate().skip(from);
        let next = rest.find(|(_, (level, _))| self.is_shorter_than(slot.delay_of(*level)));
        next.map_or(Stage::Over, |(place, _)| Stage::SoftDelay(index, place))
    }

    fn is_shorter_than(&self, delay: Micros) -> bool {
        self.decision.as_ref().is_ok_and(|decision| decision.delay < delay)
    }

    fn delay_at_least(&mut self, delay: Micros) {
        if let Ok(decision) = &mut self.decision {
            decision.delay = decision.delay.max(delay);
        }
    }
}

impl MultiStep for GateCheck {
    type Output = GateDecision;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        let one = Operation::Acquire(Request::cost(1));
        match self.stage {
            Stage::Clock(_) => Some((self.gate.clock(), Operation::Peek(Request::cost(0)))),
            Stage::Hard(index) => Some((self.gate.slot(index)?.1.hard.as_ref()?, one)),
            Stage::Soft(index, counted) => Some((&self.gate.slot(index)?.1.soft.get(counted)?.1, one)),
            Stage::HardDelay(index) => {
                let limits = Operation::Peek(Request::cost(1).with_limits());
                Some((self.gate.slot(index)?.1.hard.as_ref()?, limits))
            }
            Stage::SoftDelay(index, place) => {
                Some((&self.gate.slot(index)?.1.soft.get(place)?.1, Operation::Peek(Request::cost(1))))
            }
            Stage::Over => None,
        }
    }

    fn on_reply(&mut self, outcome: Result<Answer>) {
        if let Err(error) = decided(outcome).and_then(|decision| self.take(&decision)) {
            (self.decision, self.stage) = (Err(error), Stage::Over);
        }
    }

    fn outcome(self) -> Result<GateDecision> {
        if self.step().is_some() {
            Err(Error::internal("the gate check has steps left; run them before its outcome"))
        } else {
            self.decision
        }
    }
}

/// Copies the attributes of a request for the clock step.
fn kept(facts: &RequestAttributes<'_>) -> [Option<String>; 5] {
    [facts.context, facts.url, facts.log_on_code, facts.data_container_id, facts.ip].map(|fact| fact.map(str::to_owned))
}

fn lent([context, url, log_on_code, data_container_id, ip]: &[Option<String>; 5]) -> RequestAttributes<'_> {
    RequestAttributes {
        context: context.as_deref(),
        url: url.as_deref(),
        log_on_code: log_on_code.as_deref(),
        data_container_id: data_container_id.as_deref(),
        ip: ip.as_deref(),
    }
}

fn over() -> Error {
    Error::internal("unexpected reply: no step is left")
}
