//! `Limiter`: the operations, each one call into core. The memory store answers at once.

use paddlegate::{
    Answer, CLAIM_TIMEOUT, Decision, Error, Extension, History, Inspection, JOB_CLAIM_TIMEOUT, LimiterInfo, MAX_SPAN,
    Micros, Operation, Page, QueuePosition, Request, Result, SignalHandling, Statistics, Wait, WakeupListener,
};
use wasm_bindgen::prelude::*;

use crate::argument::{Units, millis, optional, text, whole, with_request};
use crate::clock::StoreClock;
use crate::host::{Host, Thrown, number};

/// An argument that JavaScript left out.
const NOTHING: JsValue = JsValue::UNDEFINED;

/// A limiter: a name and a policy.
#[wasm_bindgen]
pub struct Limiter {
    pub(crate) inner: paddlegate::Limiter,
    pub(crate) host: Host,
    pub(crate) clock: StoreClock,
}

impl Limiter {
    fn acquired(
        &self,
        id: &JsValue,
        cost: &JsValue,
        estimate: &JsValue,
        settle_within: &JsValue,
        place: &JsValue,
    ) -> Result<Decision> {
        let id = optional(id, |id| text("id", id))?;
        with_request(cost, estimate, settle_within, place, &mut |request| {
            self.decided(match &id {
                None => Operation::Acquire(request),
                Some(id) => Operation::AcquireWithId { request, id, wait: None },
            })
        })
    }

    fn corrected(&self, permit: &JsValue, actual: &JsValue) -> Result<&'static str> {
        let permit = text("permit", permit)?;
        let actual = Units::read("actual", actual)?;
        self.settled(Operation::Correct { permit: &permit, actual: actual.borrowed().cost() })
    }

    fn debited(&self, cost: &JsValue) -> Result<Decision> {
        self.decided(Operation::Debit(Units::read("cost", cost)?.borrowed().cost()))
    }

    fn refunded(&self, units: &JsValue) -> Result<Decision> {
        self.decided(Operation::Refund(Units::read("units", units)?.borrowed().cost()))
    }

    fn extended(&self, permit: &JsValue, units: &JsValue) -> Result<Extension> {
        let permit = text("permit", permit)?;
        let units = Units::read("units", units)?;
        match self.run(Operation::Extend { permit: &permit, units: units.borrowed().cost() })? {
            Answer::Extension(extension) => Ok(*extension),
            _ => Err(unexpected()),
        }
    }

    fn renewed(&self, permit: &JsValue) -> Result<Option<f64>> {
        match self.run(Operation::Renew { permit: &text("permit", permit)? })? {
            Answer::Renewal(lease) => Ok(lease.map(|lease| number(lease.0))),
            _ => Err(unexpected()),
        }
    }

    fn counted(&self) -> Result<Statistics> {
        match self.run(Operation::Statistics)? {
            Answer::Statistics(counts) => Ok(*counts),
            _ => Err(unexpected()),
        }
    }

    fn recorded(&self) -> Result<History> {
        match self.run(Operation::History)? {
            Answer::History(history) => Ok(*history),
            _ => Err(unexpected()),
        }
    }

    fn listed(&self, count: &JsValue) -> Result<Vec<String>> {
        match self.run(Operation::Ready { count: whole("count", count)?, host: None })? {
            Answer::Ready(ready) => Ok(ready.ids),
            _ => Err(unexpected()),
        }
    }

    fn inspected(&self, offset: &JsValue, count: &JsValue) -> Result<Inspection> {
        let page = Page { offset: whole("offset", offset)?, count: whole("count", count)? };
        match self.run(Operation::Inspect { page })? {
            Answer::Inspection(inspection) => Ok(*inspection),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn decided(&self, operation: Operation<'_>) -> Result<Decision> {
        match self.run(operation)? {
            Answer::Decision(decision) => Ok(decision),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn settled(&self, operation: Operation<'_>) -> Result<&'static str> {
        match self.run(operation)? {
            Answer::Settlement(settlement) => Ok(settlement.name()),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn run(&self, operation: Operation<'_>) -> Result<Answer> {
        self.clock.update()?;
        self.inner.run(operation, SignalHandling::Ignore)
    }

    fn shown(&self, decision: Result<Decision>) -> Thrown<JsValue> {
        self.thrown(decision).map(|decision| self.host.decided(&decision))
    }

    pub(crate) fn thrown<T>(&self, result: Result<T>) -> Thrown<T> {
        result.map_err(|error| self.host.error(error))
    }
}

#[wasm_bindgen]
impl Limiter {
    /// Returns the name of the limiter.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.inner.name().to_owned()
    }

    /// Returns an entry of the list of limiters with the limits of this one.
    pub fn entry(&self) -> JsValue {
        let listed = LimiterInfo {
            name: self.name(),
            limits: self.inner.limits().cloned().collect(),
            last_used: Micros(0),
            ttl: self.inner.ttl(),
            group: None,
            keyed: self.inner.is_keyed(),
            mode: self.inner.mode(),
        };
        self.host.limiter(&listed)
    }

    /// Returns the group of the limiter.
    #[wasm_bindgen(getter)]
    pub fn group(&self) -> Option<String> {
        self.inner.group().map(str::to_owned)
    }

    /// Returns whether the limiter has a state for each key.
    #[wasm_bindgen(getter)]
    pub fn keyed(&self) -> bool {
        self.inner.is_keyed()
    }

    /// Makes this the limiter of another key.
    #[wasm_bindgen(js_name = setKey)]
    pub fn set_key(&mut self, key: &JsValue) -> Thrown<()> {
        let limiter = text("key", key).and_then(|key| self.inner.with_key(&key));
        self.inner = self.thrown(limiter)?;
        Ok(())
    }

    /// Returns the same limiter once more, for one of several limiters to take over.
    #[must_use]
    pub fn share(&self) -> Self {
        Self { inner: self.inner.clone(), host: self.host.clone(), clock: self.clock.clone() }
    }

    /// Takes the cost if every limit allows it, with an id or without. Returns the decision.
    pub fn acquire(
        &self,
        id: &JsValue,
        cost: &JsValue,
        estimate: &JsValue,
        settle_within: &JsValue,
        place: &JsValue,
    ) -> Thrown<JsValue> {
        self.shown(self.acquired(id, cost, estimate, settle_within, place))
    }

    /// Acquires with an id, and takes a ticket if the call has to wait. `queue_position` is the number of a ticket,
    /// negative for the existing position, or `undefined` for the end of the queue.
    #[allow(clippy::too_many_arguments)]
    pub fn queue(
        &self,
        id: &JsValue,
        cost: &JsValue,
        estimate: &JsValue,
        settle_within: &JsValue,
        place: &JsValue,
        max_wait: &JsValue,
        claim_timeout: &JsValue,
        queue_position: &JsValue,
        channel: &str,
    ) -> Thrown<JsValue> {
        // Only waiters have a channel.
        let default_claim_timeout = if channel.is_empty() { JOB_CLAIM_TIMEOUT } else { CLAIM_TIMEOUT };
        let decision = || {
            let id = text("id", id)?;
            let max_wait = optional(max_wait, |value| millis("wait_timeout", value))?.unwrap_or(MAX_SPAN);
            let wait = Wait {
                claim_timeout: optional(claim_timeout, |value| millis("claim_timeout", value))?
                    .unwrap_or(default_claim_timeout),
                channel,
                position: match queue_position.as_f64() {
                    None => QueuePosition::End,
                    Some(existing) if existing < 0.0 => QueuePosition::Existing,
                    Some(_) => QueuePosition::Number(whole("ticket", queue_position)?),
                },
                ..Wait::up_to(max_wait)
            };
            with_request(cost, estimate, settle_within, place, &mut |request| {
                self.decided(Operation::AcquireWithId { request, id: &id, wait: Some(wait) })
            })
        };
        self.shown(decision())
    }

    /// Acquires as `acquire` does. Returns only whether the call was granted.
    pub fn allow(&self, cost: &JsValue, estimate: &JsValue, settle_within: &JsValue) -> Thrown<bool> {
        let acquired = || self.acquired(&NOTHING, cost, estimate, settle_within, &NOTHING);
        let decision = self.inner.check_allow().and_then(|()| acquired());
        self.thrown(decision).map(|decision| decision.allowed())
    }

    /// Returns the decision that `acquire` would make, and changes nothing.
    pub fn peek(
        &self,
        cost: &JsValue,
        estimate: &JsValue,
        settle_within: &JsValue,
        place: &JsValue,
    ) -> Thrown<JsValue> {
        let mut peeked = |request: Request<'_>| self.decided(Operation::Peek(request));
        self.shown(with_request(cost, estimate, settle_within, place, &mut peeked))
    }

    /// Replaces the estimate of a permit with the actual cost. Returns the name of the settlement.
    pub fn correct(&self, permit: &JsValue, actual: &JsValue) -> Thrown<String> {
        self.thrown(self.corrected(permit, actual)).map(str::to_owned)
    }

    /// Reserves more units for the call of a permit. Returns the decision, or the name of the settlement of a permit that is
    /// not open.
    pub fn extend(&self, permit: &JsValue, units: &JsValue) -> Thrown<JsValue> {
        self.thrown(self.extended(permit, units)).map(|extension| match extension {
            Extension::Decided(decision) => self.host.decided(&decision),
            Extension::Closed(settlement) => settlement.name().into(),
        })
    }

    /// Charges a cost in any case, up to one whole limit of debt. Returns the decision.
    pub fn debit(&self, cost: &JsValue) -> Thrown<JsValue> {
        self.shown(self.debited(cost))
    }

    /// Gives units back without a permit, at most what is taken. Returns the decision.
    pub fn refund(&self, units: &JsValue) -> Thrown<JsValue> {
        self.shown(self.refunded(units))
    }

    /// Ends the lease of a permit. Returns the name of the settlement.
    pub fn release(&self, permit: &JsValue) -> Thrown<String> {
        let settled = text("permit", permit).and_then(|permit| self.settled(Operation::Release { permit: &permit }));
        self.thrown(settled).map(str::to_owned)
    }

    /// Renews a lease for its full duration. Returns the duration in microseconds, unless the lease has ended.
    pub fn renew(&self, permit: &JsValue) -> Thrown<Option<f64>> {
        self.thrown(self.renewed(permit))
    }

    /// Leaves the queue. Returns the name of the settlement.
    pub fn cancel(&self, id: &JsValue, gave_up: bool) -> Thrown<String> {
        let settled = text("id", id).and_then(|id| self.settled(Operation::Cancel { id: &id, gave_up }));
        self.thrown(settled).map(str::to_owned)
    }

    /// Returns the ids of queued calls whose turn has come.
    pub fn ready(&self, count: &JsValue) -> Thrown<Vec<String>> {
        self.thrown(self.listed(count))
    }

    /// Returns the limits, and a page of the leases and of the tickets.
    pub fn inspect(&self, offset: &JsValue, count: &JsValue) -> Thrown<JsValue> {
        self.thrown(self.inspected(offset, count)).map(|inspection| self.host.inspected(inspection))
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> Thrown<JsValue> {
        self.thrown(self.counted()).map(|counts| self.host.counted(&counts))
    }

    /// Returns the history.
    pub fn history(&self) -> Thrown<JsValue> {
        self.thrown(self.recorded()).map(|history| self.host.recorded(&history))
    }

    /// Returns the channel for the wake-ups of this store's waiters; nothing for a limiter without a state, for which no
    /// call waits.
    pub fn listen(&self) -> Thrown<Option<Channel>> {
        let has_state = self.inner.notification_node().is_some();
        has_state.then(|| self.thrown(self.inner.listen()).map(Channel)).transpose()
    }

    /// Deletes the state of the limiter.
    pub fn reset(&self) -> Thrown<()> {
        self.thrown(self.run(Operation::Reset).map(drop))
    }
}

/// The message omits the answer: formatting it would add a tenth to the module's size.
pub(crate) fn unexpected() -> Error {
    Error::internal("unexpected reply type")
}

/// The channel for the wake-ups of waiters.
#[wasm_bindgen]
pub struct Channel(WakeupListener);

#[wasm_bindgen]
impl Channel {
    /// Returns the name of the channel, for the tickets of its waiters.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.channel().to_owned()
    }

    /// Returns the wake-ups since the last call, each as a delay in microseconds and an id. Call it after each
    /// operation.
    pub fn receive(&self) -> Vec<String> {
        let wakeups = self.0.receive().unwrap_or_default();
        wakeups.into_iter().map(|wakeup| format!("{} {}", wakeup.delay.0, wakeup.id)).collect()
    }
}
