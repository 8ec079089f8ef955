//! `NativeWaiter`: the rules of one call that waits. The package sleeps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paddlegate_core::{Micros, Waiter};

use crate::error::Result;
use crate::number::{micros, some, us};
use crate::request::NativeWait;

/// One call that waits: when it retries, with which ticket, and what must be cancelled.
#[derive(uniffi::Object)]
pub struct NativeWaiter(Mutex<Waiter>);

#[uniffi::export]
impl NativeWaiter {
    #[uniffi::constructor]
    pub fn new(owns_id: bool, max_wait_us: i64, now_us: i64) -> Result<Arc<Self>> {
        let rules = Waiter::new(owns_id, micros("wait_timeout", max_wait_us)?, Self::time(now_us))?;
        Ok(Arc::new(Self(Mutex::new(rules))))
    }

    /// Begins the wait of a job in its worker.
    #[uniffi::constructor]
    pub fn of_job(claim_timeout_us: Option<i64>, patience_us: i64, now_us: i64) -> Result<Arc<Self>> {
        let claim_timeout = some("claim_timeout", claim_timeout_us, micros)?;
        let rules = Waiter::of_job(claim_timeout, micros("patience", patience_us)?, Self::time(now_us))?;
        Ok(Arc::new(Self(Mutex::new(rules))))
    }

    pub fn next(&self, now_us: i64, channel: String) -> NativeWait {
        self.core().next(Self::time(now_us), &channel).into()
    }

    /// Evaluates a decision that queued the call; tells whether it is final.
    pub fn on_queued(&self, now_us: i64, retry_after_us: Option<i64>, ticket: Option<i64>) -> bool {
        let ticket = ticket.and_then(|ticket| u64::try_from(ticket).ok());
        self.core().on_queued(Self::time(now_us), retry_after_us.map(Self::time), ticket)
    }

    /// Evaluates a final decision.
    pub fn on_final(&self, allowed: bool, degraded: bool) {
        self.core().on_final(allowed, degraded);
    }

    pub fn on_error(&self, may_have_counted: bool) {
        self.core().on_error(may_have_counted);
    }

    pub fn on_wakeup(&self, at_us: i64) {
        self.core().on_wakeup(Self::time(at_us));
    }

    pub fn retry_at(&self, channel: String) -> i64 {
        us(self.core().retry_at(&channel))
    }

    pub fn has_ticket(&self) -> bool {
        self.core().has_ticket()
    }

    pub fn must_cancel(&self, is_delivered: bool) -> bool {
        self.core().must_cancel(is_delivered)
    }
}

impl NativeWaiter {
    pub(crate) fn core(&self) -> MutexGuard<'_, Waiter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a time of the host's clock, which does not begin before zero.
    pub(crate) fn time(us: i64) -> Micros {
        Micros(u64::try_from(us).unwrap_or_default())
    }
}

/// Returns the pause before a lost listener is opened again.
#[uniffi::export]
pub fn reconnect_pause_us(failures: u32) -> i64 {
    us(paddlegate_core::reconnect_pause(failures))
}

/// Returns for how long a thread waits for a cancellation.
#[uniffi::export]
pub fn cancel_timeout_us() -> i64 {
    us(paddlegate_core::CANCEL_TIMEOUT)
}
