//! Looking into a limiter, which takes nothing.

use super::Limiter;
use crate::base::error::Result;
use crate::model::inspection::{Inspection, Page, TicketInfo};
use crate::model::operation::Operation;

impl Limiter {
    /// Returns what the limiter contains now: its limits with the numbers that rule, a page of its leases and one of its
    /// tickets, the pause, the block and the mode. Takes nothing and changes nothing, and works under a pause too.
    ///
    /// A name that was never used has whole limits. `Invalid`, argument `offset` or `count`, for a page out of range.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, LimitSource, Micros, Page, Paddlegate, Policy, Request, Wait};
    /// let limits = [Limit::concurrency(1, Duration::from_secs(30))?, Limit::bucket(5, Duration::from_secs(86_400))?];
    /// let erp = Paddlegate::memory().limiter("erp", Policy::new(limits)?)?;
    /// erp.acquire_with_id(Request::cost(2), "import", None)?;
    /// erp.acquire_with_id(Request::cost(1).priority(9), "order", Some(Wait::up_to(Micros(5_000_000))))?;
    ///
    /// let inspection = erp.inspect(Page::default())?;
    /// let bucket = &inspection.limits[1];
    /// assert_eq!((bucket.limit, bucket.taken, bucket.remaining), (5, 2, 3));
    /// assert_eq!((bucket.source, bucket.next_after), (LimitSource::Policy, Some(Micros(0))));
    /// assert_eq!((inspection.leases[0].id.as_str(), inspection.lease_count), ("import", 1));
    /// assert_eq!((inspection.tickets[0].id.as_str(), inspection.tickets[0].priority), ("order", 9));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn inspect(&self, page: Page) -> Result<Inspection> {
        self.ask(Operation::Inspect { page })
    }

    /// Returns a page of the tickets, the first in the queue first, as in [`inspect`](Self::inspect).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Page, Paddlegate, Request, Wait};
    /// let mail = Paddlegate::memory().throttle("mail", Duration::from_secs(60))?;
    /// mail.try_acquire(Request::cost(1))?;
    /// mail.acquire_with_id(Request::cost(1), "letter", Some(Wait::up_to(Micros(300_000_000))))?;
    /// let tickets = mail.queue(Page { offset: 0, count: 10 })?;
    /// assert_eq!((tickets.len(), tickets[0].id.as_str(), tickets[0].ready), (1, "letter", false));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn queue(&self, page: Page) -> Result<Vec<TicketInfo>> {
        self.inspect(page).map(|inspection| inspection.tickets)
    }
}
