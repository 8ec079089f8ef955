//! Checks leases, tickets and wake-ups with a model checker: every order of three clients' calls and faults.
//!
//! The model does not reimplement the store: it runs the files of `engine`, which are compiled into it, so that model
//! and product cannot differ. `queue.rs` and `vectors.rs` test that the script gives the same answers.
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

mod support;

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use base::charge::Charge;
use base::micros::MAX_SPAN;
use engine::queue::Ticket;
use engine::state::State;
use engine::transaction::{Entry, Publish, Transaction, Waiting};
use model::decision::Status;
use model::limit::Limit;
use model::permit::{Permit, Settlement};
use model::policy::Policy;
use model::request::QueuePosition;
use model::share::Order;
use product::{base, engine, limits, model};
use stateright::{Checker, HasDiscoveries, Model, Property};

const ONE: Charge = Charge::All(1);
const CLIENTS: usize = 3;
const IDS: [&str; CLIENTS] = ["a", "b", "c"];
const START: u64 = 1_700_000_000_000_000;

/// The step of the clock. A waiter retries at least every two steps, see `RECHECK`.
const TICK: u64 = 7_500_000;
/// The lease timeout, the claim timeout and the longest stop of a client, in ticks.
const LEASE_TICKS: u64 = 3;
const CLAIM_TICKS: u64 = 1;
const STOP_TICKS: u64 = 5;

/// The maximum number of faults in one run, of each kind and in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Budget {
    crashes: u8,
    stops: u8,
    lost: u8,
    duplicated: u8,
    renewals: u8,
    cancels: u8,
    lost_channels: u8,
    /// Clients that call again after their release.
    repeated: u8,
    all: u8,
}

/// The protocol of `acquire` with a concurrency limit.
struct Protocol {
    limit: u64,
    policy: Policy,
    budget: Budget,
    /// The maximum number of ticks that a client waits while it is alive and not stopped.
    max_waited: u64,
    /// The maximum number of ticks that a slot is free while a waiter could take it.
    idle: u64,
    orders: [Order<'static>; CLIENTS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// Calls for the first time, or retries when it is time to.
    Enter(usize),
    /// As `Enter`, but the reply is lost; the client retries one tick later.
    EnterWithLostReply(usize),
    Release(usize),
    /// As `Release`, but the reply is lost; the client will release again.
    ReleaseWithLostReply(usize),
    /// The client ends without a release, or its release never arrives.
    EndWithoutRelease(usize),
    Renew(usize),
    Cancel(usize),
    CallAgain(usize),
    /// A wake-up arrives, is lost, or arrives and will arrive again.
    ReceiveWakeup(usize),
    LoseWakeup(usize),
    ReceiveWakeupTwice(usize),
    /// The client's channel loses its connection. The client notices this and retries.
    LoseChannel(usize),
    Crash(usize),
    Stop(usize),
    Resume(usize),
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Idle,
    /// The client retries at this time at the latest.
    Waiting {
        next_check: u64,
    },
    /// The client's own estimate of the end of its lease, counted from before the call that granted it.
    Holding {
        until: u64,
        granted_at: u64,
    },
    /// The reply to a release is lost; the client retries until this time.
    Releasing {
        until: u64,
        granted_at: u64,
    },
    Done,
    Dead,
}

#[derive(Clone, Debug)]
struct Client {
    phase: Phase,
    /// The last ticket number that the client received.
    number: u64,
    is_listening: bool,
    /// The number of ticks since the client was stopped.
    stopped: Option<u64>,
    /// The wake-ups in transit, each as the time to retry.
    wakeups: Vec<u64>,
    /// The number of ticks that the client waited while it could retry.
    waited: u64,
}

impl Client {
    fn is_alive(&self) -> bool {
        self.phase != Phase::Dead
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Dead)
    }

    fn is_running(&self) -> bool {
        self.is_alive() && self.stopped.is_none()
    }
}

/// The state of the store and of all clients at one time.
#[derive(Clone)]
struct World {
    now: u64,
    store: State,
    clients: Vec<Client>,
    budget: Budget,
    /// The holders and ends of all leases that were granted and not released, including those whose replies were lost.
    leases: Vec<(usize, u64)>,
    fencing_token: u64,
    /// The number of ticks that a slot has been free while a waiter could take it.
    idle: u64,
    /// All calls and their answers; only `random_walks` records them.
    log: Option<Vec<LoggedCall>>,
    /// The guarantee that was violated on the way to this state.
    violation: Option<&'static str>,
    compared: Vec<ComparedClient>,
}

/// One call, its answer, and the wake-ups that it sent as pairs of client and delay.
#[derive(Clone, Debug)]
struct LoggedCall {
    at: u64,
    client: usize,
    call: Call,
    answer: String,
    wakeups: Vec<(usize, u64)>,
}

#[derive(Clone, Debug)]
enum Call {
    /// The number of the client's ticket, and whether the call names the client's channel.
    Enter(u64, bool),
    Release(String),
    Renew(String),
    Cancel,
    /// The client stops listening to its channel.
    StopListening,
}

/// The channels of all clients during one call.
struct Channels {
    is_listening: Vec<bool>,
    sent: RefCell<Vec<(usize, u64)>>,
}

impl Publish for Channels {
    fn publish(&self, _: &str, delay: u64, id: &str) -> bool {
        let client = index(id);
        if self.is_listening[client] {
            self.sent.borrow_mut().push((client, delay));
        }
        self.is_listening[client]
    }
}

fn index(id: &str) -> usize {
    IDS.iter().position(|other| *other == id).expect("a client")
}

impl World {
    /// Makes one call of a client, records the wake-ups that it sends, and returns the answer.
    fn call<T: fmt::Debug>(
        &mut self,
        policy: &Policy,
        client: usize,
        call: Call,
        take: impl FnOnce(Transaction<'_>) -> T,
    ) -> T {
        let channels = Channels {
            is_listening: self.clients.iter().map(|client| client.is_listening).collect(),
            sent: RefCell::default(),
        };
        let answer =
            take(Transaction::new(&mut self.store, policy, &channels, self.now, IDS[client]).expect("few labels"));
        let wakeups = channels.sent.into_inner();
        for (client, delay) in &wakeups {
            self.clients[*client].wakeups.push(self.now + delay);
        }
        if let Some(log) = &mut self.log {
            log.push(LoggedCall { at: self.now, client, call, answer: format!("{answer:?}"), wakeups });
        }
        answer
    }

    fn stops_listening(&mut self, client: usize) {
        self.clients[client].is_listening = false;
        self.clients[client].wakeups.clear();
        if let Some(log) = &mut self.log {
            log.push(LoggedCall {
                at: self.now,
                client,
                call: Call::StopListening,
                answer: String::new(),
                wakeups: Vec::new(),
            });
        }
    }

    fn live(&self) -> u64 {
        self.leases.iter().filter(|(_, end)| *end > self.now).count() as u64
    }

    /// Returns the number of tickets ahead of this client that have not lapsed, except those whose channel has no
    /// listener. Of its own priority those of its share count, whatever the others have been granted.
    fn before(&self, client: usize, orders: &[Order<'_>; CLIENTS]) -> u64 {
        let Some(queue) = &self.store.queue else { return 0 };
        let number = queue.get(IDS[client]).map_or(self.clients[client].number, |ticket| ticket.number);
        let position = if number > 0 { (number, IDS[client]) } else { (u64::MAX, "") };
        let own = orders[client];
        let tickets = (0..queue.len()).filter_map(|place| queue.at(place));
        let counts = |ticket: &&Ticket| {
            let has_no_listener = !ticket.channel.is_empty() && !self.clients[index(&ticket.id)].is_listening;
            let order = orders[index(&ticket.id)];
            let is_ahead = (ticket.number, ticket.id.as_str()) < position;
            let is_first = order.priority > own.priority || order == own && is_ahead;
            ticket.expires_at > self.now && !has_no_listener && is_first
        };
        tickets.filter(counts).count() as u64
    }

    fn enter(&mut self, protocol: &Protocol, client: usize, reply_arrives: bool) {
        let (live, before) = (self.live(), self.before(client, &protocol.orders));
        let held = self.leases.iter().any(|(holder, end)| *holder == client && *end > self.now);
        let number = self.clients[client].number;
        let waiting = Waiting {
            max_wait: MAX_SPAN.0,
            claim_timeout: CLAIM_TICKS * TICK,
            keep: 0,
            channel: if self.clients[client].is_listening { "open" } else { "" },
            position: if number == 0 { QueuePosition::End } else { QueuePosition::Number(number) },
            is_run: false,
        };
        let order = protocol.orders[client];
        let entry = Entry { queue: Some(waiting), order, ..Entry::without_queue(IDS[client], ONE, None) };
        let call = Call::Enter(number, self.clients[client].is_listening);
        let reply = self
            .call(&protocol.policy, client, call, |transaction| transaction.enter(entry))
            .expect("a cost that fits");
        if let Some(logged_call) = self.log.as_mut().and_then(|log| log.last_mut()) {
            logged_call.answer = reply_text(IDS[client], &reply);
        }
        let now = self.now;
        let granted_at =
            if reply.lease_and_ticket.granted_at > 0 { reply.lease_and_ticket.granted_at } else { reply.at };
        let phase = match reply.status {
            Status::Granted => {
                if !held {
                    if live + before >= protocol.limit {
                        self.violation = Some("a grant took a slot that others hold or wait for");
                    }
                    if reply.lease_and_ticket.fencing_token <= self.fencing_token {
                        self.violation = Some("the fencing token did not rise");
                    }
                    self.fencing_token = reply.lease_and_ticket.fencing_token;
                    self.idle = 0;
                    self.leases.retain(|(holder, _)| *holder != client);
                    self.leases.push((client, now + reply.lease_and_ticket.lease));
                }
                Phase::Holding { until: now + reply.lease_and_ticket.lease, granted_at }
            }
            Status::Queued => {
                if reply.retry_after == 0 {
                    self.violation = Some("a queued caller was to retry at once");
                }
                Phase::Waiting { next_check: now + reply.retry_after }
            }
            Status::Refused | Status::NoTicket => {
                self.violation = Some("a caller with the longest maximum wait was refused");
                Phase::Done
            }
        };
        let client_state = &mut self.clients[client];
        if reply_arrives {
            client_state.phase = phase;
            client_state.number = reply.lease_and_ticket.number.max(client_state.number);
        } else {
            client_state.phase = Phase::Waiting { next_check: now + TICK };
        }
    }

    fn release(&mut self, protocol: &Protocol, client: usize, reply_arrives: bool) {
        let (Phase::Holding { granted_at, .. } | Phase::Releasing { granted_at, .. }) = self.clients[client].phase
        else {
            return;
        };
        let permit = Permit { id: IDS[client], granted_at, charged: ONE };
        let call = Call::Release(permit.to_string());
        let settlement = self.call(&protocol.policy, client, call, |transaction| transaction.release(&permit));
        let held = self.leases.iter().any(|(holder, end)| *holder == client && *end > self.now);
        self.leases.retain(|(holder, _)| *holder != client);
        if (settlement == Settlement::Released) != held {
            self.violation = Some("a release was accepted without a lease, or refused with one");
        }
        let until = self.now + 2 * TICK;
        self.clients[client].phase = if reply_arrives { Phase::Done } else { Phase::Releasing { until, granted_at } };
    }

    fn tick(&mut self, limit: u64) {
        self.now += TICK;
        for client in &mut self.clients {
            match &mut client.stopped {
                Some(ticks) => *ticks += 1,
                None if matches!(client.phase, Phase::Waiting { .. }) => client.waited += 1,
                None => {}
            }
        }
        let can_claim = |client: &Client| matches!(client.phase, Phase::Waiting { .. }) && client.stopped.is_none();
        let is_idle = self.live() < limit && self.clients.iter().any(can_claim);
        self.idle = if is_idle { self.idle + 1 } else { 0 };
    }

    /// Returns whether a client must act before the next tick.
    fn is_urgent(&self) -> bool {
        self.clients.iter().any(|client| match (client.phase, client.stopped) {
            (_, Some(ticks)) => ticks >= STOP_TICKS,
            (Phase::Waiting { next_check }, None) => next_check <= self.now || !client.wakeups.is_empty(),
            // A holder works for less than one tick beyond the end of its lease.
            (Phase::Holding { until, .. }, None) => until + TICK <= self.now,
            (Phase::Releasing { until, .. }, None) => until <= self.now,
            _ => false,
        })
    }

    fn spend(&mut self, of: impl FnOnce(&mut Budget) -> &mut u8) -> bool {
        let mut budget = self.budget;
        let one = of(&mut budget);
        if *one == 0 || self.budget.all == 0 {
            return false;
        }
        *one -= 1;
        budget.all -= 1;
        self.budget = budget;
        true
    }
}

/// The part of a client's state, in the client and in the store, that decides the future. Times are relative to now.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ComparedClient {
    phase: (u8, u64, u64),
    is_listening: bool,
    stopped: Option<u64>,
    wakeups: Vec<u64>,
    waited: u64,
    order: (u8, &'static str),
    /// The rank of the client's ticket number among all ticket numbers; with shares its distance from the lowest number.
    number: u64,
    /// With shares the same of the numbers that the queue keeps.
    kept: [u64; 3],
    lease: u64,
    own_lease: u64,
    ticket: Option<(u64, u64, u64, bool)>,
}

impl World {
    /// Computes the values by which states are compared. Clients are interchangeable and only relative times matter,
    /// so many states are equal.
    fn compute_compared(&mut self, orders: &[Order<'static>; CLIENTS]) {
        let now = self.now;
        let ahead = |time: u64| time.saturating_sub(now);
        let ends = {
            let leases = self.store.leases().expect("leases");
            IDS.map(|id| leases.get(id, None).map_or(0, |lease| ahead(lease.end)))
        };
        let queue = self.store.queue.as_deref();
        let ticket = |client: usize| queue.and_then(|queue| queue.get(IDS[client]));
        let mut numbers: Vec<u64> = self.clients.iter().map(|client| client.number).collect();
        numbers.extend((0..CLIENTS).filter_map(|client| Some(ticket(client)?.number)));
        let has_order = orders.iter().any(|order| *order != Order::default());
        let kept = orders.map(|Order { priority, share, .. }| {
            let of_queue = queue.filter(|_| has_order);
            let of_share = of_queue.map_or(0, |queue| queue.number_of_share(priority, share));
            let of_level = of_queue.map_or(0, |_| self.store.queue_summary.last_granted(priority));
            [of_level, of_share, of_queue.map_or(0, |queue| queue.counter)]
        });
        numbers.extend(kept.iter().flatten());
        numbers.sort_unstable();
        numbers.dedup();
        let lowest = numbers.iter().copied().find(|number| *number > 0).unwrap_or(0);
        let rank = |number: u64| {
            let rank = numbers.iter().position(|other| *other == number).expect("a number") as u64;
            if has_order { (number + 1).saturating_sub(lowest) } else { rank }
        };
        let mut clients: Vec<ComparedClient> = self
            .clients
            .iter()
            .enumerate()
            .map(|(number, client)| ComparedClient {
                phase: match client.phase {
                    Phase::Idle => (0, 0, 0),
                    Phase::Waiting { next_check } => (1, ahead(next_check), 0),
                    Phase::Holding { until, granted_at } => {
                        (2, ahead(until + TICK), ahead(granted_at + (LEASE_TICKS + STOP_TICKS) * TICK))
                    }
                    Phase::Releasing { until, granted_at } => {
                        (3, ahead(until), ahead(granted_at + (LEASE_TICKS + STOP_TICKS) * TICK))
                    }
                    Phase::Done => (4, 0, 0),
                    Phase::Dead => (5, 0, 0),
                },
                is_listening: client.is_listening,
                stopped: client.stopped,
                wakeups: client.wakeups.iter().map(|next_check| ahead(*next_check)).collect(),
                waited: client.waited,
                order: (orders[number].priority, orders[number].share),
                number: rank(client.number),
                kept: kept[number].map(rank),
                lease: ends[number],
                own_lease: self.leases.iter().find(|(holder, _)| *holder == number).map_or(0, |(_, end)| ahead(*end)),
                ticket: ticket(number).map(|ticket| {
                    (rank(ticket.number), ahead(ticket.next_check), ahead(ticket.expires_at), ticket.channel.is_empty())
                }),
            })
            .collect();
        clients.sort();
        self.compared = clients;
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        (&self.compared, self.budget, self.idle, self.violation)
            == (&other.compared, other.budget, other.idle, other.violation)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.compared, self.budget, self.idle, self.violation).hash(hasher);
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.store.queue.as_deref();
        let tickets: Vec<_> = queue.map_or_else(Vec::new, |queue| {
            (0..queue.len())
                .filter_map(|place| queue.at(place))
                .map(|ticket| {
                    (&ticket.id, ticket.number, ticket.next_check - START, ticket.expires_at - START, &ticket.channel)
                })
                .collect()
        });
        write!(f, "at {} leases {:?} tickets {tickets:?} ", self.now - START, self.leases)?;
        f.debug_list().entries(&self.clients).finish()?;
        write!(f, " {:?}", self.violation)
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let client =
            Client { phase: Phase::Idle, number: 0, is_listening: true, stopped: None, wakeups: Vec::new(), waited: 0 };
        vec![World {
            now: START,
            store: State::default(),
            clients: vec![client; CLIENTS],
            budget: self.budget,
            leases: Vec::new(),
            fencing_token: 0,
            idle: 0,
            log: None,
            violation: None,
            compared: Vec::new(),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let budget = &world.budget;
        let is_possible = |left: u8| left > 0 && budget.all > 0;
        for (number, client) in world.clients.iter().enumerate() {
            if client.stopped.is_some() {
                actions.push(Action::Resume(number));
                continue;
            }
            if let Some(next_check) = client.wakeups.first()
                && client.is_alive()
            {
                actions.push(Action::ReceiveWakeup(number));
                actions.extend(is_possible(budget.lost).then_some(Action::LoseWakeup(number)));
                actions.extend(
                    (*next_check <= world.now && is_possible(budget.duplicated))
                        .then_some(Action::ReceiveWakeupTwice(number)),
                );
            }
            let can_enter = match client.phase {
                Phase::Idle => true,
                Phase::Waiting { next_check } => next_check <= world.now,
                _ => false,
            };
            if can_enter {
                actions.push(Action::Enter(number));
                actions.extend(is_possible(budget.lost).then_some(Action::EnterWithLostReply(number)));
            }
            match client.phase {
                Phase::Waiting { .. } => {
                    actions.extend(is_possible(budget.cancels).then_some(Action::Cancel(number)));
                    actions.extend(
                        (client.is_listening && is_possible(budget.lost_channels))
                            .then_some(Action::LoseChannel(number)),
                    );
                }
                Phase::Holding { until, .. } => {
                    actions.push(Action::Release(number));
                    actions.extend(is_possible(budget.lost).then_some(Action::ReleaseWithLostReply(number)));
                    actions.extend(is_possible(budget.crashes).then_some(Action::EndWithoutRelease(number)));
                    actions
                        .extend((until > world.now && is_possible(budget.renewals)).then_some(Action::Renew(number)));
                }
                Phase::Releasing { .. } => {
                    actions.push(Action::Release(number));
                    actions.extend(is_possible(budget.lost).then_some(Action::ReleaseWithLostReply(number)));
                }
                Phase::Done => actions.extend(is_possible(budget.repeated).then_some(Action::CallAgain(number))),
                _ => {}
            }
            if !matches!(client.phase, Phase::Idle | Phase::Done | Phase::Dead) {
                actions.extend(is_possible(budget.crashes).then_some(Action::Crash(number)));
                actions.extend(is_possible(budget.stops).then_some(Action::Stop(number)));
            }
        }
        let is_active = |client: &Client| !client.is_over() && client.phase != Phase::Idle;
        if !world.is_urgent() && world.clients.iter().any(is_active) {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        let now = world.now;
        match action {
            Action::Enter(client) => world.enter(self, client, true),
            Action::EnterWithLostReply(client) => {
                world.spend(|budget| &mut budget.lost);
                world.enter(self, client, false);
            }
            Action::Release(client) => world.release(self, client, true),
            Action::ReleaseWithLostReply(client) => {
                world.spend(|budget| &mut budget.lost);
                world.release(self, client, false);
            }
            Action::EndWithoutRelease(client) => {
                world.spend(|budget| &mut budget.crashes);
                world.clients[client].phase = Phase::Done;
            }
            Action::Renew(client) => {
                world.spend(|budget| &mut budget.renewals);
                let Phase::Holding { granted_at, .. } = world.clients[client].phase else { return None };
                let permit = Permit { id: IDS[client], granted_at, charged: ONE };
                let call = Call::Renew(permit.to_string());
                let renewed = world.call(&self.policy, client, call, |transaction| transaction.renew(&permit));
                let lease = world.leases.iter_mut().find(|(holder, end)| *holder == client && *end > now);
                match (renewed, lease, &mut world.clients[client].phase) {
                    (Some(lease), Some((_, end)), Phase::Holding { until, .. }) => {
                        (*end, *until) = (now + lease.0, now + lease.0);
                    }
                    _ => world.violation = Some("a holder lost its lease before its time"),
                }
            }
            Action::Cancel(client) => {
                world.spend(|budget| &mut budget.cancels);
                world.call(&self.policy, client, Call::Cancel, |transaction| transaction.cancel(IDS[client], false));
                world.leases.retain(|(holder, _)| *holder != client);
                world.clients[client].phase = Phase::Done;
            }
            Action::CallAgain(client) => {
                world.spend(|budget| &mut budget.repeated);
                world.clients[client].phase = Phase::Idle;
            }
            Action::ReceiveWakeup(client) | Action::ReceiveWakeupTwice(client) => {
                let next_check = if action == Action::ReceiveWakeup(client) {
                    world.clients[client].wakeups.remove(0)
                } else {
                    world.spend(|budget| &mut budget.duplicated);
                    world.clients[client].wakeups[0]
                };
                let client = &mut world.clients[client];
                if let Phase::Waiting { next_check: other } = &mut client.phase {
                    *other = next_check.min(*other);
                }
            }
            Action::LoseWakeup(client) => {
                world.spend(|budget| &mut budget.lost);
                world.clients[client].wakeups.remove(0);
            }
            Action::LoseChannel(client) => {
                world.spend(|budget| &mut budget.lost_channels);
                world.stops_listening(client);
                world.clients[client].phase = Phase::Waiting { next_check: now };
            }
            Action::Crash(client) => {
                world.spend(|budget| &mut budget.crashes);
                world.stops_listening(client);
                world.clients[client].phase = Phase::Dead;
            }
            Action::Stop(client) => {
                world.spend(|budget| &mut budget.stops);
                world.clients[client].stopped = Some(0);
            }
            Action::Resume(client) => world.clients[client].stopped = None,
            Action::Tick => world.tick(self.limit),
        }
        // Only the store's state still matters for a client that has ended. Clearing the rest makes more states equal.
        for client in &mut world.clients {
            if client.is_over() {
                (client.number, client.waited) = (0, 0);
                client.wakeups.clear();
                client.stopped = None;
            }
        }
        world.compute_compared(&self.orders);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("never more live leases than the limit", |model: &Self, world: &World| {
                let counted = world.compared.iter().filter(|client| client.lease > 0).count() as u64;
                world.live() <= model.limit && counted == world.live()
            }),
            Property::always("a lease that a client still counts on is held in the store", |_, world: &World| {
                let mut holders = world.clients.iter().enumerate();
                holders.all(|(number, client)| match client.phase {
                    Phase::Holding { until, .. } if until > world.now => {
                        // A client without a lease in the store has released it, and the reply was lost.
                        world.leases.iter().all(|(holder, end)| *holder != number || *end >= until)
                    }
                    _ => true,
                })
            }),
            Property::always("every reply keeps the guarantees", |_, world: &World| world.violation.is_none()),
            Property::always("no live client waits longer than it must", |model: &Self, world: &World| {
                world.clients.iter().all(|client| client.waited <= model.max_waited)
            }),
            Property::always("no slot is free for long while a client waits", |model: &Self, world: &World| {
                world.idle <= model.idle
            }),
            Property::eventually("every live client is served", |_, world: &World| {
                world.clients.iter().all(Client::is_over)
            }),
            Property::sometimes("a ticket expires and its client returns", |_, world: &World| {
                world.store.counters.statistics().lapsed > 0
                    && world
                        .clients
                        .iter()
                        .any(|client| matches!(client.phase, Phase::Waiting { .. }) && client.waited > 0)
            }),
            Property::sometimes("a lease expires before its release", |_, world: &World| {
                world.store.counters.statistics().overages > 0
            }),
        ]
    }
}

/// Returns the fields of a reply that a caller receives, as text.
fn reply_text(id: &str, reply: &engine::reply::Reply) -> String {
    let more = &reply.lease_and_ticket;
    let (granted_at, charged) = if more.granted_at > 0 { (more.granted_at, more.charged) } else { (reply.at, ONE) };
    let permit = (reply.status == Status::Granted).then(|| Permit { id, granted_at, charged }.to_string());
    format!(
        "{:?} {:?} remaining {} retry {} reset {} at {} lease {} fencing_token {} ticket {} {}",
        reply.status,
        permit,
        reply.remaining,
        reply.retry_after,
        reply.reset_after,
        reply.at,
        more.lease,
        more.fencing_token,
        more.number,
        more.position,
    )
}

fn protocol(limit: u64, budget: Budget, max_waited: u64, idle: u64) -> Protocol {
    let limits = Limit::concurrency(limit, Duration::from_micros(LEASE_TICKS * TICK));
    let policy = Policy::new([limits.expect("a limit")]).expect("a policy");
    let orders = [Order::default(); CLIENTS];
    Protocol { limit, policy, budget, max_waited, idle, orders }
}

fn check(model: Protocol) {
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    println!("{} states, {} of them different", checker.state_count(), checker.unique_state_count());
    checker.assert_properties();
}

/// A few faults of every kind.
const FAULTS: Budget = Budget {
    crashes: 1,
    stops: 1,
    lost: 2,
    duplicated: 1,
    renewals: 1,
    cancels: 1,
    lost_channels: 1,
    repeated: 1,
    all: 3,
};

/// The leases of the two other clients, with one renewal and one repeated acquisition between them.
const MAX_WAITED: u64 = 4 * LEASE_TICKS;

/// A waiter that retries without a wake-up may be stopped one `RECHECK` after its last call; its ticket then lapses.
const MAX_IDLE: u64 = paddlegate::RECHECK.0 / TICK + CLAIM_TICKS;

#[test]
fn the_protocol_holds_for_one_lease() {
    check(protocol(1, most_faults(), MAX_WAITED, MAX_IDLE));
}

#[test]
fn the_protocol_holds_for_two_leases() {
    check(protocol(2, most_faults(), MAX_WAITED, MAX_IDLE));
}

/// Two faults in a run, and three with `PADDLEGATE_SOAK=1`, which takes ten times as long.
fn most_faults() -> Budget {
    Budget { all: if support::is_soak() { 3 } else { 2 }, ..FAULTS }
}

/// Two clients of one share beside one of another: first come, first served within a share, and no share starves.
#[test]
fn the_protocol_holds_for_shares() {
    let share = |share| Order { share, ..Order::default() };
    let orders = [share("a"), share("a"), share("b")];
    check(Protocol { orders, ..protocol(1, Budget { all: 2, ..FAULTS }, MAX_WAITED, MAX_IDLE) });
}

/// A client of a higher priority, and one that has a share of the lower one.
#[test]
fn the_protocol_holds_for_priorities() {
    let orders =
        [Order { priority: 2, ..Order::default() }, Order { share: "a", ..Order::default() }, Order::default()];
    check(Protocol { orders, ..protocol(1, Budget { all: 1, ..FAULTS }, MAX_WAITED, MAX_IDLE) });
}

/// Tests that the product behaves like the model: random walks through the model are replayed with the public API on
/// both stores.
mod random_walks {
    use paddlegate::{Answer, Micros, Operation, Request, Wait};
    use proptest::prelude::*;

    use super::support::calls::run;
    use super::support::inbox::Inbox;
    use super::support::raw::Raw;
    use super::support::sequence::config;
    use super::support::{memory_with_clock, redis_with_clock, test_url, unique};
    use super::*;

    /// Many faults, because a walk follows only one path.
    const MANY_FAULTS: Budget = Budget {
        crashes: 1,
        stops: 3,
        lost: 5,
        duplicated: 3,
        renewals: 4,
        cancels: 2,
        lost_channels: 2,
        repeated: 20,
        all: 40,
    };

    proptest! {
        #![proptest_config(config(60, "proptest-regressions/model.txt"))]

        #[test]
        fn have_equal_replies_in_memory_and_on_redis(
            limit in 1..=2_u64,
            choices in prop::collection::vec(any::<u16>(), 1..120),
        ) {
            let calls = random_walk(limit, &choices);
            for on_redis in [false, true] {
                replay(limit, &calls, on_redis)?;
            }
        }
    }

    fn random_walk(limit: u64, choices: &[u16]) -> Vec<LoggedCall> {
        let model = protocol(limit, MANY_FAULTS, 0, 0);
        let mut world = model.init_states().remove(0);
        world.log = Some(Vec::new());
        for choice in choices {
            let mut actions = Vec::new();
            model.actions(&world, &mut actions);
            let Some(number) = usize::from(*choice).checked_rem(actions.len()) else { break };
            world = model.next_state(&world, actions[number]).expect("a state");
            assert_eq!(world.violation, None);
        }
        world.log.expect("a log")
    }

    fn replay(limit: u64, calls: &[LoggedCall], on_redis: bool) -> Result<(), TestCaseError> {
        let (store, name) = (if on_redis { redis_with_clock() } else { memory_with_clock() }, unique("walk"));
        let limiter = store.concurrent(&name, limit, Duration::from_micros(LEASE_TICKS * TICK)).expect("a limiter");
        let mut inboxes = IDS.map(|id| {
            Some(if on_redis {
                Inbox::on_redis(Raw::open(&test_url()), &format!("{name} {id}"))
            } else {
                Inbox::in_memory(&limiter)
            })
        });
        for LoggedCall { at, client, call, answer, wakeups } in calls {
            let id = IDS[*client];
            let channel = inboxes[*client].as_ref().map_or_else(String::new, Inbox::channel);
            let got = match call {
                Call::StopListening => {
                    if let Some(Inbox::Redis(mut raw, _)) = inboxes[*client].take() {
                        raw.execute(&["UNSUBSCRIBE"]);
                    }
                    continue;
                }
                Call::Enter(number, is_listening) => {
                    assert_eq!(*is_listening, !channel.is_empty());
                    let place = match number {
                        0 => paddlegate::QueuePosition::End,
                        number => paddlegate::QueuePosition::Number(*number),
                    };
                    let wait = Wait {
                        max_wait: paddlegate::MAX_SPAN,
                        claim_timeout: Micros(CLAIM_TICKS * TICK),
                        keep: Micros(0),
                        channel: &channel,
                        position: place,
                        is_run: false,
                    };
                    let request = Request::cost(1);
                    run(&limiter, Operation::AcquireWithId { request, id, wait: Some(wait) }, *at)
                }
                Call::Release(permit) => run(&limiter, Operation::Release { permit }, *at),
                Call::Renew(permit) => run(&limiter, Operation::Renew { permit }, *at),
                Call::Cancel => run(&limiter, Operation::Cancel { id, gave_up: false }, *at),
            };
            prop_assert_eq!(&answer_text(&got), answer, "{:?} of {} at {:?}, redis: {}", call, id, at, on_redis);
            for (other, inbox) in inboxes.iter_mut().enumerate() {
                let expected: Vec<u64> =
                    wakeups.iter().filter(|wakeup| wakeup.0 == other).map(|wakeup| wakeup.1).collect();
                let received = inbox.as_mut().map_or_else(Vec::new, Inbox::take);
                prop_assert!(received.iter().all(|wakeup| wakeup.id == IDS[other]));
                let received: Vec<u64> = received.iter().map(|wakeup| wakeup.delay.0).collect();
                prop_assert_eq!(received, expected, "wake-ups of {:?}, redis: {}", call, on_redis);
            }
        }
        limiter.reset().expect("a reset");
        Ok(())
    }

    /// Returns an answer of the public API in the format of `reply_text`.
    fn answer_text(answer: &Answer) -> String {
        match answer {
            Answer::Decision(decision) => {
                let micros = |micros: Option<Micros>| micros.map_or(0, |micros| micros.0);
                format!(
                    "{:?} {:?} remaining {} retry {} reset {} at {} lease {} fencing_token {} ticket {} {}",
                    decision.status,
                    decision.permit,
                    decision.remaining.expect("a number"),
                    micros(decision.retry_after),
                    micros(decision.reset_after),
                    decision.at.0,
                    micros(decision.lease),
                    decision.fencing_token.unwrap_or(0),
                    decision.ticket.map_or(0, |ticket| ticket.number),
                    decision.ticket.map_or(0, |ticket| ticket.position),
                )
            }
            Answer::Settlement(settlement) => format!("{settlement:?}"),
            Answer::Renewal(renewal) => format!("{renewal:?}"),
            other => panic!("unexpected answer: {other:?}"),
        }
    }
}
