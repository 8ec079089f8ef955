"""`Limiter`: a name and a policy on a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from paddlegate._asyncio import run_operation
from paddlegate._cleanup import cancel_in_background, cancel_on_loop
from paddlegate._errors import PaddlegateError
from paddlegate._jobs import Jobs
from paddlegate._native import new_id
from paddlegate._statistics import to_statistics
from paddlegate._waiting import INTERRUPT_CANCEL_TIMEOUT, TaskWaiter, ThreadWaiter
from paddlegate._within import WithinLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from paddlegate._cost import Cost
    from paddlegate._guarded import Function
    from paddlegate._limits import Limits
    from paddlegate._native import Decision, LoadedLimiter, Together, _OnLimit, _OnUnavailable
    from paddlegate._paddlegate import Paddlegate
    from paddlegate._permit import AsyncPermit, Grant, Permit
    from paddlegate._statistics import Statistics
    from paddlegate._waiting import Span

# `id` is the name in all languages.
# ruff: noqa: A002


class Limiter(Jobs):
    """A named policy on a store. Create it once and keep it; threads and loops may share it.

    Every method has an asynchronous form with the prefix `a`.
    """

    def __init__(
        self,
        paddlegate: Paddlegate,
        name: str,
        limits: Limits | LoadedLimiter | Together,
        wait_timeout: Span | None = None,
        *,
        lock_timeout: Span | None = None,
        on_limit: _OnLimit | None = None,
        ttl: Span | None = None,
        group: str | None = None,
        on_unavailable: _OnUnavailable | None = None,
        local_share_percent: int | None = None,
    ) -> None:
        self._links = paddlegate._links
        self._hubs = paddlegate._hubs

    def acquire(
        self,
        cost: Cost | None = None,
        *,
        estimate: Cost | None = None,
        wait_timeout: Span | None = None,
        id: str | None = None,
    ) -> Permit:
        """Wait in the queue until the call is granted, and charge it.

        `cost` is final, in units from 0 to 10^12, by default 1. An `estimate`, from 1, is corrected
        with the permit; a `points` limit requires one of them. Each is a number for every limit
        that counts units, or a mapping from labels to numbers, `{"tpm": 900}`: a limit that is not
        named counts one, and a `points` limit must be named. On several limiters that decide
        together a key may be the name of a limiter, with a number or a mapping: `{"org": 2,
        "openai": {"tpm": 900}}`. `wait_timeout` is by default that of
        the limiter. Raises `OverLimit` at once if the wait is known to be longer than
        `wait_timeout`, otherwise at its end.

        With the `id` of a lease, of 1 to 64 bytes, a repeated call takes no second lease. When a
        call with an `id` is interrupted before it has a ticket, the lease of that `id` stays.
        """
        return ThreadWaiter(self, cost, estimate, wait_timeout, id).wait()

    async def aacquire(
        self,
        cost: Cost | None = None,
        *,
        estimate: Cost | None = None,
        wait_timeout: Span | None = None,
        id: str | None = None,
    ) -> AsyncPermit:
        """Like `acquire`. A task that is cancelled meanwhile leaves neither a lease nor a ticket.

        As in `acquire`, the lease of a given `id` may stay.
        """
        return await TaskWaiter(self, cost, estimate, wait_timeout, id).wait()

    @overload
    def within_limit(self, cost: Function, /) -> Function: ...

    @overload
    def within_limit(
        self,
        cost: Cost | None = None,
        *,
        estimate: Cost | None = None,
        wait_timeout: Span | None = None,
        id: str | None = None,
    ) -> WithinLimit: ...

    def within_limit(
        self,
        cost: Cost | Callable[..., Any] | None = None,
        *,
        estimate: Cost | None = None,
        wait_timeout: Span | None = None,
        id: str | None = None,
    ) -> Any:
        """Return a guard for `with`, `async with` or a function: wait as `acquire`, run the body.

        The arguments are those of `acquire`. As a decorator it needs no parentheses.
        """
        if callable(cost):
            return WithinLimit(self, None, estimate, wait_timeout, id)(cost)
        return WithinLimit(self, cost, estimate, wait_timeout, id)

    async def atry_acquire(
        self, cost: Cost | None = None, estimate: Cost | None = None, id: str | None = None
    ) -> Decision:
        """Like `try_acquire`."""
        # With an id of its own, the lease of a cancelled task can be cancelled.
        generated_id = new_id() if id is None and self._grants_leases else None
        try:
            decision: Decision = await run_operation(
                self._links, self._acquire, cost, estimate, generated_id or id
            )
        except BaseException as error:
            if generated_id and not isinstance(error, (PaddlegateError, GeneratorExit)):
                cancel_on_loop(self, generated_id)
            raise
        return decision

    async def aallow(self, cost: Cost | None = None, estimate: Cost | None = None) -> bool:
        """Like `allow`."""
        self._check_allow()
        return (await self.atry_acquire(cost, estimate)).allowed

    async def apeek(self, cost: Cost | None = None, estimate: Cost | None = None) -> Decision:
        """Like `peek`."""
        decision: Decision = await run_operation(self._links, self._peek, cost, estimate)
        return decision

    async def adebit(self, cost: Cost) -> Decision:
        """Like `debit`."""
        decision: Decision = await run_operation(self._links, self._debit, cost)
        return decision

    async def acorrect(self, permit: str | Grant | Decision, actual: Cost) -> str:
        """Like `correct`."""
        return await self._correct_async(permit, actual)

    def _correct_async(self, permit: str | Grant | Decision, actual: Cost) -> Awaitable[str]:
        return run_operation(self._links, self._correct, permit, actual)

    async def arelease(self, permit: str | Grant | Decision) -> str:
        """Like `release`."""
        settlement: str = await run_operation(self._links, self._release, permit)
        return settlement

    async def arenew(self, permit: str | Grant | Decision) -> float | None:
        """Like `renew`."""
        lease: float | None = await run_operation(self._links, self._renew, permit)
        return lease

    def stats(self) -> Statistics:
        """Return the counters of the limiter over all processes, its leases and its tickets."""
        return to_statistics(self._statistics(False))

    async def astats(self) -> Statistics:
        """Like `stats`."""
        return to_statistics(await run_operation(self._links, self._statistics))

    async def areset(self) -> None:
        """Like `reset`."""
        await run_operation(self._links, self._reset)

    def _cancel_interrupted(self, id: str) -> None:
        """Cancel the lease of a `try_acquire` that a signal handler interrupted."""
        cancel_in_background(self, id, INTERRUPT_CANCEL_TIMEOUT)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"
