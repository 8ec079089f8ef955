"""`Limiter`: a name and a policy on a store."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, overload

from paddlegate._asyncio import run_operation, send_first
from paddlegate._cleanup import cancel_in_background, cancel_on_loop
from paddlegate._extension import Extension
from paddlegate._history import to_history
from paddlegate._inspection import to_inspection
from paddlegate._jobs import Jobs
from paddlegate._native import Call, Waiter, new_id
from paddlegate._options import AcquireOptions, check, spelled_out
from paddlegate._order import order_of
from paddlegate._permit import Grant
from paddlegate._statistics import to_statistics
from paddlegate._turns import AsyncTurns, Turns
from paddlegate._waiting import TaskWaiter, ThreadWaiter, cancel_timeout, may_have_lease
from paddlegate._within import WithinLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from typing_extensions import Unpack

    from paddlegate._asyncio import Links
    from paddlegate._cost import Cost
    from paddlegate._guarded import Function, Result, TakesPermit
    from paddlegate._history import History
    from paddlegate._hub import Hubs
    from paddlegate._inspection import Inspection, TicketInfo
    from paddlegate._limits import Limits
    from paddlegate._native import (
        Decision,
        LimiterOfKey,
        LoadedLimiter,
        Together,
        _OnLimit,
    )
    from paddlegate._options import StateOptions
    from paddlegate._paddlegate import Paddlegate
    from paddlegate._permit import AsyncPermit, Permit
    from paddlegate._statistics import Statistics
    from paddlegate._waiting import Span

# `id` is the name in all languages.
# ruff: noqa: A002


@spelled_out
class Limiter(Jobs):
    """A named policy on a store. Create it once and keep it; threads and loops may share it.

    Every method has an asynchronous form with the prefix `a`.

    A keyed limiter has a state for each key, such as a user. All its methods but `stats` and
    `history` take the `key`, text of 1 to 512 bytes, by default None: `limiter.allow(key="alice")`
    is `limiter.with_key("alice").allow()`. A keyed limiter without a key, and a key for a limiter
    that is not keyed, raise `InvalidError`, argument `key`.
    """

    def __init__(
        self,
        paddlegate: Paddlegate | Limiter,
        name: str,
        limits: Limits | LoadedLimiter | LimiterOfKey | Together,
        wait_timeout: Span | None = None,
        *,
        lock_timeout: Span | None = None,
        on_limit: _OnLimit | None = None,
        ttl: Span | None = None,
        **options: Unpack[StateOptions],
    ) -> None:
        self._links: Links = paddlegate._links
        self._hubs: Hubs = paddlegate._hubs

    def with_key(self, key: str) -> Limiter:
        """Return the limiter of one key, for some calls or for `together`; it has the same options.

        `key` has 1 to 512 bytes. Creating it is cheap, registers nothing and calls no server.
        Raises `InvalidError`, argument `key`, for another key, and if the limiter is not keyed.
        """
        return Limiter(self, self.name, self._of_key(key))

    def acquire(self, cost: Cost | None = None, **options: Unpack[AcquireOptions]) -> Permit:
        """Wait in the queue until the call is granted, and charge it.

        `cost` is final, in units from 0 to 10^12, by default 1. An `estimate`, from 1, is corrected
        with the permit; a `points` limit requires one of them. Each is a number for every limit
        that counts units, or a mapping from labels to numbers, `{"tpm": 900}`: a limit that is not
        named counts one, and a `points` limit must be named. On several limiters that decide
        together a key may be the name of a limiter, with a number or a mapping: `{"org": 2,
        "openai": {"tpm": 900}}`. `wait_timeout` is by default that of
        the limiter. Raises `OverLimit` at once if the wait is known to be longer than
        `wait_timeout`, otherwise at its end.

        An estimate can be settled within five minutes of the grant, or within `settle_within`, from
        5 minutes to 7 days. A `settle_within` without an estimate raises `InvalidError`.

        With the `id` of a lease, of 1 to 64 bytes, a repeated call takes no second lease. When a
        call with an `id` is interrupted before it has a ticket, the lease of that `id` stays.

        In the queue a higher `priority`, from 0, the default, to 9, comes first. A `share` is text
        of 1 to 128 bytes, such as a tenant: shares of one priority take turns by what their calls
        cost, whatever the number of their calls, and one of `weight` 2, from 1, the default, to
        1000, gets twice as much as one of weight 1. Calls without a share have one together.
        Raises `InvalidError`, argument `priority`, `share` or `weight`; also for a weight without
        a share.

        With `limits` the decision has each limit: `permit.decision.limits`, and of an `OverLimit`
        `error.decision.limits`.

            reports.acquire(priority=9)
            reports.acquire(share="acme", weight=3)
        """
        return ThreadWaiter(*self._waiting(cost, options)).wait()

    async def aacquire(
        self, cost: Cost | None = None, **options: Unpack[AcquireOptions]
    ) -> AsyncPermit:
        """Like `acquire`. A task that is cancelled meanwhile leaves neither a lease nor a ticket.

        As in `acquire`, the lease of a given `id` may stay.
        """
        return await TaskWaiter(*self._waiting(cost, options)).wait()

    def _waiting(self, cost: Cost | None, options: AcquireOptions) -> tuple[Limiter, Waiter]:
        """Return the limiter of the call's key, and the rules by which the call waits."""
        limiter = self._keyed_by(options)
        rules = Waiter(
            limiter,
            cost,
            options.get("estimate"),
            options.get("wait_timeout"),
            options.get("id"),
            monotonic(),
            options.get("settle_within"),
            order_of(options),
            options.get("limits"),
        )
        return limiter, rules

    def _keyed_by(self, options: AcquireOptions) -> Limiter:
        """Check the keywords, and take the key out of them."""
        check(options, AcquireOptions)
        key = options.pop("key", None)
        return self if key is None else self.with_key(key)

    def turns(
        self, count: int = 100, *, wait_timeout: Span | None = None, key: str | None = None
    ) -> Turns:
        """Return an iterator over the ids of queued jobs, each when its turn comes.

        It is `ready` for a process that starts jobs and has nothing else to do: it sleeps until the
        next turn comes, over the connection of the wake-ups, and asks by itself after at most 5
        seconds. Each id comes once, to one process, and the job calls `admit` or `claim` within its
        claim timeout.

        `count`, from 1 to 100, is how many turns one question returns at most: a loop that runs
        each job itself before it takes the next turn asks for 1, since the others would wait for
        it. With a `wait_timeout` the loop ends when no turn has come for so long; `close` ends it
        from any thread. An error, such as `UnavailableError`, ends the loop, and another loop over
        the same iterator goes on.

        Raises `InvalidError`, argument `count` or `wait_timeout`.

            for job in workers.turns():
                pool.submit(run, job)
        """
        return Turns(self if key is None else self.with_key(key), count, wait_timeout)

    def aturns(
        self, count: int = 100, *, wait_timeout: Span | None = None, key: str | None = None
    ) -> AsyncTurns:
        """Like `turns`, for an event loop.

        async for job in workers.aturns():
            tasks.create_task(run(job))
        """
        return AsyncTurns(self if key is None else self.with_key(key), count, wait_timeout)

    @overload
    def within_limit(self, cost: TakesPermit[Result], /) -> Callable[..., Result]: ...

    @overload
    def within_limit(self, cost: Function, /) -> Function: ...

    @overload
    def within_limit(
        self,
        cost: Cost | None = None,
        # Those of `AcquireOptions`; stubtest does not find them in `Unpack` of an overload.
        *,
        estimate: Cost | None = None,
        settle_within: Span | None = None,
        priority: int | None = None,
        share: str | None = None,
        weight: int | None = None,
        key: str | None = None,
        wait_timeout: Span | None = None,
        id: str | None = None,
        limits: bool | None = None,
    ) -> WithinLimit: ...

    def within_limit(
        self,
        cost: Cost | Callable[..., Any] | None = None,
        **options: Unpack[AcquireOptions],
    ) -> Any:
        """Return a guard for `with`, `async with` or a function: wait as `acquire`, run the body.

        The arguments are those of `acquire`. As a decorator it needs no parentheses.
        """
        function, cost = (cost, None) if callable(cost) else (None, cost)
        guard = WithinLimit(self._keyed_by(options), cost, options)
        return guard if function is None else guard(function)

    async def atry_acquire(
        self,
        cost: Cost | None = None,
        estimate: Cost | None = None,
        id: str | None = None,
        *,
        settle_within: Span | None = None,
        key: str | None = None,
        limits: bool | None = None,
    ) -> Decision:
        """Like `try_acquire`."""
        # With an id of its own, the lease of a call that gets no decision can be cancelled.
        generated_id = new_id() if id is None and self._grants_leases else None
        try:
            # In memory the answer is there at once; a coroutine for it takes longer than to decide.
            call_id = generated_id or id
            answer = self._acquire(True, cost, estimate, call_id, key, settle_within, limits)
            if isinstance(answer, Call):
                answer = await send_first(
                    self._links,
                    answer,
                    self._acquire,
                    cost,
                    estimate,
                    call_id,
                    key,
                    settle_within,
                    limits,
                )
        except BaseException as error:
            # The loop of a coroutine that is discarded may have ended.
            if generated_id and not isinstance(error, GeneratorExit) and may_have_lease(error):
                cancel_on_loop(self if key is None else self.with_key(key), generated_id)
            raise
        decision: Decision = answer
        return decision

    async def aallow(
        self,
        cost: Cost | None = None,
        estimate: Cost | None = None,
        *,
        settle_within: Span | None = None,
        key: str | None = None,
    ) -> bool:
        """Like `allow`."""
        self._check_allow()
        # Without a lease, which a cancelled task would have to give back.
        answer = self._acquire(True, cost, estimate, None, key, settle_within)
        if isinstance(answer, Call):
            answer = await send_first(
                self._links, answer, self._acquire, cost, estimate, None, key, settle_within
            )
        decision: Decision = answer
        return decision.allowed

    async def apeek(
        self,
        cost: Cost | None = None,
        estimate: Cost | None = None,
        *,
        settle_within: Span | None = None,
        key: str | None = None,
        limits: bool | None = None,
    ) -> Decision:
        """Like `peek`."""
        answer = self._peek(True, cost, estimate, key, settle_within, limits)
        if isinstance(answer, Call):
            answer = await send_first(
                self._links, answer, self._peek, cost, estimate, key, settle_within, limits
            )
        decision: Decision = answer
        return decision

    async def adebit(self, cost: Cost, *, key: str | None = None) -> Decision:
        """Like `debit`."""
        decision: Decision = await run_operation(self._links, self._debit, cost, key)
        return decision

    async def acorrect(
        self, permit: str | Grant | Decision, actual: Cost, *, key: str | None = None
    ) -> str:
        """Like `correct`."""
        return await self._correct_async(permit, actual, key)

    def _correct_async(
        self, permit: str | Grant | Decision, actual: Cost, key: str | None = None
    ) -> Awaitable[str]:
        return run_operation(self._links, self._correct, permit, actual, key)

    def extend(
        self, permit: str | Grant | Decision, units: Cost, *, key: str | None = None
    ) -> Extension:
        """Reserve more units for the call of an open permit, such as a stream: all or nothing.

        `units` is a number or a mapping as for `acquire`, at most 10^12 with what is reserved; a
        mapping takes nothing of a limit that it does not name, and limits that count calls are not
        charged. A grant has the id of the permit with the sum, with which the next extension and
        the correction are made; older ids stay valid, and a repeated call with the same id
        reserves once. A refusal has a `retry_after` and changes nothing. The call does not wait
        behind the queue, and the time in which the permit can be settled stays.

        The result has no decision for a permit that is not open; its `settlement` is then
        "already", "late" or "unknown". Raises `InvalidError`, argument `units`, for units that can
        never be granted. A `Permit` that is given in the place of its id gets the new one.

            extension = tokens.extend(permit_id, 500)
            if extension:
                permit_id = extension.decision.permit
        """
        return _recorded(permit, Extension(*self._extend(False, permit, units, key)))

    async def aextend(
        self, permit: str | Grant | Decision, units: Cost, *, key: str | None = None
    ) -> Extension:
        """Like `extend`."""
        fields = await run_operation(self._links, self._extend, permit, units, key)
        return _recorded(permit, Extension(*fields))

    async def arelease(self, permit: str | Grant | Decision, *, key: str | None = None) -> str:
        """Like `release`."""
        settlement: str = await run_operation(self._links, self._release, permit, key)
        return settlement

    async def arenew(
        self, permit: str | Grant | Decision, *, key: str | None = None
    ) -> float | None:
        """Like `renew`."""
        lease: float | None = await run_operation(self._links, self._renew, permit, key)
        return lease

    def stats(self) -> Statistics:
        """Return the counters of the limiter over all processes, its leases and its tickets.

        Those of a keyed limiter are of all its keys, without leases and tickets. Raises
        `InvalidError`, argument `key`, for the limiter of one key, and argument `statistics` for a
        limiter that keeps none.
        """
        return to_statistics(self._statistics(False))

    async def astats(self) -> Statistics:
        """Like `stats`."""
        return to_statistics(await run_operation(self._links, self._statistics))

    def history(self) -> History:
        """Return what was counted in each of the last 60 minutes and 48 hours, for charts.

        It is of all processes, and of all keys. Raises `InvalidError` as `stats` does.

            for minute in limiter.history().minutes:
                print(minute.start, minute.granted, minute.refused)
        """
        return to_history(self._history(False))

    async def ahistory(self) -> History:
        """Like `history`."""
        return to_history(await run_operation(self._links, self._history))

    def inspect(self, offset: int = 0, count: int = 100, *, key: str | None = None) -> Inspection:
        """Return the limits, leases, tickets, pause and mode now; take nothing and change nothing.

        `count` leases and `count` tickets from `offset` on are returned; `count` is from 0 to 1000,
        `offset` from 0 to 100,000. It works under a pause too. A name that was never used has whole
        limits. Raises `InvalidError`, argument `offset` or `count`.

            for limit in api.inspect().limits:
                print(limit.label, limit.remaining)
        """
        return to_inspection(self._inspect(False, offset, count, key))

    async def ainspect(
        self, offset: int = 0, count: int = 100, *, key: str | None = None
    ) -> Inspection:
        """Like `inspect`."""
        return to_inspection(await run_operation(self._links, self._inspect, offset, count, key))

    def queue(
        self, offset: int = 0, count: int = 100, *, key: str | None = None
    ) -> tuple[TicketInfo, ...]:
        """Return a page of the tickets, in the order of the queue: those of `inspect`."""
        return self.inspect(offset, count, key=key).tickets

    async def aqueue(
        self, offset: int = 0, count: int = 100, *, key: str | None = None
    ) -> tuple[TicketInfo, ...]:
        """Like `queue`."""
        return (await self.ainspect(offset, count, key=key)).tickets

    async def areset(self, *, key: str | None = None) -> None:
        """Like `reset`."""
        await run_operation(self._links, self._reset, key)

    def _cancel_undecided(self, error: BaseException, id: str, key: str | None) -> None:
        """Cancel the lease that a `try_acquire` may have, which ends with this error."""
        if may_have_lease(error):
            limiter = self if key is None else self.with_key(key)
            cancel_in_background(limiter, id, cancel_timeout(limiter, error))

    def __repr__(self) -> str:
        key = "" if self.key is None else f" key={self.key!r}"
        return f"<{type(self).__name__} {self.name!r}{key}>"


def _recorded(permit: str | Grant | Decision, extension: Extension) -> Extension:
    """Give a permit the id of its extension."""
    if isinstance(permit, Grant):
        permit._record_extension(extension)
    return extension
