"""`SKIPPED`: the result of a body that was not run."""

from __future__ import annotations

import enum
from typing import Any, Final


class Skipped(enum.Enum):
    """The type of `SKIPPED`."""

    SKIPPED = "skipped"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "paddlegate.SKIPPED"

    __str__ = __repr__


# A decorated function keeps its type, to which checkers could compare no other.
SKIPPED: Final[Any] = Skipped.SKIPPED
"""The result of a body that a limiter with `on_limit="ignore"` refused."""
