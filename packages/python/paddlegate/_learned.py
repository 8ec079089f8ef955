"""`Learned`: the result of an upstream report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from paddlegate._native import _LearnedFields, _Scope


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of an upstream report: the values that changed the limiter, and the others.

    A value that the limiter already had is in neither list.
    """

    settlement: Literal["settled", "already", "late", "unknown"] | None
    """The settlement of the permit, as `correct` returns it; None when the report has no actual
    cost of a permit."""
    learned: tuple[str, ...]
    """The values that changed: "limit", "interval", "remaining", "reset" and "pause".

    "reset" is the end of the interval of a bucket. With several limits the label of the limit
    follows, as in "remaining[rpm]".
    """
    ignored: tuple[str, ...]
    """The values that changed nothing, with the reason: "remaining: calls are open"."""
    cost: int | None
    """The actual cost of the call, as the response reports it."""
    pause: float | None
    """Seconds for which the response asks to pause."""
    scope: _Scope | None
    """The scope of a refusal; "global" applies to all limiters of this API. Only Discord reports
    it."""
    bucket: str | None
    """The upstream's name of the budget that counted the call. Only Discord reports it."""


def to_learned(fields: _LearnedFields) -> Learned:
    """Convert the native result."""
    settlement, changed, ignored, cost, pause, scope, bucket = fields
    return Learned(settlement, tuple(changed), tuple(ignored), cost, pause, scope, bucket)
