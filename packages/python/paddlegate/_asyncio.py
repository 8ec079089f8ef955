"""Calls on an event loop without a thread: the loop watches the sockets of native links.

A loop keeps its links alive through the readers that are registered with it; a store refers to its
links weakly. A closed loop therefore frees its links, and no link keeps a loop alive.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary, ref

from paddlegate._daemon_thread import call_in_thread
from paddlegate._errors import InvalidError
from paddlegate._native import Call, Unfinished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from paddlegate import _native

    # The process id is part of the key, so that a fork does not use inherited links.
    LinksByKey: TypeAlias = WeakValueDictionary[tuple[int, int, str], "Link"]
else:
    LinksByKey = WeakValueDictionary


BATCH = 32
"""The most calls in one write. The server decides on some while the loop makes others; with all in
one write, each would wait for the other."""


class Links(LinksByKey):
    """The links of a store, by process id, event loop and node."""

    closed = False
    """Whether the store is closed; then a link ends after its pending calls."""

    latest: Callable[[], Link | None] = staticmethod(lambda: None)
    """A weak reference to the link that was used last, which the next call mostly uses too."""

    def find(self, loop: asyncio.AbstractEventLoop, call: Call) -> Link:
        """Return the link of a loop to the node of a call; open one if there is none."""
        key = (os.getpid(), id(loop), call.node)
        link = self.get(key)
        if link is None or link.finishing or not link.native.takes(call):
            link = self[key] = Link(loop, call)
            link.finishing = self.closed
        self.latest = ref(link)
        return link

    def close(self, until: float) -> None:
        """End the links of this process, each after its pending calls.

        Links of other loops have until the time `until` of the monotonic clock.
        """
        self.closed = True
        links = [link for key, link in list(self.items()) if key[0] == os.getpid()]
        for link in links:
            run_in_loop(link.loop, link.finish, until)
        for link in links:
            if link.loop.is_running() and link.loop is not asyncio._get_running_loop():
                link.ended.wait(max(until - time.monotonic(), 0))


def run_operation(links: Links, start: Callable[..., Any], *arguments: object) -> Awaitable[Any]:
    """Run an operation on the running event loop; await its result.

    `start(True, ...)` returns the answer, or the call to send to the server. `start(False, ...)`
    waits for the server; it runs on a thread if the loop cannot watch sockets.
    """
    call = start(True, *arguments)
    if not isinstance(call, Call):
        return completed(call)
    return send_first(links, call, start, *arguments)


def send_first(
    links: Links, call: Call, start: Callable[..., Any], *arguments: object
) -> Awaitable[Any]:
    """Send the call that `start(True, ...)` returned; await its result, as `run_operation` does."""
    loop = running_loop()
    if not can_watch_sockets(loop):
        return loop.run_in_executor(None, start, False, *arguments)
    return run_call(links, loop, call)


def start_operation(
    links: Links, start: Callable[..., Any], *arguments: object
) -> asyncio.Future[Any]:
    """Start an operation at once, with the arguments of `run_operation`.

    The operation completes even if the returned future is not awaited.
    """
    loop = running_loop()
    call = start(True, *arguments)
    if not isinstance(call, Call):
        future = loop.create_future()
        future.set_result(call)
        return future
    if not can_watch_sockets(loop):
        return loop.run_in_executor(None, start, False, *arguments)
    return DetachedCall(links, loop, call).answer


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of asyncio that runs here."""
    loop = asyncio._get_running_loop()
    if loop is None:
        raise InvalidError(
            "asyncio runs no event loop here, and trio is not supported: "
            "call the verb without its a, in a thread"
        )
    return loop


def can_watch_sockets(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a loop can watch sockets; the Proactor loop of Windows cannot."""
    return type(loop).add_reader is not asyncio.AbstractEventLoop.add_reader


def run_in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], None], until: float) -> None:
    """Run `work` on the thread of a loop, or here if that loop is not running on another thread.

    Waits for it until the time `until` of the monotonic clock.
    """
    if not loop.is_running() or loop is asyncio._get_running_loop():
        work()
        return
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    with suppress(RuntimeError):  # The loop is closed.
        loop.call_soon_threadsafe(run)
        done.wait(max(until - time.monotonic(), 0))


async def completed(answer: Any) -> Any:
    """Return an answer that needed no server."""
    return answer


async def run_call(links: Links, loop: asyncio.AbstractEventLoop, call: Call) -> Any:
    """Send a call and those that follow it until there is a result; return that."""
    while True:
        answer = await send_call(links, loop, call)
        if not isinstance(answer, Call):
            if isinstance(answer, Exception):
                raise answer
            return answer
        call = answer
        if call.pause:
            await asyncio.sleep(call.pause)


def send_call(links: Links, loop: asyncio.AbstractEventLoop, call: Call) -> asyncio.Future[Any]:
    """Send a call on the link to its node; open a link if there is none."""
    link = links.latest()
    if link is None or link.loop is not loop or link.finishing or not link.native.takes(call):
        link = links.find(loop, call)
    return link.send(call)


class DetachedCall:
    """A call that completes without being awaited.

    It is not a task, because asyncio warns about pending tasks when a loop is closed.
    """

    __slots__ = ("answer", "links", "loop")

    def __init__(self, links: Links, loop: asyncio.AbstractEventLoop, call: Call) -> None:
        self.links = links
        self.loop = loop
        self.answer: asyncio.Future[Any] = loop.create_future()
        self.send(call)

    def send(self, call: Call) -> None:
        try:
            sent = send_call(self.links, self.loop, call)
        except Exception as error:  # Whoever awaits the answer gets it.
            self.fail(error)
        else:
            sent.add_done_callback(self.on_done)

    def on_done(self, sent: asyncio.Future[Any]) -> None:
        if self.answer.done() or sent.cancelled():
            return
        answer = sent.result()
        if isinstance(answer, Call):
            self.loop.call_later(answer.pause, self.send, answer)
        elif isinstance(answer, Exception):
            self.fail(answer)
        else:
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if self.answer.done():
            return
        self.answer.set_exception(error)
        # Marks the exception as retrieved, so that asyncio does not log it.
        self.answer.exception()


class Link:
    """One connection of one event loop. It connects at once, on a thread of its own."""

    __slots__ = (
        "__weakref__",
        "ended",
        "finishing",
        "flush_scheduled",
        "has_writer",
        "loop",
        "native",
        "next_expiry",
        "pending",
        "unwritten",
        "writable_since",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Call) -> None:
        self.loop = loop
        self.native: _native.Link = call.link()
        self.pending: dict[int, tuple[Call, asyncio.Future[Any]]] = {}
        self.unwritten: list[Call] = []
        self.writable_since = inf
        """The time of the monotonic clock at which the loop could have written the unwritten calls;
        infinite before the link is connected."""
        self.next_expiry = inf
        self.has_writer = False
        self.finishing = False
        self.ended = threading.Event()
        self.flush_scheduled = True  # No flush before the link is connected.
        try:
            connecting = call_in_thread(loop, self.connect)
        except RuntimeError as error:
            # No more threads. The calls that are submitted end as they do without a server.
            self.native.give_up(str(error))
            self.writable_since = time.monotonic()
            connecting = loop.create_future()
            connecting.set_result(None)
        connecting.add_done_callback(self.on_connected)

    def send(self, call: Call) -> asyncio.Future[Any]:
        """Write a call at once if no other is pending, else with others of this loop iteration."""
        future = self.loop.create_future()
        is_alone = not self.pending
        number, deadline = self.native.submit(call, self.loop.time())
        self.pending[number] = (call, future)
        if deadline < self.next_expiry:
            self.next_expiry = deadline
            self.loop.call_at(deadline, self.expire)
        if is_alone and not self.flush_scheduled:
            self.complete(self.native.flush())
            return future
        self.unwritten.append(call)
        if not self.flush_scheduled:
            self.flush_scheduled = True
            self.writable_since = time.monotonic()
            self.loop.call_soon(self.flush)
        elif len(self.unwritten) >= BATCH and self.writable_since < inf:
            self.flush()
        return future

    def connect(self) -> None:
        self.native.connect()
        self.writable_since = time.monotonic()

    def on_connected(self, connecting: asyncio.Future[None]) -> None:
        connecting.result()
        self.flush()
        if not self.ended.is_set():
            self.loop.add_reader(self.native.fileno(), self.receive)

    def flush(self) -> None:
        self.flush_scheduled = False
        # The time for which the loop was too busy to write does not count for the deadlines.
        delay = time.monotonic() - self.writable_since
        for call in self.unwritten:
            call.deadline += delay
        self.unwritten.clear()
        self.complete(self.native.flush())

    def receive(self) -> None:
        self.complete(self.native.receive())

    def expire(self) -> None:
        """End the link if its oldest call is overdue, else schedule the next check."""
        self.next_expiry = inf
        # The loop may have been too busy to write the calls, or to read replies that have arrived.
        if self.flush_scheduled and self.writable_since < inf:
            self.flush()
        self.receive()
        if self.pending:
            oldest = min(call.deadline for call, _ in self.pending.values())
            if oldest <= self.loop.time():
                self.complete(self.native.expire())
            else:
                self.next_expiry = oldest
                self.loop.call_at(oldest, self.expire)

    def complete(self, settled: tuple[list[tuple[int, Any]], bool, bool] | None) -> None:
        if settled is None:
            return
        finished, is_over, is_full = settled
        for number, answer in finished:
            call, future = self.pending.pop(number)
            if future.done():
                continue
            if isinstance(answer, Unfinished):
                try:
                    answer = answer.next(call.deadline, self.loop.time())
                except Exception as error:  # The caller gets it, also if it cannot be converted.
                    answer = error
            future.set_result(answer)
        if is_over or (self.finishing and not self.pending):
            self.close()
        elif is_full != self.has_writer:
            self.has_writer = is_full
            if self.has_writer:
                self.loop.add_writer(self.native.fileno(), self.flush)
            else:
                self.loop.remove_writer(self.native.fileno())

    def finish(self) -> None:
        """End the link after its pending calls, or at once if its loop is not running."""
        self.finishing = True
        if not self.pending or not self.loop.is_running():
            self.close()

    def close(self) -> None:
        if (descriptor := self.native.fileno()) >= 0:
            with suppress(RuntimeError):  # The loop is closed.
                self.loop.remove_reader(descriptor)
                self.loop.remove_writer(descriptor)
            self.native.close()
        self.ended.set()
