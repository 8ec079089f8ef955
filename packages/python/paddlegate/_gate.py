"""`Gate`: assigns requests to the slots of an Invantive document and counts them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeAlias

from paddlegate import _native
from paddlegate._asyncio import run_operation
from paddlegate._blocking import warn_if_blocking
from paddlegate._errors import OverLimit
from paddlegate._gate_decision import GateDecision
from paddlegate._guarded import Guarded
from paddlegate._native import MultiStepCall

if TYPE_CHECKING:
    from paddlegate._paddlegate import Paddlegate

RequestAttributes: TypeAlias = tuple[str | None, str | None, str | None, str | None, str | None]
"""Context, URL, log-on code, data container id and IP address; each may be None."""


class Gate(_native.Gate):
    """A `RateLimitControl` of Invantive: chooses the slot that limits a request, and counts it.

    Create it once and keep it; threads and event loops may share it. All processes with the same
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
    ) -> GateDecision:
        """Count a request in the slot of the first matching element; never wait.

        An element does not match a request without the attribute of its criterion. The levels that
        fail are checked first: if one refuses, nothing is counted. Otherwise the request counts in
        every level. The longest delay of a full level applies to both. `ip` is the address of the
        client, without a port. Raises `InvalidError` for a malformed `ip`.
        """
        attributes = context, url, log_on_code, data_container_id, ip
        return GateDecision(*MultiStepCall.pass_gate(self, attributes).start(False))

    async def aadmit(
        self,
        context: str | None = None,
        url: str | None = None,
        log_on_code: str | None = None,
        data_container_id: str | None = None,
        ip: str | None = None,
    ) -> GateDecision:
        """Like `admit`."""
        call = MultiStepCall.pass_gate(self, (context, url, log_on_code, data_container_id, ip))
        return GateDecision(*await run_operation(self._links, call.start))

    def within_limit(
        self,
        context: str | None = None,
        url: str | None = None,
        log_on_code: str | None = None,
        data_container_id: str | None = None,
        ip: str | None = None,
    ) -> WithinGate:
        """Return a guard for `with`, `async with` or a function: sleep the delay, run the body.

        When a level fails, it raises `OverLimit` after the delay and does not run the body.
        """
        return WithinGate(self, (context, url, log_on_code, data_container_id, ip))


class WithinGate(Guarded):
    """Admits a request at a gate and sleeps its delay, then runs the body.

    The body is that of `with`, of `async with` or of a function. There is nothing to release at its
    end, so one object can serve many bodies.
    """

    __slots__ = ("_attributes", "_gate")

    def __init__(self, gate: Gate, attributes: RequestAttributes) -> None:
        self._gate = gate
        self._attributes = attributes

    def __enter__(self) -> GateDecision:
        return self._admit()

    def _exit(self, found: list[object]) -> None:
        # Called by the native `__exit__`.
        pass

    _exit_interrupted = _exit

    async def __aenter__(self) -> GateDecision:
        return await self._aadmit()

    async def __aexit__(self, *raised: object) -> None:
        pass

    def _admit(self) -> GateDecision:
        decision = self._gate.admit(*self._attributes)
        if decision.delay:
            warn_if_blocking(decision.slot or "")
            time.sleep(decision.delay)
        return _check_allowed(decision)

    async def _aadmit(self) -> GateDecision:
        decision = await self._gate.aadmit(*self._attributes)
        deadline = time.monotonic() + decision.delay
        # The timers of some loops, such as uvloop, have whole milliseconds and may be early.
        while (left := deadline - time.monotonic()) > 0:  # noqa: ASYNC110 - no event ends it
            await asyncio.sleep(left)
        return _check_allowed(decision)


def _check_allowed(decision: GateDecision) -> GateDecision:
    if not decision.allowed:
        raise OverLimit(decision.slot or "", decision)
    return decision
