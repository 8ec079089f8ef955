//! `Inbox`: the wake-ups for the waiters of one channel in this process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::process_id::process_id;
use crate::model::wakeup::Wakeup;

/// The wake-ups for the waiters of one channel.
#[derive(Debug)]
pub(crate) struct Inbox {
    hints: Mutex<Vec<Wakeup>>,
    is_closed: AtomicBool,
    pub(super) made_by: u32,
    #[cfg(unix)]
    wake: (std::os::unix::net::UnixStream, std::os::unix::net::UnixStream),
}

impl Inbox {
    /// Cannot fail on systems other than Unix, where no socket pair is opened.
    #[cfg_attr(not(unix), allow(clippy::unnecessary_wraps))]
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            hints: Mutex::default(),
            is_closed: AtomicBool::new(false),
            made_by: process_id(),
            #[cfg(unix)]
            wake: {
                let pair = std::os::unix::net::UnixStream::pair()?;
                pair.0.set_nonblocking(true)?;
                pair.1.set_nonblocking(true)?;
                pair
            },
        })
    }

    #[cfg(unix)]
    pub(crate) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.wake.0)
    }

    pub(crate) fn take(&self) -> Vec<Wakeup> {
        #[cfg(unix)]
        while std::io::Read::read(&mut &self.wake.0, &mut [0; 64]).is_ok_and(|size| size == 64) {}
        std::mem::take(&mut *self.hints.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn put(&self, hint: Wakeup) {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner).push(hint);
        self.wake();
    }

    /// Ends the wait of the reader, which finds the inbox closed.
    #[cfg(feature = "redis")]
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    #[cfg_attr(not(unix), allow(clippy::unused_self))]
    fn wake(&self) {
        // The write fails only when the pipe is full, and a full pipe wakes the reader too.
        #[cfg(unix)]
        let _ = std::io::Write::write(&mut &self.wake.1, &[0]);
    }
}
