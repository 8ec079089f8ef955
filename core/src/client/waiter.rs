//! `Waiter`: the rules of a call that waits in the queue, without a clock, a socket or a thread.

use crate::base;
use crate::base::bounds::{ADMISSION_CLAIM_TIMEOUT, CLAIM_TIMEOUT, JOB_CLAIM_TIMEOUT};
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::model::decision::{Decision, Status};
use crate::model::request::{QueuePosition, Wait};

/// The time for which a call that ends without a permit waits for its cancellation: 50 ms.
pub const CANCEL_TIMEOUT: Micros = Micros(50_000);

/// Returns the pause after a connection for wake-ups was lost or could not be opened.
///
/// `failures` is the number of pauses since the last connection. The pause is 50 ms, doubles with every one, and is at
/// most one second.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, reconnect_pause};
/// assert_eq!([0, 1, 5, 9].map(reconnect_pause), [50_000, 100_000, 1_000_000, 1_000_000].map(Micros));
/// ```
pub fn reconnect_pause(failures: u32) -> Micros {
    Micros((50_000 << failures.min(5)).min(1_000_000))
}

/// One call that waits in the queue of a limiter: when it retries, with which ticket, and what it must cancel.
///
/// The host sends the attempts, sleeps, and receives the wake-ups; [`Limiter::acquire`] is such a host. All
/// times are microseconds of one monotonic clock of the host.
///
/// 1. At [`retry_at`](Self::retry_at), or earlier after a wake-up, the host calls [`next`](Self::next) and sends
///    `acquire_with_id` with the id of the call and this [`Wait`].
/// 2. It passes the result to [`on_decision`](Self::on_decision) or [`on_error`](Self::on_error). While the call is
///    queued, the host listens for wake-ups, sleeps, and goes back to 1.
/// 3. When the call ends, for whatever reason, and [`must_cancel`](Self::must_cancel) is true, the host cancels it.
///
/// [`Limiter::acquire`]: crate::Limiter::acquire
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Micros, Paddlegate, Request, Waiter};
/// let mail = Paddlegate::memory().throttle("mail", Duration::from_millis(20))?;
/// mail.try_acquire(Request::cost(1))?;
/// let (start, listener) = (std::time::Instant::now(), mail.listen()?);
/// let now = || Micros(start.elapsed().as_micros() as u64);
/// let mut waiter = Waiter::new(true, Micros(5_000_000), now())?;
/// let decision = loop {
///     let wait = waiter.next(now(), listener.channel());
///     let decision = mail.acquire_with_id(Request::cost(1), "a new id", Some(wait))?;
///     if waiter.on_decision(now(), &decision) {
///         break decision;
///     }
///     let pause = waiter.retry_at(listener.channel()).0.saturating_sub(now().0);
///     std::thread::sleep(Duration::from_micros(pause));
/// };
/// assert!(decision.allowed() && !waiter.must_cancel(true));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    deadline: Micros,
    retry_at: Micros,
    ticket: Option<u64>,
    /// The hash of the channel in the last attempt, 0 without one.
    channel: u64,
    owns_id: bool,
    /// Whether the store may have a ticket or a lease of this call.
    may_hold: bool,
    /// Whether the ticket remains although the call has ended: the store did not make the last decision.
    keeps_ticket: bool,
    /// The claim timeout of a job's ticket, which stays in the queue when the wait ends.
    job: Option<Micros>,
}

impl Waiter {
    /// Creates the waiter of a call that begins now and waits for up to `max_wait`.
    ///
    /// `owns_id`: no other call has this id, so that every ticket and lease of the id belongs to this call. A given id
    /// may name a lease that this call did not take. `Invalid` for a wait above ten years.
    pub fn new(owns_id: bool, max_wait: Micros, now: Micros) -> Result<Self> {
        if max_wait > MAX_SPAN {
            return Err(Error::invalid("wait_timeout", "must be at most ten years"));
        }
        Ok(Self {
            deadline: Micros(now.0.saturating_add(max_wait.0)),
            retry_at: Micros(0),
            ticket: None,
            channel: 0,
            owns_id,
            may_hold: false,
            keeps_ticket: false,
            job: None,
        })
    }

    /// Creates the waiter of a job in its worker, whose ticket stays in the queue when the wait ends.
    ///
    /// The job waits only when its turn seems to come within `patience`, and for no longer. Otherwise the final decision
    /// is `Queued`: the host puts the job away for its `retry_after`, and begins with a new waiter when the job comes
    /// back under its id. It does not share the lease of another run of the job: while that lasts, the decision is `Refused` with
    /// the reason [`Running`](crate::Reason::Running). `claim_timeout` is as in [`Limiter::admit_within`](crate::Limiter::admit_within). Nothing is
    /// cancelled when the call is interrupted, because the job comes back. `Invalid` for a wait above ten years, argument
    /// `patience`.
    pub fn of_job(claim_timeout: Option<Micros>, patience: Micros, now: Micros) -> Result<Self> {
        if patience > MAX_SPAN {
            return Err(Error::invalid("patience", "must be at most ten years"));
        }
        let job = Some(claim_timeout.unwrap_or(ADMISSION_CLAIM_TIMEOUT));
        Ok(Self { job, ..Self::new(false, patience, now)? })
    }

    /// Returns how the next attempt waits: for the rest of the time, with the position of the ticket.
    ///
    /// `channel` is the channel of the host's [`WakeupListener`](crate::WakeupListener) for the limiter, empty without one.
    /// After the deadline no time is left, and the attempt is the last.
    pub fn next<'a>(&mut self, now: Micros, channel: &'a str) -> Wait<'a> {
        let left = Micros(self.deadline.0.saturating_sub(now.0));
        // A job asks without a channel first, and when its time is up, so that no ticket waits for a wake-up of this host.
        let channel = if self.job.is_some() && (self.ticket.is_none() || left.0 == 0) { "" } else { channel };
        self.retry_at = Micros(u64::MAX);
        self.channel = hash(channel);
        self.may_hold = self.job.is_none() && (self.owns_id || self.ticket.is_some());
        Wait {
            max_wait: if self.job.is_some() { MAX_SPAN } else { left },
            claim_timeout: self.job.unwrap_or(CLAIM_TIMEOUT),
            keep: self.job.map_or(Micros(0), |_| JOB_CLAIM_TIMEOUT),
            channel,
            position: self.ticket.map_or(QueuePosition::End, QueuePosition::Number),
            is_run: self.job.is_some(),
        }
    }

    /// Restores a waiter from its [`words`](Self::words). Zeros are a call without time that has done nothing.
    pub const fn from_words([deadline, retry_at, ticket, channel, job, flags]: [u64; 6]) -> Self {
        Self {
            deadline: Micros(deadline),
            retry_at: Micros(retry_at),
            ticket: ticket.checked_sub(1),
            channel,
            job: if job == 0 { None } else { Some(Micros(job)) },
            owns_id: flags & 1 != 0,
            may_hold: flags & 2 != 0,
            keeps_ticket: flags & 4 != 0,
        }
    }

    /// Returns the state of the waiter, for hosts that keep it outside of Rust.
    pub fn words(&self) -> [u64; 6] {
        let ticket = self.ticket.map_or(0, |ticket| ticket.saturating_add(1));
        let job = self.job.map_or(0, |claim_timeout| claim_timeout.0);
        let flags = [self.owns_id, self.may_hold, self.keeps_ticket].map(u64::from);
        let flags = flags[0] | flags[1] << 1 | flags[2] << 2;
        [self.deadline.0, self.retry_at.0, ticket, self.channel, job, flags]
    }

    /// Evaluates the decision of an attempt. Returns whether it is final; otherwise the call is queued, and waits.
    pub fn on_decision(&mut self, now: Micros, decision: &Decision) -> bool {
        if decision.status == Status::Queued {
            self.on_queued(now, decision.retry_after, decision.ticket.map(|ticket| ticket.number))
        } else {
            self.on_final(decision.allowed(), decision.degraded);
            true
        }
    }

    /// Evaluates the decision of an attempt that queued the call, by its fields. Returns whether it is final, as it is for
    /// a job that is to be put away.
    pub fn on_queued(&mut self, now: Micros, retry_after: Option<Micros>, ticket: Option<u64>) -> bool {
        let retry_at = retry_after.map(|after| Micros(now.0.saturating_add(after.0)));
        // A job ends its wait only with an attempt without a channel.
        let is_over = self.channel == 0 && retry_at.is_none_or(|at| at > self.deadline);
        // A wake-up may have arrived during the attempt.
        self.retry_at = self.retry_at.min(retry_at.unwrap_or(self.deadline)).min(self.deadline);
        self.ticket = ticket.or(self.ticket);
        self.may_hold = self.job.is_none();
        self.job.is_some() && is_over
    }

    /// Evaluates the final decision of an attempt, by its fields: a grant, or a refusal.
    pub fn on_final(&mut self, allowed: bool, degraded: bool) {
        self.keeps_ticket = degraded && self.ticket.is_some();
        self.may_hold = self.keeps_ticket || (allowed && self.may_hold);
    }

    /// Evaluates the error of an attempt, which ends the call. `may_have_counted` is the error's.
    pub fn on_error(&mut self, may_have_counted: bool) {
        self.may_hold = self.job.is_none() && (self.ticket.is_some() || (self.owns_id && may_have_counted));
    }

    /// Evaluates a wake-up: the call retries at this time, unless it retries earlier.
    pub fn on_wakeup(&mut self, at: Micros) {
        self.retry_at = self.retry_at.min(at);
    }

    /// Returns when the next attempt is due. `channel` is the current one of the host, empty without one.
    ///
    /// It is due at once when the ticket does not name this channel, because wake-ups would not arrive here.
    pub fn retry_at(&self, channel: &str) -> Micros {
        if channel.is_empty() || hash(channel) == self.channel { self.retry_at } else { Micros(0) }
    }

    /// Returns whether the call has a ticket, so that the host must listen for its wake-ups.
    pub const fn has_ticket(&self) -> bool {
        self.ticket.is_some()
    }

    /// Returns whether the host must cancel the call when it ends now. `is_delivered`: the caller has got the permit.
    ///
    /// A call that is interrupted during an attempt may hold what the store decides later.
    pub const fn must_cancel(&self, is_delivered: bool) -> bool {
        if is_delivered { self.keeps_ticket } else { self.may_hold }
    }
}

fn hash(channel: &str) -> u64 {
    if channel.is_empty() { 0 } else { base::hash(channel) }
}
