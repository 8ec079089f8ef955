//! `enter`: grants, queues or refuses a call with an id. Twin of `enter.lua`.

use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::engine::queue::{MAX_CHECKED_TICKETS, MAX_TICKETS, RECHECK, Ticket};
use crate::engine::reply::{LeaseAndTicket, Reply};
use crate::engine::state::Evaluation;
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

    fn answer(mut self, entry: Entry<'_>) -> Result<Reply> {
        let Entry { id, units, .. } = entry;
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
            let evaluation = self.evaluate(0, 0, 0, 0);
            return Ok(Reply {
                lease_and_ticket,
                ..Reply::new(Status::Granted, &Evaluation { wait: 0, ..evaluation }, self.now)
            });
        }
        let ticket = self.ticket_of(id);
        if let Err(error) = self.policy.check_fits(if entry.permit { "estimate" } else { "cost" }, units) {
            if let Some(ticket) = ticket {
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
        if units == 0 {
            self.state.skew = self.skew;
            let evaluation = self.evaluate(0, 0, 0, 0);
            return Ok(Reply::new(
                if evaluation.wait == 0 { Status::Granted } else { Status::Refused },
                &evaluation,
                self.now,
            ));
        }
        let evaluation = self.evaluate_in_queue(units, ticket.as_ref(), position);
        let is_full = self.queue_summary.tickets >= MAX_TICKETS as u64 || self.queue_summary.units + units > MAX_TIME.0;
        let waiting = entry.queue.filter(|waiting| {
            // A ticket keeps its position through a wait without a known end, such as a limit of 0.
            let is_closed = ticket.is_some() && evaluation.rate == MAX_TIME.0;
            let in_time = evaluation.rate <= waiting.max_wait && (ticket.is_some() || !is_full);
            waiting.max_wait > 0 && (in_time || is_closed)
        });
        Ok(match waiting {
            _ if evaluation.wait > 0 && waiting.is_none() => self.refuse(&evaluation, ticket),
            Some(waiting) if evaluation.wait > 0 => self.wait(entry, waiting, &evaluation, ticket),
            _ => self.grant(entry, &evaluation, ticket),
        })
    }

    /// Evaluates the call behind all tickets ahead of it.
    fn evaluate_in_queue(
        &mut self,
        units: u64,
        ticket: Option<&Ticket>,
        position: Option<QueuePosition>,
    ) -> Evaluation {
        let alone = self.evaluate(0, 0, units, units);
        if self.queue_summary.tickets == 0 {
            return alone;
        }
        let mut ahead = self.ahead(ticket, position);
        let (mut units_ahead, mut first_expiry) = (0, MAX_TIME.0);
        if alone.wait == 0 {
            if ahead > 0 {
                // The tickets ahead may need a wake-up: the limit was raised, or a lease has ended without a release.
                self.advance();
                ahead = self.ahead(ticket, position);
            }
            (ahead, units_ahead, first_expiry) = self.load_ahead(ahead);
            if ahead > MAX_CHECKED_TICKETS {
                units_ahead = units_ahead.max(self.units_of(ahead, ticket, position));
            }
        } else {
            units_ahead = units_ahead.max(self.units_of(ahead, ticket, position));
        }
        if ahead == 0 {
            return alone;
        }
        let evaluation = self.evaluate(ahead, units_ahead, units, units);
        if evaluation.wait == MAX_TIME.0 {
            return evaluation;
        }
        // A ticket ahead that has lapsed but could not be removed yet blocks this call only.
        Evaluation { wait: evaluation.wait.min(first_expiry.saturating_sub(self.now).max(1)), ..evaluation }
    }

    /// Returns the units of the tickets ahead, as far as they are known without examining each ticket.
    fn units_of(&self, ahead: u64, ticket: Option<&Ticket>, position: Option<QueuePosition>) -> u64 {
        match ticket {
            _ if self.queue_summary.units == self.queue_summary.tickets => ahead,
            None if matches!(position, Some(QueuePosition::Number(_))) => ahead,
            None => self.queue_summary.units,
            Some(ticket) => ticket
                .units_before
                .saturating_sub(self.head_start(0))
                .min(self.queue_summary.units.saturating_sub(ticket.units)),
        }
    }

    /// Returns the units that were queued before the head of the queue.
    fn head_start(&self, otherwise: u64) -> u64 {
        self.state.queue.as_ref().and_then(|queue| queue.at(0)).map_or(otherwise, |head| head.units_before)
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
        let mut ticket = ticket.unwrap_or_else(|| self.join(entry.id, entry.units, waiting.position));
        ticket.next_check = self.now + check_after;
        ticket.expires_at = ticket.next_check + waiting.claim_timeout;
        ticket.claim_timeout = waiting.claim_timeout;
        ticket.tags = self.own.tags().clone();
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

    fn join(&mut self, id: &str, units: u64, position: QueuePosition) -> Ticket {
        let head_start = self.head_start(u64::MAX);
        let queue = self.state.queue.get_or_insert_default();
        if self.queue_summary.tickets == 0 {
            queue.total = 0;
        }
        let (number, units_before) = match position {
            QueuePosition::Number(number) if number <= queue.counter => (number, head_start.min(queue.total)),
            _ => (queue.counter + 1, queue.total),
        };
        queue.counter = queue.counter.max(number);
        queue.total = (queue.total + units).min(MAX_TIME.0);
        self.queue_summary.tickets += 1;
        self.queue_summary.units += units;
        let (queued_at, channel) = (self.now, String::new());
        Ticket {
            id: id.to_owned(),
            number,
            units_before,
            units,
            queued_at,
            next_check: 0,
            expires_at: 0,
            claim_timeout: 0,
            channel,
            tags: self.own.tags().clone(),
        }
    }

    fn grant(mut self, entry: Entry<'_>, evaluation: &Evaluation, ticket: Option<Ticket>) -> Reply {
        let (now, mut lease_and_ticket) = (self.now, LeaseAndTicket::default());
        if let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule)
            && let Some(leases) = self.leases()
        {
            let fencing_token = now.max(leases.fencing_token + 1);
            leases.fencing_token = fencing_token;
            let lease = Lease { end: now + concurrency.timeout, granted_at: now, fencing_token, charged: entry.units };
            leases.set(entry.id, lease);
            (lease_and_ticket.lease, lease_and_ticket.fencing_token) = (concurrency.timeout, fencing_token);
            let reclaimed = leases.reclaim(now);
            self.state.statistics.reclaimed += reclaimed;
        }
        if entry.permit {
            self.state.open_permit(self.own, &Permit { id: entry.id, granted_at: now, charged: entry.units }, now);
        }
        self.state.take(&self.policy, evaluation, now, self.skew, entry.units);
        if let Some(ticket) = ticket {
            self.remove_ticket(&ticket);
            lease_and_ticket.number = ticket.number;
            self.state.statistics.waited += 1;
            self.state.statistics.wait_time.0 += now - ticket.queued_at;
        }
        self.advance();
        self.state.queue_summary = self.queue_summary.written(now);
        Reply { lease_and_ticket, ..Reply::new(Status::Granted, evaluation, now) }
    }
}
