//! A second, naive implementation of the limits, written from their description: rational numbers, lists and loops.
//!
//! It shares nothing with the library, so that a misunderstanding there does not repeat itself here.

mod calendar;
pub mod rule;
pub mod subject;

use std::collections::HashMap;

pub use rule::Rule;
use rule::{Amount, FOREVER, Level, Verdict, charges, describe, left, wait};

use super::units::Units;

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
    overrides: Overrides,
}

/// The limits that rule in the place of those of the policy, and when they end.
#[derive(Clone, Default)]
struct Overrides {
    rules: Vec<Rule>,
    until: Option<i128>,
    /// The limits of the upstream, which rule where none of those does.
    learned: Vec<Rule>,
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
    units: Units,
    /// The time and the units of each extension of each limit, the last one first.
    extra: HashMap<(&'static str, String), Vec<(i128, i128)>>,
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
    pub fn acquire(&mut self, server: i128, cost: &Units, permit: bool) -> (Verdict, Option<usize>) {
        let is_call = permit || *cost != Units::All(0);
        let before = self.ask(server, cost, is_call);
        if self.rules.is_empty() || self.paused().is_some() {
            return (before, None);
        }
        let now = before.at;
        let (rules, state) = (self.rules(now), &mut self.state);
        let charges = charges(&rules, cost, is_call);
        if !before.allowed || !is_call {
            state.skew = now - server;
            return (before, None);
        }
        let mut amounts = state.amounts(&rules, now);
        let early = state.early(&rules, now);
        for (((rule, amount), early), units) in rules.iter().zip(&mut amounts).zip(early).zip(charges) {
            match amount {
                Amount::Level(level) if units > 0 => *level += early + units,
                Amount::Count(count) => *count += units,
                Amount::Times(times) if units > 0 => {
                    times.extend((0..units).map(|_| now));
                    state.part(rule).amount = Amount::Times(times.clone());
                }
                Amount::Level(_) | Amount::Times(_) => {}
            }
        }
        let verdict = describe(&rules, &amounts, now);
        state.write(&rules, amounts, now, server);
        let number = self.granted_at.len();
        if !permit {
            return (verdict, None);
        }
        self.granted_at.push(now);
        self.state.permits.insert(number, Charge::new(&rules, now, cost));
        (verdict, Some(number))
    }

    /// Returns the decision of `acquire` without a charge.
    pub fn peek(&mut self, server: i128, cost: &Units) -> Verdict {
        self.ask(server, cost, *cost != Units::All(0))
    }

    /// Returns the decision on a call, or on a look, without a charge.
    pub fn ask(&mut self, server: i128, cost: &Units, is_call: bool) -> Verdict {
        if let Some(rule) = self.paused() {
            return Verdict::paused(&rule.label);
        }
        if self.rules.is_empty() {
            return Verdict::unlimited();
        }
        let now = self.state.clock(server);
        let charges = charges(&self.rules(now), cost, is_call);
        self.judge(now, &charges, is_call)
    }

    /// Returns the decision on these units of each limit without a charge, for a call or for a look.
    fn judge(&mut self, now: i128, charges: &[i128], is_call: bool) -> Verdict {
        let rules = self.rules(now);
        let amounts = self.state.amounts(&rules, now);
        let mut waits = Vec::new();
        for ((rule, amount), units) in rules.iter().zip(&amounts).zip(charges) {
            let longest = self.state.overrides.of(rule, now).and(self.state.overrides.until);
            // A limit of which a call takes nothing does not hold it up.
            if *units == 0 && is_call {
                waits.push(0);
                continue;
            }
            waits.push(wait(rule, amount, *units, now).min(longest.map_or(FOREVER, |until| until - now)));
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
            retry_after: Some(longest).filter(|wait| *wait < FOREVER),
            reset_after: Some(reset).filter(|_| longest < FOREVER),
            reason: Some(if charges[index] > rule.amount { "too_large" } else { rule.kind }),
            label: Some(rule.label.clone()),
            at: now,
        }
    }

    /// Reserves more units of every limit for a permit, by its first id or its last.
    pub fn extend(
        &mut self,
        permit: usize,
        is_first_id: bool,
        units: i128,
        server: i128,
    ) -> Result<Verdict, &'static str> {
        let now = self.state.clock(server);
        let rules = self.rules(now);
        if now >= self.granted_at[permit] + PERMIT_TIMEOUT {
            return Err("late");
        }
        let charge = self.state.permits.get(&permit).filter(|charge| charge.limits == limits(&rules));
        let Some(charge) = charge else { return Err("unknown") };
        if let Some(settled_at) = charge.settled_at {
            return Err(if now < settled_at + SETTLED_MEMORY { "already" } else { "unknown" });
        }
        // The first id says the estimate, the last one all that is reserved.
        let more = |rule: &Rule| if is_first_id { units - charge.extra_of(rule) } else { units };
        let taken: Vec<i128> =
            rules.iter().map(|rule| if rule.kind == "throttle" { 0 } else { more(rule).max(0) }).collect();
        let verdict = self.judge(now, &taken, taken.iter().any(|units| *units > 0));
        if taken.iter().all(|units| *units == 0) {
            self.state.skew = now - server;
            return Ok(Verdict { allowed: true, retry_after: Some(0), reason: None, ..verdict });
        }
        let state = &mut self.state;
        if !verdict.allowed {
            state.skew = now - server;
            return Ok(verdict);
        }
        let mut amounts = state.amounts(&rules, now);
        for ((rule, amount), units) in rules.iter().zip(&mut amounts).zip(&taken) {
            match amount {
                Amount::Level(level) => *level += units,
                Amount::Count(count) => *count += units,
                Amount::Times(times) if *units > 0 => {
                    times.extend((0..*units).map(|_| now));
                    state.part(rule).amount = Amount::Times(times.clone());
                }
                Amount::Times(_) => {}
            }
        }
        let verdict = describe(&rules, &amounts, now);
        state.write(&rules, amounts, now, server);
        let charge = state.permits.get_mut(&permit).expect("an open permit");
        for (rule, units) in rules.iter().zip(taken) {
            charge.extra.entry((rule.kind, rule.label.clone())).or_default().insert(0, (now, units));
        }
        Ok(verdict)
    }

    /// Replaces the charge of a permit by the actual cost.
    pub fn correct(&mut self, permit: usize, actual: &Units, server: i128) -> &'static str {
        let granted_at = self.granted_at[permit];
        let now = self.state.clock(server);
        let (rules, state) = (self.rules(now), &mut self.state);
        if now >= granted_at + PERMIT_TIMEOUT {
            return "late";
        }
        let charge = state.permits.get_mut(&permit).filter(|charge| charge.limits == limits(&rules));
        let Some(charge) = charge else { return "unknown" };
        if let Some(settled_at) = charge.settled_at {
            return if now < settled_at + SETTLED_MEMORY { "already" } else { "unknown" };
        }
        charge.settled_at = Some(now);
        let (at, mut before, after) = (charge.at, charges(&rules, &charge.units, true), charges(&rules, actual, true));
        let mut reservations = Vec::new();
        for (rule, units) in rules.iter().zip(&mut before) {
            let mut of_limit = charge.extensions_of(rule).to_vec();
            of_limit.push((at, *units));
            reservations.push(of_limit);
            *units += charge.extra_of(rule);
        }
        let mut amounts = state.amounts(&rules, now);
        let differences = rules.iter().zip(after.iter().zip(before));
        let differences: Vec<i128> =
            differences.map(|(rule, (after, before))| rule.refunded(after - before, before, now - at)).collect();
        for (((rule, amount), difference), reserved) in
            rules.iter().zip(&mut amounts).zip(differences).zip(reservations)
        {
            let last_at = reserved[0].0;
            match (amount, &mut state.part(rule).amount) {
                // A throttle counts starts, so the actual cost changes nothing.
                _ if rule.kind == "throttle" => {}
                (Amount::Level(level), _) => {
                    let owed = *level + difference;
                    *level = owed.max(0.into()).min(rule.most().into());
                }
                (Amount::Count(count), _) => {
                    let is_current = |at: i128| rule.window_of(at) == rule.window_of(now);
                    let current: i128 = reserved.iter().filter(|(at, _)| is_current(*at)).map(|(_, units)| units).sum();
                    if difference < 0 || is_current(last_at) {
                        *count = (*count + difference.max(-current)).clamp(0, rule.most());
                    }
                }
                (Amount::Times(live), Amount::Times(times)) => {
                    let room = rule.most() - i128::try_from(live.len()).expect("a length");
                    for _ in 0..difference.min(room) {
                        if last_at + rule.interval > now {
                            times.push(last_at);
                        }
                    }
                    let mut rest = (-difference).max(0);
                    for (at, units) in reserved {
                        for _ in 0..rest.min(units) {
                            if let Some(position) = times.iter().position(|time| *time == at)
                                && at + rule.interval > now
                            {
                                times.remove(position);
                            }
                        }
                        rest -= rest.min(units);
                    }
                }
                _ => {}
            }
        }
        state.write(&rules, amounts, now, server);
        "settled"
    }

    /// Charges `cost` in any case; a debt is at most one whole limit.
    pub fn debit(&mut self, server: i128, cost: &Units) -> Verdict {
        let now = self.state.clock(server);
        let (rules, state) = (self.rules(now), &mut self.state);
        let mut amounts = state.amounts(&rules, now);
        let counted: Vec<i128> = rules
            .iter()
            .zip(charges(&rules, cost, true))
            .map(|(rule, units)| if rule.kind == "throttle" { 0 } else { units })
            .collect();
        if counted.iter().all(|units| *units == 0) {
            state.skew = now - server;
            return describe_charged(&rules, &amounts, now);
        }
        for ((rule, amount), units) in rules.iter().zip(&mut amounts).zip(counted) {
            match amount {
                Amount::Level(level) => *level = (*level + units).min(rule.most().into()),
                Amount::Count(count) => *count = (*count + units).min(rule.most()),
                Amount::Times(times) => {
                    let room = rule.most() - i128::try_from(times.len()).expect("a length");
                    if units.min(room) > 0 {
                        times.extend((0..units.min(room)).map(|_| now));
                        state.part(rule).amount = Amount::Times(times.clone());
                    }
                }
            }
        }
        let verdict = describe_charged(&rules, &amounts, now);
        state.write(&rules, amounts, now, server);
        verdict
    }

    /// Gives units back, at most what is taken; of a window the newest.
    pub fn refund(&mut self, server: i128, cost: &Units) -> Verdict {
        let now = self.state.clock(server);
        let (rules, state) = (self.rules(now), &mut self.state);
        let mut amounts = state.amounts(&rules, now);
        let counted: Vec<i128> = rules
            .iter()
            .zip(charges(&rules, cost, true))
            .map(|(rule, units)| if rule.kind == "throttle" { 0 } else { units })
            .collect();
        if counted.iter().all(|units| *units == 0) {
            state.skew = now - server;
            return describe_charged(&rules, &amounts, now);
        }
        for ((rule, amount), units) in rules.iter().zip(&mut amounts).zip(counted) {
            match amount {
                Amount::Level(level) => *level = (*level - units).max(0.into()),
                Amount::Count(count) => *count = (*count - units).max(0),
                Amount::Times(times) => {
                    let Amount::Times(all) = &mut state.part(rule).amount else { panic!("no times") };
                    all.sort_unstable();
                    times.sort_unstable();
                    for _ in 0..units.min(i128::try_from(times.len()).expect("a length")) {
                        all.pop();
                        times.pop();
                    }
                }
            }
        }
        let verdict = describe_charged(&rules, &amounts, now);
        state.write(&rules, amounts, now, server);
        verdict
    }

    /// Lets other limits rule, until a time or for ever; `None` lets those of the policy rule again.
    pub fn override_limits(&mut self, limits: Option<(&[Rule], Option<i128>)>, server: i128) {
        let now = self.state.clock(server);
        self.settle(now, server);
        let (rules, for_us) = limits.unwrap_or_default();
        self.state.overrides.rules = rules.to_vec();
        self.state.overrides.until = for_us.map(|for_us| now + for_us);
        self.settle(now, server);
    }

    /// Learns the limits of the upstream. A bucket keeps its boundaries where they are some of the upstream's interval.
    pub fn learn(&mut self, limits: &[Rule], server: i128) {
        let now = self.state.clock(server);
        self.settle(now, server);
        for rule in limits {
            let own = self.rules.iter().find(|own| own.is_same(rule)).expect("a limit of the policy");
            let learned = &mut self.state.overrides.learned;
            let place = learned.iter().position(|other| other.is_same(rule));
            let known = place.map_or(own, |place| &learned[place]);
            let keeps_offset = rule.kind != "bucket" || known.offset < rule.interval;
            let offset = if keeps_offset { known.offset } else { rule.offset };
            let rule = Rule { offset, ..rule.clone() };
            match place {
                Some(place) => learned[place] = rule,
                None if rule != *own => learned.push(rule),
                None => {}
            }
        }
        self.settle(now, server);
    }

    /// Writes what is taken under the limits that rule now.
    fn settle(&mut self, now: i128, server: i128) {
        let rules = self.rules(now);
        let amounts = self.state.amounts(&rules, now);
        self.state.store(&rules, amounts, now, server);
    }

    /// Returns the limits that rule.
    fn rules(&self, now: i128) -> Vec<Rule> {
        let in_place_of = |rule: &Rule, other: &Rule| match rule.kind {
            // The periods of a quota are those of the policy.
            "quota" => Rule { amount: other.amount, ..rule.clone() },
            // The refund is an option of the caller.
            "leaky" | "points" => Rule { own: rule.amount, offset: rule.offset, ..other.clone() },
            _ => Rule { own: rule.amount, ..other.clone() },
        };
        let overrides = &self.state.overrides;
        let ruling = |rule: &Rule| {
            let learned = overrides.learned.iter().find(|learned| learned.is_same(rule));
            let ruling = match (overrides.of(rule, now), learned) {
                // An overridden bucket keeps the boundaries of the upstream.
                (Some(other), Some(learned)) if rule.kind == "bucket" && other.interval == learned.interval => {
                    in_place_of(rule, &Rule { offset: learned.offset, ..other.clone() })
                }
                (Some(other), _) | (None, Some(other)) => in_place_of(rule, other),
                (None, None) => rule.clone(),
            };
            Rule { learned: learned.map_or(0, |learned| learned.amount), ..ruling }
        };
        self.rules.iter().map(ruling).collect()
    }

    pub fn is_unlimited(&self) -> bool {
        self.rules.is_empty()
    }

    fn paused(&self) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.kind == "paused")
    }
}

/// Describes the limits that a debit charges, which are those that count units.
fn describe_charged(rules: &[Rule], amounts: &[Amount], now: i128) -> Verdict {
    let charged = rules.iter().zip(amounts).filter(|(rule, _)| rule.kind != "throttle");
    let (rules, amounts): (Vec<Rule>, Vec<Amount>) =
        charged.map(|(rule, amount)| (rule.clone(), amount.clone())).unzip();
    describe(&rules, &amounts, now)
}

impl Charge {
    fn new(rules: &[Rule], at: i128, units: &Units) -> Self {
        Self { limits: limits(rules), at, units: units.clone(), extra: HashMap::new(), settled_at: None }
    }

    fn extra_of(&self, rule: &Rule) -> i128 {
        self.extensions_of(rule).iter().map(|(_, units)| units).sum()
    }

    fn extensions_of(&self, rule: &Rule) -> &[(i128, i128)] {
        self.extra.get(&(rule.kind, rule.label.clone())).map_or(&[], |extensions| extensions)
    }
}

impl Overrides {
    /// Returns the limit that rules in the place of this one. An end that has passed may come back with the clock.
    fn of(&self, rule: &Rule, now: i128) -> Option<&Rule> {
        self.rules.iter().find(|other| other.is_same(rule)).filter(|_| self.until.is_none_or(|until| until > now))
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
    fn drained(part: &Part, rule: &Rule, mut level: Level, now: i128) -> Level {
        if part.rule.scale() != rule.scale() {
            level = level.ceil();
        }
        rule.kept(level, &part.rule) - rule.rate() * (now - part.at)
    }

    /// Returns what each throttle has earned for its next start.
    fn early(&mut self, rules: &[Rule], now: i128) -> Vec<Level> {
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
                Amount::Count(count) => Amount::Count(rule.kept((*count).into(), &part.rule).to_integer()),
                Amount::Times(times) => Amount::Times(rule.live(times, now)),
            });
        }
        amounts
    }

    /// Stores levels and counts after a call. A throttle without a start keeps what it has earned within this microsecond.
    fn write(&mut self, rules: &[Rule], amounts: Vec<Amount>, now: i128, server: i128) {
        let before: Vec<Part> = rules.iter().map(|rule| self.part(rule).clone()).collect();
        let earned: Vec<bool> = self.early(rules, now).iter().map(|early| *early < 0.into()).collect();
        let is_idle = |amount: &Amount| matches!(amount, Amount::Level(level) if *level == 0.into());
        let idle: Vec<bool> = amounts.iter().map(is_idle).collect();
        self.store(rules, amounts, now, server);
        for (((rule, part), earned), idle) in rules.iter().zip(before).zip(earned).zip(idle) {
            if earned && idle && part.rule.scale() == rule.scale() {
                *self.part(rule) = part;
            }
        }
    }

    /// Stores levels and counts; the callers change the times of a window in place.
    fn store(&mut self, rules: &[Rule], amounts: Vec<Amount>, now: i128, server: i128) {
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
