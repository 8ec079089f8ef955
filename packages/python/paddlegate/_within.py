"""`WithinLimit`: runs a body within the limit, in each form that Python has for bodies."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from paddlegate._errors import InvalidError, OverLimit
from paddlegate._guarded import Guarded, release_held, release_held_again, settle_and_release
from paddlegate._permit_argument import takes_permit

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from paddlegate._cost import Cost
    from paddlegate._limiter import Limiter
    from paddlegate._options import AcquireOptions
    from paddlegate._permit import AsyncPermit, Permit

Held: TypeAlias = tuple[object, object, Any]


class WithinLimit(Guarded):
    """Waits for the limiter, then runs the body of `with`, of `async with` or of a function.

    A lease is released at the end of the body. If the body raises, the estimate stays charged. One
    object may serve many threads and tasks at once: also in an `ExitStack`, and in a generator that
    one thread begins and another one ends. Where `__enter__` and `__exit__` are called by hand and
    several bodies run in one thread or task, each body needs an object of its own.
    """

    __slots__ = ("_cost", "_held", "_limiter", "_options")

    def __init__(self, limiter: Limiter, cost: Cost | None, options: AcquireOptions) -> None:
        self._limiter = limiter
        self._cost = cost
        self._options = options
        # The permits of running bodies, each with what entered, and with its thread or task.
        self._held: list[Held] = []

    def __enter__(self) -> Permit:
        self._check_on_limit()
        opener, owner = _opener(sys._getframe(1)), _current_owner()
        permit = self._limiter.acquire(self._cost, **self._options)
        try:
            self._held.append((opener, owner, permit))
        except BaseException:
            # A signal handler has raised.
            release_held_again(permit)
            self._remove_held((opener, owner, permit))
            raise
        return permit

    def _exit(self, found: list[Held | None]) -> None:
        # `__exit__` is native, so that a signal handler cannot raise before this is called.
        held = self._find_held(sys._getframe(1))
        found.append(held)
        if held is not None:
            release_held(held[2])
            self._remove_held(held)

    def _exit_interrupted(self, found: list[Held | None]) -> None:
        held = found[0] if found else self._find_held(sys._getframe(1))
        if held is not None:
            release_held_again(held[2])
            self._remove_held(held)

    async def __aenter__(self) -> AsyncPermit:
        self._check_on_limit()
        opener, owner = _opener(sys._getframe(1)), _current_owner()
        permit = await self._limiter.aacquire(self._cost, **self._options)
        self._held.append((opener, owner, permit))
        return permit

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        held = self._find_held(sys._getframe(1))
        if held is not None:
            self._remove_held(held)
            await settle_and_release(held[2], error)

    def _passes_permit(self, function: Callable[..., Any]) -> bool:
        takes = takes_permit(function)
        if self._options.get("estimate") is not None and not takes:
            raise InvalidError(
                "a function with an estimate takes its permit, to say by permit.points_used() "
                "what it did cost: add the keyword-only argument permit, or give a cost",
                "estimate",
            )
        return takes

    def _admit(self) -> Permit | None:
        try:
            return self._limiter.acquire(self._cost, **self._options)
        except OverLimit:
            if self._limiter.on_limit != "ignore":
                raise
            return None

    async def _aadmit(self) -> AsyncPermit | None:
        try:
            return await self._limiter.aacquire(self._cost, **self._options)
        except OverLimit:
            if self._limiter.on_limit != "ignore":
                raise
            return None

    def _check_on_limit(self) -> None:
        if self._limiter.on_limit == "ignore":
            raise InvalidError(
                "with cannot skip its body; decorate a function or use run() where the "
                f"limiter ignores refusals: on_limit={self._limiter.on_limit!r}",
                "on_limit",
            )

    def _find_held(self, frame: FrameType) -> Held | None:
        """Return the last permit with which this frame entered; None if there is none.

        If the methods were called by hand, it is the last permit of this thread or task.
        """
        opener, owner = _opener(frame), _current_owner()
        all_held = self._held.copy()
        for held in reversed(all_held):
            if held[0] is opener:
                return held
        for held in reversed(all_held):
            if held[1] == owner:
                return held
        # Another task may exit than the one that entered, if only one permit is held.
        if len(all_held) > 1:
            raise InvalidError(
                "this thread or task has not entered, and several others have: "
                "use an object of within_limit() for each"
            )
        return all_held[0] if all_held else None

    def _remove_held(self, held: Held) -> None:
        with suppress(ValueError):
            self._held.remove(held)


def _opener(frame: FrameType) -> object:
    """Return what runs a body: the frame with its `with`, or the `ExitStack` that it is in.

    A thread does not tell: frameworks begin a generator in one and end it in another.
    """
    is_stack = frame.f_globals is vars(contextlib)
    return frame.f_locals.get("self", frame) if is_stack else frame


def _current_owner() -> object:
    loop = asyncio._get_running_loop()
    return (loop and asyncio.current_task(loop)) or threading.get_ident()
