"""Jobs, for which nobody waits: each keeps its place under an id."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddlegate._adjustable import AdjustableLimiter
from paddlegate._admission import Admission
from paddlegate._asyncio import run_operation, start_operation
from paddlegate._native import MultiStepCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddlegate._native import Decision, _OnLimit
    from paddlegate._waiting import Span

END = 0
"""The place of a new ticket."""
EXISTING = -1
"""The place that a ticket has; without one the call is "gone"."""


# `id` is the word that all languages have.
# ruff: noqa: A002


class Jobs(AdjustableLimiter):
    """What a limiter has for job systems."""

    def enqueue(
        self,
        id: str,
        cost: int | None = None,
        *,
        estimate: int | None = None,
        claim_timeout: Span | None = None,
        wait_timeout: Span | None = None,
        at_us: int | None = None,
    ) -> Decision:
        """Take a place in the queue for a job, which nobody has to wait for.

        "granted" if it may go ahead at once, else "queued": claim it after `retry_after`. A
        ticket that is not claimed within `claim_timeout` after that loses its place, by default
        60 seconds; at the end of `wait_timeout` it is refused, by default never.
        """
        return self._enter(cost, estimate, at_us, id, END, wait_timeout, claim_timeout, None)

    async def aenqueue(
        self,
        id: str,
        cost: int | None = None,
        *,
        estimate: int | None = None,
        claim_timeout: Span | None = None,
        wait_timeout: Span | None = None,
        at_us: int | None = None,
    ) -> Decision:
        """Like `enqueue`."""
        return await self._aenter(cost, estimate, at_us, id, END, wait_timeout, claim_timeout, None)

    def claim(
        self,
        id: str,
        cost: int | None = None,
        *,
        estimate: int | None = None,
        claim_timeout: Span | None = None,
        wait_timeout: Span | None = None,
        at_us: int | None = None,
    ) -> Decision:
        """Look whether it is the turn of a job that is queued.

        "granted", still "queued", or "gone" when it has no ticket: cancelled, lapsed or granted
        before.
        """
        return self._enter(cost, estimate, at_us, id, EXISTING, wait_timeout, claim_timeout, None)

    async def aclaim(
        self,
        id: str,
        cost: int | None = None,
        *,
        estimate: int | None = None,
        claim_timeout: Span | None = None,
        wait_timeout: Span | None = None,
        at_us: int | None = None,
    ) -> Decision:
        """Like `claim`."""
        return await self._aenter(
            cost, estimate, at_us, id, EXISTING, wait_timeout, claim_timeout, None
        )

    def admit(
        self,
        id: str,
        on_limit: _OnLimit | None = None,
        *,
        cost: int | None = None,
        estimate: int | None = None,
        at_us: int | None = None,
    ) -> Admission:
        """Decide about a job under its id, of 1 to 64 bytes; never wait.

        `on_limit` is what becomes of one that is over the limit: by default what the document of
        the limiter says, else "wait". Those that are to "wait" or "reschedule" keep their places
        for a minute after their time. Asking again about a job that runs takes nothing; one that
        is tried again is asked about under another id.
        """
        return self._admission(self._admit(cost, estimate, at_us, id, on_limit), on_limit)

    async def aadmit(
        self,
        id: str,
        on_limit: _OnLimit | None = None,
        *,
        cost: int | None = None,
        estimate: int | None = None,
        at_us: int | None = None,
    ) -> Admission:
        """Like `admit`."""
        decision: Decision = await run_operation(
            self._links, self._begin_admit, self._admit, cost, estimate, at_us, id, on_limit
        )
        return self._admission(decision, on_limit)

    def admit_all(
        self, ids: Iterable[str], on_limit: _OnLimit | None = None, *, partial: bool = False
    ) -> list[Admission]:
        """Decide about several jobs of one unit each, in their order: all of them run or none.

        What was taken for the first is given back when a later one cannot run, and none takes a
        place in the queue. With `partial` each is decided about by itself, as `admit` does. After
        an error those that run are known by their ids: ask again.
        """
        if not partial:
            return self._admissions(MultiStepCall.jobs(self, ids, on_limit).run(), on_limit)
        return [self.admit(job, on_limit, cost=1) for job in self._job_ids(ids)]

    async def aadmit_all(
        self, ids: Iterable[str], on_limit: _OnLimit | None = None, *, partial: bool = False
    ) -> list[Admission]:
        """Like `admit_all`. All or none holds though the task is cancelled meanwhile."""
        if not partial:
            call = MultiStepCall.jobs(self, ids, on_limit)
            decisions = await asyncio.shield(start_operation(self._links, call.begin, call.run))
            return self._admissions(decisions, on_limit)
        return [await self.aadmit(job, on_limit, cost=1) for job in self._job_ids(ids)]

    def _admissions(self, decisions: list[Decision], on_limit: _OnLimit | None) -> list[Admission]:
        return [self._admission(decision, on_limit) for decision in decisions]

    def _admission(self, decision: Decision, on_limit: _OnLimit | None) -> Admission:
        action, after = self._action(decision, on_limit)
        return Admission(action, after, decision, decision.permit)

    async def _aenter(self, *arguments: object) -> Decision:
        decision: Decision = await run_operation(
            self._links, self._begin_enter, self._enter, *arguments
        )
        return decision

    async def acancel(self, id: str, at_us: int | None = None) -> str:
        """Like `cancel`."""
        settlement: str = await run_operation(
            self._links, self._begin_cancel, self._cancel, id, False, at_us
        )
        return settlement
