//! `enter`: grants, queues or refuses a call with an id. Twin of `enter.lua`.

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::engine::queue::{LEVEL, MAX_CHECKED_TICKETS, MAX_POLL, MAX_TICKETS, MIN_POLL, RECHECK, Ticket};
use crate::engine::reply::{LeaseAndTicket, Reply};
use crate::engine::state::{Evaluation, Units};
use crate::engine::transaction::join::Place;
use crate::engine::transaction::{Entry, Transaction, Waiting};
use crate::limits::concurrency::Lease;
use crate::model::decision::Status;
use crate::model::limit::Rule;
use crate::model::mode::Mode;
use crate::model::permit::Permit;
use crate::model::request::QueuePosition;
use crate::model::share::Order;

/// The maximum number of turns that are counted; all later ones are farther away than [`MAX_POLL`].
const MAX_TURNS: u64 = 1_000;

/// When a job calls again at the latest that a host calls, in microseconds.
const CALLED_RECHECK: u64 = 60_000_000;

/// What is ahead of a call.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    /// The number that the call would get; zero when the queue is in the order of arrival.
    number: u64,
    units_ahead: Units,
}

impl Transaction<'_> {
    pub(crate) fn enter(self, entry: Entry<'_>) -> Result<Reply> {
        let policy = self.policy.clone();
        let reply = self.answer(entry)?;
        Ok(Reply { amount: Some(policy.capacity(reply.index)), ..reply })
    }

    // Two callers would otherwise get a copy each, which a browser would have to load.
    #[inline(never)]
    fn answer(mut self, entry: Entry<'_>) -> Result<Reply> {
        // A call that does not queue is behind all tickets.
        let order = entry.queue.map_or_else(Order::default, |_| entry.order);
        let entry = Entry { order, ..entry };
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
            // An estimate comes again, lowered, with its ticket.
            if let Some(ticket) = ticket.filter(|_| !self.dry_run && entry.permit.is_none()) {
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
        if !charge.is_call() {
            self.state.skew = self.skew;
            let (evaluation, would_refuse) = self.state.in_mode(self.own, self.now, self.evaluate(None, &charge));
            return Ok(self.unless_queued(&evaluation, would_refuse));
        }
        let ticket = match ticket {
            Some(ticket) if entry.queue.is_some() => Some(self.risen(ticket, order, &charge)),
            ticket => ticket,
        };
        let (evaluation, view) = self.evaluate_in_queue(&charge, order, ticket.as_ref(), position);
        let (evaluation, would_refuse) = self.state.in_mode(self.own, self.now, evaluation);
        let is_overfull =
            self.loads(&charge).any(|(tag, units)| self.queue_summary.loads.get(tag) + units > MAX_TIME.0);
        let is_full = self.queue_summary.tickets >= MAX_TICKETS as u64 || view.number >= LEVEL || is_overfull;
        // In shadow nobody waits.
        let is_shadow = self.state.mode(self.own, self.now) == Mode::Shadow;
        let waiting = entry.queue.filter(|_| !is_shadow).filter(|waiting| {
            // A ticket keeps its position through a wait without a known end, such as a limit of 0.
            let is_closed = ticket.is_some() && evaluation.rate == MAX_TIME.0 && !evaluation.is_too_large;
            let in_time =
                evaluation.rate <= waiting.max_wait && !evaluation.is_too_large && (ticket.is_some() || !is_full);
            waiting.max_wait > 0 && (in_time || is_closed)
        });
        if self.dry_run {
            return Ok(self.foresee(&evaluation, waiting.is_some(), would_refuse));
        }
        Ok(match waiting {
            _ if evaluation.wait > 0 && waiting.is_none() => self.refuse(&charge, &evaluation, ticket, would_refuse),
            Some(waiting) if evaluation.wait > 0 => self.wait(entry, waiting, &evaluation, &view.units_ahead, ticket),
            _ => self.grant(entry, &evaluation, ticket),
        })
    }

    /// Returns what the call would get. Tickets that have lapsed may have left the queue.
    fn foresee(mut self, evaluation: &Evaluation, queues: bool, would_refuse: bool) -> Reply {
        if self.queue_changed {
            self.write_queue_summary();
        }
        if evaluation.wait > 0 && queues {
            return Reply::new(Status::Queued, evaluation, self.now);
        }
        self.unless_queued(evaluation, would_refuse)
    }

    /// Returns the grant or the refusal of a call that does not queue.
    fn unless_queued(&self, evaluation: &Evaluation, would_refuse: bool) -> Reply {
        let status = if evaluation.wait == 0 || would_refuse { Status::Granted } else { Status::Refused };
        Reply { would_refuse, ..Reply::new(status, evaluation, self.now) }
    }

    /// Evaluates the call behind all tickets ahead of it.
    fn evaluate_in_queue(
        &mut self,
        charge: &Charge,
        order: Order<'_>,
        ticket: Option<&Ticket>,
        position: Option<QueuePosition>,
    ) -> (Evaluation, View) {
        let alone = self.evaluate(None, charge);
        if self.queue_summary.tickets == 0 {
            return (alone, View::default());
        }
        let Place { mut ahead, mut number } = self.place(ticket, position, order, charge);
        let (mut units_ahead, mut first_expiry, mut unread) = (Units::default(), MAX_TIME.0, 0);
        if alone.wait == 0 {
            if ahead > 0 {
                // The tickets ahead may need a wake-up: the limit was raised, or a lease has ended without a release.
                self.advance();
                Place { ahead, number } = self.place(ticket, position, order, charge);
            }
            (ahead, units_ahead, first_expiry, unread) = self.load_ahead(ahead);
        }
        let mut amounts = self.policy.limits().iter().zip(self.own.limits());
        let is_lowered = amounts.any(|(limit, own)| !limit.counts_starts() && limit.amount() < own.amount());
        if alone.wait > 0 && is_lowered {
            // Tickets above a lowered limit do not count.
            (ahead, units_ahead, ..) = self.load_ahead(ahead);
        }
        if alone.wait > 0 && !is_lowered || ahead > MAX_CHECKED_TICKETS {
            let known = self.units_ahead(ahead, ticket, position);
            for (units, known) in units_ahead.iter_mut().zip(known) {
                *units = known.max(*units);
            }
        }
        let view = View { number, units_ahead };
        if ahead == 0 {
            return (alone, view);
        }
        let evaluation = self.evaluate(Some(&view.units_ahead), charge);
        if evaluation.wait == MAX_TIME.0 {
            return (evaluation, view);
        }
        // A ticket ahead that has lapsed but could not be removed yet blocks this call only. When others pass by the tickets that
        // were read, the call still waits for those that were not; if it came back earlier, a long queue would ask without end.
        let until_passed = match first_expiry.saturating_sub(self.now) {
            0 => 1,
            after if unread > 0 => after.max(self.evaluate(Some(&Units::default().map(|_| unread)), charge).wait),
            after => after,
        };
        let wait = evaluation.wait.min(until_passed);
        (Evaluation { wait, ..evaluation }, view)
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
                // The mean of all.
                _ if self.is_reordered() => (*units / self.queue_summary.tickets * ahead).min(others),
                (None, _) => others,
                (Some(before), _) => {
                    let head = head.and_then(|head| head.before(tag)).unwrap_or(0);
                    before.saturating_sub(head).min(others)
                }
            };
        }
        units
    }

    fn refuse(mut self, charge: &Charge, evaluation: &Evaluation, ticket: Option<Ticket>, would_refuse: bool) -> Reply {
        if let Some(ticket) = ticket {
            self.remove_ticket(&ticket);
            self.advance();
        }
        let counts = self.state.count_refusal(self.own, self.now, charge, evaluation, would_refuse);
        if self.queue_changed || counts {
            self.write_queue_summary();
        } else {
            self.state.skew = self.skew;
        }
        self.unless_queued(evaluation, would_refuse)
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
        units_ahead: &Units,
        ticket: Option<Ticket>,
    ) -> Reply {
        let wait = evaluation.wait;
        // A ticket rises only when its call retries.
        let polls = waiting.channel.is_empty() || self.own.aging().is_some();
        let recheck = if polls { MAX_POLL.0 } else { RECHECK.0 };
        let mut check_after = if wait == MAX_TIME.0 { recheck } else { wait };
        if waiting.channel.is_empty()
            && self.queue_summary.asked_until <= self.now
            && let Some(known_until) = self.hosts().last().map(|host| host.known_until)
        {
            self.queue_summary.asked_until = known_until;
        }
        if !waiting.channel.is_empty() {
            check_after = check_after.min(recheck);
        } else if wait > evaluation.rate {
            // A host calls the jobs whose turn has come, so that they need not ask.
            let is_called =
                self.queue_summary.asked_until > self.now && waiting.claim_timeout + waiting.keep >= CALLED_RECHECK;
            let until_turn = if is_called { CALLED_RECHECK } else { self.until_turn(units_ahead) };
            check_after = evaluation.rate.max(wait.min(until_turn));
        }
        let mut ticket = self.join_queue(&entry, ticket);
        ticket.next_check = self.now + check_after;
        ticket.expires_at = ticket.next_check + waiting.claim_timeout + waiting.keep;
        ticket.claim_timeout = waiting.claim_timeout;
        waiting.channel.clone_into(&mut ticket.channel);
        let (number, position) = (ticket.number, self.rank(&ticket));
        // Others may still come before it where arrival does not decide.
        let is_known = self.policy.concurrency().is_none() && wait < MAX_TIME.0 && !self.is_reordered();
        let ready = is_known.then_some(wait);
        self.keep(ticket);
        if waiting.channel.is_empty() && position == 0 && self.queue_summary.asked_until > self.now {
            self.wake_host((self.now + wait).min(MAX_TIME.0));
        }
        self.write_queue_summary();
        Reply {
            retry_after: check_after,
            lease_and_ticket: LeaseAndTicket { number, position, ready, ..LeaseAndTicket::default() },
            ..Reply::new(Status::Queued, evaluation, self.now)
        }
    }

    /// Returns the time until a lease is free for a call that gets no wake-up: by the mean time that leases are held, and a
    /// quarter more, because a call that comes too early has to come again. Until one is released it is how long the first is
    /// held.
    fn until_turn(&mut self, units_ahead: &Units) -> u64 {
        let limits = self.policy.limits().iter().enumerate();
        let mut concurrency = limits.filter_map(|(i, limit)| match limit.rule {
            Rule::Concurrency(concurrency) => Some((i, concurrency.limit)),
            _ => None,
        });
        let Some((i, limit)) = concurrency.next_back() else { return MAX_POLL.0 };
        let (now, mean) = (self.now, self.queue_summary.mean_held);
        let (live, age) = self.leases().map_or((0, 0), |leases| (leases.live(now), leases.age_of_first(now)));
        let turns = (units_ahead[i] + 1 + live).saturating_sub(limit).div_ceil(limit.max(1)).clamp(1, MAX_TURNS);
        let after = if mean == 0 && live == 0 {
            MAX_POLL.0
        } else if mean == 0 {
            turns * age.clamp(MIN_POLL.0, MAX_POLL.0)
        } else {
            (turns * mean - age.min(mean)).max(age.saturating_sub(mean) / 2)
        };
        (after + after / 4).clamp(MIN_POLL.0, MAX_POLL.0)
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
            if reclaimed > 0 {
                self.state.counters.others().reclaimed += reclaimed;
            }
        }
        if let Some(time) = entry.permit {
            let permit = Permit { id: entry.id, granted_at: now, charged };
            self.state.open_permit(self.own, &permit, now + time.0, max_removals);
        }
        self.state.take(&self.policy, evaluation, now, self.skew, &entry.charge);
        if self.queue_summary.tickets > 0 {
            self.count_turn(ticket.as_ref(), entry.order, &entry.charge);
        }
        if let Some(ticket) = ticket {
            self.remove_ticket(&ticket);
            lease_and_ticket.number = ticket.number;
            self.state.counters.wait(now, now - ticket.queued_at);
        }
        self.advance();
        self.keep_queue_summary();
        Reply { lease_and_ticket, ..Reply::new(Status::Granted, evaluation, now) }
    }
}
