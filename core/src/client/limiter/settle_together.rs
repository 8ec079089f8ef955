//! The settlement of a permit of several limiters, and the end of a call to them.

use super::Limiter;
#[cfg(feature = "redis")]
use crate::base::charge::Charge;
use crate::base::error::{Error, Result};
use crate::client::prepared::Prepared;
use crate::engine::together;
use crate::engine::transaction::Transaction;
use crate::model::cost::Cost;
use crate::model::limit::Limit;
use crate::model::operation::Answer;
use crate::model::permit::{JointPermit, MAX_PERMIT_ID, Permit, SHADOW, Settlement};
#[cfg(feature = "redis")]
use crate::store::redis::{Call, Settled};

/// The permit of one of several limiters.
struct PartPermit<'a> {
    limiter: &'a Limiter,
    /// The position of the limiter among all.
    place: usize,
    permit: Permit<'a>,
}

impl Limiter {
    pub(super) fn correct_all(&self, permit: &str, actual: Cost<'_>) -> Result<Prepared> {
        let actual = actual.charges("actual", &self.policies())?;
        if permit == SHADOW {
            return Ok(Prepared::Answered(Answer::Settlement(Settlement::Settled)));
        }
        let permits = self.permits(permit)?;
        #[cfg(feature = "redis")]
        if let Some(settled) = sent(&permits, |part| {
            let charged = part.limiter.policy().in_policy_order(&part.permit.charged).unwrap_or_default();
            let words = [part.permit.to_string(), part.permit.granted_at.to_string(), charged.to_string()];
            let words = words.into_iter().chain([part.limiter.policy().refunds()]).collect();
            (actual[part.place], words)
        }) {
            return Ok(Prepared::Call(Call::correct_together(&settled, self.test_time())));
        }
        let correct = |part: &PartPermit<'_>| {
            part.limiter.transact("", |transaction| {
                transaction.of_several(permits.len()).correct(&part.permit, &actual[part.place])
            })
        };
        let each = permits.iter().map(correct).collect::<Result<Vec<_>>>()?;
        Ok(Prepared::Answered(Answer::Settlement(together::settlement(&each))))
    }

    pub(super) fn release_all(&self, permit: &str) -> Result<Prepared> {
        let permits = self.leases(permit)?;
        if permits.is_empty() && self.leases_in_shadow(permit).next().is_some() {
            return Ok(Prepared::Answered(Answer::Settlement(Settlement::Released)));
        }
        #[cfg(feature = "redis")]
        if let Some(settled) = sent(&permits, of_lease) {
            return Ok(Prepared::Call(Call::release_together(&settled, self.test_time())));
        }
        let release = |part: &PartPermit<'_>| {
            part.limiter
                .transact(part.permit.id, |transaction| transaction.of_several(permits.len()).release(&part.permit))
        };
        let each = permits.iter().map(release).collect::<Result<Vec<_>>>()?;
        Ok(Prepared::Answered(Answer::Settlement(together::settlement(&each))))
    }

    pub(super) fn renew_all(&self, permit: &str) -> Result<Prepared> {
        let permits = self.leases(permit)?;
        if permits.is_empty()
            && let Some(renewal) = self.leases_in_shadow(permit).map(Limit::interval).min()
        {
            return Ok(Prepared::Answered(Answer::Renewal(Some(renewal))));
        }
        #[cfg(feature = "redis")]
        if let Some(settled) = sent(&permits, of_lease) {
            return Ok(Prepared::Call(Call::renew_together(&settled, self.test_time())));
        }
        let renew = |part: &PartPermit<'_>| {
            let renew = |transaction: Transaction<'_>| transaction.renew(&part.permit);
            part.limiter.transact_rarely(part.limiter.policy(), part.permit.id, renew)
        };
        let each = permits.iter().map(renew).collect::<Result<Vec<_>>>()?;
        Ok(Prepared::Answered(Answer::Renewal(together::renewal(&each))))
    }

    pub(super) fn cancel_all(&self, id: &str, gave_up: bool) -> Result<Prepared> {
        let limiters: Vec<&Self> = self.with_state().collect();
        #[cfg(feature = "redis")]
        if let Some(settled) = cancelled(&limiters, id, gave_up) {
            return Ok(Prepared::Call(Call::cancel_together(&settled, self.test_time())));
        }
        let cancel = |limiter: &&Self| {
            limiter.transact_rarely(limiter.policy(), id, |transaction| {
                // The limiter in whose queue the call waited counts the refusal.
                let waited = transaction.ticket_of(id).is_some_and(|ticket| !ticket.is_suspended());
                transaction.of_several(limiters.len()).cancel(id, gave_up && waited)
            })
        };
        let each = limiters.iter().map(cancel).collect::<Result<Vec<Settlement>>>()?;
        Ok(Prepared::Answered(Answer::Settlement(together::cancellation(&each))))
    }

    /// Returns the permits that an id has at the limiters with a state; none when this library cannot have issued it.
    fn permits<'a>(&'a self, permit: &'a str) -> Result<Vec<PartPermit<'a>>> {
        if permit.is_empty() || permit.len() > MAX_PERMIT_ID {
            let message = format!("must have 1 to {MAX_PERMIT_ID} bytes: bytes={}", permit.len());
            return Err(Error::invalid("permit", message));
        }
        let Some(joint) = JointPermit::parse(permit, self.limiters().len()) else { return Ok(Vec::new()) };
        let each = self.limiters().iter().zip(joint.permits).enumerate();
        let with_permit = each.filter_map(|(place, (limiter, permit))| {
            Some(PartPermit { limiter, place, permit: permit.filter(|_| limiter.has_state())? })
        });
        Ok(with_permit.collect())
    }

    /// Returns the concurrency limits of the limiters that only passed the call of a permit because they are in shadow.
    fn leases_in_shadow<'a>(&'a self, permit: &str) -> impl Iterator<Item = &'a Limit> {
        let each = JointPermit::parse(permit, self.limiters().len()).map(|joint| joint.in_shadow);
        let is_of_all = permit == SHADOW;
        self.limiters().iter().enumerate().filter_map(move |(place, limiter)| {
            let in_shadow = is_of_all || each.as_ref().is_some_and(|each| each[place]);
            limiter.policy().concurrency().filter(|_| in_shadow)
        })
    }

    /// Returns the permits that are leases.
    fn leases<'a>(&'a self, permit: &'a str) -> Result<Vec<PartPermit<'a>>> {
        let mut permits = self.permits(permit)?;
        permits.retain(|part| part.limiter.grants_leases());
        Ok(permits)
    }
}

/// Returns what is sent for permits on a server, with a charge and the words from the id on; `None` when nothing is sent.
#[cfg(feature = "redis")]
fn sent(permits: &[PartPermit<'_>], words: impl Fn(&PartPermit<'_>) -> (Charge, Vec<String>)) -> Option<Vec<Settled>> {
    let settle = |part: &PartPermit<'_>| {
        let (charge, words) = words(part);
        Some(Settled { keys: part.limiter.own_keys()?, charge, words })
    };
    permits.iter().map(settle).collect::<Option<Vec<_>>>().filter(|settled| !settled.is_empty())
}

#[cfg(feature = "redis")]
fn of_lease(part: &PartPermit<'_>) -> (Charge, Vec<String>) {
    (Charge::All(0), vec![part.permit.id.to_owned(), part.permit.granted_at.to_string()])
}

#[cfg(feature = "redis")]
fn cancelled(limiters: &[&Limiter], id: &str, gave_up: bool) -> Option<Vec<Settled>> {
    let words = vec![id.to_owned(), if gave_up { "here" } else { "" }.to_owned()];
    let settle =
        |limiter: &&Limiter| Some(Settled { keys: limiter.own_keys()?, charge: Charge::All(0), words: words.clone() });
    limiters.iter().map(settle).collect::<Option<Vec<_>>>().filter(|settled| !settled.is_empty())
}
