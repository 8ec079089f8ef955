//! `enter`: grants, queues or refuses a call with an id. Twin of `enter.lua`.

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::engine::loads::Loads;
use crate::engine::queue::{MAX_CHECKED_TICKETS, MAX_TICKETS, RECHECK, Ticket};
use crate::engine::reply::{LeaseAndTicket, Reply};
use crate::engine::state::{Evaluation, Units};
use crate::engine::transaction::{Entry, Transaction, Waiting};
use crate::limits::concurrency::Lease;
use crate::model::decision::Status;
use crate::model::limit::Rule;
use crate::model::permit::Permit;
use crate::model::request::QueuePosition;

impl Transaction<'_> {
    pub(crate) fn enter(self, entry: Entry<'_>) -> Result<Reply> {
        let policy = self.policy.clone();
        let reply = self.answer(entry)?;
        Ok(Reply { amount: Some(policy.capacity(reply.index)), ..reply })
    }

    // Two callers would otherwise get a copy each, which a browser would have to load.
    #[inline(never)]
    fn answer(mut self, entry: Entry<'_>) -> Result<Reply> {
        let Entry { id, charge, .. } = entry;
        // A call whose id has a live lease takes nothing.
        if let Some(held) = self.lease_of(id, None).filter(|lease| lease.end > self.now) {
            let Lease { end, granted_at, fencing_token, charged } = held;
            let lease_and_ticket = LeaseAndTicket {
                lease: end - self.now,
                fencing_token,
                granted_at,
                charged,
                ..LeaseAndTicket::default()
            };
            let evaluation = self.evaluate(None, &Charge::All(0));
            return Ok(Reply {
                lease_and_ticket,
                ..Reply::new(Status::Granted, &Evaluation { wait: 0, ..evaluation }, self.now)
            });
        }
        let ticket = self.ticket_of(id);
        if let Err(error) =
            self.policy.check_fits(self.own, if entry.permit.is_some() { "estimate" } else { "cost" }, &charge)
        {
            if let Some(ticket) = ticket.filter(|_| !self.dry_run) {
                self.remove_ticket(&ticket);
                self.advance();
                self.write_queue_summary();
            }
            return Err(error);
        }
        let position = entry.queue.map(|waiting| waiting.position);
        if ticket.is_none() && position == Some(QueuePosition::Existing) {
            return Ok(Reply::new(Status::NoTicket, &Evaluation::default(), self.now));
        }
        if charge.most() == 0 {
            self.state.skew = self.skew;
            let evaluation = self.evaluate(None, &charge);
            return Ok(Reply::new(
                if evaluation.wait == 0 { Status::Granted } else { Status::Refused },
                &evaluation,
                self.now,
            ));
        }
        let evaluation = self.evaluate_in_queue(&charge, ticket.as_ref(), position);
        let is_overfull =
            self.loads(&charge).any(|(tag, units)| self.queue_summary.loads.get(tag) + units > MAX_TIME.0);
        let is_full = self.queue_summary.tickets >= MAX_TICKETS as u64 || is_overfull;
        let waiting = entry.queue.filter(|waiting| {
            // A ticket keeps its position through a wait without a known end, such as a limit of 0.
            let is_closed = ticket.is_some() && evaluation.rate == MAX_TIME.0 && !evaluation.is_too_large;
            let in_time =
                evaluation.rate <= waiting.max_wait && !evaluation.is_too_large && (ticket.is_some() || !is_full);
            waiting.max_wait > 0 && (in_time || is_closed)
        });
        if self.dry_run {
            return Ok(self.foresee(&evaluation, waiting.is_some()));
        }
        Ok(match waiting {
            _ if evaluation.wait > 0 && waiting.is_none() => self.refuse(&evaluation, ticket),
            Some(waiting) if evaluation.wait > 0 => self.wait(entry, waiting, &evaluation, ticket),
            _ => self.grant(entry, &evaluation, ticket),
        })
    }

    /// Returns what the call would get. Tickets that have lapsed may have left the queue.
    fn foresee(mut self, evaluation: &Evaluation, queues: bool) -> Reply {
        if self.queue_changed {
            self.write_queue_summary();
        }
        let status = match evaluation.wait {
            0 => Status::Granted,
            _ if queues => Status::Queued,
            _ => Status::Refused,
        };
        Reply::new(status, evaluation, self.now)
    }

    /// Evaluates the call behind all tickets ahead of it.
    fn evaluate_in_queue(
        &mut self,
        charge: &Charge,
        ticket: Option<&Ticket>,
        position: Option<QueuePosition>,
    ) -> Evaluation {
        let alone = self.evaluate(None, charge);
        if self.queue_summary.tickets == 0 {
            return alone;
        }
        let mut ahead = self.ahead(ticket, position);
        let (mut units_ahead, mut first_expiry) = (Units::default(), MAX_TIME.0);
        if alone.wait == 0 {
            if ahead > 0 {
                // The tickets ahead may need a wake-up: the limit was raised, or a lease has ended without a release.
                self.advance();
                ahead = self.ahead(ticket, position);
            }
            (ahead, units_ahead, first_expiry) = self.load_ahead(ahead);
        }
        let mut amounts = self.policy.limits().iter().zip(self.own.limits());
        let is_lowered = amounts.any(|(limit, own)| !limit.counts_starts() && limit.amount() < own.amount());
        if alone.wait > 0 && is_lowered {
            // Tickets above a lowered limit do not count.
            (ahead, units_ahead, _) = self.load_ahead(ahead);
        }
        if alone.wait > 0 && !is_lowered || ahead > MAX_CHECKED_TICKETS {
            let known = self.units_ahead(ahead, ticket, position);
            for (units, known) in units_ahead.iter_mut().zip(known) {
                *units = known.max(*units);
            }
        }
        if ahead == 0 {
            return alone;
        }
        let evaluation = self.evaluate(Some(&units_ahead), charge);
        if evaluation.wait == MAX_TIME.0 {
            return evaluation;
        }
        // A ticket ahead that has lapsed but could not be removed yet blocks this call only.
        Evaluation { wait: evaluation.wait.min(first_expiry.saturating_sub(self.now).max(1)), ..evaluation }
    }

    /// Returns the units of the tickets ahead of each limit, as far as they are known without examining each ticket.
    fn units_ahead(&self, ahead: u64, ticket: Option<&Ticket>, position: Option<QueuePosition>) -> Units {
        let mut units = self.queue_summary.loads_of(&self.policy);
        let head = self.state.queue.as_ref().and_then(|queue| queue.at(0));
        for (i, (units, limit)) in units.iter_mut().zip(self.policy.limits()).enumerate() {
            let tag = self.own.record_tag(i);
            let own =
                ticket.and_then(|ticket| ticket.loads().find(|(other, _)| *other == tag)).map_or(0, |(_, own)| own);
            let others = units.saturating_sub(own);
            let before = ticket.and_then(|ticket| ticket.before(tag));
            *units = match (before, position) {
                _ if limit.counts_starts() || *units == self.queue_summary.tickets => ahead.min(others),
                (None, Some(QueuePosition::Number(_))) => ahead.min(others),
                (None, _) => others,
                (Some(before), _) => {
                    let head = head.and_then(|head| head.before(tag)).unwrap_or(0);
                    before.saturating_sub(head).min(others)
                }
            };
        }
        units
    }

    /// Returns the number of tickets ahead. A call that returns under its old number has the position of that number.
    fn ahead(&self, ticket: Option<&Ticket>, position: Option<QueuePosition>) -> u64 {
        match (ticket, position) {
            (Some(ticket), _) => self.rank(ticket),
            (None, Some(QueuePosition::Number(number))) => {
                self.state.queue.as_ref().map_or(0, |queue| queue.before(number))
            }
            _ => self.queue_summary.tickets,
        }
    }

    fn refuse(mut self, evaluation: &Evaluation, ticket: Option<Ticket>) -> Reply {
        if let Some(ticket) = ticket {
            self.remove_ticket(&ticket);
            self.advance();
        }
        self.state.statistics.refused += 1;
        if self.queue_changed {
            self.write_queue_summary();
        } else {
            self.state.skew = self.skew;
        }
        Reply::new(Status::Refused, evaluation, self.now)
    }

    /// Adds a ticket to the queue, or updates it.
    ///
    /// A wait that a release can shorten is rechecked in case the wake-up is lost. A call with a channel retries at
    /// least every [`RECHECK`], which shows that its waiter is alive.
    fn wait(
        mut self,
        entry: Entry<'_>,
        waiting: Waiting<'_>,
        evaluation: &Evaluation,
        ticket: Option<Ticket>,
    ) -> Reply {
        let wait = evaluation.wait;
        let mut check_after = match wait {
            _ if wait > evaluation.rate => evaluation.rate.max(wait.min(RECHECK.0)),
            _ if wait == MAX_TIME.0 => RECHECK.0,
            _ => wait,
        };
        if !waiting.channel.is_empty() {
            check_after = check_after.min(RECHECK.0);
        }
        let mut ticket = match ticket {
            Some(ticket) => self.revised(ticket, &entry.charge),
            None => self.join(entry.id, &entry.charge, waiting.position),
        };
        ticket.next_check = self.now + check_after;
        ticket.expires_at = ticket.next_check + waiting.claim_timeout;
        ticket.claim_timeout = waiting.claim_timeout;
        waiting.channel.clone_into(&mut ticket.channel);
        let (number, position) = (ticket.number, self.rank(&ticket));
        self.keep(ticket);
        self.write_queue_summary();
        let ready = (self.policy.concurrency().is_none() && wait < MAX_TIME.0).then_some(wait);
        Reply {
            retry_after: check_after,
            lease_and_ticket: LeaseAndTicket { number, position, ready, ..LeaseAndTicket::default() },
            ..Reply::new(Status::Queued, evaluation, self.now)
        }
    }

    fn join(&mut self, id: &str, charge: &Charge, position: QueuePosition) -> Ticket {
        let loads: Vec<(&str, u64)> = self.loads(charge).collect();
        let queue = self.state.queue.get_or_insert_default();
        if self.queue_summary.tickets == 0 {
            queue.total = Loads::default();
        }
        let head = queue.at(0);
        let returns = matches!(position, QueuePosition::Number(number) if number <= queue.counter);
        let before = |tag| {
            let total = queue.total.get(tag);
            head.filter(|_| returns).and_then(|head| head.before(tag)).map_or(total, |head| head.min(total))
        };
        let units_before = loads.iter().map(|(tag, _)| before(tag)).collect();
        let number = match position {
            QueuePosition::Number(number) if returns => number,
            _ => queue.counter + 1,
        };
        queue.counter = queue.counter.max(number);
        queue.total.add(loads.iter().copied());
        self.queue_summary.tickets += 1;
        self.queue_summary.loads.add(loads.iter().copied());
        Ticket {
            id: id.to_owned(),
            number,
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

    /// Gives a ticket the limits and the cost of this call, which may be others than those of the call before.
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

    fn grant(mut self, entry: Entry<'_>, evaluation: &Evaluation, ticket: Option<Ticket>) -> Reply {
        let (now, max_removals, mut lease_and_ticket) = (self.now, self.max_removals, LeaseAndTicket::default());
        let charged = self.own.in_tag_order(&entry.charge);
        if let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule)
            && let Some(leases) = self.leases()
        {
            let fencing_token = now.max(leases.fencing_token + 1);
            leases.fencing_token = fencing_token;
            let lease = Lease { end: now + concurrency.timeout, granted_at: now, fencing_token, charged };
            leases.set(entry.id, lease);
            (lease_and_ticket.lease, lease_and_ticket.fencing_token) = (concurrency.timeout, fencing_token);
            let reclaimed = leases.reclaim(now, max_removals);
            self.state.statistics.reclaimed += reclaimed;
        }
        if let Some(time) = entry.permit {
            let permit = Permit { id: entry.id, granted_at: now, charged };
            self.state.open_permit(self.own, &permit, now + time.0, max_removals);
        }
        self.state.take(&self.policy, evaluation, now, self.skew, &entry.charge);
        if let Some(ticket) = ticket {
            self.remove_ticket(&ticket);
            lease_and_ticket.number = ticket.number;
            self.state.statistics.waited += 1;
            self.state.statistics.wait_time.0 += now - ticket.queued_at;
        }
        self.advance();
        self.keep_queue_summary();
        Reply { lease_and_ticket, ..Reply::new(Status::Granted, evaluation, now) }
    }
}
