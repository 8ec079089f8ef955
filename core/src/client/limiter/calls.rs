//! The calls of a limiter: acquire, correct, release and the others, on the calling thread.

use super::Limiter;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::extension::Extension;
use crate::model::history::History;
use crate::model::operation::{Content, Operation};
use crate::model::permit::Settlement;
use crate::model::request::{Request, Wait};
use crate::model::statistics::Statistics;
use crate::model::turns::{ReadyCalls, TurnsHost};
use crate::store::signal_handling::SignalHandling;

impl Limiter {
    /// Takes the cost if every limit allows it and no ticket is ahead, otherwise nothing. Never waits for a limit.
    ///
    /// `Invalid` when the cost can never be granted; `Unavailable` when the store cannot decide. A cost above a limit that was
    /// lowered at run time is refused with the reason [`TooLarge`](crate::Reason::TooLarge), until the override ends.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?;
    /// assert_eq!(api.try_acquire(Request::cost(2))?.remaining, Some(0));
    /// let refused = api.try_acquire(Request::cost(1))?;
    /// assert!(!refused.allowed() && refused.retry_after.unwrap() <= Micros(60_000_000));
    /// assert_eq!(api.try_acquire(Request::cost(3)).unwrap_err().argument(), Some("cost"), "never possible");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn try_acquire(&self, request: Request<'_>) -> Result<Decision> {
        if let Some((plain, limit)) = self.acquire_plain(&request) {
            return Ok(plain.decision(limit));
        }
        self.ask(Operation::Acquire(request))
    }

    /// Takes the cost as [`try_acquire`](Self::try_acquire) does and returns whether it was granted, without the numbers.
    ///
    /// `Invalid` also for a policy with a concurrency limit, as [`check_allow`](Self::check_allow) says.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::memory();
    /// let api = pg.window("api", 2, Duration::from_secs(60))?;
    /// assert!(api.allow(Request::cost(2))?);
    /// assert!(!api.allow(Request::cost(1))?);
    /// let workers = pg.concurrent("workers", 2, Duration::from_secs(60))?;
    /// assert_eq!(workers.allow(Request::cost(1)).unwrap_err().argument(), Some("allow"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn allow(&self, request: Request<'_>) -> Result<bool> {
        if let Some(is_granted) = self.allow_at_once(&request) {
            return Ok(is_granted);
        }
        self.check_allow()?;
        Ok(self.try_acquire(request)?.allowed())
    }

    /// Checks that a plain yes or no is enough for this limiter; `allow` of every package calls it first.
    ///
    /// `Invalid` for a policy with a concurrency limit: its grants are leases, and a lease cannot be released without
    /// its permit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::memory();
    /// assert!(pg.window("api", 2, Duration::from_secs(60))?.check_allow().is_ok());
    /// assert!(pg.concurrent("workers", 2, Duration::from_secs(60))?.check_allow().is_err());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn check_allow(&self) -> Result<()> {
        if self.grants_leases() {
            let message = "returns no permit, so the lease of the concurrency limit could not be released; use acquire";
            return Err(Error::invalid("allow", message));
        }
        Ok(())
    }

    /// Takes the cost as [`try_acquire`](Self::try_acquire) does, under an id of the caller. With `wait` the call may queue.
    ///
    /// The id names the lease and the ticket: a repeated call takes no second lease and keeps the queue position. A
    /// queued caller repeats the call with the same id after `retry_after`, or on a wake-up from its channel; a caller
    /// that gives up calls [`cancel`](Self::cancel).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Settlement, Status, Wait};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let wait = Some(Wait::up_to(Micros(5_000_000)));
    /// assert_eq!(workers.acquire_with_id(Request::cost(1), "a", wait)?.status, Status::Granted);
    /// assert_eq!(workers.acquire_with_id(Request::cost(1), "a", wait)?.status, Status::Granted, "the same lease");
    /// let queued = workers.acquire_with_id(Request::cost(1), "b", wait)?;
    /// assert_eq!((queued.status, queued.ticket.unwrap().position), (Status::Queued, 0));
    /// assert_eq!(workers.cancel("b")?, Settlement::Cancelled);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire_with_id(&self, request: Request<'_>, id: &str, wait: Option<Wait<'_>>) -> Result<Decision> {
        self.ask(Operation::AcquireWithId { request, id, wait })
    }

    /// Returns what [`try_acquire`](Self::try_acquire) would return now and changes nothing. `remaining` does not subtract the
    /// cost.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?;
    /// assert!(api.peek(Request::cost(2))?.allowed());
    /// assert_eq!(api.peek(Request::cost(2))?.remaining, Some(2), "nothing was taken");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn peek(&self, request: Request<'_>) -> Result<Decision> {
        if let Some((plain, limit)) = self.peek_plain(&request) {
            return Ok(plain.decision(limit));
        }
        self.ask(Operation::Peek(request))
    }

    /// Replaces the estimate of a permit by the actual cost, once; later calls change nothing.
    ///
    /// A cost by label changes only the limits that it names, and those that the estimate named: the others count one
    /// before and after.
    ///
    /// A lower cost is refunded; a higher one becomes debt, capped at one full limit. A bucket is corrected only while
    /// its interval lasts, a window only where it still contains the grant. Of an extended permit the last reservation
    /// is changed first, at its own time. A throttle counts starts and is not corrected.
    ///
    /// A meter (`leaky`, `points`) refunds the whole difference, including what has drained since the grant: of 1,000
    /// points that refill in 20 s, 2,000 can be granted in 20 s when the first 1,000 are corrected to 0;
    /// [`Refund::Undrained`](crate::Refund::Undrained) gives back no such units. In a window
    /// the actual use never exceeds the limit: behind more than 1,000 newer units a higher cost is charged to a later
    /// time, and a lower one is refunded with the oldest units.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(86_400))?;
    /// let permit = shop.try_acquire(Request::estimate(200))?.permit.unwrap();
    /// assert_eq!(shop.correct(&permit, 50)?, Settlement::Settled);
    /// assert_eq!(shop.peek(Request::cost(1))?.remaining, Some(950));
    /// assert_eq!(shop.correct(&permit, 0)?, Settlement::Already);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn correct<'a>(&self, permit: &str, actual: impl Into<Cost<'a>>) -> Result<Settlement> {
        self.ask(Operation::Correct { permit, actual: actual.into() })
    }

    /// Reserves more units for the call of an open permit, such as a stream that grows: all of them if every limit allows it,
    /// otherwise nothing.
    ///
    /// A grant has the id of the permit with the sum, with which a later correction compares; the older ids stay valid. A
    /// refusal has a `retry_after` and leaves the permit as it was. An extension does not wait behind the queue, whose calls
    /// came later. A map of labels takes nothing of a limit that it does not name; limits that count calls are not charged.
    ///
    /// The units are added to what `permit` says: a repeated call with the same id reserves them once, also after a lost
    /// reply. So extend a permit with the id of its last grant, one call after the other. `Invalid` with the argument `units`
    /// when they can never be granted, and when the sum exceeds 10^12.
    ///
    /// The deadline of the permit stays. A correction gives back units in the period of the first grant alone (bucket, quota),
    /// and of a window at most what the first estimate took.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Extension, Paddlegate, Request, Settlement};
    /// let tokens = Paddlegate::memory().points("tokens", 1_000, Duration::from_secs(86_400))?;
    /// let permit = tokens.try_acquire(Request::estimate(200))?.permit.unwrap();
    /// let extended = tokens.extend(&permit, 300)?;
    /// let longer = extended.decision().unwrap().permit.clone().unwrap();
    /// assert!(tokens.extend(&permit, 300)?.allowed(), "the same call again");
    /// assert_eq!(tokens.peek(Request::cost(0))?.remaining, Some(500));
    /// assert!(!tokens.extend(&longer, 600)?.allowed());
    /// assert_eq!(tokens.correct(&longer, 450)?, Settlement::Settled);
    /// assert_eq!(tokens.peek(Request::cost(0))?.remaining, Some(550));
    /// assert_eq!(tokens.extend(&longer, 1)?, Extension::Closed(Settlement::Already));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn extend<'a>(&self, permit: &str, units: impl Into<Cost<'a>>) -> Result<Extension> {
        self.ask(Operation::Extend { permit, units: units.into() })
    }

    /// Charges a cost in any case, up to one whole limit of debt. The decision shows the remaining units.
    ///
    /// For costs that are known only afterwards, such as the tokens of an answer without an estimate. Limits that count
    /// calls (concurrency, throttle) are not charged. The decision is a grant; it describes the limit with the fewest
    /// remaining units. A repeated call charges again.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let tokens = Paddlegate::memory().points("tokens", 1_000, Duration::from_secs(86_400))?;
    /// assert_eq!(tokens.debit(900)?.remaining, Some(100));
    /// assert_eq!(tokens.debit(900)?.remaining, Some(0), "a debt of 800");
    /// assert!(!tokens.peek(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn debit<'a>(&self, cost: impl Into<Cost<'a>>) -> Result<Decision> {
        self.ask(Operation::Debit(cost.into()))
    }

    /// Gives units back without a permit: the opposite of [`debit`](Self::debit), for those who count first and give back later.
    ///
    /// It gives back at most what is taken of each limit now: nothing of a limit that is whole, whose interval has ended, or that
    /// has drained. Of a window it gives back the newest units. Limits that count calls (concurrency, throttle) are not changed.
    /// The decision is a grant; it describes the limit with the fewest remaining units. A repeated call gives back again: with the
    /// permit of an estimate, [`correct`](Self::correct) gives back once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let hits = Paddlegate::memory().window("hits", 5, Duration::from_secs(60))?;
    /// hits.try_acquire(Request::cost(3))?;
    /// assert_eq!(hits.refund(2)?.remaining, Some(4));
    /// assert_eq!(hits.refund(100)?.remaining, Some(5), "no more than was taken");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn refund<'a>(&self, units: impl Into<Cost<'a>>) -> Result<Decision> {
        self.ask(Operation::Refund(units.into()))
    }

    /// Ends the lease of a permit, once.
    ///
    /// Returns `Released`; `Late` when the lease had ended before, `Unknown` when there is no such lease. Never ends
    /// another lease, whatever the id. Without a concurrency limit there is nothing to release.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let permit = workers.try_acquire(Request::cost(1))?.permit.unwrap();
    /// assert_eq!(workers.release(&permit)?, Settlement::Released);
    /// assert_eq!(workers.release("unheard of")?, Settlement::Unknown);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn release(&self, permit: &str) -> Result<Settlement> {
        self.ask(Operation::Release { permit })
    }

    /// Restarts the duration of a lease and returns it; `None` when the lease has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let permit = workers.try_acquire(Request::cost(1))?.permit.unwrap();
    /// assert_eq!(workers.renew(&permit)?, Some(Micros(30_000_000)));
    /// workers.release(&permit)?;
    /// assert_eq!(workers.renew(&permit)?, None);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn renew(&self, permit: &str) -> Result<Option<Micros>> {
        self.ask(Operation::Renew { permit })
    }

    /// Removes the ticket of a call from the queue, and ends the lease that it may have become.
    ///
    /// Returns `Cancelled`, or `Unknown` when there was neither.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Settlement, Status, Wait};
    /// let mail = Paddlegate::memory().throttle("mail", Duration::from_secs(60))?;
    /// mail.try_acquire(Request::cost(1))?;
    /// let wait = Some(Wait::up_to(Micros(300_000_000)));
    /// assert_eq!(mail.acquire_with_id(Request::cost(1), "letter", wait)?.status, Status::Queued);
    /// assert_eq!(mail.cancel("letter")?, Settlement::Cancelled);
    /// assert_eq!(mail.cancel("letter")?, Settlement::Unknown);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn cancel(&self, id: &str) -> Result<Settlement> {
        self.ask(Operation::Cancel { id, gave_up: false })
    }

    /// Returns the ids of up to `count` queued calls whose turn has come, in the order of the queue, for a host that calls
    /// its jobs.
    ///
    /// It takes nothing. The claim timeout of a call begins when this returns its id, which it does once, whoever asks: again
    /// only after the call has come and queues again. Calls that wait for a wake-up are left out, and so is one whose cost the
    /// limits no longer allow. `count` is from 1 to 100.
    ///
    /// While a host asks, at least every 10 seconds, a queued call with a claim timeout of a minute or a job of
    /// [`admit`](Self::admit) is told to come back after a minute instead of after an estimate, so that it makes one call
    /// to queue and one to run.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Action, OnLimit, Paddlegate, Request};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(600))?;
    /// let admit = |job| workers.admit(job, Request::cost(1), OnLimit::Wait);
    /// let first = admit("job-1")?;
    /// assert_eq!(admit("job-2")?.action, Action::Wait);
    /// assert!(workers.ready(100)?.is_empty(), "job-1 runs");
    /// workers.release(&first.decision.permit.unwrap())?;
    /// assert_eq!(workers.ready(100)?, ["job-2"]);
    /// assert_eq!(admit("job-2")?.action, Action::Run);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn ready(&self, count: u64) -> Result<Vec<String>> {
        self.ready_calls(count, None).map(|ready| ready.ids)
    }

    /// Returns what [`ready`](Self::ready) does, to a host that sleeps until the next turn comes, and says for how long.
    ///
    /// A message with the id of the host comes over its channel when a turn comes before, for ten seconds from now or until one
    /// says that a turn has come: so a host asks again then, or after [`ReadyCalls::after`], at most 5 s. Of several hosts of a
    /// limiter one gets the message, and the last eight are known. [`turns`](Self::turns) does all of this on a thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, OnLimit, Paddlegate, Request, TurnsHost};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(600))?;
    /// let admit = |job| workers.admit(job, Request::cost(1), OnLimit::Wait);
    /// let first = admit("job-1")?;
    /// let listener = workers.listen()?;
    /// let host = TurnsHost { id: "host", channel: listener.channel() };
    /// let nothing = workers.ready_for(100, host)?;
    /// assert_eq!((nothing.ids.len(), nothing.after), (0, Micros(5_000_000)));
    /// admit("job-2")?;
    /// workers.release(&first.decision.permit.unwrap())?;
    /// assert_eq!(listener.receive()?[0].id, "host");
    /// assert_eq!(workers.ready_for(100, host)?.ids, ["job-2"]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn ready_for(&self, count: u64, host: TurnsHost<'_>) -> Result<ReadyCalls> {
        self.ready_calls(count, Some(host))
    }

    pub(crate) fn ready_calls(&self, count: u64, host: Option<TurnsHost<'_>>) -> Result<ReadyCalls> {
        self.ask(Operation::Ready { count, host })
    }

    /// Returns the counters of this limiter over all processes, and its current leases and tickets.
    ///
    /// What another process counted in a burst it sends up to a second later, or with its next call, or when it ends; see
    /// [`Paddlegate::close`](crate::Paddlegate::close).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// api.try_acquire(Request::cost(5))?;
    /// api.try_acquire(Request::cost(1))?;
    /// let statistics = api.statistics()?;
    /// assert_eq!((statistics.granted, statistics.refused, statistics.units), (1, 1, 5));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn statistics(&self) -> Result<Statistics> {
        self.ask(Operation::Statistics)
    }

    /// Returns what was counted in each of the last 60 minutes and 48 hours by all processes, for charts.
    ///
    /// What another process counted in a burst arrives up to a second later, as in [`statistics`](Self::statistics), and counts in
    /// the minute in which it was decided.
    ///
    /// `Invalid`, argument `statistics`, for a limiter that keeps none.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// api.try_acquire(Request::cost(5))?;
    /// let history = api.history()?;
    /// assert_eq!((history.minutes.len(), history.hours.len()), (60, 48));
    /// assert_eq!((history.hours[47].granted, history.hours[47].units), (1, 5));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn history(&self) -> Result<History> {
        self.ask(Operation::History)
    }

    /// Deletes the state: charged units, permits, leases, tickets, statistics, overrides, learned limits and a pause.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?;
    /// api.try_acquire(Request::cost(1))?;
    /// api.reset()?;
    /// assert!(api.try_acquire(Request::cost(1))?.allowed());
    /// assert_eq!(api.statistics()?.granted, 1, "the statistics began again too");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn reset(&self) -> Result<()> {
        self.run(Operation::Reset, SignalHandling::Ignore).map(|_| ())
    }

    /// Runs an operation whose answer has this content.
    pub(super) fn ask<T: Content>(&self, operation: Operation<'_>) -> Result<T> {
        T::of(self.run(operation, SignalHandling::Ignore)?)
    }
}
