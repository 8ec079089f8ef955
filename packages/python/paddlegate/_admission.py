"""`Admission`: what is done with a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddlegate._native import Decision, _Action


@dataclass(frozen=True, slots=True)
class Admission:
    """What is done with a job, and when to ask again."""

    action: _Action
    """What to do: "run" it; leave it where it is ("wait"), put it away until its time
    ("reschedule") or discard it ("drop"); or, if the policy leaves that to you, "refuse"."""
    after: float | None
    """Seconds until it may run or should be asked about again; None when that is not known
    (paused), and of a job that runs or is dropped."""
    decision: Decision
    """The answer behind it, with the place of a job that waits."""
    permit: str | None
    """Of a job that runs, the id to release or correct when it has ended, however it has; None
    when there is nothing to."""
