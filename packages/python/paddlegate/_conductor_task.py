"""The tasks of conductor-python: whose function runs, and how a task goes back to its server."""

from __future__ import annotations

import math
from time import monotonic
from typing import TYPE_CHECKING, Any

from conductor.client.automator.task_handler import (  # type: ignore[import-untyped]
    get_registered_workers,
)
from conductor.client.context.task_context import (  # type: ignore[import-untyped]
    TaskContext,
    get_task_context,
)
from conductor.client.http.models.task_result import TaskResult  # type: ignore[import-untyped]
from conductor.client.http.models.task_result_status import (  # type: ignore[import-untyped]
    TaskResultStatus,
)

from paddlegate._limited import runs

if TYPE_CHECKING:
    from paddlegate._limited import Body, NotYet

HOLD = 5.0
"""Seconds for which a task is held at most while nothing passes. The server answers a task that
goes back with the next one, so the whole queue would go through the worker and back."""
PAUSED = 60.0
"""Seconds after which a task of a paused limiter comes back at the latest: a pause may be ended
before its time."""


_known: dict[tuple[Body, str], bool] = {}
"""What `_is_of` said: to list the workers takes longer than many a task."""


def context_of(body: Body) -> TaskContext | None:
    """Return the context of the task whose function this is; None elsewhere."""
    try:
        context = get_task_context()
    except RuntimeError:
        return None
    task = body, context.get_task_def_name()
    if task not in _known:
        _known[task] = _is_of(*task)
    return context if _known[task] else None


def _is_of(body: Body, task: str) -> bool:
    """Return whether a task has this function, unless its worker was made without `@worker_task`.

    A function that a task calls cannot put the task back, which has begun.
    """
    workers = [it for it in get_registered_workers() if task in it.task_definition_names]
    return not workers or any(runs(it.execute_function, body) for it in workers)


def hold_until(context: TaskContext) -> float:
    """Return until when a task may be held, before its server takes the worker for dead."""
    timeout: Any = context.task.response_timeout_seconds
    return monotonic() + (min(HOLD, timeout / 2) if timeout else HOLD)


def put_back(context: TaskContext, wait: NotYet, held: float) -> TaskResult:
    """Return the result with which a task goes back until its turn, of which some time is over."""
    after = wait.seconds()
    if getattr(wait.reason, "reason", None) == "paused":
        after = min(after, PAUSED)
    it = context.task_result
    return TaskResult(
        task_id=it.task_id,
        workflow_instance_id=it.workflow_instance_id,
        worker_id=it.worker_id,
        status=TaskResultStatus.IN_PROGRESS,
        # The server knows whole seconds.
        callback_after_seconds=max(math.ceil(after - held), 1),
        reason_for_incompletion=f"waits for its turn: {wait.reason}",
        # It replaces the output of before, which is what the task has done so far.
        output_data=context.task.output_data or {},
    )
