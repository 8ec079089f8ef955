//! `acquire` with an id: takes units, or a place in the queue. The script's part is in `engine/transaction/enter.lua`.

use super::decision::{self, Asks, Pending, described};
use super::prelude::*;
use crate::engine::transaction::{Entry, Waiting};
use crate::model::request::{QueuePosition, Request, Wait, check_id};
use crate::model::share::Order;

pub(crate) struct Enter<'a>(pub(crate) Entry<'a>);

impl<'a> Enter<'a> {
    pub(crate) fn new(policy: &Policy, request: Request<'a>, id: &'a str, wait: Option<Wait<'a>>) -> Result<Self> {
        check_id(id)?;
        wait.as_ref().map_or(Ok(()), Wait::check)?;
        let (charge, permit) = request.charge(policy)?;
        let (order, queue) = (request.order()?, wait.map(Waiting::from));
        Ok(Self(Entry { id, charge, permit, order, queue, describes: request.limits }))
    }

    /// Returns whether a grant returns a permit.
    fn has_permit(&self, policy: &Policy) -> bool {
        self.0.permit.is_some() || policy.concurrency().is_some() && self.0.charge.most() > 0
    }
}

impl Verb for Enter<'_> {
    fn without_state(&self, policy: &Policy) -> Result<Answer> {
        decision::without_state(policy, &self.0.charge, self.0.permit.is_some(), true)
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let (entry, policy) = (self.0, held.policy);
        let lowered = entry.permit.and_then(|_| held.lowered(&entry.charge));
        let entry = Entry { charge: lowered.unwrap_or(entry.charge), ..entry };
        let reply = held.transaction(entry.id)?.enter(entry)?;
        let reply = if entry.describes { held.state.describe(policy, &entry.charge, reply) } else { reply };
        let permit = self.has_permit(policy).then_some(entry.id);
        let decision = if entry.is_run() {
            reply.decision_on_run(policy, &entry.charge, permit)
        } else {
            reply.decision(policy, &entry.charge, permit)
        };
        Ok(Answer::Decision(Decision { is_lowered: lowered.is_some(), ..decision }))
    }

    fn encode(&self, policy: &Policy, listed: Listed) -> Words {
        let (entry, aging, number) = (&self.0, policy.aging(), |number: u64| number.to_string());
        let mut words = Words::new("acquire", KeySet::WithId, [entry.id.to_owned()]);
        words.units = described(&entry.charge, entry.describes);
        words.is_listed = listed.is_some();
        let (ttl, listed) = listed.map_or_else(Default::default, |(ttl, listed)| (number(ttl.0), listed));
        words.more.extend([entry.permit.map_or_else(String::new, |time| number(time.0)), ttl, listed]);
        if let Some(waiting) = entry.queue {
            words.more.extend([number(waiting.max_wait), number(waiting.claim_timeout), waiting.channel.to_owned()]);
            words.more.push(match waiting.position {
                QueuePosition::End => String::new(),
                QueuePosition::Existing => "-".to_owned(),
                QueuePosition::Number(ticket) => number(ticket),
            });
            let Order { priority, weight, share } = entry.order;
            if waiting.keep > 0 || entry.order != Order::default() || aging.is_some() {
                words.more.extend([number(waiting.keep), number(priority.into()), number(weight.into())]);
                words.more.push(share.to_owned());
                words.more.extend(aging.map(|aging| number(aging.0)));
            }
        }
        words
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        let pending = Pending {
            permit: self.has_permit(policy).then(|| self.0.id.to_owned()),
            describes: self.0.describes,
            is_run: self.0.is_run(),
            ..Pending::new(policy, &self.0.charge, Asks::WithId)
        };
        pending.estimated(self.0.permit.is_some()).into()
    }

    fn plain(&self) -> Option<Plain<'_>> {
        Some(Plain::Enter(&self.0))
    }

    fn listing(&self) -> Listing {
        Listing::WhenDue
    }
}
