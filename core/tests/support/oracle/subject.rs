//! Makes the oracle a subject of vectors and one of the two sides that a property compares.

use serde_json::Value;

use super::super::sequence::{Implementation, Outcome, Spec};
use super::super::units::Units;
use super::super::vectors::{Answer, Step, Subject};
use super::rule::Verdict;
use super::{Oracle, Rule};

pub fn rules(limits: &[Value]) -> Vec<Rule> {
    let number = |limit: &Value, key: &str| i128::from(limit[key].as_u64().unwrap_or(0));
    let rule = |limit: &Value| {
        let kind = kind(limit["kind"].as_str().expect("kind"));
        let rule =
            Rule::new(kind, number(limit, "amount").max(1), number(limit, "interval_us"), number(limit, "offset_us"));
        limit["label"].as_str().map_or(rule.clone(), |label| Rule { label: label.to_owned(), ..rule })
    };
    limits.iter().map(rule).collect()
}

fn kind(name: &str) -> &'static str {
    const KINDS: [&str; 8] = ["bucket", "window", "leaky", "points", "throttle", "quota", "unlimited", "paused"];
    KINDS.into_iter().find(|kind| *kind == name).expect("a kind")
}

impl Subject for Oracle {
    fn limits(&mut self, limits: &[Value]) {
        self.resize(&rules(limits));
    }

    fn acquire(&mut self, step: &Step) -> Result<Answer, String> {
        let (verdict, permit) = self.acquire(step.at.into(), &units(step), step.estimate.is_some());
        let permit = permit.map(|number| format!("{PREFIX}{number}"));
        let unlimited = verdict.limit.is_none() && step.estimate.is_some();
        Ok(Answer { text: verdict.text(), permit: permit.or(unlimited.then(|| UNLIMITED.to_owned())) })
    }

    fn peek(&mut self, step: &Step) -> Result<Answer, String> {
        Ok(Answer { text: self.peek(step.at.into(), &units(step)).text(), permit: None })
    }

    fn debit(&mut self, step: &Step) -> Result<Answer, String> {
        Ok(Answer { text: self.debit(step.at.into(), &units(step)).text(), permit: None })
    }

    fn refund(&mut self, step: &Step) -> Result<Answer, String> {
        Ok(Answer { text: self.refund(step.at.into(), &units(step)).text(), permit: None })
    }

    fn correct(&mut self, permit: &str, actual: &Units, at: u64) -> Result<String, String> {
        let number = permit.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
        let settlement = match number {
            Some(number) => self.correct(number, actual, at.into()),
            None if permit == UNLIMITED && self.is_unlimited() => "settled",
            None => "unknown",
        };
        Ok(settlement.to_owned())
    }

    fn reset(&mut self) {
        self.reset();
    }
}

/// The prefix of the oracle's permits.
const PREFIX: &str = "oracle-";

/// The permit that a limiter without limits returns.
const UNLIMITED: &str = "unlimited";

/// Returns the rules of the limits of a random sequence.
pub fn of(limits: &[Spec]) -> Vec<Rule> {
    let rule = |limit: &Spec| {
        let rule = Rule::new(kind(limit.kind.name()), limit.amount.into(), limit.interval.into(), limit.offset.into());
        limit.label().map_or(rule.clone(), |label| Rule { label, ..rule })
    };
    limits.iter().map(rule).collect()
}

impl Implementation for Oracle {
    fn acquire(&mut self, at: u64, units: &Units, estimate: bool) -> Outcome {
        outcome(&self.acquire(at.into(), units, estimate).0)
    }

    fn peek(&mut self, at: u64, units: &Units) -> Outcome {
        outcome(&self.peek(at.into(), units))
    }

    fn debit(&mut self, at: u64, units: &Units) -> Outcome {
        outcome(&self.debit(at.into(), units))
    }

    fn refund(&mut self, at: u64, units: &Units) -> Outcome {
        outcome(&self.refund(at.into(), units))
    }

    fn extend(&mut self, permit: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        let verdict = self.extend(permit, is_first_id, units.into(), at.into());
        verdict.map(|verdict| outcome(&verdict)).map_err(str::to_owned)
    }

    fn correct(&mut self, permit: usize, actual: &Units, at: u64) -> String {
        self.correct(permit, actual, at.into()).to_owned()
    }

    fn override_limits(&mut self, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        let rules = limits.map(|(limits, for_us)| (of(limits), for_us.map(i128::from)));
        self.override_limits(rules.as_ref().map(|(rules, for_us)| (rules.as_slice(), *for_us)), at.into());
    }

    fn learn(&mut self, limits: &[Spec], at: u64) {
        self.learn(&of(limits), at.into());
    }

    fn resize(&mut self, limits: &[Spec]) {
        self.resize(&of(limits));
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn lose_keys(&mut self) {
        self.reset();
    }
}

/// Returns a verdict as the answer that a property compares.
pub fn outcome(verdict: &Verdict) -> Outcome {
    let number = |number: Option<i128>| u64::try_from(number.unwrap_or(0)).expect("a number that is not negative");
    Outcome {
        allowed: verdict.allowed,
        remaining: number(verdict.remaining),
        retry_after: number(verdict.retry_after),
        reset_after: number(verdict.reset_after),
        at: number(Some(verdict.at)),
        text: verdict.text(),
    }
}

fn units(step: &Step) -> Units {
    step.cost.as_ref().or(step.estimate.as_ref()).cloned().unwrap_or(Units::All(1))
}
