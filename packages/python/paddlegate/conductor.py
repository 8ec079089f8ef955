"""Tasks of Conductor within limits: a task over its limit goes back to the server until its turn.

    from paddlegate.conductor import gated, limited

    @worker_task(task_definition_name="sync")
    @limited(erp)
    def sync(account): ...

    with TaskHandler(configuration=configuration) as handler:
        gated(handler.workers)
        handler.start_processes()

The task keeps its place in the queue of the limiter, and it is not counted as a retry. While the
limiter lets nothing pass, a gated worker does not poll. Needs conductor-python 2.
"""

from __future__ import annotations

import functools
import inspect
from time import monotonic
from typing import Any, cast

from paddlegate._conductor_task import context_of, hold_until, put_back
from paddlegate._conductor_worker import LIMIT, GatedWorker, gated
from paddlegate._limited import BaseLimited, Body, Function, NotYet, hide_permit
from paddlegate._poll_gate import PollGate

__all__ = ["GatedWorker", "Limited", "gated", "limited"]


class Limited(BaseLimited):
    """Decorates the function of a task: keeps it within a limit, as `BaseLimited` says.

    It may be a coroutine function. The lease of a task is renewed while it runs.
    """

    __slots__ = ("_gate",)
    _gate: PollGate
    RENEWS = True

    @property
    def gate(self) -> PollGate:
        """What says whether to poll for tasks of this limit."""
        if not hasattr(self, "_gate"):
            self._gate = PollGate(self._limiter, self._options, self._patience)
        return self._gate

    def __call__(self, function: Function) -> Function:
        """Wrap the function of a task."""
        body: Any
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def body(*args: Any, **kwargs: Any) -> Any:
                return await self._acall(body, function, args, kwargs)

            hide_permit(body, function)
        else:
            body = super().__call__(function)
        setattr(body, LIMIT, self)
        return cast("Function", body)

    def _call(
        self, body: Body, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        context = context_of(body)
        if context is None:
            return self._run_here(function, args, kwargs)
        until = hold_until(context)
        outcome, since = self._tried(context, function, args, kwargs), monotonic()
        # Its turn may have come when the limiter is no longer paused, say.
        if isinstance(outcome, NotYet) and self.gate.opens(until):
            outcome, since = self._tried(context, function, args, kwargs), monotonic()
        if isinstance(outcome, NotYet):
            return put_back(context, outcome, monotonic() - since)
        return outcome

    async def _acall(
        self, body: Body, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        context = context_of(body)
        if context is None:
            return await self._run_here(function, args, kwargs)
        until = hold_until(context)
        outcome, since = await self._atried(context, function, args, kwargs), monotonic()
        if isinstance(outcome, NotYet) and await self.gate.aopens(until):
            outcome, since = await self._atried(context, function, args, kwargs), monotonic()
        if isinstance(outcome, NotYet):
            return put_back(context, outcome, monotonic() - since)
        return outcome

    def _tried(
        self, context: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return self._run_task(context.get_task_id(), function, args, kwargs)
        except NotYet as wait:
            return wait
        finally:
            self.gate.doubt()

    async def _atried(
        self, context: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return await self._arun_task(context.get_task_id(), function, args, kwargs)
        except NotYet as wait:
            return wait
        finally:
            self.gate.doubt()


limited = Limited
"""The decorator, below `@worker_task`."""
