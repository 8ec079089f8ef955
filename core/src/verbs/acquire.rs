//! `acquire` without an id: takes units behind the queue. The script's part is in `engine/transaction/acquire.lua`.

use super::decision::{self, Asks, Pending, described, listed_words};
use super::enter::Enter;
use super::prelude::*;
use crate::engine::transaction::Entry;
use crate::model::permit::new_id;

pub(crate) struct Acquire {
    pub(crate) charge: Charge,
    /// Whether the charge is an estimate, which needs an id where there is a state.
    pub(crate) is_estimate: bool,
    pub(crate) describes: bool,
}

impl Verb for Acquire {
    fn without_state(&self, policy: &Policy) -> Result<Answer> {
        decision::without_state(policy, &self.charge, self.is_estimate, false)
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let (Self { charge, describes, .. }, policy) = (self, held.policy);
        let Some(reply) = held.state.acquire(policy, held.now, charge, false)? else {
            return Enter(Entry::without_queue(&new_id()?, *charge, None).describing(*describes)).in_memory(held);
        };
        let reply = if *describes { held.state.describe(policy, charge, reply) } else { reply };
        Ok(Answer::Decision(reply.decision(policy, charge, None)))
    }

    fn encode(&self, _: &Policy, listed: Listed) -> Words {
        Words {
            is_listed: listed.is_some(),
            units: described(&self.charge, self.describes),
            more: listed_words(listed),
            ..Words::new("acquire", KeySet::WithoutId, [])
        }
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        Pending { describes: self.describes, ..Pending::new(policy, &self.charge, Asks::WithoutId) }.into()
    }

    fn plain(&self) -> Option<Plain<'_>> {
        Some(Plain::Acquire(self))
    }

    fn listing(&self) -> Listing {
        Listing::WhenDue
    }
}
