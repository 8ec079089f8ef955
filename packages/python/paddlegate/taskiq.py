"""Tasks of taskiq within limits: a task over its limit is scheduled for its turn.

    from paddlegate.taskiq import LimitMiddleware, limited

    source = ListRedisScheduleSource(url)
    broker = RedisStreamBroker(url).with_middlewares(LimitMiddleware(source))
    scheduler = TaskiqScheduler(broker, [source])

    @broker.task
    @limited(erp, key=lambda account: account)
    async def sync(account): ...

The scheduler must run, with `--update-interval 1`; it knows whole seconds. The task keeps its place
in the queue of the limiter and its count of retries. In a pool of processes a plain function waits
in its worker. A broker that gives the message of a running task to another worker, after its
`idle_timeout`, keeps the message: the task runs once. Needs taskiq 0.13.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from taskiq import (
    AsyncBroker,
    ScheduleSource,
    TaskiqEvents,
    TaskiqMessage,
    TaskiqMiddleware,
    TaskiqResult,
)
from taskiq.exceptions import NoResultError
from taskiq.kicker import AsyncKicker

from paddlegate._errors import InvalidError
from paddlegate._limited import BaseLimited, Body, NotYet, limit_of, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LimitMiddleware", "Limited", "limit_tasks", "limited"]

_running: ContextVar[tuple[TaskiqMessage, Any] | None] = ContextVar("paddlegate", default=None)
"""The message that runs here, and the function of its task."""


class LimitMiddleware(TaskiqMiddleware):
    """Schedules the tasks that are over their limits; a broker with limited tasks needs it.

    `schedule_source` must be a source of the broker's scheduler. Raises `InvalidError`, argument
    `schedule_source`.
    """

    def __init__(self, schedule_source: ScheduleSource) -> None:
        super().__init__()
        if not isinstance(schedule_source, ScheduleSource):
            raise InvalidError("must be a ScheduleSource of taskiq", "schedule_source")
        self._source = schedule_source

    def pre_execute(self, message: TaskiqMessage) -> TaskiqMessage:
        """Note which message runs."""
        task = self.broker.find_task(message.task_name)
        _running.set(None if task is None else (message, task.original_func))
        return message

    def post_execute(self, message: TaskiqMessage, result: TaskiqResult[Any]) -> None:
        """Forget the message: a broker in memory runs tasks in the context of the caller."""
        _running.set(None)

    async def on_error(
        self, message: TaskiqMessage, result: TaskiqResult[Any], exception: BaseException
    ) -> None:
        """Schedule a task whose turn has not come."""
        wait = exception.__cause__
        if not isinstance(wait, NotYet):
            return
        if _is_running(wait) and hasattr(self.broker, "idle_timeout"):
            # Without an acknowledgement the message stays in the broker: the run that has the lease
            # acknowledges it, or the broker delivers it again.
            raise asyncio.CancelledError
        kicker: AsyncKicker[Any, Any] = AsyncKicker(
            task_name=message.task_name, broker=self.broker, labels=message.labels
        ).with_task_id(message.task_id)
        at = datetime.now(timezone.utc) + timedelta(seconds=wait.seconds())
        await kicker.schedule_by_time(self._source, at, *message.args, **message.kwargs)


class Limited(BaseLimited):
    """Decorates the function of a task: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()
    # The scheduler may be three seconds late, and a task that waits in the loop costs nothing.
    PATIENCE = 5.0
    EARLY = 3.0

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        running = _running.get()
        # A function that a task calls cannot put the task back, which has begun.
        return running[0] if running is not None and runs(running[1], body) else None

    def _id_of(self, task: Any) -> str:
        return str(task.task_id)

    def _put_back(self, task: Any, wait: NotYet) -> Any:
        # The middlewares for retries leave a task alone that has no result.
        raise NoResultError from wait


limited = Limited
"""The decorator, below `@broker.task`."""


def limit_tasks(broker: AsyncBroker, limits: Mapping[str, Limited]) -> None:
    """Limit the tasks of a broker by their names, in its workers, when those start.

    Patterns may have the wildcards `*` and `?`; the first that matches counts.

        limit_tasks(broker, {"shop.tasks:*": limited(shop)})
    """

    def limit_all(_state: Any) -> None:
        for name, task in broker.get_all_tasks().items():
            limit = limit_of(limits, name)
            if limit is not None:
                task.original_func = limit(task.original_func)

    broker.add_event_handler(TaskiqEvents.WORKER_STARTUP, limit_all)


def _is_running(wait: NotYet) -> bool:
    return getattr(wait.reason, "reason", None) == "running"
