"""`Gate`: which slot of a document limits a request."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeAlias

from paddlegate import _native
from paddlegate._asyncio import ask
from paddlegate._blocking import warn_of_blocking
from paddlegate._bodies import Bodies
from paddlegate._errors import OverLimit
from paddlegate._gate_decision import GateDecision
from paddlegate._native import MultiStepCall

if TYPE_CHECKING:
    from types import TracebackType

    from paddlegate._paddlegate import Paddlegate

Facts: TypeAlias = tuple[str | None, str | None, str | None, str | None, str | None]
"""In the order of the arguments."""


class Gate(_native.Gate):
    """Chooses which slot of a `RateLimitControl` of Invantive limits a request, and counts it.

    Make it once and keep it; threads and event loops may share it. All processes with the same
    slots share their counts.
    """

    def __init__(self, paddlegate: Paddlegate, document: str) -> None:
        self._links = paddlegate._links

    def admit(
        self,
        context: str | None = None,
        url: str | None = None,
        log_on_code: str | None = None,
        data_container_id: str | None = None,
        ip: str | None = None,
        *,
        at_us: int | None = None,
    ) -> GateDecision:
        """Count a request in the slot of the first element that applies; never wait.

        An element whose criterion is not given does not apply. A request that a level fails
        counts nowhere; else it counts in every level, and the longest delay of a full one rules.
        `ip` is the address of the client, without a port.
        """
        facts = context, url, log_on_code, data_container_id, ip
        return GateDecision(*MultiStepCall.pass_gate(self, facts, at_us).run())

    async def aadmit(
        self,
        context: str | None = None,
        url: str | None = None,
        log_on_code: str | None = None,
        data_container_id: str | None = None,
        ip: str | None = None,
        *,
        at_us: int | None = None,
    ) -> GateDecision:
        """Like `admit`."""
        course = MultiStepCall.pass_gate(
            self, (context, url, log_on_code, data_container_id, ip), at_us
        )
        return GateDecision(*await ask(self._links, course.begin, course.run))

    def within_limit(
        self,
        context: str | None = None,
        url: str | None = None,
        log_on_code: str | None = None,
        data_container_id: str | None = None,
        ip: str | None = None,
    ) -> WithinGate:
        """For `with`, `async with` or as a decorator: sleeps the delay, then runs the body.

        Raises `OverLimit` after the delay, and does not run the body, when a level fails.
        """
        return WithinGate(self, (context, url, log_on_code, data_container_id, ip))


class WithinGate(Bodies):
    """Asks the gate and sleeps the delay, then runs the body.

    That of `with`, of `async with` or of a function. There is nothing to give back at its end,
    so one object may serve many.
    """

    __slots__ = ("_facts", "_gate")

    def __init__(self, gate: Gate, facts: Facts) -> None:
        self._gate = gate
        self._facts = facts

    def __enter__(self) -> GateDecision:
        return self._admitted()

    def _leave(self, found: list[object]) -> None:
        # Called by the native `__exit__`.
        pass

    _leave_again = _leave

    async def __aenter__(self) -> GateDecision:
        return await self._aadmitted()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def _admitted(self) -> GateDecision:
        verdict = self._gate.admit(*self._facts)
        if verdict.delay:
            warn_of_blocking(verdict.slot or "")
            time.sleep(verdict.delay)
        return _allowed(verdict)

    async def _aadmitted(self) -> GateDecision:
        verdict = await self._gate.aadmit(*self._facts)
        ends = time.monotonic() + verdict.delay
        # The timers of some loops, such as uvloop, are whole milliseconds and may be early.
        while (left := ends - time.monotonic()) > 0:  # noqa: ASYNC110 - only time ends it
            await asyncio.sleep(left)
        return _allowed(verdict)


def _allowed(verdict: GateDecision) -> GateDecision:
    if not verdict.allowed:
        raise OverLimit(verdict.slot or "", verdict)
    return verdict
