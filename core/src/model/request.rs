//! `Request`: the cost of one call, or its estimate.

use crate::base::bounds::{ADMISSION_CLAIM_TIMEOUT, CLAIM_TIMEOUT, JOB_CLAIM_TIMEOUT};
use crate::base::charge::Charge;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::model::cost::Cost;
use crate::model::permit::{LOCAL, MAX_ID, MAX_PERMIT_TIMEOUT, PERMIT_TIMEOUT};
use crate::model::policy::Policy;
use crate::model::share::{MAX_PRIORITY, Order, Share};

/// The cost of one call, final or as an estimate that is corrected later.
///
/// # Examples
///
/// ```
/// # use paddlegate::Request;
/// # use paddlegate::Cost;
/// assert_eq!(Request::default().cost, None, "one unit");
/// assert_eq!(Request::cost(3).cost, Some(Cost::Units(3)));
/// assert_eq!(Request::estimate(200).estimate, Some(Cost::Units(200)), "about two hundred");
/// assert_eq!(Request::cost(&[("tpm", 900)]).cost, Some(Cost::ByLabel(&[("tpm", 900)])));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// The units to take. Default 1; a cost of 0 checks without taking.
    pub cost: Option<Cost<'a>>,
    /// The units to take for now, from 0. The grant has a permit with which the actual cost is reported.
    pub estimate: Option<Cost<'a>>,
    /// How long after its grant an estimate can be settled: from 5 minutes to 7 days. Default
    /// [`PERMIT_TIMEOUT`](crate::PERMIT_TIMEOUT).
    pub settle_within: Option<Micros>,
    /// The priority in the queue, from 0 to 9: higher first. Default 0. A call that does not queue has no use for it.
    pub priority: u8,
    /// Whose call this is, so that the callers of a limiter with a queue get fair shares of it. Default nobody's.
    pub share: Option<Share<'a>>,
    /// Whether the decision has each limit of the policy, in [`Decision::limits`](crate::Decision::limits). Default false.
    pub limits: bool,
}

/// How a call waits in the limiter's queue.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Micros, Paddlegate, Request, Status, Wait};
/// let mail = Paddlegate::memory().throttle("mail", Duration::from_secs(60))?;
/// mail.try_acquire(Request::cost(1))?;
/// let wait = |seconds: u64| Some(Wait::up_to(Micros(seconds * 1_000_000)));
/// let refused = mail.acquire_with_id(Request::cost(1), "letter", wait(5))?;
/// assert_eq!(refused.status, Status::Refused, "the wait is known to be longer");
/// assert_eq!(mail.acquire_with_id(Request::cost(1), "letter", wait(300))?.status, Status::Queued);
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// The maximum wait. Zero refuses instead of queueing, as does a wait that is known to be longer.
    pub max_wait: Micros,
    /// The claim timeout: the ticket keeps its queue position for this time after its call should have retried.
    pub claim_timeout: Micros,
    /// How long the ticket stays after the claim timeout. Others pass it by then, and it has its old position when its call
    /// retries. Default 0.
    pub keep: Micros,
    /// The channel for wake-ups, from [`WakeupListener`](crate::WakeupListener). Empty when the call retries without
    /// them.
    pub channel: &'a str,
    /// The queue position of the ticket.
    pub position: QueuePosition,
    /// Whether a job asks in its worker, which does not share the lease of another run of the job: set by
    /// [`Waiter::of_job`](crate::Waiter::of_job).
    pub is_run: bool,
}

/// The queue position that a ticket takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePosition {
    /// The position of the existing ticket, otherwise the end of the queue.
    End,
    /// The position of the existing ticket, otherwise the position of this ticket number: a lapsed waiter regains its position.
    Number(u64),
    /// The position of the existing ticket. Without one the status is [`NoTicket`](crate::Status::NoTicket).
    Existing,
}

impl Wait<'_> {
    /// Creates a wait of at most `max_wait` at the end of the queue, without a channel and with the default claim
    /// timeout.
    pub const fn up_to(max_wait: Micros) -> Self {
        let (keep, position) = (Micros(0), QueuePosition::End);
        Self { max_wait, claim_timeout: CLAIM_TIMEOUT, keep, channel: "", position, is_run: false }
    }

    /// Creates the wait of a job, whose host calls again at its own pace: with the default claim timeout
    /// [`ADMISSION_CLAIM_TIMEOUT`](crate::ADMISSION_CLAIM_TIMEOUT), after which others pass the ticket by for
    /// [`JOB_CLAIM_TIMEOUT`](crate::JOB_CLAIM_TIMEOUT) before the position is lost.
    pub fn of_job(max_wait: Micros, claim_timeout: Option<Micros>) -> Self {
        let claim_timeout = claim_timeout.unwrap_or(ADMISSION_CLAIM_TIMEOUT);
        Self { claim_timeout, keep: JOB_CLAIM_TIMEOUT, ..Self::up_to(max_wait) }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.max_wait > MAX_SPAN {
            return Err(Error::invalid("wait_timeout", "must be at most ten years"));
        }
        if self.claim_timeout.0 == 0 || self.claim_timeout > MAX_SPAN {
            return Err(Error::invalid("claim_timeout", "must be from one microsecond to ten years"));
        }
        if self.keep > MAX_SPAN {
            return Err(Error::invalid("keep", "must be at most ten years"));
        }
        if self.channel.len() > MAX_CHANNEL || self.channel.bytes().any(|b| b.is_ascii_control()) {
            return Err(Error::invalid("channel", format!("must be at most {MAX_CHANNEL} printable bytes")));
        }
        match self.position {
            QueuePosition::Number(number) if number > MAX_TIME.0 => {
                Err(Error::invalid("ticket", format!("must be at most 2^52: ticket={number}")))
            }
            _ => Ok(()),
        }
    }
}

/// The maximum length of a channel name in bytes.
const MAX_CHANNEL: usize = 128;

impl<'a> Request<'a> {
    /// Creates a request with a final cost.
    pub fn cost(cost: impl Into<Cost<'a>>) -> Self {
        Self { cost: Some(cost.into()), ..Self::default() }
    }

    /// Creates a request that takes an estimate until the actual cost is known.
    pub fn estimate(estimate: impl Into<Cost<'a>>) -> Self {
        Self { estimate: Some(estimate.into()), ..Self::default() }
    }

    /// Returns the request with another time in which its estimate can be settled, for calls that last for hours.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Settlement, TestClock};
    /// let clock = TestClock::new(Micros(0))?;
    /// let tokens = Paddlegate::memory_with_clock(&clock).bucket("batches", 1_000_000, Duration::from_secs(86_400))?;
    /// let request = Request::estimate(600_000).settle_within(Micros(7_200_000_000));
    /// let permit = tokens.try_acquire(request)?.permit.unwrap();
    /// clock.advance(Duration::from_secs(7_000))?;
    /// assert_eq!(tokens.correct(&permit, 410_000)?, Settlement::Settled);
    /// assert_eq!(tokens.peek(Request::cost(1))?.remaining, Some(590_000));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn settle_within(self, time: Micros) -> Self {
        Self { settle_within: Some(time), ..self }
    }

    /// Returns the request with a priority in the queue, from 0 to 9: higher first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Wait};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let permit = workers.try_acquire(Request::cost(1))?.permit.unwrap();
    /// let wait = Some(Wait::up_to(Micros(60_000_000)));
    /// workers.acquire_with_id(Request::cost(1), "report", wait)?;
    /// workers.acquire_with_id(Request::cost(1).priority(9), "payment", wait)?;
    /// workers.release(&permit)?;
    /// assert!(!workers.acquire_with_id(Request::cost(1), "report", wait)?.allowed());
    /// assert!(workers.acquire_with_id(Request::cost(1).priority(9), "payment", wait)?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// Returns the request as one of `share`, such as a tenant. Shares with calls in the queue take turns by what their
    /// calls cost, whatever the number of their calls.
    ///
    /// A share of weight 2 (from 1 to 1000) gets twice as much as one of weight 1. Calls without a share are one share of
    /// weight 1. While there are shares or priorities in a queue, the time of a queued call is an estimate by the mean of
    /// those ahead, and a refusal for a too long wait is made by it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Wait};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// workers.try_acquire(Request::cost(1))?;
    /// let queued = |id: &str, share| {
    ///     let wait = Some(Wait::up_to(Micros(60_000_000)));
    ///     workers.acquire_with_id(Request::cost(1).share(share, 1), id, wait).map(|decision| decision.ticket.unwrap().position)
    /// };
    /// assert_eq!((queued("a1", "acme")?, queued("a2", "acme")?, queued("a3", "acme")?), (0, 1, 2));
    /// assert_eq!(queued("b1", "globex")?, 1, "behind the first of the other share");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn share(self, name: &'a str, weight: u32) -> Self {
        Self { share: Some(Share { name, weight }), ..self }
    }

    /// Returns the request with each limit of the policy in the decision, for the headers of a response or a dashboard.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate, Policy, Request};
    /// let minute = Duration::from_secs(60);
    /// let (requests, tokens) = (Limit::window(100, minute)?, Limit::leaky(5_000, minute)?);
    /// let policy = Policy::new([requests.labelled("requests")?, tokens.labelled("tokens")?])?;
    /// let model = Paddlegate::memory().limiter("model", policy)?;
    /// let decision = model.try_acquire(Request::cost(&[("tokens", 900)]).with_limits())?;
    /// let remaining = decision.limits.iter().map(|limit| (&*limit.label, limit.remaining));
    /// assert_eq!(remaining.collect::<Vec<_>>(), [("requests", 99), ("tokens", 4_100)]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn with_limits(self) -> Self {
        Self { limits: true, ..self }
    }

    /// Returns the request with the place in the queue that the arguments of a caller name, which may be of any range.
    pub fn in_queue(self, priority: Option<u64>, share: Option<&'a str>, weight: Option<u64>) -> Result<Self> {
        let priority = priority.map_or(Ok(self.priority), |priority| {
            u8::try_from(priority).map_err(|_| Error::invalid("priority", out_of_range(priority)))
        })?;
        let share = match (share, weight) {
            (None, Some(_)) => return Err(Error::invalid("weight", "belongs to a share; leave it out or give one")),
            (None, None) => self.share,
            (Some(name), weight) => {
                Some(Share { name, weight: u32::try_from(weight.unwrap_or(1)).unwrap_or(u32::MAX) })
            }
        };
        let request = Self { priority, share, ..self };
        request.order().map(|_| request)
    }

    /// Returns the checked order of the call in the queue.
    pub(crate) fn order(&self) -> Result<Order<'a>> {
        if self.priority > MAX_PRIORITY {
            return Err(Error::invalid("priority", out_of_range(self.priority.into())));
        }
        let Some(share) = self.share else { return Ok(Order { priority: self.priority, ..Order::default() }) };
        share.check()?;
        Ok(Order { priority: self.priority, weight: share.weight, share: share.name })
    }

    /// Returns the units of a call without an estimate and without labels; `None` for another one.
    #[inline]
    pub(crate) fn plain_units(&self) -> Option<u64> {
        // Every field is named, so that a new one cannot be forgotten here.
        match *self {
            // How a call would queue does not matter to one that does not.
            Self { cost, estimate: None, settle_within: None, priority: _, share: _, limits: false } => match cost {
                None => Some(1),
                Some(Cost::Units(units)) => Some(units),
                Some(_) => None,
            },
            _ => None,
        }
    }

    /// Returns the units to take of each limit, and how long the grant can be settled if it needs a permit.
    #[inline]
    pub(crate) fn charge(&self, policy: &Policy) -> Result<(Charge, Option<Micros>)> {
        let of_cost = |cost: Cost<'_>, argument| cost.charge_of_call(argument, policy);
        self.resolved(policy.is_estimated(), of_cost, || Charge::All(1))
    }

    /// Returns the units to take of each limit of several limiters, which are given by name, and how long the grant can be
    /// settled if it needs a permit.
    pub(crate) fn charges(&self, limiters: &[(&str, &Policy)]) -> Result<(Vec<Charge>, Option<Micros>)> {
        let is_estimated = limiters.iter().any(|(_, policy)| policy.is_estimated());
        let of_cost = |cost: Cost<'_>, argument| cost.charges_of_call(argument, limiters);
        self.resolved(is_estimated, of_cost, || vec![Charge::All(1); limiters.len()])
    }

    #[inline]
    fn resolved<T>(
        &self,
        is_estimated: bool,
        of_cost: impl Fn(Cost<'a>, &'static str) -> Result<T>,
        one: impl Fn() -> T,
    ) -> Result<(T, Option<Micros>)> {
        if let Some(time) = self.settle_within {
            check_settle_within(time, self.estimate.is_some())?;
        }
        match (self.cost, self.estimate) {
            (Some(_), Some(_)) => Err(Error::invalid("estimate", "give a cost or an estimate, not both")),
            (Some(cost), None) => Ok((of_cost(cost, "cost")?, None)),
            (None, Some(estimate)) => {
                Ok((of_cost(estimate, "estimate")?, Some(self.settle_within.unwrap_or(PERMIT_TIMEOUT))))
            }
            (None, None) if is_estimated => {
                Err(Error::invalid("estimate", "give the points that the call is expected to cost, or a cost"))
            }
            (None, None) => Ok((one(), None)),
        }
    }
}

fn out_of_range(priority: u64) -> String {
    format!("must be from 0 to {MAX_PRIORITY}: priority={priority}")
}

#[cold]
fn check_settle_within(time: Micros, is_estimate: bool) -> Result<()> {
    if !is_estimate {
        return Err(Error::invalid("settle_within", "belongs to an estimate; leave it out or give one"));
    }
    if !(PERMIT_TIMEOUT..=MAX_PERMIT_TIMEOUT).contains(&time) {
        let message = format!("must be from 5 minutes to 7 days: settle_within_us={}", time.0);
        return Err(Error::invalid("settle_within", message));
    }
    Ok(())
}

/// Checks the id of a call, which is also the id of its ticket and its lease.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if id.is_empty() || id.len() > MAX_ID {
        return Err(Error::invalid("id", format!("must have 1 to {MAX_ID} bytes: bytes={}", id.len())));
    }
    if id.starts_with(|first: char| first.is_ascii_control() || first == LOCAL) {
        return Err(Error::invalid("id", "must not begin with a control character or ~"));
    }
    Ok(())
}
