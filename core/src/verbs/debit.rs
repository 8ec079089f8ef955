//! `debit`: takes units in any case. The script's part is in `engine/transaction/acquire.lua`.

use super::decision::{Asks, Pending, listed_words};
use super::prelude::*;
use crate::model::limit::Limit;

pub(crate) struct Debit(pub(crate) Charge);

impl Debit {
    pub(crate) fn new(policy: &Policy, cost: Cost<'_>) -> Result<Self> {
        let charge = cost.charge("cost", policy)?;
        check_counts_units(policy, "debit")?;
        Ok(Self(charge))
    }
}

/// Returns an error for a verb that takes or gives back units, of a policy that counts calls alone.
pub(super) fn check_counts_units(policy: &Policy, verb: &'static str) -> Result<()> {
    if !policy.limits().is_empty() && policy.limits().iter().all(Limit::counts_starts) {
        return Err(Error::invalid(verb, "takes units, and no limit of the policy counts units"));
    }
    Ok(())
}

impl Verb for Debit {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Decision(Decision::unlimited(None)))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let reply = held.state.debit(held.policy, held.now, &self.0)?;
        Ok(Answer::Decision(reply.decision(held.policy, &self.0, None)))
    }

    fn encode(&self, _: &Policy, listed: Listed) -> Words {
        Words {
            is_listed: listed.is_some(),
            units: self.0.to_string(),
            more: listed_words(listed),
            ..Words::new("debit", KeySet::WithoutId, [])
        }
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        Pending::new(policy, &self.0, Asks::Nothing).into()
    }

    fn listing(&self) -> Listing {
        Listing::WhenDue
    }
}
