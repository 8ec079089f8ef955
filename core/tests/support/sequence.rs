//! Generates random operation sequences and compares the answers of two implementations.

use paddlegate::{Kind, MAX_UNITS};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestCaseResult};

use super::units::Units;

/// The parameters of one limit.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub kind: Kind,
    /// The number of the limit in its sequence; the first has the label of its kind, the others their own.
    pub number: usize,
    pub amount: u64,
    pub interval: u64,
    /// Of a quota the number of its calendar, of a meter 1 for a refund of undrained units.
    pub offset: u64,
}

/// The calendars of quotas: period, time zone, start, and the interval in microseconds by which sequences wait.
pub const CALENDARS: [(&str, &str, &str, u64); 8] = [
    ("day", "UTC", "00:00", DAY),
    ("day", "Europe/Berlin", "02:30", DAY),
    ("day", "+05:30", "06:15", DAY),
    ("day", "America/Sao_Paulo", "00:00", DAY),
    ("week", "America/New_York", "sunday", 7 * DAY),
    ("month", "UTC", "31", 31 * DAY),
    ("quarter", "Australia/Lord_Howe", "05-31", 92 * DAY),
    ("year", "Asia/Kolkata", "02-29", 366 * DAY),
];

const DAY: u64 = 86_400_000_000;

/// A limiter and the operations that run on it.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub limits: Vec<Spec>,
    pub start: u64,
    pub operations: Vec<Operation>,
}

/// The run computes the actual numbers, so that a shrunk sequence stays valid.
#[derive(Clone, Debug)]
pub enum Operation {
    Acquire(Cost),
    Peek(Cost),
    Debit(Cost),
    Refund(Cost),
    /// The age counts permits back from the newest; the actual cost is in quarters of the estimate. By label, each number
    /// is that of a limit; a limit without one is not named.
    Correct {
        age: usize,
        quarters: u64,
        by_label: Option<Each>,
    },
    /// Reserves more units of every limit for a permit, which its id of the grant names or that of the last extension.
    Extend {
        age: usize,
        share: u64,
        is_first_id: bool,
    },
    Wait(Wait),
    /// Other amounts, intervals and offsets for the same kinds.
    Resize(Vec<(u64, u64, u64)>),
    /// Such limits rule for a time, or until they are removed.
    Override(Vec<(u64, u64, u64)>, Option<u64>),
    Restore,
    /// The upstream says that it has such limits.
    Learn(Vec<(u64, u64, u64)>),
    /// Another policy of the same name: those limits whose bit is set, the last one first if the last bit is set.
    Policy(u8),
    Reset,
    /// The store loses every key of the limiter.
    Lose,
}

/// The cost of a call, reduced to the range from 0 to the largest cost that can ever fit. By label, each number is that of
/// a limit; a limit without one is not named.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub share: u64,
    pub estimate: bool,
    pub by_label: Option<Each>,
}

/// A number for each limit of a sequence, or none.
pub type Each = [Option<u64>; 4];

#[derive(Clone, Copy, Debug)]
pub enum Wait {
    By(i64),
    /// Quarters of the interval of a limit, plus a small offset.
    Quarters {
        limit: usize,
        quarters: i64,
        more: i64,
    },
    /// The last `retry_after`, plus a small offset.
    RetryAfter(i64),
    /// The last `reset_after`, plus a small offset.
    ResetAfter(i64),
}

/// The answer to an acquire or a peek.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub allowed: bool,
    pub remaining: u64,
    pub retry_after: u64,
    pub reset_after: u64,
    /// The limiter's time.
    pub at: u64,
    /// The complete answer in the form that the vectors compare.
    pub text: String,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Nothing,
    /// The cost of an acquire or a peek, and its answer.
    Decided(Units, Outcome),
    /// The number of a corrected permit, and the settlement.
    Settled(usize, String),
}

/// One of the two compared implementations. It numbers its permits from 0.
pub trait Implementation {
    fn acquire(&mut self, at: u64, units: &Units, estimate: bool) -> Outcome;
    fn peek(&mut self, at: u64, units: &Units) -> Outcome;
    fn debit(&mut self, at: u64, units: &Units) -> Outcome;
    fn refund(&mut self, at: u64, units: &Units) -> Outcome;
    /// Extends a permit by its first or its last id. The error is why the permit is not open.
    fn extend(&mut self, permit: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String>;
    fn correct(&mut self, permit: usize, actual: &Units, at: u64) -> String;
    /// Lets other limits rule, for a time or for ever; `None` removes them.
    fn override_limits(&mut self, limits: Option<(&[Spec], Option<u64>)>, at: u64);
    /// Learns the limits of the upstream.
    fn learn(&mut self, _limits: &[Spec], _at: u64) {
        panic!("learns nothing");
    }
    fn resize(&mut self, limits: &[Spec]);
    fn reset(&mut self);
    fn lose_keys(&mut self);
    /// Returns the limits that an inspection finds; `None` where there are no inspections.
    fn inspect(&mut self, _at: u64) -> Option<String> {
        None
    }
}

/// The units of a call that only checks.
pub const NOTHING: Units = Units::All(0);

/// Runs the sequence on both sides; compares every answer, and the result of a peek after each operation.
pub fn compare(sequence: &Sequence, left: &mut impl Implementation, right: &mut impl Implementation) -> TestCaseResult {
    let (mut left_run, mut right_run) = (Run::new(sequence), Run::new(sequence));
    for (number, operation) in sequence.operations.iter().enumerate() {
        let event = left_run.step(left, operation);
        prop_assert_eq!(event, right_run.step(right, operation), "operation {}: {:?}", number, operation);
        prop_assert_eq!(
            left.peek(left_run.at, &NOTHING),
            right.peek(left_run.at, &NOTHING),
            "after operation {}: {:?}",
            number,
            operation
        );
        if let (Some(left), Some(right)) = (left.inspect(left_run.at), right.inspect(left_run.at)) {
            prop_assert_eq!(left, right, "inspected after operation {}: {:?}", number, operation);
        }
    }
    Ok(())
}

/// The progress of a sequence.
pub struct Run {
    /// The limits of the policy in use.
    pub limits: Vec<Spec>,
    /// The limits of all policies.
    all: Vec<Spec>,
    policy: u8,
    pub at: u64,
    /// The charge of each permit.
    permits: Vec<Units>,
    /// The units of all extensions.
    extended: u64,
    /// The numbers of the last answer.
    pub retry_after: u64,
    pub reset_after: u64,
}

impl Run {
    pub fn new(sequence: &Sequence) -> Self {
        let limits = sequence.limits.clone();
        let all = limits.clone();
        Self {
            limits,
            all,
            policy: u8::MAX >> 1,
            at: sequence.start,
            permits: Vec::new(),
            extended: 0,
            retry_after: 0,
            reset_after: 0,
        }
    }

    /// Returns the largest cost that can ever fit.
    pub fn largest_cost(&self) -> u64 {
        let amounts = self.limits.iter().filter(|limit| limit.kind != Kind::Throttle).map(|limit| limit.amount);
        amounts.min().unwrap_or(3)
    }

    /// Returns these units as a number for all limits.
    pub fn largest(&self) -> Units {
        Units::All(self.largest_cost())
    }

    pub fn step(&mut self, implementation: &mut impl Implementation, operation: &Operation) -> Event {
        match operation {
            Operation::Acquire(cost) => {
                let units = self.units(*cost);
                let outcome = implementation.acquire(self.at, &units, cost.estimate);
                if outcome.allowed && cost.estimate {
                    self.permits.push(units.clone());
                }
                self.decided(units, outcome)
            }
            Operation::Peek(cost) => {
                let units = self.units(*cost);
                let outcome = implementation.peek(self.at, &units);
                self.decided(units, outcome)
            }
            Operation::Debit(cost) => {
                if self.limits.iter().all(|limit| limit.kind == Kind::Throttle) {
                    return Event::Nothing;
                }
                let units = self.units(*cost).times(3);
                let outcome = implementation.debit(self.at, &units);
                self.decided(units, outcome)
            }
            Operation::Refund(cost) => {
                if self.limits.iter().all(|limit| limit.kind == Kind::Throttle) {
                    return Event::Nothing;
                }
                let units = self.units(*cost);
                let outcome = implementation.refund(self.at, &units);
                self.decided(units, outcome)
            }
            Operation::Correct { age, quarters, by_label } => {
                let Some(permit) = self.permits.len().checked_sub(age + 1) else { return Event::Nothing };
                let charged = &self.permits[permit];
                let actual =
                    |label: &str, quarters: u64| (charged.of(label).saturating_mul(quarters) / 4).min(MAX_UNITS);
                let actual = match by_label {
                    Some(each) => labelled(&self.limits, each, |limit, quarters| actual(&limit.name(), quarters % 8)),
                    None => Units::All(actual(&self.limits[0].name(), *quarters)),
                };
                Event::Settled(permit, implementation.correct(permit, &actual, self.at))
            }
            Operation::Extend { age, share, is_first_id } => {
                let Some(permit) = self.permits.len().checked_sub(age + 1) else { return Event::Nothing };
                let units = share % self.largest_cost() + 1;
                // The sum of a permit is at most what a limit may have.
                let largest = self.permits.iter().map(Units::largest).max().unwrap_or(0);
                self.extended += units;
                if largest + self.extended > MAX_UNITS {
                    return Event::Nothing;
                }
                match implementation.extend(permit, *is_first_id, units, self.at) {
                    Ok(outcome) => self.decided(Units::All(units), outcome),
                    Err(settlement) => Event::Settled(permit, settlement),
                }
            }
            Operation::Wait(wait) => {
                self.at = self.after(*wait);
                Event::Nothing
            }
            Operation::Resize(parameters) => {
                for (limit, (amount, interval, offset)) in self.all.iter_mut().zip(parameters) {
                    *limit = spec(limit.kind, limit.number, *amount, *interval, *offset);
                }
                self.choose(self.policy);
                implementation.resize(&self.limits);
                Event::Nothing
            }
            Operation::Policy(policy) => {
                self.choose(*policy);
                implementation.resize(&self.limits);
                Event::Nothing
            }
            Operation::Override(parameters, for_us) => {
                implementation.override_limits(Some((&in_place(&self.all, parameters), *for_us)), self.at);
                Event::Nothing
            }
            Operation::Learn(parameters) => {
                implementation.learn(&in_place(&self.all, parameters), self.at);
                Event::Nothing
            }
            Operation::Restore => {
                implementation.override_limits(None, self.at);
                Event::Nothing
            }
            Operation::Reset => {
                implementation.reset();
                Event::Nothing
            }
            Operation::Lose => {
                implementation.lose_keys();
                Event::Nothing
            }
        }
    }

    fn choose(&mut self, policy: u8) {
        let chosen = |limit: &&Spec| policy >> limit.number & 1 == 1;
        let mut limits: Vec<Spec> = self.all.iter().filter(chosen).copied().collect();
        if limits.is_empty() {
            limits.push(self.all[0]);
        }
        if policy >> 7 == 1 {
            limits.reverse();
        }
        (self.limits, self.policy) = (limits, policy);
    }

    /// Returns the server's time after a wait.
    pub fn after(&self, wait: Wait) -> u64 {
        let by = match wait {
            Wait::By(by) => by,
            Wait::Quarters { limit, quarters, more } => {
                let interval = self.limits[limit % self.limits.len()].interval;
                interval.cast_signed() * quarters / 4 + more
            }
            Wait::RetryAfter(more) => self.retry_after.cast_signed() + more,
            Wait::ResetAfter(more) => self.reset_after.cast_signed() + more,
        };
        // Years of quotas must not end after the times that the library counts.
        self.at.saturating_add_signed(by).clamp(1, LATEST)
    }

    fn units(&self, cost: Cost) -> Units {
        match cost.by_label {
            Some(each) => labelled(&self.limits, &each, |limit, share| share % (limit.amount + 1)),
            None => Units::All(cost.share % (self.largest_cost() + 1)),
        }
    }

    fn decided(&mut self, units: Units, outcome: Outcome) -> Event {
        (self.retry_after, self.reset_after) = (outcome.retry_after, outcome.reset_after);
        Event::Decided(units, outcome)
    }
}

/// Returns limits of these numbers in the place of others. They keep the calendar of a quota.
pub fn in_place(limits: &[Spec], parameters: &[(u64, u64, u64)]) -> Vec<Spec> {
    let limits = limits.iter().zip(parameters).map(|(limit, (amount, interval, offset))| {
        let offset = if limit.kind == Kind::Quota { limit.offset } else { *offset };
        spec(limit.kind, limit.number, *amount, *interval, offset)
    });
    limits.collect()
}

/// Returns whether the units take anything of a limit.
pub fn takes(limits: &[Spec], units: &Units) -> bool {
    let counts_units = |limit: &&Spec| !matches!(limit.kind, Kind::Throttle | Kind::Concurrency);
    let mut counting = limits.iter().filter(counts_units).peekable();
    counting.peek().is_none() && *units != NOTHING || counting.any(|limit| units.of(&limit.name()) > 0)
}

/// Returns the units of each limit that has a number. Points must be named; limits that count calls must not.
pub fn labelled(limits: &[Spec], each: &Each, units: impl Fn(&Spec, u64) -> u64) -> Units {
    let named = limits.iter().filter_map(|limit| match (limit.kind, each[limit.number % each.len()]) {
        (Kind::Throttle | Kind::Concurrency, _) => None,
        (Kind::Points, number) => Some((limit.name(), units(limit, number.unwrap_or(1)))),
        (_, number) => number.map(|number| (limit.name(), units(limit, number))),
    });
    Units::ByLabel(named.collect())
}

/// The latest time of a sequence, in the year 2109.
const LATEST: u64 = 4_400_000_000_000_000;

/// Returns a limit whose parameters are reduced to values that are valid for its kind. A meter with an odd offset gives back
/// only what cannot have drained.
fn spec(kind: Kind, number: usize, amount: u64, interval: u64, offset: u64) -> Spec {
    let (interval, offset) = match kind {
        Kind::Bucket => (interval, offset % interval),
        Kind::Quota => {
            let calendar = offset % CALENDARS.len() as u64;
            (CALENDARS[usize::try_from(calendar).expect("an index")].3, calendar)
        }
        Kind::Leaky | Kind::Points => (interval, offset % 2),
        _ => (interval, 0),
    };
    let whole = Spec { kind, number, amount, interval, offset };
    match kind {
        // A window stores a time for each unit, so a large amount would be slow.
        Kind::Window => Spec { amount: (amount - 1) % 40 + 1, ..whole },
        Kind::Throttle => Spec { amount: amount.min(interval), ..whole },
        _ => whole,
    }
}

pub const COUNTING_KINDS: [Kind; 6] =
    [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle, Kind::Quota];

impl Spec {
    /// Returns the label; `None` for that of the kind.
    pub fn label(&self) -> Option<String> {
        (self.number > 0).then(|| format!("limit-{}", self.number))
    }

    /// Returns the label, also where it is that of the kind.
    pub fn name(&self) -> String {
        self.label().unwrap_or_else(|| self.kind.name().to_owned())
    }
}

/// Generates a limiter of these kinds in this order, and fewer than `length` operations, also extensions, refunds and learned
/// limits.
pub fn sequence(kinds: Vec<Kind>, length: usize) -> impl Strategy<Value = Sequence> {
    let extend = (0..4_usize, any::<u64>(), any::<bool>());
    let extend = extend.prop_map(|(age, share, is_first_id)| Operation::Extend { age, share, is_first_id });
    let learn = prop::collection::vec(parameters(), 4).prop_map(Operation::Learn);
    let refund = cost().prop_map(Operation::Refund);
    sequence_of(kinds, length, prop_oneof![24 => operation(), 2 => extend, 2 => refund, 1 => learn])
}

/// Generates a sequence without extensions, refunds and learned limits. The seeds of the mutants were chosen for these.
pub fn plain_sequence(kinds: Vec<Kind>, length: usize) -> impl Strategy<Value = Sequence> {
    sequence_of(kinds, length, operation())
}

fn sequence_of(
    kinds: Vec<Kind>,
    length: usize,
    operation: impl Strategy<Value = Operation>,
) -> impl Strategy<Value = Sequence> {
    let limits = prop::collection::vec(parameters(), kinds.len()).prop_map(move |parameters| {
        let parameters = parameters.into_iter().zip(&kinds).enumerate();
        let limit = |(number, ((amount, interval, offset), kind)): (usize, (_, &Kind))| {
            spec(*kind, number, amount, interval, offset)
        };
        parameters.map(limit).collect()
    });
    let start = prop_oneof![Just(1), Just(1_700_000_000_000_000), Just(4_000_000_000_000_000)];
    let operations = (prop::collection::vec(operation, 1..length), any::<bool>());
    (limits, start, operations).prop_map(|(limits, start, (mut operations, has_policies))| {
        // Redis keeps what was taken of a limit that later calls do not have only for as long as its numbers say. A resize
        // in between would count it for longer.
        operations.retain(|operation| match operation {
            Operation::Resize(_) | Operation::Override(..) | Operation::Restore | Operation::Learn(_) => !has_policies,
            Operation::Policy(_) => has_policies,
            _ => true,
        });
        Sequence { limits, start, operations }
    })
}

/// Generates a limiter of one to four limits.
pub fn composite(length: usize) -> impl Strategy<Value = Sequence> {
    prop::collection::vec(prop::sample::select(&COUNTING_KINDS[..]), 1..=4)
        .prop_flat_map(move |kinds| sequence(kinds, length))
}

/// Generates a limiter of one to four limits of these kinds, without extensions.
pub fn plain_composite(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Sequence> {
    prop::collection::vec(prop::sample::select(kinds), 1..=4).prop_flat_map(move |kinds| plain_sequence(kinds, length))
}

/// Removes the operations that a property does not allow.
pub fn keep_only(mut sequence: Sequence, keep: impl Fn(&Operation) -> bool) -> Sequence {
    sequence.operations.retain(keep);
    sequence
}

/// Returns whether an operation leaves the limits and the state in place and does not move time backwards.
pub fn keeps_state_and_clock(operation: &Operation) -> bool {
    match operation {
        Operation::Wait(Wait::By(by)) => *by >= 0,
        Operation::Wait(Wait::Quarters { quarters, more, .. }) => *quarters >= 0 && *more >= 0,
        Operation::Wait(Wait::RetryAfter(more) | Wait::ResetAfter(more)) => *more >= 0,
        Operation::Resize(_)
        | Operation::Policy(_)
        | Operation::Override(..)
        | Operation::Restore
        | Operation::Learn(_)
        | Operation::Reset
        | Operation::Lose => false,
        Operation::Acquire(_)
        | Operation::Peek(_)
        | Operation::Debit(_)
        | Operation::Refund(_)
        | Operation::Correct { .. }
        | Operation::Extend { .. } => true,
    }
}

/// How many cases a property tries, times `PADDLEGATE_CASES` or else a third of them, and where it keeps the seeds of
/// those that failed.
pub fn config(cases: u32, seeds: &'static str) -> ProptestConfig {
    let factor: Option<u32> = std::env::var("PADDLEGATE_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: factor.map_or(cases.div_ceil(3), |factor| cases * factor),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        10 => cost().prop_map(Operation::Acquire),
        2 => cost().prop_map(Operation::Peek),
        1 => cost().prop_map(Operation::Debit),
        3 => (0..4_usize, prop_oneof![Just(0), 0..=5_u64, Just(8), Just(40)], each())
            .prop_map(|(age, quarters, by_label)| Operation::Correct { age, quarters, by_label }),
        8 => wait().prop_map(Operation::Wait),
        1 => prop::collection::vec(parameters(), 4).prop_map(Operation::Resize),
        2 => any::<u8>().prop_map(Operation::Policy),
        1 => override_limits(),
        1 => prop_oneof![Just(Operation::Reset), Just(Operation::Lose)],
    ]
}

fn cost() -> impl Strategy<Value = Cost> {
    let share = prop_oneof![4 => Just(1), 1 => Just(0), 3 => 1..=50_u64, 1 => any::<u64>()];
    (share, any::<bool>(), each()).prop_map(|(share, estimate, by_label)| Cost { share, estimate, by_label })
}

/// Generates the units of the limits of one limiter by label, or none.
pub fn each() -> impl Strategy<Value = Option<Each>> {
    let units = prop_oneof![2 => Just(0), 3 => Just(1), 3 => 1..=50_u64, 1 => any::<u64>()];
    let number = prop::option::weighted(0.6, units);
    prop::option::weighted(0.4, [number.clone(), number.clone(), number.clone(), number])
}

fn override_limits() -> impl Strategy<Value = Operation> {
    let for_us = prop::option::of(prop::sample::select(&[1, 1_000, 30_000_000][..]));
    let limits = (prop::collection::vec(parameters(), 4), for_us);
    prop_oneof![
        3 => limits.prop_map(|(parameters, for_us)| Operation::Override(parameters, for_us)),
        1 => Just(Operation::Restore),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    let small_offset = || -2..=2_i64;
    prop_oneof![
        2 => small_offset().prop_map(Wait::By),
        1 => prop::sample::select(&[59_999_999, 60_000_000, 299_999_999, 300_000_000, 1_000_000][..])
            .prop_map(Wait::By),
        1 => (-100_000_000..0_i64).prop_map(Wait::By),
        4 => (0..4_usize, 0..=5_i64, small_offset())
            .prop_map(|(limit, quarters, more)| Wait::Quarters { limit, quarters, more }),
        1 => (0..4_usize, -6..0_i64, small_offset())
            .prop_map(|(limit, quarters, more)| Wait::Quarters { limit, quarters, more }),
        4 => small_offset().prop_map(Wait::RetryAfter),
        1 => small_offset().prop_map(Wait::ResetAfter),
    ]
}

/// Generates an amount, an interval and an offset: mostly small, sometimes the largest, or without common factors.
fn parameters() -> impl Strategy<Value = (u64, u64, u64)> {
    const INTERVALS: [u64; 10] = [1, 2, 3, 7, 10, 1_000, 99_991, 1_000_000, 60_000_000, 86_400_000_000];
    const LARGEST: [(u64, u64); 3] =
        [(1_000_000_000_000, 86_400_000_000), ((1 << 26) - 1, 1 << 25), (999_999_999_989, 1)];
    let small = (1..=12_u64, prop::sample::select(&INTERVALS[..]));
    let middle = (1..=1_000_u64, 1..=1_000_000_000_u64);
    let large = (1..=MAX_UNITS, 1..=864_000_000_000_u64);
    let pair = prop_oneof![12 => small, 3 => middle, 1 => large, 1 => prop::sample::select(&LARGEST[..])];
    (pair, any::<u32>()).prop_map(|((amount, interval), offset)| (amount, interval, offset.into()))
}
