"""Views of Django REST framework within limits, as one of its throttles.

    from paddlegate.drf import Throttle

    class Search(APIView):
        throttle_classes = [Throttle.of(per_user, key=lambda request: request.user.pk)]

    REST_FRAMEWORK = {"DEFAULT_THROTTLE_CLASSES": ["paddlegate.drf.Throttle"]}  # by PADDLEGATE

A refusal is answered as those of other throttles, by the exception handler of the framework. A
lease of a concurrency limit is held, and renewed, until the body has ended or the client has gone.
Needs Django REST framework 3.15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import APIException  # type: ignore[import-untyped]

from paddlegate._errors import InvalidError, OverLimit, UnavailableError
from paddlegate.django import caller_of, guard_of_settings
from paddlegate.web import Guard, Held, LimiterOf, WebOptions

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


__all__ = ["Throttle", "Unavailable"]


class Unavailable(APIException):  # type: ignore[misc]
    """No store can decide on a request."""

    status_code = 503
    default_detail = "The limit cannot be checked now."
    default_code = "unavailable"


class Throttle:
    """A throttle by a limiter: by that of `Throttle.of`, otherwise by `PADDLEGATE` of the settings.

    The options are those of `paddlegate.django` but `status` and `over_limit`, for which the
    framework has its exception handler. Functions get the request of the framework. The permit is
    `request.paddlegate`.
    """

    guard: Guard | None = None
    _retry_after: str | None = None

    @classmethod
    def of(cls, limiter: LimiterOf, **options: Unpack[WebOptions]) -> type[Self]:
        """Return a class of throttles by this limiter, for `throttle_classes`."""
        for name in {"status", "over_limit"} & options.keys():
            raise InvalidError("belongs to the exception handler of the framework", name)
        return type(cls.__name__, (cls,), {"guard": Guard(limiter, options)})

    def allow_request(self, request: Any, view: Any) -> bool:
        """Return whether a request may go on."""
        guard = self.guard or guard_of_settings()
        try:
            held = guard.admit(request, caller_of)
        except UnavailableError as error:
            raise Unavailable from error
        except OverLimit as error:
            fields = guard.fields(error.decision)
            # The framework sends it itself, for the throttle with the longest.
            self._retry_after = fields.pop("Retry-After", None)
            view.headers = {**view.headers, **fields}
            return False
        if held is not None:
            view.headers = {**view.headers, **held.fields}
            request.paddlegate = held.permit
            _end_with(request._request, view, held)
        return True

    def wait(self) -> int | None:
        """Return the seconds after which a refused request may come again."""
        return None if self._retry_after is None else int(self._retry_after)


def _end_with(request: Any, view: Any, held: Held) -> None:
    """End what a request holds when Django closes it, after the response: there is no earlier hook.

    A view whose error is raised has no response.
    """
    close = request.close

    def closing() -> None:
        close()
        held.end(getattr(getattr(view, "response", None), "status_code", 500))

    request.close = closing
