"""Actors of Dramatiq within limits: a message over its limit is delayed until its turn.

    from paddlegate.dramatiq import LimitMiddleware, limited

    broker.add_middleware(LimitMiddleware())

    @dramatiq.actor
    @limited(erp, key=lambda account: account)
    def sync(account): ...

The message keeps its place in the queue of the limiter. The broker needs `LimitMiddleware`, and
`Retries`, which it has by default. Needs Dramatiq 1 or 2.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import dramatiq
from dramatiq.errors import Retry
from dramatiq.middleware import CurrentMessage

from paddlegate._errors import InvalidError, shown
from paddlegate._limited import BaseLimited, Body, NotYet, limit_of, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LimitMiddleware", "Limited", "limit_tasks", "limited"]

POLL_MS = 100

_broker: ContextVar[dramatiq.Broker | None] = ContextVar("broker", default=None)
"""The broker of the message that runs here, which need not be the global one."""


class LimitMiddleware(CurrentMessage):
    """Tells `limited` which message runs, and has workers see in time that its turn has come.

    It is the middleware `CurrentMessage` of Dramatiq, in whose place it stands. An idle worker of
    Dramatiq looks for messages once a second, twice before a delayed message runs: while that is
    late, those behind it in the queue of the limiter wait. With this middleware a worker looks at
    least every `poll_ms` milliseconds, by default 100, from 1 on. Raises `InvalidError`, argument
    `poll_ms`.
    """

    def __init__(self, *, poll_ms: int = POLL_MS) -> None:
        super().__init__()
        if isinstance(poll_ms, bool) or not isinstance(poll_ms, int) or poll_ms < 1:
            raise InvalidError(
                f"must be a whole number of milliseconds, at least 1: poll_ms={shown(poll_ms)}",
                "poll_ms",
            )
        self._poll_ms = poll_ms

    def before_worker_boot(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Shorten the pauses of the worker."""
        worker.worker_timeout = min(worker.worker_timeout, self._poll_ms)

    def before_process_message(self, broker: dramatiq.Broker, message: Any) -> None:
        """Note which message runs, and its broker."""
        super().before_process_message(broker, message)  # type: ignore[no-untyped-call]
        _broker.set(broker)


class Limited(BaseLimited):
    """Decorates the function of a message: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        message = CurrentMessage.get_current_message()
        return message if message is not None and runs(_function_of(message), body) else None

    def _id_of(self, task: Any) -> str:
        return str(task.message_id)

    def _put_back(self, task: Any, wait: NotYet) -> Any:
        # The middleware counts what comes back; this is no retry.
        task.options["retries"] = task.options.get("retries", 0) - 1
        raise Retry(str(wait.reason), delay=math.ceil(wait.seconds() * 1000)) from wait.reason


limited = Limited
"""The decorator, below `@dramatiq.actor`."""


def limit_tasks(broker: dramatiq.Broker, limits: Mapping[str, Limited]) -> None:
    """Limit the actors that are declared from now on by their names.

    Patterns may have the wildcards `*` and `?`; the first that matches counts.

        limit_tasks(broker, {"shop_*": limited(shop)})
    """
    broker.add_middleware(_LimitActors(limits))


class _LimitActors(dramatiq.Middleware):
    def __init__(self, limits: Mapping[str, Limited]) -> None:
        self._limits = limits

    def before_declare_actor(self, broker: dramatiq.Broker, actor: Any) -> None:
        limit = limit_of(self._limits, actor.actor_name)
        if limit is not None:
            actor.fn = limit(actor.fn)


def _function_of(message: Any) -> Any:
    broker = _broker.get() or dramatiq.get_broker()
    return broker.get_actor(message.actor_name).fn
