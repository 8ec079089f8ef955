//! One call over several limiters: all are charged or none. Twin of `together.lua`.

use std::sync::Arc;

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::engine::reply::Reply;
use crate::engine::state::State;
use crate::engine::transaction::{Entry, Publish, Transaction, Waiting};
use crate::model::decision::{Decision, DecisionLimit, Status, Ticket};
use crate::model::permit::{JointPermit, MAX_TOGETHER, Permit, SHADOW};
use crate::model::policy::Policy;
use crate::model::request::QueuePosition;

/// The script that decides over the replies of several limiters.
#[cfg(feature = "redis")]
pub(crate) const SCRIPT: &str = include_str!("together.lua");

/// A limiter that takes part in a call, as it is encoded and described.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) policy: Arc<Policy>,
    pub(crate) charge: Charge,
    /// Whether the limiter has a state; otherwise it has no limit.
    pub(crate) has_state: bool,
}

impl Part {
    /// Returns a call with an id as the limiter at a place gets it.
    pub(crate) fn entry<'a>(&self, place: usize, describes: bool, entry: &Entry<'a>) -> Entry<'a> {
        let positioned = |waiting: Waiting<'a>| Waiting { position: position(waiting.position, place), ..waiting };
        Entry { charge: self.charge, describes, queue: entry.queue.map(positioned), ..*entry }
    }
}

/// The limiters of a call in their order, and what it gets from them.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub(crate) struct Parts {
    pub(crate) each: Vec<Part>,
    /// The id of the call, if it has one.
    pub(crate) id: Option<String>,
    pub(crate) is_estimate: bool,
    /// Whether the call is the run of a job: see [`Reply::decision_on_run`].
    pub(crate) is_run: bool,
    /// Whether the replies have the numbers of each limit.
    pub(crate) describes: bool,
    /// Whether an estimate was above the capacity of a limit, and was lowered to it.
    pub(crate) is_lowered: bool,
}

impl Parts {
    /// Returns the limiters with a state, which reply.
    pub(crate) fn with_state(&self) -> impl Iterator<Item = &Part> {
        self.each.iter().filter(|part| part.has_state)
    }

    /// Returns the argument that gave the charges.
    pub(crate) fn argument(&self) -> &'static str {
        if self.is_estimate { "estimate" } else { "cost" }
    }

    /// Returns the decision of all limiters from the replies of those with a state.
    pub(crate) fn decision(&self, replies: &[Reply]) -> Decision {
        let mut replies = replies.iter();
        let of_part = |part: &Part| match part.has_state.then(|| replies.next()).flatten() {
            // In a browser no worker runs jobs.
            Some(reply) if cfg!(feature = "redis") && self.is_run => {
                reply.decision_on_run(&part.policy, &part.charge, self.permit_of(part))
            }
            Some(reply) => reply.decision(&part.policy, &part.charge, self.permit_of(part)),
            None => Decision::unlimited(None),
        };
        let decisions: Vec<Decision> = self.each.iter().map(of_part).collect();
        self.combined(&decisions)
    }

    /// Returns the id of the call, if a grant of the limiter has a permit.
    fn permit_of(&self, part: &Part) -> Option<&str> {
        let keeps = self.is_estimate || part.policy.concurrency().is_some() && part.charge.most() > 0;
        self.id.as_deref().filter(|_| keeps)
    }

    fn combined(&self, decisions: &[Decision]) -> Decision {
        let has = |status| decisions.iter().any(|decision| decision.status == status);
        let ordered = [Status::Refused, Status::Queued, Status::NoTicket];
        let status = ordered.into_iter().find(|status| has(*status)).unwrap_or(Status::Granted);
        let wait = |decision: &Decision| decision.retry_after.unwrap_or(MAX_TIME).0;
        let is_free = status == Status::Granted && decisions.iter().all(|decision| decision.would_refuse.is_none());
        let described = match status {
            // The first of those with the longest wait.
            Status::Granted | Status::Refused if !is_free => {
                let refused = (0..decisions.len()).filter(|i| match status {
                    Status::Granted => decisions[*i].would_refuse.is_some(),
                    _ => !decisions[*i].allowed(),
                });
                refused.rev().max_by_key(|i| wait(&decisions[*i]))
            }
            Status::Granted => (0..decisions.len()).min_by_key(|i| decisions[*i].remaining.unwrap_or(u64::MAX)),
            _ => decisions.iter().position(|decision| decision.status == status),
        };
        let described = described.unwrap_or_default();
        let limits = decisions.iter().zip(&self.each).flat_map(|(decision, part)| {
            let named = |limit: &DecisionLimit| DecisionLimit { limiter: Some(part.name.clone()), ..limit.clone() };
            decision.limits.iter().map(named)
        });
        let ticket = match status {
            Status::Granted => decisions.iter().enumerate().find_map(|(i, decision)| Some((i, decision.ticket?))),
            Status::Queued => decisions[described].ticket.map(|ticket| (described, ticket)),
            _ => None,
        };
        Decision {
            status,
            limiter: Some(self.each[described].name.clone()),
            permit: self.permit(decisions).filter(|_| status == Status::Granted),
            lease: decisions.iter().filter_map(|decision| decision.lease).min(),
            fencing_token: decisions.iter().find_map(|decision| decision.fencing_token),
            ticket: ticket.map(|(i, ticket)| Ticket { number: numbered(ticket.number, i), ..ticket }),
            limits: limits.collect(),
            is_lowered: self.is_lowered,
            ..decisions[described].clone()
        }
    }

    fn permit(&self, decisions: &[Decision]) -> Option<String> {
        let id = self.id.as_deref()?;
        let permits: Vec<Option<Permit<'_>>> =
            decisions.iter().map(|decision| decision.permit.as_deref().and_then(Permit::parse)).collect();
        let in_shadow: Vec<bool> =
            decisions.iter().map(|decision| decision.permit.as_deref() == Some(SHADOW)).collect();
        if permits.iter().any(Option::is_some) {
            return Some(JointPermit { id, permits, in_shadow }.to_string());
        }
        in_shadow.contains(&true).then(|| SHADOW.to_owned())
    }
}

/// Returns the number of a ticket of the limiter at `i`, so that it names the limiter too.
fn numbered(number: u64, i: usize) -> u64 {
    number * MAX_TOGETHER as u64 + i as u64
}

/// Returns the position for the limiter at `i` of a call that comes back with the ticket of one of several limiters.
fn position(position: QueuePosition, i: usize) -> QueuePosition {
    let limiters = MAX_TOGETHER as u64;
    match position {
        QueuePosition::Number(number) if number % limiters == i as u64 => QueuePosition::Number(number / limiters),
        QueuePosition::Number(_) => QueuePosition::End,
        other => other,
    }
}

/// A limiter that takes part in a call, with its state in memory.
pub(crate) struct Member<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) policy: &'a Policy,
    pub(crate) charge: Charge,
    /// The position of the limiter among all.
    pub(crate) place: usize,
}

/// Takes the charges of all limiters or nothing, behind their queues. See [`State::acquire`].
pub(crate) fn acquire(members: &mut [Member<'_>], server: u64) -> Result<Option<Vec<Reply>>> {
    let foreseen = members.iter_mut().map(|member| member.acquire(server, true)).collect::<Result<Option<Vec<_>>>>()?;
    let Some(mut replies) = foreseen else { return Ok(None) };
    let is_granted = replies.iter().all(|reply| reply.status == Status::Granted);
    for (member, reply) in members.iter_mut().zip(&mut replies) {
        let is_decided = is_granted || reply.status == Status::Refused || reply.would_refuse;
        if is_decided && let Some(decided) = member.acquire(server, false)? {
            *reply = decided;
        }
    }
    Ok(Some(replies))
}

/// Charges all limiters in any case. See [`State::debit`].
pub(crate) fn debit(members: &mut [Member<'_>], server: u64) -> Result<Vec<Reply>> {
    for member in &mut *members {
        member.state.adopt(member.policy, server)?;
    }
    members.iter_mut().map(|member| member.state.debit(member.policy, server, &member.charge)).collect()
}

/// Gives back the charges of all limiters. See [`Transaction::refund`].
pub(crate) fn refund(members: &mut [Member<'_>], channels: &dyn Publish, server: u64) -> Result<Vec<Reply>> {
    for member in &mut *members {
        member.state.adopt(member.policy, server)?;
    }
    let limiters = members.len();
    let refund = |member: &mut Member<'_>| {
        let transaction = Transaction::new(member.state, member.policy, channels, server, "")?;
        Ok(transaction.of_several(limiters).refund(&member.charge))
    };
    members.iter_mut().map(refund).collect()
}

/// Takes the charges of all limiters for a call with an id, or gives it a ticket of the first limiter that does not pass it.
/// Its other tickets are suspended, or removed when a limiter refuses it.
pub(crate) fn enter(
    members: &mut [Member<'_>],
    channels: &dyn Publish,
    server: u64,
    entry: &Entry<'_>,
) -> Result<Vec<Reply>> {
    for member in &mut *members {
        member.state.adopt(member.policy, server)?;
    }
    let mut call = Call { channels, server, entry, position: None, limiters: members.len().max(1) };
    let mut foreseen: Vec<_> = members.iter_mut().map(|member| call.enter(member, true)).collect();
    let has_no_ticket = |reply: &Result<Reply>| matches!(reply, Ok(reply) if reply.status == Status::NoTicket);
    if foreseen.iter().all(has_no_ticket) {
        return foreseen.into_iter().collect();
    }
    for (member, reply) in members.iter_mut().zip(&mut foreseen) {
        if has_no_ticket(reply) {
            // It has a ticket of another limiter, which need not be the only one.
            call.position = Some(QueuePosition::End);
            *reply = call.enter(member, true);
        }
        if reply.is_err() {
            break;
        }
    }
    let mut replies = match foreseen.into_iter().collect::<Result<Vec<_>>>() {
        Ok(replies) => replies,
        Err(error) => {
            for member in members {
                call.transaction(member)?.leave();
            }
            return Err(error);
        }
    };
    let is_refused = replies.iter().any(|reply| reply.status == Status::Refused);
    let queued = replies.iter().position(|reply| reply.status == Status::Queued);
    for (i, (member, reply)) in members.iter_mut().zip(&mut replies).enumerate() {
        let decides = match (is_refused, queued) {
            (true, _) => reply.status == Status::Refused || reply.would_refuse,
            (false, Some(queued)) => i == queued,
            (false, None) => true,
        };
        if decides {
            *reply = call.enter(member, false)?;
        }
    }
    for (i, member) in members.iter_mut().enumerate() {
        match (queued, entry.queue) {
            _ if is_refused && replies[i].status != Status::Refused => call.transaction(member)?.leave(),
            (Some(queued), Some(waiting)) if !is_refused && i != queued => {
                call.transaction(member)?.suspend(&waiting, replies[queued].retry_after);
            }
            _ => {}
        }
    }
    Ok(replies)
}

/// A call with an id to several limiters.
struct Call<'a> {
    channels: &'a dyn Publish,
    server: u64,
    entry: &'a Entry<'a>,
    /// The position in the queue instead of the call's.
    position: Option<QueuePosition>,
    limiters: usize,
}

impl Call<'_> {
    fn enter(&self, member: &mut Member<'_>, dry_run: bool) -> Result<Reply> {
        let queue = self.entry.queue.map(|waiting| {
            let position = self.position.unwrap_or_else(|| position(waiting.position, member.place));
            Waiting { position, ..waiting }
        });
        let entry = Entry { charge: member.charge, queue, ..*self.entry };
        let mut transaction = self.transaction(member)?;
        transaction.dry_run = dry_run;
        transaction.enter(entry)
    }

    fn transaction<'m>(&'m self, member: &'m mut Member<'_>) -> Result<Transaction<'m>> {
        let transaction = Transaction::new(member.state, member.policy, self.channels, self.server, self.entry.id)?;
        Ok(transaction.of_several(self.limiters))
    }
}

impl Member<'_> {
    fn acquire(&mut self, server: u64, dry_run: bool) -> Result<Option<Reply>> {
        self.state.acquire(self.policy, server, &self.charge, dry_run)
    }
}
