//! `Waits`: the requests of this process that wait in queues. One connection for each node brings their wake-ups.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paddlegate::{
    Answer, CANCEL_TIMEOUT, Decision, Error, Limiter, Micros, Operation, Request, Result, Waiter, WakeupListener,
    reconnect_pause,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::store_times::StoreTimes;

/// How long a connection without a waiting request stays open.
const IDLE: Duration = Duration::from_secs(60);

/// The requests that wait, by the node that sends their wake-ups.
pub(crate) struct Waits {
    store_times: Arc<StoreTimes>,
    nodes: Mutex<HashMap<String, Arc<Node>>>,
    wakeups: Arc<AtomicU64>,
}

#[derive(Default)]
struct Node {
    inner: Mutex<Inner>,
    wakeups: Arc<AtomicU64>,
}

#[derive(Default)]
struct Inner {
    /// The channel that tickets name; empty without a connection.
    channel: String,
    /// A task listens, or tries to.
    is_served: bool,
    /// By the id of the call, which several may have, for one limiter or for several.
    sleepers: HashMap<String, Vec<Arc<Sleeper>>>,
}

#[derive(Default)]
struct Sleeper {
    woken_at: Mutex<Option<Instant>>,
    woken: Notify,
}

/// A call to wait for.
pub(crate) struct Waiting<'a> {
    pub(crate) limiter: &'a Limiter,
    pub(crate) request: Request<'a>,
    pub(crate) id: &'a str,
    /// Whether no other call has the id.
    pub(crate) owns_id: bool,
    pub(crate) max_wait: Micros,
}

impl Waits {
    pub(crate) fn new(store_times: Arc<StoreTimes>) -> Self {
        Self { store_times, nodes: Mutex::default(), wakeups: Arc::default() }
    }

    /// Takes the cost and waits in the queue for up to the time; `None` when the server stops before.
    ///
    /// When the future is dropped, as it is when the client goes away, the ticket is given up.
    pub(crate) async fn acquire(&self, waiting: Waiting<'_>, stopping: &CancellationToken) -> Result<Option<Decision>> {
        let start = Instant::now();
        let mut held = Held {
            limiter: waiting.limiter.clone(),
            id: waiting.id.to_owned(),
            waiter: Waiter::new(waiting.owns_id, waiting.max_wait, Micros(0))?,
            is_over: false,
        };
        let decided = self.wait(&waiting, &mut held.waiter, start, stopping).await;
        let is_delivered = matches!(decided, Ok(Some(_)));
        held.is_over = true;
        if held.waiter.must_cancel(is_delivered) {
            // The ticket must be gone before the answer is sent.
            let _ = timeout(Duration::from_secs(1), cancel(&held.limiter, &held.id)).await;
        }
        decided
    }

    async fn wait(
        &self,
        waiting: &Waiting<'_>,
        waiter: &mut Waiter,
        start: Instant,
        stopping: &CancellationToken,
    ) -> Result<Option<Decision>> {
        let Waiting { limiter, request, id, .. } = *waiting;
        let mut registration: Option<Registration> = None;
        loop {
            let Some(name) = limiter.notification_node() else {
                let operation = Operation::AcquireWithId { request, id, wait: None };
                return decided(self.store_times.run(limiter, operation).await).map(Some);
            };
            let node = self.node(&name);
            if registration.as_ref().is_none_or(|registration| !Arc::ptr_eq(&registration.node, &node)) {
                registration = Some(Registration::new(node, id));
            }
            let Some(registration) = &registration else { continue };
            let channel = registration.node.lock().channel.clone();
            let retry_at = waiter.retry_at(&channel);
            if since(start) < retry_at {
                if waiter.has_ticket() {
                    registration.node.listen(limiter);
                }
                let until = start + retry_at.duration();
                tokio::select! {
                    () = sleep_until(until) => {}
                    at = registration.sleeper.woken() => {
                        let at = at.saturating_duration_since(start);
                        waiter.on_wakeup(Micros(u64::try_from(at.as_micros()).unwrap_or(u64::MAX)));
                    }
                    () = stopping.cancelled() => return Ok(None),
                }
                continue;
            }
            registration.sleeper.forget();
            let wait = waiter.next(since(start), &channel);
            let operation = Operation::AcquireWithId { request, id, wait: Some(wait) };
            let decision = decided(self.store_times.run(limiter, operation).await)
                .inspect_err(|error| waiter.on_error(error.may_have_counted()))?;
            if waiter.on_decision(since(start), &decision) {
                return Ok(Some(decision));
            }
        }
    }

    fn node(&self, name: &str) -> Arc<Node> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let node = || Arc::new(Node { inner: Mutex::default(), wakeups: self.wakeups.clone() });
        nodes.entry(name.to_owned()).or_insert_with(node).clone()
    }

    /// Returns how many wake-ups have reached a request that waits.
    pub(crate) fn wakeups(&self) -> u64 {
        self.wakeups.load(Ordering::Relaxed)
    }
}

/// What a waiting call may hold in the store, which ends with it.
struct Held {
    limiter: Limiter,
    id: String,
    waiter: Waiter,
    is_over: bool,
}

impl Drop for Held {
    /// Gives up the ticket of a client that went away.
    fn drop(&mut self) {
        if self.is_over || !self.waiter.must_cancel(false) {
            return;
        }
        let (limiter, id) = (self.limiter.clone(), std::mem::take(&mut self.id));
        // Without a runtime the process ends, and the ticket lapses.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { cancel(&limiter, &id).await });
        }
    }
}

async fn cancel(limiter: &Limiter, id: &str) {
    let cancel = Operation::Cancel { id, gave_up: false };
    // A call that was in flight may have come after the first one.
    if limiter.run_async(cancel).await.is_err() {
        sleep(CANCEL_TIMEOUT.duration()).await;
        let _ = limiter.run_async(cancel).await;
    }
}

/// One waiting call at its node; ends when it is dropped.
struct Registration {
    node: Arc<Node>,
    id: String,
    sleeper: Arc<Sleeper>,
}

impl Registration {
    fn new(node: Arc<Node>, id: &str) -> Self {
        let sleeper = Arc::<Sleeper>::default();
        node.lock().sleepers.entry(id.to_owned()).or_default().push(sleeper.clone());
        Self { node, id: id.to_owned(), sleeper }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut inner = self.node.lock();
        let Some(sleepers) = inner.sleepers.get_mut(&self.id) else { return };
        sleepers.retain(|sleeper| !Arc::ptr_eq(sleeper, &self.sleeper));
        if sleepers.is_empty() {
            inner.sleepers.remove(&self.id);
        }
    }
}

impl Sleeper {
    /// Returns when the call is to retry, once a wake-up says so.
    async fn woken(&self) -> Instant {
        loop {
            let woken = self.woken.notified();
            if let Some(at) = self.woken_at.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return at;
            }
            woken.await;
        }
    }

    fn wake(&self, at: Instant) {
        let mut woken_at = self.woken_at.lock().unwrap_or_else(PoisonError::into_inner);
        *woken_at = Some(woken_at.map_or(at, |earlier| earlier.min(at)));
        self.woken.notify_one();
    }

    /// Forgets a wake-up that came before an attempt, which sees newer state.
    fn forget(&self) {
        *self.woken_at.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Node {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to listen for the wake-ups of the node, unless this process does.
    fn listen(self: &Arc<Self>, limiter: &Limiter) {
        let mut inner = self.lock();
        if !std::mem::replace(&mut inner.is_served, true) {
            tokio::spawn(serve(self.clone(), limiter.clone()));
        }
    }

    /// Returns whether the task ends: no call waits.
    fn may_end(&self) -> bool {
        let mut inner = self.lock();
        if inner.sleepers.is_empty() {
            inner.is_served = false;
            inner.channel.clear();
        }
        !inner.is_served
    }

    /// Names the channel, and makes every call retry whose ticket needs its name.
    fn set_channel(&self, channel: &str) {
        let mut inner = self.lock();
        channel.clone_into(&mut inner.channel);
        let now = Instant::now();
        inner.sleepers.values().flatten().for_each(|sleeper| sleeper.wake(now));
    }

    /// Makes every call of an id retry at a time.
    fn wake(&self, id: &str, at: Instant) {
        let inner = self.lock();
        let sleepers = inner.sleepers.get(id).map(Vec::as_slice).unwrap_or_default();
        if !sleepers.is_empty() {
            self.wakeups.fetch_add(1, Ordering::Relaxed);
        }
        for sleeper in sleepers {
            sleeper.wake(at);
        }
    }
}

/// Receives wake-ups until no call waits.
async fn serve(node: Arc<Node>, limiter: Limiter) {
    let mut failures = 0;
    loop {
        let of_limiter = limiter.clone();
        // It connects on the thread that calls it.
        let listener = spawn_blocking(move || of_limiter.listen()).await;
        if let Ok(Ok(listener)) = listener {
            failures = 0;
            node.set_channel(listener.channel());
            if receive(&node, listener).await {
                return;
            }
            node.set_channel("");
        }
        sleep(reconnect_pause(failures).duration()).await;
        failures = failures.saturating_add(1);
        if node.may_end() {
            return;
        }
    }
}

/// Passes wake-ups on. Returns true when nobody has waited for a while, false when the connection broke.
async fn receive(node: &Node, listener: WakeupListener) -> bool {
    let Ok(fd) = listener.try_clone_fd() else { return false };
    // Its successor is the same as an unsafe function, because not every type keeps its file open. This one does.
    #[allow(deprecated)]
    let Ok(readable) = AsyncFd::<OwnedFd>::with_interest(fd, Interest::READABLE) else { return false };
    loop {
        let Ok(ready) = timeout(IDLE, readable.readable()).await else {
            if node.may_end() {
                return true;
            }
            continue;
        };
        let Ok(mut ready): io::Result<_> = ready else { return false };
        let Ok(wakeups) = listener.receive() else { return false };
        ready.clear_ready();
        let now = Instant::now();
        for wakeup in wakeups {
            node.wake(&wakeup.id, now + wakeup.delay.duration());
        }
    }
}

fn decided(answer: Result<Answer>) -> Result<Decision> {
    match answer? {
        Answer::Decision(decision) => Ok(decision),
        other => Err(Error::internal(format!("unexpected reply type: {other:?}"))),
    }
}

fn since(start: Instant) -> Micros {
    Micros(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wake_up_wakes_all_calls_of_its_id() {
        let node = Arc::new(Node::default());
        let [first, second, other] = ["same", "same", "other"].map(|id| Registration::new(node.clone(), id));
        let is_woken = |call: &Registration| call.sleeper.woken_at.lock().unwrap().take().is_some();
        node.wake("same", Instant::now());
        assert!(is_woken(&first) && is_woken(&second) && !is_woken(&other));
        assert_eq!(node.wakeups.load(Ordering::Relaxed), 1);
        drop(second);
        node.wake("same", Instant::now());
        assert!(is_woken(&first), "it has its place still");
        drop((first, other));
        assert!(node.lock().sleepers.is_empty());
    }
}
