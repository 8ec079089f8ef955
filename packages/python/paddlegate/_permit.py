"""Permits: the handles of grants."""

from __future__ import annotations

import asyncio
import os
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from paddlegate._asyncio import run_operation, running_loop, start_operation
from paddlegate._errors import InvalidError
from paddlegate._options import ResponseOptions, check, spelled_out

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from typing_extensions import Unpack

    from paddlegate._convert import Body, Headers
    from paddlegate._cost import Cost
    from paddlegate._extension import Extension
    from paddlegate._learned import Learned
    from paddlegate._limiter import Limiter
    from paddlegate._native import Decision

_T = TypeVar("_T")


class Grant:
    """Base class of permits. Only a concurrency limit gives a lease."""

    __slots__ = ("_expires_at", "_id", "_limiter", "_lost", "_pid", "_settlement", "decision")

    def __init__(self, limiter: Limiter, decision: Decision, sent: float) -> None:
        self._limiter = limiter
        self._expires_at = None if decision.lease is None else sent + decision.lease
        self._lost = False
        self._pid = os.getpid()
        # The result of the release.
        self._settlement: str | None = None
        self._id = decision.permit
        self.decision = decision
        """The decision that granted the call."""

    @property
    def id(self) -> str | None:
        """The id with which any process can correct or release it; None without one.

        It is another one after an extension.
        """
        return self._id

    @property
    def fencing_token(self) -> int | None:
        """A number that rises with every lease of the limiter; None without a lease."""
        return self.decision.fencing_token

    @property
    def expires_in(self) -> float | None:
        """Seconds until the lease ends, by the clock of this machine; None without a lease."""
        return None if self._expires_at is None else max(self._expires_at - monotonic(), 0.0)

    @property
    def lost(self) -> bool:
        """Whether the lease ended before its release, as far as known without a call."""
        return self._lost or (self._settlement is None and self.expires_in == 0)

    @property
    def _is_held(self) -> bool:
        """Whether this process has to release the lease. A fork does not hold inherited leases."""
        return self._expires_at is not None and self._pid == os.getpid()

    def _local_result(self) -> str | None:
        """Return the result of a release that needs no server, otherwise None."""
        return "unknown" if self._expires_at is None else self._settlement

    def _record_release(self, settlement: str) -> str:
        if self._settlement is None:
            self._lost = self.lost or settlement != "released"
            self._settlement = settlement
        return settlement

    def _record_renewal(self, sent: float, lease: float | None) -> bool:
        if lease is None:
            self._lost = True
        else:
            self._expires_at = sent + lease
        return lease is not None

    def _required_id(self) -> str:
        if self._id is None:
            raise InvalidError(
                "only a call with an estimate can be corrected or extended", "estimate"
            )
        return self._id

    def _record_extension(self, extension: Extension) -> None:
        if extension.decision is not None and extension.decision.allowed:
            self._id = extension.decision.permit

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._limiter.name!r} id={self.id!r}>"


@spelled_out
class Permit(Grant):
    """The permit of a granted call. Any process can settle it by its id."""

    __slots__ = ()

    def correct(self, actual: Cost) -> str:
        """Replace the estimate by the actual cost of the call, once.

        A cost by label changes only the limits that it names, and those that the estimate named.

        Returns "settled"; otherwise "already", "late" (after five minutes, or `settle_within`) or
        "unknown", which change nothing. Raises `InvalidError` for a call without an estimate.
        """
        return self._limiter.correct(self._required_id(), actual)

    async def acorrect(self, actual: Cost) -> str:
        """Like `correct`."""
        return await self._limiter.acorrect(self._required_id(), actual)

    def extend(self, units: Cost) -> Extension:
        """Reserve more units for this call, such as a stream: all or nothing, without waiting.

        The permit then has the id of the sum, with which `correct` compares. See `extend` of the
        limiter.

            if not permit.extend(500):
                stream.close()
        """
        self._required_id()
        return self._limiter.extend(self, units)

    async def aextend(self, units: Cost) -> Extension:
        """Like `extend`."""
        self._required_id()
        return await self._limiter.aextend(self, units)

    def points_used(self, actual: Cost) -> str:
        """Do the same as `correct`, for one budget of points."""
        return self.correct(actual)

    async def apoints_used(self, actual: Cost) -> str:
        """Like `points_used`."""
        return await self.acorrect(actual)

    def learn_from_response(
        self, headers: Headers, body: Body = "", **options: Unpack[ResponseOptions]
    ) -> Learned:
        """Apply the response to this call and settle its estimate.

        See `learn_from_response` of the limiter.
        """
        check(options, ResponseOptions)
        return self._limiter.learn_from_response(headers, body, **options, permit=self.id)

    async def alearn_from_response(
        self, headers: Headers, body: Body = "", **options: Unpack[ResponseOptions]
    ) -> Learned:
        """Like `learn_from_response`."""
        check(options, ResponseOptions)
        return await self._limiter.alearn_from_response(headers, body, **options, permit=self.id)

    def release(self) -> str:
        """End the lease, once.

        Returns "released"; otherwise "late" when the lease had ended before, or "unknown". A second
        call returns the same result.
        """
        return self._local_result() or self._record_release(
            self._limiter.release(self._required_id())
        )

    def _release_again(self) -> None:
        """Release after an interrupted release, which may have succeeded.

        Then "unknown" does not mean that the lease was lost.
        """
        if not self._local_result():
            settlement = self._limiter.release(self._required_id())
            self._lost, self._settlement = self.lost, settlement

    async def arelease(self) -> str:
        """Like `release`."""
        return self._local_result() or self._record_release(
            await self._limiter.arelease(self._required_id())
        )

    def renew(self) -> bool:
        """Restart the duration of the lease; return False when it has ended."""
        if self._local_result():
            return False
        sent = monotonic()
        return self._record_renewal(sent, self._limiter.renew(self._required_id()))

    async def arenew(self) -> bool:
        """Like `renew`."""
        if self._local_result():
            return False
        sent = monotonic()
        return self._record_renewal(sent, await self._limiter.arenew(self._required_id()))


@spelled_out
class AsyncPermit(Grant):
    """The permit of a granted call on an event loop."""

    __slots__ = ("_releasing", "_settlements")

    def __init__(self, limiter: Limiter, decision: Decision, sent: float) -> None:
        super().__init__(limiter, decision, sent)
        self._releasing: Settlement[str] | None = None
        self._settlements: list[Settlement[Any]] = []

    def correct(self, actual: Cost) -> Settlement[str]:
        """Replace the estimate by the actual cost of the call, once; await it for the result.

        A cost by label changes only the limits that it names, and those that the estimate named.

        It takes effect even if not awaited. The end of `async with` waits for it and raises its
        error. Raises `InvalidError` for a call without an estimate.
        """
        limiter = self._limiter
        return self._track(
            run_operation(limiter._links, limiter._correct, self._required_id(), actual)
        )

    async def acorrect(self, actual: Cost) -> str:
        """Like `correct`, as a coroutine."""
        return await self.correct(actual)

    async def extend(self, units: Cost) -> Extension:
        """Reserve more units for this call, such as a stream: all or nothing, without waiting.

        Await one extension before the next. The permit then has the id of the sum, with which
        `correct` compares. See `extend` of the limiter.
        """
        self._required_id()
        return await self._limiter.aextend(self, units)

    async def aextend(self, units: Cost) -> Extension:
        """Like `extend`."""
        return await self.extend(units)

    def points_used(self, actual: Cost) -> Settlement[str]:
        """Do the same as `correct`, for one budget of points."""
        return self.correct(actual)

    async def apoints_used(self, actual: Cost) -> str:
        """Like `points_used`, as a coroutine."""
        return await self.correct(actual)

    def learn_from_response(
        self, headers: Headers, body: Body = "", **options: Unpack[ResponseOptions]
    ) -> Settlement[Learned]:
        """Apply the response to this call and settle its estimate; await it for the result.

        It takes effect even if not awaited. See `learn_from_response` of the limiter.
        """
        check(options, ResponseOptions)
        return self._track(
            self._limiter.alearn_from_response(headers, body, **options, permit=self.id)
        )

    async def alearn_from_response(
        self, headers: Headers, body: Body = "", **options: Unpack[ResponseOptions]
    ) -> Learned:
        """Like `learn_from_response`, as a coroutine."""
        return await self.learn_from_response(headers, body, **options)

    def _track(self, settling: Awaitable[_T]) -> Settlement[_T]:
        settlement = Settlement(settling)
        self._settlements.append(settlement)
        return settlement

    async def settled(self) -> None:
        """Wait for settlements that were not awaited, and raise the error of a failed one."""
        for settlement in self._settlements:
            if not settlement.awaited:
                await settlement

    def release(self) -> Settlement[str]:
        """End the lease, once; await it for the result. It takes effect even if not awaited.

        The result is "released"; otherwise "late" when the lease had ended before, or "unknown".
        """
        if settlement := self._local_result():
            return Settlement(_completed(settlement))
        if self._releasing is None or self._releasing.failed:
            limiter = self._limiter
            releasing = start_operation(limiter._links, limiter._release, self._required_id())
            if releasing.done():
                self._on_released(releasing)
            else:
                releasing.add_done_callback(self._on_released)
            self._releasing = Settlement(releasing)
        return self._releasing

    async def arelease(self) -> str:
        """Like `release`, as a coroutine."""
        return await self.release()

    async def renew(self) -> bool:
        """Restart the duration of the lease; return False when it has ended."""
        if self._local_result():
            return False
        sent = monotonic()
        limiter = self._limiter
        return self._record_renewal(
            sent,
            await run_operation(limiter._links, limiter._renew, self._required_id()),
        )

    async def arenew(self) -> bool:
        """Like `renew`."""
        return await self.renew()

    def _on_released(self, releasing: asyncio.Future[str]) -> None:
        if not releasing.cancelled() and releasing.exception() is None:
            self._record_release(releasing.result())


class Settlement(Generic[_T]):
    """A correction, a report or a release in progress. It takes effect even if not awaited.

    The result of a correction is "settled"; otherwise "already", "late" (after five minutes, or
    `settle_within`) or "unknown", which change nothing.
    """

    __slots__ = ("_future", "awaited")

    def __init__(self, settling: Awaitable[_T]) -> None:
        self._future = asyncio.ensure_future(settling)
        self.awaited = False
        """Whether it was awaited."""

    @property
    def failed(self) -> bool:
        """Whether it ended without a result."""
        future = self._future
        return future.done() and (future.cancelled() or future.exception() is not None)

    def __await__(self) -> Generator[object, None, _T]:
        self.awaited = True
        # The cancellation of a waiting task does not cancel the operation.
        return asyncio.shield(self._future).__await__()


def _completed(answer: str) -> asyncio.Future[str]:
    future: asyncio.Future[str] = running_loop().create_future()
    future.set_result(answer)
    return future
