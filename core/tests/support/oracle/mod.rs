//! A second, naive implementation of the limits, written from their description: rational numbers, lists and loops.
//!
//! It shares nothing with the library, so that a misunderstanding there does not repeat itself here.

pub mod rule;
pub mod subject;

use std::collections::HashMap;

pub use rule::Rule;
use rule::{Amount, Units, Verdict, describe, left, wait};

const PERMIT_TIMEOUT: i128 = 300_000_000;
const SETTLED_MEMORY: i128 = 60_000_000;

/// The state of one limiter name.
pub struct Oracle {
    rules: Vec<Rule>,
    paused: Option<usize>,
    /// The library keeps a separate state for each list of kinds.
    states: HashMap<Vec<&'static str>, State>,
    /// The grant time of each permit. It is never removed, because the library stores it in the permit.
    granted_at: Vec<i128>,
}

struct State {
    last: i128,
    skew: i128,
    parts: Vec<Part>,
    permits: HashMap<usize, Charge>,
}

/// The stored state of one limit, and the rule under which it was written.
struct Part {
    rule: Rule,
    amount: Amount,
}

struct Charge {
    at: i128,
    units: i128,
    settled_at: Option<i128>,
}

impl Oracle {
    pub fn new(rules: &[Rule]) -> Self {
        let mut oracle = Self { rules: Vec::new(), paused: None, states: HashMap::new(), granted_at: Vec::new() };
        oracle.resize(rules);
        oracle
    }

    /// Replaces the rules; the name stays the same.
    pub fn resize(&mut self, rules: &[Rule]) {
        self.rules = rules.iter().filter(|rule| rule.kind != "unlimited").cloned().collect();
        self.paused = self.rules.iter().position(|rule| rule.kind == "paused");
        let rules = &self.rules;
        self.states.entry(kinds(rules)).or_insert_with(|| State::new(rules));
    }

    pub fn reset(&mut self) {
        self.states.insert(kinds(&self.rules), State::new(&self.rules));
    }

    /// Charges `cost` to all limits or to none. With `permit`, a grant returns the number of a permit.
    pub fn acquire(&mut self, server: i128, cost: i128, permit: bool) -> (Verdict, Option<usize>) {
        let before = self.peek(server, cost);
        if self.rules.is_empty() || self.paused.is_some() {
            return (before, None);
        }
        let (rules, state) = self.state();
        let now = before.at;
        if !before.allowed || cost == 0 {
            state.skew = now - server;
            return (before, None);
        }
        let mut amounts = state.amounts(&rules, now);
        let early = state.early(&rules, now);
        for (((rule, amount), early), part) in rules.iter().zip(&mut amounts).zip(early).zip(&mut state.parts) {
            match amount {
                Amount::Level(level) => *level += early + rule.charge(cost),
                Amount::Count(count) => *count += rule.charge(cost),
                Amount::Times(times) => {
                    times.extend((0..cost).map(|_| now));
                    part.amount = Amount::Times(times.clone());
                }
            }
        }
        let verdict = describe(&rules, &amounts, now);
        state.write(&rules, amounts, now, server);
        let number = self.granted_at.len();
        if !permit {
            return (verdict, None);
        }
        self.granted_at.push(now);
        self.state().1.permits.insert(number, Charge { at: now, units: cost, settled_at: None });
        (verdict, Some(number))
    }

    /// Returns the decision of `acquire` without a charge.
    pub fn peek(&mut self, server: i128, cost: i128) -> Verdict {
        if let Some(index) = self.paused {
            return Verdict::paused(index);
        }
        if self.rules.is_empty() {
            return Verdict::unlimited();
        }
        let (rules, state) = self.state();
        let now = state.clock(server);
        let amounts = state.amounts(&rules, now);
        let mut waits = Vec::new();
        for (rule, amount) in rules.iter().zip(&amounts) {
            waits.push(wait(rule, amount, rule.charge(cost), now));
        }
        let longest = *waits.iter().max().expect("a limit");
        if longest == 0 {
            return describe(&rules, &amounts, now);
        }
        let index = waits.iter().position(|wait| *wait == longest).expect("the longest");
        let rule = &rules[index];
        let (remaining, reset) = left(rule, &amounts[index], now);
        Verdict {
            allowed: false,
            limit: Some(rule.amount),
            remaining: Some(remaining),
            retry_after: Some(longest),
            reset_after: Some(reset),
            reason: Some(rule.kind),
            index,
            at: now,
        }
    }

    /// Replaces the charge of a permit by the actual cost.
    pub fn correct(&mut self, permit: usize, actual: i128, server: i128) -> &'static str {
        let granted_at = self.granted_at[permit];
        let (rules, state) = self.state();
        let now = state.clock(server);
        if now >= granted_at + PERMIT_TIMEOUT {
            return "late";
        }
        let Some(charge) = state.permits.get_mut(&permit) else { return "unknown" };
        if let Some(settled_at) = charge.settled_at {
            return if now < settled_at + SETTLED_MEMORY { "already" } else { "unknown" };
        }
        charge.settled_at = Some(now);
        let (at, difference) = (charge.at, actual - charge.units);
        let mut amounts = state.amounts(&rules, now);
        for ((rule, amount), part) in rules.iter().zip(&mut amounts).zip(&mut state.parts) {
            match (amount, &mut part.amount) {
                // A throttle counts starts, so the actual cost changes nothing.
                _ if rule.kind == "throttle" => {}
                (Amount::Level(level), _) => {
                    let owed = *level + difference;
                    *level = owed.max(0.into()).min((2 * rule.amount).into());
                }
                (Amount::Count(count), _) if rule.window_of(at) == rule.window_of(now) => {
                    *count = (*count + difference).clamp(0, 2 * rule.amount);
                }
                (Amount::Times(live), Amount::Times(times)) if live.contains(&at) => {
                    let room = 2 * rule.amount - i128::try_from(live.len()).expect("a length");
                    for _ in 0..difference.min(room) {
                        times.push(at);
                    }
                    for _ in 0..-difference {
                        if let Some(position) = times.iter().position(|time| *time == at) {
                            times.remove(position);
                        }
                    }
                }
                _ => {}
            }
        }
        state.write(&rules, amounts, now, server);
        "settled"
    }

    pub fn is_unlimited(&self) -> bool {
        self.rules.is_empty()
    }

    fn state(&mut self) -> (Vec<Rule>, &mut State) {
        let rules = self.rules.clone();
        let state = self.states.get_mut(&kinds(&rules)).expect("a state for these kinds");
        (rules, state)
    }
}

impl State {
    fn new(rules: &[Rule]) -> Self {
        let parts = rules.iter().map(|rule| Part { rule: rule.clone(), amount: Amount::nothing(rule) });
        Self { last: 0, skew: 0, parts: parts.collect(), permits: HashMap::new() }
    }

    /// Returns the limiter's time. It never runs backwards: if the server's clock does, it continues from its last
    /// value.
    fn clock(&self, server: i128) -> i128 {
        self.last.max(server + self.skew)
    }

    /// Returns the level of a meter at `now`, below zero when it has been empty for a while.
    fn drained(&self, part: &Part, rule: &Rule, mut level: Units, now: i128) -> Units {
        if part.rule.scale() != rule.scale() {
            level = level.ceil();
        }
        if part.rule.amount != rule.amount {
            level = level.min(rule.amount.into());
        }
        level - rule.rate() * (now - self.last)
    }

    /// Returns what each throttle has earned for its next start.
    fn early(&self, rules: &[Rule], now: i128) -> Vec<Units> {
        let parts = rules.iter().zip(&self.parts);
        let early = parts.map(|(rule, part)| match &part.amount {
            Amount::Level(level) => rule.early(self.drained(part, rule, *level, now)),
            _ => 0.into(),
        });
        early.collect()
    }

    /// Returns the amount in use of each limit at `now`.
    fn amounts(&self, rules: &[Rule], now: i128) -> Vec<Amount> {
        let mut amounts = Vec::new();
        for (rule, part) in rules.iter().zip(&self.parts) {
            amounts.push(match &part.amount {
                Amount::Level(level) => Amount::Level(self.drained(part, rule, *level, now).max(0.into())),
                Amount::Count(_) if rule.window_of(self.last) != rule.window_of(now) => Amount::Count(0),
                Amount::Count(count) if part.rule.amount == rule.amount => Amount::Count(*count),
                Amount::Count(count) => Amount::Count(*count.min(&rule.amount)),
                Amount::Times(times) => Amount::Times(rule.live(times, now)),
            });
        }
        amounts
    }

    /// Stores levels and counts; the callers change the times of a window in place.
    fn write(&mut self, rules: &[Rule], amounts: Vec<Amount>, now: i128, server: i128) {
        (self.last, self.skew) = (now, now - server);
        for ((part, rule), amount) in self.parts.iter_mut().zip(rules).zip(amounts) {
            part.rule = rule.clone();
            if !matches!(amount, Amount::Times(_)) {
                part.amount = amount;
            }
        }
    }
}

fn kinds(rules: &[Rule]) -> Vec<&'static str> {
    rules.iter().map(|rule| rule.kind).collect()
}
