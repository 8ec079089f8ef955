"""Celery tasks within limits: a task over its limit goes back to the broker until its turn.

    from paddlegate.celery import limited

    @app.task
    @limited(erp, key=lambda account: account)
    def sync(account): ...

The task keeps its place in the queue of the limiter, so it runs before those that came later, and
it is not counted as a retry. Needs Celery 5.
"""

from __future__ import annotations

import functools
import inspect
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar, cast

from celery import current_task  # type: ignore[import-untyped]
from celery.exceptions import Retry  # type: ignore[import-untyped]

from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError
from paddlegate._guarded import PERMIT, release_held, release_held_again
from paddlegate._native import call_with_fallback
from paddlegate._permit import Permit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paddlegate._cost import Cost
    from paddlegate._limiter import Limiter
    from paddlegate._waiting import Span

__all__ = ["Limited", "limit_tasks", "limited"]

Function = TypeVar("Function", bound="Callable[..., Any]")

DEFAULT_VISIBILITY_TIMEOUT = 3600
"""That of Celery with a Redis broker, in seconds."""
LONGEST_WAIT = 30
"""Seconds for which a task waits in its worker at most, when its turn is later than it seemed."""


def limited(
    limiter: Limiter | Callable[..., Limiter],
    *,
    key: str | Callable[..., str] | None = None,
    cost: Cost | Callable[..., Cost] | None = None,
    estimate: Cost | Callable[..., Cost] | None = None,
    settle_within: Span | None = None,
    claim_timeout: Span | None = None,
    priority: int | Callable[..., int] | None = None,
    share: str | Callable[..., str] | None = None,
    weight: int | None = None,
    patience: float = 1.0,
) -> Limited:
    """Return a decorator for the function of a task, below `@app.task`.

    `limiter`, `key`, `cost`, `estimate`, `priority` and `share` may be functions of the arguments
    of the task. `key` is that of a keyed limiter; the others are as in `Limiter.admit`. With a
    concurrency limit the task holds a lease, which is released when the task ends, however it
    ends; `lock_timeout` of the limiter should be more than the task's time limit.

    A task whose turn comes within `patience` seconds sleeps in its worker; one whose turn comes
    later goes back to the broker. A function with the keyword-only argument `permit` gets the
    permit, to correct an estimate.

    Outside a worker the function waits as `within_limit` does. When no store can be reached, the
    limiter's `on_unavailable` decides; if that is "raise", the task comes back after its
    `default_retry_delay`. Raises `OverLimit` when the task can never pass.

        @app.task
        @limited(shop, cost=lambda pages: pages, share=lambda pages: "reports")
        def export(pages): ...
    """
    options = {
        "key": key,
        "cost": cost,
        "estimate": estimate,
        "settle_within": settle_within,
        "priority": priority,
        "share": share,
        "weight": weight,
    }
    return Limited(limiter, options, claim_timeout, patience)


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


class Limited:
    """What `limited` returns: a decorator, and a limit for `limit_tasks`."""

    __slots__ = ("_claim_timeout", "_limiter", "_options", "_patience")

    def __init__(
        self,
        limiter: Limiter | Callable[..., Limiter],
        options: dict[str, Any],
        claim_timeout: Span | None,
        patience: float,
    ) -> None:
        self._limiter = limiter
        self._options = {name: value for name, value in options.items() if value is not None}
        self._claim_timeout = claim_timeout
        if not isinstance(patience, int | float) or not patience >= 0:
            raise InvalidError(
                f"must be a number of seconds, not below zero: patience={patience!r}", "patience"
            )
        self._patience = patience

    def __call__(self, function: Function) -> Function:
        """Wrap the function of a task."""

        @functools.wraps(function)
        def body(*args: Any, **kwargs: Any) -> Any:
            task = current_task._get_current_object() if current_task else None
            is_body = task is not None and _runs(task, body)
            return self._run(task if is_body else None, function, args, kwargs)

        signature = inspect.signature(function)
        shown = [it for it in signature.parameters.values() if not _is_permit(it)]
        # Celery checks the arguments of a task by its signature.
        body.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return cast("Function", body)

    def _run(
        self, task: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        def value(it: Any) -> Any:
            return it(*args, **kwargs) if callable(it) else it

        limiter: Limiter = value(self._limiter)
        options = {name: value(it) for name, it in self._options.items()}
        request = None if task is None else task.request
        if request is None or request.id is None or request.called_directly or request.is_eager:
            return limiter.within_limit(**options)(function)(*args, **kwargs)
        permit = self._admit(task, limiter, options)
        if any(map(_is_permit, inspect.signature(function).parameters.values())):
            kwargs = {PERMIT: permit, **kwargs}
        try:
            return function(*args, **kwargs)
        finally:
            call_with_fallback(release_held, release_held_again, permit)

    def _admit(self, task: Any, limiter: Limiter, options: dict[str, Any]) -> Permit:
        """Return the permit of a task whose turn has come; otherwise put the task back."""
        task_id: str = task.request.id
        sent = time.monotonic()
        try:
            admission = limiter.admit(
                task_id, "reschedule", claim_timeout=self._claim_timeout, **options
            )
            if admission.action == "run":
                key = options.get("key")
                of_key = limiter if key is None else limiter.with_key(key)
                return Permit(of_key, admission.decision, sent)
            decision, after = admission.decision, admission.after
            if admission.action != "refuse" and after is not None and after <= self._patience:
                # It has a ticket, with which it waits here until it is woken.
                return limiter.acquire(id=task_id, wait_timeout=LONGEST_WAIT, **options)
        except OverLimit as error:
            decision, after = error.decision, error.retry_after
        except UnavailableError as error:
            raise _put_back(task, None, error) from error
        refusal = OverLimit(limiter.name, decision)
        if decision.reason == "too_large":
            raise refusal
        raise _put_back(task, after, refusal)


def _put_back(task: Any, after: float | None, reason: PaddlegateError) -> Retry:
    """Send the task to the broker again, with its id and its count of retries."""
    if after is None:
        after = task.default_retry_delay
    options = task.app.conf.broker_transport_options or {}
    # A message that waits longer than this is delivered a second time. The task then asks again.
    after = min(after, options.get("visibility_timeout", DEFAULT_VISIBILITY_TIMEOUT) / 2)
    message = task.signature_from_request(
        task.request, countdown=after, retries=task.request.retries
    )
    message.apply_async()
    return Retry(f"waits for its turn: {reason}", reason, when=after, sig=message)


def _runs(task: Any, body: Callable[..., Any]) -> bool:
    """Return whether this is the function of the task, and not one that the task calls."""
    function = task.run
    while function is not None:
        function = getattr(function, "__func__", function)
        if function is body:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def _is_permit(parameter: inspect.Parameter) -> bool:
    return parameter.name == PERMIT and parameter.kind is inspect.Parameter.KEYWORD_ONLY
