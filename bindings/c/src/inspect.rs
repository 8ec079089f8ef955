//! `pg_inspect`: what a limiter contains at one moment.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::{
    Answer, Error as CoreError, InspectedLimit as CoreLimit, Inspection as CoreInspection, LeaseInfo as CoreLease,
    MAX_PAGE, Micros, Operation, Page, Result, TicketInfo as CoreTicket,
};

use crate::call::unexpected;
use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limit::Kind;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::signals::on_signal;
use crate::text;

/// One limit of a pg_inspection, by itself.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct InspectedLimit {
    /// The label.
    pub label: [c_char; 40],
    /// Whose numbers these are: "policy", "override" or "learned".
    pub source: [c_char; 16],
    /// The amount that rules.
    pub limit: i64,
    /// The interval that rules, as in pg_limit.
    pub interval_us: i64,
    /// The units, starts or leases that count now; above the limit in debt, or after the limit was
    /// lowered.
    pub taken: i64,
    /// The units that are left, of a throttle 1 or 0. Those that tickets wait for are not
    /// subtracted.
    pub remaining: i64,
    /// How long until this limit passes one more unit to a call that nobody is ahead of, whatever
    /// the other limits and a pause say; -1 when it is unknown, as under a limit of zero.
    pub next_after_us: i64,
    /// How long until all of it is available again.
    pub reset_after_us: i64,
    /// The kind, a pg_kind.
    pub kind: i32,
}

/// One lease of an inspection.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeaseInfo {
    /// The id of the call that holds it; empty when there is none.
    pub id: [c_char; 72],
    /// How long it has been held; -1 when the store no longer knows it.
    pub held_for_us: i64,
    /// How long until it ends, unless it is renewed or released.
    pub ends_in_us: i64,
    /// The fencing token; -1 when the store no longer knows it.
    pub fencing_token: i64,
}

/// One ticket of an inspection.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TicketInfo {
    /// The id of the call that waits; empty when there is none.
    pub id: [c_char; 72],
    /// The share that the ticket counts for; empty without one.
    pub share: [c_char; 136],
    /// How long ago it joined the queue.
    pub waited_us: i64,
    /// The priority, from 0 to 9; the highest first.
    pub priority: i32,
    /// 1 when its call may retry now: it was called, or the time of its next try has come.
    pub ready: i32,
}

/// What a limiter contains.
#[repr(C)]
pub struct Inspection {
    /// The time of the store since 1970.
    pub at_us: i64,
    /// How long the pause lasts from now; -1 without a pause.
    pub paused_for_us: i64,
    /// How long the block lasts from now; -1 without a block.
    pub blocked_for_us: i64,
    /// The number of all leases, also of other policies of the name.
    pub lease_count: i64,
    /// The number of all tickets, with lapsed ones that no call has removed yet.
    pub ticket_count: i64,
    /// The number of elements of leases that were found.
    pub leases_found: usize,
    /// The number of elements of tickets that were found.
    pub tickets_found: usize,
    /// The number of limits, at most 8.
    pub limit_count: usize,
    /// The limits of the policy, in its order.
    pub limits: [InspectedLimit; 8],
    /// The mode that rules, "enforce" or "shadow": an override of it, otherwise that of the limiter.
    pub mode: [c_char; 16],
}

impl InspectedLimit {
    const NONE: Self = Self {
        label: [0; 40],
        source: [0; 16],
        limit: 0,
        interval_us: 0,
        taken: 0,
        remaining: 0,
        next_after_us: -1,
        reset_after_us: 0,
        kind: Kind::None as i32,
    };

    fn of(core: &CoreLimit) -> Self {
        Self {
            label: text::write(&core.label),
            source: text::write(core.source.name()),
            limit: number(Some(core.limit)),
            interval_us: span(Some(core.interval)),
            taken: number(Some(core.taken)),
            remaining: number(Some(core.remaining)),
            next_after_us: span(core.next_after),
            reset_after_us: span(Some(core.reset_after)),
            kind: Kind::from(core.kind) as i32,
        }
    }
}

impl LeaseInfo {
    const NONE: Self = Self { id: [0; 72], held_for_us: -1, ends_in_us: 0, fencing_token: -1 };

    fn of(core: &CoreLease) -> Self {
        Self {
            id: text::write(&core.id),
            held_for_us: span(core.held_for),
            ends_in_us: span(Some(core.ends_in)),
            fencing_token: number(core.fencing_token),
        }
    }
}

impl TicketInfo {
    const NONE: Self = Self { id: [0; 72], share: [0; 136], waited_us: 0, priority: 0, ready: 0 };

    fn of(core: &CoreTicket) -> Self {
        Self {
            id: text::write(&core.id),
            share: text::write(core.share.as_deref().unwrap_or_default()),
            waited_us: span(Some(core.waited)),
            priority: core.priority.into(),
            ready: core.ready.into(),
        }
    }
}

impl Inspection {
    const NONE: Self = Self {
        at_us: 0,
        paused_for_us: -1,
        blocked_for_us: -1,
        lease_count: 0,
        ticket_count: 0,
        leases_found: 0,
        tickets_found: 0,
        limit_count: 0,
        limits: [InspectedLimit::NONE; 8],
        mode: [0; 16],
    };

    fn of(core: &CoreInspection) -> Self {
        let mut limits = [InspectedLimit::NONE; 8];
        for (slot, limit) in limits.iter_mut().zip(&core.limits) {
            *slot = InspectedLimit::of(limit);
        }
        Self {
            at_us: number(Some(core.at.0)),
            paused_for_us: span(core.paused_for),
            blocked_for_us: span(core.blocked_for),
            lease_count: number(Some(core.lease_count)),
            ticket_count: number(Some(core.ticket_count)),
            leases_found: core.leases.len(),
            tickets_found: core.tickets.len(),
            limit_count: core.limits.len(),
            limits,
            mode: text::write(core.mode.name()),
        }
    }
}

fn span(span: Option<Micros>) -> i64 {
    number(span.map(|Micros(micros)| micros))
}

/// Writes the limits with the numbers that rule, the pause, the block and the mode to inspection,
/// and a page of the leases, the first to end first, and of the tickets, in the order of the queue.
/// Takes nothing and changes nothing, and works under a pause too.
///
/// The page has count elements from offset on, which leases and tickets have room for; all of them
/// are written. count is from 0 to 250; with 0 leases and tickets may be NULL. offset is from 0 to
/// 100000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_inspect(
    limiter: *const LimiterHandle,
    offset: usize,
    count: usize,
    inspection: Option<&mut MaybeUninit<Inspection>>,
    leases: *mut LeaseInfo,
    tickets: *mut TicketInfo,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the caller passes NULL or arrays of `count` elements.
    let leases = unsafe { page(leases, count, LeaseInfo::NONE) };
    // SAFETY: as above.
    let tickets = unsafe { page(tickets, count, TicketInfo::NONE) };
    guard_into(
        "inspection",
        inspection,
        || Inspection::NONE,
        error,
        || {
            let read = Page { offset: offset as u64, count: count as u64 };
            let run = |limiter: &paddlegate_core::Limiter| limiter.run(Operation::Inspect { page: read }, on_signal());
            let found = match LIMITERS.with(limiter, run)? {
                Answer::Inspection(found) => found,
                other => return Err(unexpected(&other)),
            };
            fill("leases", leases, found.leases.iter().map(LeaseInfo::of))?;
            fill("tickets", tickets, found.tickets.iter().map(TicketInfo::of))?;
            Ok(Inspection::of(&found))
        },
    )
}

/// Returns the caller's array with nothing in it; `None` when it is NULL and would have elements.
unsafe fn page<'a, T: Copy>(array: *mut T, count: usize, none: T) -> Option<&'a mut [T]> {
    match u64::try_from(count) {
        // Core refuses more.
        Ok(1..=MAX_PAGE) if array.is_null() => None,
        Ok(1..=MAX_PAGE) => {
            // SAFETY: not NULL, so the caller's array of `count` elements, which may be uninitialized.
            let slots: &mut [MaybeUninit<T>] = unsafe { slice::from_raw_parts_mut(array.cast(), count) };
            for slot in &mut *slots {
                slot.write(none);
            }
            // SAFETY: all elements were written.
            Some(unsafe { &mut *(&raw mut *slots as *mut [T]) })
        }
        _ => Some(&mut []),
    }
}

fn fill<T>(argument: &'static str, slots: Option<&mut [T]>, found: impl Iterator<Item = T>) -> Result<()> {
    let slots = slots.ok_or_else(|| CoreError::invalid(argument, "is NULL"))?;
    for (slot, entry) in slots.iter_mut().zip(found) {
        *slot = entry;
    }
    Ok(())
}
