//! `WakeupListener`: receives the wake-ups of waiters. A lost wake-up delays a waiter and has no other effect.

use std::sync::{Arc, Mutex, PoisonError};

use crate::base::error::{Error, Result};
use crate::model::wakeup::Wakeup;
use crate::store::memory::Inbox;
#[cfg(feature = "redis")]
use crate::store::redis::Listener;

/// The listener for the wake-ups of the tickets that name its channel.
///
/// Hosts wait until the file descriptor is readable, then call [`receive`](Self::receive). Without a file descriptor
/// (in the browser) they call it after each operation. A fork must not use it: open another listener there.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Micros, Paddlegate, Request, Status, Wait};
/// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
/// let permit = workers.try_acquire(Request::cost(1))?.permit.unwrap();
/// let listener = workers.listen()?;
/// let wait = Wait { channel: listener.channel(), ..Wait::up_to(Micros(5_000_000)) };
/// assert_eq!(workers.acquire_with_id(Request::cost(1), "next", Some(wait))?.status, Status::Queued);
/// workers.release(&permit)?;
/// assert_eq!(listener.receive()?[0].id, "next");
/// assert!(workers.acquire_with_id(Request::cost(1), "next", Some(wait))?.allowed());
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub struct WakeupListener {
    channel: String,
    source: Mutex<Source>,
    /// What ends a wait that holds the lock of `source`; `None` without a file descriptor left for it.
    #[cfg(feature = "redis")]
    ending: Option<Ending>,
}

#[cfg(feature = "redis")]
enum Ending {
    Memory(Arc<Inbox>),
    /// A duplicate of the socket.
    Redis(std::os::fd::OwnedFd),
}

enum Source {
    Memory(Arc<Inbox>),
    #[cfg(feature = "redis")]
    Redis(Box<Listener>),
}

impl WakeupListener {
    pub(crate) fn of_memory(channel: String, inbox: Arc<Inbox>) -> Self {
        Self {
            channel,
            #[cfg(feature = "redis")]
            ending: Some(Ending::Memory(inbox.clone())),
            source: Mutex::new(Source::Memory(inbox)),
        }
    }

    #[cfg(feature = "redis")]
    pub(crate) fn of_redis(channel: String, listener: Listener) -> Self {
        let ending = rustix::io::dup(listener.as_fd()).ok().map(Ending::Redis);
        Self { channel, source: Mutex::new(Source::Redis(Box::new(listener))), ending }
    }

    /// Closes the connection; a wait for wake-ups ends at once, and [`receive`](Self::receive) fails.
    #[cfg(feature = "redis")]
    pub fn close(&self) {
        match &self.ending {
            Some(Ending::Memory(inbox)) => inbox.close(),
            Some(Ending::Redis(socket)) => _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both),
            None => {}
        }
    }

    /// Returns the channel that tickets must name.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Returns a file descriptor that is readable when there are wake-ups, valid as long as the listener.
    #[cfg(unix)]
    pub fn fd(&self) -> std::os::fd::RawFd {
        use std::os::fd::AsRawFd;
        match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Memory(inbox) => inbox.as_fd().as_raw_fd(),
            #[cfg(feature = "redis")]
            Source::Redis(listener) => listener.as_fd().as_raw_fd(),
        }
    }

    /// Returns a duplicate of the file descriptor, for a runtime that owns what it waits for. It closes with the duplicate.
    #[cfg(feature = "aio")]
    pub fn try_clone_fd(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        Ok(match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Memory(inbox) => rustix::io::dup(inbox.as_fd())?,
            Source::Redis(listener) => rustix::io::dup(listener.as_fd())?,
        })
    }

    /// Waits until a wake-up arrives, the time is up or a signal arrives.
    #[cfg(feature = "redis")]
    pub(crate) fn wait(&self, time: std::time::Duration) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let wait =
            |fd| poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Timespec::try_from(time).ok().as_ref());
        let _ = match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Memory(inbox) => wait(inbox.as_fd()),
            Source::Redis(listener) => wait(listener.as_fd()),
        };
    }

    /// Returns the wake-ups that have arrived, without waiting.
    ///
    /// After an error no further wake-up arrives: open another listener, and let all waiters retry.
    pub fn receive(&self) -> Result<Vec<Wakeup>> {
        match &mut *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Memory(inbox) if inbox.is_closed() => Err(Error::unavailable("the listener is closed")),
            Source::Memory(inbox) => Ok(inbox.take()),
            #[cfg(feature = "redis")]
            Source::Redis(listener) => listener.receive(),
        }
    }
}
