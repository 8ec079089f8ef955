//! `NativeInspection`: what a limiter contains.

use paddlegate_core::{InspectedLimit, LeaseInfo, Page, TicketInfo};

use crate::error::Result;
use crate::limiter::NativeLimiter;
use crate::number::{number, some, some_us, us, whole};

/// The limits, leases and tickets of a limiter.
#[derive(uniffi::Record)]
pub struct NativeInspection {
    pub at_us: i64,
    pub limits: Vec<NativeInspectedLimit>,
    pub paused_for_us: Option<i64>,
    pub blocked_for_us: Option<i64>,
    pub mode: String,
    pub leases: Vec<NativeLease>,
    pub lease_count: i64,
    pub tickets: Vec<NativeTicket>,
    pub ticket_count: i64,
}

/// One limit with the numbers that rule.
#[derive(uniffi::Record)]
pub struct NativeInspectedLimit {
    pub label: String,
    pub kind: String,
    pub limit: i64,
    pub interval_us: i64,
    pub source: String,
    pub taken: i64,
    pub remaining: i64,
    pub next_after_us: Option<i64>,
    pub reset_after_us: i64,
}

/// One lease.
#[derive(uniffi::Record)]
pub struct NativeLease {
    pub id: String,
    pub held_for_us: Option<i64>,
    pub ends_in_us: i64,
    pub fencing_token: Option<i64>,
}

/// One ticket.
#[derive(uniffi::Record)]
pub struct NativeTicket {
    pub id: String,
    pub priority: i64,
    pub share: Option<String>,
    pub waited_us: i64,
    pub ready: bool,
}

#[uniffi::export]
impl NativeLimiter {
    pub fn inspect(&self, offset: Option<i64>, count: Option<i64>) -> Result<NativeInspection> {
        let page = Page::of(some("offset", offset, whole)?, some("count", count, whole)?);
        let it = self.0.inspect(page)?;
        Ok(NativeInspection {
            at_us: us(it.at),
            limits: it.limits.iter().map(NativeInspectedLimit::from).collect(),
            paused_for_us: some_us(it.paused_for),
            blocked_for_us: some_us(it.blocked_for),
            mode: it.mode.name().to_owned(),
            leases: it.leases.into_iter().map(NativeLease::from).collect(),
            lease_count: number(it.lease_count),
            tickets: it.tickets.into_iter().map(NativeTicket::from).collect(),
            ticket_count: number(it.ticket_count),
        })
    }
}

impl From<&InspectedLimit> for NativeInspectedLimit {
    fn from(it: &InspectedLimit) -> Self {
        Self {
            label: it.label.to_string(),
            kind: it.kind.name().to_owned(),
            limit: number(it.limit),
            interval_us: us(it.interval),
            source: it.source.name().to_owned(),
            taken: number(it.taken),
            remaining: number(it.remaining),
            next_after_us: some_us(it.next_after),
            reset_after_us: us(it.reset_after),
        }
    }
}

impl From<LeaseInfo> for NativeLease {
    fn from(it: LeaseInfo) -> Self {
        Self {
            id: it.id,
            held_for_us: some_us(it.held_for),
            ends_in_us: us(it.ends_in),
            fencing_token: it.fencing_token.map(number),
        }
    }
}

impl From<TicketInfo> for NativeTicket {
    fn from(it: TicketInfo) -> Self {
        Self { id: it.id, priority: it.priority.into(), share: it.share, waited_us: us(it.waited), ready: it.ready }
    }
}
