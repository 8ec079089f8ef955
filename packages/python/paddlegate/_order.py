"""`Order`: where a call joins the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from paddlegate._options import CallOptions

Order: TypeAlias = tuple[int | None, str | None, int | None]
"""The priority, the share and its weight; None stands for the default."""


def order(priority: int | None, share: str | None, weight: int | None) -> Order | None:
    """Return the order as the native methods take it; None when nothing is given."""
    given = (priority, share, weight)
    return None if given == (None, None, None) else given


def order_of(options: CallOptions) -> Order | None:
    """Return the order that is in the options of a call."""
    if "priority" in options or "share" in options or "weight" in options:
        return order(options.get("priority"), options.get("share"), options.get("weight"))
    return None
