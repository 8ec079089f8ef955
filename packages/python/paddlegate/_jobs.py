"""Calls for jobs: nothing waits, and each job keeps its queue position under an id."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from paddlegate._adjustable import AdjustableLimiter
from paddlegate._admission import Admission
from paddlegate._asyncio import run_operation, start_operation
from paddlegate._native import MultiStepCall
from paddlegate._options import AdmitOptions, JobOptions, check, spelled_out
from paddlegate._order import order_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Unpack

    from paddlegate._cost import Cost
    from paddlegate._native import Decision, _JobOnLimit

END = 0
"""The end of the queue, for a call without a ticket."""
EXISTING = -1
"""The position of the existing ticket; without one the status is "no_ticket"."""


# `id` is the name in all languages.
# ruff: noqa: A002


@spelled_out
class Jobs(AdjustableLimiter):
    """The methods of a limiter for job systems."""

    def enqueue(self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]) -> Decision:
        """Grant a job or queue it; never wait.

        The arguments that are not named here are as in `acquire`. `id`, of 1 to 64 bytes, names
        the ticket and the lease. The status is "granted" if the job may run now, otherwise
        "queued": call `claim` after `retry_after` seconds. A ticket that is not claimed within
        `claim_timeout` after that loses its queue position; the default is 60 seconds. After
        `wait_timeout` the job is refused; by default never.
        """
        decision: Decision = self._enter(False, *_entering(id, END, cost, options))
        return decision

    async def aenqueue(
        self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]
    ) -> Decision:
        """Like `enqueue`."""
        return await self._aenter(*_entering(id, END, cost, options))

    def claim(self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]) -> Decision:
        """Check whether a queued job may run now.

        The status is "granted", still "queued", or "no_ticket" when the job has no ticket: it was
        cancelled, has lapsed or was granted before. A ticket keeps the priority and the share with
        which it was taken; those given here are checked.
        """
        decision: Decision = self._enter(False, *_entering(id, EXISTING, cost, options))
        return decision

    async def aclaim(
        self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]
    ) -> Decision:
        """Like `claim`."""
        return await self._aenter(*_entering(id, EXISTING, cost, options))

    def admit(
        self, id: str, on_limit: _JobOnLimit | None = None, **options: Unpack[AdmitOptions]
    ) -> Admission:
        """Decide on a job under its id, of 1 to 64 bytes; never wait.

        `on_limit` is the action for a job over the limit; by default that of the limiter's
        document, otherwise "wait". A job that is to "wait" or "reschedule" has a ticket: call again
        after `after` seconds. Others pass the job by that has not called for `claim_timeout` after
        its turn, by default 5 seconds, more than 0; its place is kept for a minute more. With a
        concurrency limit a repeated call for a running job takes nothing. A job that runs again
        after a failure needs another id and counts as a new job. The other arguments are as in
        `acquire`.

            job = reports.admit("job-7", priority=5, share="acme", claim_timeout=30)
        """
        decision = self._admit(False, *_admitting(id, on_limit, options))
        return self._admission(decision, on_limit)

    async def aadmit(
        self, id: str, on_limit: _JobOnLimit | None = None, **options: Unpack[AdmitOptions]
    ) -> Admission:
        """Like `admit`."""
        decision: Decision = await run_operation(
            self._links, self._admit, *_admitting(id, on_limit, options)
        )
        return self._admission(decision, on_limit)

    def admit_all(
        self,
        ids: Iterable[str],
        on_limit: _JobOnLimit | None = None,
        *,
        partial: bool = False,
        key: str | None = None,
    ) -> list[Admission]:
        """Decide on several jobs of one unit each, in their order: all of them run, or none.

        When a job cannot run, the units of the jobs before it are refunded, and no job takes a
        ticket. With `partial` each job is decided by itself, as in `admit`. After an error, repeat
        the call with the same ids, which identify the jobs that were admitted.
        """
        if not partial:
            call = MultiStepCall.jobs(self, ids, on_limit, key)
            return self._admissions(call.start(False), on_limit)
        return [self.admit(job, on_limit, cost=1, key=key) for job in self._job_ids(ids)]

    async def aadmit_all(
        self,
        ids: Iterable[str],
        on_limit: _JobOnLimit | None = None,
        *,
        partial: bool = False,
        key: str | None = None,
    ) -> list[Admission]:
        """Like `admit_all`. All jobs run or none, even if the task is cancelled meanwhile."""
        if not partial:
            call = MultiStepCall.jobs(self, ids, on_limit, key)
            decisions = await asyncio.shield(start_operation(self._links, call.start))
            return self._admissions(decisions, on_limit)
        return [await self.aadmit(job, on_limit, cost=1, key=key) for job in self._job_ids(ids)]

    def _admissions(
        self, decisions: list[Decision], on_limit: _JobOnLimit | None
    ) -> list[Admission]:
        return [self._admission(decision, on_limit) for decision in decisions]

    def _admission(self, decision: Decision, on_limit: _JobOnLimit | None) -> Admission:
        action, after = self._action(decision, on_limit)
        return Admission(action, after, decision, decision.permit)

    def ready(self, count: int = 100, *, key: str | None = None) -> list[str]:
        """Return the ids of up to `count` queued jobs whose turn has come, in the queue's order.

        For a process that starts the jobs: a job that starts then calls `admit` or `claim`. It
        takes nothing. Each id is returned once, to one process, and the claim timeout of the job
        begins then: after it those behind the job may pass. Calls that wait in `acquire` are left
        out, as is a job whose cost the limits no longer allow.

        While a process asks at least every 10 seconds, `admit` tells a refused job to come back
        after a minute instead of after an estimate, as do `enqueue` and `claim` with a
        `claim_timeout` of a minute or more: the job makes one call to queue and one to run.

        `count` is from 1 to 100. Raises `InvalidError`, argument `count`.

            for job in workers.ready():
                start(job)
        """
        ids: list[str] = self._ready(False, count, key)[0]
        return ids

    async def aready(self, count: int = 100, *, key: str | None = None) -> list[str]:
        """Like `ready`."""
        ids: list[str] = (await run_operation(self._links, self._ready, count, key))[0]
        return ids

    async def _aenter(self, *arguments: object) -> Decision:
        decision: Decision = await run_operation(self._links, self._enter, *arguments)
        return decision

    async def acancel(self, id: str, *, key: str | None = None) -> str:
        """Like `cancel`."""
        settlement: str = await run_operation(self._links, self._cancel, id, False, key)
        return settlement


def _entering(id: str, place: int, cost: Cost | None, options: JobOptions) -> tuple[Any, ...]:
    """Return the arguments of `_enter`."""
    check(options, JobOptions)
    return (
        cost,
        options.get("estimate"),
        id,
        place,
        options.get("wait_timeout"),
        options.get("claim_timeout"),
        options.get("key"),
        options.get("settle_within"),
        order_of(options),
    )


def _admitting(id: str, on_limit: _JobOnLimit | None, options: AdmitOptions) -> tuple[Any, ...]:
    """Return the arguments of `_admit`."""
    check(options, AdmitOptions)
    return (
        options.get("cost"),
        options.get("estimate"),
        id,
        on_limit,
        options.get("key"),
        options.get("settle_within"),
        options.get("claim_timeout"),
        order_of(options),
    )
