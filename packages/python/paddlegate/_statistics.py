"""`Statistics` of a limiter, and `LimiterInfo` and `LimiterPage` of the list of limiters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddlegate._native import ListedLimiter, _ListedLimit, _Period, _StatisticsFields


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counters of a limiter over all processes. Times are sums in seconds."""

    granted: int
    """Granted calls."""
    refused: int
    """Refused calls, and waits that timed out."""
    waited: int
    """Grants that waited in the queue."""
    wait_time: float
    """The time for which those grants waited."""
    units: int
    """Charged units, after corrections."""
    corrections: int
    """Settled permits."""
    held_time: float
    """The time for which released leases were held."""
    overages: int
    """Leases that were released after their end."""
    reclaimed: int
    """Leases that had ended without a release when another lease was granted."""
    lapsed: int
    """Tickets that lost their queue position because they were not claimed in time."""
    leases: int
    """Current leases."""
    tickets: int
    """Current tickets in the queue."""
    shadow_refused: int = 0
    """Calls that only the mode "shadow" let pass; they count neither as granted nor as refused."""
    refused_by: Mapping[str, int] = field(default_factory=dict)
    """How many of the refused calls each limit refused, by label, such as {"window": 3}. A pause,
    a block and the end of a wait refuse the others."""
    waits: tuple[int, ...] = (0,) * 22
    """How many of the grants that waited have waited how long, in powers of two of a millisecond:
    below 1 ms, from 1 ms to below 2 ms, then to below 4 ms, and so on; the last, the 22nd, from
    2**20 ms (17 minutes and a half) on."""
    degraded: int = 0
    """Calls that processes decided without the store, by `on_unavailable`; they count neither as
    granted nor as refused."""
    errors: int = 0
    """Calls that failed because the store was unavailable."""
    near_limit: int = 0
    """Granted calls after which at most a fifth of a limit was left."""
    estimated_units: int = 0
    """The units that grants and extensions charged: `units` before corrections."""
    holds: tuple[int, ...] = (0,) * 22
    """How many of the released leases were held how long, in counts as those of `waits`."""

    @property
    def immediate(self) -> int:
        """Grants that did not wait."""
        return self.granted - self.waited


def to_statistics(fields: _StatisticsFields) -> Statistics:
    """Convert the native result."""
    counted, shadow_refused, refused_by, waits, others = fields
    return Statistics(*counted, shadow_refused, refused_by, waits, *others)


@dataclass(frozen=True, slots=True)
class LimitInfo:
    """One limit of a policy, or as last used; times in seconds.

    The numbers are as in `LimitSettings`.

    Of a quota the `interval` is the longest period, and `per`, `timezone` and `starts` are those of
    `Quota`; they are None for other kinds, and where this process does not know the time zone.
    """

    label: str
    kind: str
    amount: int
    interval: float
    offset: float
    per: _Period | None = None
    timezone: str | None = None
    starts: str | None = None


@dataclass(frozen=True, slots=True)
class LimiterInfo:
    """One limiter of the list of limiters."""

    name: str
    limits: tuple[LimitInfo, ...]
    last_used: float | None
    """The store's time of the last use, to the minute, in seconds since 1970; None in memory."""
    ttl: float
    """Seconds for which the statistics are kept after the last use."""
    group: str | None = None
    """The group of the limiter; None without one."""
    keyed: bool = False
    """Whether the limiter has a state for each key. All keys have one entry."""
    mode: str = "enforce"
    """The mode as last used, "enforce" or "shadow". `runtime_state` has an override of it."""


def to_limit_info(fields: _ListedLimit) -> LimitInfo:
    """Convert the native fields of a limit."""
    label, kind, amount, interval, offset, calendar = fields
    return LimitInfo(label, kind, amount, interval / 1e6, offset / 1e6, *(calendar or ()))


def to_limiter_info(entry: ListedLimiter) -> LimiterInfo:
    """Convert an entry of the native list."""
    name, limits, last_used, ttl, group, keyed, mode = entry.fields()
    return LimiterInfo(
        name,
        tuple(map(to_limit_info, limits)),
        last_used / 1e6 if last_used else None,
        ttl / 1e6,
        group,
        keyed,
        mode,
    )


@dataclass(frozen=True, slots=True)
class LimiterPage:
    """A page of the list of limiters."""

    limiters: tuple[LimiterInfo, ...]
    """The limiters of the page, sorted by name. A name may be on two pages."""
    cursor: str | None
    """The cursor of the next page; None on the last page."""


def to_limiter_page(page: tuple[list[ListedLimiter], str | None]) -> LimiterPage:
    """Convert the native result."""
    entries, cursor = page
    return LimiterPage(tuple(map(to_limiter_info, entries)), cursor)
