"""Requests within limits on any ASGI server: Starlette, FastAPI, Litestar, Quart, Django.

    from paddlegate.asgi import RateLimit

    app.add_middleware(RateLimit, limiter=per_user, key=user_of)  # or RateLimit(app, per_user)

A request over its limit is answered with 429 before the application is called. A lease of a
concurrency limit is held, and renewed, until the last part of the body is sent, the application
learns that the client has gone, or the application returns. It imports no framework.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

from paddlegate._errors import OverLimit, UnavailableError
from paddlegate.web import Caller, Guard, LimiterOf, Refusal, WebOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


__all__ = ["RateLimit", "Scope"]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

BODIES = {"http.response.body", "http.response.pathsend", "http.response.zerocopysend"}


class RateLimit:
    """Middleware of ASGI that keeps requests within a limiter, or that of `limiter(scope)`.

    The options are those of all web adapters, `WebOptions`; their functions get the scope, and
    `key` may be a coroutine function. `over_limit(scope, error)` returns an ASGI application, such
    as a response of Starlette. The permit of a request is `scope["paddlegate"]`.
    """

    def __init__(
        self,
        app: App,
        limiter: LimiterOf,
        **options: Unpack[WebOptions],
    ) -> None:
        self.app = app
        self._guard = Guard(limiter, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        guard = self._guard
        try:
            held = await guard.aadmit(scope, caller_of)
        except (OverLimit, UnavailableError) as error:
            refusal = guard.refusal(error)
            if guard.over_limit is None or isinstance(error, UnavailableError):
                answer = answer_of(refusal)
            else:
                answer = guard.over_limit(scope, error)
            await answer(scope, receive, _with_fields(send, refusal.headers))
            return
        if held is None:
            await self.app(scope, receive, send)
            return
        status = 500
        answering = _with_fields(send, held.fields)

        async def on_send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await answering(message)
            if message["type"] in BODIES and not message.get("more_body", False):
                await held.end(status)

        async def on_receive() -> MutableMapping[str, Any]:
            message = await receive()
            if message["type"] == "http.disconnect":
                await held.end()
            return message

        scope["paddlegate"] = held.permit
        try:
            await self.app(scope, on_receive, on_send)
        finally:
            await held.end(status)


def caller_of(scope: Scope) -> Caller:
    """Return the address of the connection, and what proxies say of the caller."""
    forwarded = [it for name, it in scope["headers"] if name == b"x-forwarded-for"]
    return (scope.get("client") or [None])[0], b", ".join(forwarded)


def answer_of(refusal: Refusal) -> App:
    """Return an application that answers with a refusal."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", refusal.headers["Content-Type"].encode())]
        start = {"type": "http.response.start", "status": refusal.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": refusal.body})

    return answer


def _with_fields(send: Send, fields: dict[str, str]) -> Send:
    """Add fields to a response, but for those that it has."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            has = {name.lower() for name, _ in headers}
            more = [(name.lower().encode(), it.encode("latin-1")) for name, it in fields.items()]
            message = {**message, "headers": headers + [it for it in more if it[0] not in has]}
        await send(message)

    return sending
