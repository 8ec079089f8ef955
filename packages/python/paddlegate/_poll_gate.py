"""`PollGate`: when a worker need not ask for tasks, since it could only send them back."""

from __future__ import annotations

import asyncio
import math
import time
from time import monotonic
from typing import TYPE_CHECKING, Any

from paddlegate._errors import PaddlegateError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paddlegate._limiter import Limiter
    from paddlegate._native import Decision

EVERY = 1.0
"""Seconds between two questions to the limiter, but for news of this process."""
STEP = 0.05
"""Those to the first question after it closed, since all leases may be taken for a moment only;
then as many as it has been closed for."""
STOPS = ("paused", "blocked")


class PollGate:
    """Is closed while not one unit of a limiter passes within `patience` seconds.

    The queue does not count: a task whose turn has come is let in when its units are there. A store
    that cannot be reached closes it too, unless `on_unavailable` lets tasks pass. Where the tasks
    choose the limiter or its key it is never closed, since the next one may pass.
    """

    __slots__ = (
        "_ask_at",
        "_asked",
        "_asking",
        "_closed_at",
        "_closed_until",
        "_limiter",
        "_patience",
    )

    def __init__(
        self,
        limiter: Limiter | Callable[..., Limiter],
        options: Mapping[str, Any],
        patience: float,
    ) -> None:
        is_chosen = callable(limiter) or callable(options.get("key"))
        self._limiter: Any = None if is_chosen else limiter
        asked = {name: options.get(name) for name in ("key", "cost", "estimate")}
        self._asked = {name: value for name, value in asked.items() if not callable(value)}
        self._patience = patience
        self._closed_until = 0.0
        self._closed_at = math.inf
        self._ask_at = math.inf if is_chosen else 0.0
        self._asking: asyncio.Task[None] | None = None

    def is_closed(self) -> bool:
        """Return whether to poll now; on an event loop by the last answer, without blocking it."""
        now = monotonic()
        if now >= self._ask_at:
            # Other threads do not ask meanwhile.
            self._ask_at = now + EVERY
            loop = asyncio._get_running_loop()
            if loop is None:
                self._ask()
            else:
                self._asking = loop.create_task(self._aask())
        return monotonic() < self._closed_until

    def ask_soon(self) -> None:
        """Ask again at the next poll: a task of this process has ended."""
        if self._closed_until:
            self._ask_at = 0.0

    def opens(self, until: float) -> bool:
        """Wait while it is closed; return whether it was, and is open before that time."""
        self._ask()
        if monotonic() >= self._closed_until:
            return False
        while (now := monotonic()) < until:
            time.sleep(min(STEP, until - now))
            if not self.is_closed():
                return True
        return False

    async def aopens(self, until: float) -> bool:
        """Like `opens`."""
        await self._aask()
        if monotonic() >= self._closed_until:
            return False
        while (now := monotonic()) < until:
            await asyncio.sleep(min(STEP, until - now))
            if not self.is_closed():
                return True
        return False

    def _ask(self) -> None:
        if self._limiter is None:
            return
        try:
            self._close_for(self._seconds(self._limiter.peek(**self._asked, limits=True)))
        except PaddlegateError as error:
            self._on_error(error)

    async def _aask(self) -> None:
        if self._limiter is None:
            return
        try:
            self._close_for(self._seconds(await self._limiter.apeek(**self._asked, limits=True)))
        except PaddlegateError as error:
            self._on_error(error)

    def _on_error(self, error: PaddlegateError) -> None:
        # Another error fails the tasks, which tells of it.
        self._close_for(math.inf if isinstance(error, UnavailableError) else 0)

    def _close_for(self, seconds: float) -> None:
        now = monotonic()
        self._closed_until = now + seconds - self._patience if seconds else 0.0
        self._closed_at = min(self._closed_at, now) if seconds else math.inf
        closed_for = max(now - self._closed_at, STEP) if seconds else EVERY
        self._ask_at = now + min(closed_for, EVERY)

    def _seconds(self, decision: Decision) -> float:
        if decision.allowed:
            return 0
        if decision.reason == "unavailable":
            return math.inf
        waits = [decision.retry_after] if decision.reason in STOPS else []
        waits += [limit.retry_after for limit in decision.limits]
        seconds = max((math.inf if wait is None else wait for wait in waits), default=0)
        return seconds if seconds > self._patience else 0
