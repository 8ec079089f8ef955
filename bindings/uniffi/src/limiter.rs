//! `NativeLimiter`: a name and a policy on a store.

use std::sync::Arc;

use paddlegate_core::{Limiter, Operation, SignalHandling};

use crate::decision::{NativeDecision, NativeExtension, named, settled};
use crate::error::Result;
use crate::limit::NativeLimit;
use crate::number::some_us;
use crate::request::{NativeCharge, NativeRequest, NativeWait};
use crate::waiter::NativeWaiter;
use crate::wakeups::NativeWakeups;

/// A limiter.
#[derive(uniffi::Object)]
pub struct NativeLimiter(pub(crate) Limiter);

#[uniffi::export]
impl NativeLimiter {
    pub fn name(&self) -> String {
        self.0.name().to_owned()
    }

    pub fn limits(&self) -> Vec<NativeLimit> {
        self.0.limits().map(NativeLimit::shown).collect()
    }

    pub fn is_keyed(&self) -> bool {
        self.0.is_keyed()
    }

    pub fn grants_leases(&self) -> bool {
        self.0.grants_leases()
    }

    pub fn with_key(&self, key: String) -> Result<Arc<Self>> {
        Ok(Arc::new(Self(self.0.with_key(&key)?)))
    }

    pub fn check_allow(&self) -> Result<()> {
        Ok(self.0.check_allow()?)
    }

    /// Takes one unit and tells whether it was granted.
    pub fn allow_one(&self) -> Result<bool> {
        let one = paddlegate_core::Request::default();
        self.0.check_allow()?;
        match self.0.allow_at_once(&one) {
            Some(is_granted) => Ok(is_granted),
            None => Ok(self.0.try_acquire(one)?.allowed()),
        }
    }

    pub fn acquire(&self, request: Option<NativeRequest>) -> Result<NativeDecision> {
        Ok(NativeRequest::with(request.as_ref(), |request| self.0.try_acquire(request))?.into())
    }

    pub fn acquire_with_id(
        &self,
        request: Option<NativeRequest>,
        id: String,
        wait: Option<NativeWait>,
    ) -> Result<NativeDecision> {
        let wait = wait.as_ref().map(NativeWait::read).transpose()?;
        Ok(NativeRequest::with(request.as_ref(), |request| self.0.acquire_with_id(request, &id, wait))?.into())
    }

    /// Makes the next attempt of a call that waits.
    pub fn attempt(
        &self,
        waiter: Arc<NativeWaiter>,
        request: Option<NativeRequest>,
        id: String,
        now_us: i64,
        channel: String,
    ) -> Result<NativeDecision> {
        let decided = NativeRequest::with(request.as_ref(), |request| {
            let wait = waiter.core().next(NativeWaiter::time(now_us), &channel);
            self.0.acquire_with_id(request, &id, Some(wait))
        });
        Ok(decided.inspect_err(|error| waiter.core().on_error(error.may_have_counted()))?.into())
    }

    pub fn peek(&self, request: Option<NativeRequest>) -> Result<NativeDecision> {
        Ok(NativeRequest::with(request.as_ref(), |request| self.0.peek(request))?.into())
    }

    pub fn debit(&self, cost: NativeCharge) -> Result<NativeDecision> {
        Ok(cost.with("cost", |cost| self.0.debit(cost))?.into())
    }

    pub fn refund(&self, units: NativeCharge) -> Result<NativeDecision> {
        Ok(units.with("units", |units| self.0.refund(units))?.into())
    }

    pub fn correct(&self, permit: String, actual: NativeCharge) -> Result<String> {
        Ok(named(actual.with("actual", |actual| self.0.correct(&permit, actual))?))
    }

    pub fn extend(&self, permit: String, units: NativeCharge) -> Result<NativeExtension> {
        Ok(units.with("units", |units| self.0.extend(&permit, units))?.into())
    }

    pub fn release(&self, permit: String) -> Result<String> {
        Ok(named(self.0.release(&permit)?))
    }

    pub fn renew(&self, permit: String) -> Result<Option<i64>> {
        Ok(some_us(self.0.renew(&permit)?))
    }

    pub fn cancel(&self, id: String, gave_up: bool) -> Result<String> {
        settled(self.0.run(Operation::Cancel { id: &id, gave_up }, SignalHandling::Ignore)?)
    }

    pub fn reset(&self) -> Result<()> {
        Ok(self.0.reset()?)
    }

    /// Returns the node that sends the wake-ups; none where nothing can wait.
    pub fn notification_node(&self) -> Option<String> {
        self.0.notification_node()
    }

    pub fn listen(&self) -> Result<Arc<NativeWakeups>> {
        Ok(Arc::new(NativeWakeups::new(self.0.listen()?)?))
    }
}
