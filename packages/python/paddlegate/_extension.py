"""`Extension`: the result of reserving more units for an open permit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import Decision, _Closed


@dataclass(frozen=True, slots=True)
class Extension:
    """The result of `extend`. True when the units are reserved, otherwise false."""

    decision: Decision | None
    """The decision on the units; a grant has the id of the permit with the sum. None for a permit
    that is not open."""
    settlement: _Closed | None
    """Why the permit is not open: "already" settled, "late" or "unknown"; otherwise None."""

    @property
    def allowed(self) -> bool:
        """Whether the units are reserved."""
        return self.decision is not None and self.decision.allowed

    def __bool__(self) -> bool:
        return self.allowed
