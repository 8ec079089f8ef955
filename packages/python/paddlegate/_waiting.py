"""How a thread or a task waits for its turn: with a ticket in the queue of the limiter."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from paddlegate._asyncio import ask, watches
from paddlegate._blocking import warn_of_blocking
from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError
from paddlegate._giving_back import give_back, give_back_later
from paddlegate._native import new_id
from paddlegate._permit import AsyncPermit, Permit

if TYPE_CHECKING:
    from paddlegate._hub import Hub
    from paddlegate._limiter import Limiter
    from paddlegate._native import Decision

Span: TypeAlias = float | timedelta | str
"""Seconds, a timedelta, one of second, minute, hour and day, or an ISO 8601 duration."""

Question: TypeAlias = tuple[int | None, int | None, None, str, int, float, None, str]
"""What `_enter` wants to know."""

INTERRUPTED = 0.05
"""Seconds that a thread which was interrupted gives its ticket to leave the queue."""
CLOSED = 1
"""Seconds that a thread whose store is closed gives it."""


class Waiting:
    """One call that may wait: what it asks, and what it knows from the answers."""

    def __init__(
        self,
        limiter: Limiter,
        cost: int | None,
        estimate: int | None,
        wait_timeout: Span | None,
        id: str | None,  # noqa: A002 - the word that all languages have
    ) -> None:
        self.limiter = limiter
        self.id = new_id() if id is None else id
        self._is_mine = id is None
        self.ends = monotonic() + limiter._patience(wait_timeout)
        self.sent = -inf
        self._request = cost, estimate, None
        self._number = 0
        self._channel = ""
        self._hub: Hub | None = None

    def asks(self) -> Question:
        """Give the next question. At the end of its patience it is the last one."""
        self._check_open()
        self._channel = self._listen()
        self.sent = monotonic()
        left = max(self.ends - self.sent, 0)
        return (*self._request, self.id, self._number, left, None, self._channel)

    def hears(self, decision: Decision) -> float | None:
        """Give the time to look again, None when granted; raise `OverLimit` when refused."""
        if decision.status == "granted":
            return None
        if decision.status != "queued" or decision.ticket is None or decision.retry_after is None:
            raise OverLimit(self.limiter.name, decision)
        look = monotonic() + decision.retry_after
        self._number = decision.ticket
        self._check_open()
        # Now it is worth to open a hub; and the call may have learned that the place is another.
        channel = self._listen()
        if channel not in {"", self._channel}:
            # The ticket has to name it.
            return -inf
        return min(look, self.ends)

    def may_be_known(self, error: BaseException) -> bool:
        """Tell whether after this error something of the call may be with the server."""
        if not (self._is_mine or self._number):
            # Under an id that was given there may be a lease that is not of this call.
            return False
        if isinstance(error, OverLimit):
            return self._leaves_ticket(error.decision)
        if self._is_closed and isinstance(error, InvalidError):
            return self._number > 0
        if isinstance(error, UnavailableError):
            return error.may_have_counted or self._number > 0
        return not isinstance(error, (InvalidError, GeneratorExit))

    def _leaves_ticket(self, decision: Decision) -> bool:
        """Tell whether its ticket is still with the store, which has not made this decision."""
        return decision.degraded and self._number > 0

    @property
    def _is_closed(self) -> bool:
        return self.limiter._hubs.closed

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidError("is closed; open another one", "store")

    def quit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue for a store that this loop closes, whose tasks cannot do it meanwhile."""

    def leave(self) -> None:
        """Listen no more."""
        if self._hub is not None:
            self._hub.leave(self)
            self._hub = None

    def ring(self, at: float) -> None:
        """Look again at this time of the monotonic clock."""
        raise NotImplementedError

    def _find_hub(self, place: str, opening: bool) -> Hub | None:
        raise NotImplementedError

    def _listen(self) -> str:
        """Be where messages for the limiter come; nobody opens a hub before it has to wait."""
        place = self.limiter._place()
        if self._hub is None or self._hub.place != place:
            self.leave()
            hub = None if place is None else self._find_hub(place, self._number > 0)
            if hub is None or not (self._number or hub.channel):
                return ""
            self._hub = hub
            hub.join(self)
        return self._hub.channel


class ThreadWaiting(Waiting):
    """A thread that waits."""

    def wait(self) -> Permit:
        """Wait for the permit, or raise `OverLimit`."""
        self._rings: SimpleQueue[float] = SimpleQueue()
        self._has_slept = False
        try:
            while True:
                self._forget_rings()
                decision: Decision = self.limiter._enter(*self.asks())
                look = self.hears(decision)
                if look is None:
                    permit = Permit(self.limiter, decision, self.sent)
                    # A signal handler may raise in here too.
                    if self._leaves_ticket(decision):
                        give_back(self.limiter, self.id)
                    self.leave()
                    return permit
                self._sleep(look)
        except BaseException as error:
            try:
                if self.may_be_known(error):
                    give_back(self.limiter, self.id, self._patience(error))
            finally:
                self.leave()
            raise

    def ring(self, at: float) -> None:
        """Look again at this time of the monotonic clock; from any thread."""
        self._rings.put(at)

    def _patience(self, error: BaseException) -> float:
        if not isinstance(error, PaddlegateError):
            return INTERRUPTED
        # The time of the call is over, and a server that has just failed would take more of it.
        return CLOSED if self._is_closed else 0

    def _find_hub(self, place: str, opening: bool) -> Hub | None:
        return self.limiter._hubs.of_thread(place, opening)

    def _forget_rings(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._rings.get_nowait()

    def _sleep(self, until: float) -> None:
        if not self._has_slept and until > monotonic():
            self._has_slept = True
            warn_of_blocking(self.limiter.name)
        while (left := until - monotonic()) > 0:
            with contextlib.suppress(Empty):
                until = min(until, self._rings.get(timeout=left))


class TaskWaiting(Waiting):
    """A task that waits."""

    async def wait(self) -> AsyncPermit:
        """Wait for the permit, or raise `OverLimit`."""
        limiter = self.limiter
        self._loop = asyncio.get_running_loop()
        self._sleeping: asyncio.Future[None] | None = None
        try:
            while True:
                self._rung = inf
                decision: Decision = await ask(
                    limiter._links, limiter._begin_enter, limiter._enter, *self.asks()
                )
                look = self.hears(decision)
                if look is None:
                    if self._leaves_ticket(decision):
                        give_back_later(limiter, self.id)
                    return AsyncPermit(limiter, decision, self.sent)
                await self._sleep(look)
        except BaseException as error:
            if self.may_be_known(error):
                give_back_later(limiter, self.id)
            raise
        finally:
            self.leave()

    def ring(self, at: float) -> None:
        """Look again at this time of the monotonic clock; from any thread."""
        if watches(self._loop):
            self._ring(at)
        else:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                self._loop.call_soon_threadsafe(self._ring, at)

    def _ring(self, at: float) -> None:
        self._rung = min(self._rung, at)
        self._wake()

    def _wake(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def _find_hub(self, place: str, opening: bool) -> Hub | None:
        return self.limiter._hubs.of_loop(self._loop, place, opening)

    def quit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue for a store that this loop closes, whose tasks cannot do it meanwhile."""
        if loop is self._loop:
            if self._number:
                self._number = 0
                give_back_later(self.limiter, self.id)
            self.leave()

    async def _sleep(self, until: float) -> None:
        while (left := min(until, self._rung) - monotonic()) > 0:
            self._sleeping = self._loop.create_future()
            timer = self._loop.call_later(left, self._wake)
            try:
                await self._sleeping
            finally:
                timer.cancel()
                self._sleeping = None
