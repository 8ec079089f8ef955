//! The operations on a permit or ticket: `correct`, `release`, `renew`, `cancel`. Twin of `permit.lua`, and for
//! `correct` of `upstream.lua`.

use crate::base::charge::Charge;
use crate::base::micros::Micros;
use crate::engine::permits;
use crate::engine::state::{Change, Demand};
use crate::engine::transaction::Transaction;
use crate::limits::concurrency::Lease;
use crate::model::limit::Rule;
use crate::model::permit::{PERMIT_TIMEOUT, Permit, SETTLED_MEMORY, Settlement};
impl Transaction<'_> {
    /// Replaces the charge of a permit by the actual cost, once.
    pub(crate) fn correct(mut self, permit: &Permit<'_>, actual: &Charge) -> Settlement {
        let settlement = self.settle_permit(permit, actual);
        if settlement == Settlement::Settled {
            self.advance();
            self.keep_queue_summary();
        }
        settlement
    }

    pub(crate) fn release(mut self, permit: &Permit<'_>) -> Settlement {
        let now = self.now;
        let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule) else {
            return Settlement::Unknown;
        };
        let lease = self.lease_of(permit.id, Some(permit.granted_at));
        if let Some(leases) = self.leases().filter(|_| lease.is_some()) {
            leases.remove(permit.id);
        }
        let live = lease.is_some_and(|lease| lease.end > now);
        let late = !live && now >= permit.granted_at + concurrency.timeout;
        // An id may be old, invented or released before: only a known lease counts, and it is known once.
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
        if self.queue_changed {
            self.write_queue_summary();
        }
        Settlement::Released
    }

    /// Restarts the duration of a live lease and returns it; `None` when the lease has ended.
    pub(crate) fn renew(mut self, permit: &Permit<'_>) -> Option<Micros> {
        let Some(Rule::Concurrency(concurrency)) = self.policy.concurrency().map(|limit| limit.rule) else {
            return None;
        };
        let held = self.lease_of(permit.id, Some(permit.granted_at)).filter(|lease| lease.end > self.now)?;
        let lease = Lease { end: self.now + concurrency.timeout, ..held };
        self.leases()?.set(permit.id, lease);
        Some(Micros(concurrency.timeout))
    }

    /// Removes a ticket from the queue, and ends the lease that it may have become.
    pub(crate) fn cancel(mut self, id: &str, gave_up: bool) -> Settlement {
        let ticket = self.ticket_of(id);
        let lease = self.lease_of(id, None).filter(|lease| !self.is_reclaimed(id, lease));
        if let Some(leases) = self.leases().filter(|_| lease.is_some()) {
            leases.remove(id);
        }
        if let Some(ticket) = &ticket {
            self.remove_ticket(ticket);
        }
        self.state.statistics.refused += u64::from(gave_up);
        self.advance();
        if self.queue_changed {
            self.write_queue_summary();
        }
        if ticket.is_some() || lease.is_some() { Settlement::Cancelled } else { Settlement::Unknown }
    }

    pub(super) fn settle_permit(&mut self, permit: &Permit<'_>, actual: &Charge) -> Settlement {
        let (now, id) = (self.now, permits::key(self.own, permit));
        let deadline = match self.state.permits.mark(&id) {
            Some(mark) if mark % 2 == 1 && now < mark / 2 => return Settlement::Already,
            Some(mark) if mark % 2 == 0 && now < mark / 2 => mark / 2,
            // The time of every permit is at least this long. A younger one was forgotten or settled, or is of another policy.
            _ if now >= permit.granted_at + PERMIT_TIMEOUT.0 => return Settlement::Late,
            _ => return Settlement::Unknown,
        };
        let Some(charged) = self.own.in_policy_order(&permit.charged) else { return Settlement::Unknown };
        let change = Change::By { new: actual, old: &charged };
        let ask = Demand { change, granted_at: permit.granted_at, ..Demand::default() };
        let evaluation = self.state.decide(&self.policy, now, ask);
        for (i, limit) in self.policy.limits().iter().enumerate() {
            if let (Rule::Window(window), Some(log)) = (limit.rule, self.state.log(&self.policy, i))
                && permit.granted_at + window.interval > now
            {
                let most = (2 * window.limit).saturating_sub(evaluation.levels[i]);
                log.correct(permit.granted_at, change.of(i, 0).min(most.cast_signed()), evaluation.levels[i]);
            }
        }
        self.state.permits.keep(id, (now + SETTLED_MEMORY.0).min(deadline) * 2 + 1);
        self.state.statistics.corrections += 1;
        let change = actual.most().cast_signed() - charged.most().cast_signed();
        self.state.statistics.units = self.state.statistics.units.saturating_add_signed(change);
        self.state.settle(&self.policy, &evaluation.levels, now, self.skew);
        Settlement::Settled
    }
}
