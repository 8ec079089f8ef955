//! Checks several limiters that decide together with a model checker: every order of three clients' calls and wake-ups.
//!
//! As in `model.rs` the files of `engine` are compiled into the model. `together.rs` tests that the script gives the same
//! answers.
#![allow(dead_code, unreachable_pub, missing_docs)]

#[path = "../src"]
mod product {
    pub(crate) mod base;
    pub(crate) mod engine;
    pub(crate) mod limits;
    // Clippy accepts these field names in a public interface, but this module is private here.
    #[allow(clippy::struct_field_names)]
    pub(crate) mod model;
}

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use base::charge::Charge;
use base::micros::MAX_SPAN;
use engine::queue::Ticket;
use engine::state::State;
use engine::together::{self, Member};
use engine::transaction::{Entry, Publish, Transaction, Waiting};
use model::decision::Status;
use model::limit::Limit;
use model::permit::{MAX_TOGETHER, Permit};
use model::policy::Policy;
use model::request::QueuePosition;
use product::{base, engine, limits, model};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// The number of a ticket names its limiter too.
const LIMITERS: u64 = MAX_TOGETHER as u64;

const ONE: Charge = Charge::All(1);
const CLIENTS: usize = 3;
const IDS: [&str; CLIENTS] = ["a", "b", "c"];
const START: u64 = 1_700_000_000_000_000;

/// The step of the clock. A waiter retries at least every two steps.
const TICK: u64 = 2_500_000;
/// The last tick at which a client may begin.
const LAST_BEGIN: u64 = 1;
/// The tick at which every client must have been served. Each holds its leases for up to one tick, and a lost wake-up delays a
/// client by two.
const END: u64 = 14;

/// Three clients that call once each.
struct Protocol {
    policy: Policy,
    /// The limiters of each client, in the order of its call.
    paths: [&'static [usize]; CLIENTS],
    /// How many wake-ups may get lost, and how many clients may die while they wait.
    lost: u8,
    crashes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// Calls for the first time, or retries when it is time to.
    Enter(usize),
    Release(usize),
    ReceiveWakeup(usize),
    LoseWakeup(usize),
    Crash(usize),
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting { next_check: u64 },
    Holding { granted_at: u64 },
    Done,
    Dead,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Client {
    phase: Phase,
    /// The last ticket number that the client received.
    number: u64,
    /// The wake-ups in transit, each as the time to retry.
    wakeups: Vec<u64>,
}

/// The state of the limiters and of all clients at one time.
#[derive(Clone, Debug)]
struct World {
    now: u64,
    limiters: Vec<State>,
    clients: Vec<Client>,
    lost: u8,
    crashes: u8,
    /// The guarantee that was violated on the way to this state.
    violation: Option<&'static str>,
    compared: Vec<Compared>,
}

/// A limiter by which states are compared: the ends of the leases, and the tickets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Compared {
    leases: [u64; CLIENTS],
    tickets: Vec<(String, u64, bool, u64, u64)>,
    counter: u64,
}

/// The channels of all clients during one call.
struct Channels {
    is_alive: Vec<bool>,
    sent: RefCell<Vec<(usize, u64)>>,
}

impl Publish for Channels {
    fn publish(&self, _: &str, delay: u64, id: &str) -> bool {
        let client = IDS.iter().position(|other| *other == id).expect("a client");
        if self.is_alive[client] {
            self.sent.borrow_mut().push((client, delay));
        }
        self.is_alive[client]
    }
}

impl World {
    fn channels(&self) -> Channels {
        let is_alive = self.clients.iter().map(|client| client.phase != Phase::Dead).collect();
        Channels { is_alive, sent: RefCell::default() }
    }

    fn deliver(&mut self, channels: Channels) {
        for (client, delay) in channels.sent.into_inner() {
            self.clients[client].wakeups.push(self.now + delay);
        }
    }

    /// Returns whether the client has a live lease of a limiter.
    fn holds(&self, limiter: usize, client: usize) -> bool {
        self.compared[limiter].leases[client] > self.now
    }

    fn ticket(&self, limiter: usize, client: usize) -> Option<&Ticket> {
        self.limiters[limiter].queue.as_ref()?.get(IDS[client]).filter(|ticket| ticket.expires_at > self.now)
    }

    /// Returns the tickets of others that have not lapsed and do not wait for another limiter.
    fn active(&self, limiter: usize, client: usize) -> impl Iterator<Item = &Ticket> {
        let others = (0..CLIENTS).filter(move |other| *other != client);
        others.filter_map(move |other| self.ticket(limiter, other)).filter(|ticket| !ticket.is_suspended())
    }

    fn enter(&mut self, protocol: &Protocol, client: usize) {
        let path = protocol.paths[client];
        let number = self.clients[client].number;
        // A lapsed ticket that nobody has removed yet is still that of its call, which otherwise has its last number.
        let known = |(place, limiter): (usize, &usize)| {
            let last = (number > 0 && place as u64 == number % LIMITERS).then_some(number / LIMITERS);
            let queue = self.limiters[*limiter].queue.as_ref();
            queue.and_then(|queue| queue.get(IDS[client])).map(|ticket| ticket.number).or(last)
        };
        let before: Vec<Option<u64>> = path.iter().enumerate().map(known).collect();
        let is_free = |limiter: &usize| (0..CLIENTS).all(|client| !self.holds(*limiter, client));
        let all_free = path.iter().all(is_free);
        let is_first = |(place, limiter): (usize, &usize)| {
            let mut active = self.active(*limiter, client);
            before[place]
                .map_or_else(|| active.next().is_none(), |own| self.active(*limiter, client).all(|it| it.number > own))
        };
        let all_first = path.iter().enumerate().all(is_first);

        let channels = self.channels();
        let waiting = Waiting {
            max_wait: MAX_SPAN.0,
            claim_timeout: TICK,
            keep: 0,
            channel: IDS[client],
            position: if number == 0 { QueuePosition::End } else { QueuePosition::Number(number) },
            is_run: false,
        };
        let entry = Entry { queue: Some(waiting), ..Entry::without_queue(IDS[client], ONE, None) };
        let mut states: Vec<Option<&mut State>> = self.limiters.iter_mut().map(Some).collect();
        let mut members: Vec<Member<'_>> = path
            .iter()
            .enumerate()
            .map(|(place, limiter)| Member {
                state: states[*limiter].take().expect("once in a path"),
                policy: &protocol.policy,
                charge: ONE,
                place,
            })
            .collect();
        let replies = together::enter(&mut members, &channels, self.now, &entry).expect("a decision");
        self.deliver(channels);
        let is_granted = replies.iter().all(|reply| reply.status == Status::Granted);
        let queued = replies.iter().position(|reply| reply.status == Status::Queued);
        self.clients[client].phase = match queued {
            None => Phase::Holding { granted_at: self.now },
            Some(queued) => {
                let reply = &replies[queued];
                self.clients[client].number = reply.lease_and_ticket.number * LIMITERS + queued as u64;
                Phase::Waiting { next_check: self.now + reply.retry_after }
            }
        };
        self.compare();
        if is_granted != (all_free && all_first) {
            self.violation = Some(if is_granted {
                "granted before another whose turn it is"
            } else {
                "held up by a suspended ticket"
            });
        }
        for (limiter, before) in path.iter().zip(before).filter(|_| !is_granted) {
            let ticket = self.ticket(*limiter, client).map(|ticket| ticket.number);
            if ticket.is_some() && before.is_some() && ticket != before {
                self.violation = Some("a waiting call lost its place");
            }
        }
        let active = path.iter().filter(|limiter| self.ticket(**limiter, client).is_some_and(|it| !it.is_suspended()));
        if active.count() != usize::from(!is_granted) {
            self.violation = Some("a waiting call has one active ticket, and a granted one none");
        }
    }

    fn release(&mut self, protocol: &Protocol, client: usize, granted_at: u64) {
        let permit = Permit { id: IDS[client], granted_at, charged: ONE };
        let channels = self.channels();
        for limiter in protocol.paths[client] {
            let state = &mut self.limiters[*limiter];
            let transaction = Transaction::new(state, &protocol.policy, &channels, self.now, IDS[client]);
            transaction.expect("few labels").release(&permit);
        }
        self.deliver(channels);
        self.clients[client].phase = Phase::Done;
        self.compare();
    }

    /// Returns whether something happens before the clock moves on.
    fn is_urgent(&self) -> bool {
        self.clients.iter().any(|client| {
            let is_due = match client.phase {
                Phase::Idle => self.now >= START + LAST_BEGIN * TICK,
                Phase::Waiting { next_check } => next_check <= self.now,
                Phase::Holding { granted_at } => granted_at < self.now,
                Phase::Done | Phase::Dead => false,
            };
            is_due || client.wakeups.iter().any(|at| *at <= self.now)
        })
    }

    fn compare(&mut self) {
        let compared = self.limiters.iter_mut().map(|state| {
            let leases = state
                .leases()
                .map_or([0; CLIENTS], |leases| IDS.map(|id| leases.get(id, None).map_or(0, |lease| lease.end)));
            let queue = state.queue.as_deref();
            let tickets = queue.map_or_else(Vec::new, |queue| {
                let each = (0..queue.len()).filter_map(|place| queue.at(place));
                each.map(|it| (it.id.clone(), it.number, it.is_suspended(), it.next_check, it.expires_at)).collect()
            });
            Compared { leases, tickets, counter: queue.map_or(0, |queue| queue.counter) }
        });
        self.compared = compared.collect();
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        (self.now, &self.compared, &self.clients, self.lost, self.crashes, self.violation)
            == (other.now, &other.compared, &other.clients, other.lost, other.crashes, other.violation)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.now, &self.compared, &self.clients, self.lost, self.crashes, self.violation).hash(hasher);
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let limiters = self.paths.iter().flat_map(|path| path.iter()).max().map_or(0, |last| last + 1);
        let client = Client { phase: Phase::Idle, number: 0, wakeups: Vec::new() };
        let mut world = World {
            now: START,
            limiters: vec![State::default(); limiters],
            clients: vec![client; CLIENTS],
            lost: self.lost,
            crashes: self.crashes,
            violation: None,
            compared: Vec::new(),
        };
        world.compare();
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (number, client) in world.clients.iter().enumerate() {
            match client.phase {
                Phase::Idle => actions.push(Action::Enter(number)),
                Phase::Waiting { next_check } => {
                    if next_check <= world.now {
                        actions.push(Action::Enter(number));
                    }
                    if world.crashes > 0 {
                        actions.push(Action::Crash(number));
                    }
                }
                Phase::Holding { .. } => actions.push(Action::Release(number)),
                Phase::Done | Phase::Dead => {}
            }
            if client.wakeups.first().is_some_and(|at| *at <= world.now) {
                actions.push(Action::ReceiveWakeup(number));
                if world.lost > 0 {
                    actions.push(Action::LoseWakeup(number));
                }
            }
        }
        if !world.is_urgent() && world.now < START + END * TICK {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Enter(client) => world.enter(self, client),
            Action::Release(client) => {
                if let Phase::Holding { granted_at } = world.clients[client].phase {
                    world.release(self, client, granted_at);
                }
            }
            Action::ReceiveWakeup(client) => {
                let at = world.clients[client].wakeups.remove(0);
                if let Phase::Waiting { next_check } = &mut world.clients[client].phase {
                    *next_check = at.min(*next_check);
                }
            }
            Action::LoseWakeup(client) => {
                world.clients[client].wakeups.remove(0);
                world.lost -= 1;
            }
            Action::Crash(client) => {
                world.clients[client].phase = Phase::Dead;
                world.clients[client].wakeups.clear();
                world.crashes -= 1;
            }
            Action::Tick => world.now += TICK,
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("never more live leases than the limit", |_, world: &World| {
                (0..world.limiters.len())
                    .all(|limiter| (0..CLIENTS).filter(|client| world.holds(limiter, *client)).count() <= 1)
            }),
            Property::always("a client holds the leases of all its limiters or none", |model: &Self, world: &World| {
                (0..CLIENTS).all(|client| {
                    let holds = matches!(world.clients[client].phase, Phase::Holding { .. });
                    (0..world.limiters.len()).all(|limiter| {
                        world.holds(limiter, client) == (holds && model.paths[client].contains(&limiter))
                    })
                })
            }),
            Property::always("every reply keeps the guarantees", |_, world: &World| world.violation.is_none()),
            Property::always("every live client is served in time", |_, world: &World| {
                let is_served = |client: &Client| matches!(client.phase, Phase::Done | Phase::Dead);
                world.now < START + END * TICK || world.clients.iter().all(is_served)
            }),
            Property::sometimes("a ticket is suspended", |_, world: &World| {
                world
                    .compared
                    .iter()
                    .any(|limiter| limiter.tickets.iter().any(|(_, _, is_suspended, ..)| *is_suspended))
            }),
        ]
    }
}

fn check(paths: [&'static [usize]; CLIENTS]) {
    let limits = Limit::concurrency(1, Duration::from_secs(3_600));
    let policy = Policy::new([limits.expect("a limit")]).expect("a policy");
    let model = Protocol { policy, paths, lost: 2, crashes: 1 };
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    println!("{} states, {} of them different", checker.state_count(), checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn two_orders_of_the_same_limiters() {
    check([&[0, 1], &[1, 0], &[0]]);
}

#[test]
fn two_calls_and_one_that_needs_the_second_limiter_alone() {
    check([&[0, 1], &[0, 1], &[1]]);
}

/// Each needs what its neighbours need.
#[test]
fn three_limiters_in_a_circle() {
    check([&[0, 1], &[1, 2], &[2, 0]]);
}
