//! The settlement of a permit of several limiters, and the end of a call to them.

use super::Limiter;
use crate::base::error::{Error, Result};
use crate::client::prepared::Prepared;
use crate::model::cost::Cost;
use crate::model::limit::Limit;
use crate::model::operation::Answer;
use crate::model::permit::{JointPermit, MAX_PERMIT_ID, Permit, SHADOW, Settlement};
#[cfg(feature = "redis")]
use crate::store::redis::Call;
use crate::verbs::OfSeveral;
use crate::verbs::cancel::Cancel;
use crate::verbs::correct::Correct;
use crate::verbs::release::Release;
use crate::verbs::renew::Renew;

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
        let permits = self.permits(permit)?.into_iter();
        self.start_each(permits.map(|part| (part.limiter, Correct { permit: part.permit, actual: actual[part.place] })))
    }

    pub(super) fn release_all(&self, permit: &str) -> Result<Prepared> {
        let permits = self.leases(permit)?;
        if permits.is_empty() && self.leases_in_shadow(permit).next().is_some() {
            return Ok(Prepared::Answered(Answer::Settlement(Settlement::Released)));
        }
        self.start_each(permits.into_iter().map(|part| (part.limiter, Release(part.permit))))
    }

    pub(super) fn renew_all(&self, permit: &str) -> Result<Prepared> {
        let permits = self.leases(permit)?;
        if permits.is_empty()
            && let Some(renewal) = self.leases_in_shadow(permit).map(Limit::interval).min()
        {
            return Ok(Prepared::Answered(Answer::Renewal(Some(renewal))));
        }
        self.start_each(permits.into_iter().map(|part| (part.limiter, Renew(part.permit))))
    }

    pub(super) fn cancel_all(&self, id: &str, gave_up: bool) -> Result<Prepared> {
        let cancel = |limiter| Ok((limiter, Cancel::of_several(id, gave_up)?));
        self.start_each(self.with_state().map(cancel).collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// Starts a verb that each limiter decides by itself, in one call.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unused_self))]
    fn start_each<'a, V: OfSeveral>(&'a self, each: impl Iterator<Item = (&'a Self, V)>) -> Result<Prepared> {
        let each: Vec<(&Self, V)> = each.collect();
        #[cfg(feature = "redis")]
        if self.is_on_server() && !each.is_empty() {
            let of_server = |(limiter, verb): (&'a Self, V)| Some((verb, &limiter.inner.policy, limiter.own_keys()?));
            let each: Vec<_> = each.into_iter().filter_map(of_server).collect();
            return Ok(Prepared::Call(Call::of_each(&each, self.test_time())));
        }
        let decide = |(limiter, verb): &(&Self, V)| limiter.in_memory(verb, limiter.policy(), Some(each.len()));
        let each = each.iter().map(decide).collect::<Result<Vec<_>>>()?;
        Ok(Prepared::Answered(V::combined(&each)))
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
