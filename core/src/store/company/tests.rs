//! Simulates processes with many waiting calls on one limiter, with slow replies, lost messages, stopped and killed processes.
//!
//! The queue is that of the engine and the company is that of the product; a host that sleeps and the network are simulated.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use super::{Company, EARLY, LIFE, Look, MAX_COMPANIONS, PATIENCE};
use crate::base::bounds::CLAIM_TIMEOUT;
use crate::base::charge::Charge;
use crate::base::clock::monotonic;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::engine::queue::RECHECK;
use crate::engine::state::State;
use crate::engine::transaction::companions::Companion;
use crate::engine::transaction::{Entry, Publish, Transaction, Waiting};
use crate::model::decision::Status;
use crate::model::limit::Limit;
use crate::model::permit::Permit;
use crate::model::policy::Policy;
use crate::model::request::QueuePosition;

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
/// The longest way of a message or a reply, but for slow ones.
const LATENCY: u64 = 10_000;

/// A generator of random numbers, from its seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }

    fn once_in(&mut self, times: u64) -> bool {
        times > 0 && self.below(times) == 0
    }
}

/// How often something goes wrong: once in so many times, never if zero.
#[derive(Clone, Copy, Default)]
struct Faults {
    lost: u64,
    slow: u64,
    stopped: u64,
    killed: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Debug)]
enum Event {
    Timer(usize),
    Execute(usize),
    Reply(usize),
    Message(usize, u64),
    Release(usize),
    Fault,
}

/// A waiting call, and its host.
struct Call {
    process: usize,
    number: u64,
    id: String,
    ticket: Option<u64>,
    retry_at: u64,
    /// The look that is under way, with what the store answers once it has.
    look: Option<(Look, Vec<Companion>)>,
    answer: Option<(Status, u64, Box<[u64]>, u64)>,
    granted_at: Option<u64>,
    is_over: bool,
}

struct Process {
    company: Company,
    channel: String,
    is_dead: bool,
    stopped_until: u64,
}

struct World {
    now: u64,
    base: Instant,
    state: State,
    policy: Policy,
    processes: Vec<Process>,
    calls: Vec<Call>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sent: u64,
    random: Random,
    faults: Faults,
    hold: u64,
    looks: u64,
    losses: u64,
    /// The numbers of the granted tickets and when they were granted.
    grants: Vec<(u64, u64)>,
}

/// The channels of the living processes, and the messages of one call.
struct Channels {
    living: Vec<String>,
    sent: RefCell<Vec<(String, u64)>>,
}

impl Publish for Channels {
    fn publish(&self, channel: &str, delay: u64, id: &str) -> bool {
        let is_heard = self.living.iter().any(|living| living == channel);
        if is_heard {
            self.sent.borrow_mut().push((id.to_owned(), delay));
        }
        is_heard
    }
}

impl World {
    fn new(seed: u64, policy: Policy, processes: usize, calls: usize, faults: Faults, hold: u64) -> Self {
        let process = |number| Process {
            company: Company::default(),
            channel: format!("channel{number}"),
            is_dead: false,
            stopped_until: 0,
        };
        let call = |number: usize| Call {
            process: number % processes,
            number: number as u64 + 1,
            id: format!("call{number}"),
            ticket: None,
            retry_at: START,
            look: None,
            answer: None,
            granted_at: None,
            is_over: false,
        };
        let mut world = Self {
            now: START,
            base: monotonic(),
            state: State::default(),
            policy,
            processes: (0..processes).map(process).collect(),
            calls: (0..calls).map(call).collect(),
            events: BinaryHeap::new(),
            sent: 0,
            random: Random(seed),
            faults,
            hold,
            looks: 0,
            losses: 0,
            grants: Vec::new(),
        };
        for call in 0..calls {
            let at = world.random.below(SECOND / 5);
            world.later(at, Event::Timer(call));
        }
        world.later(SECOND, Event::Fault);
        world
    }

    fn instant(&self) -> Instant {
        self.base + Duration::from_micros(self.now - START)
    }

    fn later(&mut self, after: u64, event: Event) {
        self.sent += 1;
        self.events.push(Reverse((self.now + after, self.sent, event)));
    }

    /// Returns the time of a message on its way.
    fn way(&mut self) -> u64 {
        let slow = if self.random.once_in(self.faults.slow) { SECOND / 2 } else { 0 };
        self.random.below(LATENCY + slow)
    }

    /// Runs for so long; returns whether something is left to do.
    fn run(&mut self, span: u64) -> bool {
        let end = self.now + span;
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                self.events.push(Reverse((at, 0, event)));
                self.now = end;
                return true;
            }
            self.now = at;
            self.on(event);
        }
        false
    }

    fn on(&mut self, event: Event) {
        let of = match event {
            Event::Timer(call) | Event::Reply(call) | Event::Message(call, _) | Event::Release(call) => Some(call),
            Event::Execute(_) | Event::Fault => None,
        };
        if let Some(process) = of.map(|call| &self.processes[self.calls[call].process]) {
            if process.is_dead {
                return;
            }
            if process.stopped_until > self.now {
                return self.later(process.stopped_until - self.now, event);
            }
        }
        match event {
            Event::Timer(call) => self.timer(call),
            Event::Execute(call) => self.execute(call),
            Event::Reply(call) => self.reply(call),
            Event::Message(call, delay) => self.wake(call, self.now + delay),
            Event::Release(call) => self.release(call),
            Event::Fault => self.fault(),
        }
    }

    /// Returns when the call must look, as a `Waiter` does.
    fn due(&mut self, call: usize) -> u64 {
        let now = self.instant();
        let Call { process, number, retry_at, ticket, .. } = self.calls[call];
        if ticket.is_none() {
            return retry_at;
        }
        let Some((own, together)) = self.processes[process].company.due(number, now) else { return retry_at };
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap();
        let later = micros(together.saturating_duration_since(own));
        retry_at.saturating_add(later).saturating_sub(micros(own.saturating_duration_since(together)))
    }

    fn timer(&mut self, call: usize) {
        if self.calls[call].is_over || self.calls[call].look.is_some() || self.calls[call].granted_at.is_some() {
            return;
        }
        let due = self.due(call);
        if due > self.now {
            return self.later(due - self.now, Event::Timer(call));
        }
        let Call { process, number, ref id, ticket, .. } = self.calls[call];
        let id = id.clone();
        let channel = self.processes[process].channel.clone();
        let own = Look::new(&entry(&id, &channel, number, ticket, &[]), || 7).expect("a look");
        let now = self.instant();
        let companions = if ticket.is_some() { self.processes[process].company.begin(&own, now) } else { Vec::new() };
        let look = Look::new(&entry(&id, &channel, number, ticket, &companions), || 7).expect("a look");
        self.calls[call].look = Some((look, companions));
        self.calls[call].retry_at = u64::MAX;
        self.looks += 1;
        let way = self.way();
        self.later(way, Event::Execute(call));
    }

    fn transact<T>(&mut self, id: &str, run: impl FnOnce(Transaction<'_>) -> T) -> T {
        let living = self.processes.iter().filter(|process| !process.is_dead).map(|process| process.channel.clone());
        let channels = Channels { living: living.collect(), sent: RefCell::default() };
        let result = run(Transaction::new(&mut self.state, &self.policy, &channels, self.now, id).expect("few labels"));
        for (id, delay) in channels.sent.into_inner() {
            if self.random.once_in(self.faults.lost) {
                self.losses += 1;
                continue;
            }
            let call = self.calls.iter().position(|call| call.id == id).expect("a call");
            let way = self.way();
            self.later(way, Event::Message(call, delay));
        }
        result
    }

    fn execute(&mut self, call: usize) {
        let Call { process, number, ref id, ticket, .. } = self.calls[call];
        let (id, channel) = (id.clone(), self.processes[process].channel.clone());
        let Some(companions) = self.calls[call].look.as_ref().map(|(_, companions)| companions.clone()) else { return };
        let entry = entry(&id, &channel, number, ticket, &companions);
        let reply = self.transact(&id, |transaction| transaction.enter(entry)).expect("a cost that fits");
        if reply.status == Status::Granted {
            self.grants.push((reply.lease_and_ticket.number, self.now));
        }
        let number = reply.lease_and_ticket.number;
        self.calls[call].answer = Some((reply.status, reply.retry_after, reply.companions, number));
        let way = self.way();
        self.later(way, Event::Reply(call));
    }

    fn reply(&mut self, call: usize) {
        let now = self.instant();
        let (Some((look, _)), Some((status, retry_after, times, number))) =
            (self.calls[call].look.take(), self.calls[call].answer.take())
        else {
            return;
        };
        let queued = (status == Status::Queued).then_some(Micros(retry_after));
        let company = &mut self.processes[self.calls[call].process].company;
        company.end(&look, queued, &times, now);
        let due = self.now + retry_after;
        let state = &mut self.calls[call];
        if status == Status::Queued {
            state.ticket = Some(number);
            if state.retry_at < due {
                company.wake(state.number);
            }
            state.retry_at = state.retry_at.min(due);
            self.later(0, Event::Timer(call));
        } else {
            assert_eq!(status, Status::Granted);
            state.granted_at = Some(self.now);
            let after = 1 + self.random.below(self.hold);
            self.later(after, Event::Release(call));
        }
    }

    fn wake(&mut self, call: usize, at: u64) {
        if at < self.due(call) {
            let number = self.calls[call].number;
            self.processes[self.calls[call].process].company.wake(number);
            self.calls[call].retry_at = at;
        }
        // The host asks again after each wake-up.
        self.later(0, Event::Timer(call));
    }

    fn release(&mut self, call: usize) {
        self.calls[call].is_over = true;
        if self.policy.concurrency().is_none() {
            return;
        }
        let id = self.calls[call].id.clone();
        let lease = self.state.leases().and_then(|leases| leases.get(&id, None));
        if let Some(lease) = lease {
            let permit = Permit { id: &id, granted_at: lease.granted_at, charged: Charge::All(1) };
            self.transact(&id, |transaction| transaction.release(&permit));
        }
    }

    fn fault(&mut self) {
        let process = usize::try_from(self.random.below(self.processes.len() as u64)).unwrap();
        if self.random.once_in(self.faults.stopped) {
            self.processes[process].stopped_until = self.now + self.random.below(4 * SECOND);
        }
        let living = self.processes.iter().filter(|process| !process.is_dead).count();
        if living > 1 && self.random.once_in(self.faults.killed) {
            self.processes[process].is_dead = true;
        }
        if self.waits() {
            self.later(SECOND, Event::Fault);
        }
    }

    fn is_alive(&self, call: &Call) -> bool {
        !self.processes[call.process].is_dead
    }

    fn waits(&self) -> bool {
        self.calls.iter().any(|call| self.is_alive(call) && !call.is_over)
    }

    fn live(&mut self) -> u64 {
        let now = self.now;
        self.state.leases().map_or(0, |leases| leases.live(now))
    }
}

fn entry<'a>(
    id: &'a str,
    channel: &'a str,
    waiter: u64,
    ticket: Option<u64>,
    companions: &'a [Companion],
) -> Entry<'a> {
    let queue = Waiting {
        max_wait: MAX_SPAN.0,
        claim_timeout: CLAIM_TIMEOUT.0,
        keep: 0,
        channel,
        position: ticket.map_or(QueuePosition::End, QueuePosition::Number),
        waiter,
        companions,
    };
    Entry { queue: Some(queue), ..Entry::without_queue(id, Charge::All(1), None) }
}

fn leases(limit: u64) -> Policy {
    let limit = Limit::concurrency(limit, Duration::from_secs(20)).expect("a limit");
    Policy::new([limit]).expect("a policy")
}

fn rate(interval: Duration) -> Policy {
    Policy::new([Limit::leaky(1, interval).expect("a limit")]).expect("a policy")
}

/// Whatever fails, every living call is granted, no limit is exceeded, and no slot is free for long while a call waits.
#[test]
fn every_call_is_granted_whatever_fails() {
    let (mut carried, mut kills) = (0, 0);
    for seed in 0..60 {
        let limit = 1 + seed % 3;
        let faults = Faults { lost: 6, slow: 20, stopped: 5, killed: if seed % 2 == 0 { 12 } else { 0 } };
        let mut world = World::new(seed, leases(limit), 3, 60, faults, 3 * SECOND);
        let (mut idle, mut losses_before) = (0, 0);
        while world.waits() {
            assert!(world.now < START + 3_600 * SECOND, "seed={seed}: a call waits for ever");
            world.run(SECOND / 10);
            let live = world.live();
            assert!(live <= limit, "seed={seed}: {live} leases");
            let now = world.now;
            let can_claim = |call: &Call| {
                let process = &world.processes[call.process];
                !process.is_dead && process.stopped_until < now && call.granted_at.is_none()
            };
            let is_idle = live < limit && world.calls.iter().any(can_claim);
            (idle, losses_before) = if is_idle { (idle + SECOND / 10, losses_before) } else { (0, world.losses) };
            // A ticket that was kept just before its process stopped or died, and messages that were lost.
            let most =
                RECHECK.0 + SECOND + 2 * SECOND + 4 * SECOND + CLAIM_TIMEOUT.0 * (1 + world.losses - losses_before);
            assert!(idle <= most, "seed={seed}: a slot was free for {idle} us, {} messages lost", world.losses);
        }
        carried += world.grants.len();
        kills += world.processes.iter().filter(|process| process.is_dead).count();
    }
    assert!(carried > 1_500 && kills > 10, "the simulation shows nothing: {carried} grants, {kills} killed");
}

/// Without faults the order of the tickets is kept, and nobody is late, whoever looks for whom.
#[test]
fn without_faults_calls_are_granted_in_order_and_in_time() {
    for seed in 0..20 {
        let interval = SECOND + seed * SECOND / 10;
        let policies = [leases(1), rate(Duration::from_micros(interval))];
        for (is_rate, policy) in policies.into_iter().enumerate() {
            let mut world = World::new(seed, policy, 2, 80, Faults::default(), 2 * SECOND);
            while world.waits() {
                assert!(world.now < START + 600 * SECOND, "seed={seed}: a call waits for ever");
                world.run(SECOND);
            }
            assert_eq!(world.grants.len(), 80, "seed={seed}");
            assert!(world.grants.is_sorted(), "seed={seed}: {:?}", world.grants);
            for pair in world.grants.windows(2).filter(|_| is_rate == 1) {
                let after = pair[1].1 - pair[0].1;
                assert!(after >= interval, "seed={seed}: {after} us after the last grant");
                assert!(after <= interval + 3 * LATENCY, "seed={seed}: late, {after} us after the last grant");
            }
        }
    }
}

/// One call of each process looks for all that rest.
#[test]
fn resting_calls_of_a_process_look_together() {
    for seed in 0..5 {
        let mut world = World::new(seed, leases(1), 2, 600, Faults::default(), 1);
        let holder = "holder";
        let taken = world.transact(holder, |transaction| {
            transaction.enter(Entry::without_queue(holder, Charge::All(1), None)).expect("a cost that fits")
        });
        assert_eq!(taken.status, Status::Granted);
        world.run(SECOND);
        let before = world.looks;
        assert!(before <= 600 + 2, "each has looked once: {before}");
        world.run(18 * SECOND);
        // Two calls of each process look every five seconds, for 299 others.
        let looks = world.looks - before;
        assert!((12..=24).contains(&looks), "seed={seed}: {looks} looks");
        let queue = world.state.queue.as_ref().expect("a queue");
        assert_eq!(queue.len(), 600);
        assert!((0..600).all(|place| queue.at(place).unwrap().next_check > world.now - SECOND));
    }
}

fn look(waiter: u64, companions: &[Companion]) -> Look {
    Look::new(&entry(&format!("call{waiter}"), "c", waiter, None, companions), || 1).expect("a look")
}

/// Returns the numbers of the waiters that a look of a waiter takes along.
fn taken(company: &mut Company, waiter: u64, at: Instant) -> Vec<u64> {
    company.begin(&look(waiter, &[]), at).iter().map(|companion| companion.waiter).collect()
}

#[test]
fn a_look_takes_along_those_that_rest_and_look_soon() {
    let (mut company, start) = (Company::default(), monotonic());
    let at = |micros| start + Duration::from_micros(micros);
    for waiter in 1..=8 {
        company.end(&look(waiter, &[]), Some(RECHECK), &[], at(waiter));
    }
    // This one is queued for a known time, and looks alone.
    company.end(&look(9, &[]), Some(Micros(RECHECK.0 - 1)), &[], at(9));
    company.end(&look(10, &[]), Some(RECHECK), &[], at(3 * SECOND));
    assert_eq!(company.due(1, at(10)).map(|(own, due)| own - due), Some(Duration::ZERO), "the first does not hurry");
    assert_eq!(company.due(2, at(10)).map(|(own, due)| own - due), Some(EARLY));
    assert_eq!(company.due(9, at(10)), None);
    company.wake(3);
    company.remove(4);
    company.cancel(1, "call5");
    company.cancel(2, "call6");
    let now = at(4 * SECOND + SECOND / 2);
    assert_eq!(taken(&mut company, 3, now), Vec::<u64>::new(), "it was woken");
    for waiter in 1..=8 {
        company.due(waiter, now);
    }
    let companions = company.begin(&look(2, &[]), now);
    let numbers: Vec<u64> = companions.iter().map(|companion| companion.waiter).collect();
    assert_eq!(numbers, [6, 7, 8, 1], "those that look first, and not those that are not due soon");
    // Another look does not take them along again, until it seems that there is no answer.
    company.end(&look(11, &[]), Some(RECHECK), &[], now);
    assert_eq!(taken(&mut company, 11, now), Vec::<u64>::new());
    assert_eq!(company.due(6, now).map(|(_, due)| due), Some(at(RECHECK.0 + 6 - 250_000)));
    assert_eq!(
        company.due(6, now + PATIENCE / 2).map(|(_, due)| due),
        Some(now + PATIENCE).max(Some(at(RECHECK.0 + 6 - 250_000)))
    );
    company.wake(7);
    company.end(&look(2, &companions), Some(RECHECK), &[RECHECK.0, RECHECK.0, 0, 2 * SECOND], now);
    let due = |company: &mut Company, waiter| company.due(waiter, now).map(|(_, due)| due);
    assert_eq!(
        due(&mut company, 6),
        Some(now + RECHECK.duration().saturating_sub(EARLY) + super::BEHIND),
        "it was kept"
    );
    assert_eq!(due(&mut company, 7), Some(at(RECHECK.0 + 7)), "it was woken meanwhile");
    assert_eq!(due(&mut company, 8), Some(at(RECHECK.0 + 8)), "it must look by itself");
    assert_eq!(due(&mut company, 1), Some(now + Duration::from_secs(2)), "its turn comes");
    for waiter in [7, 8, 1] {
        assert_eq!(taken(&mut company, waiter, now), Vec::<u64>::new(), "{waiter} looks alone");
    }
}

#[test]
fn companions_have_the_limiter_the_units_and_the_channel_of_the_call() {
    let (mut company, start) = (Company::default(), monotonic());
    let look = |waiter, units, channel, limiter| {
        let id = format!("call{waiter}");
        let entry = Entry { charge: Charge::All(units), ..entry(&id, channel, waiter, None, &[]) };
        Look::new(&entry, || limiter).expect("a look")
    };
    let looks = [look(1, 1, "c", 1), look(2, 1, "c", 1), look(3, 2, "c", 1), look(4, 1, "d", 1), look(5, 1, "c", 2)];
    for look in &looks {
        company.end(look, Some(RECHECK), &[], start);
    }
    let companions = company.begin(&looks[0], start + RECHECK.duration());
    assert_eq!(companions.iter().map(|companion| companion.waiter).collect::<Vec<_>>(), [2]);
    let alone = |waiter, channel| Look::new(&entry("call", channel, waiter, None, &[]), || 1).is_none();
    assert!(alone(0, "c") && alone(1, "") && !alone(1, "c"));
}

#[test]
fn a_late_answer_does_not_postpone_a_look_that_began_anew() {
    let (mut company, start) = (Company::default(), monotonic());
    for waiter in [1, 2] {
        company.end(&look(waiter, &[]), Some(RECHECK), &[], start);
    }
    let later = start + RECHECK.duration();
    let companions = company.begin(&look(1, &[]), later);
    assert_eq!(companions.len(), 1);
    // The companion was woken, has looked, and rests again.
    company.wake(2);
    company.begin(&look(2, &[]), later);
    company.end(&look(2, &[]), Some(RECHECK), &[], later);
    let before = company.due(2, later);
    company.end(&look(1, &companions), Some(RECHECK), &[RECHECK.0], later + Duration::from_secs(1));
    assert_eq!(company.due(2, later), before);
}

#[test]
fn a_waiter_without_a_sign_of_life_is_not_taken_along() {
    let (mut company, start) = (Company::default(), monotonic());
    for waiter in 1..=3 {
        company.end(&look(waiter, &[]), Some(RECHECK), &[], start);
    }
    let later = start + LIFE + Duration::from_micros(1);
    company.due(1, later);
    company.due(2, later);
    assert_eq!(taken(&mut company, 1, later), [2]);
    assert_eq!(company.due(3, later), None, "it is forgotten");
}

#[test]
fn a_look_takes_along_a_bounded_number_and_the_dead_are_forgotten() {
    let (mut company, start) = (Company::default(), monotonic());
    for waiter in 1..=1_000 {
        company.end(&look(waiter, &[]), Some(RECHECK), &[], start);
    }
    let now = start + RECHECK.duration();
    assert_eq!(taken(&mut company, 1, now).len(), MAX_COMPANIONS);
    assert_eq!(taken(&mut company, 1_000, now).len(), MAX_COMPANIONS, "others");
    // Nobody asks any more for those.
    let later = start + 10 * LIFE;
    for waiter in 2_000..4_000 {
        company.end(&look(waiter, &[]), Some(RECHECK), &[], later);
    }
    assert!(company.members.len() <= 2_000 && company.by_id.len() == company.members.len());
    for waiter in 2_000..4_000 {
        company.remove(waiter);
    }
    let left: HashMap<_, _> = company.members.drain().collect();
    assert!(left.is_empty() && company.by_id.is_empty() && company.places.is_empty(), "{} are left", left.len());
}
