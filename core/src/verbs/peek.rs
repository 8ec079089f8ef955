//! `peek`: the decision that a call would get. The script's part is in `engine/transaction/acquire.lua`.

use super::decision::{self, Asks, Pending, argument, described};
use super::prelude::*;
use crate::model::request::Request;

pub(crate) struct Peek {
    pub(crate) charge: Charge,
    pub(crate) is_estimate: bool,
    pub(crate) describes: bool,
}

impl Peek {
    pub(crate) fn new(policy: &Policy, mut request: Request<'_>) -> Result<Self> {
        if request.estimate.is_none() {
            // Also for `points`, where other calls must give a cost: a peek charges nothing.
            request.cost.get_or_insert(Cost::Units(1));
        }
        let (charge, permit) = request.charge(policy)?;
        Ok(Self { charge, is_estimate: permit.is_some(), describes: request.limits })
    }
}

impl Verb for Peek {
    fn without_state(&self, policy: &Policy) -> Result<Answer> {
        decision::without_state(policy, &self.charge, self.is_estimate, false)
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let policy = held.policy;
        let lowered = self.is_estimate.then(|| held.lowered(&self.charge)).flatten();
        let charge = lowered.unwrap_or(self.charge);
        let reply = held.state.peek(policy, held.now, argument(self.is_estimate), &charge)?;
        let reply = if self.describes { held.state.describe(policy, &charge, reply) } else { reply };
        let decision = reply.decision(policy, &charge, None);
        Ok(Answer::Decision(Decision { is_lowered: lowered.is_some(), ..decision }))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        let units = described(&self.charge, self.describes);
        Words { units, ..Words::new("peek", KeySet::WithoutId, []) }
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        let pending = Pending { describes: self.describes, ..Pending::new(policy, &self.charge, Asks::Nothing) };
        pending.estimated(self.is_estimate).into()
    }

    fn leaves_unknown(&self) -> bool {
        true
    }
}
