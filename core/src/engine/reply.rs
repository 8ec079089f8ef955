//! `Reply`: the numbers of a decision, as the state and the script return them, and the conversion to a decision.

use crate::base::charge::Charge;
use crate::base::micros::{MAX_TIME, Micros};
use crate::engine::state::Evaluation;
use crate::model::decision::{Decision, DecisionLimit, Status, Ticket};
use crate::model::kind::Kind;
use crate::model::limit::Limit;
use crate::model::permit::{Permit, SHADOW, Settlement};
use crate::model::policy::Policy;
use crate::model::reason::Reason;

/// The numbers of a decision, as the script returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: Status,
    /// Whether only shadow granted the call, and nothing was charged.
    pub(crate) would_refuse: bool,
    pub(crate) index: usize,
    pub(crate) remaining: u64,
    pub(crate) retry_after: u64,
    pub(crate) reset_after: u64,
    pub(crate) at: u64,
    /// The amount of the limit, where it may differ from the caller's policy.
    pub(crate) amount: Option<u64>,
    pub(crate) lease_and_ticket: LeaseAndTicket,
    /// The numbers of each limit, if the call asked for them.
    pub(crate) limits: Box<[LimitNumbers]>,
}

/// The numbers of one limit after a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitNumbers {
    pub(crate) amount: u64,
    pub(crate) interval: u64,
    pub(crate) remaining: u64,
    /// How long this limit alone holds the call up.
    pub(crate) wait: u64,
    pub(crate) reset: u64,
}

/// The result of an extension: a decision and the whole charge in the order of the sorted tags, of a refusal what it would
/// have taken; or why the permit is not open.
pub(crate) type Extended = std::result::Result<(Reply, Charge), Settlement>;

/// The part of a reply for a call with an id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseAndTicket {
    pub(crate) lease: u64,
    pub(crate) fencing_token: u64,
    pub(crate) number: u64,
    pub(crate) position: u64,
    pub(crate) ready: Option<u64>,
    /// The grant time of the lease that the id already had; zero for a new lease.
    pub(crate) granted_at: u64,
    /// In the order of the sorted tags.
    pub(crate) charged: Charge,
}

impl Reply {
    pub(crate) fn new(status: Status, outcome: &Evaluation, at: u64) -> Self {
        Self {
            status,
            would_refuse: false,
            index: outcome.index,
            remaining: outcome.remaining,
            retry_after: outcome.wait,
            reset_after: outcome.reset,
            at,
            amount: None,
            lease_and_ticket: LeaseAndTicket::default(),
            limits: Box::default(),
        }
    }

    /// Returns the decision on a charge for the caller's policy. `permit` is the id of the call if a grant returns a permit.
    #[inline]
    pub(crate) fn decision(&self, policy: &Policy, charge: &Charge, permit: Option<&str>) -> Decision {
        let reply = self;
        let limit = policy.limits().get(reply.index);
        let granted = reply.status == Status::Granted;
        let amount = reply.amount.unwrap_or_else(|| policy.capacity(reply.index));
        let leased = granted && reply.lease_and_ticket.lease > 0;
        let reason =
            || limit.map_or_else(|| closed(reply.index, policy), |limit| reason(limit, amount, charge.of(reply.index)));
        Decision {
            status: reply.status,
            limit: Some(amount),
            remaining: Some(reply.remaining),
            retry_after: known(reply.retry_after),
            reset_after: known(reply.reset_after).filter(|_| reply.retry_after < MAX_TIME.0),
            reason: matches!(reply.status, Status::Refused | Status::Queued).then(reason),
            would_refuse: reply.would_refuse.then(reason),
            label: limit.map(|limit| limit.label().clone()),
            limiter: None,
            at: Micros(reply.at),
            permit: permit.filter(|_| granted).map(|id| {
                if reply.would_refuse {
                    return SHADOW.to_owned();
                }
                // A repeated call with the id of a live lease gets the permit of that lease.
                let lease_and_ticket = &reply.lease_and_ticket;
                let (granted_at, charged) = if lease_and_ticket.granted_at > 0 {
                    (lease_and_ticket.granted_at, lease_and_ticket.charged)
                } else {
                    (reply.at, policy.in_tag_order(charge))
                };
                Permit { id, granted_at, charged }.to_string()
            }),
            lease: leased.then_some(Micros(reply.lease_and_ticket.lease)),
            fencing_token: leased.then_some(reply.lease_and_ticket.fencing_token),
            ticket: (reply.lease_and_ticket.number > 0).then_some(Ticket {
                number: reply.lease_and_ticket.number,
                position: reply.lease_and_ticket.position,
                ready_after: reply.lease_and_ticket.ready.map(Micros),
            }),
            is_lowered: false,
            degraded: false,
            limits: reply.limits.iter().zip(policy.limits()).map(|(numbers, limit)| numbers.of(limit)).collect(),
        }
    }

    /// Returns the decision on a run of a job, which does not take the lease that another run of the job holds.
    pub(crate) fn decision_on_run(&self, policy: &Policy, charge: &Charge, permit: Option<&str>) -> Decision {
        let decision = self.decision(policy, charge, permit);
        if !decision.allowed() || self.lease_and_ticket.granted_at == 0 {
            return decision;
        }
        Decision {
            status: Status::Refused,
            retry_after: decision.lease,
            reason: Some(Reason::Running),
            permit: None,
            lease: None,
            fencing_token: None,
            ..decision
        }
    }

    /// Returns the decision on an extension of a permit, whose whole charge is in the order of the sorted tags; of a refusal
    /// it is what the extension would have taken, since an earlier one may have taken a part of the units.
    pub(crate) fn extension(&self, policy: &Policy, permit: &Permit<'_>, charged: Charge) -> Decision {
        let granted = self.status == Status::Granted;
        let extended = granted.then(|| Permit { charged, ..*permit }.to_string());
        let taken = policy.in_policy_order(&charged).unwrap_or_default();
        Decision { permit: extended, ..self.decision(policy, &taken, None) }
    }
}

impl LimitNumbers {
    fn of(&self, limit: &Limit) -> DecisionLimit {
        DecisionLimit {
            limiter: None,
            label: limit.label().clone(),
            kind: limit.kind(),
            limit: self.amount,
            interval: if limit.kind() == Kind::Quota { limit.interval() } else { Micros(self.interval) },
            remaining: self.remaining,
            retry_after: known(self.wait),
            reset_after: known(self.reset).filter(|_| self.wait < MAX_TIME.0),
        }
    }
}

/// Returns the reason behind the last limit: a pause, or then a block.
fn closed(index: usize, policy: &Policy) -> Reason {
    if index > policy.limits().len() { Reason::Blocked } else { Reason::Paused }
}

/// Returns why a limit, which may have another amount than in the policy, did not pass the units.
fn reason(limit: &Limit, amount: u64, units: u64) -> Reason {
    if units > amount && !limit.counts_starts() { Reason::TooLarge } else { Reason::from(limit.kind()) }
}

/// Returns the wait; `None` when it has no known end.
fn known(wait: u64) -> Option<Micros> {
    (wait < MAX_TIME.0).then_some(Micros(wait))
}
