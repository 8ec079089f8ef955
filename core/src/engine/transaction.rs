//! `Transaction`: one call that examines the queue of a limiter and changes its state.

mod acquire;
mod enter;
mod permit;
mod queue;
mod upstream;

use std::borrow::Cow;

use crate::base::error::Result;
use crate::engine::queue::{QueueSummary, Ticket};
use crate::engine::state::{Demand, Evaluation, State, has_tag};
use crate::limits::concurrency::{Lease, Leases};
use crate::model::policy::Policy;
use crate::model::request::QueuePosition;

/// A call with an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a str,
    pub(crate) units: u64,
    /// Whether the charge can be corrected later.
    pub(crate) permit: bool,
    pub(crate) queue: Option<Waiting<'a>>,
}

/// How a call with an id queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'a> {
    pub(crate) max_wait: u64,
    pub(crate) claim_timeout: u64,
    /// Empty when the call retries without wake-ups.
    pub(crate) channel: &'a str,
    pub(crate) position: QueuePosition,
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
        // As in Redis, where the summary can be lost and the tickets remain: a ticket has at least one unit.
        let units = if tickets == 0 { 0 } else { state.queue_summary.units.max(tickets) };
        let queue_summary = QueueSummary { tickets, units, ..state.queue_summary };
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
        })
    }

    pub(crate) fn evaluate(&self, ahead: u64, before: u64, cost: u64, change: u64) -> Evaluation {
        let ask = Demand { ahead, before, cost: Some(cost), change: change.cast_signed(), ..Demand::default() };
        self.state.decide(&self.policy, self.now, ask)
    }

    /// Evaluates a ticket over those limits of this call that the ticket's call has too.
    pub(crate) fn evaluate_ticket(&self, ahead: u64, before: u64, ticket: &Ticket) -> Evaluation {
        let ask = Demand { ahead, before, cost: Some(ticket.units), tags: self.tags_of(ticket), ..Demand::default() };
        self.state.decide(&self.policy, self.now, ask)
    }

    /// Returns the tags of a ticket; `None` when they are those of this call.
    fn tags_of<'t>(&self, ticket: &'t Ticket) -> Option<&'t str> {
        (ticket.tags != *self.own.tags()).then_some(&*ticket.tags)
    }

    /// Returns whether the limits that this call and a ticket have in common can ever grant the ticket.
    pub(crate) fn fits(&self, ticket: &Ticket) -> bool {
        self.policy.fits(ticket.units, self.tags_of(ticket))
    }

    /// Returns whether this call and a ticket have a limit in common. A call without limits, which works on the name alone,
    /// has to do with every ticket.
    pub(crate) fn shares_with(&self, ticket: &Ticket) -> bool {
        let own = self.own.tags();
        own.is_empty() || self.tags_of(ticket).is_none_or(|tags| tags.split(',').any(|tag| has_tag(own, tag)))
    }

    /// Returns the leases, if the call's policy has a concurrency limit.
    pub(crate) fn leases(&mut self) -> Option<&mut Leases> {
        self.own.concurrency()?;
        self.state.leases()
    }

    /// Writes the summary of the queue; the charged units stay unchanged.
    pub(crate) fn write_queue_summary(&mut self) {
        if self.state.last == 0 {
            let evaluation = self.evaluate(0, 0, 0, 0);
            self.state.settle(&self.policy, &evaluation.levels, self.now, self.skew);
        }
        self.state.skew = self.skew;
        self.state.queue_summary = self.queue_summary.written(self.now);
    }

    fn lease_of(&mut self, id: &str, granted_at: Option<u64>) -> Option<Lease> {
        self.leases()?.get(id, granted_at)
    }

    fn is_reclaimed(&mut self, id: &str, lease: &Lease) -> bool {
        self.leases().is_some_and(|leases| leases.is_reclaimed(id, lease))
    }
}
