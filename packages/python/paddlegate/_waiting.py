"""Waiting for a permit with a ticket in the queue of the limiter, on a thread or in a task."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

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


class HubMember:
    """What gets wake-ups for a limiter: a member of the hub of its node."""

    limiter: Limiter
    _hub: Hub | None = None

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        raise NotImplementedError

    def leave_hub(self) -> None:
        """Leave the hub; no wake-ups arrive from then on."""
        if self._hub is not None:
            self._hub.remove(self._entry())
            self._hub = None

    def _entry(self) -> Any:
        """Return what the hub wakes."""
        return self

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        raise NotImplementedError

    def _join_hub(self, create: bool = True) -> str:
        """Join the hub of the limiter's node; return its channel, empty without one.

        Without `create` only a hub that listens. A redirection may have changed the node.
        """
        limiter = self.limiter
        if limiter._hubs.closed:
            raise InvalidError("is closed; open another one", "store")
        node = limiter._notification_node()
        hub = self._hub
        if hub is None or hub.node != node:
            if hub is not None:
                self.leave_hub()
            hub = None if node is None else self._get_hub(node, create)
            if hub is None or not (create or hub.channel):
                return ""
            self._hub = hub
            hub.add(self._entry())
        return hub.channel


class ThreadMember(HubMember):
    """One that sleeps on a thread."""

    _wakeups: SimpleQueue[float]

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        self._wakeups.put(at)

    def _forget_wakeups(self) -> None:
        self._wakeups = SimpleQueue()

    def _next_wakeup(self, timeout: float) -> float:
        """Return the time at which to retry after a wake-up, or infinity after the timeout."""
        try:
            return self._wakeups.get(timeout=timeout)
        except Empty:
            return inf

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        return self.limiter._hubs.for_threads(node, create)


class LoopMember(HubMember):
    """One that sleeps on an event loop."""

    _loop: asyncio.AbstractEventLoop | None = None
    """The loop on which it sleeps; None before."""
    _sleeping: asyncio.Future[None] | None = None

    def wake(self, at: float) -> None:
        """Retry at this time of the monotonic clock; callable from any thread."""
        loop = self._loop
        if loop is None or loop is asyncio._get_running_loop():
            self._wake_here(at)
        else:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(self._wake_here, at)

    def _on_wakeup(self, at: float) -> None:
        """Retry at this time of the monotonic clock, unless earlier."""
        raise NotImplementedError

    def _wake_here(self, at: float) -> None:
        self._on_wakeup(at)
        self._end_sleep()

    def _end_sleep(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    async def _sleep_for(self, seconds: float) -> None:
        """Sleep until a wake-up, for at most this time."""
        loop = running_loop()
        self._sleeping = loop.create_future()
        timer = loop.call_later(seconds, self._end_sleep)
        try:
            await self._sleeping
        finally:
            timer.cancel()
            self._sleeping = None

    def _get_hub(self, node: str, create: bool) -> Hub | None:
        return self.limiter._hubs.for_loop(running_loop(), node, create)


class BaseWaiter(HubMember):
    """One call that may wait. The rules are native; this receives the wake-ups."""

    def __init__(self, limiter: Limiter, rules: Waiter) -> None:
        self.limiter = limiter
        self._rules = rules

    @property
    def id(self) -> str:
        """The id of the call."""
        return self._rules.id

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue, if `loop` is to run this task but is busy closing the store."""

    def _channel(self) -> str:
        """Return the channel for the next attempt; only a call that has a ticket opens a hub."""
        return self._join_hub(self._rules.has_ticket())

    def _must_cancel(self, error: BaseException) -> bool:
        """Return whether the call, which ends with this error, must be cancelled."""
        # An attempt that another exception interrupted may still be decided.
        if isinstance(error, PaddlegateError) and not isinstance(error, OverLimit):
            self._rules.on_error(may_have_lease(error))
        return self._rules.must_cancel(False)


class ThreadWaiter(ThreadMember, BaseWaiter):
    """A call that waits on a thread."""

    def wait(self) -> Permit:
        """Wait for the permit, or raise `OverLimit`; a refused job may keep its ticket."""
        limiter, rules = self.limiter, self._rules
        self._has_slept = False
        call = None
        try:
            call = limiter._hubs.begin()
            while True:
                # Wake-ups from before the attempt are forgotten.
                self._forget_wakeups()
                channel = self._channel()
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
            limiter._hubs.end(call)
            return permit
        except BaseException as error:
            try:
                if self._must_cancel(error):
                    cancel_in_background(limiter, self.id, cancel_timeout(limiter, error))
            finally:
                self.leave_hub()
                limiter._hubs.end(call)
            raise

    def _sleep(self) -> None:
        channel = self._channel()
        while (left := self._rules.retry_at(channel) - monotonic()) > 0:
            if not self._has_slept:
                self._has_slept = True
                warn_if_blocking(self.limiter.name)
            self._rules.on_wakeup(self._next_wakeup(left))


class TaskWaiter(LoopMember, BaseWaiter):
    """A call that waits in a task."""

    async def wait(self) -> AsyncPermit:
        """Wait for the permit, or raise `OverLimit`."""
        limiter, rules = self.limiter, self._rules
        self._loop = running_loop()
        call = limiter._hubs.begin(self._loop)
        try:
            while True:
                channel = self._channel()
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
            limiter._hubs.end(call)

    def _on_wakeup(self, at: float) -> None:
        self._rules.on_wakeup(at)

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue, if `loop` is to run this task but is busy closing the store."""
        if loop is self._loop:
            # The task cancels again when it runs, without effect, because the store is closed then.
            if self._rules.has_ticket():
                cancel_on_loop(self.limiter, self.id)
            self.leave_hub()

    async def _sleep(self) -> None:
        channel = self._channel()
        while (left := self._rules.retry_at(channel) - monotonic()) > 0:
            await self._sleep_for(left)
