"""What went wrong, sorted by what the caller can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddlegate._gate_decision import GateDecision
    from paddlegate._native import Decision


class PaddlegateError(Exception):
    """Any error of this package. The text is not API, the class and its attributes are."""

    code = 0
    """The number that stands for the class in all languages; it never changes."""


class OverLimit(PaddlegateError):  # noqa: N818 - the word that all languages have
    """Over the limit: come back after `retry_after`. Nothing was charged."""

    code = 1

    def __init__(self, limiter: str, decision: Decision | GateDecision) -> None:
        super().__init__(limiter, decision)
        self.limiter = limiter
        """The name of the limiter, or of the slot of a gate."""
        self.decision: Any = decision
        """The refusal: a `Decision`, or the `GateDecision` of a gate."""

    @property
    def retry_after(self) -> float | None:
        """Seconds until the call would pass; None when no time is known."""
        seconds: float | None = self.decision.retry_after
        return seconds

    @property
    def reason(self) -> str | None:
        """The kind of the limit that refused, "paused" or "unavailable"."""
        kind: str | None = self.decision.reason
        return kind

    def __str__(self) -> str:
        when = "" if self.retry_after is None else f" retry_after={self.retry_after:g}"
        return f"over the limit: limiter={self.limiter!r} reason={self.reason}{when}"


class InvalidError(PaddlegateError, ValueError):
    """The call is wrong: fix the argument that is named. Nothing was changed."""

    code = 2

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument
        """The name of the wrong argument."""


class UnavailableError(PaddlegateError, ConnectionError):
    """The store cannot decide now."""

    code = 3

    def __init__(self, message: str, may_have_counted: bool = False) -> None:
        super().__init__(message)
        self.may_have_counted = may_have_counted
        """Whether the call may have been charged all the same."""


class DataError(PaddlegateError):
    """The stored value is not ours or is damaged: reset the limiter or use another database."""

    code = 4


class InternalError(PaddlegateError):
    """A defect of this package: please report it."""

    code = 5


class BlockingWarning(RuntimeWarning):
    """A call sleeps on a thread whose event loop then stands still: use the form for asyncio."""


class LeaseLostWarning(RuntimeWarning):
    """The lease of a concurrency limit has ended before the body did: others may have entered."""
