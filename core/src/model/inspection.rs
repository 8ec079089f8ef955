//! `Inspection`: what a limiter contains at one moment: its limits, leases and tickets.

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::mode::Mode;

/// The maximum `count` of a [`Page`].
pub const MAX_PAGE: u64 = 250;

/// The maximum `offset` of a [`Page`].
pub const MAX_PAGE_OFFSET: u64 = 100_000;

/// A part of the leases and of the tickets of a limiter: of each list `count` entries from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The number of entries before the page, at most 100,000.
    pub offset: u64,
    /// The length of the page, at most 250; 0 only counts.
    pub count: u64,
}

/// The first hundred.
impl Default for Page {
    fn default() -> Self {
        Self { offset: 0, count: 100 }
    }
}

impl Page {
    /// Returns the page of these arguments, each with a default.
    pub fn of(offset: Option<u64>, count: Option<u64>) -> Self {
        let default = Self::default();
        Self { offset: offset.unwrap_or(default.offset), count: count.unwrap_or(default.count) }
    }

    pub(crate) fn check(self) -> Result<()> {
        let Self { offset, count } = self;
        if offset > MAX_PAGE_OFFSET {
            return Err(Error::invalid("offset", format!("must be from 0 to {MAX_PAGE_OFFSET}: offset={offset}")));
        }
        if count > MAX_PAGE {
            return Err(Error::invalid("count", format!("must be from 0 to {MAX_PAGE}: count={count}")));
        }
        Ok(())
    }
}

/// The limits, leases and tickets of a limiter, as [`Limiter::inspect`](crate::Limiter::inspect) finds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The time of the store.
    pub at: Micros,
    /// The limits of the policy in its order, each by itself; none of an unlimited or a paused policy.
    pub limits: Vec<InspectedLimit>,
    /// How long the pause lasts from now; `None` without a pause.
    pub paused_for: Option<Micros>,
    /// How long the block lasts from now, by a command or by refusals; `None` without a block.
    pub blocked_for: Option<Micros>,
    /// The mode in force: an override's, otherwise the policy's.
    pub mode: Mode,
    /// A page of the leases that have not ended, also of other policies of the name; the first to end first.
    pub leases: Vec<LeaseInfo>,
    /// The number of all such leases.
    pub lease_count: u64,
    /// A page of the tickets, the first in the queue first. Lapsed tickets leave gaps in a page.
    pub tickets: Vec<TicketInfo>,
    /// The number of all tickets, with lapsed ones that no call has removed yet; 0 once all have lapsed.
    pub ticket_count: u64,
}

/// One limit of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedLimit {
    /// The label.
    pub label: Label,
    /// The kind.
    pub kind: Kind,
    /// The amount that rules.
    pub limit: u64,
    /// The interval that rules, as of [`Limit::interval`](crate::Limit::interval).
    pub interval: Micros,
    /// Whose numbers these are.
    pub source: LimitSource,
    /// The units, starts or leases that count now; above the limit in debt, or after the limit was lowered.
    pub taken: u64,
    /// The units that are left, of a throttle 1 or 0. Those that tickets wait for are not subtracted.
    pub remaining: u64,
    /// The time until this limit passes one more unit to a call that nobody is ahead of, whatever the other limits and a pause
    /// say; zero for now. `None` when it is unknown, as under a limit of zero.
    pub next_after: Option<Micros>,
    /// The time until all of it is available again.
    pub reset_after: Micros,
}

/// Whose numbers of a limit rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitSource {
    /// The numbers of the caller's policy.
    #[default]
    Policy,
    /// The numbers of an override.
    Override,
    /// Those learned from the upstream.
    Learned,
}

impl LimitSource {
    /// All sources, in the order of their codes, which begin with 0.
    pub const ALL: [Self; 3] = [Self::Policy, Self::Override, Self::Learned];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Override => "override",
            Self::Learned => "learned",
        }
    }
}

/// One lease of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseInfo {
    /// The id of the call that holds it.
    pub id: String,
    /// The time since the grant; `None` when the store no longer knows it.
    pub held_for: Option<Micros>,
    /// The time until it ends, unless it is renewed or released.
    pub ends_in: Micros,
    /// The fencing token; `None` when the store no longer knows it.
    pub fencing_token: Option<u64>,
}

/// One ticket of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketInfo {
    /// The id of the call that waits.
    pub id: String,
    /// The priority, from 0 to 9; the highest first.
    pub priority: u8,
    /// The share that the ticket counts for; `None` for a ticket without a share.
    pub share: Option<String>,
    /// The time since it joined the queue.
    pub waited: Micros,
    /// Whether its call may retry now: it was called, or the time of its next try has come.
    ///
    /// False while another limiter of a call to several holds it up.
    pub ready: bool,
}
