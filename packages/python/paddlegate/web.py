"""What adapters for web hosts share: their options, the admission of a request, its refusal.

An adapter asks `Guard` before the request runs. `Guard.admit` gives what the request holds until
its response has ended, `Held`, or None for a request that is not limited. It raises `OverLimit` and
`UnavailableError`, for which `Guard.answer` makes the response. On an event loop they are
`Guard.aadmit` and `AsyncHeld`. Functions of the options get the request as the adapter gives it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from paddlegate import caller_key, plain_key
from paddlegate._errors import InvalidError, OverLimit, PaddlegateError, UnavailableError, shown
from paddlegate._guarded import release_held, settle_and_release
from paddlegate._limiter import Limiter
from paddlegate._options import check
from paddlegate._permit import AsyncPermit, Permit
from paddlegate._renewal import AsyncRenewal, Renewal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddlegate._cost import Cost
    from paddlegate._native import Decision
    from paddlegate._permit import Grant

__all__ = ["AsyncHeld", "Guard", "Held", "Refusal", "WebOptions", "with_fields"]

LimiterOf: TypeAlias = Limiter | Callable[[Any], Limiter | None]
Caller: TypeAlias = tuple[str | bytes | None, str | bytes | None]
"""The address of the connection and the value of `X-Forwarded-For`, each if there is one."""

FIELDS = (None, "draft", "draft-6", "x")
UNKEYED = object()
"""In the place of a key, for a limiter that needs none."""
PROBLEM = "application/problem+json"


class WebOptions(TypedDict, total=False):
    """The options of all web adapters. Each function gets the request as its host has it.

    `key` is a function for the key of a keyed limiter, whose result may be of any length and need
    not be UTF-8; a request for which it returns None is not limited. By default it is the address
    of the caller: `caller_key` with `trusted_proxies`, the addresses and networks whose
    `X-Forwarded-For` is believed. `cost` is a cost or a function. `wait` is how many seconds a
    request waits for its turn, by default 0: it is refused at once. `fields` are the fields of the
    response, "draft" by default, "draft-6", "x", or None. A refusal has the `status`, by default
    429, and a body of `application/problem+json`, or is what the function
    `over_limit(request, error)` returns for the `OverLimit`. A request for which `skip` returns
    True is not limited. One for whose status `refund_if` returns True is not charged.
    """

    key: Callable[[Any], Any] | Callable[..., Any] | None
    cost: Cost | Callable[[Any], Cost]
    wait: float
    fields: Literal["draft", "draft-6", "x"] | None
    status: int
    over_limit: Callable[[Any, OverLimit], Any] | None
    skip: Callable[[Any], bool] | None
    refund_if: Callable[[int], bool] | None
    trusted_proxies: Iterable[str]


class Refusal(NamedTuple):
    """The answer to a request that was not admitted."""

    status: int
    headers: dict[str, str]
    body: bytes


class Guard:
    """A limiter for requests, or a function of a request that returns one, with its options."""

    def __init__(self, limiter: LimiterOf, options: WebOptions) -> None:
        check(options, WebOptions)
        self._limiter: Any = limiter
        self._key = options.get("key")
        self._cost = options.get("cost", 1)
        self._wait = options.get("wait", 0)
        self._fields = options.get("fields", "draft")
        self.status = options.get("status", 429)
        self._skip = options.get("skip")
        self._proxies = tuple(options.get("trusted_proxies", ()))
        self.refund_if = options.get("refund_if")
        self.over_limit = options.get("over_limit")
        if not callable(limiter) and not hasattr(limiter, "try_acquire"):
            raise InvalidError(
                "must be a limiter, or a function of the request that returns one or None",
                "limiter",
            )
        # Wrong names are found before the first request.
        caller_key(None, None, self._proxies)
        if self._fields not in FIELDS:
            names = '"draft", "draft-6", "x" or None'
            raise InvalidError(f"must be {names}: fields={shown(self._fields)}", "fields")
        if not isinstance(self._wait, int | float) or not self._wait >= 0:
            raise InvalidError(
                f"must be a number of seconds, not below zero: wait={shown(self._wait)}", "wait"
            )
        if not isinstance(self.status, int) or not 400 <= self.status <= 599:
            raise InvalidError(f"must be from 400 to 599: status={shown(self.status)}", "status")

    def admit(self, request: Any, caller: Callable[[Any], Caller]) -> Held | None:
        """Admit a request on a thread; None if it is not limited."""
        chosen = self._chosen(request, caller)
        return None if chosen is None else self._take(request, *chosen)

    async def aadmit(
        self, request: Any, caller: Callable[[Any], Caller], key: Any = UNKEYED
    ) -> AsyncHeld | None:
        """Like `admit`, on an event loop, where `key` may be a coroutine function.

        A host may also know the key before.
        """
        chosen = self._chosen(request, caller, key)
        if chosen is None:
            return None
        limiter, key = chosen
        return await self._atake(request, limiter, await key if inspect.isawaitable(key) else key)

    def _take(self, request: Any, limiter: Limiter, key: Any) -> Held | None:
        asked = self._asked(request, limiter, key)
        if asked is None:
            return None
        limiter, cost, estimate = asked
        if self._wait:
            permit = limiter.acquire(cost, estimate=estimate, wait_timeout=self._wait, limits=True)
        else:
            sent = monotonic()
            decision = limiter.try_acquire(cost, estimate, limits=True)
            permit = Permit(limiter, _granted(limiter, decision), sent)
        return Held(self, permit)

    async def _atake(self, request: Any, limiter: Limiter, key: Any) -> AsyncHeld | None:
        asked = self._asked(request, limiter, key)
        if asked is None:
            return None
        limiter, cost, estimate = asked
        if self._wait:
            permit = await limiter.aacquire(
                cost, estimate=estimate, wait_timeout=self._wait, limits=True
            )
        else:
            sent = monotonic()
            decision = await limiter.atry_acquire(cost, estimate, limits=True)
            permit = AsyncPermit(limiter, _granted(limiter, decision), sent)
        held = AsyncHeld(self, permit)
        await held.renewal.__aenter__()
        return held

    def fields(self, decision: Decision) -> dict[str, str]:
        """Return the fields of a response; `Retry-After` also where no others are wanted."""
        headers = decision.headers(self._fields or "draft")
        if self._fields is None:
            headers = {name: it for name, it in headers.items() if name == "Retry-After"}
        return headers

    def refusal(self, error: OverLimit | UnavailableError) -> Refusal:
        """Return the answer to a request that was refused, or that no store could decide on."""
        if isinstance(error, UnavailableError):
            return _problem(503, {}, "the limit cannot be checked now", {})
        headers = self.fields(error.decision)
        after = headers.get("Retry-After")
        detail = f"over the limit: retry after {after} s" if after else "over the limit"
        more = {"retry_after": int(after)} if after else {}
        return _problem(self.status, headers, detail, more)

    def answer(
        self,
        request: Any,
        error: OverLimit | UnavailableError,
        make: Callable[[bytes, int, dict[str, str]], Any],
        response_of: Callable[[Any], Any] = lambda it: it,
    ) -> Any:
        """Return the response to a request that was not admitted: `make(body, status, headers)`.

        Or it is that of `over_limit`, of which `response_of` makes one where a host takes more.
        """
        status, headers, body = self.refusal(error)
        if self.over_limit is None or isinstance(error, UnavailableError):
            return make(body, status, headers)
        return with_fields(response_of(self.over_limit(request, error)), headers)

    def _chosen(
        self, request: Any, caller: Callable[[Any], Caller], key: Any = UNKEYED
    ) -> tuple[Limiter, Any] | None:
        """Return limiter and key of a request, the key perhaps to be awaited; None for no limit."""
        if self._skip is not None and self._skip(request):
            return None
        limiter = self._limiter(request) if callable(self._limiter) else self._limiter
        if limiter is None:
            return None
        if self._key is not None:
            key = self._key(request)
        elif key is UNKEYED and limiter.keyed and limiter.key is None:
            key = caller_key(*caller(request), self._proxies)
        return limiter, key

    def _asked(
        self, request: Any, limiter: Limiter, key: Any
    ) -> tuple[Limiter, Cost | None, Cost | None] | None:
        """Return the limiter of the key, the cost, and the estimate; None for no key."""
        if key is None:
            return None
        if inspect.isawaitable(key):
            if inspect.iscoroutine(key):
                key.close()
            raise InvalidError("is a coroutine function, which this host cannot await", "key")
        if key is not UNKEYED:
            # Strangers choose their keys, which may be as long as they like.
            plain = key if isinstance(key, str | bytes) else str(key)
            limiter = limiter.with_key(plain_key(plain))
        cost: Cost = self._cost(request) if callable(self._cost) else self._cost
        # Only an estimate can be given back.
        return (limiter, cost, None) if self.refund_if is None else (limiter, None, cost)


class Held:
    """What a request holds until its response has ended; a lease is renewed so long."""

    def __init__(self, guard: Guard, permit: Permit) -> None:
        self.permit = permit
        self.fields = guard.fields(permit.decision)
        self._guard = guard
        self._renewal = Renewal(permit)
        self._ended = False
        self._renewal.__enter__()

    def end(self, status: int | None = None) -> None:
        """Release the lease, and give back what a response of this status does not cost; once."""
        if self._ended:
            return
        self._ended = True
        self._renewal.__exit__()
        if _refunds(self._guard, self.permit, status):
            with suppress(PaddlegateError):
                self.permit.correct(0)
        release_held(self.permit)


class AsyncHeld:
    """Like `Held`, on an event loop."""

    def __init__(self, guard: Guard, permit: AsyncPermit) -> None:
        self.permit = permit
        self.fields = guard.fields(permit.decision)
        self.renewal = AsyncRenewal(permit)
        self._guard = guard
        self._loop = asyncio.get_running_loop()
        self._ended = False

    async def end(self, status: int | None = None) -> None:
        """Like `Held.end`. It takes effect even if the task is cancelled meanwhile."""
        if self._ended or self.permit.id is None:
            return
        self._ended = True
        ending = asyncio.ensure_future(self._end(_refunds(self._guard, self.permit, status)))
        await asyncio.shield(ending)

    async def _end(self, refunds: bool) -> None:
        await self.renewal.__aexit__()
        if refunds:
            with suppress(PaddlegateError):
                await self.permit.correct(0)
        with suppress(PaddlegateError):
            await settle_and_release(self.permit, None)

    def end_from_thread(self, status: int | None = None) -> None:
        """Do the same from any thread, without waiting for it."""
        asyncio.run_coroutine_threadsafe(self.end(status), self._loop)


def with_fields(response: Any, fields: dict[str, str]) -> Any:
    """Add fields to a response, but for those that it has, and return it."""
    for name, value in fields.items():
        response.headers.setdefault(name, value)
    return response


def _granted(limiter: Limiter, decision: Decision) -> Decision:
    if not decision:
        raise OverLimit(limiter.name, decision, limiter.key)
    return decision


def _refunds(guard: Guard, permit: Grant, status: int | None) -> bool:
    """Return whether a response of this status gives back what was charged."""
    refund_if = guard.refund_if
    return bool(permit.id and refund_if and status is not None and refund_if(status))


def _problem(status: int, headers: dict[str, str], detail: str, more: dict[str, Any]) -> Refusal:
    """Return an answer whose body is that of RFC 9457."""
    with suppress(ValueError):
        more = {"title": HTTPStatus(status).phrase, **more}
    body = json.dumps({"status": status, "detail": detail, **more}).encode()
    return Refusal(status, {**headers, "Content-Type": PROBLEM}, body)
