"""Turns of queued jobs, as they come: an iterator for a thread and one for an event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import ref

from paddlegate._asyncio import run_operation, running_loop
from paddlegate._errors import InvalidError
from paddlegate._native import new_id

if TYPE_CHECKING:
    from paddlegate._hub import Hub
    from paddlegate._limiter import Limiter
    from paddlegate._waiting import Span


class _HubEntry:
    """What a hub knows of a loop; it keeps no loop alive that its program has dropped."""

    def __init__(self, turns: BaseTurns) -> None:
        self.id = turns.id
        self.limiter = turns.limiter
        self._turns = ref(turns)

    def wake(self, at: float) -> None:
        turns = self._turns()
        if turns is not None:
            turns.wake(at)

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing: a loop is not in the queue."""


class BaseTurns:
    """The ids of queued jobs, each when its turn comes. `close` ends the loop over them."""

    def __init__(self, limiter: Limiter, count: int, wait_timeout: Span | None) -> None:
        self.limiter = limiter
        self.id = new_id()
        """The id that the wake-ups name."""
        self._count, self._wait_timeout = limiter._turns_options(count, wait_timeout)
        self._listed: deque[str] = deque()
        self._entry = _HubEntry(self)
        self._hub: Hub | None = None
        self._channel = ""
        self._due = 0.0
        self._closed = False

    def __del__(self) -> None:
        self._leave_hub()

    def close(self) -> None:
        """End the loop, after the turns that it has been given; callable from any thread."""
        self._closed = True
        self._leave_hub()
        self.wake(0)

    def wake(self, at: float) -> None:
        """Ask at this time of the monotonic clock."""
        raise NotImplementedError

    def _get_hub(self, node: str) -> Hub | None:
        raise NotImplementedError

    def _end(self) -> float | None:
        return None if self._wait_timeout is None else monotonic() + self._wait_timeout

    def _join_hub(self) -> str:
        """Join the hub of the limiter's node; return its channel, empty without one."""
        if self.limiter._hubs.closed:
            raise InvalidError("is closed; open another one", "store")
        node = self.limiter._notification_node()
        hub = self._hub
        if hub is None or hub.node != node:
            self._leave_hub()
            hub = self._hub = None if node is None else self._get_hub(node)
            if hub is not None:
                hub.add(self._entry)
        return "" if hub is None else hub.channel

    def _leave_hub(self) -> None:
        hub = getattr(self, "_hub", None)
        if hub is not None:
            hub.remove(self._entry)
            self._hub = None

    def _host(self) -> tuple[str, str] | None:
        self._channel = self._join_hub()
        return (self.id, self._channel) if self._channel else None

    def _on_answer(self, answer: tuple[list[str], float]) -> None:
        ids, after = answer
        self._listed.extend(ids)
        self._due = min(self._due, monotonic() + after)

    def _left(self, end: float | None) -> float:
        """Return the seconds until the next question; none when the channel is another one."""
        if self._join_hub() != self._channel:
            return 0
        due = self._due if end is None else min(self._due, end)
        return due - monotonic()

    def _is_over(self, end: float | None) -> bool:
        """Return whether the time is up and no question is due."""
        if self._closed:
            self._leave_hub()
        return self._closed or (end is not None and end <= monotonic() < self._due)


class Turns(BaseTurns):
    """An iterator over the ids of queued jobs; see `Limiter.turns`."""

    def __init__(self, limiter: Limiter, count: int, wait_timeout: Span | None) -> None:
        self._wakeups: SimpleQueue[float] = SimpleQueue()
        super().__init__(limiter, count, wait_timeout)

    def __iter__(self) -> Turns:
        return self

    def __next__(self) -> str:
        """Return the id of the job whose turn comes next, when it comes."""
        end = self._end()
        while not self._listed:
            while not self._closed and (left := self._left(end)) > 0:
                with contextlib.suppress(Empty):
                    self._due = min(self._due, self._wakeups.get(timeout=left))
            if self._is_over(end):
                raise StopIteration
            self._ask()
        return self._listed.popleft()

    def wake(self, at: float) -> None:
        """Ask at this time of the monotonic clock; callable from any thread."""
        self._wakeups.put(at)

    def _ask(self) -> None:
        host = self._host()
        # Wake-ups from before the question are forgotten.
        self._wakeups = SimpleQueue()
        self._due = float("inf")
        try:
            self._on_answer(self.limiter._ready(False, self._count, None, host))
        except BaseException:
            self._due = 0
            raise

    def _get_hub(self, node: str) -> Hub | None:
        return self.limiter._hubs.for_threads(node, True)


class AsyncTurns(BaseTurns):
    """An asynchronous iterator over the ids of queued jobs; see `Limiter.aturns`."""

    def __init__(self, limiter: Limiter, count: int, wait_timeout: Span | None) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sleeping: asyncio.Future[None] | None = None
        super().__init__(limiter, count, wait_timeout)

    def __aiter__(self) -> AsyncTurns:
        return self

    async def __anext__(self) -> str:
        """Return the id of the job whose turn comes next, when it comes."""
        loop = running_loop()
        if self._loop is not loop:
            self._leave_hub()
            self._loop = loop
        end = self._end()
        while not self._listed:
            while not self._closed and (left := self._left(end)) > 0:
                await self._sleep(loop, left)
            if self._is_over(end):
                raise StopAsyncIteration
            await self._ask()
        return self._listed.popleft()

    def wake(self, at: float) -> None:
        """Ask at this time of the monotonic clock; callable from any thread."""
        loop = self._loop
        if loop is None or asyncio._get_running_loop() is loop:
            self._on_wakeup(at)
        else:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(self._on_wakeup, at)

    def _on_wakeup(self, at: float) -> None:
        self._due = min(self._due, at)
        self._end_sleep()

    def _end_sleep(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    async def _sleep(self, loop: asyncio.AbstractEventLoop, left: float) -> None:
        self._sleeping = loop.create_future()
        timer = loop.call_later(left, self._end_sleep)
        try:
            await self._sleeping
        finally:
            timer.cancel()
            self._sleeping = None

    async def _ask(self) -> None:
        host = self._host()
        self._due = float("inf")
        try:
            limiter = self.limiter
            answer: Any = await run_operation(
                limiter._links, limiter._ready, self._count, None, host
            )
            self._on_answer(answer)
        except BaseException:
            self._due = 0
            raise

    def _get_hub(self, node: str) -> Hub | None:
        loop = running_loop()
        return self.limiter._hubs.for_loop(loop, node, True)
