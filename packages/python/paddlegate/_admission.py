"""`Admission`: the decision on a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import Decision, _Action


@dataclass(frozen=True, slots=True)
class Admission:
    """The action for a job, and when to repeat the call."""

    action: _Action
    """The action: "run" the job; "wait", leave it where it is; "reschedule", put it away until its
    time; "drop", discard it; or "refuse", if `on_limit` leaves the reaction to the caller."""
    after: float | None
    """Seconds until the job may run or the call should be repeated; None when no time is known
    (paused), and for "run" and "drop"."""
    decision: Decision
    """The decision, with the queue position of a job that waits."""
    permit: str | None
    """The id with which to release or correct a job that runs, when it has ended with or without an
    error; None when there is nothing to settle."""
