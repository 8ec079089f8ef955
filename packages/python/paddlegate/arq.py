"""Jobs of arq within limits: a job over its limit is deferred until its turn.

    from paddlegate.arq import limited

    @limited(erp, key=lambda ctx, account: account)
    async def sync(ctx, account): ...

    class WorkerSettings:
        functions = [sync]

The job keeps its place in the queue of the limiter, and it is not counted as a try. arq drops a job
that is older than a day, or than its `_expires`, also one that waits. Needs arq 0.28.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from arq.constants import retry_key_prefix  # type: ignore[import-not-found]
from arq.worker import Retry, func  # type: ignore[import-not-found]

from paddlegate._limited import BaseLimited, Body, NotYet, limit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Limited", "limit_tasks", "limited"]

SOONEST = 0.001
"""Seconds. A job that is deferred by nothing would keep its old place, before all others."""


class Limited(BaseLimited):
    """Decorates the coroutine function of a job: keeps it within a limit, as `BaseLimited` says.

    The functions for `key`, `cost` and the others also get `ctx`.
    """

    __slots__ = ()

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ctx = args[0] if args else None
        is_job = isinstance(ctx, dict) and "job_id" in ctx and _is_first(body)
        return ctx if is_job else None

    def _id_of(self, task: Any) -> str:
        return str(task["job_id"])

    async def _aput_back(self, task: Any, wait: NotYet) -> Any:
        # arq has counted this run.
        await task["redis"].decr(retry_key_prefix + task["job_id"])
        raise Retry(max(wait.seconds(), SOONEST)) from wait.reason


limited = Limited
"""The decorator of a function of `WorkerSettings`."""


def limit_tasks(functions: Iterable[Any], limits: Mapping[str, Limited]) -> list[Any]:
    """Return the functions of `WorkerSettings`, limited by their names.

    They may be texts, coroutine functions or those of `arq.func`. Patterns may have the wildcards
    `*` and `?`; the first that matches counts.

        functions = limit_tasks([sync, mail], {"sync": limited(erp)})
    """
    made = [func(function) for function in functions]
    for it in made:
        limit = limit_of(limits, it.name)
        if limit is not None:
            it.coroutine = limit(it.coroutine)
    return made


def _is_first(body: Body) -> bool:
    """Return whether arq called this function, and not a job that has begun."""
    task = asyncio.current_task()
    coroutine: Any = None if task is None else task.get_coro()
    return getattr(coroutine, "__qualname__", None) == body.__qualname__
