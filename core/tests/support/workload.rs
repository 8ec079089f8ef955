//! Generates random workloads (callers with ids that enter, wait, release, renew and cancel) and runs them on a store.

use std::collections::HashMap;

use paddlegate::{
    AdminCommand, Answer, BlockAfter, BudgetUpdate, Deadline, Decision, ErrorKind, HistoryEntry, Kind, Limit,
    LimitOverride, Limiter, Micros, Mode, Operation, Paddlegate, Page, QueuePosition, Request, SignalHandling,
    TurnsHost, UpstreamReport, Wait, Wakeup,
};
use proptest::prelude::*;

use super::inbox::Inbox;
use super::library::{limit, policy};
use super::raw::Raw;
use super::script_client::ScriptClient;
use super::sequence::{Each, Spec, labelled};
use super::units::Units;
use super::{clock, memory_with_clock, open_whole, set_clock};

/// A limiter and the steps that its callers run.
#[derive(Clone, Debug)]
pub struct Workload {
    pub limits: Vec<Spec>,
    pub steps: Vec<Step>,
}

pub const CALLERS: usize = 6;
const HOUR: u64 = 3_600_000_000;

#[derive(Clone, Debug)]
pub enum Step {
    Enter {
        caller: usize,
        units: Asked,
        estimate: bool,
        wait: Option<WaitOptions>,
    },
    Release {
        caller: usize,
    },
    Renew {
        caller: usize,
    },
    /// Uses the permit of an earlier lease of the same id.
    ReleaseOld {
        caller: usize,
    },
    RenewOld {
        caller: usize,
    },
    Cancel {
        caller: usize,
        gave_up: bool,
    },
    /// Asks for so many calls whose turn has come, as a host that sleeps if it is given.
    Ready {
        count: u64,
        host: Option<(u8, Channel)>,
    },
    Correct {
        caller: usize,
        actual: Asked,
    },
    /// Reserves more units for a permit, by its id of the grant or by that of the last extension.
    Extend {
        caller: usize,
        units: Asked,
        is_first_id: bool,
    },
    Acquire {
        units: Asked,
    },
    Peek {
        units: Asked,
    },
    Debit {
        units: Asked,
    },
    Refund {
        units: Asked,
    },
    /// Advances the time by so many microseconds; `RetryAfter` advances it to the last `retry_after` plus an offset.
    Advance(u64),
    RetryAfter(i64),
    /// Changes the amount of the first limit.
    Resize(u64),
    /// Another policy of the same name: those limits of the workload whose bit is set.
    Policy(u8),
    Admin(Admin),
    /// Callers in shadow, or not.
    Mode(Mode),
    /// Callers whose refusals lead to a block, with the number of refusals and both times; or without such a rule.
    BlockAfter(Option<(u64, u64, u64)>),
    /// Callers that rise in the queue after each such time, or do not.
    Aging(Option<u64>),
    Report {
        caller: Option<usize>,
        actual: Option<Asked>,
        budgets: Vec<ReportedBudget>,
        pause: Option<i64>,
    },
    Reset,
}

/// The costs in a workload.
#[derive(Clone, Copy, Debug)]
pub enum Costs {
    /// Numbers, and no debits. The seeds of the mutants were chosen for these.
    Numbers,
    /// Numbers and costs by label, debits and refunds.
    Labels,
    /// The same but refunds, and calls with priorities and shares whose tickets others may pass by.
    Shares,
}

/// The units that a caller asks for.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    All(u64),
    /// Of each limit of the workload; a limit without a number is not named.
    ByLabel(Each),
}

impl From<u64> for Asked {
    fn from(units: u64) -> Self {
        Self::All(units)
    }
}

#[derive(Clone, Debug)]
pub enum Admin {
    Get,
    /// A positive number is a duration from now; a negative one gives an absolute deadline.
    Pause(i64),
    Resume,
    Block(i64),
    Mode(Option<Mode>, Option<i64>),
    /// For each limit, 0 keeps the override, 1 removes it, and more sets an amount and an interval.
    Override(Vec<u64>, Option<i64>),
}

/// The values that an upstream reports for one limit.
#[derive(Clone, Debug)]
pub struct ReportedBudget {
    pub remaining: Option<u64>,
    pub amount: Option<u64>,
    pub reset: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub struct WaitOptions {
    pub max_wait: u64,
    pub claim_timeout: u64,
    pub channel: Channel,
    /// 0 is the end of the queue, 1 the previous ticket number, 2 only an existing queue position.
    pub position: u8,
    pub keep: u64,
    pub order: Order,
}

/// Where a call joins the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    pub priority: u8,
    /// 0 is nobody's.
    pub share: u8,
    pub weight: u32,
}

const SHARES: [&str; 4] = ["", "a", "b c", "0"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    None,
    Subscribed,
    /// A channel without a subscriber.
    Unsubscribed,
}

pub const START: u64 = 1_700_000_000_000_000;

/// Generates a workload for a limiter of these kinds.
pub fn workload(kinds: &'static [Kind], length: usize, costs: Costs) -> impl Strategy<Value = Workload> {
    workload_of(kinds, prop::collection::vec(step(costs), 1..length))
}

/// Generates a workload that also runs admin commands and upstream reports.
pub fn workload_with_admin(kinds: &'static [Kind], length: usize, costs: Costs) -> impl Strategy<Value = Workload> {
    let step = prop_oneof![8 => step(costs), 1 => admin().prop_map(Step::Admin), 1 => report(costs)];
    workload_of(kinds, prop::collection::vec(step, 1..length))
}

/// Generates a workload that also changes modes, and whose refusals lead to blocks.
pub fn workload_with_modes(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Workload> {
    let mode = || prop_oneof![2 => Just(Mode::Shadow), 1 => Just(Mode::Enforce)];
    let rule = (
        1..=3_u64,
        prop::sample::select(&[1_000_000_u64, 5_000_000][..]),
        prop::sample::select(&[1_000_000_u64, 30_000_000][..]),
    );
    let of_modes = prop_oneof![
        3 => mode().prop_map(Step::Mode),
        2 => prop::option::weighted(0.8, rule).prop_map(Step::BlockAfter),
        2 => (prop::option::weighted(0.8, mode()), prop::option::of(deadline()))
            .prop_map(|(mode, expires)| Step::Admin(Admin::Mode(mode, expires))),
        1 => deadline().prop_map(|by| Step::Admin(Admin::Block(by))),
    ];
    let step = prop_oneof![
        10 => step(Costs::Labels),
        2 => of_modes,
        1 => admin().prop_map(Step::Admin),
        1 => report(Costs::Labels),
    ];
    workload_of(kinds, prop::collection::vec(step, 1..length))
}

/// Generates a workload whose callers come back when they should, or so late that others pass them by.
pub fn workload_with_late_callers(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Workload> {
    let times = [1_u64, 2_499_999, 4_999_999, 5_000_000, 6_000_000, 6_500_000, 14_999_999, 15_000_000, 17_000_000];
    let step = prop_oneof![
        10 => step(Costs::Shares),
        2 => prop::sample::select(times.to_vec()).prop_map(Step::Advance),
        1 => admin().prop_map(Step::Admin),
    ];
    workload_of(kinds, prop::collection::vec(step, 1..length))
}

/// Generates a workload of shares whose callers rise in the queue.
pub fn workload_with_aging(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Workload> {
    let aging = prop::option::weighted(0.9, prop::sample::select(&[1_000_000_u64, 2_500_000, 30_000_000][..]));
    let step = prop_oneof![12 => step(Costs::Shares), 1 => aging.prop_map(Step::Aging)];
    let steps = prop::collection::vec(step, 1..length);
    workload_of(kinds, steps.prop_map(|steps| std::iter::once(Step::Aging(Some(1_000_000))).chain(steps).collect()))
}

/// Generates a workload whose calls have several policies of the same name, which share some limits.
///
/// Limits keep their numbers: Redis keeps what was taken of a limit that later calls do not have only for as long as its
/// numbers say.
pub fn workload_with_policies(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Workload> {
    let masks = (1_u8..1 << kinds.len()).prop_map(Step::Policy);
    let step = prop_oneof![5 => step(Costs::Labels).prop_filter("limits keep their numbers", |step| !matches!(step, Step::Resize(_))), 1 => masks];
    workload_of(kinds, prop::collection::vec(step, 1..length))
}

fn workload_of(kinds: &'static [Kind], steps: impl Strategy<Value = Vec<Step>>) -> impl Strategy<Value = Workload> {
    let limits = prop::collection::vec(
        (1..=4_u64, prop::sample::select(&[1_000_u64, 1_000_000, 3_000_000, 30_000_000][..])),
        kinds.len(),
    );
    let limits = limits.prop_map(move |parameters| {
        let limits = parameters.into_iter().zip(kinds);
        let limits = limits.enumerate().map(|(number, ((amount, interval), kind))| Spec {
            kind: *kind,
            number,
            amount,
            interval,
            offset: 0,
        });
        limits.collect::<Vec<_>>()
    });
    (limits, steps).prop_map(|(limits, steps)| Workload { limits, steps })
}

fn step(costs: Costs) -> BoxedStrategy<Step> {
    let caller = || 0..CALLERS;
    let waiting = waiting(costs);
    let step = prop_oneof![
        12 => (
            caller(),
            asked(costs, prop_oneof![5 => Just(1_u64), 1 => 0..=4_u64]),
            any::<bool>(),
            prop::option::weighted(0.85, waiting),
        )
            .prop_map(|(caller, units, estimate, wait)| Step::Enter { caller, units, estimate, wait }),
        5 => caller().prop_map(|caller| Step::Release { caller }),
        1 => caller().prop_map(|caller| Step::Renew { caller }),
        1 => caller().prop_map(|caller| Step::ReleaseOld { caller }),
        1 => caller().prop_map(|caller| Step::RenewOld { caller }),
        2 => (caller(), any::<bool>()).prop_map(|(caller, gave_up)| Step::Cancel { caller, gave_up }),
        1 => (caller(), asked(costs, 0..=6_u64)).prop_map(|(caller, actual)| Step::Correct { caller, actual }),
        2 => asked(costs, 0..=2_u64).prop_map(|units| Step::Acquire { units }),
        1 => asked(costs, 0..=2_u64).prop_map(|units| Step::Peek { units }),
        4 => prop::sample::select(
            &[1_u64, 999, 500_000, 1_000_000, 2_000_000, 5_000_000, 31_000_000, 61_000_000, 301_000_000][..],
        )
        .prop_map(Step::Advance),
        5 => (-1..=1_i64).prop_map(Step::RetryAfter),
        1 => (1..=4_u64).prop_map(Step::Resize),
        1 => prop_oneof![9 => Just(Step::Advance(1)), 1 => Just(Step::Reset)],
    ];
    match costs {
        Costs::Numbers => step.boxed(),
        Costs::Labels | Costs::Shares => {
            let debit = asked(costs, 0..=6_u64).prop_map(|units| Step::Debit { units });
            let extend = (caller(), asked(costs, 1..=3_u64), any::<bool>());
            let extend = extend.prop_map(|(caller, units, is_first_id)| Step::Extend { caller, units, is_first_id });
            let asks = if matches!(costs, Costs::Shares) { 3 } else { 1 };
            let ready = prop_oneof![3 => Just(100), 1 => 1..=3_u64].prop_map(|which| {
                let (count, host) = match which {
                    1 => (1, Some((1, Channel::Subscribed))),
                    2 => (100, Some((2, Channel::Subscribed))),
                    3 => (3, Some((3, Channel::Unsubscribed))),
                    count => (count, None),
                };
                Step::Ready { count, host }
            });
            let refund = asked(costs, 0..=6_u64).prop_map(|units| Step::Refund { units });
            let refunds = u32::from(matches!(costs, Costs::Labels));
            prop_oneof![40 => step, 1 => debit, 2 => extend, asks => ready, refunds => refund].boxed()
        }
    }
}

fn waiting(costs: Costs) -> impl Strategy<Value = WaitOptions> {
    (
        prop::sample::select(&[0_u64, 1_000, 2_000_000, 60_000_000, 1_000_000_000][..]),
        prop::sample::select(claim_timeouts(costs)),
        prop_oneof![2 => Just(Channel::None), 6 => Just(Channel::Subscribed), 1 => Just(Channel::Unsubscribed)],
        prop_oneof![4 => Just(0_u8), 2 => Just(1), 1 => Just(2)],
        order(costs),
    )
        .prop_map(|(max_wait, claim_timeout, channel, position, (keep, order))| WaitOptions {
            max_wait,
            claim_timeout,
            channel,
            position,
            keep,
            order,
        })
}

fn claim_timeouts(costs: Costs) -> &'static [u64] {
    match costs {
        Costs::Numbers | Costs::Labels => &[1, 500_000, 2_000_000],
        Costs::Shares => &[1, 500_000, 2_000_000, 60_000_000],
    }
}

fn order(costs: Costs) -> BoxedStrategy<(u64, Order)> {
    match costs {
        Costs::Numbers | Costs::Labels => Just((0, Order::default())).boxed(),
        Costs::Shares => (
            prop::sample::select(&[0_u64, 0, 3_000_000, 60_000_000][..]),
            prop_oneof![5 => Just(0_u8), 2 => Just(3), 1 => Just(9)],
            prop_oneof![1 => Just(0_u8), 3 => 1..=3_u8],
            prop_oneof![prop::sample::select(&[1_u32, 2, 3, 1_000][..]), 1..=1_000_u32],
        )
            .prop_map(|(keep, priority, share, weight)| (keep, Order { priority, share, weight }))
            .boxed(),
    }
}

fn asked(costs: Costs, all: impl Strategy<Value = u64> + 'static) -> BoxedStrategy<Asked> {
    let all = all.prop_map(Asked::All);
    match costs {
        Costs::Numbers => all.boxed(),
        Costs::Labels | Costs::Shares => {
            let number = || prop::option::weighted(0.7, 0..=4_u64);
            let each = [number(), number(), number(), number()];
            prop_oneof![3 => all, 1 => each.prop_map(Asked::ByLabel)].boxed()
        }
    }
}

fn deadline() -> impl Strategy<Value = i64> {
    prop::sample::select(&[1_i64, 1_000_000, 1_500_000, 30_000_000, -1, -2_000_001, -700_000, -60_000_000][..])
}

fn admin() -> impl Strategy<Value = Admin> {
    prop_oneof![
        1 => Just(Admin::Get),
        2 => deadline().prop_map(Admin::Pause),
        1 => Just(Admin::Resume),
        3 => (prop::collection::vec(0..=6_u64, 4), prop::option::of(deadline()))
            .prop_map(|(amounts, expires)| Admin::Override(amounts, expires)),
    ]
}

fn report(costs: Costs) -> impl Strategy<Value = Step> {
    let budget =
        (prop::option::of(0..=5_u64), prop::option::weighted(0.3, 1..=6_u64), prop::option::weighted(0.3, deadline()))
            .prop_map(|(remaining, amount, reset)| ReportedBudget { remaining, amount, reset });
    let budgets = prop::collection::vec(budget, 0..=4);
    (
        prop::option::of(0..CALLERS),
        prop::option::of(asked(costs, 0..=6_u64)),
        budgets,
        prop::option::weighted(0.1, deadline()),
    )
        .prop_map(|(caller, actual, budgets, pause)| Step::Report { caller, actual, budgets, pause })
}

/// A limiter and the state of its callers, on either store.
pub struct Runner {
    store: Paddlegate,
    name: String,
    pub limiter: Limiter,
    form: Form,
    /// Sends the calls when a test replaces the library's script.
    client: Option<ScriptClient>,
    /// The limits of the policy in use.
    limits: Vec<Spec>,
    mode: Mode,
    block_after: Option<BlockAfter>,
    aging: Option<Micros>,
    /// The limits of all policies.
    all: Vec<Spec>,
    inbox: Inbox,
    pub at: u64,
    retry_after: u64,
    permits: HashMap<usize, String>,
    old_permits: HashMap<usize, String>,
    /// The last ids of extended permits.
    extended: HashMap<usize, String>,
    ticket_numbers: HashMap<usize, u64>,
}

/// What a limiter is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    /// A keyed limiter with a key.
    Keyed,
    /// A limiter without statistics.
    Uncounted,
}

impl Form {
    pub fn of(self, limiter: Limiter) -> Limiter {
        match self {
            Self::Plain => limiter,
            Self::Keyed => limiter.keyed().and_then(|limiter| limiter.with_key("alice")).expect("a key"),
            Self::Uncounted => limiter.without_statistics().expect("one limiter"),
        }
    }
}

/// The result of one step: the answer, the wake-ups, and both as text.
pub struct StepResult {
    pub text: String,
    pub answer: Option<Answer>,
    pub wakeups: Vec<Wakeup>,
}

impl StepResult {
    pub fn decision(&self) -> Option<&Decision> {
        match &self.answer {
            Some(Answer::Decision(decision)) => Some(decision),
            _ => None,
        }
    }
}

impl Runner {
    pub fn in_memory(workload: &Workload) -> Self {
        let store = memory_with_clock();
        let limiter = store.limiter("workload", policy(&workload.limits)).expect("a limiter");
        let inbox = Inbox::in_memory(&limiter);
        Self::new(store, limiter, None, workload, inbox)
    }

    pub fn on_redis(store: &Paddlegate, url: &str, name: &str, workload: &Workload) -> Self {
        let limiter = store.limiter(name, policy(&workload.limits)).expect("a limiter");
        Self::new(store.clone(), limiter, None, workload, Inbox::on_redis(Raw::open(url), name))
    }

    /// Runs on a private server, with another script text in place of the library's script.
    pub fn on_script(port: u16, text: &str, workload: &Workload) -> Self {
        let store = open_whole(&format!("redis://127.0.0.1:{port}"), Some(&clock()));
        let limiter = store.limiter("mutant", policy(&workload.limits)).expect("a limiter");
        let inbox = Inbox::on_redis(Raw::connect("127.0.0.1", port), "mutant");
        let mut runner = Self::new(store, limiter, Some(ScriptClient::new(port, text)), workload, inbox);
        runner.run(Operation::Reset).expect("a reset");
        runner
    }

    /// Gives the limiter another form.
    pub fn in_form(mut self, form: Form) -> Self {
        (self.form, self.limiter) = (form, form.of(self.limiter));
        self
    }

    fn new(
        store: Paddlegate,
        limiter: Limiter,
        client: Option<ScriptClient>,
        workload: &Workload,
        inbox: Inbox,
    ) -> Self {
        Self {
            store,
            name: limiter.name().to_owned(),
            limiter,
            form: Form::Plain,
            client,
            limits: workload.limits.clone(),
            mode: Mode::Enforce,
            block_after: None,
            aging: None,
            all: workload.limits.clone(),
            inbox,
            at: START,
            retry_after: 0,
            permits: HashMap::new(),
            old_permits: HashMap::new(),
            extended: HashMap::new(),
            ticket_numbers: HashMap::new(),
        }
    }

    /// Runs an operation. Panics if the library's own script fails.
    fn run(&mut self, operation: Operation<'_>) -> Result<Answer, String> {
        set_clock(self.at);
        if let Some(client) = &mut self.client {
            return client.run(&self.limiter, operation);
        }
        let answer = self.limiter.run(operation, SignalHandling::Ignore);
        // An override may make a limit smaller than the cost, so that the call can never fit.
        match answer {
            Err(error) if error.kind() == ErrorKind::Invalid => Err(error.to_string()),
            answer => Ok(answer.unwrap_or_else(|error| panic!("{operation:?}: {error}"))),
        }
    }

    /// Returns the statistics, the history and what an inspection finds.
    pub fn statistics(&mut self) -> String {
        let statistics = self.run(Operation::Statistics);
        let pages = [Page::default(), Page { offset: 1, count: 2 }];
        let mut history = self.run(Operation::History);
        if let Ok(Answer::History(history)) = &mut history {
            let is_counted = |entry: &HistoryEntry| entry.granted + entry.refused + entry.waited + entry.units > 0;
            history.minutes.retain(is_counted);
            history.hours.retain(is_counted);
        }
        format!(
            "{statistics:?} {history:?} {:?}",
            pages.map(|page| self.run(Operation::Inspect { page }).map(comparable))
        )
    }

    /// Runs a call without an id.
    fn ask(&mut self, units: Asked, peeks: bool) -> Result<Answer, String> {
        let limits = self.describes();
        self.units(units).with(|units| {
            let request = Request { limits, ..Request::cost(units) };
            self.run(if peeks { Operation::Peek(request) } else { Operation::Acquire(request) })
        })
    }

    /// Returns whether the call of now asks for the numbers of each limit: at some times that are not round.
    fn describes(&self) -> bool {
        self.at % 5 == 4
    }

    /// Returns the largest cost that every limit accepts.
    fn largest_cost(&self) -> u64 {
        let amounts = self.limits.iter().filter(|limit| !matches!(limit.kind, Kind::Throttle | Kind::Concurrency));
        amounts.map(|limit| limit.amount).min().unwrap_or(4)
    }

    /// Returns the units of a call, each at most what its limit accepts.
    fn units(&self, asked: Asked) -> Units {
        match asked {
            Asked::All(units) => Units::All(units.min(self.largest_cost())),
            Asked::ByLabel(each) => labelled(&self.limits, &each, |limit, units| units.min(limit.amount)),
        }
    }

    /// Returns the units of a correction or a debit.
    fn actual(&self, asked: Asked) -> Units {
        match asked {
            Asked::All(units) => Units::All(units),
            Asked::ByLabel(each) => labelled(&self.limits, &each, |_, units| 2 * units),
        }
    }

    pub fn step(&mut self, step: &Step) -> StepResult {
        let result = match step {
            Step::Enter { caller, units, estimate, wait } => Some(self.enter(*caller, *units, *estimate, *wait)),
            Step::Acquire { units } => {
                let mut answer = self.ask(*units, false);
                if let Ok(Answer::Decision(decision)) = &mut answer {
                    // Acquire without an id returns a random permit, which two stores cannot share.
                    decision.permit = None;
                }
                Some(answer)
            }
            Step::Peek { units } => Some(self.ask(*units, true)),
            Step::Debit { units } | Step::Refund { units } => {
                let counts_units = |limit: &Spec| !matches!(limit.kind, Kind::Throttle | Kind::Concurrency);
                let is_debit = matches!(step, Step::Debit { .. });
                let units = self.actual(*units);
                let is_charged = self.limits.iter().any(counts_units);
                is_charged.then(|| {
                    units.with(|units| {
                        self.run(if is_debit { Operation::Debit(units) } else { Operation::Refund(units) })
                    })
                })
            }
            Step::Release { caller } => {
                self.permits.get(caller).cloned().map(|permit| self.run(Operation::Release { permit: &permit }))
            }
            Step::Renew { caller } => {
                self.permits.get(caller).cloned().map(|permit| self.run(Operation::Renew { permit: &permit }))
            }
            Step::ReleaseOld { caller } => {
                self.old_permits.get(caller).cloned().map(|permit| self.run(Operation::Release { permit: &permit }))
            }
            Step::RenewOld { caller } => {
                self.old_permits.get(caller).cloned().map(|permit| self.run(Operation::Renew { permit: &permit }))
            }
            Step::Correct { caller, actual } => {
                let (permit, actual) = (self.permits.get(caller).cloned(), self.actual(*actual));
                permit.map(|permit| actual.with(|actual| self.run(Operation::Correct { permit: &permit, actual })))
            }
            Step::Extend { caller, units, is_first_id } => {
                let first = self.permits.get(caller).cloned();
                let permit = self.extended.get(caller).filter(|_| !is_first_id).cloned().or(first);
                let units = match self.actual(*units) {
                    // An extension of a label that is not named takes nothing of it.
                    Units::ByLabel(each) if each.is_empty() => Units::All(1),
                    units => units,
                };
                let answer =
                    permit.map(|permit| units.with(|units| self.run(Operation::Extend { permit: &permit, units })));
                if let Some(Ok(Answer::Extension(extension))) = &answer
                    && let Some(permit) = extension.decision().and_then(|decision| decision.permit.clone())
                {
                    self.extended.insert(*caller, permit);
                }
                answer
            }
            Step::Ready { count, host } => Some(self.ready(*count, *host)),
            Step::Cancel { caller, gave_up } => {
                Some(self.run(Operation::Cancel { id: &id(*caller), gave_up: *gave_up }))
            }
            Step::Advance(by) => {
                self.at += by;
                None
            }
            Step::RetryAfter(more) => {
                self.at = (self.at + self.retry_after).saturating_add_signed(*more).max(self.at);
                None
            }
            Step::Resize(_) | Step::Mode(_) | Step::BlockAfter(_) | Step::Aging(_) | Step::Policy(_) => {
                self.change(step);
                self.limiter = self.made();
                None
            }
            Step::Admin(admin) => Some(self.admin(admin)),
            Step::Report { caller, actual, budgets, pause } => Some(self.report(*caller, *actual, budgets, *pause)),
            Step::Reset => {
                // Ticket numbers restart after a reset.
                self.ticket_numbers.clear();
                Some(self.run(Operation::Reset))
            }
        };
        let wakeups = self.inbox.take();
        let text = format!("{result:?} wake-ups {wakeups:?}");
        let answer = result.and_then(Result::ok);
        let step_result = StepResult { text, answer, wakeups };
        if let Some(decision) = step_result.decision() {
            self.retry_after = decision.retry_after.map_or(0, |micros| micros.0);
        }
        step_result
    }

    /// Changes what the next limiter is made of.
    fn change(&mut self, step: &Step) {
        match step {
            Step::Resize(amount) => self.limits[0].amount = *amount,
            Step::Mode(mode) => self.mode = *mode,
            Step::BlockAfter(rule) => {
                self.block_after = rule.map(|(refusals, within, lasts)| {
                    BlockAfter::of_micros(refusals, Micros(within), Micros(lasts)).expect("a rule")
                });
            }
            Step::Aging(aging) => self.aging = aging.map(Micros),
            Step::Policy(mask) => {
                let chosen = self.all.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
                self.limits = chosen.map(|(_, limit)| *limit).collect();
            }
            other => panic!("changes no limiter: {other:?}"),
        }
    }

    fn made(&self) -> Limiter {
        let policy = policy(&self.limits).with_mode(self.mode).with_block_after(self.block_after);
        let policy = policy.with_aging(self.aging).expect("an aging");
        self.form.of(self.store.limiter(&self.name, policy).expect("a limiter"))
    }

    fn deadline(&self, by: i64) -> Deadline {
        if by > 0 {
            Deadline::After(Micros(by.unsigned_abs()))
        } else {
            Deadline::At(Micros(self.at + by.unsigned_abs() - 1))
        }
    }

    /// Returns the limit with another amount and interval.
    fn changed_limit(&self, i: usize, amount: u64) -> Limit {
        let spec @ Spec { kind, interval, .. } = self.limits[i];
        let interval = if amount > 4 { 2 * interval } else { interval };
        let amount = if kind == Kind::Concurrency { amount - 2 } else { amount.max(2) - 1 };
        limit(&Spec { amount, interval, ..spec })
    }

    fn admin(&mut self, admin: &Admin) -> Result<Answer, String> {
        let changes: Vec<LimitOverride>;
        let control = match admin {
            Admin::Get => AdminCommand::Get,
            Admin::Pause(by) => AdminCommand::Pause(self.deadline(*by)),
            Admin::Resume => AdminCommand::Resume,
            Admin::Block(by) => AdminCommand::Block(self.deadline(*by)),
            Admin::Mode(mode, expires) => {
                changes = vec![mode.map_or(LimitOverride::RemoveMode, LimitOverride::Mode)];
                AdminCommand::Override { changes: &changes, expires: expires.map(|by| self.deadline(by)) }
            }
            Admin::Override(amounts, expires) => {
                changes = (0..self.limits.len())
                    .filter_map(|i| match amounts[i] {
                        0 => None,
                        1 => Some(LimitOverride::Remove(limit(&self.limits[i]).label().clone())),
                        amount => Some(LimitOverride::Set(self.changed_limit(i, amount))),
                    })
                    .collect();
                AdminCommand::Override { changes: &changes, expires: expires.map(|by| self.deadline(by)) }
            }
        };
        self.run(Operation::Admin { command: control })
    }

    fn report(
        &mut self,
        caller: Option<usize>,
        actual: Option<Asked>,
        reported: &[ReportedBudget],
        pause: Option<i64>,
    ) -> Result<Answer, String> {
        let permit = caller.and_then(|caller| self.permits.get(&caller)).cloned();
        let reported = &reported[..reported.len().min(self.limits.len())];
        let budgets: Vec<BudgetUpdate> = reported
            .iter()
            .enumerate()
            .map(|(i, budget)| BudgetUpdate {
                label: limit(&self.limits[i]).label().clone(),
                remaining: budget.remaining,
                limit: budget.amount.map(|amount| self.changed_limit(i, amount.max(2))),
                reset: budget.reset.map(|by| self.deadline(by)),
            })
            .collect();
        let report = UpstreamReport {
            permit: permit.as_deref(),
            budgets: &budgets,
            pause: pause.map(|by| self.deadline(by)),
            ..UpstreamReport::default()
        };
        match actual.filter(|_| permit.is_some()).map(|actual| self.actual(actual)) {
            Some(actual) => actual.with(|actual| {
                let report = UpstreamReport { actual: Some(actual), ..report };
                self.run(Operation::ApplyReport { report })
            }),
            None => self.run(Operation::ApplyReport { report }),
        }
    }

    fn ready(&mut self, count: u64, host: Option<(u8, Channel)>) -> Result<Answer, String> {
        let host = host.map(|(host, channel)| (format!("host {host}"), self.channel(channel)));
        let host = host.as_ref().map(|(id, channel)| TurnsHost { id, channel });
        let answer = self.run(Operation::Ready { count, host });
        if let Ok(Answer::Ready(ready)) = &answer {
            self.retry_after = ready.after.0;
        }
        answer
    }

    fn channel(&self, channel: Channel) -> String {
        match channel {
            Channel::None => String::new(),
            Channel::Subscribed => self.inbox.channel(),
            Channel::Unsubscribed => "no-subscriber".to_owned(),
        }
    }

    fn enter(
        &mut self,
        caller: usize,
        asked: Asked,
        estimate: bool,
        wait: Option<WaitOptions>,
    ) -> Result<Answer, String> {
        let units = self.units(asked);
        let channel = wait.map_or_else(String::new, |wait| self.channel(wait.channel));
        let order = wait.map(|wait| wait.order).unwrap_or_default();
        // A period of a quota is a day at least.
        let longer = if self.limits.iter().any(|limit| limit.kind == Kind::Quota) { 1_000 } else { 1 };
        let wait = wait.map(|wait| Wait {
            max_wait: Micros(wait.max_wait * longer),
            claim_timeout: Micros(wait.claim_timeout),
            keep: Micros(wait.keep),
            channel: &channel,
            position: match (wait.position, self.ticket_numbers.get(&caller)) {
                (1, Some(number)) => QueuePosition::Number(*number),
                (2, _) => QueuePosition::Existing,
                _ => QueuePosition::End,
            },
            is_run: wait.keep > 0 && !caller.is_multiple_of(2),
        });
        let limits = self.describes();
        let answer = units.with(|units| {
            let request = match estimate {
                // Some permits live for longer than the others.
                true if caller.is_multiple_of(3) => Request::estimate(units).settle_within(Micros(HOUR)),
                true => Request::estimate(units),
                false => Request::cost(units),
            };
            let request = request.priority(order.priority);
            let request = match SHARES[usize::from(order.share)] {
                "" => request,
                share => request.share(share, order.weight),
            };
            let request = Request { limits, ..request };
            self.run(Operation::AcquireWithId { request, id: &id(caller), wait })
        });
        if let Ok(Answer::Decision(decision)) = &answer {
            if let Some(permit) = &decision.permit {
                let granted_at = |permit: &str| permit.split(':').nth(1).map(str::to_owned);
                self.extended.remove(&caller);
                let before = self.permits.insert(caller, permit.clone());
                self.old_permits
                    .extend(before.filter(|old| granted_at(old) != granted_at(permit)).map(|old| (caller, old)));
            }
            if let Some(ticket) = decision.ticket {
                self.ticket_numbers.insert(caller, ticket.number);
            }
        }
        answer
    }

    pub fn limits(&self) -> &[Spec] {
        &self.limits
    }
}

/// Returns the id of a caller.
pub fn id(caller: usize) -> String {
    format!("caller {caller}")
}

/// Returns an inspection with what two stores have in common: ids that the library made are random, and order leases that end
/// at the same time.
fn comparable(answer: Answer) -> Answer {
    let Answer::Inspection(mut inspection) = answer else { return answer };
    let is_whole = inspection.leases.len() as u64 == inspection.lease_count;
    for lease in &mut inspection.leases {
        if !is_whole || !lease.id.starts_with("caller ") {
            lease.id.clear();
        }
        if !is_whole {
            (lease.held_for, lease.fencing_token) = (None, None);
        }
    }
    inspection.leases.sort_by_key(|lease| (lease.ends_in, lease.fencing_token));
    Answer::Inspection(inspection)
}
