"""Jobs of RQ within limits: a job over its limit is scheduled for its turn.

    from paddlegate.rq import limited

    @limited(erp, key=lambda account: account)
    def sync(account): ...

    queue.enqueue(sync, "acme")

A worker must run the scheduler of RQ (`rq worker --with-scheduler`), which knows whole seconds. The
job keeps its place in the queue of the limiter. Needs RQ 2.
"""

from __future__ import annotations

import math
from typing import Any

from rq import Retry, get_current_job

from paddlegate._limited import BaseLimited, Body, NotYet, runs

__all__ = ["Limited", "limited"]

# Coming back is no failure, so there is no most; the retries of a job are counted apart.
MOST = 10**9


class Limited(BaseLimited):
    """Decorates the function of a job: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        job = get_current_job()
        return job if job is not None and runs(job.func, body) else None

    def _id_of(self, task: Any) -> str:
        return str(task.id)

    def _put_back(self, task: Any, wait: NotYet) -> Retry:
        return Retry(MOST, math.ceil(wait.seconds()))


limited = Limited
"""The decorator of a function that is enqueued."""
