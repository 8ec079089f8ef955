//! `refund`: gives units back without a permit. The script's part is in `engine/transaction/refund.lua`.

use super::debit::check_counts_units;
use super::decision::{Asks, Pending};
use super::prelude::*;

pub(crate) struct Refund(pub(crate) Charge);

impl Refund {
    pub(crate) fn new(policy: &Policy, units: Cost<'_>) -> Result<Self> {
        let charge = units.charge("units", policy)?;
        check_counts_units(policy, "refund")?;
        Ok(Self(charge))
    }
}

impl Verb for Refund {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Decision(Decision::unlimited(None)))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let reply = held.transaction("")?.refund(&self.0);
        Ok(Answer::Decision(reply.decision(held.policy, &self.0, None)))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        Words { units: self.0.to_string(), ..Words::new("refund", KeySet::WithId, []) }
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        Pending::new(policy, &self.0, Asks::Nothing).into()
    }
}
