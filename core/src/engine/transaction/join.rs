//! Joins the queue: which ticket a call gets. Twin of `join.lua`, which says how shares are served.

use crate::base::charge::Charge;
use crate::engine::loads::Loads;
use crate::engine::queue::{LEVEL, Ticket, score};
use crate::engine::transaction::{Entry, Transaction};
use crate::model::request::QueuePosition;
use crate::model::share::{MAX_PRIORITY, Order};

/// What a unit adds to the number of a ticket of weight one.
const SCALE: u64 = 131_072;

/// The lowest digits of a number are for ties: how many more tickets with one number get places in the order of their arrival.
const TIES: u64 = 127;

/// How many of the tickets that came before the first of a share are counted then.
const COUNTED: u64 = 250;

/// The tickets before a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) ahead: u64,
    /// The number that the call would get; zero when the queue is in the order of arrival.
    pub(super) number: u64,
}

impl Transaction<'_> {
    /// Returns the tickets ahead of a call. One that returns under its old number has the position of that number.
    pub(super) fn place(
        &self,
        ticket: Option<&Ticket>,
        position: Option<QueuePosition>,
        order: Order<'_>,
        charge: &Charge,
    ) -> Place {
        let Some(queue) = &self.state.queue else { return Place::default() };
        match (ticket, position) {
            (Some(ticket), _) => Place { ahead: queue.rank(ticket), number: 0 },
            (None, Some(QueuePosition::Number(number))) => {
                Place { ahead: queue.before(score(number.min(LEVEL - 1), order.priority) + 1), number: 0 }
            }
            _ if order.priority == 0 && order.share.is_empty() && !self.is_reordered() => {
                Place { ahead: self.queue_summary.tickets, number: 0 }
            }
            _ => {
                let (number, _) = self.next_number(order, charge);
                Place { ahead: queue.before(score(number, order.priority)), number }
            }
        }
    }

    /// Returns whether the queue is not in the order of arrival.
    pub(super) fn is_reordered(&self) -> bool {
        self.queue_summary.is_reordered
    }

    /// Notes the number of a call that is granted while others wait.
    pub(super) fn count_turn(&mut self, ticket: Option<&Ticket>, order: Order<'_>, charge: &Charge) {
        let priority = ticket.map_or(order.priority, |ticket| ticket.priority);
        let last = self.queue_summary.last_granted(priority);
        if last > 0 {
            let number =
                ticket.map_or_else(|| self.next_number(order, charge).1, |ticket| self.number_without_tie(ticket));
            // A tie may be granted in another order, in which its shares lose nothing.
            let is_tie = without_tie(last) == without_tie(number);
            self.queue_summary.set_last_granted(priority, if is_tie { number } else { last.max(number) });
        }
    }

    /// Returns the number of a ticket as its share counts it, as far as it is known.
    fn number_without_tie(&self, ticket: &Ticket) -> u64 {
        let (number, share) = (without_tie(ticket.number), ticket.share.as_deref().unwrap_or_default());
        let of_share = self.state.queue.as_ref().map_or(0, |queue| queue.number_of_share(ticket.priority, share));
        // The share knows the lowest digits of its last ticket.
        if without_tie(of_share) == number { of_share } else { number }
    }

    /// Returns the ticket of a call: a new one, or the ticket of the call before with the limits and the cost of this call.
    pub(super) fn join_queue(&mut self, entry: &Entry<'_>, ticket: Option<Ticket>) -> Ticket {
        match ticket {
            Some(ticket) => self.revised(ticket, &entry.charge),
            None => self.join(entry),
        }
    }

    fn join(&mut self, entry: &Entry<'_>) -> Ticket {
        let Entry { id, ref charge, order, queue, .. } = *entry;
        let loads: Vec<(&str, u64)> = self.loads(charge).collect();
        let counter = self.counter();
        let is_empty = self.queue_summary.tickets == 0;
        let queue_state = self.state.queue.get_or_insert_default();
        if is_empty {
            queue_state.total = Loads::default();
        }
        let requested = match queue.map(|waiting| waiting.position) {
            Some(QueuePosition::Number(number)) if number <= counter => Some(number),
            _ => None,
        };
        let head = queue_state.at(0);
        let before = |tag| {
            let total = queue_state.total.get(tag);
            head.filter(|_| requested.is_some()).and_then(|head| head.before(tag)).map_or(total, |head| head.min(total))
        };
        let units_before = loads.iter().map(|(tag, _)| before(tag)).collect();
        let (number, share, counter) = self.take_place(order, charge, requested, counter);
        let queue_state = self.state.queue.get_or_insert_default();
        queue_state.counter = counter;
        queue_state.total.add(loads.iter().copied());
        self.queue_summary.tickets += 1;
        self.queue_summary.loads.add(loads.iter().copied());
        Ticket {
            id: id.to_owned(),
            number,
            priority: order.priority,
            share,
            units_before,
            units: loads.iter().map(|(_, units)| *units).collect(),
            queued_at: self.now,
            next_check: 0,
            expires_at: 0,
            claim_timeout: 0,
            channel: String::new(),
            tags: self.own.tags().clone(),
        }
    }

    /// Moves a ticket up by one priority for each aging of the limiter that it has waited, to the end of that priority.
    pub(super) fn risen(&mut self, ticket: Ticket, order: Order<'_>, charge: &Charge) -> Ticket {
        let Some(aging) = self.own.aging() else { return ticket };
        let steps = self.now.saturating_sub(ticket.queued_at) / aging.0;
        let priority = u64::from(order.priority).saturating_add(steps).min(MAX_PRIORITY.into());
        let priority = u8::try_from(priority).unwrap_or(MAX_PRIORITY);
        if priority <= ticket.priority || ticket.is_suspended() {
            return ticket;
        }
        let share = ticket.share.clone().unwrap_or_default();
        let (counter, order) = (self.counter(), Order { priority, share: &share, ..order });
        let (number, share, counter) = self.take_place(order, charge, None, counter);
        let queue = self.state.queue.get_or_insert_default();
        queue.counter = counter;
        queue.remove(&ticket.id);
        let ticket = Ticket { number, priority, share, ..ticket };
        self.keep(ticket.clone());
        ticket
    }

    /// Returns the number of a new ticket, its share if the tickets of its priority are ordered by shares, and the last number.
    fn take_place(
        &mut self,
        order: Order<'_>,
        charge: &Charge,
        requested: Option<u64>,
        mut counter: u64,
    ) -> (u64, Option<Box<str>>, u64) {
        if !order.share.is_empty() && self.queue_summary.last_granted(order.priority) == 0 {
            self.queue_summary.set_last_granted(order.priority, counter.max(1));
            counter = self.count_earlier(order.priority, counter);
        }
        let (number, share_number) =
            requested.map_or_else(|| self.next_number(order, charge), |requested| (requested, requested));
        let share = (self.queue_summary.last_granted(order.priority) > 0).then(|| Box::from(order.share));
        if share.is_some() {
            let queue = self.state.queue.get_or_insert_default();
            queue.count_share(order.priority, order.share, share_number);
        }
        if share.is_some() || order.priority > 0 {
            self.queue_summary.is_reordered = true;
        }
        (number, share, counter.max(number))
    }

    /// Counts the tickets that came before the first ticket of a share as tickets without a share. Returns the last number.
    fn count_earlier(&mut self, priority: u8, counter: u64) -> u64 {
        let queue = self.state.queue.get_or_insert_default();
        let mut number = counter.max(1);
        for ticket in queue.last_of(priority, COUNTED) {
            let most = ticket.units.iter().copied().max().unwrap_or(1);
            number = (number + step_of(most, 1)).min(LEVEL);
            queue.remove(&ticket.id);
            queue.count_share(priority, "", number);
            queue.keep(Ticket { number: without_tie(number), share: Some(Box::default()), ..ticket });
        }
        number
    }

    /// Returns the number that a new ticket gets, and the number after which its share goes on.
    fn next_number(&self, order: Order<'_>, charge: &Charge) -> (u64, u64) {
        let last_granted = self.queue_summary.last_granted(order.priority);
        if order.share.is_empty() && last_granted == 0 {
            let number = self.counter() + 1;
            return (number, number);
        }
        let begin = if last_granted == 0 { self.counter().max(1) } else { last_granted };
        let queue = self.state.queue.as_ref();
        let of_share = queue.map_or(0, |queue| queue.number_of_share(order.priority, order.share));
        let number = (begin.max(of_share) + step_of(charge.most(), order.weight.into())).min(LEVEL);
        // Of tickets with one number the first to come is the first.
        let first = without_tie(number);
        let lowest = score(first, order.priority);
        let tie = queue.and_then(|queue| queue.last_between(lowest, lowest + TIES.cast_signed()));
        (first + tie.map_or(0, |tie| (tie + 1 - lowest).cast_unsigned().min(TIES)), number)
    }

    /// Returns the last number. Fair queueing uses up many.
    fn counter(&self) -> u64 {
        let counter = self.state.queue.as_ref().map_or(0, |queue| queue.counter);
        if self.queue_summary.tickets == 0 && counter > LEVEL / 2 { 0 } else { counter }
    }

    /// Gives a ticket the limits and the cost of this call, which may differ from the call before.
    fn revised(&mut self, ticket: Ticket, charge: &Charge) -> Ticket {
        let loads: Vec<(&str, u64)> = self.loads(charge).collect();
        if ticket.loads().eq(loads.iter().copied()) {
            return ticket;
        }
        let total = self.state.queue.as_ref().map(|queue| &queue.total);
        let before = |tag| ticket.before(tag).or_else(|| total.map(|total| total.get(tag))).unwrap_or(0);
        self.queue_summary.loads.remove(ticket.loads());
        self.queue_summary.loads.add(loads.iter().copied());
        Ticket {
            units_before: loads.iter().map(|(tag, _)| before(tag)).collect(),
            units: loads.iter().map(|(_, units)| *units).collect(),
            tags: self.own.tags().clone(),
            ..ticket
        }
    }
}

/// Returns how far a call takes its share.
fn step_of(units: u64, weight: u64) -> u64 {
    (units.clamp(1, LEVEL / SCALE / 4) * SCALE + weight / 2) / weight
}

fn without_tie(number: u64) -> u64 {
    number - number % (TIES + 1)
}
