//! Several limiters, one decision.

use std::sync::{Arc, MutexGuard};

use super::prepare::decided;
use super::{Inner, Limiter, StateLocation};
use crate::base::charge::Charge;
use crate::base::error::{Error, Result};
use crate::client::prepared::Prepared;
use crate::client::store::Store;
use crate::engine::counters::Counters;
use crate::engine::reply::Reply;
use crate::engine::state::State;
use crate::engine::together::{self, Member, Part, Parts};
use crate::engine::transaction::{Entry, Publish, Waiting};
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::Operation;
use crate::model::permit::{MAX_TOGETHER, new_id};
use crate::model::policy::Policy;
use crate::model::request::{Wait, check_id};
#[cfg(feature = "redis")]
use crate::store::redis::{Call, Keys};
use crate::verbs::Verb;
use crate::verbs::acquire::Acquire;
use crate::verbs::debit::Debit;
use crate::verbs::decision::Asks;
use crate::verbs::enter::Enter;
use crate::verbs::peek::Peek;
use crate::verbs::refund::Refund;

/// A change of the states of several limiters at a time.
type ChangeAt<'a> = dyn FnMut(&mut [Member<'_>], u64) -> Result<Vec<Reply>> + 'a;

/// The same with who sends the wake-ups.
type Decide<'a> = dyn FnMut(&mut [Member<'_>], u64, &dyn Publish) -> Result<Vec<Reply>> + 'a;

impl Limiter {
    /// Creates the limiter of several limiters. See [`Paddlegate::together`](crate::Paddlegate::together).
    pub(crate) fn of_several(store: &Store, limiters: &[&Self]) -> Result<Self> {
        let invalid = |message: String| Err(Error::invalid("limiters", message));
        if limiters.is_empty() || limiters.len() > MAX_TOGETHER {
            return invalid(format!("one to {MAX_TOGETHER} limiters decide together: limiters={}", limiters.len()));
        }
        for (i, limiter) in limiters.iter().enumerate() {
            let name = limiter.name();
            if !limiter.inner.together.is_empty() {
                return invalid(format!("must be single limiters; give the limiters that it joins: name={name}"));
            }
            if !limiter.inner.store.is_same(store) {
                return invalid(format!("must be of this store: name={name}"));
            }
            if limiters[..i].iter().any(|other| other.name() == name) {
                return invalid(format!("must have different names: name={name}"));
            }
            if limiter.is_keyed() && limiter.key().is_none() {
                return Err(limiter.key_is_missing());
            }
            if limiter.group() != limiters[0].group() {
                let message = format!("limiters that decide together have the same group or none: name={name}");
                return Err(Error::invalid("group", message));
            }
        }
        let names: Vec<&str> = limiters.iter().map(|limiter| limiter.name()).collect();
        let policy = Arc::new(Policy::without_limits());
        let ttl = limiters.iter().map(|limiter| limiter.ttl()).max().unwrap_or_default();
        let several = Inner {
            on_unavailable: OnUnavailable::strictest(limiters.iter().map(|limiter| limiter.on_unavailable())),
            group: limiters[0].inner.group.clone(),
            together: limiters.iter().map(|limiter| (*limiter).clone()).collect(),
            ..Inner::new(store, names.join(" + ").into(), &policy, ttl)
        };
        Ok(several.made())
    }

    /// Returns the limiters that decide together; empty for a single limiter.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::memory();
    /// let (org, user) = (pg.bucket("org", 9, Duration::from_secs(60))?, pg.throttle("user", Duration::from_secs(1))?);
    /// let both = pg.together(&[&org, &user])?;
    /// assert_eq!((both.name(), both.limiters().len(), org.limiters().len()), ("org + user", 2, 0));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiters(&self) -> &[Self] {
        &self.inner.together
    }

    /// Returns whether a grant is a lease, which must be released: the policy has a concurrency limit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::memory();
    /// assert!(pg.concurrent("workers", 2, Duration::from_secs(60))?.grants_leases());
    /// assert!(!pg.window("api", 2, Duration::from_secs(60))?.grants_leases());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn grants_leases(&self) -> bool {
        let of_one = |limiter: &Self| limiter.inner.policy.concurrency().is_some();
        of_one(self) || self.inner.together.iter().any(of_one)
    }

    /// Returns the policy that a verb works on, which several limiters do not have together.
    pub(crate) fn single_policy(&self, verb: &'static str) -> Result<&Policy> {
        if self.inner.together.is_empty() { Ok(self.policy()) } else { Err(of_one(verb)) }
    }

    pub(super) fn start_together(&self, operation: Operation<'_>) -> Result<Prepared> {
        match operation {
            Operation::Acquire(request) => {
                let (charges, permit) = request.charges(&self.policies())?;
                let mut limiters = self.inner.together.iter().zip(&charges);
                let has_lease = limiters.any(|(limiter, charge)| limiter.grants_leases() && charge.most() > 0);
                let id = if permit.is_some() || has_lease { Some(new_id()?) } else { None };
                let entry = Entry::without_queue(id.as_deref().unwrap_or_default(), Charge::All(0), permit);
                self.acquire_of_all(charges, entry.describing(request.limits))
            }
            Operation::AcquireWithId { request, id, wait } => {
                check_id(id)?;
                wait.as_ref().map_or(Ok(()), Wait::check)?;
                let (charges, permit) = request.charges(&self.policies())?;
                let (order, queue, describes) = (request.order()?, wait.map(Waiting::from), request.limits);
                self.acquire_of_all(charges, Entry { id, charge: Charge::All(0), permit, order, queue, describes })
            }
            Operation::Peek(mut request) => {
                let is_estimate = request.estimate.is_some();
                if !is_estimate {
                    // Also for `points`, where other calls must give a cost: a peek charges nothing.
                    request.cost.get_or_insert(Cost::Units(1));
                }
                let (charges, _) = request.charges(&self.policies())?;
                let parts = Parts { describes: request.limits, ..self.parts(charges, is_estimate, None) };
                self.peek_at_all(parts)
            }
            Operation::Debit(cost) => self.debit_all(cost),
            Operation::Refund(units) => self.refund_all(units),
            Operation::Correct { permit, actual } => self.correct_all(permit, actual),
            Operation::Extend { .. } => Err(of_one("extend")),
            Operation::Release { permit } => self.release_all(permit),
            Operation::Renew { permit } => self.renew_all(permit),
            Operation::Cancel { id, gave_up } => self.cancel_all(id, gave_up),
            Operation::Ready { .. } => Err(of_one("ready")),
            Operation::Statistics => Err(of_one("statistics")),
            Operation::History => Err(of_one("history")),
            #[cfg(feature = "redis")]
            Operation::MostRefused { .. } => Err(of_one("most_refused")),
            Operation::ApplyReport { .. } => Err(of_one("learn")),
            Operation::Admin { command } => Err(of_one(command.verb())),
            Operation::Inspect { .. } => Err(of_one("inspect")),
            Operation::Reset => Err(of_one("reset")),
        }
    }

    pub(super) fn policies(&self) -> Vec<(&str, &Policy)> {
        self.inner.together.iter().map(|limiter| (limiter.name(), limiter.policy())).collect()
    }

    fn parts(&self, mut charges: Vec<Charge>, is_estimate: bool, id: Option<&str>) -> Parts {
        let mut is_lowered = false;
        if is_estimate && matches!(self.location(), StateLocation::Memory { .. }) {
            for (limiter, charge) in self.inner.together.iter().zip(&mut charges) {
                let policy = limiter.policy();
                // Nearly every estimate fits, and then nobody needs the limits in force.
                let Some(lowered) = policy.fitted(policy, charge) else { continue };
                let lowered = match limiter.known_cell() {
                    None => Some(lowered),
                    Some(cell) => {
                        let state = cell.lock(State::default);
                        state.effective_policy(policy, limiter.now_for(&state)).fitted(policy, charge)
                    }
                };
                if let Some(lowered) = lowered {
                    (*charge, is_lowered) = (lowered, true);
                }
            }
        }
        let part = |(limiter, charge): (&Self, Charge)| Part {
            name: limiter.name().to_owned(),
            policy: limiter.inner.policy.clone(),
            charge,
            has_state: limiter.has_state(),
        };
        Parts {
            each: self.inner.together.iter().zip(charges).map(part).collect(),
            id: id.map(str::to_owned),
            is_estimate,
            is_run: false,
            describes: false,
            is_lowered,
        }
    }

    /// Returns whether the store decides, and not this process alone.
    pub(crate) fn has_state(&self) -> bool {
        !matches!(self.inner.location, StateLocation::Stateless)
    }

    /// Returns the limiters with a state.
    pub(super) fn with_state(&self) -> impl Iterator<Item = &Self> {
        self.inner.together.iter().filter(|limiter| limiter.has_state())
    }

    /// Returns the decision of a limiter that refuses every call, if one is among them, or of limiters without a state.
    fn decided_without_state(&self, parts: &Parts) -> Option<Decision> {
        let paused = parts.each.iter().find_map(|part| Some((part, part.policy.paused()?)));
        if let Some((part, limit)) = paused {
            let limiter = Some(part.name.clone());
            return Some(Decision { limiter, ..Decision::paused(Some(limit.label())) });
        }
        self.with_state().next().is_none().then(|| parts.decision(&[]))
    }

    /// Takes the charges of all limiters for a call, whose id is empty when it has none.
    fn acquire_of_all(&self, charges: Vec<Charge>, entry: Entry<'_>) -> Result<Prepared> {
        let id = Some(entry.id).filter(|id| !id.is_empty());
        let (is_run, describes) = (entry.is_run(), entry.describes);
        let parts = Parts { is_run, describes, ..self.parts(charges, entry.permit.is_some(), id) };
        if let Some(decision) = self.decided_without_state(&parts) {
            return Ok(decided(decision));
        }
        let mut memory = |members: &mut [Member<'_>], now, channels: &dyn Publish| {
            if id.is_some() {
                return together::enter(members, channels, now, &entry);
            }
            if let Some(replies) = together::acquire(members, now)? {
                return Ok(replies);
            }
            let id = new_id()?;
            together::enter(members, channels, now, &Entry { id: &id, ..entry })
        };
        if id.is_some() {
            let enter = |place, part: &Part| Enter(part.entry(place, describes, &entry));
            return self.decide_all(parts, Asks::WithId, enter, &mut memory);
        }
        let acquire = |_, part: &Part| Acquire { charge: part.charge, is_estimate: false, describes };
        self.decide_all(parts, Asks::WithoutId, acquire, &mut memory)
    }

    fn peek_at_all(&self, parts: Parts) -> Result<Prepared> {
        if let Some(decision) = self.decided_without_state(&parts) {
            return Ok(decided(decision));
        }
        let (is_estimate, describes, argument) = (parts.is_estimate, parts.describes, parts.argument());
        let peek = |_, part: &Part| Peek { charge: part.charge, is_estimate, describes };
        self.decide_all(parts, Asks::Nothing, peek, &mut |members, now, _| {
            let peek = |member: &mut Member<'_>| member.state.peek(member.policy, now, argument, &member.charge);
            members.iter_mut().map(peek).collect()
        })
    }

    fn debit_all(&self, cost: Cost<'_>) -> Result<Prepared> {
        let parts = self.parts_with_units("debit", cost.charges("cost", &self.policies())?)?;
        if parts.with_state().next().is_none() {
            return Ok(decided(parts.decision(&[])));
        }
        self.decide_all(parts, Asks::Nothing, |_, part| Debit(part.charge), &mut |members, now, _| {
            together::debit(members, now)
        })
    }

    fn refund_all(&self, units: Cost<'_>) -> Result<Prepared> {
        let parts = self.parts_with_units("refund", units.charges("units", &self.policies())?)?;
        if parts.with_state().next().is_none() {
            return Ok(decided(parts.decision(&[])));
        }
        self.decide_all(parts, Asks::Nothing, |_, part| Refund(part.charge), &mut |members, now, channels| {
            together::refund(members, channels, now)
        })
    }

    /// Picks the place that decides for all limiters of `parts` with a state.
    #[cfg_attr(not(feature = "redis"), allow(unused_variables, clippy::needless_pass_by_value))]
    fn decide_all<V: Verb>(
        &self,
        parts: Parts,
        asks: Asks,
        verb: impl Fn(usize, &Part) -> V,
        memory: &mut Decide<'_>,
    ) -> Result<Prepared> {
        match self.location() {
            StateLocation::Stateless => Err(Error::internal("the limiters have no state")),
            StateLocation::Memory { store, .. } => {
                let replies = self.locked(&parts, &mut |members, now| memory(members, now, &**store))?;
                Ok(decided(parts.decision(&replies)))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { .. } => {
                let encode = |(place, (limiter, part)): (usize, (&Self, &Part))| {
                    let verb = verb(place, part);
                    Some((limiter.own_keys()?, verb.encode(&part.policy, limiter.listed(verb.listing()))))
                };
                let each = self.inner.together.iter().zip(&parts.each).enumerate();
                let with_state = each.filter(|(_, (_, part))| part.has_state);
                let (keys, words): (Vec<_>, Vec<_>) = with_state.filter_map(encode).unzip();
                Ok(Prepared::Call(Call::together(parts, &keys, &words, asks, self.test_time())))
            }
        }
    }

    /// Returns the parts of a verb that takes or gives back units. A limiter that counts calls alone has no part in it.
    fn parts_with_units(&self, verb: &'static str, charges: Vec<Charge>) -> Result<Parts> {
        let counts_units = |policy: &Policy| policy.limits().iter().any(|limit| !limit.counts_starts());
        if self.with_state().next().is_some() && !self.with_state().any(|limiter| counts_units(limiter.policy())) {
            return Err(Error::invalid(verb, "takes units, and no limit of the limiters counts units"));
        }
        let mut parts = self.parts(charges, false, None);
        for part in &mut parts.each {
            // A limiter that counts calls alone is not changed.
            part.has_state &= counts_units(&part.policy);
        }
        Ok(parts)
    }

    /// Locks the states in memory of all limiters of `parts` with a state, in the order of their names, so that no two calls
    /// wait for each other, and runs a change of them at the time that is read then.
    pub(super) fn locked(&self, parts: &Parts, run: &mut ChangeAt<'_>) -> Result<Vec<Reply>> {
        let limiters = &self.inner.together;
        let mut order: Vec<usize> = Vec::with_capacity(limiters.len());
        for place in (0..limiters.len()).filter(|place| parts.each[*place].has_state) {
            let is_behind = |other: &usize| limiters[*other].name() > limiters[place].name();
            let at = order.iter().position(is_behind).unwrap_or(order.len());
            order.insert(at, place);
        }
        let mut guards: [Option<MutexGuard<'_, State>>; MAX_TOGETHER] = Default::default();
        for place in order {
            guards[place] = Some(limiters[place].cell()?.lock(State::default));
        }
        let mut members = Vec::with_capacity(limiters.len());
        for (place, state) in guards.iter_mut().enumerate() {
            if let Some(state) = state {
                members.push(Member {
                    state,
                    policy: limiters[place].policy(),
                    charge: parts.each[place].charge,
                    place,
                });
            }
        }
        let before: Vec<Option<Counters>> =
            members.iter_mut().map(|member| limiters[member.place].set_counters_aside(member.state)).collect();
        let now = members.iter().map(|member| self.now_for(member.state)).max().unwrap_or_else(|| self.now());
        let mut result = run(&mut members, now);
        if let (Ok(replies), true) = (&mut result, parts.describes) {
            for (member, reply) in members.iter().zip(replies) {
                *reply = member.state.describe(member.policy, &member.charge, reply.clone());
            }
        }
        for (member, before) in members.iter_mut().zip(before) {
            limiters[member.place].count_elsewhere(member.state, before);
        }
        result
    }

    #[cfg(feature = "redis")]
    pub(super) fn own_keys(&self) -> Option<Arc<Keys>> {
        match &self.inner.location {
            StateLocation::Redis { keys, .. } => Some(keys.clone()),
            _ => None,
        }
    }
}

/// Returns the error of a verb that several limiters do not have.
fn of_one(verb: &'static str) -> Error {
    Error::invalid(verb, "works on one limiter; call it on one of those that decide together")
}
