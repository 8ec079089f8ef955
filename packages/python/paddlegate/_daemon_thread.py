"""`call_in_thread`: a thread for work that may block for long, such as connecting.

It does not use the executor of the loop, whose threads may all be busy with other work.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

T = TypeVar("T")


def call_in_thread(loop: asyncio.AbstractEventLoop, work: Callable[[], T]) -> asyncio.Future[T]:
    """Run `work` on a new daemon thread; return a future of its result."""
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        outcome: tuple[Callable[[Any], None], Any]
        try:
            outcome = future.set_result, work()
        except Exception as error:
            outcome = future.set_exception, error
        # The loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(complete, *outcome)

    def complete(set_outcome: Callable[[Any], None], value: object) -> None:
        if not future.done():
            set_outcome(value)

    threading.Thread(target=run, name="paddlegate-connect", daemon=True).start()
    return future
