"""`BaseLimited`: the limit of a task, for the job systems that run functions."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError
from paddlegate._guarded import PERMIT, AsyncRelease, release_held, release_held_again
from paddlegate._native import Waiter, call_with_fallback
from paddlegate._order import order
from paddlegate._renewal import AsyncRenewal, Renewal
from paddlegate._waiting import TaskWaiter, ThreadWaiter

if TYPE_CHECKING:
    from paddlegate._cost import Cost
    from paddlegate._limiter import Limiter
    from paddlegate._permit import Grant
    from paddlegate._waiting import Span

Function = TypeVar("Function", bound="Callable[..., Any]")
Body: TypeAlias = Callable[..., Any]

UNKNOWN = 5.0
"""Seconds after which a task comes back for which no time is known, if its host has no default."""


class BaseLimited:
    """A decorator for the function of a task: keeps it within a limit.

    `limiter`, `key`, `cost`, `estimate`, `priority` and `share` may be functions of the arguments
    of the task. `key` is that of a keyed limiter; the others are as in `Limiter.admit`. With a
    concurrency limit the task holds a lease, which is released when the task ends, however it
    ends; `lock_timeout` of the limiter should be more than the task can take.

    A task over its limit is put back for its turn, with its place in the queue of the limiter, and
    that is not counted as a retry. One whose turn comes within `patience` seconds waits in its
    worker, for no longer: by default 1, and 0.1 in Celery, whose workers start a task on time. A
    function with the keyword-only argument `permit` gets the permit, to correct an estimate.

    Outside a worker the function waits as `within_limit` does. When no store can be reached, the
    limiter's `on_unavailable` decides; if that is "raise", the task comes back later, as does one
    whose limiter is paused without an end. A task that can never pass raises `OverLimit`. Raises
    `InvalidError`, argument `limiter` or `patience`.
    """

    __slots__ = ("_claim_timeout", "_limiter", "_options", "_patience")
    PATIENCE = 1.0
    RENEWS = False
    """Whether the lease is renewed while the task runs."""

    def __init__(
        self,
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
        patience: float | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "key": key,
            "cost": cost,
            "estimate": estimate,
            "settle_within": settle_within,
            "priority": priority,
            "share": share,
            "weight": weight,
        }
        if not callable(limiter) and not hasattr(limiter, "admit"):
            raise InvalidError(
                "must be a limiter, or a function that returns one for the arguments of a task",
                "limiter",
            )
        patience = self.PATIENCE if patience is None else patience
        if not isinstance(patience, int | float) or not patience >= 0:
            raise InvalidError(
                f"must be a number of seconds, not below zero: patience={patience!r}", "patience"
            )
        self._limiter = limiter
        self._options = {name: value for name, value in options.items() if value is not None}
        self._claim_timeout = claim_timeout
        self._patience = patience

    def __call__(self, function: Function) -> Function:
        """Wrap the function of a task."""

        @functools.wraps(function)
        def body(*args: Any, **kwargs: Any) -> Any:
            return self._call(body, function, args, kwargs)

        hide_permit(body, function)
        return cast("Function", body)

    def _call(
        self, body: Body, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        raise NotImplementedError

    def _chosen(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Limiter, dict[str, Any]]:
        """Return the limiter and the options for the arguments of a task."""

        def value(it: Any) -> Any:
            return it(*args, **kwargs) if callable(it) else it

        return value(self._limiter), {name: value(it) for name, it in self._options.items()}

    def _run_here(self, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function that no worker runs: it waits."""
        limiter, options = self._chosen(args, kwargs)
        return limiter.within_limit(**options)(function)(*args, **kwargs)

    def _run_task(
        self, task_id: str, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the function of a task whose turn has come; otherwise raise `NotYet`."""
        limiter, options = self._chosen(args, kwargs)
        with _not_yet():
            permit = ThreadWaiter(*self._waiting(task_id, limiter, options)).wait()
        try:
            with Renewal(permit) if self.RENEWS else nullcontext():
                return function(*args, **_with_permit(function, permit, kwargs))
        finally:
            call_with_fallback(release_held, release_held_again, permit)

    async def _arun_task(
        self, task_id: str, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Do the same as `_run_task`, for a coroutine function."""
        limiter, options = self._chosen(args, kwargs)
        with _not_yet():
            permit = await TaskWaiter(*self._waiting(task_id, limiter, options)).wait()
        async with AsyncRelease(permit), AsyncRenewal(permit) if self.RENEWS else nullcontext():
            return await function(*args, **_with_permit(function, permit, kwargs))

    def _waiting(
        self, task_id: str, limiter: Limiter, options: dict[str, Any]
    ) -> tuple[Limiter, Waiter]:
        """Return the limiter of the key, and the rules by which a task waits in its worker."""
        asked = dict(options)
        key = asked.pop("key", None)
        of_key = limiter if key is None else limiter.with_key(key)
        return of_key, Waiter.of_job(
            task_id,
            asked.get("cost"),
            asked.get("estimate"),
            asked.get("settle_within"),
            order(asked.get("priority"), asked.get("share"), asked.get("weight")),
            self._claim_timeout,
            self._patience,
            time.monotonic(),
        )


@contextmanager
def _not_yet() -> Iterator[None]:
    """Raise `NotYet` for a refusal that is not for ever."""
    try:
        yield
    except OverLimit as refusal:
        if refusal.reason == "too_large":
            raise
        raise NotYet(refusal.retry_after, refusal) from refusal
    except UnavailableError as error:
        raise NotYet(None, error) from error


class NotYet(Exception):  # noqa: N818 - it is no error
    """The turn of a task has not come: it comes back after so many seconds, None for unknown."""

    def __init__(self, after: float | None, reason: PaddlegateError) -> None:
        super().__init__(after, reason)
        self.after = after
        self.reason = reason

    def seconds(self, unknown: float = UNKNOWN) -> float:
        """Return when the task comes back; `unknown` for no known time."""
        return unknown if self.after is None else self.after


def runs(function: Body | None, body: Body) -> bool:
    """Return whether a host's function is this one, also behind other decorators."""
    while function is not None:
        function = getattr(function, "__func__", function)
        if function is body:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def hide_permit(body: Body, function: Body) -> None:
    """Show the arguments of a function without its permit: hosts check them by the signature."""
    signature = inspect.signature(function)
    shown = [it for it in signature.parameters.values() if not _is_permit(it)]
    body.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]


def _with_permit(function: Body, permit: Grant, kwargs: dict[str, Any]) -> dict[str, Any]:
    if any(map(_is_permit, inspect.signature(function).parameters.values())):
        return {PERMIT: permit, **kwargs}
    return kwargs


def _is_permit(parameter: inspect.Parameter) -> bool:
    return parameter.name == PERMIT and parameter.kind is inspect.Parameter.KEYWORD_ONLY
