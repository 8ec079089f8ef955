"""Tasks of Huey within limits: a task over its limit is scheduled for its turn.

    from paddlegate.huey import limited

    @huey.task(context=True)
    @limited(erp, key=lambda account: account)
    def sync(account): ...

The task keeps its place in the queue of the limiter, and its retries stay as they are. The function
gets the argument `task` only if it has it. Huey forgets the tasks of a killed consumer; with
`recover_tasks` they run again. Needs Huey 2 or 3.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from huey.api import Task  # type: ignore[import-untyped]
from huey.exceptions import RetryTask  # type: ignore[import-untyped]

from paddlegate._huey_recovery import recover_tasks
from paddlegate._limited import BaseLimited, Body, NotYet, limit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Limited", "limit_tasks", "limited", "recover_tasks"]

TASK = "task"


class Limited(BaseLimited):
    """Decorates the function of a task: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        task = kwargs.get(TASK)
        if not isinstance(task, Task):
            # It is an argument of the function's own.
            return None
        if not _takes_task(body):
            del kwargs[TASK]
        return task

    def _id_of(self, task: Any) -> str:
        return str(task.id)

    def _put_back(self, task: Any, wait: NotYet) -> Any:
        raise RetryTask(str(wait.reason), delay=wait.seconds()) from wait.reason


limited = Limited
"""The decorator, below `@huey.task(context=True)`."""


def limit_tasks(huey: Any, limits: Mapping[str, Limited]) -> None:
    """Limit the tasks that are made from now on by their names.

    A name has the module and the task. Patterns may have the wildcards `*` and `?`, and the first
    that matches counts.

        limit_tasks(huey, {"shop.*": limited(shop)})
    """
    wrapper_class = huey.task_wrapper_class

    def create_task(
        wrapper: Any, func: Body, context: bool = False, name: str | None = None, **settings: Any
    ) -> Any:
        limit = limit_of(limits, f"{func.__module__}.{name or func.__name__}")
        if limit is None:
            return wrapper_class.create_task(wrapper, func, context, name, **settings)

        def execute(task: Any) -> Any:
            args, kwargs = task.data
            given = {**kwargs, TASK: task} if context and _takes_task(func) else kwargs
            return limit._run(task, func, args, given)

        # With a setting `execute` the task needs no argument `task` to be known, which the function
        # may have for itself.
        settings["execute"] = execute
        return wrapper_class.create_task(wrapper, func, context, name, **settings)

    members = {"create_task": create_task}
    huey.task_wrapper_class = type("LimitedTaskWrapper", (wrapper_class,), members)


def _takes_task(function: Body) -> bool:
    return TASK in inspect.signature(function).parameters
