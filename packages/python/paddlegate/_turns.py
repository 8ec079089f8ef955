"""Turns of queued jobs, as they come: an iterator for a thread and one for an event loop."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import ref

from paddlegate._asyncio import run_operation, running_loop
from paddlegate._native import new_id
from paddlegate._waiting import HubMember, LoopMember, ThreadMember

if TYPE_CHECKING:
    import asyncio

    from paddlegate._limiter import Limiter
    from paddlegate._waiting import Span


class _HubEntry:
    """What a hub knows of an iterator, which it does not keep alive."""

    def __init__(self, turns: BaseTurns) -> None:
        self.id = turns.id
        self.limiter = turns.limiter
        self._turns = ref(turns)

    def wake(self, at: float) -> None:
        turns = self._turns()
        if turns is not None:
            turns.wake(at)

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing: an iterator is not in the queue."""


class BaseTurns(HubMember):
    """The ids of queued jobs, each when its turn comes. `close` ends the loop over them."""

    def __init__(self, limiter: Limiter, count: int, wait_timeout: Span | None) -> None:
        self.limiter = limiter
        self.id = new_id()
        """The id that the wake-ups name."""
        self._count, self._wait_timeout = limiter._turns_options(count, wait_timeout)
        self._listed: deque[str] = deque()
        self._hub_entry = _HubEntry(self)
        self._channel = ""
        self._due = 0.0
        self._closed = False

    def __del__(self) -> None:
        self.leave_hub()

    def close(self) -> None:
        """End the loop, after the turns that it has been given; callable from any thread."""
        self._closed = True
        self.leave_hub()
        self.wake(0)

    def _entry(self) -> _HubEntry:
        return self._hub_entry

    def _end(self) -> float | None:
        return None if self._wait_timeout is None else monotonic() + self._wait_timeout

    def _dispatcher(self) -> tuple[str, str] | None:
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
            self.leave_hub()
        return self._closed or (end is not None and end <= monotonic() < self._due)


class Turns(ThreadMember, BaseTurns):
    """An iterator over the ids of queued jobs; see `Limiter.turns`."""

    def __init__(self, limiter: Limiter, count: int, wait_timeout: Span | None) -> None:
        self._forget_wakeups()
        super().__init__(limiter, count, wait_timeout)

    def __iter__(self) -> Turns:
        return self

    def __next__(self) -> str:
        """Return the id of the job whose turn comes next, when it comes."""
        end = self._end()
        while not self._listed:
            while not self._closed and (left := self._left(end)) > 0:
                self._due = min(self._due, self._next_wakeup(left))
            if self._is_over(end):
                raise StopIteration
            self._ask()
        return self._listed.popleft()

    def _ask(self) -> None:
        dispatcher = self._dispatcher()
        # Wake-ups from before the question are forgotten.
        self._forget_wakeups()
        self._due = float("inf")
        try:
            self._on_answer(self.limiter._ready(False, self._count, None, dispatcher))
        except BaseException:
            self._due = 0
            raise


class AsyncTurns(LoopMember, BaseTurns):
    """An asynchronous iterator over the ids of queued jobs; see `Limiter.aturns`."""

    def __aiter__(self) -> AsyncTurns:
        return self

    async def __anext__(self) -> str:
        """Return the id of the job whose turn comes next, when it comes."""
        loop = running_loop()
        if self._loop is not loop:
            self.leave_hub()
            self._loop = loop
        end = self._end()
        while not self._listed:
            while not self._closed and (left := self._left(end)) > 0:
                await self._sleep_for(left)
            if self._is_over(end):
                raise StopAsyncIteration
            await self._ask()
        return self._listed.popleft()

    def _on_wakeup(self, at: float) -> None:
        self._due = min(self._due, at)

    async def _ask(self) -> None:
        dispatcher = self._dispatcher()
        self._due = float("inf")
        try:
            limiter = self.limiter
            answer: Any = await run_operation(
                limiter._links, limiter._ready, self._count, None, dispatcher
            )
            self._on_answer(answer)
        except BaseException:
            self._due = 0
            raise
