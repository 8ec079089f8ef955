//! `WakeupListener`: messages to those who wait, that their turn has come or when it comes. A lost one delays, nothing more.

use crate::model::wakeup::Wakeup;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::error::Result;
use crate::store::memory::Inbox;
#[cfg(feature = "redis")]
use crate::store::redis::Listener;

/// The one place where this process hears of the tickets that name its channel.
///
/// Hosts wait until the file descriptor can be read, then call [`receive`](Self::receive). Without one (in the browser)
/// they call it after each operation. It is never shared with a fork: open another there.
pub struct WakeupListener {
    channel: String,
    source: Mutex<Source>,
    /// The socket once more, to end a wait that holds the lock of `source`.
    #[cfg(feature = "redis")]
    ending: Option<std::os::fd::OwnedFd>,
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
            source: Mutex::new(Source::Memory(inbox)),
            #[cfg(feature = "redis")]
            ending: None,
        }
    }

    #[cfg(feature = "redis")]
    pub(crate) fn of_redis(channel: String, listener: Listener) -> Self {
        let ending = rustix::io::dup(listener.as_fd()).ok();
        Self { channel, source: Mutex::new(Source::Redis(Box::new(listener))), ending }
    }

    /// Closes the connection; a wait for messages ends at once.
    #[cfg(feature = "redis")]
    pub fn close(&self) {
        if let Some(socket) = &self.ending {
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
    }

    /// What tickets name so that their messages come here.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// What can be read when there are messages; open as long as this is.
    #[cfg(unix)]
    pub fn fd(&self) -> std::os::fd::RawFd {
        use std::os::fd::AsRawFd;
        match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Memory(inbox) => inbox.as_fd().as_raw_fd(),
            #[cfg(feature = "redis")]
            Source::Redis(listener) => listener.as_fd().as_raw_fd(),
        }
    }

    /// Waits until there are messages, the time is up or a signal comes.
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

    /// The messages that have come, without waiting. After an error none will come: open another, and let all waiters
    /// look again.
    pub fn receive(&self) -> Result<Vec<Wakeup>> {
        match &mut *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Memory(inbox) => Ok(inbox.take()),
            #[cfg(feature = "redis")]
            Source::Redis(listener) => listener.receive(),
        }
    }
}
