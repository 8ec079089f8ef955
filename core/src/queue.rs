//! `Queue`: the tickets of a limiter in the order they came. Twin of `queue.lua`.

use std::collections::HashMap;

use crate::micros::{MAX_TIME, Micros};
use crate::ranked::Ranked;
use crate::verb::Turn;

/// The most tickets of a limiter; beyond it a call is refused instead of queued.
pub const MAX_TICKETS: usize = 100_000;

/// How often a waiter looks that waits for a release, so that a lost message delays it no longer.
pub const RECHECK: Micros = Micros(5_000_000);

/// How long a ticket keeps its place after the time at which it was to look, and did not.
pub const CLAIM_TIMEOUT: Micros = Micros(2_000_000);

/// The same for tickets of jobs, for which nobody waits.
pub const JOB_CLAIM_TIMEOUT: Micros = Micros(60_000_000);

/// A ticket is not told of changes below this.
const SLACK: u64 = 1_000;

/// How many tickets one call looks at.
pub(crate) const MAX_LOOKS: u64 = 64;

/// How many dead ones it removes; the next calls go on.
const MAX_LAPSED: usize = 500;

/// How many of what has ended otherwise one call removes: leases, permits, limiters on the list.
pub(crate) const MAX_REMOVALS: usize = 1_000;

/// One place in a queue.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: String,
    pub(crate) number: u64,
    /// Units that were queued before it.
    pub(crate) start: u64,
    pub(crate) units: u64,
    /// When it came.
    pub(crate) since: u64,
    /// When it looks again.
    pub(crate) look: u64,
    /// When its place is lost, unless it has looked.
    pub(crate) lapse: u64,
    pub(crate) grace: u64,
    pub(crate) channel: String,
}

/// The tickets of a limiter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    order: Ranked<(u64, String)>,
    by_id: HashMap<String, Ticket>,
    /// The last number, and the units of all tickets since the queue was empty.
    pub(crate) counter: u64,
    pub(crate) total: u64,
}

impl Queue {
    pub(crate) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Ticket> {
        self.by_id.get(id)
    }

    pub(crate) fn at(&self, place: u64) -> Option<&Ticket> {
        let (_, id) = self.order.get(usize::try_from(place).ok()?)?;
        self.by_id.get(id)
    }

    pub(crate) fn rank(&self, ticket: &Ticket) -> u64 {
        let ticket = (ticket.number, ticket.id.as_str());
        self.order.rank(|(number, id)| (*number, id.as_str()) < ticket) as u64
    }

    /// How many stand before one who comes back under a number.
    pub(crate) fn before(&self, number: u64) -> u64 {
        self.order.rank(|(other, _)| *other <= number) as u64
    }

    /// Adds a ticket or keeps what has changed of it.
    pub(crate) fn keep(&mut self, ticket: Ticket) {
        self.order.insert((ticket.number, ticket.id.clone()));
        self.by_id.insert(ticket.id.clone(), ticket);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Ticket> {
        let ticket = self.by_id.remove(id)?;
        self.order.remove(&(ticket.number, ticket.id.clone()));
        Some(ticket)
    }
}

/// What the state says of the queue to calls that do not look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) tickets: u64,
    pub(crate) units: u64,
    /// When the last of them has lapsed.
    pub(crate) until: u64,
    /// When this was written; the limiter's clock never shows less.
    pub(crate) seen: u64,
}

/// The walk along the queue.
impl Turn<'_> {
    pub(crate) fn ticket_of(&self, id: &str) -> Option<Ticket> {
        self.state.queue.as_ref()?.get(id).cloned()
    }

    pub(crate) fn rank(&self, ticket: &Ticket) -> u64 {
        self.state.queue.as_ref().map_or(0, |queue| queue.rank(ticket))
    }

    pub(crate) fn keep(&mut self, ticket: Ticket) {
        self.line.until = self.line.until.max(ticket.lapse);
        self.touched = true;
        self.state.queue.get_or_insert_default().keep(ticket);
    }

    pub(crate) fn leave(&mut self, ticket: &Ticket) {
        if let Some(queue) = &mut self.state.queue {
            queue.remove(&ticket.id);
        }
        self.line.tickets = self.line.tickets.saturating_sub(1);
        self.line.units = if self.line.tickets > 0 { self.line.units.saturating_sub(ticket.units) } else { 0 };
        self.touched = true;
        self.removed += 1;
    }

    /// The ticket at a place of the queue. A lapsed one leaves, unless it is looking just now, and the next takes its place.
    fn ticket_at(&mut self, place: u64) -> Option<Ticket> {
        loop {
            let ticket = self.state.queue.as_ref()?.at(place)?.clone();
            let stays = ticket.lapse > self.now && self.policy.fits(ticket.units) || ticket.id == self.id;
            if stays || self.removed >= MAX_LAPSED {
                return Some(ticket);
            }
            self.leave(&ticket);
            self.state.statistics.lapsed += 1;
        }
    }

    /// What stands before a place: tickets, their units, and the first time at which one of them may lapse.
    pub(crate) fn standing(&mut self, mut place: u64) -> (u64, u64, u64) {
        let (mut ahead, mut before, mut lapse) = (0, 0, MAX_TIME.0);
        while ahead < place && ahead < MAX_LOOKS {
            let tickets = self.line.tickets;
            let ticket = self.ticket_at(ahead);
            place = place.saturating_sub(tickets - self.line.tickets);
            let Some(ticket) = ticket.filter(|_| ahead < place) else {
                return (ahead, before, lapse);
            };
            ahead += 1;
            before += ticket.units;
            lapse = lapse.min(ticket.lapse);
        }
        (place, before + place - ahead, lapse)
    }

    /// Calls those whose turn has come, and tells the next when it comes; the caller itself knows.
    pub(crate) fn advance(&mut self) {
        let (mut ahead, mut before, mut turn) = (0, 0, MAX_TIME.0);
        while self.line.tickets > 0 && ahead < MAX_LOOKS && self.removed < MAX_LAPSED {
            let Some(mut ticket) = self.ticket_at(ahead) else { return };
            let wait = self.ask(ahead, before, ticket.units, 0).wait;
            let look = if wait == 0 { self.now } else { (self.now + wait).min(turn) };
            let mut heard = true;
            let slack = if wait == 0 { 0 } else { SLACK };
            if ticket.id != self.id && !ticket.channel.is_empty() && ticket.look > look + slack {
                heard = self.channels.publish(&ticket.channel, look - self.now, &ticket.id);
                if heard {
                    (ticket.look, ticket.lapse) = (look, look + ticket.grace);
                    self.keep(ticket.clone());
                } else {
                    self.leave(&ticket);
                }
            }
            if self.orders && ticket.channel.is_empty() && ticket.look > look + SLACK {
                // It cannot be told that a pause has ended, and shall not stop the others until it was to end.
                (ticket.look, ticket.lapse) = (look, look + ticket.grace);
                self.keep(ticket.clone());
            }
            if wait > 0 && heard {
                return;
            }
            if heard {
                ahead += 1;
                before += ticket.units;
                if ticket.id != self.id {
                    turn = turn.min(ticket.lapse);
                }
            }
        }
    }
}
