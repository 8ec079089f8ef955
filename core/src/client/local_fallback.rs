//! `Fallback`: the decisions of a limiter while its store cannot decide.

use std::sync::Arc;

use crate::base::charge::Charge;
use crate::base::error::{Cause, Error, ErrorKind, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::base::{clock, hash};
use crate::client::circuit_breaker::{CircuitBreaker, PROBE};
use crate::client::limiter::Limiter;
use crate::client::prepared::Prepared;
use crate::engine::transaction::Entry;
use crate::model::decision::{Decision, Status};
use crate::model::limit::{Kind, Limit};
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::{Answer, Content, Operation};
use crate::model::permit::{LOCAL, MAX_ID, OURS, PERMIT_TIMEOUT, UNLIMITED, new_id};
use crate::model::policy::Policy;
use crate::verbs::enter::Enter;
use crate::verbs::peek::Peek;

/// Fallback for an operation whose I/O the host performs; keep it until the reply.
#[derive(Clone, Debug)]
pub struct Fallback {
    limiter: Limiter,
    /// `None` if an error of the store is final, and only counted.
    alone: Option<Alone>,
}

/// What a process needs to decide alone.
#[derive(Clone, Debug)]
struct Alone {
    /// The circuit breaker of the node that the limiter had when the operation began.
    circuit: Arc<CircuitBreaker>,
    charge: Charge,
    /// How long the charge can be corrected; `None` when it is no estimate.
    permit: Option<Micros>,
    id: Option<String>,
    is_peek: bool,
    /// Whether the decision has each limit.
    describes: bool,
}

impl Fallback {
    /// Records the result of the operation and returns it, or for an error of the store the decision of
    /// [`OnUnavailable`].
    pub fn settle(&self, result: Result<Answer>) -> Result<Answer> {
        let failure = result.as_ref().err().filter(|error| error.kind() == ErrorKind::Unavailable);
        let (fails, cause) = (failure.is_some(), failure.map(Error::cause));
        if cause == Some(Cause::Signal) {
            return result;
        }
        #[cfg(feature = "redis")]
        if !fails {
            self.limiter.store_is_back();
        }
        let Some(alone) = &self.alone else {
            #[cfg(feature = "redis")]
            if fails {
                self.limiter.count_undecided(false);
            }
            return result;
        };
        // A node that cannot serve one slot still serves its others.
        let answers = !fails || cause == Some(Cause::Slot);
        let now = clock::now();
        if let Some(circuit) = self.limiter.circuit() {
            circuit.record(answers, now);
        }
        if answers {
            // The former node is alive or has been replaced; in both cases its limiters may use the store again.
            alone.circuit.record(true, now);
        }
        if let Ok(Answer::Decision(decision)) = &result {
            self.limiter.record_decision(decision);
        }
        #[cfg(feature = "redis")]
        if let (Some(error), Some(Cause::Rights)) = (failure, cause) {
            self.limiter.warn_of_rights(error);
        }
        if fails { alone.decide(&self.limiter, PROBE).map(Answer::Decision) } else { result }
    }
}

impl Alone {
    fn decide(&self, limiter: &Limiter, wait: u64) -> Result<Decision> {
        let decided = match limiter.on_unavailable() {
            OnUnavailable::Raise => Err(Error::unavailable("the store cannot decide")),
            OnUnavailable::FailClosed => Ok(self.closed(limiter, limiter.policy(), wait)),
            OnUnavailable::FailOpen => Ok(self.open(limiter)),
            OnUnavailable::Local { .. } => match limiter.local() {
                None => Ok(self.closed(limiter, limiter.policy(), wait)),
                Some(local) => self.ask(limiter, local, wait).map(|decision| Decision { degraded: true, ..decision }),
            },
        };
        #[cfg(feature = "redis")]
        if !self.is_peek {
            limiter.count_undecided(decided.is_ok());
        }
        decided
    }

    fn ask(&self, limiter: &Limiter, local: &Limiter, wait: u64) -> Result<Decision> {
        limiter.seed_local(local)?;
        let prepared = if self.is_peek {
            local.start_verb(&Peek {
                charge: self.charge,
                is_estimate: self.permit.is_some(),
                describes: self.describes,
            })
        } else {
            // Callers may not choose such an id: its prefix routes a later release to this process.
            let id = match &self.id {
                Some(id) if id.len() < MAX_ID => format!("{LOCAL}{id}"),
                Some(id) => format!("{OURS}{:016x}", hash(id)),
                None => format!("{LOCAL}{}", new_id()?),
            };
            local.start_verb(&Enter(Entry::without_queue(&id, self.charge, self.permit).describing(self.describes)))
        };
        match prepared {
            Ok(Prepared::Answered(answer)) => Decision::of(answer),
            #[cfg(feature = "redis")]
            Ok(Prepared::Call(_)) => Err(Error::internal("unexpected call to a server: the limiter is in memory")),
            // The cost exceeds the share of this process.
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(self.closed(limiter, local.policy(), wait)),
            Err(error) => Err(error),
        }
    }

    /// Returns a refusal, or a grant in shadow, which refuses nobody.
    fn closed(&self, limiter: &Limiter, policy: &Policy, wait: u64) -> Decision {
        if limiter.is_shadow() { self.open(limiter) } else { degraded_refusal(policy, wait) }
    }

    fn open(&self, limiter: &Limiter) -> Decision {
        let keeps = self.permit.is_some() || limiter.grants_leases();
        let permit = (keeps && !self.is_peek).then(|| UNLIMITED.to_owned());
        Decision { degraded: true, ..Decision::unlimited(permit) }
    }
}

fn degraded_refusal(policy: &Policy, wait: u64) -> Decision {
    Decision {
        status: Status::Refused,
        limit: policy.limits().first().map(Limit::capacity),
        remaining: Some(0),
        retry_after: Some(Micros(wait)),
        reset_after: None,
        permit: None,
        degraded: true,
        ..Decision::unlimited(None)
    }
}

impl Limiter {
    /// Returns the fallback of an operation, which also counts a call that the store did not decide; `None` for an operation that
    /// is no decision, and in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Error, OnUnavailable, Operation, Paddlegate, Request};
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let api = pg.window("api", 5, Duration::from_secs(60))?.with_on_unavailable(OnUnavailable::FailOpen);
    /// let operation = Operation::Acquire(Request::cost(1));
    /// let fallback = api.fallback(&operation).unwrap();
    /// let answer = fallback.settle(Err(Error::unknown_outcome("the connection is lost")))?;
    /// assert!(matches!(answer, Answer::Decision(decision) if decision.allowed() && decision.degraded));
    /// assert!(api.fallback(&Operation::Reset).is_none(), "only decisions have a fallback");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn fallback(&self, operation: &Operation<'_>) -> Option<Fallback> {
        let Some(circuit) = self.circuit() else { return self.counts_errors(operation) };
        let (request, id, is_peek) = match *operation {
            Operation::Acquire(request) => (request, None, false),
            Operation::AcquireWithId { request, id, .. } => (request, Some(id.to_owned()), false),
            Operation::Peek(request) => (request, None, true),
            _ => return self.counts_errors(operation),
        };
        let charge = match self.limiters() {
            [] if is_peek => {
                let peek = Peek::new(self.policy(), request);
                peek.map(|peek| (peek.charge, peek.is_estimate.then_some(PERMIT_TIMEOUT)))
            }
            [] => request.charge(self.policy()),
            // Several limiters have no local fallback, which alone needs the charge.
            _ => Ok((Charge::default(), request.estimate.map(|_| PERMIT_TIMEOUT))),
        };
        let ((charge, permit), describes) = (charge.ok()?, request.limits);
        let alone = Alone { circuit, charge, permit, id, is_peek, describes };
        Some(Fallback { limiter: self.clone(), alone: Some(alone) })
    }

    /// Returns the fallback of an operation whose error is final.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unused_self, unused_variables))]
    fn counts_errors(&self, operation: &Operation<'_>) -> Option<Fallback> {
        #[cfg(feature = "redis")]
        if let Operation::Acquire(_) | Operation::AcquireWithId { .. } | Operation::Debit(_) = operation
            && self.is_on_server()
        {
            return Some(Fallback { limiter: self.clone(), alone: None });
        }
        None
    }

    /// Returns the decision while the circuit is open; `None` when the call goes to the store.
    pub(crate) fn short_circuit(&self, operation: &Operation<'_>) -> Option<Result<Decision>> {
        let fallback = self.fallback(operation)?;
        let alone = fallback.alone?;
        let wait = alone.circuit.wait(clock::now())?;
        Some(alone.decide(self, wait))
    }
}

/// Returns the policy with `share` percent of every limit; `None` when a share is below one unit.
pub(crate) fn shared(policy: &Policy, share: u8) -> Option<Policy> {
    let part = |limit: &Limit| {
        let share = u64::from(share);
        let (amount, interval) = match limit.kind() {
            Kind::Throttle => (limit.amount(), Micros(limit.interval().0 * 100 / share)),
            _ => (limit.amount() * share / 100, limit.interval().min(MAX_SPAN)),
        };
        limit.with_numbers(amount, interval, limit.offset())
    };
    let limits: Result<Vec<Limit>> = policy.limits().iter().map(part).collect();
    let shared = limits.and_then(Policy::new).ok()?;
    let shared = shared.with_mode(policy.mode()).with_block_after(policy.block_after().copied());
    shared.with_aging(policy.aging()).ok()
}
