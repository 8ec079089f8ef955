"""Waiting for a permit with a ticket in the queue of the limiter, on a thread or in a task."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from paddlegate._asyncio import run_operation
from paddlegate._blocking import warn_if_blocking
from paddlegate._cleanup import cancel_in_background, cancel_on_loop
from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError
from paddlegate._native import new_id
from paddlegate._permit import AsyncPermit, Permit

if TYPE_CHECKING:
    from paddlegate._hub import Hub
    from paddlegate._limiter import Limiter
    from paddlegate._native import Decision

Span: TypeAlias = float | timedelta | str
"""Seconds, a timedelta, one of second, minute, hour and day, or an ISO 8601 duration."""

RequestArguments: TypeAlias = tuple[int | None, int | None, None, str, int, float, None, str]
"""The arguments of `_enter` and `_begin_enter`."""

INTERRUPT_CANCEL_TIMEOUT = 0.05
"""Seconds for which an interrupted thread waits for the cancellation of its call."""
CLOSE_CANCEL_TIMEOUT = 1
"""Seconds for which a thread waits for the cancellation when its store is closed."""


class BaseWaiter:
    """One call that may wait: builds its requests and evaluates the decisions."""

    def __init__(
        self,
        limiter: Limiter,
        cost: int | None,
        estimate: int | None,
        wait_timeout: Span | None,
        id: str | None,  # noqa: A002 - the name in all languages
    ) -> None:
        self.limiter = limiter
        self.id = new_id() if id is None else id
        self._has_generated_id = id is None
        self.deadline = monotonic() + limiter._wait_timeout_seconds(wait_timeout)
        self.sent = -inf
        self._request = cost, estimate, None
        self._ticket = 0
        self._channel = ""
        self._hub: Hub | None = None

    def next_request(self) -> RequestArguments:
        """Return the next request; at the deadline it has no time left and is the last."""
        self._check_open()
        self._channel = self._join_hub()
        self.sent = monotonic()
        left = max(self.deadline - self.sent, 0)
        return (*self._request, self.id, self._ticket, left, None, self._channel)

    def on_decision(self, decision: Decision) -> float | None:
        """Return when to retry, None when granted; raise `OverLimit` when refused."""
        if decision.status == "granted":
            return None
        if decision.status != "queued" or decision.ticket is None or decision.retry_after is None:
            raise OverLimit(self.limiter.name, decision)
        retry_at = monotonic() + decision.retry_after
        self._ticket = decision.ticket
        self._check_open()
        # With a ticket the call needs a hub; a redirection may have changed the node.
        channel = self._join_hub()
        if channel not in {"", self._channel}:
            # Retry at once, so that the ticket names the channel.
            return -inf
        return min(retry_at, self.deadline)

    def may_hold(self, error: BaseException) -> bool:
        """Return whether the call may hold a ticket or a lease of its own after this error."""
        if not (self._has_generated_id or self._ticket):
            # A given id may name a lease that this call did not take.
            return False
        if isinstance(error, OverLimit):
            return self._ticket_remains(error.decision)
        if self._is_closed and isinstance(error, InvalidError):
            return self._ticket > 0
        if isinstance(error, UnavailableError):
            return error.may_have_counted or self._ticket > 0
        return not isinstance(error, (InvalidError, GeneratorExit))

    def _ticket_remains(self, decision: Decision) -> bool:
        """Return whether the store still has its ticket, since it did not make the decision."""
        return decision.degraded and self._ticket > 0

    @property
    def _is_closed(self) -> bool:
        return self.limiter._hubs.closed

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidError("is closed; open another one", "store")

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue, if `loop` is to run this task but is busy closing the store."""

    def leave_hub(self) -> None:
        """Leave the hub; no wake-ups arrive from then on."""
        if self._hub is not None:
            self._hub.remove(self)
            self._hub = None

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock."""
        raise NotImplementedError

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        raise NotImplementedError

    def _join_hub(self) -> str:
        """Join the hub of the limiter's node; return its channel, empty without one.

        A hub is opened only for a call that has a ticket.
        """
        node = self.limiter._notification_node()
        if self._hub is None or self._hub.node != node:
            self.leave_hub()
            hub = None if node is None else self._get_hub(node, self._ticket > 0)
            if hub is None or not (self._ticket or hub.channel):
                return ""
            self._hub = hub
            hub.add(self)
        return self._hub.channel


class ThreadWaiter(BaseWaiter):
    """A call that waits on a thread."""

    def wait(self) -> Permit:
        """Wait for the permit, or raise `OverLimit`."""
        self._wakeups: SimpleQueue[float] = SimpleQueue()
        self._has_slept = False
        try:
            while True:
                self._clear_wakeups()
                decision: Decision = self.limiter._enter(*self.next_request())
                retry_at = self.on_decision(decision)
                if retry_at is None:
                    permit = Permit(self.limiter, decision, self.sent)
                    # A signal handler may raise here too.
                    if self._ticket_remains(decision):
                        cancel_in_background(self.limiter, self.id)
                    self.leave_hub()
                    return permit
                self._sleep(retry_at)
        except BaseException as error:
            try:
                if self.may_hold(error):
                    cancel_in_background(self.limiter, self.id, self._cancel_timeout(error))
            finally:
                self.leave_hub()
            raise

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        self._wakeups.put(at)

    def _cancel_timeout(self, error: BaseException) -> float:
        if not isinstance(error, PaddlegateError):
            return INTERRUPT_CANCEL_TIMEOUT
        # The time of the call is over, and a server that has just failed would take longer.
        return CLOSE_CANCEL_TIMEOUT if self._is_closed else 0

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        return self.limiter._hubs.for_threads(node, create)

    def _clear_wakeups(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._wakeups.get_nowait()

    def _sleep(self, until: float) -> None:
        if not self._has_slept and until > monotonic():
            self._has_slept = True
            warn_if_blocking(self.limiter.name)
        while (left := until - monotonic()) > 0:
            with contextlib.suppress(Empty):
                until = min(until, self._wakeups.get(timeout=left))


class TaskWaiter(BaseWaiter):
    """A call that waits in a task."""

    async def wait(self) -> AsyncPermit:
        """Wait for the permit, or raise `OverLimit`."""
        limiter = self.limiter
        self._loop = asyncio.get_running_loop()
        self._sleeping: asyncio.Future[None] | None = None
        try:
            while True:
                self._wake_at = inf
                decision: Decision = await run_operation(
                    limiter._links, limiter._begin_enter, limiter._enter, *self.next_request()
                )
                retry_at = self.on_decision(decision)
                if retry_at is None:
                    if self._ticket_remains(decision):
                        cancel_on_loop(limiter, self.id)
                    return AsyncPermit(limiter, decision, self.sent)
                await self._sleep(retry_at)
        except BaseException as error:
            if self.may_hold(error):
                cancel_on_loop(limiter, self.id)
            raise
        finally:
            self.leave_hub()

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._set_wake_time(at)
        else:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                self._loop.call_soon_threadsafe(self._set_wake_time, at)

    def _set_wake_time(self, at: float) -> None:
        self._wake_at = min(self._wake_at, at)
        self._end_sleep()

    def _end_sleep(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        return self.limiter._hubs.for_loop(self._loop, node, create)

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue, if `loop` is to run this task but is busy closing the store."""
        if loop is self._loop:
            if self._ticket:
                self._ticket = 0
                cancel_on_loop(self.limiter, self.id)
            self.leave_hub()

    async def _sleep(self, until: float) -> None:
        while (left := min(until, self._wake_at) - monotonic()) > 0:
            self._sleeping = self._loop.create_future()
            timer = self._loop.call_later(left, self._end_sleep)
            try:
                await self._sleeping
            finally:
                timer.cancel()
                self._sleeping = None
