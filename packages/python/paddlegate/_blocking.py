"""`warn_of_blocking`: who sleeps on the thread of an event loop is told so."""

from __future__ import annotations

import asyncio
import sys
import warnings

from paddlegate._errors import BlockingWarning


def warn_if_blocking(name: str) -> None:
    """Warn the caller of this package, at its line, if an event loop runs on this thread."""
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
