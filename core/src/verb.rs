//! What a call does to the state of a limiter. Twin of `store/verb.lua`.

use std::borrow::Cow;

use crate::decision::Status;
use crate::error::Result;
use crate::limit::Rule;
use crate::limit::concurrency::Lease;
use crate::micros::{MAX_TIME, Micros};
use crate::permit::{Permit, Settlement};
use crate::policy::Policy;
use crate::queue::{Line, MAX_LOOKS, MAX_TICKETS, RECHECK, Ticket};
use crate::request::Place;
use crate::state::{Ask, Outcome, State};
use crate::statistics::Statistics;

/// The numbers of a decision, as the script replies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: Status,
    pub(crate) index: usize,
    pub(crate) remaining: u64,
    pub(crate) retry_after: u64,
    pub(crate) reset_after: u64,
    pub(crate) at: u64,
    /// The amount of the limit, when it may be another than that of the caller's policy.
    pub(crate) amount: Option<u64>,
    pub(crate) more: More,
}

/// What a reply says to a call with an id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct More {
    pub(crate) lease: u64,
    pub(crate) fence: u64,
    pub(crate) number: u64,
    pub(crate) position: u64,
    pub(crate) ready: Option<u64>,
    /// Of the lease that the id had before; zero of a new one.
    pub(crate) granted_at: u64,
    pub(crate) charged: u64,
}

/// A call with an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a str,
    pub(crate) units: u64,
    /// Whether the charge may be corrected.
    pub(crate) permit: bool,
    pub(crate) queue: Option<Waiting<'a>>,
}

/// How a call with an id queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'a> {
    pub(crate) patience: u64,
    pub(crate) grace: u64,
    /// Empty when it looks by itself.
    pub(crate) channel: &'a str,
    pub(crate) place: Place,
}

/// Carries messages to those who wait.
pub(crate) trait Publish {
    /// Whether somebody heard it.
    fn publish(&self, channel: &str, delay: u64, id: &str) -> bool;
}

impl State {
    /// Charges `cost` to all limits or to none, behind the queue. Nothing when only those before it are in its way, as far
    /// as is known without looking at the queue: such a call is to be made again with an id.
    #[inline]
    pub(crate) fn acquire(&mut self, own: &Policy, server: u64, cost: u64) -> Result<Option<Reply>> {
        let (now, skew) = self.clock(server);
        let policy = &*self.ruling(own, now);
        policy.check_fits("cost", cost)?;
        let ask = self.line.ask(now, cost, cost);
        let outcome = self.decide(policy, now, ask);
        let granted = outcome.wait == 0;
        if granted && cost > 0 {
            self.take(policy, &outcome, now, skew, cost);
            self.line = self.line.written(now);
        } else if !granted && ask.ahead > 0 && self.decide(policy, now, Ask { ahead: 0, before: 0, ..ask }).wait == 0 {
            return Ok(None);
        } else {
            // Without this the clock of a full limiter would stand still until the server's catches up.
            self.skew = skew;
            self.statistics.refused += u64::from(!granted);
        }
        let status = if granted { Status::Granted } else { Status::Refused };
        Ok(Some(Reply { amount: Some(policy.amount(outcome.index)), ..reply(status, &outcome, now) }))
    }

    /// What `acquire` would answer; changes nothing. `remaining` is what is there now.
    pub(crate) fn peek(&self, own: &Policy, server: u64, argument: &'static str, cost: u64) -> Result<Reply> {
        let now = self.clock(server).0;
        let policy = &*self.ruling(own, now);
        policy.check_fits(argument, cost)?;
        let outcome = self.decide(policy, now, self.line.ask(now, cost, 0));
        let status = if outcome.wait == 0 { Status::Granted } else { Status::Refused };
        Ok(Reply { amount: Some(policy.amount(outcome.index)), ..reply(status, &outcome, now) })
    }

    fn take(&mut self, policy: &Policy, outcome: &Outcome, now: u64, skew: u64, cost: u64) {
        for i in 0..policy.limits().len() {
            if let Some(log) = self.log(i) {
                log.push(now, cost, outcome.levels[i]);
            }
        }
        self.settle(policy, &outcome.levels, now, skew);
        self.statistics.granted += 1;
        self.statistics.units += cost;
    }

    pub(crate) fn statistics(&mut self, server: u64) -> Statistics {
        let now = self.clock(server).0;
        let leases = self.leases().map_or(0, |leases| leases.live(now));
        let tickets = self.queue.as_ref().map_or(0, |queue| queue.len());
        Statistics { leases, tickets, ..self.statistics }
    }
}

impl Line {
    /// What a call asks for that does not look at the queue itself.
    fn ask(self, now: u64, cost: u64, change: u64) -> Ask {
        let counts = cost > 0 && now < self.until;
        let (ahead, before) = if counts { (self.tickets, self.units) } else { (0, 0) };
        Ask { ahead, before, cost: Some(cost), change: change.cast_signed(), granted_at: 0 }
    }

    /// An empty queue is not written.
    pub(crate) fn written(self, now: u64) -> Self {
        if self.tickets > 0 { Self { seen: now, ..self } } else { Self::default() }
    }
}

/// One call that looks at the queue.
pub(crate) struct Turn<'a> {
    pub(crate) state: &'a mut State,
    /// The policy of the caller, and what rules in its place.
    pub(crate) own: &'a Policy,
    pub(crate) policy: Cow<'a, Policy>,
    pub(crate) channels: &'a dyn Publish,
    pub(crate) now: u64,
    pub(crate) skew: u64,
    /// Who calls.
    pub(crate) id: &'a str,
    pub(crate) line: Line,
    /// Whether the queue has changed, so that the state must say so.
    pub(crate) touched: bool,
    /// How many have left it.
    pub(crate) removed: usize,
    /// Whether this is an order.
    pub(crate) orders: bool,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(
        state: &'a mut State,
        own: &'a Policy,
        channels: &'a dyn Publish,
        server: u64,
        id: &'a str,
    ) -> Self {
        let (now, skew) = state.clock(server);
        let policy = state.ruling(own, now);
        let tickets = state.queue.as_ref().map_or(0, |queue| queue.len());
        // As in Redis, should the state have been lost: a ticket has one unit at least.
        let units = if tickets == 0 { 0 } else { state.line.units.max(tickets) };
        let line = Line { tickets, units, ..state.line };
        Self { state, own, policy, channels, now, skew, id, line, touched: false, removed: 0, orders: false }
    }

    /// Grants, queues or refuses.
    pub(crate) fn enter(self, entry: Entry<'_>) -> Result<Reply> {
        let policy = self.policy.clone();
        let reply = self.answer(entry)?;
        Ok(Reply { amount: Some(policy.amount(reply.index)), ..reply })
    }

    fn answer(mut self, entry: Entry<'_>) -> Result<Reply> {
        let Entry { id, units, .. } = entry;
        // Whoever has a lease already takes nothing.
        if let Some(held) = self.lease_of(id, None).filter(|lease| lease.end > self.now) {
            let Lease { end, granted_at, fence, charged } = held;
            let more = More { lease: end - self.now, fence, granted_at, charged, ..More::default() };
            let outcome = self.ask(0, 0, 0, 0);
            return Ok(Reply { more, ..reply(Status::Granted, &Outcome { wait: 0, ..outcome }, self.now) });
        }
        let ticket = self.ticket_of(id);
        if let Err(never) = self.policy.check_fits(if entry.permit { "estimate" } else { "cost" }, units) {
            if let Some(ticket) = ticket {
                self.leave(&ticket);
                self.advance();
                self.write_line();
            }
            return Err(never);
        }
        let place = entry.queue.map(|waiting| waiting.place);
        if ticket.is_none() && place == Some(Place::Kept) {
            return Ok(reply(Status::Gone, &Outcome::default(), self.now));
        }
        if units == 0 {
            self.state.skew = self.skew;
            let outcome = self.ask(0, 0, 0, 0);
            return Ok(reply(if outcome.wait == 0 { Status::Granted } else { Status::Refused }, &outcome, self.now));
        }
        let outcome = self.weigh(units, ticket.as_ref(), place);
        let is_full = self.line.tickets >= MAX_TICKETS as u64 || self.line.units + units > MAX_TIME.0;
        let waiting = entry.queue.filter(|waiting| {
            // Where nobody may be for now, who has a place keeps it.
            let is_closed = ticket.is_some() && outcome.rate == MAX_TIME.0;
            let in_time = outcome.rate <= waiting.patience && (ticket.is_some() || !is_full);
            waiting.patience > 0 && (in_time || is_closed)
        });
        Ok(match waiting {
            _ if outcome.wait > 0 && waiting.is_none() => self.refuse(&outcome, ticket),
            Some(waiting) if outcome.wait > 0 => self.wait(entry, waiting, &outcome, ticket),
            _ => self.grant(entry, &outcome, ticket),
        })
    }

    /// Decides behind all that is before it in the queue.
    fn weigh(&mut self, units: u64, ticket: Option<&Ticket>, place: Option<Place>) -> Outcome {
        let alone = self.ask(0, 0, units, units);
        if self.line.tickets == 0 {
            return alone;
        }
        let mut ahead = self.ahead(ticket, place);
        let (mut before, mut lapse) = (0, MAX_TIME.0);
        if alone.wait == 0 {
            if ahead > 0 {
                // It may be that nobody was called yet: the limit was raised, or a lease has ended by itself.
                self.advance();
                ahead = self.ahead(ticket, place);
            }
            (ahead, before, lapse) = self.standing(ahead);
            if ahead > MAX_LOOKS {
                before = before.max(self.units_of(ahead, ticket, place));
            }
        } else {
            before = before.max(self.units_of(ahead, ticket, place));
        }
        if ahead == 0 {
            return alone;
        }
        let outcome = self.ask(ahead, before, units, units);
        if outcome.wait == MAX_TIME.0 {
            return outcome;
        }
        // One that has lapsed and could not be removed yet is in its way for this call only.
        Outcome { wait: outcome.wait.min(lapse.saturating_sub(self.now).max(1)), ..outcome }
    }

    /// What so many take, as far as it is known without looking at each.
    fn units_of(&self, ahead: u64, ticket: Option<&Ticket>, place: Option<Place>) -> u64 {
        match ticket {
            _ if self.line.units == self.line.tickets => ahead,
            None if matches!(place, Some(Place::Number(_))) => ahead,
            None => self.line.units,
            Some(ticket) => {
                ticket.start.saturating_sub(self.head_start(0)).min(self.line.units.saturating_sub(ticket.units))
            }
        }
    }

    /// What was queued before the head of the queue.
    fn head_start(&self, otherwise: u64) -> u64 {
        self.state.queue.as_ref().and_then(|queue| queue.at(0)).map_or(otherwise, |head| head.start)
    }

    /// How many stand before it: who comes back under its old number stands where it stood.
    fn ahead(&self, ticket: Option<&Ticket>, place: Option<Place>) -> u64 {
        match (ticket, place) {
            (Some(ticket), _) => self.rank(ticket),
            (None, Some(Place::Number(number))) => self.state.queue.as_ref().map_or(0, |queue| queue.before(number)),
            _ => self.line.tickets,
        }
    }

    fn refuse(mut self, outcome: &Outcome, ticket: Option<Ticket>) -> Reply {
        if let Some(ticket) = ticket {
            self.leave(&ticket);
            self.advance();
        }
        self.state.statistics.refused += 1;
        if self.touched {
            self.write_line();
        } else {
            self.state.skew = self.skew;
        }
        reply(Status::Refused, outcome, self.now)
    }

    /// Takes a place in the queue, or keeps it. What a release can shorten is looked at again all the same, and who has a
    /// channel, and so somebody who waits, shows that it is alive.
    fn wait(mut self, entry: Entry<'_>, waiting: Waiting<'_>, outcome: &Outcome, ticket: Option<Ticket>) -> Reply {
        let wait = outcome.wait;
        let mut look = match wait {
            _ if wait > outcome.rate => outcome.rate.max(wait.min(RECHECK.0)),
            _ if wait == MAX_TIME.0 => RECHECK.0,
            _ => wait,
        };
        if !waiting.channel.is_empty() {
            look = look.min(RECHECK.0);
        }
        let mut ticket = ticket.unwrap_or_else(|| self.join(entry.id, entry.units, waiting.place));
        ticket.look = self.now + look;
        ticket.lapse = ticket.look + waiting.grace;
        ticket.grace = waiting.grace;
        waiting.channel.clone_into(&mut ticket.channel);
        let (number, position) = (ticket.number, self.rank(&ticket));
        self.keep(ticket);
        self.write_line();
        let ready = (self.policy.concurrency().is_none() && wait < MAX_TIME.0).then_some(wait);
        Reply {
            retry_after: look,
            more: More { number, position, ready, ..More::default() },
            ..reply(Status::Queued, outcome, self.now)
        }
    }

    fn join(&mut self, id: &str, units: u64, place: Place) -> Ticket {
        let head_start = self.head_start(u64::MAX);
        let queue = self.state.queue.get_or_insert_default();
        if self.line.tickets == 0 {
            queue.total = 0;
        }
        let (number, start) = match place {
            Place::Number(number) if number <= queue.counter => (number, head_start.min(queue.total)),
            _ => (queue.counter + 1, queue.total),
        };
        queue.counter = queue.counter.max(number);
        queue.total = (queue.total + units).min(MAX_TIME.0);
        self.line.tickets += 1;
        self.line.units += units;
        let (since, channel) = (self.now, String::new());
        Ticket { id: id.to_owned(), number, start, units, since, look: 0, lapse: 0, grace: 0, channel }
    }

    fn grant(mut self, entry: Entry<'_>, outcome: &Outcome, ticket: Option<Ticket>) -> Reply {
        let (now, mut more) = (self.now, More::default());
        if let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule)
            && let Some(leases) = self.state.leases()
        {
            let fence = now.max(leases.fence + 1);
            leases.fence = fence;
            let lease = Lease { end: now + concurrency.timeout, granted_at: now, fence, charged: entry.units };
            leases.set(entry.id, lease);
            (more.lease, more.fence) = (concurrency.timeout, fence);
            let reclaimed = leases.reclaim(now);
            self.state.statistics.reclaimed += reclaimed;
        }
        if entry.permit {
            self.state.open_permit(&Permit { id: entry.id, granted_at: now, charged: entry.units }, now);
        }
        self.state.take(&self.policy, outcome, now, self.skew, entry.units);
        if let Some(ticket) = ticket {
            self.leave(&ticket);
            more.number = ticket.number;
            self.state.statistics.waited += 1;
            self.state.statistics.wait_time.0 += now - ticket.since;
        }
        self.advance();
        self.state.line = self.line.written(now);
        Reply { more, ..reply(Status::Granted, outcome, now) }
    }

    /// Ends a lease.
    pub(crate) fn release(mut self, permit: &Permit<'_>) -> Settlement {
        let now = self.now;
        let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule) else {
            return Settlement::Unknown;
        };
        let lease = self.lease_of(permit.id, Some(permit.granted_at));
        if let Some(leases) = self.state.leases().filter(|_| lease.is_some()) {
            leases.remove(permit.id);
        }
        let live = lease.is_some_and(|lease| lease.end > now);
        let late = !live && now >= permit.granted_at + concurrency.timeout;
        // An id may be old, made up, or released before: only what is known counts, and it is known once.
        let counts = lease.is_some();
        if counts {
            self.state.statistics.held_time.0 += now.saturating_sub(permit.granted_at);
        }
        if late || lease.is_some() && !live {
            self.state.statistics.overages += u64::from(counts);
            return Settlement::Late;
        }
        if !live {
            return Settlement::Unknown;
        }
        self.advance();
        if self.touched {
            self.write_line();
        }
        Settlement::Released
    }

    /// Gives a live lease its whole time again; `None` when it has ended.
    pub(crate) fn renew(mut self, permit: &Permit<'_>) -> Option<Micros> {
        let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule) else {
            return None;
        };
        let held = self.lease_of(permit.id, Some(permit.granted_at)).filter(|lease| lease.end > self.now)?;
        self.state.leases()?.set(permit.id, Lease { end: self.now + concurrency.timeout, ..held });
        Some(Micros(concurrency.timeout))
    }

    /// Takes a ticket out of the queue, and the lease away that it may have become.
    pub(crate) fn cancel(mut self, id: &str, gave_up: bool) -> Settlement {
        let ticket = self.ticket_of(id);
        let lease = self.lease_of(id, None).filter(|lease| !self.is_reclaimed(id, lease));
        if let Some(leases) = self.state.leases().filter(|_| lease.is_some()) {
            leases.remove(id);
        }
        if let Some(ticket) = &ticket {
            self.leave(ticket);
        }
        self.state.statistics.refused += u64::from(gave_up);
        self.advance();
        if self.touched {
            self.write_line();
        }
        if ticket.is_some() || lease.is_some() { Settlement::Cancelled } else { Settlement::Unknown }
    }

    pub(crate) fn ask(&self, ahead: u64, before: u64, cost: u64, change: u64) -> Outcome {
        let ask = Ask { ahead, before, cost: Some(cost), change: change.cast_signed(), granted_at: 0 };
        self.state.decide(&self.policy, self.now, ask)
    }

    /// Writes what the state says of the queue; what was taken stays as it is.
    pub(crate) fn write_line(&mut self) {
        if self.state.last == 0 {
            let outcome = self.ask(0, 0, 0, 0);
            self.state.settle(&self.policy, &outcome.levels, self.now, self.skew);
        }
        self.state.skew = self.skew;
        self.state.line = self.line.written(self.now);
    }

    fn lease_of(&mut self, id: &str, granted_at: Option<u64>) -> Option<Lease> {
        self.state.leases()?.get(id, granted_at)
    }

    fn is_reclaimed(&mut self, id: &str, lease: &Lease) -> bool {
        self.state.leases().is_some_and(|leases| leases.is_reclaimed(id, lease))
    }
}

fn reply(status: Status, outcome: &Outcome, at: u64) -> Reply {
    Reply {
        status,
        index: outcome.index,
        remaining: outcome.remaining,
        retry_after: outcome.wait,
        reset_after: outcome.reset,
        at,
        amount: None,
        more: More::default(),
    }
}
