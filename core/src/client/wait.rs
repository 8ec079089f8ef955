//! `acquire_timeout`: waiting on the calling thread, for Rust and C. Other hosts sleep in their own way.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::base::bounds::CLAIM_TIMEOUT;
use crate::base::clock::monotonic;
use crate::base::error::{Error, Result};
use crate::base::locked;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::wakeup::WakeupListener;
use crate::model::decision::{Decision, Status};
use crate::model::operation::Operation;
use crate::model::permit::new_id;
use crate::model::request::{QueuePosition, Request, Wait};
use crate::store::signal_handling::SignalHandling;

/// The minimum time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(100);

/// The minimum time for giving back what a failed wait may have been granted.
const GRACE: Duration = Duration::from_millis(50);

impl Limiter {
    /// Takes the cost as [`acquire`](Self::acquire) does, and waits in the queue, first come, first served, for up to
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
    /// assert!(mail.acquire(Request::cost(1))?.allowed());
    /// assert!(mail.acquire_timeout(Request::cost(1), Duration::from_secs(5))?.allowed(), "after at most 20 ms");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire_timeout(&self, request: Request, wait_timeout: Duration) -> Result<Decision> {
        let deadline = monotonic()
            .checked_add(wait_timeout)
            .ok_or_else(|| Error::invalid("wait_timeout", "must be at most ten years"))?;
        let id = new_id()?;
        let mut ticket = QueuePosition::End;
        let decided = self.wait_in_turn(request, &id, deadline, &mut ticket);
        if let Err(error) = &decided
            && (error.may_have_counted() || ticket != QueuePosition::End)
        {
            // Only this call has the id: a lease or a ticket unknown to the caller would stay until its timeout.
            let left = deadline.saturating_duration_since(monotonic()).max(GRACE);
            let cancel = Operation::Cancel { id: &id, gave_up: false, at: None };
            let _ = self.run_within(cancel, SignalHandling::Ignore, left);
        }
        decided
    }

    fn wait_in_turn(
        &self,
        request: Request,
        id: &str,
        deadline: Instant,
        ticket: &mut QueuePosition,
    ) -> Result<Decision> {
        while let Some(place) = self.notification_node() {
            if let Some(decision) = self.wait_at(&place, request, id, deadline, ticket)? {
                return Ok(decision);
            }
        }
        self.acquire_with_id(request, id, None)
    }

    /// Waits while `place` is the node that sends the limiter's wake-ups; returns `None` when the node has changed.
    fn wait_at(
        &self,
        place: &str,
        request: Request,
        id: &str,
        deadline: Instant,
        ticket: &mut QueuePosition,
    ) -> Result<Option<Decision>> {
        let Some(hub) = self.hub() else { return Ok(None) };
        let waiting = hub.register(id);
        loop {
            let left = deadline.saturating_duration_since(monotonic());
            let channel = hub.channel();
            let wait = Wait {
                max_wait: Micros::from_duration("wait_timeout", left)?,
                claim_timeout: CLAIM_TIMEOUT,
                channel: channel.as_deref().unwrap_or_default(),
                position: *ticket,
            };
            let decision = self.acquire_with_id(request, id, Some(wait))?;
            let (Status::Queued, Some(taken)) = (decision.status, decision.ticket) else {
                return Ok(Some(decision));
            };
            *ticket = QueuePosition::Number(taken.number);
            let check_at = monotonic() + decision.retry_after.unwrap_or_default().duration();
            if self.notification_node().as_deref() != Some(place) {
                return Ok(None);
            }
            if channel.is_none()
                && waiting.open(|| self.listen_within(check_at.min(deadline).saturating_duration_since(monotonic())))
            {
                continue;
            }
            waiting.sleep(check_at.min(deadline));
        }
    }
}

/// The waiters of a process at one node, and their wake-ups. One of the waiting threads reads for all.
#[derive(Default)]
pub(crate) struct Hub {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    listener: Option<Arc<WakeupListener>>,
    tried_at: Option<Instant>,
    /// A thread is connecting, without the lock.
    is_opening: bool,
    is_read: bool,
    waiters: HashMap<String, Waiter>,
}

/// The state of one waiter.
#[derive(Default)]
struct Waiter {
    check_at: Option<Instant>,
    /// The waiter has no channel until the connection that is being opened is ready.
    awaits_channel: bool,
    woken: Arc<Condvar>,
}

struct WaiterGuard<'a> {
    hub: &'a Hub,
    id: &'a str,
}

impl Hub {
    fn register<'a>(&'a self, id: &'a str) -> WaiterGuard<'a> {
        locked(&self.inner).waiters.insert(id.to_owned(), Waiter::default());
        WaiterGuard { hub: self, id }
    }

    /// Closes the connection and wakes every waiter; its next call finds the store closed.
    pub(crate) fn close(&self) {
        let mut inner = locked(&self.inner);
        if let Some(listener) = inner.listener.take() {
            listener.close();
        }
        let now = monotonic();
        for waiter in inner.waiters.values_mut() {
            waiter.check_at = Some(now);
            waiter.woken.notify_one();
        }
    }

    fn channel(&self) -> Option<String> {
        locked(&self.inner).listener.as_ref().map(|listener| listener.channel().to_owned())
    }
}

impl WaiterGuard<'_> {
    /// Opens the listener, unless another thread is opening it or the last attempt was less than [`PAUSE`] ago.
    ///
    /// Returns whether this process has a listener now.
    fn open(&self, listen: impl FnOnce() -> Result<WakeupListener>) -> bool {
        let mut inner = locked(&self.hub.inner);
        if inner.listener.is_some() {
            return true;
        }
        if inner.is_opening {
            if let Some(waiter) = inner.waiters.get_mut(self.id) {
                waiter.awaits_channel = true;
            }
            return false;
        }
        if inner.tried_at.is_some_and(|tried_at| tried_at.elapsed() < PAUSE) {
            return false;
        }
        (inner.is_opening, inner.tried_at) = (true, Some(monotonic()));
        drop(inner);
        let listener = listen().ok().map(Arc::new);
        let mut inner = locked(&self.hub.inner);
        (inner.is_opening, inner.listener) = (false, listener);
        let (is_open, now) = (inner.listener.is_some(), monotonic());
        for waiter in inner.waiters.values_mut().filter(|waiter| waiter.awaits_channel) {
            waiter.awaits_channel = false;
            if is_open {
                // Their tickets need the name of the channel.
                waiter.check_at = Some(now);
                waiter.woken.notify_one();
            }
        }
        is_open
    }

    /// Sleeps until `until`, or until an earlier wake-up.
    fn sleep(&self, until: Instant) {
        let mut inner = locked(&self.hub.inner);
        loop {
            let Some(waiter) = inner.waiters.get(self.id) else { return };
            let until = waiter.check_at.map_or(until, |check_at| check_at.min(until));
            let left = until.saturating_duration_since(monotonic());
            if left.is_zero() {
                if let Some(waiter) = inner.waiters.get_mut(self.id) {
                    waiter.check_at = None;
                }
                inner.hand_over(self.id);
                return;
            }
            let woken = waiter.woken.clone();
            inner = if let Some(listener) = inner.listener.clone().filter(|_| !inner.is_read) {
                self.read(inner, &listener, left)
            } else {
                woken.wait_timeout(inner, left).map_or_else(|poisoned| poisoned.into_inner().0, |(inner, _)| inner)
            };
        }
    }

    /// Waits for wake-ups and passes them to the waiters.
    fn read<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
        listener: &WakeupListener,
        left: Duration,
    ) -> MutexGuard<'a, Inner> {
        inner.is_read = true;
        drop(inner);
        listener.wait(left);
        let received = listener.receive();
        let mut inner = locked(&self.hub.inner);
        inner.is_read = false;
        let now = monotonic();
        if let Ok(messages) = received {
            for wakeup in messages {
                if let Some(waiter) = inner.waiters.get_mut(&wakeup.id) {
                    waiter.check_at = Some(now + wakeup.delay.duration());
                    waiter.woken.notify_one();
                }
            }
        } else {
            // The tickets need the name of the next channel.
            inner.listener = None;
            for waiter in inner.waiters.values_mut() {
                waiter.check_at = Some(now);
                waiter.woken.notify_one();
            }
        }
        inner
    }
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        let mut inner = locked(&self.hub.inner);
        inner.waiters.remove(self.id);
        inner.hand_over(self.id);
    }
}

impl Inner {
    /// Wakes another waiter to read in place of this one.
    fn hand_over(&self, id: &str) {
        if !self.is_read
            && let Some((_, waiter)) = self.waiters.iter().find(|(other, _)| *other != id)
        {
            waiter.woken.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::client::paddlegate::Paddlegate;

    #[test]
    fn threads_do_not_block_while_another_connects_and_are_woken_afterwards() {
        let (hub, patience) = (Arc::new(Hub::default()), Duration::from_secs(60));
        let (connecting, started) = mpsc::channel();
        let (connect, may_connect) = mpsc::channel::<()>();
        let first = thread::spawn({
            let hub = hub.clone();
            move || {
                let waiting = hub.register("first");
                let limiter = Paddlegate::memory().concurrent("any", 1, Duration::from_secs(60)).unwrap();
                waiting.open(|| {
                    connecting.send(()).unwrap();
                    may_connect.recv().unwrap();
                    limiter.listen()
                })
            }
        });
        started.recv().unwrap();
        let (done, is_done) = mpsc::channel();
        let second = thread::spawn(move || {
            let waiting = hub.register("second");
            assert!(!waiting.open(|| panic!("twice")) && hub.channel().is_none());
            done.send(()).unwrap();
            waiting.sleep(monotonic() + patience);
            hub.channel().is_some()
        });
        is_done.recv_timeout(patience).expect("the lock is free while another thread connects");
        connect.send(()).unwrap();
        assert!(first.join().unwrap());
        assert!(second.join().unwrap(), "it was woken when the channel was there");
    }
}
