"""Celery tasks within limits: a task over its limit goes back to the broker until its turn.

    from paddlegate.celery import limited

    @app.task
    @limited(erp, key=lambda account: account)
    def sync(account): ...

The task keeps its place in the queue of the limiter, so it runs before those that came later, and
it is not counted as a retry. Needs Celery 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery import current_task  # type: ignore[import-untyped]
from celery.exceptions import Retry  # type: ignore[import-untyped]

from paddlegate._limited import BaseLimited, Body, NotYet, limit_of, runs

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
        limit = limit_of(limits, task.name)
        if limit is None:
            return task.run(*args, **kwargs)
        return limit._run(_in_worker(task), task.run, args, kwargs)

    app.Task = type("LimitedTask", (app.Task,), {"abstract": True, "__call__": call})


class Limited(BaseLimited):
    """Decorates the function of a task: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()
    # A worker keeps the tasks whose time it knows, and starts them to the millisecond. While a task
    # waits in a process, one that is before it in the queue may find none that is free.
    PATIENCE = 0.1

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        task = current_task._get_current_object() if current_task else None
        return _in_worker(task) if task is not None and runs(task.run, body) else None

    def _id_of(self, task: Any) -> str:
        return str(task.request.id)

    def _put_back(self, task: Any, wait: NotYet) -> Any:
        """Send the task to the broker again, with its id and its count of retries."""
        options = task.app.conf.broker_transport_options or {}
        # A message that waits for longer is delivered a second time. The task then asks again.
        most = options.get("visibility_timeout", DEFAULT_VISIBILITY_TIMEOUT) / 2
        after = min(wait.seconds(task.default_retry_delay), most)
        message = task.signature_from_request(
            task.request, countdown=after, retries=task.request.retries
        )
        _store_retry(task, wait.reason)
        message.apply_async()
        text = f"waits for its turn: {wait.reason}"
        raise Retry(text, wait.reason, when=after, sig=message) from wait.reason


limited = Limited
"""The decorator, below `@app.task`, and the limit of `limit_tasks`. A task without a known time
comes back after its `default_retry_delay`."""


def _store_retry(task: Any, reason: Exception) -> None:
    """Store the state RETRY, before the message is sent, and keep Celery from storing it after.

    On a machine that stalls, Celery would store it when the message has run in another process,
    over the result, for which a caller would then wait for ever.
    """
    if not task.request.ignore_result:
        task.backend.mark_as_retry(task.request.id, reason, request=task.request)
    task.request.ignore_result = True


def _in_worker(task: Any) -> Any:
    """Return the task if a worker runs it, and None if it was called."""
    request = task.request
    is_called = request is None or request.called_directly or request.is_eager
    return None if is_called or request.id is None else task
