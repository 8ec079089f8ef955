"""Jobs of RQ within limits: a job over its limit is scheduled for its turn.

    from paddlegate.rq import limited

    @limited(erp, key=lambda account: account)
    def sync(account): ...

    queue.enqueue(sync, "acme")

A worker must run the scheduler of RQ (`rq worker --with-scheduler`), which knows whole seconds. The
job keeps its place in the queue of the limiter. Needs RQ 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rq import Retry, get_current_job
from rq.job import Job

from paddlegate._limited import BaseLimited, Body, NotYet, limit_of, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Limited", "job_class", "limited"]

# Coming back is no failure, so there is no most.
MOST = 10**9


class Limited(BaseLimited):
    """Decorates the function of a job: keeps it within a limit, as `BaseLimited` says."""

    __slots__ = ()
    # The scheduler knows whole seconds, and may be another one late.
    PATIENCE = 2.0
    EARLY = 1.0

    def _task_of(self, body: Body, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        job = get_current_job()
        return job if job is not None and runs(job.func, body) else None

    def _id_of(self, task: Any) -> str:
        return str(task.id)

    def _put_back(self, task: Any, wait: NotYet) -> Retry:
        _keep_retries(task)
        return Retry(MOST, max(round(wait.seconds()), 1))


limited = Limited
"""The decorator of a function that is enqueued."""


def job_class(limits: Mapping[str, Limited]) -> type[Job]:
    """Return a class of jobs that are limited by the names of their functions.

    A name has the module and the function. Patterns may have the wildcards `*` and `?`, and the
    first that matches counts. A worker takes the class by its name:

        LimitedJob = job_class({"shop.*": limited(shop)})  # rq worker --job-class app.LimitedJob
    """

    def func(job: Any) -> Any:
        function = Job.func.__get__(job)
        limit = None if function is None else limit_of(limits, job.func_name or "")
        if limit is None:
            return function
        if not hasattr(job, "_limited"):
            job._limited = limit(function)
        return job._limited

    return type("LimitedJob", (Job,), {"func": property(func)})


def _keep_retries(job: Any) -> None:
    """Have RQ save the count of retries that a job has, since coming back is none.

    RQ 2.1 counts only a job that comes back at once, newer versions count each.
    """
    count, to_dict = job.number_of_retries or 0, job.to_dict

    def kept(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return {**to_dict(*args, **kwargs), "number_of_retries": count}

    job.to_dict = kept
