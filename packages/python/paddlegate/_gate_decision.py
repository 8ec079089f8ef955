"""`GateDecision`: the decision on a request at a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import _Level


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The decision on a request at a gate. True when the request may proceed, else false."""

    allowed: bool
    """Whether the request may proceed; otherwise it must fail."""
    delay: float
    """Seconds by which to delay the response, whether it succeeds or fails; 0 without a delay."""
    slot: str | None
    """The name of the slot that applied; None when nothing limits the request."""
    level: _Level | None
    """The level that refused, or the one with the longest delay: "second", "minute" or "hour"; None
    when no level is full."""
    retry_after: float | None
    """Seconds from the decision until a refused request may pass; 0 when allowed, None when no time
    is known (0 actions)."""
    reason: str | None
    """The kind of the limit that refused, "bucket" or "paused"; None when allowed."""

    def __bool__(self) -> bool:
        return self.allowed
