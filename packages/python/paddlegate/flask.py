"""Requests of Flask within limits: a view by a decorator, or all of an app.

    from paddlegate.flask import init_app, limited

    @app.get("/search")
    @limited(per_user, key=lambda request: session["user"])
    def search(): ...

    init_app(app, per_address)

A lease of a concurrency limit is held, and renewed, until the body has ended or the client has
gone. Needs Flask 2.2.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from flask import Flask, Response, after_this_request, current_app, g, make_response, request
from werkzeug.exceptions import HTTPException

from paddlegate._errors import OverLimit, UnavailableError
from paddlegate.web import Caller, Guard, Held, LimiterOf, WebOptions, with_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack


__all__ = ["init_app", "limited"]

View = TypeVar("View", bound="Callable[..., Any]")


def limited(limiter: LimiterOf, **options: Unpack[WebOptions]) -> Callable[[View], View]:
    """Return a decorator, below the route, that keeps a view within a limiter.

    The options are those of all web adapters, `WebOptions`; their functions get the request of
    Flask, and `over_limit(request, error)` returns what a view may return. A coroutine function is
    a view too. The permit of the request is `g.paddlegate`.
    """
    guard = Guard(limiter, options)

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def limiting(*args: Any, **kwargs: Any) -> Any:
            held = _admit(guard)
            if not isinstance(held, Held):
                return current_app.ensure_sync(view)(*args, **kwargs) if held is None else held
            after_this_request(lambda response: _answered(held, response))
            try:
                return make_response(current_app.ensure_sync(view)(*args, **kwargs))
            except BaseException as error:
                # Flask answers for it, perhaps by a handler of the app.
                held.end(error.code if isinstance(error, HTTPException) else 500)
                raise

        return limiting  # type: ignore[return-value]

    return decorate


def init_app(
    app: Flask,
    limiter: LimiterOf,
    **options: Unpack[WebOptions],
) -> None:
    """Keep all requests of an app within a limiter. The options are those of `limited`."""
    guard = Guard(limiter, options)

    @app.before_request
    def begin() -> Any:
        held = _admit(guard)
        g.setdefault("paddlegate_held", []).append(held if isinstance(held, Held) else None)
        return None if isinstance(held, Held) else held

    @app.after_request
    def answered(response: Response) -> Response:
        held = g.paddlegate_held.pop() if g.get("paddlegate_held") else None
        return _answered(held, response) if held else response

    @app.teardown_request
    def end(_error: BaseException | None) -> None:
        # A request for which there is no response, since its error is raised, as in tests.
        for held in g.pop("paddlegate_held", ()):
            if held:
                held.end(500)


def _admit(guard: Guard) -> Any:
    """Return what the request holds, None if it is not limited, or the answer to a refused one."""
    it = request._get_current_object()  # type: ignore[attr-defined]
    try:
        held = guard.admit(it, _caller_of)
    except (OverLimit, UnavailableError) as error:
        return guard.answer(it, error, Response, make_response)
    if held is not None:
        g.paddlegate = held.permit
    return held


def _answered(held: Held, response: Any) -> Any:
    """Add the fields to a response, and end what the request holds when the response ends."""
    response.call_on_close(lambda: held.end(response.status_code))
    return with_fields(response, held.fields)


def _caller_of(it: Any) -> Caller:
    return it.remote_addr, ", ".join(it.headers.getlist("X-Forwarded-For"))
