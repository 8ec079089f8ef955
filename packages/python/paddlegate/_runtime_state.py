"""`RuntimeState`: the pause, the block, the overrides and the learned limits of a limiter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from paddlegate._native import _Mode, _RuntimeStateFields


class LimitSettings(NamedTuple):
    """The numbers of one limit."""

    label: str
    kind: str
    amount: int
    """The limit or the capacity in units; for a throttle the starts per interval."""
    interval: float
    """Seconds: the interval, the time to drain or refill fully, or the duration of a lease; 0 for a
    quota."""


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """What is in force for a limiter, in all processes."""

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
    blocked_for: float | None = None
    """Seconds until the block ends, which a command or refusals have set; None without a block."""
    mode: _Mode | None = None
    """The override of the mode, "enforce" or "shadow", which ends with the other overrides; None
    without one."""


def to_runtime_state(fields: _RuntimeStateFields) -> RuntimeState:
    """Convert the native result."""
    version, in_use, paused_for, overrides, expires_in, learned, blocked_for, mode = fields
    return RuntimeState(
        version,
        in_use,
        paused_for,
        {limit[0]: LimitSettings(*limit) for limit in overrides},
        expires_in,
        {limit[0]: LimitSettings(*limit) for limit in learned},
        blocked_for,
        mode,
    )
