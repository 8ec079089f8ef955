"""What the calls for jobs send: each job has a place in the queue under its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddlegate._options import AdmitOptions, JobOptions, check
from paddlegate._order import order_of

if TYPE_CHECKING:
    from paddlegate._cost import Cost
    from paddlegate._native import _JobOnLimit

END = 0
"""The end of the queue, for a call without a ticket."""
EXISTING = -1
"""The position of the existing ticket; without one the status is "no_ticket"."""

# `id` is the name in all languages.
# ruff: noqa: A002


def entering(id: str, place: int, cost: Cost | None, options: JobOptions) -> tuple[Any, ...]:
    """Return the arguments of `_enter`."""
    check(options, JobOptions)
    return (
        cost,
        options.get("estimate"),
        id,
        place,
        options.get("wait_timeout"),
        options.get("claim_timeout"),
        options.get("key"),
        options.get("settle_within"),
        order_of(options),
    )


def admitting(id: str, on_limit: _JobOnLimit | None, options: AdmitOptions) -> tuple[Any, ...]:
    """Return the arguments of `_admit`."""
    check(options, AdmitOptions)
    return (
        options.get("cost"),
        options.get("estimate"),
        id,
        on_limit,
        options.get("key"),
        options.get("settle_within"),
        options.get("claim_timeout"),
        order_of(options),
    )
