"""`GateDecision`: what becomes of a request at a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import _Level


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What becomes of a request at a gate. True when it may go ahead, false when it may not."""

    allowed: bool
    """Whether it may go ahead. If not, its answer is a failure."""
    delay: float
    """Seconds by which its answer is delayed, also that of a failure; 0 without a delay."""
    slot: str | None
    """The name of the slot that counted; None when nothing limits the request."""
    level: _Level | None
    """The level that refused, or the one that delays longest: "second", "minute" or "hour"; None
    when no level is full."""
    retry_after: float | None
    """Seconds from the decision on until a refused request may pass; 0 when allowed, None when no
    time is known (0 actions)."""
    reason: str | None
    """The kind of the limit that refused, "bucket" or "paused"; None when allowed."""

    def __bool__(self) -> bool:
        return self.allowed
