//! `acquire`: waiting on the calling thread, for Rust and C. Other hosts sleep in their own way.

use std::time::{Duration, Instant};

use crate::base::clock::monotonic;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::hub::{Hub, Registration};
use crate::client::limiter::Limiter;
use crate::client::waiter::{CANCEL_TIMEOUT, Waiter};
use crate::model::decision::Decision;
use crate::model::operation::Operation;
use crate::model::permit::new_id;
use crate::model::request::Request;
use crate::store::signal_handling::SignalHandling;

impl Limiter {
    /// Takes the cost as [`try_acquire`](Self::try_acquire) does, and waits in the queue, first come, first served, for up to
    /// `wait_timeout`.
    ///
    /// Returns a grant or a refusal. The thread sleeps while it waits; one connection per process receives the
    /// wake-ups. After an error it gives back what it may have been granted, in the rest of `wait_timeout`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let mail = Paddlegate::memory().throttle("mail", Duration::from_millis(20))?;
    /// assert!(mail.try_acquire(Request::cost(1))?.allowed());
    /// assert!(mail.acquire(Request::cost(1), Duration::from_secs(5))?.allowed(), "after at most 20 ms");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire(&self, request: Request<'_>, wait_timeout: Duration) -> Result<Decision> {
        let start = monotonic();
        let mut waiter = Waiter::new(true, Micros::from_duration("wait_timeout", wait_timeout)?, Micros(0))?;
        let id = new_id()?;
        // A store that is being closed waits for it: the call may have to give back its ticket.
        let mut registration = None;
        let decided = self.wait_in_queue(request, &id, &mut waiter, &mut registration, start);
        if waiter.must_cancel(decided.is_ok()) {
            // Only this call has the id: a lease or a ticket unknown to the caller would stay until its timeout.
            let left = wait_timeout.saturating_sub(start.elapsed()).max(CANCEL_TIMEOUT.duration());
            let cancel = Operation::Cancel { id: &id, gave_up: false };
            let _ = self.run_within(cancel, SignalHandling::Ignore, left);
        }
        decided
    }

    fn wait_in_queue(
        &self,
        request: Request<'_>,
        id: &str,
        waiter: &mut Waiter,
        registration: &mut Option<Registration>,
        start: Instant,
    ) -> Result<Decision> {
        let now = || since(start, monotonic());
        loop {
            let Some(registration) = self.register(registration, id) else {
                return self.acquire_with_id(request, id, None);
            };
            self.check_open()?;
            let channel = registration.channel().unwrap_or_default();
            let retry_at = waiter.retry_at(&channel);
            if now() < retry_at {
                let until = start + retry_at.duration();
                let listen = || self.listen_within(until.saturating_duration_since(monotonic()));
                if !(channel.is_empty() && registration.open(listen))
                    && let Some(woken_at) = registration.sleep(until)
                {
                    waiter.on_wakeup(since(start, woken_at));
                }
                continue;
            }
            registration.forget_wakeup();
            let wait = waiter.next(now(), &channel);
            let decision = self
                .acquire_with_id(request, id, Some(wait))
                .inspect_err(|error| waiter.on_error(error.may_have_counted()))?;
            if waiter.on_decision(now(), &decision) {
                return Ok(decision);
            }
        }
    }

    /// Registers the call at the hub of the node that sends its wake-ups now; `None` when the limiter has no state.
    fn register<'a>(&self, registration: &'a mut Option<Registration>, id: &str) -> Option<&'a Registration> {
        let hub = self.hub()?;
        if !registration.as_ref().is_some_and(|registration| registration.is_at(&hub)) {
            *registration = Some(Hub::register(&hub, id));
        }
        registration.as_ref()
    }
}

fn since(start: Instant, time: Instant) -> Micros {
    Micros(u64::try_from(time.saturating_duration_since(start).as_micros()).unwrap_or(u64::MAX))
}
