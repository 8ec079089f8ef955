//! `NativeWakeups`: receives the wake-ups of the waiters of one process.

use std::io::{PipeReader, PipeWriter, pipe};
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

use paddlegate_core::{Error, WakeupListener};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Result;
use crate::number::us;

/// A connection that receives wake-ups.
#[derive(uniffi::Object)]
pub struct NativeWakeups {
    listener: WakeupListener,
    /// Ends a wait: it is readable once there is no writer.
    ended: PipeReader,
    ending: Mutex<Option<PipeWriter>>,
}

/// A wake-up for one waiter.
#[derive(uniffi::Record)]
pub struct NativeWakeup {
    pub id: String,
    pub delay_us: i64,
}

#[uniffi::export]
impl NativeWakeups {
    pub fn channel(&self) -> String {
        self.listener.channel().to_owned()
    }

    /// Waits for wake-ups for at most a time; there are none when it is up, or when the wait was ended.
    pub fn receive(&self, timeout_ms: u32) -> Result<Vec<NativeWakeup>> {
        // SAFETY: the listener keeps its descriptor open as long as it lives.
        let fd = unsafe { BorrowedFd::borrow_raw(self.listener.fd()) };
        let timeout = Timespec { tv_sec: (timeout_ms / 1000).into(), tv_nsec: (timeout_ms % 1000 * 1_000_000).into() };
        let watched = &mut [PollFd::from_borrowed_fd(fd, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        // A signal ends the wait early, which is no error.
        let _ = poll(watched, Some(&timeout));
        let received = self.listener.receive()?;
        Ok(received.into_iter().map(|it| NativeWakeup { id: it.id, delay_us: us(it.delay) }).collect())
    }

    /// Ends the wait, and every later one.
    pub fn interrupt(&self) {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl NativeWakeups {
    pub(crate) fn new(listener: WakeupListener) -> Result<Self> {
        let failed = |error| Error::unavailable(format!("no pipe for wake-ups: error={error}"));
        let (ended, ending) = pipe().map_err(failed)?;
        Ok(Self { listener, ended, ending: Mutex::new(Some(ending)) })
    }
}
