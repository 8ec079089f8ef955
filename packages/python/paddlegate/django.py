"""Requests of Django within limits: views by a decorator, or all by a middleware, in WSGI and ASGI.

    from paddlegate.django import limited

    @limited(per_user, key=lambda request: request.user.pk)
    def search(request): ...

    MIDDLEWARE = [..., "paddlegate.django.RateLimitMiddleware"]
    PADDLEGATE = {"LIMITER": "shop.limits.per_user", "KEY": "shop.limits.user_of", "WAIT": 2}

A lease of a concurrency limit is held, and renewed, until the body has ended or the client has
gone. Needs Django 5.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django import conf  # type: ignore[import-untyped]
from django.http import Http404, HttpResponse  # type: ignore[import-untyped]
from django.utils.module_loading import import_string  # type: ignore[import-untyped]

from paddlegate._errors import OverLimit, UnavailableError
from paddlegate.web import Caller, Guard, LimiterOf, WebOptions, with_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack


__all__ = ["RateLimitMiddleware", "limited"]

View = TypeVar("View", bound="Callable[..., Any]")

# The settings that may be the path of an object.
PATHS = {"LIMITER", "KEY", "COST", "SKIP", "OVER_LIMIT", "REFUND_IF"}


class RateLimitMiddleware:
    """Keeps all requests within the limiter of the settings.

    `PADDLEGATE` has the options of all web adapters, `WebOptions`, in capitals, and the `LIMITER`:
    each object itself, or its path. Functions get the request, and under ASGI `KEY` may be a
    coroutine function. `OVER_LIMIT` returns a response. The permit is `request.paddlegate`.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._guard = guard_of_settings()
        self._get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: Any) -> Any:
        """Answer a request."""
        answer = _alimit if self._is_async else _limit
        return answer(self._guard, request, self._get_response, (), {})


def limited(limiter: LimiterOf, **options: Unpack[WebOptions]) -> Callable[[View], View]:
    """Return a decorator that keeps a view, a function or coroutine function, within a limiter.

    The options are those of all web adapters, `WebOptions`; their functions get the request. For a
    class use `method_decorator` of Django. The permit is `request.paddlegate`.
    """
    guard = Guard(limiter, options)

    def decorate(view: View) -> View:
        answer = _alimit if iscoroutinefunction(view) else _limit

        @functools.wraps(view)
        def limiting(request: Any, *args: Any, **kwargs: Any) -> Any:
            return answer(guard, request, view, args, kwargs)

        if answer is _alimit:
            markcoroutinefunction(limiting)
        return limiting  # type: ignore[return-value]

    return decorate


def guard_of_settings() -> Guard:
    """Return the limiter and the options of the settings."""
    given: dict[str, Any] = {
        name.lower(): import_string(it) if name in PATHS and isinstance(it, str) else it
        for name, it in conf.settings.PADDLEGATE.items()
    }
    return Guard(given.pop("limiter", None), cast("WebOptions", given))


def caller_of(request: Any) -> Caller:
    """Return the address of the connection, and what proxies say of the caller."""
    return request.META.get("REMOTE_ADDR"), request.META.get("HTTP_X_FORWARDED_FOR")


def _limit(guard: Guard, request: Any, view: Any, args: Any, kwargs: Any) -> Any:
    try:
        held = guard.admit(request, caller_of)
    except (OverLimit, UnavailableError) as error:
        return guard.answer(request, error, _refused)
    if held is None:
        return view(request, *args, **kwargs)
    request.paddlegate = held.permit
    try:
        response = view(request, *args, **kwargs)
    except BaseException as error:
        held.end(404 if isinstance(error, Http404) else 500)
        raise
    return _answered(response, held.fields, held.end)


async def _alimit(guard: Guard, request: Any, view: Any, args: Any, kwargs: Any) -> Any:
    try:
        held = await guard.aadmit(request, caller_of)
    except (OverLimit, UnavailableError) as error:
        return guard.answer(request, error, _refused)
    if held is None:
        return await view(request, *args, **kwargs)
    request.paddlegate = held.permit
    try:
        response = await view(request, *args, **kwargs)
    except BaseException as error:
        await held.end(404 if isinstance(error, Http404) else 500)
        raise
    # Django closes a response on a thread.
    return _answered(response, held.fields, held.end_from_thread)


def _refused(body: bytes, status: int, headers: dict[str, str]) -> Any:
    return HttpResponse(body, status=status, headers=headers)


def _answered(response: Any, fields: dict[str, str], end: Callable[[int], None]) -> Any:
    """Add the fields to a response, and end what the request holds when the response is closed."""
    response._resource_closers.append(functools.partial(end, response.status_code))
    return with_fields(response, fields)
