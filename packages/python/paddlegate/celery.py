"""Celery tasks within limits: a task over its limit goes back to the broker until its turn.

    from paddlegate.celery import limited

    @app.task
    @limited(erp, key=lambda account: account)
    def sync(account): ...

The task keeps its place in the queue of the limiter, so it runs before those that came later, and
it is not counted as a retry. Needs Celery 5.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from celery import current_task  # type: ignore[import-untyped]
from celery.exceptions import Retry  # type: ignore[import-untyped]

from paddlegate._limited import BaseLimited, Body, NotYet, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Limited", "limit_tasks", "limited"]

DEFAULT_VISIBILITY_TIMEOUT = 3600
"""That of Celery with a Redis broker, in seconds."""


def limit_tasks(app: Any, limits: Mapping[str, Limited]) -> None:
    """Limit tasks by their names, which may have the wildcards `*` and `?`; the first match counts.

    Call it before the first task is made, since it sets the base class of the app's tasks.

        limit_tasks(app, {"shop.*": limited(shop), "mail.send": limited(mail)})
    """

    def call(task: Any, *args: Any, **kwargs: Any) -> Any:
        for pattern, limit in limits.items():
            if fnmatchcase(task.name, pattern):
                return limit._run(task, task.run, args, kwargs)
        return task.run(*args, **kwargs)

    app.Task = type("LimitedTask", (app.Task,), {"abstract": True, "__call__": call})


class Limited(BaseLimited):
    """Decorates the function of a task: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()
    # A worker keeps the tasks whose time it knows, and starts them to the millisecond. While a task
    # waits in a process, one that is before it in the queue may find none that is free.
    PATIENCE = 0.1

    def _call(
        self, body: Body, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        task = current_task._get_current_object() if current_task else None
        # A function that a task calls cannot put the task back, which has begun.
        is_task = task is not None and runs(task.run, body)
        return self._run(task if is_task else None, function, args, kwargs)

    def _run(self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = None if task is None else task.request
        if request is None or request.id is None or request.called_directly or request.is_eager:
            return self._run_here(function, args, kwargs)
        try:
            return self._run_task(request.id, function, args, kwargs)
        except NotYet as wait:
            raise _put_back(task, wait) from wait.reason


limited = Limited
"""The decorator, below `@app.task`, and the limit of `limit_tasks`. A task without a known time
comes back after its `default_retry_delay`."""


def _put_back(task: Any, wait: NotYet) -> Retry:
    """Send the task to the broker again, with its id and its count of retries."""
    options = task.app.conf.broker_transport_options or {}
    # A message that waits longer than this is delivered a second time. The task then asks again.
    most = options.get("visibility_timeout", DEFAULT_VISIBILITY_TIMEOUT) / 2
    after = min(wait.seconds(task.default_retry_delay), most)
    message = task.signature_from_request(
        task.request, countdown=after, retries=task.request.retries
    )
    message.apply_async()
    return Retry(f"waits for its turn: {wait.reason}", wait.reason, when=after, sig=message)
