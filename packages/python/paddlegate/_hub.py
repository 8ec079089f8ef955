"""`Hub`: where those who wait in this process hear that their turn has come.

A hub listens at one server (or at the memory store) for all waiters of a store: one for the
threads of a process, on a daemon thread that starts at the first wait, and one for each event
loop, whose reader it is. A message that is lost costs a waiter at most one look by itself.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from paddlegate._asyncio import in_loop, watches
from paddlegate._daemon_thread import aside
from paddlegate._errors import PaddlegateError

if TYPE_CHECKING:
    from paddlegate._limiter import Limiter
    from paddlegate._native import WakeupListener

IDLE = 60
"""Seconds after which a thread without waiters ends."""
PAUSE = 0.05, 1.0
"""Seconds between attempts to listen: the first pause, which doubles, and the longest."""


class Waiter(Protocol):
    """One that waits."""

    @property
    def id(self) -> str:
        """Under which it is called."""

    @property
    def limiter(self) -> Limiter:
        """What it waits for."""

    def ring(self, at: float) -> None:
        """Make it look again at this time of the monotonic clock."""

    def quit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue for a store that this loop closes."""


class Hubs:
    """The hubs of one store. What a fork has inherited is not its own and is left alone."""

    __slots__ = ("_of_loops", "_of_threads", "closed")

    def __init__(self) -> None:
        self.closed = False
        """Whether the store is closed, so that nobody may wait."""
        self._of_threads: dict[tuple[int, str], ThreadHub] = {}
        # A loop owns its hubs, as it owns its links.
        self._of_loops: WeakValueDictionary[tuple[int, int, str], LoopHub] = WeakValueDictionary()

    def of_thread(self, place: str, opening: bool) -> ThreadHub | None:
        """Give the hub of this process for a place; a new one only if it is to be opened."""
        key = (os.getpid(), place)
        hub = self._of_threads.get(key)
        if hub is None and opening:
            hub = self._of_threads.setdefault(key, ThreadHub(place))
        return hub

    def of_loop(self, loop: asyncio.AbstractEventLoop, place: str, opening: bool) -> Hub | None:
        """Give the hub of an event loop for a place; a new one only if it is to be opened."""
        if not watches(loop):
            return self.of_thread(place, opening)
        key = (os.getpid(), id(loop), place)
        hub = self._of_loops.get(key)
        if hub is None and opening:
            hub = self._of_loops[key] = LoopHub(place, loop)
        return hub

    def close(self, until: float) -> None:
        """End all waits of this process, and the connections of its hubs.

        Waiters leave the queue themselves; they have until a time of the monotonic clock.
        """
        self.closed = True
        mine = [*self._of_threads.items(), *self._of_loops.items()]
        hubs = [hub for key, hub in mine if key[0] == os.getpid()]
        for hub in hubs:
            hub.dismiss()
        for hub in hubs:
            hub.wait_until_left(until)
        for hub in hubs:
            hub.close(until)


class Hub:
    """Those who wait at one place, by their ids."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.channel = ""
        """What their tickets name; empty while nobody listens."""
        # A signal handler may wait too.
        self._lock = threading.RLock()
        self._left = threading.Condition(self._lock)
        self._waiters: dict[str, list[Waiter]] = {}
        self._listening = False
        self._closed = False
        self._hints: WakeupListener | None = None

    def join(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiters.setdefault(waiter.id, []).append(waiter)
            if not self._listening:
                self._listening = True
                self._listen()

    def leave(self, waiter: Waiter) -> None:
        with self._lock:
            waiters = self._waiters.get(waiter.id, [])
            if waiter in waiters:
                waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(waiter.id, None)
                self._left.notify_all()

    def dismiss(self) -> None:
        """Tell those who wait that the store is closed."""
        loop = asyncio._get_running_loop()
        for waiter in self._all():
            if loop is not None:
                waiter.quit(loop)
            waiter.ring(0)

    def wait_until_left(self, until: float) -> None:
        """Wait until nobody waits, at most until a time of the monotonic clock."""
        with self._left:
            self._left.wait_for(lambda: not self._waiters, max(until - time.monotonic(), 0))

    def close(self, until: float) -> None:
        """Listen no more."""
        raise NotImplementedError

    def _listen(self) -> None:
        """Start to listen; whatever happens, it does not raise."""
        raise NotImplementedError

    def _done(self) -> bool:
        """Tell whether nobody waits; then it no longer listens."""
        with self._lock:
            done = self._closed or not self._waiters
            if done:
                self._listening = False
                self.channel = ""
            return done

    def _speaker(self) -> Limiter | None:
        """Find a limiter that knows the way to the place: a slot of a cluster may have moved."""
        for waiter in self._all():
            if waiter.limiter._place() == self.place:
                return waiter.limiter
        return None

    def _all(self) -> list[Waiter]:
        with self._lock:
            return [waiter for waiters in self._waiters.values() for waiter in waiters]

    def _ring_all(self) -> None:
        for waiter in self._all():
            waiter.ring(0)

    def _pass_on(self, hints: WakeupListener) -> None:
        for called, delay in hints.receive():
            with self._lock:
                waiters = list(self._waiters.get(called, ()))
            for waiter in waiters:
                waiter.ring(time.monotonic() + delay)


class ThreadHub(Hub):
    """A hub with a thread of its own."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        # A start that a signal has interrupted may have left another, which then ends.
        self._thread: threading.Thread | None = None

    def _listen(self) -> None:
        self._thread = threading.Thread(target=self._run, name="paddlegate-hub", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # No more threads, or the interpreter ends: waiters look by themselves.
            self._listening = False
        except BaseException:
            self._listening = False
            raise

    def _run(self) -> None:
        pause, longest = PAUSE
        try:
            while not self._over():
                if (hints := self._open()) is not None:
                    pause = PAUSE[0]
                    self._watch(hints)
                    self._tell("")
                del hints
                if not self._closed:
                    time.sleep(pause)
                pause = min(2 * pause, longest)
        finally:
            with self._lock:
                if self._is_mine():
                    self._listening = False
                    self.channel = ""

    def _open(self) -> WakeupListener | None:
        limiter = self._speaker()
        if limiter is None:
            self._ring_all()
            return None
        try:
            return limiter._listen()
        except PaddlegateError:
            return None

    def _watch(self, hints: WakeupListener) -> None:
        """Pass messages on until the connection is lost, or nobody has waited for a while."""
        with self._lock:
            if self._closed:
                return
            self._hints = hints
        self._tell(hints.channel)
        self._ring_all()
        # Not select(), which knows only the first thousand descriptors.
        poll = select.poll()
        poll.register(hints.fileno(), select.POLLIN)
        try:
            while True:
                if poll.poll(IDLE * 1000):
                    self._pass_on(hints)
                elif self._over():
                    return
        except PaddlegateError:
            return
        finally:
            with self._lock:
                self._hints = None

    def close(self, until: float) -> None:
        """Listen no more; the thread ends."""
        with self._lock:
            self._closed = True
            if self._hints is not None:
                self._hints.close()
        if self._thread not in {None, threading.current_thread()}:
            self._thread.join(max(until - time.monotonic(), 0))

    def _tell(self, channel: str) -> None:
        with self._lock:
            if self._is_mine():
                self.channel = channel

    def _over(self) -> bool:
        with self._lock:
            return not self._is_mine() or self._done()

    def _is_mine(self) -> bool:
        return self._thread is threading.current_thread()


class LoopHub(Hub):
    """A hub that an event loop drives."""

    def __init__(self, place: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(place)
        self._loop = loop
        self._pause = PAUSE[0]

    def _listen(self) -> None:
        if self._done():
            return
        limiter = self._speaker()
        if limiter is None:
            self._ring_all()
            self._later()
        else:
            try:
                opening = aside(self._loop, limiter._listen)
            except RuntimeError:
                # No more threads: waiters look by themselves.
                self._listening = False
            else:
                opening.add_done_callback(self._opened)

    def _later(self) -> None:
        self._loop.call_later(self._pause, self._listen)
        self._pause = min(2 * self._pause, PAUSE[1])

    def _opened(self, opening: asyncio.Future[WakeupListener]) -> None:
        if opening.cancelled() or opening.exception() is not None:
            self._later()
            return
        if self._closed:
            return
        self._pause = PAUSE[0]
        self._hints = opening.result()
        self.channel = self._hints.channel
        self._loop.add_reader(self._hints.fileno(), self._receive)
        self._ring_all()

    def _receive(self) -> None:
        if self._hints is None:
            return
        try:
            self._pass_on(self._hints)
        except PaddlegateError:
            self._hang_up()
            self._later()

    def _hang_up(self) -> None:
        if self._hints is not None:
            with suppress(RuntimeError):  # The loop is closed.
                self._loop.remove_reader(self._hints.fileno())
            self._hints = None
            self.channel = ""

    def close(self, until: float) -> None:
        """Listen no more."""
        self._closed = True
        in_loop(self._loop, self._hang_up, until)
