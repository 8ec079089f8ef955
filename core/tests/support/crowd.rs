//! Generates random crowds (callers with ids that enter, wait, release, renew and cancel) and runs them on a store.

use std::collections::HashMap;

use paddlegate::{
    AdminCommand, Answer, BudgetUpdate, Deadline, Decision, ErrorKind, Kind, Limit, LimitOverride, Limiter, Micros,
    Operation, Paddlegate, QueuePosition, Request, SignalHandling, UpstreamReport, Wait, Wakeup,
};
use proptest::prelude::*;

use super::carrier::Carrier;
use super::inbox::Inbox;
use super::raw::Raw;
use super::script::Spec;
use super::side::policy;

/// A limiter and the steps of its callers.
#[derive(Clone, Debug)]
pub struct Crowd {
    pub limits: Vec<Spec>,
    pub steps: Vec<Step>,
}

pub const CALLERS: usize = 6;

#[derive(Clone, Debug)]
pub enum Step {
    Enter {
        who: usize,
        units: u64,
        estimate: bool,
        wait: Option<Waiting>,
    },
    Release {
        who: usize,
    },
    Renew {
        who: usize,
    },
    /// Uses the permit of an earlier lease of the same id.
    ReleaseOld {
        who: usize,
    },
    RenewOld {
        who: usize,
    },
    Cancel {
        who: usize,
        gave_up: bool,
    },
    Correct {
        who: usize,
        actual: u64,
    },
    Acquire {
        units: u64,
    },
    Peek {
        units: u64,
    },
    /// Advances the time by so many microseconds; `Look` advances it to the last `retry_after` plus an offset.
    Later(u64),
    Look(i64),
    /// Changes the amount of the first limit.
    Resize(u64),
    Order(Order),
    Learn {
        who: Option<usize>,
        actual: Option<u64>,
        budgets: Vec<Told>,
        pause: Option<i64>,
    },
    Reset,
}

#[derive(Clone, Debug)]
pub enum Order {
    Look,
    /// A positive number is a duration from now; a negative one gives an absolute deadline.
    Pause(i64),
    Resume,
    /// For each limit, 0 keeps the override, 1 removes it, and more sets an amount and an interval.
    Override(Vec<u64>, Option<i64>),
}

/// The values that an upstream reports for one limit.
#[derive(Clone, Debug)]
pub struct Told {
    pub remaining: Option<u64>,
    pub amount: Option<u64>,
    pub reset: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub patience: u64,
    pub grace: u64,
    pub ear: Ear,
    /// 0 is the end of the queue, 1 the previous ticket number, 2 only an existing queue position.
    pub place: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ear {
    None,
    Open,
    /// A channel without a subscriber.
    Lost,
}

pub const START: u64 = 1_700_000_000_000_000;

/// Generates a crowd for a limiter of these kinds.
pub fn crowd(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Crowd> {
    crowd_of(kinds, prop::collection::vec(step(), 1..length))
}

/// Generates a crowd that also runs admin commands and upstream reports.
pub fn ordered_crowd(kinds: &'static [Kind], length: usize) -> impl Strategy<Value = Crowd> {
    let step = prop_oneof![8 => step(), 1 => order().prop_map(Step::Order), 1 => learn()];
    crowd_of(kinds, prop::collection::vec(step, 1..length))
}

fn crowd_of(kinds: &'static [Kind], steps: impl Strategy<Value = Vec<Step>>) -> impl Strategy<Value = Crowd> {
    let limits = prop::collection::vec(
        (1..=4_u64, prop::sample::select(&[1_000_u64, 1_000_000, 3_000_000, 30_000_000][..])),
        kinds.len(),
    );
    let limits = limits.prop_map(move |numbers| {
        let limits = numbers.into_iter().zip(kinds);
        let limits = limits.map(|((amount, interval), kind)| Spec {
            kind: *kind,
            amount: if *kind == Kind::Throttle { 1 } else { amount },
            interval,
            offset: 0,
        });
        limits.collect::<Vec<_>>()
    });
    (limits, steps).prop_map(|(limits, steps)| Crowd { limits, steps })
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..CALLERS;
    let waiting = (
        prop::sample::select(&[0_u64, 1_000, 2_000_000, 60_000_000, 1_000_000_000][..]),
        prop::sample::select(&[1_u64, 500_000, 2_000_000][..]),
        prop_oneof![2 => Just(Ear::None), 6 => Just(Ear::Open), 1 => Just(Ear::Lost)],
        prop_oneof![4 => Just(0_u8), 2 => Just(1), 1 => Just(2)],
    )
        .prop_map(|(patience, grace, ear, place)| Waiting { patience, grace, ear, place });
    prop_oneof![
        12 => (who(), prop_oneof![5 => Just(1_u64), 1 => 0..=4_u64], any::<bool>(), prop::option::weighted(0.85, waiting))
            .prop_map(|(who, units, estimate, wait)| Step::Enter { who, units, estimate, wait }),
        5 => who().prop_map(|who| Step::Release { who }),
        1 => who().prop_map(|who| Step::Renew { who }),
        1 => who().prop_map(|who| Step::ReleaseOld { who }),
        1 => who().prop_map(|who| Step::RenewOld { who }),
        2 => (who(), any::<bool>()).prop_map(|(who, gave_up)| Step::Cancel { who, gave_up }),
        1 => (who(), 0..=6_u64).prop_map(|(who, actual)| Step::Correct { who, actual }),
        2 => (0..=2_u64).prop_map(|units| Step::Acquire { units }),
        1 => (0..=2_u64).prop_map(|units| Step::Peek { units }),
        4 => prop::sample::select(&[1_u64, 999, 500_000, 1_000_000, 2_000_000, 5_000_000, 31_000_000, 61_000_000, 301_000_000][..]).prop_map(Step::Later),
        5 => (-1..=1_i64).prop_map(Step::Look),
        1 => (1..=4_u64).prop_map(Step::Resize),
        1 => prop_oneof![9 => Just(Step::Later(1)), 1 => Just(Step::Reset)],
    ]
}

fn moment() -> impl Strategy<Value = i64> {
    prop::sample::select(&[1_i64, 1_000_000, 1_500_000, 30_000_000, -1, -2_000_001, -700_000, -60_000_000][..])
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        1 => Just(Order::Look),
        2 => moment().prop_map(Order::Pause),
        1 => Just(Order::Resume),
        3 => (prop::collection::vec(0..=6_u64, 4), prop::option::of(moment()))
            .prop_map(|(amounts, expires)| Order::Override(amounts, expires)),
    ]
}

fn learn() -> impl Strategy<Value = Step> {
    let told =
        (prop::option::of(0..=5_u64), prop::option::weighted(0.3, 1..=6_u64), prop::option::weighted(0.3, moment()))
            .prop_map(|(remaining, amount, reset)| Told { remaining, amount, reset });
    let budgets = prop::collection::vec(told, 0..=4);
    (prop::option::of(0..CALLERS), prop::option::of(0..=6_u64), budgets, prop::option::weighted(0.1, moment()))
        .prop_map(|(who, actual, budgets, pause)| Step::Learn { who, actual, budgets, pause })
}

/// A limiter and the state of its callers, on either store.
pub struct Stage {
    store: Paddlegate,
    name: String,
    pub limiter: Limiter,
    /// Sends the calls when a test replaces the library's script.
    carrier: Option<Carrier>,
    limits: Vec<Spec>,
    inbox: Inbox,
    pub at: u64,
    look: u64,
    permits: HashMap<usize, String>,
    old: HashMap<usize, String>,
    numbers: HashMap<usize, u64>,
}

/// The result of one step: the answer, the wake-ups, and both as text.
pub struct Seen {
    pub text: String,
    pub answer: Option<Answer>,
    pub hints: Vec<Wakeup>,
}

impl Seen {
    pub fn decision(&self) -> Option<&Decision> {
        match &self.answer {
            Some(Answer::Decision(decision)) => Some(decision),
            _ => None,
        }
    }
}

impl Stage {
    pub fn in_memory(crowd: &Crowd) -> Self {
        let store = Paddlegate::memory();
        let limiter = store.limiter("crowd", policy(&crowd.limits)).expect("a limiter");
        let inbox = Inbox::in_memory(&limiter);
        Self::new(store, limiter, None, crowd, inbox)
    }

    pub fn on_redis(store: &Paddlegate, url: &str, name: &str, crowd: &Crowd) -> Self {
        let limiter = store.limiter(name, policy(&crowd.limits)).expect("a limiter");
        Self::new(store.clone(), limiter, None, crowd, Inbox::on_redis(Raw::open(url), name))
    }

    /// Runs on a private server, with another script text in place of the library's script.
    pub fn on_script(port: u16, text: &str, crowd: &Crowd) -> Self {
        let store = Paddlegate::open(&format!("redis://127.0.0.1:{port}"), None).expect("a store");
        let limiter = store.limiter("mutant", policy(&crowd.limits)).expect("a limiter");
        let inbox = Inbox::on_redis(Raw::connect("127.0.0.1", port), "mutant");
        let mut stage = Self::new(store, limiter, Some(Carrier::new(port, text)), crowd, inbox);
        stage.run(Operation::Reset).expect("a reset");
        stage
    }

    fn new(store: Paddlegate, limiter: Limiter, carrier: Option<Carrier>, crowd: &Crowd, inbox: Inbox) -> Self {
        Self {
            store,
            name: limiter.name().to_owned(),
            limiter,
            carrier,
            limits: crowd.limits.clone(),
            inbox,
            at: START,
            look: 0,
            permits: HashMap::new(),
            old: HashMap::new(),
            numbers: HashMap::new(),
        }
    }

    /// Runs an operation. Panics if the library's own script fails.
    fn run(&mut self, operation: Operation<'_>) -> Result<Answer, String> {
        if let Some(carrier) = &mut self.carrier {
            return carrier.run(&self.limiter, operation);
        }
        let answer = self.limiter.run(operation, SignalHandling::Ignore);
        // An override may make a limit smaller than the cost, so that the call can never fit.
        match answer {
            Err(error) if error.kind() == ErrorKind::Invalid => Err(error.to_string()),
            answer => Ok(answer.unwrap_or_else(|error| panic!("{operation:?}: {error}"))),
        }
    }

    pub fn statistics(&mut self) -> String {
        let at = Some(Micros(self.at));
        format!("{:?}", self.run(Operation::Statistics { at }))
    }

    /// Returns the largest cost that every limit accepts.
    fn fits(&self) -> u64 {
        let amounts = self.limits.iter().filter(|limit| !matches!(limit.kind, Kind::Throttle | Kind::Concurrency));
        amounts.map(|limit| limit.amount).min().unwrap_or(4)
    }

    pub fn step(&mut self, step: &Step) -> Seen {
        let at = Some(Micros(self.at));
        let result = match step {
            Step::Enter { who, units, estimate, wait } => Some(self.enter(*who, *units, *estimate, *wait)),
            Step::Acquire { units } => {
                let request = Request { at, ..Request::cost((*units).min(self.fits())) };
                let mut answer = self.run(Operation::Acquire(request));
                if let Ok(Answer::Decision(decision)) = &mut answer {
                    // Acquire without an id returns a random permit, which two stores cannot share.
                    decision.permit = None;
                }
                Some(answer)
            }
            Step::Peek { units } => {
                let request = Request { at, ..Request::cost((*units).min(self.fits())) };
                Some(self.run(Operation::Peek(request)))
            }
            Step::Release { who } => {
                self.permits.get(who).cloned().map(|permit| self.run(Operation::Release { permit: &permit, at }))
            }
            Step::Renew { who } => {
                self.permits.get(who).cloned().map(|permit| self.run(Operation::Renew { permit: &permit, at }))
            }
            Step::ReleaseOld { who } => {
                self.old.get(who).cloned().map(|permit| self.run(Operation::Release { permit: &permit, at }))
            }
            Step::RenewOld { who } => {
                self.old.get(who).cloned().map(|permit| self.run(Operation::Renew { permit: &permit, at }))
            }
            Step::Correct { who, actual } => self.permits.get(who).cloned().map(|permit| {
                let actual = *actual;
                self.run(Operation::Correct { permit: &permit, actual, at })
            }),
            Step::Cancel { who, gave_up } => Some(self.run(Operation::Cancel { id: &id(*who), gave_up: *gave_up, at })),
            Step::Later(by) => {
                self.at += by;
                None
            }
            Step::Look(more) => {
                self.at = (self.at + self.look).saturating_add_signed(*more).max(self.at);
                None
            }
            Step::Resize(amount) => {
                if self.limits[0].kind != Kind::Throttle {
                    self.limits[0].amount = *amount;
                }
                self.limiter = self.store.limiter(&self.name, policy(&self.limits)).expect("a limiter");
                None
            }
            Step::Order(order) => Some(self.order(order)),
            Step::Learn { who, actual, budgets, pause } => Some(self.learn(*who, *actual, budgets, *pause)),
            Step::Reset => {
                // Ticket numbers restart after a reset.
                self.numbers.clear();
                Some(self.run(Operation::Reset))
            }
        };
        let hints = self.inbox.take();
        let text = format!("{result:?} hints {hints:?}");
        let answer = result.and_then(Result::ok);
        let seen = Seen { text, answer, hints };
        if let Some(told) = seen.decision() {
            self.look = told.retry_after.map_or(0, |micros| micros.0);
        }
        seen
    }

    fn moment(&self, by: i64) -> Deadline {
        if by > 0 {
            Deadline::After(Micros(by.unsigned_abs()))
        } else {
            Deadline::At(Micros(self.at + by.unsigned_abs() - 1))
        }
    }

    /// Returns the limit with another amount and interval.
    fn other(&self, i: usize, amount: u64) -> Limit {
        let Spec { kind, interval, .. } = self.limits[i];
        let interval = if amount > 4 { 2 * interval } else { interval };
        let amount = if kind == Kind::Concurrency { amount - 2 } else { amount.max(2) - 1 };
        Limit::of_kind(kind, amount, Micros(interval), Micros(0)).expect("a limit")
    }

    fn order(&mut self, order: &Order) -> Result<Answer, String> {
        let changes: Vec<LimitOverride>;
        let control = match order {
            Order::Look => AdminCommand::Get,
            Order::Pause(by) => AdminCommand::Pause(self.moment(*by)),
            Order::Resume => AdminCommand::Resume,
            Order::Override(amounts, expires) => {
                changes = (0..self.limits.len())
                    .map(|i| match amounts[i] {
                        0 => LimitOverride::Keep,
                        1 => LimitOverride::Remove,
                        amount => LimitOverride::Set(self.other(i, amount)),
                    })
                    .collect();
                AdminCommand::Override { changes: &changes, expires: expires.map(|by| self.moment(by)) }
            }
        };
        self.run(Operation::Admin { command: control, at: Some(Micros(self.at)) })
    }

    fn learn(
        &mut self,
        who: Option<usize>,
        actual: Option<u64>,
        told: &[Told],
        pause: Option<i64>,
    ) -> Result<Answer, String> {
        let permit = who.and_then(|who| self.permits.get(&who)).cloned();
        let told = &told[..told.len().min(self.limits.len())];
        let budgets: Vec<BudgetUpdate> = told
            .iter()
            .enumerate()
            .map(|(i, told)| BudgetUpdate {
                remaining: told.remaining,
                limit: told.amount.map(|amount| self.other(i, amount.max(2))),
                reset: told.reset.map(|by| self.moment(by)),
            })
            .collect();
        let report = UpstreamReport {
            permit: permit.as_deref(),
            actual: actual.filter(|_| permit.is_some()),
            budgets: &budgets,
            pause: pause.map(|by| self.moment(by)),
            ..UpstreamReport::default()
        };
        self.run(Operation::ApplyReport { report, at: Some(Micros(self.at)) })
    }

    fn enter(&mut self, who: usize, units: u64, estimate: bool, wait: Option<Waiting>) -> Result<Answer, String> {
        let units = units.min(self.fits());
        let request = Request {
            cost: (!estimate || units == 0).then_some(units),
            estimate: (estimate && units > 0).then_some(units),
            at: Some(Micros(self.at)),
        };
        let channel = wait.map_or_else(String::new, |wait| match wait.ear {
            Ear::None => String::new(),
            Ear::Open => self.inbox.channel(),
            Ear::Lost => "nobody".to_owned(),
        });
        let wait = wait.map(|wait| Wait {
            max_wait: Micros(wait.patience),
            claim_timeout: Micros(wait.grace),
            channel: &channel,
            position: match (wait.place, self.numbers.get(&who)) {
                (1, Some(number)) => QueuePosition::Number(*number),
                (2, _) => QueuePosition::Existing,
                _ => QueuePosition::End,
            },
        });
        let answer = self.run(Operation::AcquireWithId { request, id: &id(who), wait });
        if let Ok(Answer::Decision(told)) = &answer {
            if let Some(permit) = &told.permit {
                let granted_at = |permit: &str| permit.split(':').nth(1).map(str::to_owned);
                let before = self.permits.insert(who, permit.clone());
                self.old.extend(before.filter(|old| granted_at(old) != granted_at(permit)).map(|old| (who, old)));
            }
            if let Some(ticket) = told.ticket {
                self.numbers.insert(who, ticket.number);
            }
        }
        answer
    }

    pub fn limits(&self) -> &[Spec] {
        &self.limits
    }
}

/// Returns the id of a caller.
pub fn id(who: usize) -> String {
    format!("caller {who}")
}
