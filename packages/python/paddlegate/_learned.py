"""`Learned`: what became of what an upstream says of its budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from paddlegate._native import _LearnedFields, _Scope


@dataclass(frozen=True, slots=True)
class Learned:
    """What has changed by what an upstream says, and what has not, and why.

    What was known already is in neither list.
    """

    settlement: Literal["settled", "already", "late", "unknown"] | None
    """What became of the permit, as `correct` answers; None when no cost of one was told."""
    learned: tuple[str, ...]
    """What has changed: "limit", "interval", "remaining", "reset" and "pause".

    With several limits the index of the limit follows, as in "remaining[1]".
    """
    ignored: tuple[str, ...]
    """What was said and changed nothing, with the reason: "remaining: calls are open"."""
    cost: int | None
    """What the call did cost, as the answer says."""
    pause: float | None
    """Seconds that the answer asks to pause."""
    scope: _Scope | None
    """Of whom a refusal is; "global" concerns all limiters of this API. Only Discord tells."""
    bucket: str | None
    """What the upstream calls the budget that counted the call. Only Discord tells."""


def to_learned(fields: _LearnedFields) -> Learned:
    """Name the parts."""
    settlement, changed, ignored, cost, pause, scope, bucket = fields
    return Learned(settlement, tuple(changed), tuple(ignored), cost, pause, scope, bucket)
