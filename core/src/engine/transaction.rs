//! `Transaction`: one call that examines the queue of a limiter and changes its state.

mod acquire;
mod advance;
mod enter;
mod extend;
mod held_up;
pub(crate) mod hosts;
mod inspect;
mod join;
mod permit;
mod queue;
mod ready;
mod refund;
mod refusal;
mod upstream;

use std::borrow::Cow;

use crate::base::bounds::{MAX_EXPIRED, MAX_REMOVALS};
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::engine::queue::{QueueSummary, Ticket};
use crate::engine::state::{Change, Demand, Evaluation, State, Units};
use crate::limits::concurrency::{Lease, Leases};
use crate::model::policy::{MAX_LIMITS, Policy};
use crate::model::request::{QueuePosition, Wait};
use crate::model::share::Order;

/// A call with an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a str,
    pub(crate) charge: Charge,
    /// How long the charge can be corrected; `None` when it cannot.
    pub(crate) permit: Option<Micros>,
    pub(crate) order: Order<'a>,
    pub(crate) queue: Option<Waiting<'a>>,
    /// Whether the reply has the numbers of each limit.
    pub(crate) describes: bool,
}

impl<'a> Entry<'a> {
    /// Creates a call that does not queue.
    pub(crate) fn without_queue(id: &'a str, charge: Charge, permit: Option<Micros>) -> Self {
        Self { id, charge, permit, order: Order::default(), queue: None, describes: false }
    }

    pub(crate) fn describing(self, describes: bool) -> Self {
        Self { describes, ..self }
    }

    /// Returns whether a job asks in its worker, which must not share the lease of another run of the job.
    pub(crate) fn is_run(&self) -> bool {
        self.queue.is_some_and(|queue| queue.is_run)
    }
}

/// How a call with an id queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'a> {
    pub(crate) max_wait: u64,
    pub(crate) claim_timeout: u64,
    /// How long the ticket stays after that, while others pass it by.
    pub(crate) keep: u64,
    /// Empty when the call retries without wake-ups.
    pub(crate) channel: &'a str,
    pub(crate) position: QueuePosition,
    /// Whether a job asks in its worker.
    pub(crate) is_run: bool,
}

impl<'a> From<Wait<'a>> for Waiting<'a> {
    fn from(wait: Wait<'a>) -> Self {
        let Wait { max_wait, claim_timeout, keep, channel, position, is_run } = wait;
        let (max_wait, claim_timeout, keep) = (max_wait.0, claim_timeout.0, keep.0);
        Self { max_wait, claim_timeout, keep, channel, position, is_run }
    }
}

/// The units that a ticket takes of the limits of a call, and which of these it has.
pub(crate) struct TicketUnits {
    pub(crate) charge: Charge,
    pub(crate) has: [bool; MAX_LIMITS],
}

impl TicketUnits {
    /// Returns whether the ticket has a limit of the call.
    pub(crate) fn is_shared(&self) -> bool {
        self.has.contains(&true)
    }
}

/// Sends wake-ups to waiters.
pub(crate) trait Publish {
    /// Sends a wake-up and returns whether a listener of the channel received it.
    fn publish(&self, channel: &str, delay: u64, id: &str) -> bool;
}

/// One call that examines the queue.
pub(crate) struct Transaction<'a> {
    pub(crate) state: &'a mut State,
    /// The policy of the caller; `policy` is the same with overrides and learned limits applied.
    pub(crate) own: &'a Policy,
    pub(crate) policy: Cow<'a, Policy>,
    pub(crate) channels: &'a dyn Publish,
    pub(crate) now: u64,
    pub(crate) skew: u64,
    /// The id of the call, empty for none.
    pub(crate) id: &'a str,
    pub(crate) queue_summary: QueueSummary,
    /// Whether the queue has changed, so that its summary must be written.
    pub(crate) queue_changed: bool,
    /// The number of tickets that left the queue in this call.
    pub(crate) removed: usize,
    /// Whether this is an admin command.
    pub(crate) is_admin: bool,
    /// The maximum number of ended leases and permits that this removes.
    pub(crate) max_removals: usize,
    /// The number of removed tickets after which this removes no more lapsed ones; later calls remove the rest.
    pub(crate) max_expired: usize,
    /// Whether this only decides and takes nothing: several limiters must pass a call before one takes.
    pub(crate) dry_run: bool,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(
        state: &'a mut State,
        own: &'a Policy,
        channels: &'a dyn Publish,
        server: u64,
        id: &'a str,
    ) -> Result<Self> {
        state.adopt(own, server)?;
        let (now, skew) = state.clock(server);
        let policy = state.effective_policy(own, now);
        let tickets = state.queue.as_ref().map_or(0, |queue| queue.len());
        let mut queue_summary = if tickets == 0 { state.queue_summary.emptied() } else { state.queue_summary.clone() };
        queue_summary.tickets = tickets;
        Ok(Self {
            state,
            own,
            policy,
            channels,
            now,
            skew,
            id,
            queue_summary,
            queue_changed: false,
            removed: 0,
            is_admin: false,
            max_removals: MAX_REMOVALS,
            max_expired: MAX_EXPIRED,
            dry_run: false,
        })
    }

    /// Returns the part of a call to several limiters: each decides at most twice, and all remove at most as many ended entries
    /// as one alone, and a quarter as many lapsed tickets, since each also reads its queue.
    pub(crate) fn of_several(self, limiters: usize) -> Self {
        let limiters = limiters.max(1);
        Self { max_removals: MAX_REMOVALS / limiters, max_expired: MAX_EXPIRED / 8 / limiters, ..self }
    }

    /// Evaluates a charge of this call behind the units of the tickets ahead.
    pub(crate) fn evaluate(&self, ahead: Option<&Units>, charge: &Charge) -> Evaluation {
        let ask = Demand { ahead, cost: Some(charge), change: Change::Cost, ..Demand::default() };
        self.state.decide(&self.policy, self.now, ask)
    }

    /// Evaluates a ticket over those limits of this call that the ticket's call has too.
    pub(crate) fn evaluate_ticket(&self, ahead: &Units, units: &TicketUnits) -> Evaluation {
        let TicketUnits { charge, has } = units;
        let ask = Demand { ahead: Some(ahead), cost: Some(charge), has: Some(has), ..Demand::default() };
        self.state.decide(&self.policy, self.now, ask)
    }

    /// Returns the units that a ticket takes of the limits of this call; one that others pass by has none of them.
    pub(crate) fn units_of(&self, ticket: &Ticket) -> TicketUnits {
        let (mut units, mut has) = (Units::default(), [false; MAX_LIMITS]);
        for (tag, of_tag) in ticket.loads().filter(|_| !ticket.is_suspended() && !self.is_passed(ticket)) {
            if let Some(i) = (0..self.own.limits().len()).find(|i| self.own.record_tag(*i) == tag) {
                (units[i], has[i]) = (of_tag, true);
            }
        }
        TicketUnits { charge: Charge::each(units), has }
    }

    /// Returns each tag of this call with the units that a ticket of it takes.
    pub(crate) fn loads(&self, charge: &Charge) -> impl Iterator<Item = (&'a str, u64)> + use<'a> {
        let (own, charge) = (self.own, *charge);
        own.tag_order().iter().map(move |&i| {
            let units = charge.of(i);
            (own.record_tag(i), if own.limits()[i].counts_starts() { units.min(1) } else { units })
        })
    }

    /// Returns the leases, if the call's policy has a concurrency limit.
    pub(crate) fn leases(&mut self) -> Option<&mut Leases> {
        self.own.concurrency()?;
        self.state.leases()
    }

    /// Writes the summary of the queue; the charged units stay unchanged.
    pub(crate) fn write_queue_summary(&mut self) {
        if self.state.last == 0 {
            let evaluation = self.evaluate(None, &Charge::All(0));
            self.state.settle(&self.policy, &evaluation.levels, self.now, self.skew);
        }
        self.state.skew = self.skew;
        self.keep_queue_summary();
    }

    /// Writes the summary of the queue with a state that was written before.
    pub(crate) fn keep_queue_summary(&mut self) {
        self.queue_summary.write(self.now);
        self.state.queue_summary = std::mem::take(&mut self.queue_summary);
    }

    fn lease_of(&mut self, id: &str, granted_at: Option<u64>) -> Option<Lease> {
        self.leases()?.get(id, granted_at)
    }

    fn is_reclaimed(&mut self, id: &str, lease: &Lease) -> bool {
        self.leases().is_some_and(|leases| leases.is_reclaimed(id, lease))
    }
}
