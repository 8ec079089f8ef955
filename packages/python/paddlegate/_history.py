"""`History` of a limiter and its entries."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import _HistoryFields


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The counts of one minute or hour."""

    start: float
    """When it began, in seconds since 1970."""
    granted: int
    """Granted calls."""
    refused: int
    """Refused calls, and waits that timed out."""
    waited: int
    """Grants that waited in the queue."""
    units: int
    """Charged units. A correction counts when it is made; when more was given back than charged,
    this is 0."""


@dataclass(frozen=True, slots=True)
class History:
    """What a limiter has counted in each minute and hour, as UTC has them, by the store's clock."""

    minutes: tuple[HistoryEntry, ...]
    """The last 60 minutes, the oldest first; the last one is not over."""
    hours: tuple[HistoryEntry, ...]
    """The last 48 hours, the oldest first; the last one is not over. They contain the minutes."""


def to_history(fields: tuple[_HistoryFields, _HistoryFields]) -> History:
    """Convert the native result."""
    minutes, hours = (tuple(starmap(HistoryEntry, entries)) for entries in fields)
    return History(minutes, hours)
