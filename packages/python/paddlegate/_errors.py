"""The exceptions of the package, by what the caller can do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddlegate._gate_decision import GateDecision
    from paddlegate._native import Decision


class PaddlegateError(Exception):
    """Base class of all errors. The class and its attributes are API; the text is not."""

    code = 0
    """The code of the class, the same in all languages; it never changes."""


class OverLimit(PaddlegateError):  # noqa: N818 - the name in all languages
    """The call is over the limit: retry after `retry_after` seconds. Nothing was charged."""

    code = 1

    def __init__(
        self, limiter: str, decision: Decision | GateDecision, key: str | None = None
    ) -> None:
        super().__init__(limiter, decision, key)
        self.limiter: str = getattr(decision, "limiter", None) or limiter
        """The name of the limiter that refused, or of the slot of a gate."""
        self.key = key
        """The key of a keyed limiter that refused; None for another one, and for several."""
        self.decision: Any = decision
        """The refusal: a `Decision`, or the `GateDecision` of a gate."""

    @property
    def retry_after(self) -> float | None:
        """Seconds until the call can be granted; None when no time is known."""
        seconds: float | None = self.decision.retry_after
        return seconds

    @property
    def reason(self) -> str | None:
        """As in the decision: the kind of the limit, "paused", "too_large" or "unavailable"."""
        kind: str | None = self.decision.reason
        return kind

    def __str__(self) -> str:
        when = "" if self.retry_after is None else f" retry_after={self.retry_after:g}"
        key = "" if self.key is None else f" key={self.key!r}"
        return f"over the limit: limiter={self.limiter!r}{key} reason={self.reason}{when}"


class InvalidError(PaddlegateError, ValueError):
    """An argument is invalid: correct the one in `argument`. Nothing was changed."""

    code = 2

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument
        """The name of the invalid argument; None when there is none."""


def shown(value: object) -> str:
    """Return a wrong value for the text of an error, also one that Python cannot show."""
    try:
        return repr(value)[:40]
    except Exception:
        return "?"


class UnavailableError(PaddlegateError, ConnectionError):
    """The store cannot decide now."""

    code = 3

    def __init__(self, message: str, may_have_counted: bool = False) -> None:
        super().__init__(message)
        self.may_have_counted = may_have_counted
        """Whether the call may have been charged nevertheless."""


class DataError(PaddlegateError):
    """The stored value is foreign or damaged: reset the limiter or use another database."""

    code = 4


class InternalError(PaddlegateError):
    """A defect of this package: please report it."""

    code = 5


class BlockingWarning(RuntimeWarning):
    """A call blocks the thread of a running event loop: use its asynchronous form."""


class LeaseLostWarning(RuntimeWarning):
    """The lease of a concurrency limit ended before the body: other calls may have started."""
