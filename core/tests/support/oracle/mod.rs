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
    state: State,
    /// The grant time of each permit. It is never removed, because the library stores it in the permit.
    granted_at: Vec<i128>,
}

/// What all policies of the name share.
#[derive(Default)]
struct State {
    last: i128,
    skew: i128,
    /// By kind and label.
    parts: HashMap<(&'static str, String), Part>,
    permits: HashMap<usize, Charge>,
}

/// The stored state of one limit, and the rule and the time under which it was written.
#[derive(Clone)]
struct Part {
    rule: Rule,
    amount: Amount,
    at: i128,
}

struct Charge {
    /// Kind and label of each limit that its call had, sorted.
    limits: Vec<(&'static str, String)>,
    at: i128,
    units: i128,
    settled_at: Option<i128>,
}

impl Oracle {
    pub fn new(rules: &[Rule]) -> Self {
        let mut oracle = Self { rules: Vec::new(), state: State::default(), granted_at: Vec::new() };
        oracle.resize(rules);
        oracle
    }

    /// Replaces the rules; the name stays the same.
    pub fn resize(&mut self, rules: &[Rule]) {
        self.rules = rules.iter().filter(|rule| rule.kind != "unlimited").cloned().collect();
    }

    pub fn reset(&mut self) {
        self.state = State::default();
    }

    /// Charges `cost` to all limits or to none. With `permit`, a grant returns the number of a permit.
    pub fn acquire(&mut self, server: i128, cost: i128, permit: bool) -> (Verdict, Option<usize>) {
        let before = self.peek(server, cost);
        if self.rules.is_empty() || self.paused().is_some() {
            return (before, None);
        }
        let (rules, state) = (self.rules.clone(), &mut self.state);
        let now = before.at;
        if !before.allowed || cost == 0 {
            state.skew = now - server;
            return (before, None);
        }
        let mut amounts = state.amounts(&rules, now);
        let early = state.early(&rules, now);
        for ((rule, amount), early) in rules.iter().zip(&mut amounts).zip(early) {
            match amount {
                Amount::Level(level) => *level += early + rule.charge(cost),
                Amount::Count(count) => *count += rule.charge(cost),
                Amount::Times(times) => {
                    times.extend((0..cost).map(|_| now));
                    state.part(rule).amount = Amount::Times(times.clone());
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
        self.state.permits.insert(number, Charge { limits: limits(&rules), at: now, units: cost, settled_at: None });
        (verdict, Some(number))
    }

    /// Returns the decision of `acquire` without a charge.
    pub fn peek(&mut self, server: i128, cost: i128) -> Verdict {
        if let Some(rule) = self.paused() {
            return Verdict::paused(&rule.label);
        }
        if self.rules.is_empty() {
            return Verdict::unlimited();
        }
        let (rules, state) = (self.rules.clone(), &mut self.state);
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
            label: Some(rule.label.clone()),
            at: now,
        }
    }

    /// Replaces the charge of a permit by the actual cost.
    pub fn correct(&mut self, permit: usize, actual: i128, server: i128) -> &'static str {
        let granted_at = self.granted_at[permit];
        let (rules, state) = (self.rules.clone(), &mut self.state);
        let now = state.clock(server);
        if now >= granted_at + PERMIT_TIMEOUT {
            return "late";
        }
        let charge = state.permits.get_mut(&permit).filter(|charge| charge.limits == limits(&rules));
        let Some(charge) = charge else { return "unknown" };
        if let Some(settled_at) = charge.settled_at {
            return if now < settled_at + SETTLED_MEMORY { "already" } else { "unknown" };
        }
        charge.settled_at = Some(now);
        let (at, difference) = (charge.at, actual - charge.units);
        let mut amounts = state.amounts(&rules, now);
        for (rule, amount) in rules.iter().zip(&mut amounts) {
            match (amount, &mut state.part(rule).amount) {
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

    fn paused(&self) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.kind == "paused")
    }
}

impl State {
    fn part(&mut self, rule: &Rule) -> &mut Part {
        let at = self.last;
        let part = || Part { rule: rule.clone(), amount: Amount::nothing(rule), at };
        self.parts.entry((rule.kind, rule.label.clone())).or_insert_with(part)
    }

    /// Returns the limiter's time. It never runs backwards: if the server's clock does, it continues from its last
    /// value.
    fn clock(&self, server: i128) -> i128 {
        self.last.max(server + self.skew)
    }

    /// Returns the level of a meter at `now`, below zero when it has been empty for a while.
    fn drained(part: &Part, rule: &Rule, mut level: Units, now: i128) -> Units {
        if part.rule.scale() != rule.scale() {
            level = level.ceil();
        }
        if part.rule.amount != rule.amount {
            level = level.min(rule.amount.into());
        }
        level - rule.rate() * (now - part.at)
    }

    /// Returns what each throttle has earned for its next start.
    fn early(&mut self, rules: &[Rule], now: i128) -> Vec<Units> {
        let early = rules.iter().map(|rule| {
            let part = self.part(rule);
            match &part.amount {
                Amount::Level(level) => rule.early(Self::drained(part, rule, *level, now)),
                _ => 0.into(),
            }
        });
        early.collect()
    }

    /// Returns the amount in use of each limit at `now`.
    fn amounts(&mut self, rules: &[Rule], now: i128) -> Vec<Amount> {
        let mut amounts = Vec::new();
        for rule in rules {
            let part = self.part(rule);
            amounts.push(match &part.amount {
                Amount::Level(level) => Amount::Level(Self::drained(part, rule, *level, now).max(0.into())),
                Amount::Count(_) if rule.window_of(part.at) != rule.window_of(now) => Amount::Count(0),
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
        for (rule, amount) in rules.iter().zip(amounts) {
            let part = self.part(rule);
            (part.rule, part.at) = (rule.clone(), now);
            if !matches!(amount, Amount::Times(_)) {
                part.amount = amount;
            }
        }
    }
}

fn limits(rules: &[Rule]) -> Vec<(&'static str, String)> {
    let mut limits: Vec<_> = rules.iter().map(|rule| (rule.kind, rule.label.clone())).collect();
    limits.sort();
    limits
}
