"""`warn_if_blocking`: the warning for a blocking wait on the thread of an event loop."""

from __future__ import annotations

import asyncio
import sys
import warnings

from paddlegate._errors import BlockingWarning


def warn_if_blocking(name: str) -> None:
    """Warn if an event loop runs on this thread, at the line that called this package."""
    if asyncio._get_running_loop() is None:
        return
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").startswith("paddlegate."):
        level += 1
    warnings.warn(
        f"a blocking wait stops the event loop; use async with or await aacquire: limiter={name!r}",
        BlockingWarning,
        stacklevel=level + 1,
    )
