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
from weakref import WeakSet

from celery import current_task  # type: ignore[import-untyped]
from celery.exceptions import Retry  # type: ignore[import-untyped]

from paddlegate._limited import BaseLimited, Body, NotYet, limit_of, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Limited", "limit_tasks", "limited"]

DEFAULT_VISIBILITY_TIMEOUT = 3600
"""That of Celery with a Redis broker, in seconds."""


def limit_tasks(app: Any, limits: Mapping[str, Limited]) -> None:
    """Limit tasks by their names, which may have the wildcards `*` and `?`; the first match counts.

    Call it before the first task is made. Tasks with a base class of their own are limited, too.

        limit_tasks(app, {"shop.*": limited(shop), "mail.send": limited(mail)})
    """
    seen: WeakSet[Any] = WeakSet()

    def limiting(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **kwargs: Any) -> Any:
            task = make(*args, **kwargs)
            limit = limit_of(limits, task.name)
            # A function that is made a task again has the task that it had.
            if limit is not None and task not in seen:
                seen.add(task)
                task.run = limit(task.run)
            return task

        return made

    app._task_from_fun = limiting(app._task_from_fun)
    app.register_task = limiting(app.register_task)


class Limited(BaseLimited):
    """Decorates the function of a task: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()

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
        ignore_result = task.request.ignore_result
        _store_retry(task, wait.reason)
        try:
            message.apply_async()
        except BaseException:
            # The task fails with this error, which is its result.
            task.request.ignore_result = ignore_result
            raise
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
