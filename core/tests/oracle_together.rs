//! Tests random calls to several limiters that decide together, and to each of them, against the oracle: it decides for each limiter,
//! and all must pass.

use std::collections::HashMap;

use paddlegate::{Answer, Extension, Kind, Limiter, MAX_UNITS, Operation as Call, Paddlegate};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::support::library::{limit, outcome, policy, with_override, with_report, with_units};
use crate::support::oracle::rule::{FOREVER, Verdict};
use crate::support::oracle::{Oracle, subject};
use crate::support::sequence::{
    Cost, Each, NOTHING, Operation, Outcome, Run, Sequence, Spec, Wait, composite, config, each, in_place, labelled,
};
use crate::support::units::Units;
use crate::support::{calls, memory_with_clock, redis_with_clock, unique};

const SEEDS: &str = "proptest-regressions/oracle_together.txt";

/// The limiters that decide, as the places of the single ones in their order.
const GROUPS: [&[usize]; 7] = [&[0], &[1], &[2], &[0, 1], &[2, 0], &[0, 1, 2], &[2, 1, 0]];

/// Three limiters, and the calls to each or several of them.
#[derive(Clone, Debug)]
struct Case {
    limits: [Vec<Spec>; 3],
    start: u64,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    /// Which of the groups calls; of what only one can do, the first of the group.
    group: usize,
    operation: Operation,
    /// The other limiters of the group have units of their own, else all have the same number.
    others: Option<[Option<Each>; 2]>,
}

/// One of the two sides. It numbers the permits of all groups from 0.
trait Side {
    fn acquire(&mut self, group: &[usize], units: &Demand, estimate: bool, at: u64) -> Outcome;
    fn peek(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome;
    fn debit(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome;
    fn refund(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome;
    fn correct(&mut self, permit: usize, group: &[usize], actual: &Demand, at: u64) -> String;
    /// Extends the permit of a limiter alone.
    fn extend(&mut self, permit: usize, who: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String>;
    fn override_limits(&mut self, who: usize, limits: Option<(&[Spec], Option<u64>)>, at: u64);
    fn learn(&mut self, who: usize, limits: &[Spec], at: u64);
}

/// The units of a call: one number for all limiters of the group, or the units of each limiter in the order of the group.
#[derive(Clone, Debug)]
enum Demand {
    All(u64),
    Each(Vec<Units>),
}

impl Demand {
    fn of(&self, place: usize) -> Units {
        match self {
            Self::All(units) => Units::All(*units),
            Self::Each(each) => each[place].clone(),
        }
    }
}

/// The limiters of the library.
struct Library {
    names: [String; 3],
    each: Vec<Limiter>,
    permits: Vec<String>,
    extended: HashMap<usize, String>,
}

impl Library {
    fn new(store: &Paddlegate, limits: &[Vec<Spec>; 3]) -> Self {
        let base = unique("together");
        let names = ["a", "b", "c"].map(|letter| format!("{base}.{letter}"));
        let single = names.iter().zip(limits).map(|(name, limits)| store.limiter(name, policy(limits)));
        let single: Vec<Limiter> = single.collect::<Result<_, _>>().expect("limiters");
        let several = GROUPS[3..].iter().map(|group| {
            let limiters: Vec<&Limiter> = group.iter().map(|place| &single[*place]).collect();
            store.together(&limiters).expect("limiters that decide together")
        });
        let each = single.iter().cloned().chain(several.collect::<Vec<_>>()).collect();
        Self { names, each, permits: Vec::new(), extended: HashMap::new() }
    }

    fn limiter(&self, group: &[usize]) -> &Limiter {
        &self.each[GROUPS.iter().position(|other| *other == group).expect("a group")]
    }

    /// Returns the cost that names each limiter of a group.
    fn units(&self, group: &[usize], demand: &Demand) -> Units {
        match demand {
            Demand::Each(each) if group.len() > 1 => {
                let named = group.iter().zip(each).map(|(place, units)| (self.names[*place].clone(), units.clone()));
                Units::ByLimiter(named.collect())
            }
            _ => demand.of(0),
        }
    }
}

impl Side for Library {
    fn acquire(&mut self, group: &[usize], units: &Demand, estimate: bool, at: u64) -> Outcome {
        let units = self.units(group, units);
        let decision = with_units(&units, estimate, |request| calls::acquire(self.limiter(group), request, at));
        self.permits.extend(decision.permit.clone().filter(|_| estimate));
        outcome(&decision)
    }

    fn peek(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome {
        let units = self.units(group, units);
        outcome(&with_units(&units, false, |request| calls::peek(self.limiter(group), request, at)))
    }

    fn debit(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome {
        let units = self.units(group, units);
        outcome(&units.with(|units| calls::debit(self.limiter(group), units, at)))
    }

    fn refund(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome {
        let units = self.units(group, units);
        outcome(&units.with(|units| calls::refund(self.limiter(group), units, at)))
    }

    fn correct(&mut self, permit: usize, group: &[usize], actual: &Demand, at: u64) -> String {
        let id = self.extended.get(&permit).filter(|_| permit.is_multiple_of(2)).unwrap_or(&self.permits[permit]);
        let actual = self.units(group, actual);
        actual.with(|actual| calls::correct(self.limiter(group), id, actual, at)).name().to_owned()
    }

    fn extend(&mut self, permit: usize, who: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        let id = self.extended.get(&permit).filter(|_| !is_first_id).unwrap_or(&self.permits[permit]);
        match calls::run(&self.each[who], Call::Extend { permit: id, units: units.into() }, at) {
            Answer::Extension(extension) => match *extension {
                Extension::Decided(decision) => {
                    self.extended.extend(decision.permit.clone().map(|id| (permit, id)));
                    Ok(outcome(&decision))
                }
                Extension::Closed(settlement) => Err(settlement.name().to_owned()),
            },
            other => panic!("{other:?}"),
        }
    }

    fn override_limits(&mut self, who: usize, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        with_override(limits, |command| calls::run(&self.each[who], Call::Admin { command }, at));
    }

    fn learn(&mut self, who: usize, limits: &[Spec], at: u64) {
        with_report(limits, |report| calls::run(&self.each[who], Call::ApplyReport { report }, at));
    }
}

/// An oracle for each limiter.
struct Oracles {
    each: [Oracle; 3],
    labels: [Vec<String>; 3],
    /// For each permit the numbers that the oracles of its group gave it.
    permits: Vec<Vec<usize>>,
}

impl Oracles {
    fn new(limits: &[Vec<Spec>; 3]) -> Self {
        let label = |spec: &Spec| limit(spec).label().to_string();
        Self {
            each: limits.each_ref().map(|limits| Oracle::new(&subject::of(limits))),
            labels: limits.each_ref().map(|limits| limits.iter().map(label).collect()),
            permits: Vec::new(),
        }
    }

    /// Returns the units of each limiter. Zero units in a map are a call too.
    fn units(&self, group: &[usize], demand: &Demand) -> Vec<Units> {
        let of = |(place, who): (usize, &usize)| match demand.of(place) {
            NOTHING if group.len() > 1 && matches!(demand, Demand::Each(_)) => {
                Units::ByLabel(self.labels[*who].iter().map(|label| (label.clone(), 0)).collect())
            }
            units => units,
        };
        group.iter().enumerate().map(of).collect()
    }

    /// Runs a call of each limiter of the group.
    fn on_each<T>(&mut self, group: &[usize], units: &[Units], call: impl Fn(&mut Oracle, &Units) -> T) -> Vec<T> {
        group.iter().zip(units).map(|(who, units)| call(&mut self.each[*who], units)).collect()
    }
}

impl Side for Oracles {
    fn acquire(&mut self, group: &[usize], units: &Demand, estimate: bool, at: u64) -> Outcome {
        let (units, server) = (self.units(group, units), i128::from(at));
        let is_call = estimate || units.iter().any(|units| *units != NOTHING);
        let mut verdicts = self.on_each(group, &units, |oracle, units| oracle.ask(server, units, is_call));
        let is_granted = verdicts.iter().all(|verdict| verdict.allowed);
        let mut numbers = Vec::new();
        for ((who, units), verdict) in group.iter().zip(&units).zip(&mut verdicts) {
            // One that would grant does not notice a call that another refuses.
            if is_granted || !verdict.allowed {
                let number;
                (*verdict, number) = self.each[*who].acquire(server, units, estimate);
                numbers.extend(number);
            }
        }
        if is_granted && estimate {
            self.permits.push(numbers);
        }
        combined(group, &verdicts)
    }

    fn peek(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome {
        let units = self.units(group, units);
        combined(group, &self.on_each(group, &units, |oracle, units| oracle.peek(at.into(), units)))
    }

    fn debit(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome {
        let units = self.units(group, units);
        combined(group, &self.on_each(group, &units, |oracle, units| oracle.debit(at.into(), units)))
    }

    fn refund(&mut self, group: &[usize], units: &Demand, at: u64) -> Outcome {
        let units = self.units(group, units);
        combined(group, &self.on_each(group, &units, |oracle, units| oracle.refund(at.into(), units)))
    }

    fn correct(&mut self, permit: usize, group: &[usize], actual: &Demand, at: u64) -> String {
        let (actual, numbers) = (self.units(group, actual), self.permits[permit].clone());
        let each = group.iter().zip(&actual).zip(numbers);
        let each: Vec<&str> =
            each.map(|((who, actual), number)| self.each[*who].correct(number, actual, at.into())).collect();
        (*each.iter().find(|settlement| **settlement != "settled").unwrap_or(&"settled")).to_owned()
    }

    fn extend(&mut self, permit: usize, who: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        let number = self.permits[permit][0];
        let verdict = self.each[who].extend(number, is_first_id, units.into(), at.into());
        verdict.map(|verdict| combined(&[who], &[verdict])).map_err(str::to_owned)
    }

    fn override_limits(&mut self, who: usize, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        let rules = limits.map(|(limits, for_us)| (subject::of(limits), for_us.map(i128::from)));
        self.each[who].override_limits(rules.as_ref().map(|(rules, for_us)| (rules.as_slice(), *for_us)), at.into());
    }

    fn learn(&mut self, who: usize, limits: &[Spec], at: u64) {
        self.each[who].learn(&subject::of(limits), at.into());
    }
}

/// Returns the answer of several: a refusal with the longest wait, or a grant with the fewest remaining units; the first of them.
fn combined(group: &[usize], verdicts: &[Verdict]) -> Outcome {
    let mut described = 0;
    let refuses = verdicts.iter().any(|verdict| !verdict.allowed);
    let worse = |one: &Verdict, other: &Verdict| {
        let wait = |verdict: &Verdict| if verdict.allowed { -1 } else { verdict.retry_after.unwrap_or(FOREVER) };
        if refuses { wait(one) > wait(other) } else { one.remaining < other.remaining }
    };
    for (i, verdict) in verdicts.iter().enumerate() {
        if worse(verdict, &verdicts[described]) {
            described = i;
        }
    }
    let mut outcome = subject::outcome(&verdicts[described]);
    if group.len() > 1 {
        let letter = ["a", "b", "c"][group[described]];
        let members = outcome.text.strip_suffix('}').unwrap_or_default();
        outcome.text = format!(r#"{members},"limiter":"{letter}"}}"#);
    }
    outcome
}

/// The progress of a case, which computes the numbers of the calls.
struct Progress<'a> {
    limits: &'a [Vec<Spec>; 3],
    time: Run,
    permits: Vec<(usize, Vec<Units>)>,
    extended: u64,
}

impl<'a> Progress<'a> {
    fn new(case: &'a Case) -> Self {
        let limits = case.limits.concat();
        let time = Run::new(&Sequence { limits, start: case.start, operations: Vec::new() });
        Self { limits: &case.limits, time, permits: Vec::new(), extended: 0 }
    }

    fn largest(&self, group: &[usize]) -> u64 {
        let limits = group.iter().flat_map(|who| &self.limits[*who]);
        limits.filter(|limit| limit.kind != Kind::Throttle).map(|limit| limit.amount).min().unwrap_or(3)
    }

    fn demand(&self, step: &Step, cost: Cost) -> Demand {
        let group = GROUPS[step.group];
        let Some(others) = &step.others else { return Demand::All(cost.share % (self.largest(group) + 1)) };
        let each = [cost.by_label, others[0], others[1]];
        let units = |(who, each): (&usize, Option<Each>)| match each {
            Some(each) => labelled(&self.limits[*who], &each, |limit, share| share % (limit.amount + 1)),
            None => Units::All(cost.share % (self.largest(&[*who]) + 1)),
        };
        Demand::Each(group.iter().zip(each).map(units).collect())
    }

    /// Runs a step and returns its answer as text.
    fn run(&mut self, side: &mut impl Side, step: &Step) -> String {
        let (group, at) = (GROUPS[step.group], self.time.at);
        let who = group[0];
        match &step.operation {
            Operation::Acquire(cost) => {
                let demand = self.demand(step, *cost);
                let outcome = side.acquire(group, &demand, cost.estimate, at);
                if outcome.allowed && cost.estimate {
                    self.permits.push((step.group, (0..group.len()).map(|place| demand.of(place)).collect()));
                }
                self.decided(outcome)
            }
            Operation::Peek(cost) => {
                let outcome = side.peek(group, &self.demand(step, *cost), at);
                self.decided(outcome)
            }
            Operation::Refund(cost) => {
                let is_charged = |who: &usize| self.limits[*who].iter().any(|limit| limit.kind != Kind::Throttle);
                if !group.iter().all(is_charged) {
                    return String::new();
                }
                let outcome = side.refund(group, &self.demand(step, *cost), at);
                self.decided(outcome)
            }
            Operation::Debit(cost) => {
                let is_charged = |who: &usize| self.limits[*who].iter().any(|limit| limit.kind != Kind::Throttle);
                if !group.iter().all(is_charged) {
                    return String::new();
                }
                let demand = match self.demand(step, *cost) {
                    Demand::All(units) => Demand::All((units * 3).min(MAX_UNITS)),
                    Demand::Each(each) => Demand::Each(each.into_iter().map(|units| units.times(3)).collect()),
                };
                let outcome = side.debit(group, &demand, at);
                self.decided(outcome)
            }
            Operation::Correct { age, quarters, by_label } => {
                let Some(permit) = self.permits.len().checked_sub(age + 1) else { return String::new() };
                let (group, charged) = &self.permits[permit];
                let each = group_limits(self.limits, *group).zip(charged).map(|(limits, charged)| {
                    let actual =
                        |label: &str, quarters: u64| (charged.of(label).saturating_mul(quarters) / 4).min(MAX_UNITS);
                    match by_label {
                        Some(each) => labelled(limits, each, |limit, quarters| actual(&limit.name(), quarters % 8)),
                        None => Units::All(actual(&limits[0].name(), *quarters)),
                    }
                });
                side.correct(permit, GROUPS[*group], &Demand::Each(each.collect()), at)
            }
            Operation::Extend { age, share, is_first_id } => {
                let Some(permit) = self.permits.len().checked_sub(age + 1) else { return String::new() };
                let group = GROUPS[self.permits[permit].0];
                let units = share % self.largest(group) + 1;
                let largest = self.permits.iter().flat_map(|(_, units)| units).map(Units::largest).max().unwrap_or(0);
                self.extended += units;
                if group.len() > 1 || largest + self.extended > MAX_UNITS {
                    return String::new();
                }
                match side.extend(permit, group[0], *is_first_id, units, at) {
                    Ok(outcome) => self.decided(outcome),
                    Err(settlement) => settlement,
                }
            }
            Operation::Wait(wait) => {
                self.time.at = self.time.after(*wait);
                String::new()
            }
            Operation::Override(parameters, for_us) => {
                let limits = in_place(&self.limits[who], parameters);
                side.override_limits(who, Some((&limits, *for_us)), at);
                String::new()
            }
            Operation::Restore => {
                side.override_limits(who, None, at);
                String::new()
            }
            Operation::Learn(parameters) => {
                side.learn(who, &in_place(&self.limits[who], parameters), at);
                String::new()
            }
            Operation::Resize(_) | Operation::Policy(_) | Operation::Reset | Operation::Lose => String::new(),
        }
    }

    fn decided(&mut self, outcome: Outcome) -> String {
        (self.time.retry_after, self.time.reset_after) = (outcome.retry_after, outcome.reset_after);
        outcome.text
    }
}

fn group_limits(limits: &[Vec<Spec>; 3], group: usize) -> impl Iterator<Item = &Vec<Spec>> {
    GROUPS[group].iter().map(|who| &limits[*who])
}

/// Runs a case on both sides, and compares all answers and what each limiter has left.
fn compare(case: &Case, left: &mut impl Side, right: &mut impl Side) -> TestCaseResult {
    let (mut left_run, mut right_run) = (Progress::new(case), Progress::new(case));
    for (number, step) in case.steps.iter().enumerate() {
        let answer = left_run.run(left, step);
        prop_assert_eq!(answer, right_run.run(right, step), "step {}: {:?}", number, step);
        for group in &GROUPS[..4] {
            prop_assert_eq!(
                left.peek(group, &Demand::All(0), left_run.time.at),
                right.peek(group, &Demand::All(0), left_run.time.at),
                "{:?} after step {}: {:?}",
                group,
                number,
                step
            );
        }
    }
    Ok(())
}

/// Generates three limiters and calls.
fn case(length: usize) -> impl Strategy<Value = Case> {
    let several = || prop::option::weighted(0.6, [each(), each()]);
    let step = move |operation: Operation| {
        // Overrides are of one limiter, other calls mostly of several.
        (prop_oneof![1 => 0..3_usize, 3 => 3..GROUPS.len()], several()).prop_map(move |(group, others)| Step {
            group,
            operation: operation.clone(),
            others,
        })
    };
    let limits = || composite(2).prop_map(|sequence| sequence.limits[..sequence.limits.len().min(3)].to_vec());
    let wait = prop_oneof![
        3 => Just(Wait::RetryAfter(0)),
        1 => (-2..=2_i64).prop_map(Wait::RetryAfter),
        2 => (0..9_usize, 0..=5_i64, -2..=2_i64)
            .prop_map(|(limit, quarters, more)| Wait::Quarters { limit, quarters, more }),
        1 => prop::sample::select(&[1, 7, 1_000_000, -1_000_000, 60_000_000, 299_999_999, 300_000_000][..])
            .prop_map(Wait::By),
    ];
    let operation = prop_oneof![
        2 => composite(8).prop_map(|sequence| sequence.operations),
        1 => prop::collection::vec(wait.prop_map(Operation::Wait), 1..3),
    ];
    let steps = prop::collection::vec(operation, 1..length).prop_map(|operations| operations.concat());
    let steps = steps.prop_flat_map(move |operations| operations.into_iter().map(step).collect::<Vec<_>>());
    let start = prop_oneof![Just(1), Just(1_700_000_000_000_000), Just(4_000_000_000_000_000)];
    ([limits(), limits(), limits()], start, steps).prop_map(|(limits, start, steps)| Case { limits, start, steps })
}

proptest! {
    #![proptest_config(config(600, SEEDS))]

    #[test]
    fn memory_agrees_with_the_oracle(case in case(16)) {
        compare(&case, &mut Library::new(&memory_with_clock(), &case.limits), &mut Oracles::new(&case.limits))?;
    }
}

proptest! {
    #![proptest_config(config(150, SEEDS))]

    #[test]
    fn redis_agrees_with_the_oracle(case in case(16)) {
        compare(&case, &mut Library::new(&redis_with_clock(), &case.limits), &mut Oracles::new(&case.limits))?;
    }
}
