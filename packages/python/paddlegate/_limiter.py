"""`Limiter`: a name and a policy on a store."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, overload

from paddlegate import _native
from paddlegate._admission import Admission
from paddlegate._asyncio import run_operation, send_first, start_operation
from paddlegate._changes import (
    budget_request,
    override_request,
    pause_request,
    response_request,
)
from paddlegate._cleanup import cancel_in_background, cancel_on_loop
from paddlegate._convert import json_text
from paddlegate._extension import Extension
from paddlegate._history import to_history
from paddlegate._inspection import to_inspection
from paddlegate._jobs import END, EXISTING, admitting, entering
from paddlegate._learned import to_learned
from paddlegate._native import AdminRequest, Call, MultiStepCall, Waiter, new_id
from paddlegate._options import AcquireOptions, check, spelled_out
from paddlegate._order import order_of
from paddlegate._permit import Grant
from paddlegate._runtime_state import to_runtime_state
from paddlegate._statistics import to_limit_info, to_statistics
from paddlegate._turns import AsyncTurns, Turns
from paddlegate._waiting import TaskWaiter, ThreadWaiter, cancel_timeout, may_have_lease
from paddlegate._within import WithinLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import Unpack

    from paddlegate._asyncio import Links
    from paddlegate._convert import Body, Headers, Json
    from paddlegate._cost import Cost
    from paddlegate._guarded import Function, Result, TakesPermit
    from paddlegate._history import History
    from paddlegate._hub import Hubs
    from paddlegate._inspection import Inspection, TicketInfo
    from paddlegate._learned import Learned
    from paddlegate._limits import Limits
    from paddlegate._native import (
        Decision,
        LimiterOfKey,
        LoadedLimiter,
        Together,
        _JobOnLimit,
        _OnLimit,
    )
    from paddlegate._options import (
        AdmitOptions,
        BudgetOptions,
        JobOptions,
        LearnOptions,
        OverrideOptions,
        PauseOptions,
        StateOptions,
    )
    from paddlegate._paddlegate import Paddlegate
    from paddlegate._permit import AsyncPermit, Permit
    from paddlegate._runtime_state import RuntimeState
    from paddlegate._statistics import LimitInfo, Statistics
    from paddlegate._waiting import Span

# `id` is the name in all languages.
# ruff: noqa: A002


@spelled_out
class Limiter(_native.Limiter):
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

    @property
    def limits(self) -> tuple[LimitInfo, ...]:
        """The limits of the policy; of several that decide together those of each in turn."""
        return tuple(map(to_limit_info, self._limits()))

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
        "openai": {"tpm": 900}}`. `wait_timeout` is by default the option of the limiter. Raises
        `OverLimit` at once if the wait is known to be longer than `wait_timeout`, otherwise at its
        end.

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
        if not options:  # To look up what is not there takes a while.
            return self, Waiter(self, cost, None, None, None, monotonic())
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
        next turn comes, over the connection of the wake-ups, and asks without a wake-up after at
        most 5 seconds. Each id comes once, to one process, and the job calls `admit` or `claim`
        within its claim timeout.

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

    async def arefund(self, units: Cost, *, key: str | None = None) -> Decision:
        """Like `refund`."""
        decision: Decision = await run_operation(self._links, self._refund, units, key)
        return decision

    async def acorrect(
        self, permit: str | Grant | Decision, actual: Cost, *, key: str | None = None
    ) -> str:
        """Like `correct`."""
        settlement: str = await run_operation(self._links, self._correct, permit, actual, key)
        return settlement

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

    def enqueue(self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]) -> Decision:
        """Grant a job or queue it; never wait.

        The arguments that are not named here are as in `acquire`. `id`, of 1 to 64 bytes, names
        the ticket and the lease. The status is "granted" if the job may run now, otherwise
        "queued": call `claim` after `retry_after` seconds. A ticket that is not claimed within
        `claim_timeout` after that loses its queue position; the default is 60 seconds. After
        `wait_timeout` the job is refused; by default never.
        """
        decision: Decision = self._enter(False, *entering(id, END, cost, options))
        return decision

    async def aenqueue(
        self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]
    ) -> Decision:
        """Like `enqueue`."""
        return await self._aenter(*entering(id, END, cost, options))

    def claim(self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]) -> Decision:
        """Check whether a queued job may run now.

        The status is "granted", still "queued", or "no_ticket" when the job has no ticket: it was
        cancelled, has lapsed or was granted before. A ticket keeps the priority and the share with
        which it was taken; those given here are checked.
        """
        decision: Decision = self._enter(False, *entering(id, EXISTING, cost, options))
        return decision

    async def aclaim(
        self, id: str, cost: Cost | None = None, **options: Unpack[JobOptions]
    ) -> Decision:
        """Like `claim`."""
        return await self._aenter(*entering(id, EXISTING, cost, options))

    async def _aenter(self, *arguments: object) -> Decision:
        decision: Decision = await run_operation(self._links, self._enter, *arguments)
        return decision

    def admit(
        self, id: str, on_limit: _JobOnLimit | None = None, **options: Unpack[AdmitOptions]
    ) -> Admission:
        """Decide on a job under its id, of 1 to 64 bytes; never wait.

        `on_limit` is the action for a job over the limit; by default the one of the limiter's
        document, otherwise "wait". A job that is to "wait" or "reschedule" has a ticket: call again
        after `after` seconds. A job that has not called within `claim_timeout` after its turn is
        passed by; that is 5 seconds by default, and more than 0. Its place is kept for a minute
        more. With a concurrency limit a repeated call for a running job takes nothing. A job that
        runs again after a failure needs another id and counts as a new job. The other arguments are
        as in `acquire`.

            job = reports.admit("job-7", priority=5, share="acme", claim_timeout=30)
        """
        decision = self._admit(False, *admitting(id, on_limit, options))
        return self._admission(decision, on_limit)

    async def aadmit(
        self, id: str, on_limit: _JobOnLimit | None = None, **options: Unpack[AdmitOptions]
    ) -> Admission:
        """Like `admit`."""
        decision: Decision = await run_operation(
            self._links, self._admit, *admitting(id, on_limit, options)
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
        ticket. With `partial` each job is decided alone, as in `admit`. After an error, repeat
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

    async def acancel(self, id: str, *, key: str | None = None) -> str:
        """Like `cancel`."""
        settlement: str = await run_operation(self._links, self._cancel, id, False, key)
        return settlement

    def pause(self, seconds: Span | None = None, **options: Unpack[PauseOptions]) -> RuntimeState:
        """Refuse every call in all processes, for `seconds` or `until` a time.

        `until` is a `datetime` with a time zone or seconds since 1970, by the clock of the store.
        The reason of the refusals is "paused", and their `retry_after` is the time until the pause
        ends. A pause that ends later stays in force.
        """
        request = pause_request(AdminRequest.pause, seconds, options)
        return to_runtime_state(self._admin(False, *request))

    async def apause(
        self, seconds: Span | None = None, **options: Unpack[PauseOptions]
    ) -> RuntimeState:
        """Like `pause`."""
        request = pause_request(AdminRequest.pause, seconds, options)
        return to_runtime_state(await run_operation(self._links, self._admin, *request))

    def block(self, seconds: Span | None = None, **options: Unpack[PauseOptions]) -> RuntimeState:
        """Refuse every call in all processes with the reason "blocked": a pause against abuse.

        `seconds` and `until` are as in `pause`. A block that ends later stays in force; `resume`
        ends it. The option `block_after` blocks without a call.

            login.block(3600, key="203.0.113.7")
        """
        request = pause_request(AdminRequest.block, seconds, options)
        return to_runtime_state(self._admin(False, *request))

    async def ablock(
        self, seconds: Span | None = None, **options: Unpack[PauseOptions]
    ) -> RuntimeState:
        """Like `block`."""
        request = pause_request(AdminRequest.block, seconds, options)
        return to_runtime_state(await run_operation(self._links, self._admin, *request))

    def resume(self, *, key: str | None = None) -> RuntimeState:
        """End the pause and the block, and count refusals anew; waiters get a wake-up."""
        return to_runtime_state(self._admin(False, AdminRequest.resume(), key))

    async def aresume(self, *, key: str | None = None) -> RuntimeState:
        """Like `resume`."""
        return to_runtime_state(
            await run_operation(self._links, self._admin, AdminRequest.resume(), key)
        )

    def override(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[OverrideOptions],
    ) -> RuntimeState:
        """Override limits in all processes at once, whatever their policies.

        `limit` is the amount and `interval` the time of the limit with this `label`, which a policy
        of one limit may omit; a value that is not given stays as in this policy. Or `limits` are
        whole limits as for `Paddlegate.limiter`, `{"rpm": Window(50, 60)}`, also with labels that
        this policy does not have. A lower limit ends no lease.

        Or `mode` is the mode of the limiter, whatever its own: "shadow" refuses nobody, "enforce"
        refuses. With a limit it raises `InvalidError`, argument `mode`.

        The override lasts for `expires_in` or until `expires_at`, a `datetime` with a time zone or
        seconds since 1970; this end then applies to all overrides of the limiter. Without an end it
        lasts until `restore`, or until no call was granted for 90 days.
        """
        return to_runtime_state(self._admin(False, *override_request(limit, interval, options)))

    async def aoverride(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[OverrideOptions],
    ) -> RuntimeState:
        """Like `override`."""
        request = override_request(limit, interval, options)
        return to_runtime_state(await run_operation(self._links, self._admin, *request))

    def apply_ojs_override(self, document: Json, *, key: str | None = None) -> RuntimeState:
        """Apply an override of Open Job Spec; `document` is JSON or its object.

        The document has `concurrency`, `rate` (or `limit` with `period`), `throttle` and
        `expires_at`. What it omits stays unchanged, an earlier end too; null removes an override.
        """
        call = MultiStepCall.apply_ojs_override(self, json_text("document", document), key)
        return to_runtime_state(call.start(False))

    async def aapply_ojs_override(self, document: Json, *, key: str | None = None) -> RuntimeState:
        """Like `apply_ojs_override`."""
        call = MultiStepCall.apply_ojs_override(self, json_text("document", document), key)
        return to_runtime_state(await run_operation(self._links, call.start))

    def apply_ojs_signal(self, document: Json, *, key: str | None = None) -> bool:
        """Pause after a failed job of Open Job Spec; `document` is JSON or its object.

        Returns False when the failure is no signal of a rate limit: its `type` is neither
        "rate_limited" nor "RateLimitExceeded". Without `retry_after` and `rate_limit_until` the
        pause lasts 30 seconds; a pause that ends later stays in force.
        """
        call = MultiStepCall.apply_ojs_signal(self, json_text("document", document), key)
        is_signal: bool = call.start(False)
        return is_signal

    async def aapply_ojs_signal(self, document: Json, *, key: str | None = None) -> bool:
        """Like `apply_ojs_signal`."""
        call = MultiStepCall.apply_ojs_signal(self, json_text("document", document), key)
        is_signal: bool = await run_operation(self._links, call.start)
        return is_signal

    def restore(
        self, label: str | None = None, *, mode: bool = False, key: str | None = None
    ) -> RuntimeState:
        """Remove the override of a label, with `mode` the override of the mode, otherwise all.

        The limit learned from the upstream applies again, otherwise the limit of the policy.
        """
        return to_runtime_state(self._admin(False, AdminRequest.restore(label, mode), key))

    async def arestore(
        self, label: str | None = None, *, mode: bool = False, key: str | None = None
    ) -> RuntimeState:
        """Like `restore`."""
        return to_runtime_state(
            await run_operation(self._links, self._admin, AdminRequest.restore(label, mode), key)
        )

    def runtime_state(self, *, key: str | None = None) -> RuntimeState:
        """Return the pause, the block, the overrides and the learned limits; change nothing."""
        return to_runtime_state(self._admin(False, AdminRequest.get(), key))

    async def aruntime_state(self, *, key: str | None = None) -> RuntimeState:
        """Like `runtime_state`."""
        return to_runtime_state(
            await run_operation(self._links, self._admin, AdminRequest.get(), key)
        )

    def report_budget(
        self,
        remaining: int | None = None,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[BudgetOptions],
    ) -> Learned:
        """Apply the budget that the upstream reports, for all processes.

        `remaining` is the remaining units upstream. `limit` and `interval` are those of the
        upstream; `restore_rate`, in units per second, may be given instead of `interval`.
        `reset_in` or `reset_at` is the end of the interval of a bucket. Values that are not given
        stay unchanged. `label` names the limit of the policy; a policy of one limit may omit it.
        `permit` is the permit of the call that was answered, or its id.
        """
        request = budget_request(remaining, limit, interval, options)
        return to_learned(self._admin(False, *request))

    async def areport_budget(
        self,
        remaining: int | None = None,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[BudgetOptions],
    ) -> Learned:
        """Like `report_budget`."""
        request = budget_request(remaining, limit, interval, options)
        return to_learned(await run_operation(self._links, self._admin, *request))

    def learn_from_response(
        self, headers: Headers, body: Body = "", **options: Unpack[LearnOptions]
    ) -> Learned:
        """Apply a response of the upstream, for all processes and in one step.

        Its status, headers and body contain the actual cost of the call, the remaining budget, and
        how long to pause: at most `max_pause`, by default an hour. A refusal that does not say for
        how long pauses for `default_pause`, by default not at all. `permit` is the permit of the
        call, or its id; without it the cost settles no permit. A limit is raised to at most
        `max_learned` units, by default ten times the limit of the policy. Without a `status` a
        response is a refusal only if the documentation of the provider ties its content to one.
        What is not recognised is ignored.
        """
        return to_learned(self._admin(False, *response_request(headers, body, options)))

    async def alearn_from_response(
        self, headers: Headers, body: Body = "", **options: Unpack[LearnOptions]
    ) -> Learned:
        """Like `learn_from_response`."""
        return to_learned(
            await run_operation(self._links, self._admin, *response_request(headers, body, options))
        )

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
