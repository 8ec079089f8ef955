"""`RuntimeState`: the pause, the overrides and the learned limits of a limiter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from paddlegate._native import _RuntimeStateFields


class LimitSettings(NamedTuple):
    """The numbers of one limit."""

    label: str
    kind: str
    amount: int
    """The limit or the capacity in units; for a throttle the starts per interval."""
    interval: float
    """Seconds: the interval, the time to drain or refill fully, or the duration of a lease."""


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """The pause, the overrides and the learned limits of a limiter, for all processes."""

    version: int
    """A number that rises with every change; 0 when nothing is in force."""
    in_use: bool
    """Whether the store knew the limiter before this call: it had a state or statistics.

    False for a name that was never used. An earlier command counts as a use.
    """
    paused_for: float | None
    """Seconds until the pause ends; None without a pause."""
    overrides: dict[str, LimitSettings] = field(hash=False)
    """The overrides by their labels, also of limits that this policy does not have. They take
    precedence."""
    expires_in: float | None
    """Seconds until the overrides end; None when they last until they are removed."""
    learned: dict[str, LimitSettings] = field(hash=False)
    """The limits learned from the upstream by their labels; they apply where no override is
    active."""


def to_runtime_state(fields: _RuntimeStateFields) -> RuntimeState:
    """Convert the native result."""
    version, in_use, paused_for, overrides, expires_in, learned = fields
    return RuntimeState(
        version,
        in_use,
        paused_for,
        {limit[0]: LimitSettings(*limit) for limit in overrides},
        expires_in,
        {limit[0]: LimitSettings(*limit) for limit in learned},
    )
