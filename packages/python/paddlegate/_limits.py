"""Limits that name their kind, so that they can have any label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from paddlegate._native import _Period, _Refund
    from paddlegate._waiting import Span


class LimitOfKind:
    """A limit that names its kind."""

    __slots__ = ()

    def _parts(self) -> tuple[object, ...]:
        """Return the kind and its numbers, as a list of limits has them."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Window(LimitOfKind):
    """At most `limit` units in any `interval`; `limit` is at most 100,000."""

    limit: int
    interval: Span

    def _parts(self) -> tuple[object, ...]:
        return "window", self.limit, self.interval


@dataclass(frozen=True, slots=True)
class Bucket(LimitOfKind):
    """At most `limit` units in each `interval` since 1970 (UTC), which starts `offset` earlier."""

    limit: int
    interval: Span
    offset: Span = 0

    def _parts(self) -> tuple[object, ...]:
        return "bucket", self.limit, self.interval, self.offset


@dataclass(frozen=True, slots=True)
class Leaky(LimitOfKind):
    """A burst of `capacity` units, which drains fully in `drain`.

    `refund` is what a correction to a lower cost gives back: "full", the default, the whole
    difference; "undrained", at most what cannot have drained since the grant.
    """

    capacity: int
    drain: Span
    refund: _Refund = field(default="full", kw_only=True)

    def _parts(self) -> tuple[object, ...]:
        return "leaky", self.capacity, self.drain, self.refund


@dataclass(frozen=True, slots=True)
class Points(LimitOfKind):
    """A budget of `capacity` points, full again after `refill`; `refund` is as for `Leaky`."""

    capacity: int
    refill: Span
    refund: _Refund = field(default="full", kw_only=True)

    def _parts(self) -> tuple[object, ...]:
        return "points", self.capacity, self.refill, self.refund


@dataclass(frozen=True, slots=True)
class Throttle(LimitOfKind):
    """`limit` starts per `interval`, evenly spaced, whatever their cost."""

    interval: Span
    limit: int = field(default=1, kw_only=True)

    def _parts(self) -> tuple[object, ...]:
        return "throttle", self.limit, self.interval


@dataclass(frozen=True, slots=True)
class Concurrency(LimitOfKind):
    """At most `limit` leases at once; a lease that is not released ends after `lock_timeout`.

    `lock_timeout` is by default the one of the limiter, or 30 seconds.
    """

    limit: int
    lock_timeout: Span | None = field(default=None, kw_only=True)

    def _parts(self) -> tuple[object, ...]:
        if self.lock_timeout is None:
            return "concurrency", self.limit
        return "concurrency", self.limit, self.lock_timeout


@dataclass(frozen=True, slots=True)
class Quota(LimitOfKind):
    """At most `limit` units in each period of the calendar: each day, week, month, quarter or year.

    `timezone` is "UTC", the default, an offset such as "+05:30", or a name such as "Europe/Berlin".
    `starts` is when the periods start in local time: for days the time, "06:00"; for weeks the day,
    "sunday"; for months the day, "15", in a shorter month its last one; for quarters and years
    month and day, "04-06"; by default midnight, Monday and the first day.
    """

    limit: int
    per: _Period
    timezone: str | None = field(default=None, kw_only=True)
    starts: str | None = field(default=None, kw_only=True)

    def _parts(self) -> tuple[object, ...]:
        return "quota", self.limit, self.per, self.timezone, self.starts


Limits: TypeAlias = Mapping[str, Any] | Iterable[LimitOfKind | tuple[object, ...]]
"""Limits by their labels, or a list of limits whose labels are their kinds."""


def joined(limits: Limits, labels: Mapping[str, object]) -> Any:
    """Return all limits; a label that is in both is there twice."""
    if not labels:
        return limits
    return [limits, labels] if isinstance(limits, Mapping) else [*limits, labels]
