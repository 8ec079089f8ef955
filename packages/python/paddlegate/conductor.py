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

from time import monotonic
from typing import Any

from paddlegate._conductor_task import context_of, hold_until, put_back
from paddlegate._conductor_worker import LIMIT, GatedWorker, gated
from paddlegate._limited import BaseLimited, Body, NotYet
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

    def _decorate(self, function: Body) -> Body:
        body = super()._decorate(function)
        setattr(body, LIMIT, self)
        return body

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return context_of(body)

    def _id_of(self, task: Any) -> str:
        return str(task.get_task_id())

    def _run(self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._id_to_begin(task) is None:
            return self._run_here(function, args, kwargs)
        until = hold_until(task)
        outcome, since = self._tried(task, function, args, kwargs), monotonic()
        # Its turn may have come when the limiter is no longer paused, say.
        if isinstance(outcome, NotYet) and self.gate.opens(until):
            outcome, since = self._tried(task, function, args, kwargs), monotonic()
        if isinstance(outcome, NotYet):
            return put_back(task, outcome, monotonic() - since)
        return outcome

    async def _arun(
        self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._id_to_begin(task) is None:
            return await self._run_here(function, args, kwargs)
        until = hold_until(task)
        outcome, since = await self._atried(task, function, args, kwargs), monotonic()
        if isinstance(outcome, NotYet) and await self.gate.aopens(until):
            outcome, since = await self._atried(task, function, args, kwargs), monotonic()
        if isinstance(outcome, NotYet):
            return put_back(task, outcome, monotonic() - since)
        return outcome

    def _tried(
        self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return self._run_task(self._id_of(task), function, args, kwargs)
        except NotYet as wait:
            return wait
        finally:
            self.gate.ask_soon()

    async def _atried(
        self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return await self._arun_task(self._id_of(task), function, args, kwargs)
        except NotYet as wait:
            return wait
        finally:
            self.gate.ask_soon()


limited = Limited
"""The decorator, below `@worker_task`."""
