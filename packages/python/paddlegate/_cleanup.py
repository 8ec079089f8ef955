"""What remains to be done when a call or the process ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from paddlegate._asyncio import start_operation
from paddlegate._errors import PaddlegateError
from paddlegate._native import Call, send_counts

if TYPE_CHECKING:
    from paddlegate._limiter import Limiter

EXIT_TIMEOUT = 0.5
"""Seconds for which the exit of the process waits for cancellations in progress."""

_cancelling: set[threading.Thread] = set()


def cancel_in_background(limiter: Limiter, id: str, timeout: float = 0) -> None:  # noqa: A002
    """Cancel the ticket and the lease of a call on a daemon thread.

    Waits at most `timeout` seconds for the thread, even if the server does not answer.
    """

    def cancel() -> None:
        with suppress(PaddlegateError):
            limiter.cancel(id)
        _cancelling.discard(threading.current_thread())

    with suppress(PaddlegateError):
        if not isinstance(limiter._cancel(True, id, False), Call):
            return
    thread = threading.Thread(target=cancel, name="paddlegate-cancel", daemon=True)
    _cancelling.add(thread)
    try:
        thread.start()
    except RuntimeError:
        # The interpreter is exiting.
        cancel()
        _cancelling.discard(thread)
    else:
        thread.join(timeout)


def cancel_on_loop(limiter: Limiter, id: str) -> None:  # noqa: A002
    """Cancel the ticket and the lease of a call on the running loop, after pending calls."""
    with suppress(PaddlegateError, RuntimeError):
        start_operation(limiter._links, limiter._cancel, id, False)


@atexit.register
def _finish() -> None:
    deadline = monotonic() + EXIT_TIMEOUT
    for thread in list(_cancelling):
        thread.join(max(deadline - monotonic(), 0))
    send_counts()


def _after_fork() -> None:
    """Register for the end of a worker of these packages, which skips the interpreter's exit."""
    for package in ("multiprocessing.util", "billiard.util"):
        if util := sys.modules.get(package):
            util.register_after_fork(
                _finish, lambda _, util=util: util.Finalize(None, _finish, exitpriority=0)
            )


os.register_at_fork(after_in_child=_after_fork)
