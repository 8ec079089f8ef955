"""Waiting for a permit with a ticket in the queue of the limiter, on a thread or in a task."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from paddlegate._asyncio import run_operation, running_loop
from paddlegate._blocking import warn_if_blocking
from paddlegate._cleanup import cancel_in_background, cancel_on_loop
from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError
from paddlegate._native import CANCEL_TIMEOUT
from paddlegate._permit import AsyncPermit, Permit

if TYPE_CHECKING:
    from paddlegate._hub import Hub
    from paddlegate._limiter import Limiter
    from paddlegate._native import Decision, Waiter

Span: TypeAlias = float | timedelta | str
"""Seconds, a timedelta, one of second, minute, hour and day, or an ISO 8601 duration."""

INTERRUPT_CANCEL_TIMEOUT = CANCEL_TIMEOUT
"""Seconds for which an interrupted thread waits for the cancellation of its call."""
CLOSE_CANCEL_TIMEOUT = 1
"""Seconds for which a thread waits for the cancellation when its store is closed."""


def may_have_lease(error: BaseException) -> bool:
    """Return whether the store may have granted a call that ends with this error."""
    if isinstance(error, PaddlegateError):
        return isinstance(error, UnavailableError) and error.may_have_counted
    # The call was interrupted.
    return True


def cancel_timeout(limiter: Limiter, error: BaseException) -> float:
    """Return the seconds for which a thread waits for the cancellation of a call that failed."""
    if not isinstance(error, PaddlegateError):
        return INTERRUPT_CANCEL_TIMEOUT
    # The time of the call is over, and a server that has just failed would take longer.
    return CLOSE_CANCEL_TIMEOUT if limiter._hubs.closed else 0


class BaseWaiter:
    """One call that may wait. The rules are native; this receives the wake-ups."""

    def __init__(self, limiter: Limiter, rules: Waiter) -> None:
        self.limiter = limiter
        self._rules = rules
        self._hub: Hub | None = None

    @property
    def id(self) -> str:
        """The id of the call."""
        return self._rules.id

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

        A hub is opened only for a call that has a ticket. A redirection may have changed the node.
        """
        limiter = self.limiter
        if limiter._hubs.closed:
            raise InvalidError("is closed; open another one", "store")
        node = limiter._notification_node()
        hub = self._hub
        if hub is None or hub.node != node:
            if hub is not None:
                self.leave_hub()
            has_ticket = self._rules.has_ticket()
            hub = None if node is None else self._get_hub(node, has_ticket)
            if hub is None or not (has_ticket or hub.channel):
                return ""
            self._hub = hub
            hub.add(self)
        return hub.channel

    def _must_cancel(self, error: BaseException) -> bool:
        """Return whether the call, which ends with this error, must be cancelled."""
        # An attempt that another exception interrupted may still be decided.
        if isinstance(error, PaddlegateError) and not isinstance(error, OverLimit):
            self._rules.on_error(may_have_lease(error))
        return self._rules.must_cancel(False)


class ThreadWaiter(BaseWaiter):
    """A call that waits on a thread."""

    def wait(self) -> Permit:
        """Wait for the permit, or raise `OverLimit`; that of a job may have its ticket."""
        limiter, rules = self.limiter, self._rules
        self._has_slept = False
        try:
            while True:
                # Wake-ups from before the attempt are forgotten.
                self._wakeups: SimpleQueue[float] = SimpleQueue()
                channel = self._join_hub()
                sent = monotonic()
                decision = limiter._attempt(False, rules, sent, channel)
                if rules.on_decision(monotonic(), decision):
                    break
                self._sleep()
            if not decision:
                raise OverLimit(limiter.name, decision, limiter.key)
            permit = Permit(limiter, decision, sent)
            # A signal handler may raise here too.
            if rules.must_cancel(True):
                cancel_in_background(limiter, self.id)
            self.leave_hub()
            return permit
        except BaseException as error:
            try:
                if self._must_cancel(error):
                    cancel_in_background(limiter, self.id, cancel_timeout(limiter, error))
            finally:
                self.leave_hub()
            raise

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        self._wakeups.put(at)

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        return self.limiter._hubs.for_threads(node, create)

    def _sleep(self) -> None:
        channel = self._join_hub()
        while (left := self._rules.retry_at(channel) - monotonic()) > 0:
            if not self._has_slept:
                self._has_slept = True
                warn_if_blocking(self.limiter.name)
            with contextlib.suppress(Empty):
                self._rules.on_wakeup(self._wakeups.get(timeout=left))


class TaskWaiter(BaseWaiter):
    """A call that waits in a task."""

    async def wait(self) -> AsyncPermit:
        """Wait for the permit, or raise `OverLimit`."""
        limiter, rules = self.limiter, self._rules
        self._loop = running_loop()
        self._sleeping: asyncio.Future[None] | None = None
        try:
            while True:
                channel = self._join_hub()
                sent = monotonic()
                decision: Decision = await run_operation(
                    limiter._links, limiter._attempt, rules, sent, channel
                )
                if rules.on_decision(monotonic(), decision):
                    break
                await self._sleep()
            if not decision:
                raise OverLimit(limiter.name, decision, limiter.key)
            if rules.must_cancel(True):
                cancel_on_loop(limiter, self.id)
            return AsyncPermit(limiter, decision, sent)
        except GeneratorExit:
            # The coroutine is discarded, and its loop may have ended.
            raise
        except BaseException as error:
            if self._must_cancel(error):
                cancel_on_loop(limiter, self.id)
            raise
        finally:
            self.leave_hub()

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._on_wakeup(at)
        else:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                self._loop.call_soon_threadsafe(self._on_wakeup, at)

    def _on_wakeup(self, at: float) -> None:
        self._rules.on_wakeup(at)
        self._end_sleep()

    def _end_sleep(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        return self.limiter._hubs.for_loop(self._loop, node, create)

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue, if `loop` is to run this task but is busy closing the store."""
        if loop is self._loop:
            # The task cancels again when it runs, without effect, because the store is closed then.
            if self._rules.has_ticket():
                cancel_on_loop(self.limiter, self.id)
            self.leave_hub()

    async def _sleep(self) -> None:
        channel = self._join_hub()
        while (left := self._rules.retry_at(channel) - monotonic()) > 0:
            self._sleeping = self._loop.create_future()
            timer = self._loop.call_later(left, self._end_sleep)
            try:
                await self._sleeping
            finally:
                timer.cancel()
                self._sleeping = None
