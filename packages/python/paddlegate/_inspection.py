"""`Inspection`: what a limiter contains at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import _InspectionFields, _Mode, _Source


@dataclass(frozen=True, slots=True)
class InspectedLimit:
    """One limit of an inspection, without regard to the others. Times in seconds."""

    label: str
    kind: str
    limit: int
    """The amount that rules."""
    interval: float
    """The interval that rules, as of `LimitSettings`."""
    source: _Source
    """Whose numbers these are: "policy", "override" or "learned"."""
    taken: int
    """The units, starts or leases that count now; above the limit in debt, or after the limit was
    lowered."""
    remaining: int
    """The units that are left, of a throttle 1 or 0. Those that tickets wait for are not
    subtracted."""
    next_after: float | None
    """Seconds until this limit passes one more unit to a call that nobody is ahead of, whatever the
    other limits and a pause say. None when it is unknown, as under a limit of zero."""
    reset_after: float
    """Seconds until all of it is available again."""


@dataclass(frozen=True, slots=True)
class LeaseInfo:
    """One lease of an inspection. Times in seconds."""

    id: str
    """The id of the call that holds it."""
    held_for: float | None
    """The time since the grant; None when the store no longer knows it."""
    ends_in: float
    """The time until it ends, unless it is renewed or released."""
    fencing_token: int | None
    """The fencing token; None when the store no longer knows it."""


@dataclass(frozen=True, slots=True)
class TicketInfo:
    """One ticket of an inspection."""

    id: str
    """The id of the call that waits."""
    priority: int
    """The priority, from 0 to 9; the highest first."""
    share: str | None
    """The share that the ticket counts for; None without one."""
    waited: float
    """Seconds since it joined the queue."""
    ready: bool
    """Whether its call may retry now: it was called, or the time of its next try has come."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The limits, leases and tickets of a limiter. Times in seconds."""

    at_us: int
    """The time of the store, in microseconds since 1970."""
    limits: tuple[InspectedLimit, ...]
    """The limits of the policy, in its order; none of an unlimited policy."""
    paused_for: float | None
    """The time until the pause ends; None without a pause."""
    blocked_for: float | None
    """The time until the block ends; None without a block."""
    mode: _Mode
    """The mode in force: the override of the mode, otherwise the mode of the limiter."""
    leases: tuple[LeaseInfo, ...]
    """A page of the leases, also of other policies of the name; the first to end first."""
    lease_count: int
    """The number of all leases."""
    tickets: tuple[TicketInfo, ...]
    """A page of the tickets, in the order of the queue. Lapsed tickets leave gaps in a page."""
    ticket_count: int
    """The number of all tickets, with lapsed ones that no call has removed yet."""


def to_inspection(fields: _InspectionFields) -> Inspection:
    """Convert the native result."""
    at_us, limits, paused_for, blocked_for, mode, leases, lease_count, tickets, tickets_all = fields
    return Inspection(
        at_us,
        tuple(InspectedLimit(*limit) for limit in limits),
        paused_for,
        blocked_for,
        mode,
        tuple(LeaseInfo(*lease) for lease in leases),
        lease_count,
        tuple(TicketInfo(*ticket) for ticket in tickets),
        tickets_all,
    )
