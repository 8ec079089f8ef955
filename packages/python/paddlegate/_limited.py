"""`BaseLimited`: the limit of a task, for the job systems that run functions."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError, shown
from paddlegate._guarded import AsyncJobRelease, release_held, release_held_again
from paddlegate._native import Waiter, call_with_fallback
from paddlegate._order import order
from paddlegate._permit_argument import PERMIT, hide_permit, takes_permit
from paddlegate._renewal import AsyncRenewal, Renewal
from paddlegate._waiting import TaskWaiter, ThreadWaiter

if TYPE_CHECKING:
    from paddlegate._cost import Cost
    from paddlegate._guarded import Function, Result, TakesPermit
    from paddlegate._limiter import Limiter
    from paddlegate._permit import Grant
    from paddlegate._waiting import Span

Limit = TypeVar("Limit", bound="BaseLimited")
Body: TypeAlias = Callable[..., Any]

UNKNOWN = 5.0
"""Seconds after which a task comes back without a known time, if its job system has no default."""

CLAIM_TIMEOUT = 0.2
"""Seconds for which others wait for a task whose turn has come. It may be behind them in the queue
of its job system, where they hold the workers that it needs."""

MAX_ID = 64
"""The longest id of a task on a limiter, in bytes."""

LIMITED = "__paddlegate_limited__"
"""The attribute of a function that a limit wraps."""

_begun: ContextVar[frozenset[str]] = ContextVar("begun", default=frozenset())
"""The ids of the tasks whose own code runs here."""


class BaseLimited:
    """A decorator for the function of a task: keeps it within a limit.

    `limiter`, `key`, `cost`, `estimate`, `priority` and `share` may be functions of the arguments
    of the task. `key` is the key of a keyed limiter; the others are as in `Limiter.admit`. With a
    concurrency limit the task holds a lease, which is released when the task ends, however it
    ends; `lock_timeout` of the limiter should be more than the task can take.

    A task over its limit is put back for its turn, with its place in the queue of the limiter, and
    that is not counted as a retry. Job systems bring tasks back late, so it comes back half a
    second early. A task whose turn comes within `patience` seconds waits in its worker, for no
    longer: by default 1, and 5 in taskiq, whose scheduler may be later, and where a task comes back
    3 seconds early.
    A task that has not come back `claim_timeout` after its turn, by default 0.2 seconds, is passed
    by until it does, and then is the first. A function with the keyword-only argument `permit` gets
    the permit, to correct an estimate. A coroutine function waits in its loop, and gets the permit
    of `aacquire`.

    A job system that takes a worker for dead runs its tasks again. While the lease of the first run
    lasts, that run may still go on, so the second is put back until the lease ends. With `renew`
    the lease is renewed while the task runs, so that `lock_timeout` can be short: the task of a
    killed worker runs again after that time. It is renewed by a thread, or by a task of the loop.

    Outside a worker the function waits as `within_limit` does. When no store can be reached, the
    limiter's `on_unavailable` decides; if that is "raise", the task comes back later, as does one
    whose limiter is paused without an end. A task that can never pass raises `OverLimit`. Raises
    `InvalidError`, argument `limiter`, `patience` or `renew`.
    """

    __slots__ = ("_claim_timeout", "_early", "_limiter", "_options", "_patience", "_renew")
    PATIENCE = 1.0
    EARLY = 0.5
    """Seconds by which a task comes back before its turn: as late as job systems usually are."""
    RENEWS = False
    """Whether the lease is renewed while the task runs, by default."""

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
        renew: bool | None = None,
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
                f"must be a number of seconds, not below zero: patience={shown(patience)}",
                "patience",
            )
        if renew is not None and not isinstance(renew, bool):
            raise InvalidError(f"must be True or False: renew={shown(renew)}", "renew")
        self._renew = self.RENEWS if renew is None else renew
        self._limiter = limiter
        self._options = {name: value for name, value in options.items() if value is not None}
        self._claim_timeout = CLAIM_TIMEOUT if claim_timeout is None else claim_timeout
        # A task that does not wait would come back again and again.
        self._early = min(self.EARLY, patience / 2)
        self._patience = patience

    @overload
    def __call__(self, function: TakesPermit[Result]) -> Callable[..., Result]: ...

    @overload
    def __call__(self, function: Function) -> Function: ...

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the function or coroutine function of a task."""
        return self._decorate(function)

    def _decorate(self, function: Body) -> Body:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def body(*args: Any, **kwargs: Any) -> Any:
                return await self._arun(self._task_of(body, args, kwargs), function, args, kwargs)

        else:

            @functools.wraps(function)
            def body(*args: Any, **kwargs: Any) -> Any:
                return self._run(self._task_of(body, args, kwargs), function, args, kwargs)

        hide_permit(body, function)
        setattr(body, LIMITED, True)
        return body

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the task of the job system that runs this function; None for an ordinary call.

        It is None too for a function that a task calls: the task has begun and cannot be put back.
        """
        raise NotImplementedError

    def _id_of(self, task: Any) -> str:
        """Return the id of a task, which is also the id of its ticket."""
        raise NotImplementedError

    def _put_back(self, task: Any, wait: NotYet) -> Any:
        """Put a task back until its turn: raise or return what the job system expects for that."""
        raise NotImplementedError

    async def _aput_back(self, task: Any, wait: NotYet) -> Any:
        """Like `_put_back`, for a coroutine function."""
        return self._put_back(task, wait)

    def _chosen(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Limiter, dict[str, Any]]:
        """Return the limiter and the options for the arguments of a task."""

        def value(it: Any) -> Any:
            return it(*args, **kwargs) if callable(it) else it

        return value(self._limiter), {name: value(it) for name, it in self._options.items()}

    def _run(self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        task_id = self._id_to_begin(task)
        if task_id is None:
            return self._run_here(function, args, kwargs)
        try:
            return self._run_task(task_id, function, args, kwargs)
        except NotYet as wait:
            return self._put_back(task, wait)

    async def _arun(
        self, task: Any, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        task_id = self._id_to_begin(task)
        if task_id is None:
            return await self._run_here(function, args, kwargs)
        try:
            return await self._arun_task(task_id, function, args, kwargs)
        except NotYet as wait:
            return await self._aput_back(task, wait)

    def _id_to_begin(self, task: Any) -> str | None:
        """Return the id of a task that may begin; None if this is no task, or one that has begun.

        A task that has begun may call limited functions, its own too, and is never put back.
        """
        task_id = None if task is None else self._id_of(task)
        return None if task_id is None or task_id in _begun.get() else task_id

    def _run_here(self, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function that no worker runs: it waits."""
        limiter, options = self._chosen(args, kwargs)
        return limiter.within_limit(**options)(function)(*args, **kwargs)

    def _run_task(
        self, task_id: str, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the function of a task whose turn has come; otherwise raise `NotYet`."""
        limiter, rules = self._waiter(task_id, args, kwargs)
        with _turn_that_may_not_come(self._early):
            permit = ThreadWaiter(limiter, rules).wait()
        try:
            with Renewal(permit) if self._renew else nullcontext(), _begins(task_id, function):
                return function(*args, **_with_permit(function, permit, kwargs))
        finally:
            call_with_fallback(release_held, release_held_again, permit)

    async def _arun_task(
        self, task_id: str, function: Body, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Like `_run_task`, for a coroutine function."""
        limiter, rules = self._waiter(task_id, args, kwargs)
        with _turn_that_may_not_come(self._early):
            permit = await TaskWaiter(limiter, rules).wait()
        async with AsyncJobRelease(permit), AsyncRenewal(permit) if self._renew else nullcontext():
            with _begins(task_id, function):
                return await function(*args, **_with_permit(function, permit, kwargs))

    def _waiter(
        self, task_id: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Limiter, Waiter]:
        """Return the limiter of a task and the rules by which the task waits for its turn."""
        limiter, options = self._chosen(args, kwargs)
        key = options.get("key")
        rules = Waiter.of_job(
            _short(task_id),
            options.get("cost"),
            options.get("estimate"),
            options.get("settle_within"),
            order(options.get("priority"), options.get("share"), options.get("weight")),
            self._claim_timeout,
            self._patience,
            time.monotonic(),
        )
        return limiter if key is None else limiter.with_key(key), rules


class NotYet(Exception):  # noqa: N818 - it is no error
    """The turn of a task has not come: it comes back in `after` seconds, None for unknown."""

    def __init__(self, after: float | None, reason: PaddlegateError) -> None:
        super().__init__(after, reason)
        self.after = after
        self.reason = reason

    def seconds(self, unknown: float = UNKNOWN) -> float:
        """Return when the task comes back; `unknown` for no known time."""
        return unknown if self.after is None else self.after


def limit_of(limits: Mapping[str, Limit], name: str) -> Limit | None:
    """Return the first limit whose pattern, with the wildcards `*` and `?`, matches the name."""
    return next((limit for pattern, limit in limits.items() if fnmatchcase(name, pattern)), None)


def runs(function: Body | None, body: Body) -> bool:
    """Return whether a job system's function is this one, also behind other decorators."""
    while function is not None:
        function = getattr(function, "__func__", function)
        if function is body:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


@contextmanager
def _begins(task_id: str, function: Body) -> Generator[None]:
    """Note that the code of a task runs, unless this is another limit of it."""
    begun = _begun.get()
    token = _begun.set(begun if hasattr(function, LIMITED) else begun | {task_id})
    try:
        yield
    finally:
        _begun.reset(token)


@contextmanager
def _turn_that_may_not_come(early: float) -> Generator[None]:
    """Raise `NotYet` for a refusal that ends, and when no store can be reached."""
    try:
        yield
    except OverLimit as refusal:
        if refusal.reason == "too_large":
            raise
        after = refusal.retry_after
        if after is not None:
            after = max(after - early, after / 4)
        raise NotYet(after, refusal) from refusal
    except UnavailableError as error:
        raise NotYet(None, error) from error


def _short(task_id: str) -> str:
    """Return the id of a task, or the digest of one that is too long for a limiter."""
    text = task_id.encode()
    return sha256(text).hexdigest() if len(text) > MAX_ID else task_id


def _with_permit(function: Body, permit: Grant, kwargs: dict[str, Any]) -> dict[str, Any]:
    return {PERMIT: permit, **kwargs} if takes_permit(function) else kwargs
