"""`Order`: where a call joins the queue."""

from __future__ import annotations

from typing import TypeAlias

Order: TypeAlias = tuple[int | None, str | None, int | None]
"""The priority, the share and its weight; None stands for the default."""


def order(priority: int | None, share: str | None, weight: int | None) -> Order | None:
    """Return the order as the native methods take it; None when nothing is given."""
    given = (priority, share, weight)
    return None if given == (None, None, None) else given
