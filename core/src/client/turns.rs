//! `Turns`: the queued calls of a limiter as their turns come, on the calling thread. Other hosts sleep in their own way.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use crate::base::bounds::MAX_READY;
use crate::base::clock::monotonic;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::client::hub::{Hub, Registration};
use crate::client::limiter::Limiter;
use crate::engine::queue::MAX_POLL;
use crate::model::permit::new_id;
use crate::model::turns::{ReadyCalls, TurnsHost};

impl Limiter {
    /// Returns the ids of queued calls, each when its turn comes, for a process that starts jobs.
    ///
    /// The iterator sleeps until the next turn comes, over the connection of the wake-ups, and asks by itself every 5 s at most.
    /// A turn is as in [`ready`](Self::ready): it comes once, to one process, and the job claims its permit within the claim
    /// timeout. An error ends no iterator: the next call asks again. It ends with
    /// [`wait_timeout`](Turns::with_wait_timeout) alone.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{OnLimit, Paddlegate, Request};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(600))?;
    /// let admit = |job: &str| workers.admit(job, Request::cost(1), OnLimit::Wait);
    /// let first = admit("job-1")?;
    /// admit("job-2")?;
    /// let mut turns = workers.turns()?.with_wait_timeout(Duration::from_secs(1))?;
    /// workers.release(&first.decision.permit.unwrap())?;
    /// assert_eq!(turns.next().unwrap()?, "job-2");
    /// assert!(admit("job-2")?.decision.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn turns(&self) -> Result<Turns> {
        Ok(Turns {
            limiter: self.clone(),
            id: new_id()?,
            count: MAX_READY,
            wait_timeout: None,
            listed: VecDeque::new(),
            registration: None,
            channel: None,
            due: None,
        })
    }
}

/// An iterator over the ids of queued calls whose turn has come; see [`Limiter::turns`].
pub struct Turns {
    limiter: Limiter,
    id: String,
    count: u64,
    wait_timeout: Option<Duration>,
    listed: VecDeque<String>,
    registration: Option<Registration>,
    /// The channel of the last question.
    channel: Option<String>,
    /// When the next question is due; at once without one.
    due: Option<Instant>,
}

impl Turns {
    /// Sets how many turns one question returns at most, from 1 to 100, the default.
    ///
    /// A loop that runs each job before it takes the next turn asks for one: the others would wait for it.
    pub fn with_count(self, count: u64) -> Result<Self> {
        if !(1..=MAX_READY).contains(&count) {
            return Err(Error::invalid("count", format!("must be from 1 to {MAX_READY}: count={count}")));
        }
        Ok(Self { count, ..self })
    }

    /// Ends the iterator when no turn has come for so long; without it it does not end.
    pub fn with_wait_timeout(self, wait_timeout: Duration) -> Result<Self> {
        Micros::from_duration("wait_timeout", wait_timeout)?;
        Ok(Self { wait_timeout: Some(wait_timeout), ..self })
    }

    /// Sleeps until the next question is due, a wake-up comes or the time is up.
    // A limiter without limits has no hub, in which the others sleep.
    #[allow(clippy::disallowed_methods)]
    fn sleep(&mut self, until: Instant) {
        let Some(registration) = &self.registration else {
            std::thread::sleep(until.saturating_duration_since(monotonic()));
            return;
        };
        if let Some(woken_at) = registration.sleep(until) {
            self.due = self.due.map(|due| due.min(woken_at));
        }
    }

    /// Asks with the channel for the wake-ups, if there is one.
    fn ask(&mut self) -> Result<()> {
        let channel = self.channel();
        if let Some(registration) = &self.registration {
            registration.forget_wakeup();
        }
        self.due = None;
        let host = channel.as_ref().map(|channel| TurnsHost { id: &self.id, channel });
        let ReadyCalls { ids, after } = self.limiter.ready_calls(self.count, host)?;
        self.listed.extend(ids);
        (self.channel, self.due) = (channel, Some(monotonic() + after.duration()));
        Ok(())
    }

    /// Returns the channel of the node that sends the wake-ups now; opens it if need be.
    fn channel(&mut self) -> Option<String> {
        let hub = self.limiter.hub()?;
        if !self.registration.as_ref().is_some_and(|registration| registration.is_at(&hub)) {
            self.registration = Some(Hub::register(&hub, &self.id));
        }
        let registration = self.registration.as_ref()?;
        registration.open(|| self.limiter.listen_within(MAX_POLL.duration()));
        registration.channel()
    }

    fn has_new_channel(&self) -> bool {
        let channel = self.registration.as_ref().and_then(Registration::channel);
        channel.is_some() && channel != self.channel
    }
}

impl Iterator for Turns {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.wait_timeout.map(|wait_timeout| monotonic() + wait_timeout);
        loop {
            if let Some(id) = self.listed.pop_front() {
                return Some(Ok(id));
            }
            match self.due.filter(|_| !self.has_new_channel()) {
                Some(due) if due > monotonic() => {
                    let until = end.map_or(due, |end| due.min(end));
                    self.sleep(until);
                    if end.is_some_and(|end| end <= monotonic()) && self.due.is_some_and(|due| due > monotonic()) {
                        return None;
                    }
                }
                _ => {
                    if let Err(error) = self.ask() {
                        return Some(Err(error));
                    }
                    if self.listed.is_empty() && end.is_some_and(|end| end <= monotonic()) {
                        return None;
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}
