"""`Statistics` of a limiter, and `LimiterInfo`: a limiter in the list of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import _LimiterFields, _StatisticsFields


@dataclass(frozen=True, slots=True)
class Statistics:
    """What all processes did with a limiter, and who is there now. Times are sums of seconds."""

    granted: int
    """Calls that passed."""
    refused: int
    """Calls that were refused, and waits whose time was up."""
    waited: int
    """Grants that had to wait."""
    wait_time: float
    """The time that those waited."""
    units: int
    """Units taken, after corrections."""
    corrections: int
    """Permits that were settled."""
    held_time: float
    """The time that released leases were held."""
    overages: int
    """Leases whose holder released them after their end."""
    reclaimed: int
    """Leases that had ended without a release when somebody else was granted one."""
    lapsed: int
    """Tickets that lost their place because they did not look in time."""
    leases: int
    """Leases held now."""
    tickets: int
    """Tickets in the queue now."""

    @property
    def immediate(self) -> int:
        """Grants that did not have to wait."""
        return self.granted - self.waited


def to_statistics(fields: _StatisticsFields) -> Statistics:
    """Name the numbers."""
    return Statistics(*fields)


@dataclass(frozen=True, slots=True)
class LimitInfo:
    """One limit as it was last used; times in seconds."""

    kind: str
    amount: int
    interval: float
    offset: float


@dataclass(frozen=True, slots=True)
class LimiterInfo:
    """One limiter in the list of all."""

    name: str
    limits: tuple[LimitInfo, ...]
    last_used: float | None
    """The store's time of its last use, to the minute, in seconds since 1970; None in memory."""
    ttl: float
    """Seconds that its statistics are kept after its last use."""


def to_limiter_info(entry: _LimiterFields) -> LimiterInfo:
    """Name the parts of an entry."""
    name, limits, last_used, ttl = entry
    return LimiterInfo(
        name,
        tuple(
            LimitInfo(kind, amount, interval / 1e6, offset / 1e6)
            for kind, amount, interval, offset in limits
        ),
        last_used / 1e6 if last_used else None,
        ttl / 1e6,
    )
