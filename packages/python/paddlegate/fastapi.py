"""Routes of FastAPI within limits: a dependency, which OpenAPI shows with its 429.

    from paddlegate.fastapi import limited

    def user_id(x_api_key: Annotated[str, Header()]) -> str: ...

    @app.get("/", dependencies=[limited(per_user, key=user_id, cost=5)])
    async def search(): ...

A lease of a concurrency limit is held, and renewed, until the response and its background tasks
have ended or the client has gone. Needs FastAPI 0.118.
"""

from __future__ import annotations

import inspect
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import Depends, HTTPException, Request, Response

from paddlegate._errors import OverLimit, UnavailableError
from paddlegate.asgi import caller_of
from paddlegate.web import PROBLEM, UNKEYED, Guard, LimiterOf, WebOptions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from types import FrameType

    from typing_extensions import Unpack

    from paddlegate._permit import AsyncPermit

__all__ = ["Refused", "limited"]

INTEGER = {"type": "integer"}


class Refused(HTTPException):
    """A request was not admitted. The app may have a handler of its own for it.

    `response` is the answer, and `__cause__` the `OverLimit` or the `UnavailableError`.
    """

    response: Response


def limited(limiter: LimiterOf, **options: Unpack[WebOptions]) -> Any:
    """Return a dependency that keeps a route, a router or an app within a limiter.

    The options are those of all web adapters, `WebOptions`. `key` is a dependency itself, so it
    takes what FastAPI can inject, and OpenAPI shows that; or it is a function of the request,
    `lambda request: ...`. The other functions get the request, and `over_limit(request, error)`
    returns a response. A parameter with this default has the permit of the request.
    """
    return Depends(_Dependency(limiter, options))


class _Dependency:
    def __init__(self, limiter: LimiterOf, options: WebOptions) -> None:
        key = options.get("key")
        self._key = key if key and not _takes_request(key) else None
        self._guard = Guard(limiter, {**options, "key": None} if self._key else options)

    @property
    def __signature__(self) -> inspect.Signature:
        # FastAPI asks for it when it makes a route, and a dependency has no other way to its route.
        _show_refusal(sys._getframe(1), self._guard.status)
        make = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        parameters = [make("request", annotation=Request), make("response", annotation=Response)]
        injected = [make("key", default=Depends(self._key))] if self._key else []
        return inspect.Signature(parameters + injected)

    async def __call__(
        self, request: Request, response: Response, key: Any = UNKEYED
    ) -> AsyncGenerator[AsyncPermit | None]:
        try:
            held = await self._guard.aadmit(request, lambda it: caller_of(it.scope), key)
        except (OverLimit, UnavailableError) as error:
            raise _refused(self._guard, request, error) from error
        if held is None:
            yield None
            return
        response.headers.update(held.fields)
        request.scope["paddlegate"] = held.permit
        status = None
        try:
            yield held.permit
            status = response.status_code or 200
        except HTTPException as error:
            status = error.status_code
            error.headers = {**(error.headers or {}), **held.fields}
            raise
        except Exception:
            status = 500
            raise
        finally:
            await held.end(status)


def _takes_request(key: Callable[..., Any]) -> bool:
    """Return whether it is a function of the request, `lambda request: ...`, and no dependency."""
    one = [*inspect.signature(key).parameters.values()]
    if len(one) != 1 or one[0].default is not one[0].empty:
        return False
    return one[0].name == "request" or one[0].annotation is one[0].empty


def _refused(guard: Guard, request: Request, error: OverLimit | UnavailableError) -> Refused:
    """Return the error that makes FastAPI answer with a refusal."""
    response = guard.answer(request, error, Response)
    # The text of an error names limiters and servers, which is for no stranger.
    detail = "over the limit" if isinstance(error, OverLimit) else "unavailable"
    # A handler of the app for this status has a body of its own.
    headers = {name: it for name, it in response.headers.items() if name[:8] != "content-"}
    refused = Refused(response.status_code, detail, headers)
    refused.response = response
    # Without a handler of its own it would be answered as any `HTTPException`, in another form.
    handlers = request.scope.get("starlette.exception_handlers", ({},))[0]
    handlers.setdefault(Refused, lambda _, refused: refused.response)
    return refused


def _show_refusal(frame: FrameType | None, status: int) -> None:
    """Describe the refusal in OpenAPI, for the route that is made in one of the callers."""
    shown = {"description": "Over the limit", "headers": {"Retry-After": {"schema": INTEGER}}}
    while frame is not None:
        route: Any = frame.f_locals.get("route", frame.f_locals.get("self"))
        responses = getattr(route, "responses", None)
        if isinstance(responses, dict) and hasattr(route, "path_format"):
            route.responses = {status: {**shown, "content": {PROBLEM: {}}}, **responses}
            return
        frame = frame.f_back
