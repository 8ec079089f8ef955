"""`Hub`: delivers wake-ups to the waiters of this process.

A hub listens at one node (or at the store in memory) for the waiters of a store. The threads of a
process share one hub per node, with a daemon thread that starts at the first wait. Each event loop
has its own, whose socket the loop watches. A waiter that misses a wake-up retries at its next
scheduled time.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias
from weakref import WeakValueDictionary

from paddlegate._asyncio import can_watch_sockets, run_in_loop
from paddlegate._daemon_thread import call_in_thread
from paddlegate._errors import PaddlegateError
from paddlegate._native import reconnect_pause

if TYPE_CHECKING:
    from paddlegate._limiter import Limiter
    from paddlegate._native import WakeupListener

IDLE_TIMEOUT = 60
"""Seconds without a wake-up after which the thread of a hub without waiters ends."""


class Waiter(Protocol):
    """A thread or a task that waits for a permit."""

    @property
    def id(self) -> str:
        """The id of the call, which wake-ups name."""

    @property
    def limiter(self) -> Limiter:
        """The limiter of the call."""

    def wake(self, at: float) -> None:
        """Make the waiter retry at this time of the monotonic clock."""

    def leave_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the queue, if `loop` runs this waiter and is closing the store."""


CallEntry: TypeAlias = tuple[int, object, object]
"""The process, the loop or the thread of a call, and what no other call has."""


class Hubs:
    """The hubs of one store. A fork does not use or close inherited hubs."""

    __slots__ = ("_calls", "_loop_hubs", "_thread_hubs", "closed")

    def __init__(self) -> None:
        self.closed = False
        """Whether the store is closed, so that no call may wait."""
        self._calls: set[CallEntry] = set()
        self._thread_hubs: dict[tuple[int, str], ThreadHub] = {}
        # A loop keeps its hubs alive, as it keeps its links.
        self._loop_hubs: WeakValueDictionary[tuple[int, int, str], LoopHub] = WeakValueDictionary()

    def for_threads(self, node: str, create: bool) -> ThreadHub | None:
        """Return the hub of this process's threads for a node; create it only if `create`."""
        key = (os.getpid(), node)
        hub = self._thread_hubs.get(key)
        if hub is None and create:
            hub = self._thread_hubs.setdefault(key, ThreadHub(node))
        return hub

    def for_loop(self, loop: asyncio.AbstractEventLoop, node: str, create: bool) -> Hub | None:
        """Return the hub of an event loop for a node; create it only if `create`."""
        if not can_watch_sockets(loop):
            return self.for_threads(node, create)
        key = (os.getpid(), id(loop), node)
        hub = self._loop_hubs.get(key)
        if hub is None and create:
            hub = self._loop_hubs[key] = LoopHub(node, loop)
        return hub

    def begin(self, loop: asyncio.AbstractEventLoop | None = None) -> CallEntry:
        """Note a call that may get a ticket before it joins a hub; return what `end` takes."""
        call = (os.getpid(), loop or threading.get_ident(), object())
        self._calls.add(call)
        return call

    def end(self, call: CallEntry | None) -> None:
        """Note that a call has ended, and has given back its ticket."""
        if call is not None:
            self._calls.discard(call)

    def _have_calls(self) -> bool:
        """Return whether a call of this process is left that can end while this thread waits."""
        pid, here = os.getpid(), (asyncio._get_running_loop(), threading.get_ident())
        return any(of == pid and where not in here for of, where, _ in [*self._calls])

    def close(self, until: float) -> None:
        """End all waits of this process, and close the connections of its hubs.

        Waiters leave the queue themselves, and have until the time `until` of the monotonic clock.
        """
        self.closed = True
        entries = [*self._thread_hubs.items(), *self._loop_hubs.items()]
        hubs = [hub for key, hub in entries if key[0] == os.getpid()]
        for hub in hubs:
            hub.close_waiters()
        for hub in hubs:
            hub.wait_until_empty(until)
        # A lock for them might be held by another thread while the process forks.
        while self._have_calls() and time.monotonic() < until:
            time.sleep(0.001)
        for hub in hubs:
            hub.close(until)


class Hub:
    """The waiters at one node, by the ids of their calls."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.channel = ""
        """The channel that the tickets of the waiters name; empty while the hub does not listen."""
        # Reentrant, because a signal handler may wait too.
        self._lock = threading.RLock()
        self._emptied = threading.Condition(self._lock)
        self._waiters: dict[str, list[Waiter]] = {}
        self._listening = False
        self._closed = False
        self._listener: WakeupListener | None = None

    def add(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiters.setdefault(waiter.id, []).append(waiter)
            if not self._listening:
                self._listening = True
                self._listen()

    def remove(self, waiter: Waiter) -> None:
        with self._lock:
            waiters = self._waiters.get(waiter.id, [])
            if waiter in waiters:
                waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(waiter.id, None)
                self._emptied.notify_all()

    def close_waiters(self) -> None:
        """Wake all waiters because the store is closed; tasks of this loop leave the queue."""
        loop = asyncio._get_running_loop()
        for waiter in self._all_waiters():
            if loop is not None:
                waiter.leave_queue(loop)
            waiter.wake(0)

    def wait_until_empty(self, until: float) -> None:
        """Wait until no waiter is left, at most until a time of the monotonic clock."""
        with self._emptied:
            self._emptied.wait_for(lambda: not self._waiters, max(until - time.monotonic(), 0))

    def close(self, until: float) -> None:
        """Stop listening."""
        raise NotImplementedError

    def _listen(self) -> None:
        """Start listening; if that fails, waiters retry without wake-ups."""
        raise NotImplementedError

    def _stop_if_unused(self) -> bool:
        """Stop listening if the hub is closed or has no waiters; return whether it stopped."""
        with self._lock:
            unused = self._closed or not self._waiters
            if unused:
                self._listening = False
                self.channel = ""
            return unused

    def _limiter_for_listening(self) -> Limiter | None:
        """Return the limiter of a waiter if it still has this node; a cluster slot may move."""
        for waiter in self._all_waiters():
            if waiter.limiter._notification_node() == self.node:
                return waiter.limiter
        return None

    def _all_waiters(self) -> list[Waiter]:
        with self._lock:
            return [waiter for waiters in self._waiters.values() for waiter in waiters]

    def _wake_all(self) -> None:
        for waiter in self._all_waiters():
            waiter.wake(0)

    def _deliver(self, listener: WakeupListener) -> None:
        for waiter_id, delay in listener.receive():
            with self._lock:
                waiters = list(self._waiters.get(waiter_id, ()))
            for waiter in waiters:
                waiter.wake(time.monotonic() + delay)


class ThreadHub(Hub):
    """A hub with its own thread."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        # An interrupted start may have left another thread, which then ends.
        self._thread: threading.Thread | None = None

    def _listen(self) -> None:
        self._thread = threading.Thread(target=self._run, name="paddlegate-hub", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # No more threads, or the interpreter is exiting: waiters retry without wake-ups.
            self._listening = False
        except BaseException:
            self._listening = False
            raise

    def _run(self) -> None:
        failures = 0
        try:
            while not self._must_stop():
                if (listener := self._open_listener()) is not None:
                    failures = 0
                    self._watch(listener)
                    self._set_channel("")
                del listener
                if not self._closed:
                    time.sleep(reconnect_pause(failures))
                failures += 1
        finally:
            with self._lock:
                if self._is_current():
                    self._listening = False
                    self.channel = ""

    def _open_listener(self) -> WakeupListener | None:
        limiter = self._limiter_for_listening()
        if limiter is None:
            self._wake_all()
            return None
        try:
            return limiter._listen()
        except PaddlegateError:
            return None

    def _watch(self, listener: WakeupListener) -> None:
        """Deliver wake-ups until the connection is lost, or until the hub is idle and unused."""
        with self._lock:
            if self._closed:
                return
            self._listener = listener
        self._set_channel(listener.channel)
        self._wake_all()
        # Not select(), which supports only about the first thousand descriptors.
        poll = select.poll()
        poll.register(listener.fileno(), select.POLLIN)
        try:
            while True:
                if poll.poll(IDLE_TIMEOUT * 1000):
                    self._deliver(listener)
                elif self._must_stop():
                    return
        except PaddlegateError:
            return
        finally:
            with self._lock:
                self._listener = None

    def close(self, until: float) -> None:
        """Stop listening and end the thread."""
        with self._lock:
            self._closed = True
            if self._listener is not None:
                self._listener.close()
        if self._thread not in {None, threading.current_thread()}:
            self._thread.join(max(until - time.monotonic(), 0))

    def _set_channel(self, channel: str) -> None:
        with self._lock:
            if self._is_current():
                self.channel = channel

    def _must_stop(self) -> bool:
        with self._lock:
            return not self._is_current() or self._stop_if_unused()

    def _is_current(self) -> bool:
        return self._thread is threading.current_thread()


class LoopHub(Hub):
    """A hub whose socket an event loop watches."""

    def __init__(self, node: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(node)
        self._loop = loop
        self._failures = 0

    def _listen(self) -> None:
        if self._stop_if_unused():
            return
        limiter = self._limiter_for_listening()
        if limiter is None:
            self._wake_all()
            self._listen_later()
        else:
            try:
                opening = call_in_thread(self._loop, limiter._listen)
            except RuntimeError:
                # No more threads: waiters retry without wake-ups.
                self._listening = False
            else:
                opening.add_done_callback(self._on_opened)

    def _listen_later(self) -> None:
        self._loop.call_later(reconnect_pause(self._failures), self._listen)
        self._failures += 1

    def _on_opened(self, opening: asyncio.Future[WakeupListener]) -> None:
        if opening.cancelled() or opening.exception() is not None:
            self._listen_later()
            return
        if self._closed:
            return
        self._failures = 0
        self._listener = opening.result()
        self.channel = self._listener.channel
        self._loop.add_reader(self._listener.fileno(), self._receive)
        self._wake_all()

    def _receive(self) -> None:
        if self._listener is None:
            return
        try:
            self._deliver(self._listener)
        except PaddlegateError:
            self._close_listener()
            self._listen_later()

    def _close_listener(self) -> None:
        if self._listener is not None:
            with suppress(RuntimeError):  # The loop is closed.
                self._loop.remove_reader(self._listener.fileno())
            self._listener = None
            self.channel = ""

    def close(self, until: float) -> None:
        """Stop listening."""
        self._closed = True
        run_in_loop(self._loop, self._close_listener, until)
