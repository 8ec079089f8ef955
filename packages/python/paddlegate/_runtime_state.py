"""`RuntimeState`: what is in force beside the policies of the processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from paddlegate._native import _RuntimeStateFields


class LimitSettings(NamedTuple):
    """The numbers of one limit."""

    kind: str
    amount: int
    """Units; 1 for a throttle."""
    interval: float
    """Seconds: the interval, the time to drain or refill fully, or how long a lease lasts."""


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """What is in force beside the policies, for all processes."""

    version: int
    """Rises with every change; 0 when nothing is in force."""
    in_use: bool
    """Whether the store knew the limiter before this call: it had a state or statistics.

    False for a name that nobody has used, for limits of other kinds than those in use under it,
    and without any limit. An earlier order counts as a use."""
    paused_for: float | None
    """Seconds that the pause lasts; None without a pause."""
    overrides: tuple[LimitSettings | None, ...]
    """For each limit of the policy what `override` has set, which rules."""
    expires_in: float | None
    """Seconds that the overrides last; None when they last until they are removed."""
    learned: tuple[LimitSettings | None, ...]
    """For each limit what was learned from upstream; it rules where nothing is overridden."""


def to_runtime_state(fields: _RuntimeStateFields) -> RuntimeState:
    """Name the parts."""
    version, in_use, paused_for, overrides, expires_in, learned = fields
    return RuntimeState(
        version,
        in_use,
        paused_for,
        tuple(limit and LimitSettings(*limit) for limit in overrides),
        expires_in,
        tuple(limit and LimitSettings(*limit) for limit in learned),
    )
