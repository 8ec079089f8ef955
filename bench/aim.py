"""What a figure should be, beside that of the reference in the same run."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """Missing one is shown, no more: it depends on the machine."""

    text: str
    is_met: Callable[[float, float], bool]  # By the figures of the reference and of ours.
    inverse: bool = False  # The ratio tells how many times faster we are.


def at_most(ratio: float) -> Aim:
    """For times."""
    return Aim(f"at most {ratio:.2f} x", lambda reference, ours: ours <= ratio * reference)


def at_least(ratio: float) -> Aim:
    """For calls per second."""
    return Aim(f"at least {ratio:.2f} x", lambda reference, ours: ours >= ratio * reference)


def faster(ratio: float) -> Aim:
    """For times."""
    text = f"at least {ratio:.0f} x faster"
    return Aim(text, lambda reference, ours: ours * ratio <= reference, inverse=True)


def at_most_bytes(size: float) -> Aim:
    return Aim(f"at most {size:.0f} bytes", lambda _, ours: ours <= size)


def at_least_per_second(thousands: float) -> Aim:
    return Aim(f"at least {thousands:.0f} k/s", lambda _, ours: ours >= thousands)


def at_most_microseconds(time: float) -> Aim:
    return Aim(f"at most {time:.0f} us", lambda _, ours: ours <= time)
