"""Limits that name their kind, so that they can have any label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
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
    """A burst of `capacity` units, which drains fully in `drain`."""

    capacity: int
    drain: Span

    def _parts(self) -> tuple[object, ...]:
        return "leaky", self.capacity, self.drain


@dataclass(frozen=True, slots=True)
class Points(LimitOfKind):
    """A budget of `capacity` points, full again after `refill`."""

    capacity: int
    refill: Span

    def _parts(self) -> tuple[object, ...]:
        return "points", self.capacity, self.refill


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

    Without a `lock_timeout` it is that of the limiter, or 30 seconds.
    """

    limit: int
    lock_timeout: Span | None = field(default=None, kw_only=True)

    def _parts(self) -> tuple[object, ...]:
        if self.lock_timeout is None:
            return "concurrency", self.limit
        return "concurrency", self.limit, self.lock_timeout


Limits: TypeAlias = Mapping[str, Any] | Iterable[LimitOfKind | tuple[object, ...]]
"""Limits by their labels, or a list of limits whose labels are their kinds."""


def joined(limits: Limits, labels: Mapping[str, object]) -> Any:
    """Return all limits; a label that is in both is there twice."""
    if not labels:
        return limits
    return [limits, labels] if isinstance(limits, Mapping) else [*limits, labels]
