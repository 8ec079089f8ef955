"""`Renewal`: renews the lease of a permit while a body runs."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from paddlegate._errors import PaddlegateError

if TYPE_CHECKING:
    from paddlegate._permit import AsyncPermit, Permit

SHORTEST = 0.1
"""Seconds between two renewals at least."""


class Renewal:
    """Renews a lease, if the permit has one, when half of its time is over; on a daemon thread."""

    __slots__ = ("_permit", "_stopped", "_thread")

    def __init__(self, permit: Permit) -> None:
        self._permit = permit
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if self._permit.expires_in is not None:
            self._thread = threading.Thread(target=self._run, name="paddlegate-renew", daemon=True)
            self._thread.start()

    def __exit__(self, *raised: object) -> None:
        self._stopped.set()
        if self._thread is not None:
            # A renewal that arrives after the release would find that the lease was lost.
            self._thread.join()

    def _run(self) -> None:
        while (left := self._permit.expires_in) and not self._stopped.wait(_pause(left)):
            # The server may be back before the lease ends.
            with suppress(PaddlegateError):
                if not self._permit.renew():
                    return


class AsyncRenewal:
    """Like `Renewal`, in a task."""

    __slots__ = ("_permit", "_task")

    def __init__(self, permit: AsyncPermit) -> None:
        self._permit = permit
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        if self._permit.expires_in is not None:
            self._task = asyncio.create_task(self._run())

    async def __aexit__(self, *raised: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while left := self._permit.expires_in:
            await asyncio.sleep(_pause(left))
            with suppress(PaddlegateError):
                if not await self._permit.renew():
                    return


def _pause(left: float) -> float:
    return max(left / 2, SHORTEST)
