//! `Queue`: the tickets of a limiter by priority, then by number. Twin of `queue.lua`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::micros::Micros;
use crate::base::ranked::Ranked;
use crate::engine::loads::Loads;
use crate::engine::transaction::hosts::Host;
use crate::model::share::MAX_PRIORITY;

/// The maximum number of tickets of a limiter; beyond it a call is refused instead of queued.
pub const MAX_TICKETS: usize = 100_000;

/// How often a call that waits for wake-ups retries, which bounds the delay by a lost one: 15 s.
pub const RECHECK: Micros = Micros(15_000_000);

/// The most time between two calls for a job, or for a host of jobs, whose turn is not known: 5 s.
pub const MAX_POLL: Micros = Micros(5_000_000);

/// The maximum number of tickets that one call examines.
pub(crate) const MAX_CHECKED_TICKETS: u64 = 64;

/// The least time between two calls for a job whose time is not known exactly: 50 ms.
pub const MIN_POLL: Micros = Micros(50_000);

/// The number of priorities.
const PRIORITIES: usize = MAX_PRIORITY as usize + 1;

/// Numbers are below this, which leaves room for ten priorities in the score.
pub(crate) const LEVEL: u64 = 1 << 49;

/// The channel of a ticket that was listed for such a host and has not called since. It gets no wake-up, since its next check
/// has come.
pub(crate) const CALLED: &str = "\u{1d}";

/// A ticket in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: String,
    pub(crate) number: u64,
    pub(crate) priority: u8,
    /// The share that counts the ticket, empty for tickets of nobody; `None` when the priority is in the order of arrival.
    pub(crate) share: Option<Box<str>>,
    /// For each tag, the units that were queued before it, and its own; one of a limit that counts calls. The own units of a
    /// suspended ticket are zero.
    pub(crate) units_before: Box<[u64]>,
    pub(crate) units: Box<[u64]>,
    /// When the ticket joined the queue.
    pub(crate) queued_at: u64,
    /// When its call should retry.
    pub(crate) next_check: u64,
    /// When the ticket loses its position, unless its call has retried. Others pass it by when its claim timeout is over.
    pub(crate) expires_at: u64,
    pub(crate) claim_timeout: u64,
    /// Empty when nobody waits for a wake-up.
    pub(crate) channel: String,
    /// The sorted tags of the limits that its call has, with commas between.
    pub(crate) tags: Arc<str>,
}

impl Ticket {
    /// Returns whether another limiter holds the call up: the ticket keeps its position and stops nobody.
    pub(crate) fn is_suspended(&self) -> bool {
        self.units.iter().all(|units| *units == 0)
    }

    /// Returns when others pass the ticket by, unless its call has retried.
    pub(crate) fn claim_end(&self) -> u64 {
        self.next_check + self.claim_timeout
    }

    /// Gives the ticket another time to call.
    pub(crate) fn call_again(&mut self, check_at: u64) {
        self.expires_at = check_at + self.expires_at - self.next_check;
        self.next_check = check_at;
    }

    /// Returns the place in the queue.
    fn place(&self) -> (i64, &str) {
        (score(self.number, self.priority), &self.id)
    }

    /// Returns each tag with its units.
    pub(crate) fn loads(&self) -> impl Iterator<Item = (&str, u64)> {
        self.tags.split(',').zip(self.units.iter().copied())
    }

    /// Returns the units of a tag that were queued before it; `None` for a tag that it does not have.
    pub(crate) fn before(&self, tag: &str) -> Option<u64> {
        self.tags.split(',').position(|other| other == tag).map(|i| self.units_before[i])
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    order: Ranked<(i64, String)>,
    by_id: HashMap<String, Ticket>,
    /// For each priority and share, the number after which it goes on, and its tickets in the queue.
    shares: HashMap<(u8, Box<str>), (u64, u64)>,
    /// The last ticket number, and the units of all tickets since the queue was empty.
    pub(crate) counter: u64,
    pub(crate) total: Loads,
    /// The hosts that sleep until the turn of a job has come.
    pub(crate) hosts: Vec<Host>,
}

impl Queue {
    pub(crate) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Ticket> {
        self.by_id.get(id)
    }

    pub(crate) fn at(&self, position: u64) -> Option<&Ticket> {
        let (_, id) = self.order.get(usize::try_from(position).ok()?)?;
        self.by_id.get(id)
    }

    /// Returns a page of the tickets.
    pub(crate) fn page(&self, offset: u64, count: u64) -> impl Iterator<Item = &Ticket> {
        let [offset, count] = [offset, count].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        self.order.from(offset).take(count).filter_map(|(_, id)| self.by_id.get(id))
    }

    pub(crate) fn rank(&self, ticket: &Ticket) -> u64 {
        let place = ticket.place();
        self.order.rank(|(score, id)| (*score, id.as_str()) < place) as u64
    }

    /// Returns the channel and the id of each ticket and host that waits for a wake-up.
    pub(crate) fn channels(&self) -> impl Iterator<Item = (String, String)> {
        let tickets = self.by_id.values().map(|ticket| (&ticket.channel, &ticket.id));
        tickets
            .chain(self.hosts.iter().map(|host| (&host.channel, &host.id)))
            .map(|(channel, id)| (channel.clone(), id.clone()))
    }

    /// Returns the number of tickets with lower scores.
    pub(crate) fn before(&self, score: i64) -> u64 {
        self.order.rank(|(other, _)| *other < score) as u64
    }

    /// Returns the highest score between two.
    pub(crate) fn last_between(&self, first: i64, last: i64) -> Option<i64> {
        let rank = self.order.rank(|(score, _)| *score <= last).checked_sub(1)?;
        self.order.get(rank).map(|(score, _)| *score).filter(|score| *score >= first)
    }

    /// Returns the last tickets of a priority, at most `count`.
    pub(crate) fn last_of(&self, priority: u8, count: u64) -> Vec<Ticket> {
        let first = self.before(score(0, priority));
        let end = self.before(score(LEVEL, priority));
        let offset = end.saturating_sub(count).max(first);
        self.page(offset, end - offset).cloned().collect()
    }

    /// Returns the number after which a share goes on.
    pub(crate) fn number_of_share(&self, priority: u8, share: &str) -> u64 {
        self.shares.get(&(priority, share.into())).map_or(0, |(number, _)| *number)
    }

    /// Counts a ticket of a share.
    pub(crate) fn count_share(&mut self, priority: u8, share: &str, number: u64) {
        let (last, tickets) = self.shares.entry((priority, share.into())).or_default();
        (*last, *tickets) = ((*last).max(number), *tickets + 1);
    }

    /// Adds or updates a ticket.
    pub(crate) fn keep(&mut self, ticket: Ticket) {
        self.order.insert((score(ticket.number, ticket.priority), ticket.id.clone()));
        self.by_id.insert(ticket.id.clone(), ticket);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Ticket> {
        let ticket = self.by_id.remove(id)?;
        self.order.remove(&(score(ticket.number, ticket.priority), ticket.id.clone()));
        if let Some(share) = &ticket.share {
            let share = (ticket.priority, share.clone());
            if let Some((_, tickets)) = self.shares.get_mut(&share)
                && *tickets > 1
            {
                *tickets -= 1;
            } else {
                self.shares.remove(&share);
            }
        }
        Some(ticket)
    }
}

/// Returns the place of a number among the numbers of all priorities.
pub(crate) fn score(number: u64, priority: u8) -> i64 {
    number.cast_signed() - i64::from(priority) * LEVEL.cast_signed()
}

/// The summary of the queue in the state, for calls that do not examine the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueSummary {
    pub(crate) tickets: u64,
    pub(crate) loads: Loads,
    /// Whether the queue is not in the order of arrival.
    pub(crate) is_reordered: bool,
    /// The mean time that leases are held while calls wait; zero until one was released.
    pub(crate) mean_held: u64,
    /// Until when a host is known that calls the jobs whose turn has come.
    pub(crate) asked_until: u64,
    /// The number of the last granted ticket of each priority, zero for one without shares; empty when none has shares.
    last_granted: Vec<u64>,
    /// When the last ticket has lapsed.
    pub(crate) until: u64,
    /// When the summary was written; the limiter's clock never returns an earlier time.
    pub(crate) written_at: u64,
}

impl QueueSummary {
    /// Returns the summary of the same queue without tickets: nothing else is known of an empty queue.
    pub(crate) fn emptied(&self) -> Self {
        Self { until: self.until, written_at: self.written_at, ..Self::default() }
    }

    /// Returns the number of the last granted ticket of a priority with shares; zero without shares.
    pub(crate) fn last_granted(&self, priority: u8) -> u64 {
        self.last_granted.get(usize::from(priority)).copied().unwrap_or(0)
    }

    pub(crate) fn set_last_granted(&mut self, priority: u8, number: u64) {
        self.last_granted.resize(PRIORITIES, 0);
        self.last_granted[usize::from(priority)] = number;
    }
}
