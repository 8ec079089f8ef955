"""Workers of conductor-python that do not poll for tasks which they could only send back."""

from __future__ import annotations

from abc import ABCMeta
from typing import TYPE_CHECKING, Any, TypeVar

from conductor.client.worker.worker import Worker  # type: ignore[import-untyped]

from paddlegate._errors import InvalidError

if TYPE_CHECKING:
    from paddlegate._limited import Body

Workers = TypeVar("Workers", bound="list[Any]")

LIMIT = "__paddlegate_limit__"
"""The attribute of a function with its limit."""
CLOSED = object()
"""That a worker is paused by its gate."""


class GatedWorker(Worker, metaclass=ABCMeta):  # type: ignore[misc]
    """A worker that does not poll while the limiter of its function lets nothing pass."""

    @property
    def paused(self) -> object:
        """Whether not to poll, which a task runner reads before each poll."""
        limit = _limit_of(self.execute_function)
        is_closed = limit is not None and limit.gate.is_closed()
        return self.__dict__["paused"] or (CLOSED if is_closed else False)

    @paused.setter
    def paused(self, paused: object) -> None:
        # A task runner sets what it has read, unless the environment says otherwise.
        self.__dict__["paused"] = False if paused is CLOSED else paused


def gated(workers: Workers) -> Workers:
    """Make workers of conductor-python gated, before they are started, and return them.

    Those whose function is not limited stay as they are. A subclass of `Worker` needs `GatedWorker`
    for its base; another raises `InvalidError`, argument `workers`.
    """
    for worker in workers:
        if _limit_of(getattr(worker, "execute_function", None)) is None:
            continue
        if type(worker) is Worker:
            worker.__class__ = GatedWorker
        elif not isinstance(worker, GatedWorker):
            raise InvalidError(
                f"must be of Worker or of GatedWorker: type={type(worker).__name__}", "workers"
            )
    return workers


def _limit_of(function: Body | None) -> Any:
    while function is not None:
        limit: Any = getattr(function, LIMIT, None)
        if limit is not None:
            return limit
        function = getattr(function, "__wrapped__", None)
    return None
