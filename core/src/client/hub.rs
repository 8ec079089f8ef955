//! `Hub`: the waiting threads of a process at one node, and their wake-ups. One of the threads reads for all.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::base::clock::monotonic;
use crate::base::error::Result;
use crate::base::locked;
use crate::client::waiter::reconnect_pause;
use crate::client::wakeup::WakeupListener;

/// The waiting threads of a process at one node.
#[derive(Default)]
pub(crate) struct Hub {
    inner: Mutex<Inner>,
    /// Notified when a thread has left.
    left: Condvar,
}

#[derive(Default)]
struct Inner {
    listener: Option<Arc<WakeupListener>>,
    tried_at: Option<Instant>,
    /// The number of failed attempts to connect since the last connection.
    failures: u32,
    /// A thread is connecting, without the lock.
    is_opening: bool,
    is_read: bool,
    sleepers: BTreeMap<Place, Sleeper>,
    /// The number of the latest place.
    latest: u64,
}

/// The id of a call, and a number that no other place has: several calls may have one id, for one limiter or for several.
type Place = (String, u64);

/// One waiting thread.
#[derive(Default)]
struct Sleeper {
    /// The time of a wake-up that the thread has not seen yet.
    woken_at: Option<Instant>,
    /// The thread has no channel until the connection that is being opened is ready.
    awaits_channel: bool,
    woken: Arc<Condvar>,
}

/// The registration of one waiting thread at a hub; ends when it is dropped.
pub(crate) struct Registration {
    hub: Arc<Hub>,
    place: Place,
}

impl Hub {
    pub(crate) fn register(hub: &Arc<Self>, id: &str) -> Registration {
        let mut inner = locked(&hub.inner);
        inner.latest += 1;
        let place = (id.to_owned(), inner.latest);
        inner.sleepers.insert(place.clone(), Sleeper::default());
        Registration { hub: hub.clone(), place }
    }

    /// Closes the connection and wakes every thread; its next call finds the store closed.
    pub(crate) fn close(&self) {
        let mut inner = locked(&self.inner);
        if let Some(listener) = inner.listener.take() {
            listener.close();
        }
        inner.wake(|_| true);
    }

    /// Returns when no thread is registered, or at the deadline.
    pub(crate) fn wait_until_left(&self, deadline: Instant) {
        let mut inner = locked(&self.inner);
        while !inner.sleepers.is_empty() {
            let rest = deadline.saturating_duration_since(monotonic());
            if rest.is_zero() {
                return;
            }
            let waited = self.left.wait_timeout(inner, rest);
            inner = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(inner, _)| inner);
        }
    }
}

impl Registration {
    pub(crate) fn is_at(&self, hub: &Arc<Hub>) -> bool {
        Arc::ptr_eq(&self.hub, hub)
    }

    /// Returns the channel that tickets name to receive wake-ups here; `None` without a connection.
    pub(crate) fn channel(&self) -> Option<String> {
        locked(&self.hub.inner).listener.as_ref().map(|listener| listener.channel().to_owned())
    }

    /// Opens the listener, unless another thread is opening it or the pause after a failed attempt has not ended.
    ///
    /// Returns whether this process has a listener now.
    pub(crate) fn open(&self, listen: impl FnOnce() -> Result<WakeupListener>) -> bool {
        let mut inner = locked(&self.hub.inner);
        if inner.listener.is_some() {
            return true;
        }
        if inner.is_opening {
            if let Some(sleeper) = inner.sleepers.get_mut(&self.place) {
                sleeper.awaits_channel = true;
            }
            return false;
        }
        let pause = reconnect_pause(inner.failures.saturating_sub(1)).duration();
        if inner.tried_at.is_some_and(|tried_at| tried_at.elapsed() < pause) {
            return false;
        }
        (inner.is_opening, inner.tried_at) = (true, Some(monotonic()));
        drop(inner);
        let listener = listen().ok().map(Arc::new);
        let mut inner = locked(&self.hub.inner);
        let is_open = listener.is_some();
        (inner.is_opening, inner.listener) = (false, listener);
        inner.failures = if is_open { 0 } else { inner.failures.saturating_add(1) };
        // The tickets of the threads that slept meanwhile need the name of the channel.
        inner.wake(|sleeper| std::mem::take(&mut sleeper.awaits_channel) && is_open);
        is_open
    }

    /// Forgets a wake-up that arrived before an attempt, which is evaluated with newer state.
    pub(crate) fn forget_wakeup(&self) {
        if let Some(sleeper) = locked(&self.hub.inner).sleepers.get_mut(&self.place) {
            sleeper.woken_at = None;
        }
    }

    /// Sleeps until `until`, or until a wake-up arrives; returns the time for which the wake-up is.
    pub(crate) fn sleep(&self, until: Instant) -> Option<Instant> {
        let mut inner = locked(&self.hub.inner);
        loop {
            let sleeper = inner.sleepers.get_mut(&self.place)?;
            let (woken_at, woken) = (sleeper.woken_at.take(), sleeper.woken.clone());
            let left = until.saturating_duration_since(monotonic());
            if woken_at.is_some() || left.is_zero() {
                inner.wake_next_reader(&self.place);
                return woken_at;
            }
            inner = if let Some(listener) = inner.listener.clone().filter(|_| !inner.is_read) {
                self.read(inner, &listener, left)
            } else {
                woken.wait_timeout(inner, left).map_or_else(|poisoned| poisoned.into_inner().0, |(inner, _)| inner)
            };
        }
    }

    /// Waits for wake-ups and passes them to the threads.
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
        if let Ok(messages) = received {
            let now = monotonic();
            for wakeup in messages {
                inner.wake_id(&wakeup.id, now + wakeup.delay.duration());
            }
        } else {
            // The tickets need the name of the next channel.
            inner.listener = None;
            inner.wake(|_| true);
        }
        inner
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut inner = locked(&self.hub.inner);
        inner.sleepers.remove(&self.place);
        inner.wake_next_reader(&self.place);
        self.hub.left.notify_all();
    }
}

impl Inner {
    /// Makes the threads for which `which` holds retry at once.
    fn wake(&mut self, mut which: impl FnMut(&mut Sleeper) -> bool) {
        let now = monotonic();
        for sleeper in self.sleepers.values_mut() {
            if which(sleeper) {
                sleeper.wake(now);
            }
        }
    }

    /// Makes the threads of an id retry at a time.
    fn wake_id(&mut self, id: &str, at: Instant) {
        let places = (id.to_owned(), 0)..=(id.to_owned(), u64::MAX);
        self.sleepers.range_mut(places).for_each(|(_, sleeper)| sleeper.wake(at));
    }

    /// Wakes another thread to read in place of this one.
    fn wake_next_reader(&self, place: &Place) {
        if !self.is_read
            && let Some((_, sleeper)) = self.sleepers.iter().find(|(other, _)| *other != place)
        {
            sleeper.woken.notify_one();
        }
    }
}

impl Sleeper {
    fn wake(&mut self, at: Instant) {
        self.woken_at = Some(self.woken_at.map_or(at, |earlier| earlier.min(at)));
        self.woken.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::client::paddlegate::Paddlegate;

    #[test]
    fn a_wake_up_wakes_all_threads_of_its_id() {
        let (hub, later) = (Arc::new(Hub::default()), monotonic() + Duration::from_secs(60));
        let [first, second, other] = ["same", "same", "other"].map(|id| Hub::register(&hub, id));
        locked(&hub.inner).wake_id("same", monotonic());
        assert!(first.sleep(later).is_some() && second.sleep(later).is_some());
        assert!(other.sleep(monotonic()).is_none());
        drop(second);
        locked(&hub.inner).wake_id("same", monotonic());
        assert!(first.sleep(later).is_some(), "it has its place still");
        drop((first, other));
        assert!(locked(&hub.inner).sleepers.is_empty());
    }

    #[test]
    fn threads_do_not_block_while_another_connects_and_are_woken_afterwards() {
        let (hub, patience) = (Arc::new(Hub::default()), Duration::from_secs(60));
        let (connecting, started) = mpsc::channel();
        let (connect, may_connect) = mpsc::channel::<()>();
        let first = thread::spawn({
            let hub = hub.clone();
            move || {
                let waiting = Hub::register(&hub, "first");
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
            let waiting = Hub::register(&hub, "second");
            assert!(!waiting.open(|| panic!("twice")) && waiting.channel().is_none());
            done.send(()).unwrap();
            waiting.sleep(monotonic() + patience).is_some() && waiting.channel().is_some()
        });
        is_done.recv_timeout(patience).expect("the lock is free while another thread connects");
        connect.send(()).unwrap();
        assert!(first.join().unwrap());
        assert!(second.join().unwrap(), "it was woken when the channel was there");
    }
}
