//! Random calls to several limiters that decide together, and to each of them.

use std::time::Duration;

use paddlegate::{
    AdminCommand, Answer, Cost, Deadline, Kind, Limit, LimitOverride, Limiter, LimiterUnits, Micros, Mode, Operation,
    Paddlegate, Policy, QueuePosition, Request, SignalHandling, Wait,
};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000;

/// A random call.
#[derive(Clone, Debug)]
pub enum Call {
    Advance(u64),
    Acquire { who: usize, cost: Amount, estimate: bool },
    Enter { who: usize, id: u8, cost: Amount, wait: Option<u64>, position: u8 },
    Peek { who: usize, cost: Amount },
    Debit { who: usize, cost: Amount },
    Correct { permit: usize, cost: Amount },
    Release { permit: usize },
    Renew { permit: usize },
    Cancel { who: usize, id: u8 },
    Pause { who: usize, us: u64 },
    Resume { who: usize },
    Block { who: usize, us: u64 },
    Mode { who: usize, mode: Mode, expires: Option<u64> },
    Override { who: usize, amount: u64, expires: Option<u64> },
    Restore { who: usize },
    Statistics { who: usize },
}

/// Units of all limiters, or of each.
#[derive(Clone, Debug)]
pub enum Amount {
    All(u64),
    Each([u64; 3]),
}

/// Sends an operation of a limiter and returns the answer, or the text of the error.
pub type Send = Box<dyn FnMut(&Limiter, Operation<'_>) -> Result<Answer, String>>;

/// The limiters of a random case: three, and what decides together.
pub struct Subject {
    send: Send,
    pub single: Vec<Limiter>,
    /// The single ones, then pairs and all three, in several orders.
    pub each: Vec<Limiter>,
    permits: Vec<(usize, String)>,
    numbers: Vec<Option<u64>>,
}

const CALLERS: usize = 7;

impl Subject {
    pub fn new(store: &Paddlegate, names: &[String; 3], limits: &[Vec<Limit>], send: Send) -> Self {
        let limiter = |(i, (name, limits)): (usize, (&String, &Vec<Limit>))| {
            // The calls of one of them rise in its queue.
            let aging = (i == 1).then_some(Micros(SECOND));
            let policy = Policy::new(limits.clone()).and_then(|policy| policy.with_aging(aging)).expect("a policy");
            store.limiter(name, policy).expect("a limiter")
        };
        let single: Vec<Limiter> = names.iter().zip(limits).enumerate().map(limiter).collect();
        let several: [&[usize]; 4] = [&[0, 1], &[2, 0], &[0, 1, 2], &[2, 1, 0]];
        let together = several.map(|places| {
            let limiters: Vec<&Limiter> = places.iter().map(|place| &single[*place]).collect();
            store.together(&limiters).unwrap()
        });
        let each = single.iter().cloned().chain(together).collect();
        Self { send, single, each, permits: Vec::new(), numbers: vec![None; 256] }
    }

    /// Runs a call and returns its answer as text.
    pub fn run(&mut self, call: &Call) -> String {
        let Self { send: go, single, each, permits, numbers } = self;
        let caller = match call {
            Call::Acquire { who, .. } | Call::Enter { who, .. } => *who,
            _ => 0,
        };
        let answer = match call {
            Call::Advance(_) => return String::new(),
            Call::Acquire { who, cost, estimate } => with_cost(each, *who, cost, |limiter, cost| {
                let request = if *estimate { Request::estimate(cost) } else { Request::cost(cost) };
                go(limiter, Operation::Acquire(Request { limits: *estimate, ..request }))
            }),
            Call::Enter { who, id, cost, wait, position } => with_cost(each, *who, cost, |limiter, cost| {
                let number = numbers[usize::from(*id)];
                let position = match (position, number) {
                    (1, _) => QueuePosition::Existing,
                    (2, Some(number)) => QueuePosition::Number(number),
                    _ => QueuePosition::End,
                };
                // Some wait long for a ticket, some pass it by soon; some have a priority or a share.
                let (claim_timeout, keep) = if id % 2 == 0 { (20 * SECOND, 0) } else { (SECOND, 20 * SECOND) };
                let times = (Micros(claim_timeout), Micros(keep));
                let wait = wait.map(|wait| Wait {
                    position,
                    claim_timeout: times.0,
                    keep: times.1,
                    ..Wait::up_to(Micros(wait))
                });
                let request = Request::cost(cost).priority(if id % 3 == 2 { 4 } else { 0 });
                let request = if id % 4 == 1 { request.share("a", 2) } else { request };
                let request = Request { limits: id % 5 == 3, ..request };
                let id = format!("id{id}");
                go(limiter, Operation::AcquireWithId { request, id: &id, wait })
            }),
            Call::Peek { who, cost } => with_cost(each, *who, cost, |limiter, cost| {
                go(limiter, Operation::Peek(Request::cost(cost).with_limits()))
            }),
            Call::Debit { who, cost } => {
                with_cost(each, *who, cost, |limiter, cost| go(limiter, Operation::Debit(cost)))
            }
            Call::Correct { permit, .. } | Call::Release { permit } | Call::Renew { permit } => {
                let Some((who, permit)) = permits.iter().rev().nth(*permit).cloned() else {
                    return String::new();
                };
                let permit = &*permit;
                match call {
                    Call::Correct { cost, .. } => {
                        with_cost(each, who, cost, |limiter, actual| go(limiter, Operation::Correct { permit, actual }))
                    }
                    Call::Release { .. } => go(&each[who], Operation::Release { permit }),
                    _ => go(&each[who], Operation::Renew { permit }),
                }
            }
            Call::Cancel { who, id } => {
                go(&each[*who], Operation::Cancel { id: &format!("id{id}"), gave_up: *id == 0 })
            }
            Call::Pause { who, us } => {
                let command = AdminCommand::Pause(Deadline::After(Micros(*us)));
                go(&single[*who], Operation::Admin { command })
            }
            Call::Resume { who } => go(&single[*who], Operation::Admin { command: AdminCommand::Resume }),
            Call::Block { who, us } => {
                let command = AdminCommand::Block(Deadline::After(Micros(*us)));
                go(&single[*who], Operation::Admin { command })
            }
            Call::Mode { who, mode, expires } => {
                let expires = expires.map(|us| Deadline::After(Micros(us)));
                let command = AdminCommand::Override { changes: &[LimitOverride::Mode(*mode)], expires };
                go(&single[*who], Operation::Admin { command })
            }
            Call::Override { who, amount, expires } => {
                let label = single[*who].policy().limits()[0].label().clone();
                let changes = single[*who].override_changes(Some(&label), Some(*amount), None).unwrap();
                let expires = expires.map(|us| Deadline::After(Micros(us)));
                let command = AdminCommand::Override { changes: &changes, expires };
                go(&single[*who], Operation::Admin { command })
            }
            Call::Restore { who } => {
                let command = AdminCommand::Override { changes: &[LimitOverride::RemoveAll], expires: None };
                go(&single[*who], Operation::Admin { command })
            }
            Call::Statistics { who } => go(&single[*who], Operation::Statistics),
        };
        self.shown(caller, call, answer)
    }

    /// Returns the answer as text, without the random id of its permit, which is kept.
    fn shown(&mut self, who: usize, call: &Call, answer: Result<Answer, String>) -> String {
        let Ok(Answer::Decision(mut decision)) = answer else { return format!("{answer:?}") };
        if let (Call::Enter { id, .. }, Some(ticket)) = (call, decision.ticket) {
            self.numbers[usize::from(*id)] = Some(ticket.number);
        }
        if let Some(permit) = decision.permit.take() {
            let sign = if who < 3 { ':' } else { '+' };
            decision.permit = permit.split_once(sign).map(|(_, rest)| rest.to_owned());
            self.permits.push((who, permit));
        }
        format!("{decision:?}")
    }
}

/// Runs an operation with a cost, which several limiters take by name.
pub fn with_cost<T>(each: &[Limiter], who: usize, cost: &Amount, run: impl FnOnce(&Limiter, Cost<'_>) -> T) -> T {
    let limiter = &each[who];
    match cost {
        Amount::All(units) => run(limiter, Cost::Units(*units)),
        Amount::Each(units) if who < 3 => {
            let counts_units = |limit: &&Limit| !matches!(limit.kind(), Kind::Throttle | Kind::Concurrency);
            let limits = limiter.policy().limits().iter().filter(counts_units);
            let units: Vec<(&str, u64)> = limits.map(|limit| (&**limit.label(), units[who])).collect();
            run(limiter, Cost::ByLabel(&units))
        }
        Amount::Each(units) => {
            let place = |name: &str| each.iter().position(|single| single.name() == name).expect("one of the three");
            let of_one = |name| LimiterUnits { limiter: Some(name), label: None, units: units[place(name)] };
            let units: Vec<LimiterUnits<'_>> =
                limiter.limiters().iter().map(|limiter| of_one(limiter.name())).collect();
            run(limiter, Cost::ByLimiter(&units))
        }
    }
}

/// Sends operations as the library does.
pub fn directly() -> Send {
    Box::new(|limiter, operation| limiter.run(operation, SignalHandling::Ignore).map_err(|error| error.to_string()))
}

/// Returns the limits of one limiter.
pub fn limits() -> impl Strategy<Value = Vec<Limit>> {
    let (seconds, amount) = (|| (1_u64..5).prop_map(Duration::from_secs), || 1_u64..6);
    let limit = prop_oneof![
        (amount(), seconds()).prop_map(|(amount, interval)| Limit::bucket(amount, interval)),
        (amount(), seconds()).prop_map(|(amount, interval)| Limit::window(amount, interval)),
        (amount(), seconds()).prop_map(|(amount, interval)| Limit::leaky(amount, interval)),
        (amount(), seconds()).prop_map(|(amount, interval)| Limit::points(amount, interval)),
        (amount(), seconds()).prop_map(|(amount, lease)| Limit::concurrency(amount, lease)),
        seconds().prop_map(Limit::throttle),
    ];
    proptest::collection::vec(limit.prop_map(Result::unwrap), 1..3).prop_map(|mut limits| {
        limits.dedup_by_key(|limit| limit.kind());
        limits
    })
}

pub fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![(0_u64..4).prop_map(Amount::All), [0_u64..4, 0..4, 0..4].prop_map(Amount::Each)]
}

pub fn call() -> impl Strategy<Value = Call> {
    let (who, one, id, micros) = (0..CALLERS, 0_usize..3, 0_u8..4, 0_u64..4 * SECOND);
    prop_oneof![
        6 => prop_oneof![Just(0), Just(1), 0..3 * SECOND, Just(SECOND), Just(9 * SECOND)].prop_map(Call::Advance),
        6 => (who.clone(), amount(), any::<bool>())
            .prop_map(|(who, cost, estimate)| Call::Acquire { who, cost, estimate }),
        12 => (who.clone(), id.clone(), amount(), proptest::option::weighted(0.8, 0..20 * SECOND), 0_u8..3)
            .prop_map(|(who, id, cost, wait, position)| Call::Enter { who, id, cost, wait, position }),
        2 => (who.clone(), amount()).prop_map(|(who, cost)| Call::Peek { who, cost }),
        1 => (who.clone(), amount()).prop_map(|(who, cost)| Call::Debit { who, cost }),
        2 => (0_usize..3, amount()).prop_map(|(permit, cost)| Call::Correct { permit, cost }),
        4 => (0_usize..3).prop_map(|permit| Call::Release { permit }),
        1 => (0_usize..3).prop_map(|permit| Call::Renew { permit }),
        2 => (who, id).prop_map(|(who, id)| Call::Cancel { who, id }),
        1 => (one.clone(), micros.clone()).prop_map(|(who, us)| Call::Pause { who, us }),
        1 => one.clone().prop_map(|who| Call::Resume { who }),
        1 => (one.clone(), 1_u64..6, proptest::option::of(1..4 * SECOND))
            .prop_map(|(who, amount, expires)| Call::Override { who, amount, expires }),
        1 => one.clone().prop_map(|who| Call::Restore { who }),
        1 => one.prop_map(|who| Call::Statistics { who }),
    ]
}

/// As [`call`], with modes and blocks.
pub fn call_with_modes() -> impl Strategy<Value = Call> {
    let mode = prop_oneof![3 => Just(Mode::Shadow), 1 => Just(Mode::Enforce)];
    prop_oneof![
        20 => call(),
        1 => (0_usize..3, 0..2 * SECOND).prop_map(|(who, us)| Call::Block { who, us }),
        2 => (0_usize..3, mode, proptest::option::of(1..9 * SECOND))
            .prop_map(|(who, mode, expires)| Call::Mode { who, mode, expires }),
    ]
}
