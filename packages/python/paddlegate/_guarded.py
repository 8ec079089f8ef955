"""`Guarded`: wraps functions of every kind, so that they run only when admitted."""

from __future__ import annotations

import functools
import inspect
import warnings
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from paddlegate import _native
from paddlegate._errors import InvalidError, LeaseLostWarning, PaddlegateError, UnavailableError
from paddlegate._native import call_with_fallback
from paddlegate._permit import AsyncPermit, Permit
from paddlegate._permit_argument import PERMIT, hide_permit
from paddlegate._skipped import SKIPPED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from paddlegate._gate_decision import GateDecision
    from paddlegate._permit import Grant

Function = TypeVar("Function", bound="Callable[..., Any]")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class TakesPermit(Protocol[Result_co]):
    """A function with the keyword-only argument `permit`, which its callers leave out.

    Types cannot say that a function takes all arguments of another one but this.
    """

    def __call__(self, *args: Any, permit: Any, **kwargs: Any) -> Result_co: ...


class Guarded(_native.WithinLimit):
    """Base class of guards, which admit each call of a body before the body runs."""

    __slots__ = ()

    def _passes_permit(self, function: Callable[..., Any]) -> bool:
        """Return whether the function has the keyword-only argument `permit`."""
        return False

    def _admit(self) -> Permit | GateDecision | None:
        raise NotImplementedError

    async def _aadmit(self) -> AsyncPermit | GateDecision | None:
        raise NotImplementedError

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function when it is admitted; the result of a coroutine function must be awaited.

        Returns the result of the function, or `SKIPPED` if a limiter with `on_limit="ignore"`
        refused.
        """
        return self(function)(*args, **kwargs)

    @overload
    def __call__(self, function: TakesPermit[Result]) -> Callable[..., Result]: ...

    @overload
    def __call__(self, function: Function) -> Function: ...

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function, generator function or coroutine function; each call is admitted first.

        With `on_limit="ignore"` a refused call returns `SKIPPED`, and a refused generator ends at
        once. A plain function must not return an awaitable, which would run without the permit;
        that raises `InvalidError`.

        A function with the keyword-only argument `permit` receives the permit of its call, unless
        the caller passes one. A function with an estimate needs this argument, to report its actual
        cost.
        """
        passes_permit = self._passes_permit(function)
        wrapped = functools.wraps(function)(self._wrap(function, passes_permit))
        if passes_permit:
            hide_permit(wrapped, function)
        return wrapped

    def _wrap(self, function: Callable[..., Any], passes_permit: bool) -> Callable[..., Any]:
        def with_permit(permit: object, named: dict[str, Any]) -> dict[str, Any]:
            return {PERMIT: permit, **named} if passes_permit else named

        if inspect.iscoroutinefunction(function):

            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                permit = await self._aadmit()
                if permit is None:
                    return SKIPPED
                async with AsyncRelease(permit):
                    return await function(*args, **with_permit(permit, kwargs))

            return coroutine
        if inspect.isasyncgenfunction(function):

            async def asynchronous_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
                permit = await self._aadmit()
                if permit is None:
                    return
                async with (
                    AsyncRelease(permit),
                    aclosing(function(*args, **with_permit(permit, kwargs))) as items,
                ):
                    step = anext(items)
                    while True:
                        try:
                            item = await step
                        except StopAsyncIteration:
                            return
                        try:
                            sent = yield item
                        except GeneratorExit:
                            raise
                        except BaseException as error:
                            step = items.athrow(error)
                        else:
                            step = items.asend(sent)

            return asynchronous_generator
        if inspect.isgeneratorfunction(function):

            def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                permit = self._admit()
                if permit is None:
                    return SKIPPED
                try:
                    return (yield from function(*args, **with_permit(permit, kwargs)))
                finally:
                    call_with_fallback(release_held, release_held_again, permit)

            return generator

        def plain(*args: Any, **kwargs: Any) -> Any:
            permit = self._admit()
            if permit is None:
                return SKIPPED
            try:
                return _reject_awaitable(function(*args, **with_permit(permit, kwargs)))
            finally:
                call_with_fallback(release_held, release_held_again, permit)

        return plain


class AsyncRelease:
    """Settles and releases a permit at the end of an asynchronous body."""

    __slots__ = ("_permit",)

    def __init__(self, permit: AsyncPermit | GateDecision) -> None:
        self._permit = permit

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        await settle_and_release(self._permit, error)


class AsyncJobRelease(AsyncRelease):
    """Settles and releases the permit of a job. When Redis is away, the job does not fail.

    Its work is done, and a job system would run a job that fails again.
    """

    __slots__ = ()

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            await super().__aexit__(kind, error, traceback)
        except UnavailableError as unavailable:
            text = f"the actual cost of a job was not reported: {unavailable}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def _reject_awaitable(value: Any) -> Any:
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise InvalidError(
            "gave something to be awaited, which would run without its permit; "
            "pass an async function",
            "function",
        )
    return value


def release_held(permit: Permit | GateDecision) -> None:
    """Release the lease of a body, if this process holds it."""
    if isinstance(permit, Permit) and permit._is_held:
        # A lease that cannot be released ends after its `lock_timeout`.
        with suppress(PaddlegateError):
            permit.release()
        _warn(permit)


def release_held_again(permit: Permit | GateDecision) -> None:
    """Release the lease of a body after an interruption of `release_held`."""
    if isinstance(permit, Permit) and permit._is_held:
        with suppress(PaddlegateError):
            permit._release_again()


async def settle_and_release(
    permit: AsyncPermit | GateDecision, error: BaseException | None
) -> None:
    """Wait for the settlements of a body, and release its lease if this process holds it."""
    if not isinstance(permit, AsyncPermit):
        return
    releasing = permit.release() if permit._is_held else None
    try:
        await permit.settled()
    except PaddlegateError:
        # The error of the body takes precedence.
        if error is None:
            raise
    finally:
        if releasing is not None:
            # A lease that cannot be released ends after its `lock_timeout`.
            with suppress(PaddlegateError):
                await releasing
            _warn(permit)


def _warn(permit: Grant) -> None:
    if permit.lost:
        warnings.warn(
            f"the lease ended before the body did: {permit!r}", LeaseLostWarning, stacklevel=4
        )
